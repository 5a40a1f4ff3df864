//! Which processes of a run were stopped, by a signal or by a tracer, when, and for how long.

use hemiola_units::Span;

use crate::run::seconds;

/// How long a process that the run needs may be stopped.
pub(super) const STOPPED_MAX: Span = Span::from_millis(2000);

/// A process that was stopped.
#[derive(Debug, PartialEq, Eq)]
struct Stop {
    process: String,
    from: Span,
    /// When it was last seen stopped, and whether it still is.
    until: Span,
    lasts: bool,
}

/// All stops of a run, in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Stops(Vec<Stop>);

impl Stops {
    /// Takes in that a process is stopped, or is not, `now` after the first release. Returns how long it has been
    /// stopped.
    pub(super) fn see(&mut self, process: &str, is_stopped: bool, now: Span) -> Span {
        let known = self.0.iter_mut().find(|stop| stop.lasts && stop.process == process);
        match known {
            Some(stop) => {
                (stop.until, stop.lasts) = (now, is_stopped);
                if is_stopped { now - stop.from } else { Span::ZERO }
            }
            None if is_stopped => {
                let process = process.to_owned();
                self.0.push(Stop { process, from: now, until: now, lasts: true });
                Span::ZERO
            }
            None => Span::ZERO,
        }
    }

    /// A sentence for each.
    pub(super) fn in_words(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|stop| {
            let Stop { process, from, until, lasts } = stop;
            let (from, length) = (seconds(from), seconds(&(*until - *from)));
            let length =
                if *lasts { "until the end of the run".into() } else { format!("for {length}") };
            format!("{process} was stopped {from} after the start, {length}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_is_one_sentence() {
        let mut stops = Stops::default();
        let ms = Span::from_millis;
        assert_eq!(stops.see("io", false, ms(0)), ms(0));
        assert_eq!(stops.see("io", true, ms(50)), ms(0));
        assert_eq!(stops.see("decision", true, ms(60)), ms(0));
        assert_eq!(stops.see("io", true, ms(150)), ms(100));
        assert_eq!(stops.see("io", false, ms(250)), ms(0));
        assert_eq!(stops.see("io", true, ms(350)), ms(0));
        assert_eq!(stops.see("io", false, ms(400)), ms(0));
        let said: Vec<String> = stops.in_words().collect();
        assert_eq!(
            said,
            [
                "io was stopped 0.050 s after the start, for 0.200 s",
                "decision was stopped 0.060 s after the start, until the end of the run",
                "io was stopped 0.350 s after the start, for 0.050 s",
            ]
        );
    }
}
