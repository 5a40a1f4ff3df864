//! A running task, and the ports through which it reaches the world.

use serde::Serialize;
use serde_json::Value;

use hemiola_trace::EventKind;
use hemiola_units::{Instant, Span};

/// One activation of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'m> {
    /// The cycle, from zero at the first release of the run.
    pub(crate) cycle: u64,
    /// When the cycle was due.
    pub(crate) release: Instant,
    /// The message that released the job; empty when the clock did.
    pub(crate) message: &'m [u8],
}

/// The outcome of waiting for the next job, of a task that the clock and channels do not release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A job is released.
    Job {
        /// Its cycle.
        cycle: u64,
        /// When it was due.
        release: Instant,
    },
    /// No job yet: ask again.
    Nothing,
    /// There will be no more jobs.
    Over,
}

/// A task that is activated repeatedly. It reaches the world through [`Ports`] only, so that a test can give it
/// channels of one process and a clock that stands still.
pub(crate) trait Task {
    /// Does one job. Between the first job and the last, a task allocates nothing, takes no lock and blocks only
    /// in its ports.
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports);

    /// Starts threads of its own. They inherit the profile of the process, which has been applied.
    ///
    /// # Errors
    /// In one sentence, if they cannot start.
    fn start_threads(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Called when the run begins, with the instant of its first release.
    fn begin(&mut self, _epoch: Instant) {}

    /// Waits for the release of the next job, or for another event: for a task that knows its releases itself.
    fn next(&mut self) -> Next {
        Next::Over
    }

    /// The reason why the task cannot go on, if it cannot.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// Brings code and memory of the next job into the caches shortly before its release, without any effect.
    /// Called only where the scenario gives the process a lead.
    fn warm_up(&mut self, _ports: &mut dyn Ports) {}

    /// Waits until the task wants the next message of the triggering channel; returns at once by default. It must
    /// return within about a cycle, whatever happens. Returns the processor time that it spent on warming up.
    fn before_message(&mut self, _ports: &mut dyn Ports) -> Span {
        Span::ZERO
    }

    /// The cycle and release that a message on the triggering channel belongs to; `None` for an invalid message,
    /// which releases no job.
    fn trigger(&mut self, _message: &[u8]) -> Option<(u64, Instant)> {
        None
    }

    /// Leaves the world in a safe state. The last call before the process ends.
    fn close(&mut self, _ports: &mut dyn Ports) {}

    /// Its results, for [`TaskKind::collect`](crate::tasks::TaskKind).
    fn report(&self) -> Value {
        Value::Null
    }
}

/// The world of a task: the clock, the recorder, one channel each way.
pub(crate) trait Ports {
    /// The time.
    fn now(&mut self) -> Instant;

    /// Records an event of the present cycle, which happens now.
    fn mark(&mut self, kind: EventKind, arg: u16, a: u64, b: u64);

    /// Sends on the outgoing channel. Returns whether the channel took the message.
    fn send(&mut self, message: &[u8]) -> bool;

    /// Takes the next message of the incoming channel and returns its length.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize>;

    /// Brings the channels into the caches.
    fn warm_up(&mut self) {}

    /// Waits for a message on the incoming channel. Returns whether there is one.
    fn wait(&mut self, until: Instant) -> bool;
}

/// Records two floating-point values.
pub(crate) fn mark_values(ports: &mut dyn Ports, kind: EventKind, arg: u16, a: f64, b: f64) {
    ports.mark(kind, arg, a.to_bits(), b.to_bits());
}

/// A report as JSON.
pub(crate) fn to_value(report: &impl Serialize) -> Value {
    serde_json::to_value(report).expect("plain data has a JSON form")
}
