//! How much went by, and how fast it goes by now.

use hemiola_units::{Instant, Span};

use crate::report::Flow;

/// The length of a window. A rate is taken over the one before the present one, so it is at most two of them old.
const WINDOW: Span = Span::from_millis(1000);

/// Counts messages and bytes, and knows their rates without being woken: a window ends when something is counted,
/// or asked for, after it.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    messages: u64,
    bytes: u64,
    /// When the present window began, and the counts then.
    begin: Instant,
    at_begin: (u64, u64),
    /// Per second in the window before.
    before: (f64, f64),
}

impl Meter {
    /// Nothing went by yet.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { messages: 0, bytes: 0, begin: now, at_begin: (0, 0), before: (0.0, 0.0) }
    }

    /// So much went by.
    pub fn count(&mut self, now: Instant, messages: u64, bytes: u64) {
        if now - self.begin >= WINDOW {
            self.turn(now);
        }
        self.messages += messages;
        self.bytes += bytes;
    }

    /// Counts and rates so far.
    #[must_use]
    pub fn read(&self, now: Instant) -> Flow {
        let mut meter = *self;
        if now - meter.begin >= WINDOW {
            meter.turn(now);
        }
        let (messages_per_s, bytes_per_s) = meter.before;
        Flow { messages: meter.messages, bytes: meter.bytes, messages_per_s, bytes_per_s }
    }

    /// Begins a window. One that was much longer than it should be, because nothing came to end it, has the rate over
    /// all of its length.
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
    fn rate_is_that_of_the_last_whole_window() {
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
    fn rate_falls_when_nothing_comes() {
        let mut meter = Meter::new(at(0));
        meter.count(at(0), 1000, 0);
        assert_eq!(meter.read(at(10_000)).messages_per_s, 100.0);
        meter.count(at(10_000), 0, 0);
        assert_eq!(meter.read(at(11_000)).messages_per_s, 0.0);
        assert_eq!(meter.read(at(11_000)).messages, 1000);
    }
}
