//! Object model modules are read on a thread of their own: that takes milliseconds, and others wait for less.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use hemiola_rt::sys::sched;
use hemiola_rti::{Preparation, SessionId};
use hemiola_units::Policy;

use crate::mailbox::{Command, Mailbox};

/// A thread that prepares one call after the other. Each session has at most one call with it.
#[derive(Debug)]
pub(crate) struct Worker {
    jobs: Option<Sender<(SessionId, Preparation)>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// What is done comes into the mailbox.
    pub(crate) fn start(mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let (jobs, todo) = channel::<(SessionId, Preparation)>();
        let work = move || {
            // Not as urgent as the RTI, which may have a real-time priority; to have less needs no privilege.
            let _ = sched::set_policy(None, &Policy::Other { nice: 5 });
            for (session, preparation) in todo {
                if mailbox.post(Command::Prepared(session, preparation.run())).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("rti-modules".into()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Gives it something to do.
    pub(crate) fn give(&self, session: SessionId, preparation: Preparation) {
        let jobs = self.jobs.as_ref().expect("it is taken away at the end alone");
        // The thread ends when the server does, not before.
        jobs.send((session, preparation)).expect("the thread works");
    }
}

/// Waits for what it is doing.
impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed by itself.
            let _ = thread.join();
        }
    }
}
