//! The thread that takes entries out of the logs of a run in time, whatever the disk and other programs do.
//!
//! The supervising loop encodes the entries and writes them to the file. It has no real-time priority, and it waits for
//! the disk: on a busy machine more than a second can pass before it looks at a log again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hemiola_record::Intake;
use hemiola_rt::sys::sched::set_own_policy;
use hemiola_scenario::Process;
use hemiola_units::{Policy, Priority};

use crate::tasks::kind;

/// Time from one look at the logs to the next: a hundredth of what they hold.
const PERIOD: Duration = Duration::from_millis(10);

/// The running thread, until it is dropped.
pub(crate) struct Reader {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts the thread, with this policy where that is permitted.
    pub(crate) fn start(intake: Intake, policy: Option<Policy>) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let read = move || {
            // Where it is refused, the logs are as large as an ordinary thread needs in almost all cases, and the
            // report counts what was lost in the others.
            let _ = policy.map(|policy| set_own_policy(None, &policy));
            while !ends.load(Ordering::Relaxed) {
                intake.take();
                thread::park_timeout(PERIOD);
            }
        };
        let thread = thread::Builder::new().name("hemiola-reader".into()).spawn(read)?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The policy of the thread beside these processes: before all programs of ordinary priority, and behind every process
/// of the run that records. `None` where one of those has ordinary priority itself.
pub(crate) fn policy_beside(processes: &[Process]) -> Option<Policy> {
    let lowest = Priority::try_from(1).expect("it is a priority");
    let is_behind = |process: &Process| match process.profile.scheduling {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority > lowest,
        Policy::Deadline { .. } => true,
        Policy::Other { .. } => false,
    };
    let mut recording = processes.iter().filter(|process| kind(&process.task).is_ours);
    recording.all(is_behind).then_some(Policy::Fifo { priority: lowest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_scenario::{Release, Task};
    use hemiola_units::{Profile, Span};

    fn process(task: Task, scheduling: Policy) -> Process {
        Process {
            name: "x".into(),
            task,
            release: Release::Own,
            period: Span::from_millis(1),
            deadline: Span::from_millis(1),
            profile: Profile { scheduling, ..Profile::ordinary() },
            profile_name: None,
            sends: Vec::new(),
            receives: Vec::new(),
        }
    }

    #[test]
    fn the_reader_precedes_no_process_that_records() {
        let fifo = |number: u8| Policy::Fifo { priority: number.try_into().unwrap() };
        let ordinary = Policy::Other { nice: 0 };
        let beside = |policies: &[Policy]| {
            let processes: Vec<Process> =
                policies.iter().map(|policy| process(Task::Plant, *policy)).collect();
            policy_beside(&processes)
        };
        assert_eq!(beside(&[fifo(95), fifo(2)]), Some(fifo(1)));
        assert_eq!(beside(&[fifo(95), fifo(1)]), None);
        assert_eq!(beside(&[fifo(95), ordinary]), None);
        // A program of others records nothing.
        let command = Task::Command { program: "true".into(), arguments: Vec::new() };
        let processes = [process(Task::Plant, fifo(95)), process(command, ordinary)];
        assert_eq!(policy_beside(&processes), Some(fifo(1)));
    }
}
