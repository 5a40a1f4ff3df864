//! Refused credentials in the log: once per session, and so rarely that sessions which guess do not fill it.

use hemiola_units::{Instant, Span};

/// Refusals that are logged in a [`PERIOD`].
const LOGGED_MAX: u32 = 10;

const PERIOD: Span = Span::from_millis(60_000);

/// Which refusals are logged.
#[derive(Debug)]
pub(crate) struct Denials {
    /// When the present period began.
    began: Instant,
    logged: u32,
    /// Refusals that were not logged since the last one that was.
    omitted: u64,
}

impl Denials {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { began: now, logged: 0, omitted: 0 }
    }

    /// The first refusal of a session. If it is to be logged, returns how many were omitted before it.
    pub(crate) fn note(&mut self, now: Instant) -> Option<u64> {
        if now >= self.began + PERIOD {
            (self.began, self.logged) = (now, 0);
        }
        if self.logged == LOGGED_MAX {
            self.omitted += 1;
            return None;
        }
        self.logged += 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_refusals_a_minute_are_logged_and_the_next_says_how_many_were_not() {
        let at = |seconds: u64| Instant::from_nanos(1_000_000_000 * (100 + seconds));
        let mut denials = Denials::new(at(0));
        let logged = |denials: &mut Denials, second, count: u32| -> Vec<Option<u64>> {
            (0..count).map(|_| denials.note(at(second))).collect()
        };
        assert_eq!(logged(&mut denials, 0, 10), [Some(0); 10]);
        assert_eq!(logged(&mut denials, 59, 5), [None; 5]);
        assert_eq!(logged(&mut denials, 60, 2), [Some(5), Some(0)]);
        assert_eq!(logged(&mut denials, 119, 10)[7..], [Some(0), None, None]);
    }
}
