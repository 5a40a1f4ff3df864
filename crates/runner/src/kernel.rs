//! The kernel's side of a run's trace: which thread had which processor, and which thread woke which.
//!
//! The runner checks once, at the start, whether it may be recorded. Then each run has a capture of its own, from its
//! start to its end, in the same trace as its processes. The buffers hold seconds of the worst load known, and
//! the supervising loop drains them, so the processes of the loop do no work for it.

use hemiola_record::kernel::{Capture, CaptureError, Interface, Options, Tally};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_scenario::{KernelTrace, Plan};
use hemiola_trace::result::{KernelRun, KernelSide};
use hemiola_units::Instant;

use crate::RunError;
use crate::collect::Collector;
use crate::run::Progress;

/// Checks whether the kernel's side of the runs can be recorded.
///
/// # Errors
/// [`RunError::Kernel`] when the scenario requires it and this user may not record it, or the kernel cannot.
pub(crate) fn side(plan: &Plan, progress: &mut dyn Progress) -> Result<KernelSide, RunError> {
    let demanded = plan.kernel == KernelTrace::Required;
    if plan.kernel == KernelTrace::Off {
        return Ok(KernelSide::default());
    }
    match Capture::start(&Options::default()) {
        Ok(capture) => {
            let interface = match capture.interface() {
                Interface::Bpf => "bpf",
                Interface::Perf => "perf",
            };
            Ok(KernelSide { interface: Some(interface.into()), ..KernelSide::default() })
        }
        Err(error) if demanded && !plan.allow_less => Err(RunError::Kernel(error)),
        Err(error) => {
            if demanded {
                progress.note(&format!("the kernel's side is not recorded: {error}"));
            }
            Ok(KernelSide { refused: Some(error.to_string()), ..KernelSide::default() })
        }
    }
}

/// The recording of the kernel during one run.
pub(crate) struct Recording {
    capture: Capture,
    due: Instant,
    tally: Tally,
}

impl Recording {
    pub(crate) fn start() -> Result<Self, RunError> {
        let capture = Capture::start(&Options::default()).map_err(RunError::Kernel)?;
        Ok(Self { capture, due: MonotonicClock.now(), tally: Tally::default() })
    }

    /// Drains the buffers when it is due: in few large pieces, which make a smaller file.
    pub(crate) fn drain_when_due(&mut self, collector: &mut Collector) -> Result<(), RunError> {
        let now = MonotonicClock.now();
        if now < self.due {
            return Ok(());
        }
        self.due = now + self.capture.advised_interval();
        self.drain(collector)
    }

    fn drain(&mut self, collector: &mut Collector) -> Result<(), RunError> {
        collector.threads(&self.capture.threads().map_err(RunError::Kernel)?)?;
        let mut written = Ok(());
        let tally = self.capture.drain(&mut |cpu, events| {
            if written.is_ok() {
                written = collector.kernel(cpu, events);
            }
        });
        self.tally = tally.map_err(RunError::Kernel)?;
        written
    }

    /// Stops and drains the rest, including names that became known last.
    pub(crate) fn finish(mut self, collector: &mut Collector) -> Result<KernelRun, RunError> {
        self.capture.stop();
        self.drain(collector)?;
        collector.threads(&self.capture.threads().map_err(RunError::Kernel)?)?;
        let tally = self.tally;
        collector.missing(&tally.missing())?;
        Ok(KernelRun { events: tally.events, lost: tally.lost, gaps: tally.gaps })
    }
}

/// Records the kernel and discards the events until it is dropped: to measure the cost of recording.
pub(crate) fn record_and_discard() -> Result<impl Sized, CaptureError> {
    Capture::start(&Options::default())
}
