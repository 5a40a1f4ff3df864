//! Newcomers beside an attack: new sessions, and small federations that are created.

use hemiola_federate::{Federate, Options, Settings};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::timer;
use hemiola_units::{Instant, Span};

use super::federation::create;
use super::process::{Failure, Finished, Orders, Process, is_over, next_order, report};

/// The pause between two attempts.
const EVERY: Span = Span::from_millis(100);

/// The role: opens a session, or creates a federation, again and again. It reports `begin` and `done` with their
/// instants, or `failed` and the reason.
pub(crate) fn newcomer(orders: &Orders) {
    let address = orders.address("rti");
    let settings = Settings { greeting_max: Span::from_millis(5000), ..Settings::default() };
    let options = Options { session: settings, ..Options::default() };
    let mut creator = orders.has("creates").then(|| {
        Federate::connect(&address, options.clone()).expect("the RTI is idle before the attack")
    });
    report("ready");
    let Some(_) = next_order() else { return };
    let mut number = 0;
    while !is_over() {
        number += 1;
        let name = format!("Newcomer {}-{number}", std::process::id());
        report(format_args!("begin {}", MonotonicClock.now().nanos()));
        let outcome = match &mut creator {
            Some(federate) => create(federate, &name),
            None => Federate::connect(&address, options.clone()).map(drop),
        };
        let now = MonotonicClock.now();
        match (outcome, &mut creator) {
            (Ok(()), creator) => {
                report(format_args!("done {}", now.nanos()));
                // The next newcomer finds the room of this one free.
                if let Some(federate) = creator
                    && let Err(error) = federate.destroy_federation_execution(&name)
                {
                    report(format_args!("failed {error}"));
                }
            }
            (Err(error), _) => report(format_args!("failed {error}")),
        }
        timer::sleep_until(now + EVERY);
    }
}

/// What newcomers met.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    pub(crate) worst: Span,
    pub(crate) served: u32,
    pub(crate) failed: u32,
    /// The first failure.
    pub(crate) failure: Option<String>,
    /// Why newcomers did not come until the end.
    pub(crate) fault: Option<String>,
}

/// Running newcomers.
pub(crate) struct Newcomers(Process);

impl Newcomers {
    /// Prepares newcomers of one kind; they begin with [`start`](Self::start).
    ///
    /// # Errors
    /// The RTI does not serve the one who creates federations.
    pub(crate) fn prepare(orders: &[String], creates: bool) -> Result<Self, String> {
        let mut orders = orders.to_vec();
        orders.extend(creates.then(|| "creates".to_owned()));
        let mut process = Process::start("newcomer", &orders);
        process.says("ready")?;
        Ok(Self(process))
    }

    pub(crate) fn start(&mut self) {
        self.0.tell("start");
    }

    /// Ends them. An attempt that is still under way after `patience` counts as failed.
    pub(crate) fn finish(self, patience: std::time::Duration) -> Reception {
        let mut reception = Reception::default();
        let mut begun = None;
        let instant = |text: &str| Instant::from_nanos(text.parse().expect("an instant"));
        let Finished { lines, failure } = self.0.finish(patience);
        for line in lines {
            match (line.split_once(' '), begun) {
                (Some(("begin", at)), _) => begun = Some(instant(at)),
                (Some(("done", at)), Some(from)) => {
                    reception.served += 1;
                    reception.worst = reception.worst.max(instant(at) - from);
                    begun = None;
                }
                (Some(("failed", reason)), _) => {
                    reception.fail(reason);
                    begun = None;
                }
                _ => {}
            }
        }
        if let Some(from) = begun {
            reception.worst = reception.worst.max(MonotonicClock.now() - from);
            reception.fail("still waiting");
        }
        reception.fault = match failure {
            // An attempt under way is counted above, and without patience all may be late.
            Some(Failure::Late(_)) if begun.is_some() || patience.is_zero() => None,
            Some(failure) => Some(failure.to_string()),
            None if reception.served + reception.failed == 0 => Some("no newcomer came".into()),
            None => None,
        };
        reception
    }
}

impl Reception {
    fn fail(&mut self, reason: &str) {
        self.failed += 1;
        self.failure.get_or_insert_with(|| reason.to_owned());
    }
}
