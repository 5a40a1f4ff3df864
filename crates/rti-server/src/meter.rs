//! Counts of messages and bytes, and their present rates.

use hemiola_units::{Instant, Span};

use crate::report::Flow;

/// The length of a window. A rate is that of the last complete window, which began at most two lengths ago.
const WINDOW: Span = Span::from_millis(1000);

/// Counts messages and bytes, and computes their rates without a timer: the first count or read after the end of a
/// window begins the next.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    messages: u64,
    bytes: u64,
    /// The begin of the present window.
    begin: Instant,
    /// Messages and bytes at its begin.
    at_begin: (u64, u64),
    /// Messages and bytes per second in the window before.
    before: (f64, f64),
}

impl Meter {
    /// Returns a meter with all counts zero.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { messages: 0, bytes: 0, begin: now, at_begin: (0, 0), before: (0.0, 0.0) }
    }

    /// Adds to the counts.
    pub fn count(&mut self, now: Instant, messages: u64, bytes: u64) {
        if now - self.begin >= WINDOW {
            self.turn(now);
        }
        self.messages += messages;
        self.bytes += bytes;
    }

    /// Returns the counts and the rates.
    #[must_use]
    pub fn read(&self, now: Instant) -> Flow {
        let mut meter = *self;
        if now - meter.begin >= WINDOW {
            meter.turn(now);
        }
        let (messages_per_s, bytes_per_s) = meter.before;
        Flow { messages: meter.messages, bytes: meter.bytes, messages_per_s, bytes_per_s }
    }

    /// Begins a window. If nothing ended the last one in time, its rate is that over its whole length.
    fn turn(&mut self, now: Instant) {
        let seconds = (now - self.begin).secs_f64();
        let per_second = |count: u64, before: u64| (count - before) as f64 / seconds;
        self.before =
            (per_second(self.messages, self.at_begin.0), per_second(self.bytes, self.at_begin.1));
        self.begin = now;
        self.at_begin = (self.messages, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_rate_is_that_of_the_last_complete_window() {
        let mut meter = Meter::new(at(0));
        for millis in 0..1000 {
            meter.count(at(millis), 2, 200);
        }
        assert_eq!(meter.read(at(999)).messages_per_s, 0.0);
        let flow = meter.read(at(1000));
        assert_eq!((flow.messages, flow.bytes), (2000, 200_000));
        assert_eq!((flow.messages_per_s, flow.bytes_per_s), (2000.0, 200_000.0));
    }

    #[test]
    fn the_rate_falls_when_nothing_arrives() {
        let mut meter = Meter::new(at(0));
        meter.count(at(0), 1000, 0);
        assert_eq!(meter.read(at(10_000)).messages_per_s, 100.0);
        meter.count(at(10_000), 0, 0);
        assert_eq!(meter.read(at(11_000)).messages_per_s, 0.0);
        assert_eq!(meter.read(at(11_000)).messages, 1000);
    }
}
