//! The I/O code, the same in every program of the ladder: it samples both sensors and writes one voltage.

use hemiola_simplex::{Sensors, clipped};
use hemiola_units::{Instant, Span};

use crate::card::Card;
use crate::spec::NodeSpec;

/// Samples and actuates, and keeps account of the voltage in between: an observer needs to know which voltage
/// the motor had since the last sample, also when another controller commanded or none did.
#[derive(Debug)]
pub(crate) struct Io {
    card: Card,
    period: Span,
    volts: f64,
    /// Volt-nanoseconds since the last sample, up to `accounted`.
    integral: f64,
    accounted: Option<Instant>,
    sampled: Option<Instant>,
}

impl Io {
    /// Opens the card for a process that does I/O.
    pub(crate) fn open(spec: &NodeSpec) -> Result<Self, String> {
        let (card, period) = (Card::open(spec)?, spec.process.period);
        Ok(Self { card, period, volts: 0.0, integral: 0.0, accounted: None, sampled: None })
    }

    /// Reads both sensors.
    pub(crate) fn sample(&mut self, cycle: u64, release: Instant, now: Instant) -> Sensors {
        let (position, angle) = self.card.read();
        self.account(now);
        let applied = match self.sampled.map(|last| (now - last).nanos()) {
            Some(elapsed) if elapsed > 0 => self.integral / elapsed as f64,
            _ => self.volts,
        };
        self.integral = 0.0;
        self.sampled = Some(now);
        Sensors {
            sequence: cycle,
            release,
            sampled: now,
            position,
            angle,
            applied,
            period_us: u32::try_from(self.period.nanos() / 1000).unwrap_or(u32::MAX),
        }
    }

    /// Brings the card into the caches.
    pub(crate) fn warm_up(&self) {
        self.card.warm_up();
    }

    /// Writes a voltage, clipped. Returns the converter's output and its output before.
    pub(crate) fn actuate(&mut self, volts: f64, now: Instant) -> (f64, f64) {
        self.account(now);
        let before = self.volts;
        // Clipped here too, behind every program: a not-a-number must not reach the motor as full scale.
        self.volts = self.card.write(clipped(volts));
        (self.volts, before)
    }

    fn account(&mut self, now: Instant) {
        if let Some(last) = self.accounted {
            self.integral += self.volts * (now - last).nanos() as f64;
        }
        self.accounted = Some(now);
    }
}
