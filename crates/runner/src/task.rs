//! What a process of a scenario does: a task, and the ports it does it through.

use hemiola_trace::EventKind;
use hemiola_units::Instant;

use crate::launch::Finished;

/// One activation of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'m> {
    /// The cycle, from zero at the first release of the run.
    pub(crate) cycle: u64,
    /// When the cycle was due.
    pub(crate) release: Instant,
    /// The message that set the job off; empty when the clock did.
    pub(crate) message: &'m [u8],
}

/// What sets off the next job of a task that is not released by the clock or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A job of this cycle, which was due then.
    Job {
        /// Its number.
        cycle: u64,
        /// When it was due.
        release: Instant,
    },
    /// Nothing yet: ask again.
    Nothing,
    /// None any more.
    Over,
}

/// The thing activated repeatedly. It decides; whatever it needs of the world comes through [`Ports`],
/// so that a test can give it channels of one process and a clock that stands still.
pub(crate) trait Task {
    /// Does one job. Between the first job and the last, no task allocates, locks or blocks otherwise
    /// than through its ports.
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports);

    /// The run begins: its first release.
    fn begin(&mut self, _epoch: Instant) {}

    /// Waits for what sets off its next job, or for something else that comes: for a task that knows itself.
    fn next(&mut self) -> Next {
        Next::Over
    }

    /// Why it cannot go on, if it cannot.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// Brings what the next job needs into the caches, shortly before its release: the same code and the same
    /// memory, without any effect. Called only where the scenario gives a process a lead.
    fn warm_up(&mut self, _ports: &mut dyn Ports) {}

    /// Waits for whatever this task wants to see before it takes the next message of the triggering
    /// channel; returns at once by default. It must return within a cycle or so, whatever happens.
    fn before_message(&mut self, _ports: &mut dyn Ports) {}

    /// The cycle and release that a message on the triggering channel belongs to; nothing when the
    /// message is no good and sets off no job.
    fn trigger(&mut self, _message: &[u8]) -> Option<(u64, Instant)> {
        None
    }

    /// Leaves the world in a safe state: the last thing before the process ends.
    fn close(&mut self, _ports: &mut dyn Ports) {}

    /// Adds what the task knows to the process's last words.
    fn report(&self, _finished: &mut Finished) {}
}

/// What a task reaches the world through: the clock, the recorder, one channel each way.
pub(crate) trait Ports {
    /// The time.
    fn now(&mut self) -> Instant;

    /// Records something that happened now, in the present cycle.
    fn mark(&mut self, kind: EventKind, arg: u16, a: u64, b: u64);

    /// Sends on the outgoing channel; whether it was taken.
    fn send(&mut self, message: &[u8]) -> bool;

    /// Takes the next message of the incoming channel, with its length.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize>;

    /// Brings the channels into the caches.
    fn warm_up(&mut self) {}

    /// Waits for a message on the incoming channel; whether there is one.
    fn wait(&mut self, until: Instant) -> bool;
}

/// Records two floating-point values.
pub(crate) fn mark_values(ports: &mut dyn Ports, kind: EventKind, arg: u16, a: f64, b: f64) {
    ports.mark(kind, arg, a.to_bits(), b.to_bits());
}
