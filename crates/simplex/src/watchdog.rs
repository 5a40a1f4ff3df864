//! The watchdog of the decision module: the I/O process commands the plant itself while no usable command comes.
//!
//! It has a safety controller and an observer of its own, with the settings of the module. It takes the plant in the
//! first cycle whose command is missing, late or unusable, and keeps it until as many usable commands in a row have
//! come as were missed, at most [`Settings::return_after`]. While it has the plant, it commands right after the
//! sample, without waiting for the module.
//!
//! It writes 0 V instead when its own law cannot help: the module had decided on its fail-safe, the plant is
//! beyond its limits, or the sensors are implausible. That lasts until the module is back.

use hemiola_units::Span;

use crate::event::{CommandSource, Event, Fault, Reason};
use crate::observer::DISBELIEVED_MAX;
use crate::{CLIP_VOLTS, Command, Observer, SafetyController, Sensors, Settings, SettingsError};

/// The voltage of a cycle, and its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The voltage, within ±[`CLIP_VOLTS`].
    pub volts: f64,
    /// Its source.
    pub source: CommandSource,
    /// The change of source, if the watchdog takes the plant or gives it back with this voltage.
    pub switch: Option<Event>,
}

/// The watchdog of one loop.
#[derive(Clone, Debug)]
pub struct Watchdog {
    observer: Observer,
    safety: SafetyController,
    return_after: u32,
    /// Commands missed since it took the plant.
    missed: u32,
    /// Usable commands in a row since the last missed one.
    usable: u32,
    has_plant: bool,
    /// Why it writes 0 V in place of its law.
    rests: Option<Fault>,
    /// The source of the last voltage, and whether the watchdog chose it.
    source: CommandSource,
    is_ours: bool,
}

impl Watchdog {
    /// Creates the watchdog of a decision module with these settings, for a loop of this period.
    ///
    /// # Errors
    /// If the module cannot be created with these settings either.
    pub fn new(settings: &Settings, period: Span) -> Result<Self, SettingsError> {
        let model = settings.model(period)?;
        Ok(Self {
            safety: SafetyController::of(settings, &model)?,
            observer: Observer::new(model),
            return_after: settings.return_after,
            missed: 0,
            usable: 0,
            has_plant: false,
            rests: None,
            source: CommandSource::Held,
            is_ours: false,
        })
    }

    /// Returns whether it commands the plant.
    #[must_use]
    pub const fn has_plant(&self) -> bool {
        self.has_plant
    }

    /// Returns whether the cycle judged last had no usable command.
    #[must_use]
    pub const fn has_missed(&self) -> bool {
        self.missed > 0 && self.usable == 0
    }

    /// Keeps its estimate up to date. Call it with every sample, where no process waits for this one.
    pub fn learn(&mut self, sensors: &Sensors) {
        self.observer.update(sensors);
    }

    /// Judges what came in answer to the sample `sequence`. Returns the voltage to write; `None` if this cycle is the
    /// watchdog's: then write [`Watchdog::command`], unless that is done already.
    pub fn judge(&mut self, sequence: u64, command: Option<Command>) -> Option<Chosen> {
        let Some((volts, source)) = command.and_then(|command| usable(&command, sequence)) else {
            self.missed = self.missed.saturating_add(1);
            (self.usable, self.has_plant) = (0, true);
            return None;
        };
        self.usable = self.usable.saturating_add(1);
        self.rests = (source == CommandSource::FailSafe).then_some(Fault::DecisionMissing);
        if self.has_plant {
            self.has_plant = self.usable < self.missed.min(self.return_after);
            return None;
        }
        self.missed = 0;
        Some(self.chosen(volts, source, Reason::Returned))
    }

    /// Returns the voltage of its own law for this sample, or 0 V if that cannot help.
    pub fn command(&mut self, sensors: &Sensors) -> Chosen {
        let state = self.observer.update(sensors);
        let believed = self.observer.disbelieved() == 0;
        if self.observer.disbelieved() > DISBELIEVED_MAX {
            self.rests.get_or_insert(Fault::SensorsImplausible);
        } else if believed && self.observer.model().plant.is_lost(&state) {
            self.rests.get_or_insert(Fault::PlantLost);
        }
        match self.rests {
            Some(fault) => self.chosen(0.0, CommandSource::FailSafe, Reason::Fault(fault)),
            None => {
                let volts = self.safety.command(&state);
                let reason = Reason::Fault(Fault::DecisionMissing);
                self.chosen(volts, CommandSource::Watchdog, reason)
            }
        }
    }

    /// The decision module reports its own switches; those from and to the watchdog are reported here.
    fn chosen(&mut self, volts: f64, source: CommandSource, reason: Reason) -> Chosen {
        let from = std::mem::replace(&mut self.source, source);
        let was_ours = std::mem::replace(&mut self.is_ours, self.has_plant);
        let reported = from != source && (was_ours || self.is_ours);
        let switch = reported.then_some(Event::Switch { from, to: source, reason });
        Chosen { volts, source, switch }
    }
}

/// Returns the voltage and the source of a command that answers this sample, if it is one of a sane module.
fn usable(command: &Command, sequence: u64) -> Option<(f64, CommandSource)> {
    let source = CommandSource::from_code(u16::try_from(command.unit).ok()?)?;
    let sane = command.sequence == sequence && command.volts.abs() <= CLIP_VOLTS;
    sane.then_some((command.volts, source))
}
