//! The thread that parses object model modules: that takes milliseconds, and other federates must not wait for it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use hemiola_rt::sys::sched;
use hemiola_rti::{Preparation, SessionId};
use hemiola_units::Policy;

use crate::mailbox::{Command, Mailbox};

/// A thread that prepares one call after another. Each session has at most one call with it.
#[derive(Debug)]
pub(crate) struct Worker {
    jobs: Option<Sender<(SessionId, Preparation)>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. It posts its results to the mailbox.
    pub(crate) fn start(mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let (jobs, queue) = channel::<(SessionId, Preparation)>();
        let work = move || {
            // It is less urgent than the RTI, which may run at a real-time priority. Lowering it needs no privilege.
            let _ = sched::set_policy(None, &Policy::Other { nice: 5 });
            for (session, job) in queue {
                if mailbox.post(Command::Prepared(session, job.run())).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("rti-modules".into()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues a job.
    pub(crate) fn give(&self, session: SessionId, job: Preparation) {
        let jobs = self.jobs.as_ref().expect("it is only taken when dropped");
        // The thread ends with the server, not before.
        jobs.send((session, job)).expect("the thread is running");
    }
}

/// Waits for the job in progress.
impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic on that thread has already printed its message.
            let _ = thread.join();
        }
    }
}
