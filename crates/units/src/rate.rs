//! How often something happens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{QuantityError, number_and_unit, text_form};
use crate::{Instant, Span};

/// What a periodic task does if a job is still running at the next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    /// Releases that have passed are dropped and counted; the next one stays on the original grid.
    Skip,
    /// Releases that have passed are run at once, one after the other, until the task is back on the grid.
    CatchUp,
    /// The task ends with an error.
    Stop,
}

/// A rate, stored as its period in whole nanoseconds, so that releases computed from it never drift.
///
/// Written `"50Hz"`, `"1kHz"` or as a period, `"20ms"`; from 1 mHz to 1 MHz. If the period of a frequency is not a
/// whole number of nanoseconds (`"3Hz"`), the nearest one is used and displayed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    period: Span,
}

const EXPECTED: &str =
    "a rate from 1mHz to 1MHz such as \"50Hz\" or \"1kHz\", or a period such as \"20ms\"";

impl Rate {
    /// Returns the rate with this period; `None` if it is outside 1 µs to 1000 s.
    #[must_use]
    pub fn from_period(period: Span) -> Option<Self> {
        let range = Span::from_micros(1)..=Span::from_millis(1_000_000);
        range.contains(&period).then_some(Self { period })
    }

    /// Returns the time from one release to the next.
    #[must_use]
    pub const fn period(self) -> Span {
        self.period
    }

    /// Returns the number of events per second.
    #[must_use]
    pub fn hertz(self) -> f64 {
        1.0 / self.period.secs_f64()
    }

    /// Returns the release of job `number`, counted from zero at `epoch`.
    #[must_use]
    pub fn release(self, epoch: Instant, number: u64) -> Instant {
        epoch + self.period * i64::try_from(number).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: i64 = 1_000_000_000;
        let period = self.period.nanos();
        if SECOND % period == 0 {
            let hertz = SECOND / period;
            if hertz % 1000 == 0 {
                return f.pad(&format!("{}kHz", hertz / 1000));
            }
            return f.pad(&format!("{hertz}Hz"));
        }
        self.period.fmt(f)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rate({self})")
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = number_and_unit(text, EXPECTED)?;
        let hertz = match unit {
            "mHz" => number * 1e-3,
            "Hz" => number,
            "kHz" => number * 1e3,
            "MHz" => number * 1e6,
            _ => {
                let period: Span =
                    text.parse().map_err(|_| QuantityError::unknown_unit(text, unit, EXPECTED))?;
                return Self::from_period(period)
                    .ok_or_else(|| QuantityError::Range { text: text.into(), expected: EXPECTED });
            }
        };
        if hertz <= 0.0 {
            return Err(QuantityError::Range { text: text.into(), expected: EXPECTED });
        }
        Self::from_period(Span::from_secs_f64(1.0 / hertz))
            .ok_or_else(|| QuantityError::Range { text: text.into(), expected: EXPECTED })
    }
}

text_form!(Rate, QuantityError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_periods_name_the_same_thing() {
        assert_eq!("50Hz".parse::<Rate>().unwrap(), "20ms".parse().unwrap());
        assert_eq!("1kHz".parse::<Rate>().unwrap().period(), Span::from_millis(1));
        assert_eq!("1kHz".parse::<Rate>().unwrap().to_string(), "1kHz");
        assert_eq!("3Hz".parse::<Rate>().unwrap().to_string(), "333333333ns");
    }

    #[test]
    fn zero_and_negative_rates_are_refused() {
        for text in ["0Hz", "-1Hz", "0", "0ms", "-20ms", "2MHz", "50", "50 apples"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn releases_do_not_drift() {
        let rate: Rate = "3Hz".parse().unwrap();
        let epoch = Instant::from_nanos(7);
        assert_eq!(rate.release(epoch, 3_000_000) - epoch, rate.period() * 3_000_000);
    }
}
