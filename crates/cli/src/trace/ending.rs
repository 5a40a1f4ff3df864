//! Signals to the recorder, and what they mean for the program that it records.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hemiola_units::{Instant, Span};
use signal_hook::consts::{SIGTERM, SIGUSR1};

use crate::diagnostics::Failure;

/// How long a program may take to end after Ctrl-C, and again after SIGTERM.
const ENDING_TIMEOUT: Span = Span::from_millis(2000);

/// The signals that the recorder has received. A descriptor becomes readable with each of them.
#[derive(Debug)]
pub(super) struct Signals {
    ending: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
    triggered: Arc<AtomicBool>,
    received: UnixStream,
}

impl Signals {
    /// Receives the signals of `ending`, which end the recording, and SIGUSR1 if it may be a trigger (`is_trigger`).
    pub(super) fn receive(
        ending: impl Iterator<Item = i32>,
        is_trigger: bool,
    ) -> Result<Self, Failure> {
        let (received, sender) = UnixStream::pair().map_err(Failure::failed)?;
        received.set_nonblocking(true).map_err(Failure::failed)?;
        let [ended, terminated, triggered] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let flag = |signal: i32, flag: &Arc<AtomicBool>| {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(Failure::failed)
        };
        let all = ending.chain(is_trigger.then_some(SIGUSR1));
        for signal in all {
            flag(signal, if signal == SIGUSR1 { &triggered } else { &ended })?;
            if signal == SIGTERM {
                flag(signal, &terminated)?;
            }
            // Last, because actions run in this order: a reader that wakes up finds the flags set.
            let sender = sender.try_clone().map_err(Failure::failed)?;
            signal_hook::low_level::pipe::register(signal, sender).map_err(Failure::failed)?;
        }
        Ok(Self { ending: ended, terminated, triggered, received })
    }

    /// Whether one came that ends the recording.
    pub(super) fn end(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Whether SIGUSR1 came since the last call.
    pub(super) fn take_trigger(&self) -> bool {
        self.triggered.swap(false, Ordering::Relaxed)
    }

    /// What [`Self::as_fd`] has told is known: it tells about the next signal.
    pub(super) fn clear(&self) {
        // An error means that nothing is left.
        while (&self.received).read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    }

    /// What came that the program must learn of.
    pub(super) fn to_program(&self) -> ToProgram {
        if self.terminated.load(Ordering::Relaxed) {
            ToProgram::Terminate
        } else if self.end() {
            ToProgram::Interrupt
        } else {
            ToProgram::Nothing
        }
    }
}

impl AsFd for Signals {
    /// Readable once a signal came.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.received.as_fd()
    }
}

/// A signal to the recorder, as far as it concerns the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToProgram {
    /// None came.
    Nothing,
    /// Ctrl-C, or the terminal was closed: a terminal tells the program itself.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// What the recorder does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Wait for the program.
    Wait,
    /// Send it SIGTERM.
    Terminate,
    /// Leave it running.
    Leave,
}

/// The end of a program, from the first signal on.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// SIGTERM was sent.
    is_asked: bool,
    /// When its patience with the program ends, once a signal came.
    deadline: Option<Instant>,
}

impl Ending {
    /// The action that is due, given the signals so far.
    pub(super) fn due(&mut self, now: Instant, signal: ToProgram) -> Due {
        let is_over = self.deadline.is_some_and(|deadline| now >= deadline);
        match signal {
            _ if is_over && self.is_asked => Due::Leave,
            ToProgram::Terminate if !self.is_asked => self.ask(now),
            _ if is_over => self.ask(now),
            ToProgram::Interrupt if self.deadline.is_none() => {
                self.deadline = Some(now + ENDING_TIMEOUT);
                Due::Wait
            }
            _ => Due::Wait,
        }
    }

    fn ask(&mut self, now: Instant) -> Due {
        self.is_asked = true;
        self.deadline = Some(now + ENDING_TIMEOUT);
        Due::Terminate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Due::{Leave, Terminate, Wait};

    /// Checks each step: a time in ms, the signal so far, and the action that is due.
    fn check(steps: &[(i64, ToProgram, Due)]) {
        let mut ending = Ending::default();
        for (ms, signal, due) in steps {
            let now = Instant::from_nanos(1_000) + Span::from_millis(*ms);
            assert_eq!(ending.due(now, *signal), *due, "at {ms} ms");
        }
    }

    #[test]
    fn sigterm_is_passed_on_at_once_and_once() {
        let signal = ToProgram::Terminate;
        check(&[(0, ToProgram::Nothing, Wait), (5_000, signal, Terminate), (5_001, signal, Wait)]);
        check(&[(0, signal, Terminate), (1_999, signal, Wait), (2_000, signal, Leave)]);
    }

    #[test]
    fn an_interrupted_program_gets_sigterm_after_two_seconds_or_with_the_recorder() {
        let signal = ToProgram::Interrupt;
        check(&[
            (0, signal, Wait),
            (1_999, signal, Wait),
            (2_000, signal, Terminate),
            (3_999, signal, Wait),
            (4_000, signal, Leave),
            (4_050, signal, Leave),
        ]);
        let both = ToProgram::Terminate;
        check(&[
            (0, signal, Wait),
            (100, both, Terminate),
            (2_099, both, Wait),
            (2_100, both, Leave),
        ]);
    }
}
