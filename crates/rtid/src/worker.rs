//! The threads that read and merge object models, and one that drops what is no longer needed: that takes seconds for
//! large ones, and other federates must not wait. They decide nothing: each runs what it is given, one job after the
//! other.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use hemiola_rt::sys::sched;
use hemiola_rti::{Preparation, Prepared, Retired, SessionId};
use hemiola_rti_server::Lane;
use hemiola_units::Policy;

use crate::mailbox::{Command, Mailbox};

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// One thread per lane, and the one that drops things. They end after their present job when this is dropped.
#[derive(Debug)]
pub(crate) struct Workers {
    express: Sender<Job>,
    main: Sender<Job>,
    discards: Sender<Job>,
    mailbox: Arc<Mailbox>,
}

impl Workers {
    /// Starts the threads. They post their results to the mailbox.
    /// After each job, a thread calls `finish`.
    pub(crate) fn start(mailbox: Arc<Mailbox>, finish: fn()) -> io::Result<Self> {
        let names = ["rti-models-small", "rti-models", "rti-discards"];
        let [express, main, discards] = names.map(|name| start(name, finish));
        Ok(Self { express: express?, main: main?, discards: discards?, mailbox })
    }

    /// Reads and merges object models for a call of this session.
    pub(crate) fn prepare(&self, lane: Lane, session: SessionId, job: Preparation) {
        self.run(lane, session, || job.run());
    }

    fn run(&self, lane: Lane, session: SessionId, job: impl FnOnce() -> Prepared + Send + 'static) {
        let mailbox = Arc::clone(&self.mailbox);
        let jobs = match lane {
            Lane::Express => &self.express,
            Lane::Main => &self.main,
        };
        give(jobs, move || {
            // A panic fails this call only. The job owns all it touches, so nothing is left half changed.
            let result = catch_unwind(AssertUnwindSafe(job)).map_err(|panic| message(&*panic));
            // Nobody waits once the server has stopped.
            let _ = mailbox.post(Command::Prepared(lane, session, result));
        });
    }

    /// Drops something, and posts that it is gone.
    pub(crate) fn discard(&self, unneeded: Retired) {
        let mailbox = Arc::clone(&self.mailbox);
        give(&self.discards, move || {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(unneeded)));
            // Nobody waits once the server has stopped.
            let _ = mailbox.post(Command::Discarded);
        });
    }
}

fn give(jobs: &Sender<Job>, job: impl FnOnce() + Send + 'static) {
    jobs.send(Box::new(job)).expect("the thread runs until the sender is dropped");
}

/// Starts a thread that runs jobs until their sender is dropped, and calls `finish` after each.
pub(crate) fn start(name: &str, finish: fn()) -> io::Result<Sender<Job>> {
    let (jobs, queue) = channel::<Job>();
    thread::Builder::new().name(name.into()).spawn(move || {
        // It is less urgent than the RTI, which may run at a real-time priority. Lowering it needs no privilege.
        let _ = sched::set_policy(None, &Policy::Other { nice: 5 });
        for job in queue {
            job();
            finish();
        }
    })?;
    Ok(jobs)
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_and_the_thread_goes_on() {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let workers = Workers::start(Arc::clone(&mailbox), || {}).unwrap();
        let (sender, receiver) = channel();
        for session in 1..=2 {
            workers.run(Lane::Express, SessionId(session), || panic!("planted"));
        }
        give(&workers.express, move || sender.send(()).unwrap());
        receiver.recv().unwrap();
        let posted: Vec<(u64, String)> = mailbox
            .take()
            .into_iter()
            .map(|command| match command {
                Command::Prepared(Lane::Express, session, Err(message)) => (session.0, message),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(posted, [(1, "planted".to_owned()), (2, "planted".to_owned())]);
    }
}
