//! Checks of the plant: the pendulum's settings, or a linear plant in its place, and the gains for it.

use std::ops::Range;

use hemiola_plant::{LinearPlant, Model as Plant, STATES_MAX, Settings as PlantSettings, State};
use hemiola_simplex::{GAINS, Gain, Model};
use hemiola_units::Span;

use super::Checker;
use crate::document::{At, Entry};
use crate::keys::{LinearKeys, ModelWord, PlantKeys};
use crate::section::{GainText, Numbers, Rows};
use hemiola_diagnostic::Problem;

/// The shortest step of the plant for which its integrator is validated.
const STEP_MIN: Span = Span::from_micros(100);
/// Full scale of a sensor that states none, in limits of its state.
const FULL_SCALE: f64 = 1.25;
/// The most: beyond it, the noise that is assumed of the sensor would be taken for jumps of the state.
const FULL_SCALE_MAX: f64 = 10.0;

impl Checker<'_> {
    pub(super) fn plant(&mut self, keys: &PlantKeys<'_>) -> PlantSettings {
        self.plant_profile = Some(self.chosen(&keys.profile, None, Some("plant")));
        let step = keys.step.value();
        let step_at = keys.step.at();
        if !(STEP_MIN..=Span::from_millis(5)).contains(&step) {
            self.wrong(
                step_at,
                format!("the plant's step is {step}; it must be from 100us to 5ms"),
                "the integrator is validated for this range; 1ms is usual",
            );
        }
        self.step_at = Some(step_at.clone());
        let start = keys.start.or_empty();
        let settings = PlantSettings {
            model: match keys.model.value() {
                ModelWord::SeiFit => Plant::SeiFit,
                ModelWord::Ip01 => Plant::Ip01,
            },
            step,
            start: State {
                position: start.position.value(),
                angle: start.angle_deg.value().to_radians(),
                ..State::default()
            },
            noise_v_rms: keys.noise.value(),
            filter_corner_hz: keys.filter_corner.value().hertz(),
            stiction: keys.stiction.value(),
            ..PlantSettings::default()
        };
        match keys.linear.get() {
            Some(linear) => self.in_place_of_pendulum(settings, keys, linear),
            None => settings,
        }
    }

    /// Puts the linear plant into the settings. Keys of the pendulum are wrong beside it.
    fn in_place_of_pendulum(
        &mut self,
        settings: PlantSettings,
        keys: &PlantKeys<'_>,
        linear: &LinearKeys<'_>,
    ) -> PlantSettings {
        let others = [
            (keys.model.is_present, &keys.model.key_at, "model"),
            (keys.stiction.is_present, &keys.stiction.key_at, "stiction"),
            (keys.start.is_present, &keys.start.key_at, "start"),
        ];
        for (_, at, key) in others.into_iter().filter(|(is_present, ..)| *is_present) {
            let hint = "leave it out; the start of a linear plant belongs into [plant.linear]";
            self.wrong(
                at,
                format!("{key} belongs to the pendulum, and this plant is linear"),
                hint,
            );
        }
        self.linear_at = Some(keys.linear.key_at.clone());
        let Some(plant) = self.linear(linear) else { return settings };
        let longest = plant.dynamics.step_max();
        if settings.step.secs_f64() > longest {
            let message = format!(
                "the plant changes too fast for an integrator step of {}; the longest is {longest:.6} s",
                settings.step
            );
            self.wrong(
                keys.step.at(),
                message,
                "shorten step, or check the units of a: per second",
            );
        }
        let start = self.linear_start(linear, &plant);
        PlantSettings {
            wiring: plant.wiring(),
            start: State::from_array(start),
            model: Plant::Linear(Box::new(plant)),
            ..settings
        }
    }

    /// The linear plant; `None` after a problem.
    fn linear(&mut self, keys: &LinearKeys<'_>) -> Option<LinearPlant> {
        let names = keys.states.get()?;
        let count = names.len();
        if !(1..=STATES_MAX).contains(&count) {
            let message =
                format!("the plant has {count} states; it must have from 1 to {STATES_MAX}");
            self.wrong(keys.states.at(), message, "name each state: states = [\"level mm\"]");
            return None;
        }
        for (i, name) in names.iter().enumerate() {
            let is_again = names[..i].iter().any(|other| other.value == name.value);
            if name.value.trim().is_empty() || is_again {
                let what = if is_again { "a second time" } else { "without a letter" };
                let message = format!("a state is named \"{}\" {what}", name.value);
                self.wrong(&name.at, message, "give each state a name of its own");
                return None;
            }
        }
        let a = self.square("a", &keys.a, count);
        let b = self.one_for_each_state("b", &keys.b, count);
        let limits = self.one_for_each_state("limits", &keys.limits, count);
        let measured = self.measured(keys, names);
        let (a, b, limits, measured) = (a?, b?, limits?, measured?);
        if let Some(limit) = limits.iter().find(|limit| **limit <= 0.0) {
            let message = format!("a limit is {limit}; it must be above zero");
            self.wrong(keys.limits.at(), message, "state how far each state can go to either side");
            return None;
        }
        let names = names.iter().map(|name| name.value.to_owned()).collect();
        let mut plant = LinearPlant::new(names, &a, b, limits);
        plant.measured = [measured[0], measured[measured.len() - 1]];
        plant.full_scale = self.full_scale(keys, &plant, measured.len())?;
        Some(plant)
    }

    /// The states that are measured, by number.
    fn measured(&mut self, keys: &LinearKeys<'_>, states: &[At<&str>]) -> Option<Vec<usize>> {
        let measured = keys.measured.get()?;
        if !(1..=2).contains(&measured.len()) {
            let message =
                format!("{} states are measured; the card has two A/D channels", measured.len());
            self.wrong(keys.measured.at(), message, "name one or two of the states");
            return None;
        }
        let names: Vec<&str> = states.iter().map(|state| state.value).collect();
        let mut found = Vec::new();
        for state in measured {
            match names.iter().position(|name| *name == state.value) {
                Some(index) => found.push(index),
                None => self.unknown(state.value, &state.at, "the plant has no state", &names, ""),
            }
        }
        (found.len() == measured.len()).then_some(found)
    }

    fn full_scale(
        &mut self,
        keys: &LinearKeys<'_>,
        plant: &LinearPlant,
        measured: usize,
    ) -> Option<[f64; 2]> {
        let limits = plant.measured.map(|state| plant.limits[state]);
        let Some(Numbers(stated)) = keys.full_scale.get() else {
            // One of the wrong shape is reported already.
            return (!keys.full_scale.is_present).then(|| limits.map(|limit| FULL_SCALE * limit));
        };
        let at = keys.full_scale.at();
        if stated.len() != measured {
            let message = format!(
                "full_scale has {} numbers, but {measured} states are measured",
                stated.len()
            );
            self.wrong(at, message, "write one number for each measured state");
            return None;
        }
        let full_scale = [stated[0], stated[measured - 1]];
        for (value, limit) in full_scale.into_iter().zip(limits) {
            if value < limit {
                let message = format!(
                    "full_scale is {value}, below the limit of its state, which is {limit}"
                );
                self.wrong(at, message, "a sensor must be able to show its state up to the limit");
                return None;
            }
            if value > FULL_SCALE_MAX * limit {
                let message = format!(
                    "full_scale is {value}, more than {FULL_SCALE_MAX} times the limit of its state, which is {limit}"
                );
                let hint = "the noise of such a sensor hides the state: choose a sensor with a smaller range";
                self.wrong(at, message, hint);
                return None;
            }
        }
        Some(full_scale)
    }

    fn linear_start(&mut self, keys: &LinearKeys<'_>, plant: &LinearPlant) -> [f64; STATES_MAX] {
        let mut start = [0.0; STATES_MAX];
        let stated = self.one_for_each_state("start", &keys.start, plant.states.len());
        for ((i, value), limit) in stated.unwrap_or_default().iter().enumerate().zip(plant.limits) {
            start[i] = *value;
            if value.abs() >= limit {
                let message =
                    format!("\"{}\" starts at {value}, but its limit is {limit}", plant.states[i]);
                self.wrong(keys.start.at(), message, "start within the limits");
            }
        }
        start
    }

    /// The numbers of a key; `None` if there are none, or not one for each of `states` states.
    fn one_for_each_state<'e>(
        &mut self,
        word: &str,
        entry: &'e Entry<Numbers>,
        states: usize,
    ) -> Option<&'e [f64]> {
        let Numbers(numbers) = entry.get()?;
        self.has_one_for_each_state(word, numbers.len(), states, entry.at()).then_some(numbers)
    }

    fn has_one_for_each_state(
        &mut self,
        word: &str,
        numbers: usize,
        states: usize,
        at: &Range<usize>,
    ) -> bool {
        if numbers != states {
            let message =
                format!("{word} has {numbers} numbers, but the plant has {states} states");
            self.wrong(at, message, "write one number for each state, in the order of the states");
        }
        numbers == states
    }

    /// The rows of a square matrix; `None` if there is none of this size.
    pub(super) fn square(
        &mut self,
        word: &str,
        entry: &Entry<Rows>,
        states: usize,
    ) -> Option<Vec<Vec<f64>>> {
        let Rows(rows) = entry.get()?;
        if rows.len() != states {
            let message =
                format!("{word} has {} rows, but the plant has {states} states", rows.len());
            self.wrong(
                entry.at(),
                message,
                "write one row for each state, in the order of the states",
            );
            return None;
        }
        let word = format!("a row of {word}");
        for row in rows {
            if !self.has_one_for_each_state(&word, row.value.0.len(), states, &row.at) {
                return None;
            }
        }
        Some(rows.iter().map(|row| row.value.0.clone()).collect())
    }

    /// The plant steps at least once in a period; shortened to fit a rate from the command line.
    pub(super) fn plant_step_fits(&mut self, period: Span) {
        let Some(plant) = self.plant.as_mut().filter(|plant| plant.step > period) else { return };
        let step = plant.step;
        if self.overrides.rate.is_some() && period >= STEP_MIN {
            plant.step = period;
            self.notes.push(format!("the plant's step shortened from {step} to {period}"));
            return;
        }
        let message = format!("the plant steps every {step}, longer than the period of {period}");
        let shorter = period.min(Span::from_millis(1));
        let hint = format!("keep the plant's step at or below the period, such as {shorter}");
        self.problem(Problem::new(self.step_at.clone(), message).hint(hint));
    }

    /// A linear plant must have a model at the period of each variant.
    pub(super) fn plant_has_model(&mut self, period: Span) {
        let Some(plant) = self.plant.as_ref().filter(|plant| plant.model.linear().is_some()) else {
            return;
        };
        let Err(error) = Model::of(plant.model.nominal(), period) else { return };
        let Some(at) = self.linear_at.take() else { return };
        let message = format!("the plant cannot be controlled in cycles of {period}: {error}");
        self.wrong(&at, message, "choose another rate, or measure another state");
    }

    /// Whether the pendulum can be controlled in cycles of `period`, whose rate stands `at` this place. Reports it if
    /// not; what follows from the period is then no problem of its own.
    pub(super) fn pendulum_has_model(&mut self, period: Span, at: Option<Range<usize>>) -> bool {
        if self.is_linear() {
            return true;
        }
        let Err(error) = Model::new(period) else { return true };
        let at = at.filter(|_| self.overrides.rate.is_none());
        let message = format!("the pendulum cannot be controlled in cycles of {period}: {error}");
        self.problem(Problem::new(at, message).hint("write a rate from \"10Hz\" to \"10kHz\""));
        false
    }

    /// The number of states of the plant.
    pub(super) fn states(&self) -> usize {
        let linear = self.plant.as_ref().and_then(|plant| plant.model.linear());
        linear.map_or(STATES_MAX, |plant| plant.states.len())
    }

    /// Whether the plant is not the pendulum.
    pub(super) fn is_linear(&self) -> bool {
        self.linear_at.is_some()
            || self.plant.as_ref().is_some_and(|plant| plant.model.linear().is_some())
    }

    /// Whether the plant is read: what depends on it cannot be judged beside a linear plant that has a problem.
    pub(super) fn plant_is_known(&self) -> bool {
        self.linear_at.is_none()
            || self.plant.as_ref().is_some_and(|plant| plant.model.linear().is_some())
    }

    /// Returns the gain, or reports that it has an unknown name or does not fit the plant.
    pub(super) fn gain(&mut self, gain: &At<GainText<'_>>) -> Gain {
        let states = self.states();
        let found = match gain.value {
            _ if !self.plant_is_known() => None,
            GainText::Numbers { gain: numbers, count } => {
                self.has_one_for_each_state("the gain", count, states, &gain.at).then_some(numbers)
            }
            GainText::Name(name) if self.is_linear() => {
                let message =
                    format!("the gain \"{}\" is one of the pendulum", name.escape_debug());
                self.wrong(
                    &gain.at,
                    message,
                    "write a number for each state of the plant, in V per unit",
                );
                None
            }
            GainText::Name(name) => Gain::named(name).or_else(|| {
                let names: Vec<&str> = GAINS.iter().map(|(name, _)| *name).collect();
                self.unknown(name, &gain.at, "there is no gain", &names, "");
                None
            }),
        };
        found.unwrap_or(Gain([0.0; STATES_MAX]))
    }
}
