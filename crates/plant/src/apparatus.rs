//! The whole apparatus: dynamics, end stops, sensors and converters, advanced step by step.

use hemiola_units::{Random, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Code, LinearPlant, LowPass, Noise, Nominal, Parameters, State, Wiring, rk4};

/// The position of the end stops, in m from mid-track.
pub const POSITION_STOP: f64 = 0.407;
/// Beyond this angle, in rad (30°), the rod counts as fallen.
pub const ANGLE_LOST: f64 = 30.0 * std::f64::consts::PI / 180.0;
/// The mechanical stops of the rod, in rad (32°).
const ANGLE_STOP: f64 = 32.0 * std::f64::consts::PI / 180.0;
/// The longest step that the fixed-step integrator allows.
const STEP_MAX: Span = Span::from_millis(5);
/// The voltage that a spiking sensor adds.
const SPIKE_VOLTS: f64 = 2.0;
/// Duration and interval of the spikes, in s.
const SPIKE: (f64, f64) = (0.02, 1.0);
/// The offset of a faulty sensor in V.
const OFFSET_VOLTS: f64 = 0.5;
/// A sensor with a dead zone does not see movements below this many volts.
const DEAD_ZONE_VOLTS: f64 = 0.1;
/// The voltage at which a weak motor amplifier saturates.
const SATURATED_VOLTS: f64 = 1.0;
/// The delay of a slow output stage in s, rounded to whole steps, and the limit of its memory.
const OUTPUT_DELAY: f64 = 0.02;
const OUTPUT_DELAY_STEPS_MAX: usize = 256;

/// The simulated plant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// [`Parameters::sei_fit`].
    #[default]
    SeiFit,
    /// [`Parameters::ip01`].
    Ip01,
    /// Any other parameters.
    Custom(Parameters),
    /// A linear plant in place of the pendulum.
    Linear(Box<LinearPlant>),
}

impl Model {
    /// Returns the plant as its controllers know it. They know one pendulum, whichever is simulated.
    #[must_use]
    pub fn nominal(&self) -> Nominal {
        match self {
            Self::SeiFit | Self::Ip01 | Self::Custom(_) => Nominal::pendulum(),
            Self::Linear(plant) => Nominal::of(plant),
        }
    }

    /// Returns the linear plant, if it is one.
    #[must_use]
    pub const fn linear(&self) -> Option<&LinearPlant> {
        match self {
            Self::SeiFit | Self::Ip01 | Self::Custom(_) => None,
            Self::Linear(plant) => Some(plant),
        }
    }
}

/// The equations of motion, and where they end.
#[derive(Clone, Debug)]
enum Dynamics {
    Pendulum(Parameters),
    Linear(Box<LinearPlant>),
}

impl Dynamics {
    fn of(settings: &Settings) -> Self {
        let parameters = match &settings.model {
            Model::SeiFit => Parameters::sei_fit(),
            Model::Ip01 => Parameters::ip01(),
            Model::Custom(parameters) => *parameters,
            Model::Linear(plant) => return Self::Linear(plant.clone()),
        };
        Self::Pendulum(Parameters { stiction: settings.stiction, ..parameters })
    }

    /// The states that are measured.
    const fn measured(&self) -> [usize; 2] {
        match self {
            Self::Pendulum(_) => [0, 2],
            Self::Linear(plant) => plant.measured,
        }
    }

    fn next(&self, state: State, seconds: f64, volts: f64) -> State {
        let x = state.to_array();
        State::from_array(match self {
            Self::Pendulum(parameters) => rk4(x, seconds, |x| parameters.derivative(x, volts)),
            Self::Linear(plant) => rk4(x, seconds, |x| plant.dynamics.derivative(&x, volts)),
        })
    }

    /// Keeps the state within its stops; returns whether the plant is lost there.
    fn stop(&self, state: &mut State) -> bool {
        match self {
            Self::Pendulum(_) => stop_pendulum(state),
            Self::Linear(plant) => {
                let mut x = state.to_array();
                let is_out = x.iter().zip(&plant.limits).any(|(x, limit)| x.abs() >= *limit);
                for (x, limit) in x.iter_mut().zip(&plant.limits) {
                    *x = x.clamp(-limit, *limit);
                }
                *state = State::from_array(x);
                is_out
            }
        }
    }

    fn contains(&self, start: &State) -> bool {
        match self {
            Self::Pendulum(_) => {
                start.position.abs() < POSITION_STOP
                    && start.angle.abs() < ANGLE_STOP
                    && start.speed.is_finite()
                    && start.rate.is_finite()
            }
            Self::Linear(plant) => {
                start.to_array().iter().zip(&plant.limits).all(|(x, limit)| x.abs() < *limit)
            }
        }
    }
}

/// The cart stops at the ends of the track, and the rod at its own stops.
fn stop_pendulum(state: &mut State) -> bool {
    let at_stop = state.position.abs() >= POSITION_STOP;
    if at_stop {
        state.position = POSITION_STOP.copysign(state.position);
        if state.speed * state.position > 0.0 {
            state.speed = 0.0;
        }
    }
    let lost = at_stop || state.angle.abs() > ANGLE_LOST;
    if state.angle.abs() >= ANGLE_STOP {
        state.angle = ANGLE_STOP.copysign(state.angle);
        if state.rate * state.angle > 0.0 {
            state.rate = 0.0;
        }
    }
    lost
}

/// A fault of the apparatus itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The position channel keeps its last voltage.
    PositionStuck,
    /// The angle channel keeps its last voltage.
    AngleStuck,
    /// The angle channel jumps by 2 V for 20 ms once per second.
    AngleSpike,
    /// The angle channel reads 0.5 V too much.
    AngleOffset,
    /// The angle channel's sign is reversed.
    AngleReversed,
    /// The two channels are swapped.
    ChannelsSwapped,
    /// The angle channel does not see voltages below 0.1 V.
    AngleDeadZone,
    /// The noise of both channels is ten times as large.
    NoiseTenfold,
    /// The output keeps its last voltage.
    OutputStuck,
    /// The output is delayed by 20 ms.
    OutputDelayed,
    /// The output cannot exceed ±1 V.
    OutputSaturated,
}

/// A fault and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApparatusFault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// When it begins, after the start of the apparatus.
    pub from: Span,
}

/// All settings of an apparatus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The pendulum, or the plant in its place.
    pub model: Model,
    /// The integrator's step, above zero and at most 5 ms; usually 1 or 2 ms.
    pub step: Span,
    /// The initial state.
    pub start: State,
    /// Potentiometer noise before the filter in V rms, for draws every 2 ms.
    pub noise_v_rms: f64,
    /// Corner of the sensors' filters in Hz; 0 for none.
    pub filter_corner_hz: f64,
    /// Stiction of the cart in N, which replaces the model's.
    pub stiction: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// The converters and sensitivities.
    pub wiring: Wiring,
    /// The faults.
    pub faults: Vec<ApparatusFault>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: Model::SeiFit,
            step: Span::from_millis(1),
            start: State::default(),
            noise_v_rms: 0.005,
            filter_corner_hz: 50.0,
            stiction: 0.0,
            seed: 2000,
            wiring: Wiring::default(),
            faults: Vec::new(),
        }
    }
}

/// Why no apparatus can be built from the settings.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The step is out of range: choose 1 or 2 ms.
    #[error("the integrator step {0} must be above zero and at most 5ms")]
    Step(Span),
    /// A quantity is negative, infinite or not a number.
    #[error("{name} is {value}; it must be finite and not negative")]
    Quantity {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The initial state is not within the track and the rod's stops.
    #[error("the initial state {0:?} is not finite or beyond the end stops")]
    Start(State),
    /// A linear plant is too fast for the integrator: choose a shorter step.
    #[error(
        "the plant changes too fast for an integrator step of {step}; {longest:.6} s is the longest"
    )]
    Fast {
        /// The step.
        step: Span,
        /// The longest step for this plant, in s.
        longest: f64,
    },
}

/// When and in which state the plant was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// Time since the start of the apparatus.
    pub after: Span,
    /// The state at that moment.
    pub state: State,
}

/// A running apparatus.
#[derive(Clone, Debug)]
pub struct Apparatus {
    dynamics: Dynamics,
    wiring: Wiring,
    faults: Vec<ApparatusFault>,
    step: Span,
    seconds: f64,
    steps: u64,
    state: State,
    noise: [Noise; 2],
    filters: [LowPass; 2],
    sensed: [f64; 2],
    volts: f64,
    delayed: [f64; OUTPUT_DELAY_STEPS_MAX],
    fall: Option<Fall>,
}

impl Apparatus {
    /// Creates an apparatus in its initial state, with settled filters.
    ///
    /// # Errors
    /// If the step, a quantity or the initial state is out of range.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        if !settings.step.is_positive() || settings.step > STEP_MAX {
            return Err(SettingsError::Step(settings.step));
        }
        for (name, value) in [
            ("noise_v_rms", settings.noise_v_rms),
            ("filter_corner_hz", settings.filter_corner_hz),
            ("stiction", settings.stiction),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SettingsError::Quantity { name, value });
            }
        }
        let (dynamics, start) = (Dynamics::of(settings), settings.start);
        if !dynamics.contains(&start) {
            return Err(SettingsError::Start(start));
        }
        let seconds = settings.step.secs_f64();
        let longest =
            settings.model.linear().map_or(f64::INFINITY, |plant| plant.dynamics.step_max());
        if seconds > longest || longest.is_nan() {
            return Err(SettingsError::Fast { step: settings.step, longest });
        }
        let root = Random::from_seed(settings.seed);
        let [first, second] = dynamics.measured().map(|i| start.to_array()[i]);
        let volts = settings.wiring.sensor_volts(first, second);
        Ok(Self {
            dynamics,
            wiring: settings.wiring,
            faults: settings.faults.clone(),
            step: settings.step,
            seconds,
            steps: 0,
            state: start,
            noise: [0, 1].map(|i| Noise::new(root.fork(i), settings.noise_v_rms, seconds)),
            filters: volts.map(|v| LowPass::new(settings.filter_corner_hz, seconds, v)),
            sensed: volts,
            volts: 0.0,
            delayed: [0.0; OUTPUT_DELAY_STEPS_MAX],
            fall: None,
        })
    }

    /// Advances by one integrator step with this code held at the D/A output.
    ///
    /// The cart stops at an end stop, the rod at its own, and a state of another plant at its limit. The first time
    /// that the cart is at a stop, the rod beyond 30°, or a state at its limit is recorded as the [`Fall`]. The
    /// simulation continues afterwards.
    pub fn step(&mut self, output: Code) {
        self.volts = self.output_volts(self.wiring.output.volts(output));
        self.state = self.dynamics.next(self.state, self.seconds, self.volts);
        self.steps += 1;
        self.meet_stops();
        self.sense();
    }

    fn meet_stops(&mut self) {
        let lost = self.dynamics.stop(&mut self.state);
        if lost && self.fall.is_none() {
            self.fall = Some(Fall { after: self.elapsed(), state: self.state });
        }
    }

    fn sense(&mut self) {
        let noise_factor = if self.broken(FaultKind::NoiseTenfold) { 10.0 } else { 1.0 };
        let [first, second] = self.measured();
        let ideal = self.wiring.sensor_volts(first, second);
        let mut volts = [0.0; 2];
        for i in 0..2 {
            volts[i] = self.filters[i].step(ideal[i] + noise_factor * self.noise[i].draw());
        }
        if self.faults.is_empty() {
            self.sensed = volts;
            return;
        }
        if self.broken(FaultKind::AngleReversed) {
            volts[1] = -volts[1];
        }
        if self.broken(FaultKind::AngleOffset) {
            volts[1] += OFFSET_VOLTS;
        }
        if self.broken(FaultKind::AngleDeadZone) && volts[1].abs() < DEAD_ZONE_VOLTS {
            volts[1] = 0.0;
        }
        let (length, interval) = SPIKE;
        if self.broken(FaultKind::AngleSpike) && self.elapsed().secs_f64() % interval < length {
            volts[1] += SPIKE_VOLTS;
        }
        if self.broken(FaultKind::ChannelsSwapped) {
            volts.swap(0, 1);
        }
        let stuck = [FaultKind::PositionStuck, FaultKind::AngleStuck];
        for i in 0..2 {
            if !self.broken(stuck[i]) {
                self.sensed[i] = volts[i];
            }
        }
    }

    /// Returns the voltage at the motor when the converter outputs `wanted`.
    fn output_volts(&mut self, wanted: f64) -> f64 {
        if self.faults.is_empty() {
            return wanted;
        }
        let length = ((OUTPUT_DELAY / self.seconds).round() as usize).clamp(1, self.delayed.len());
        let place = self.steps as usize % length;
        let late = std::mem::replace(&mut self.delayed[place], wanted);
        let mut volts = if self.broken(FaultKind::OutputDelayed) { late } else { wanted };
        if self.broken(FaultKind::OutputSaturated) {
            volts = volts.clamp(-SATURATED_VOLTS, SATURATED_VOLTS);
        }
        if self.broken(FaultKind::OutputStuck) { self.volts } else { volts }
    }

    fn broken(&self, kind: FaultKind) -> bool {
        self.faults.iter().any(|fault| fault.kind == kind && self.elapsed() >= fault.from)
    }

    /// Returns the present codes of the A/D converters: position and angle.
    #[must_use]
    pub fn codes(&self) -> [Code; 2] {
        [self.wiring.position.code(self.sensed[0]), self.wiring.angle.code(self.sensed[1])]
    }

    /// Returns the true values of both measured states: the cart's position in m and the rod's angle in rad.
    #[must_use]
    pub fn measured(&self) -> [f64; 2] {
        let state = self.state.to_array();
        self.dynamics.measured().map(|i| state[i])
    }

    /// Returns the true state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns the voltage at the motor during the last step.
    #[must_use]
    pub const fn volts(&self) -> f64 {
        self.volts
    }

    /// Returns the simulated time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        self.step * i64::try_from(self.steps).unwrap_or(i64::MAX)
    }

    /// Returns when and in which state the plant was lost, if it was.
    #[must_use]
    pub const fn fall(&self) -> Option<Fall> {
        self.fall
    }

    /// Returns the converters and sensitivities in use.
    #[must_use]
    pub const fn wiring(&self) -> &Wiring {
        &self.wiring
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(settings: &Settings, steps: u32) -> Vec<([Code; 2], [u64; 4])> {
        let mut apparatus = Apparatus::new(settings).unwrap();
        (0..steps)
            .map(|i| {
                apparatus.step((2048 + (i * 37) % 300) as Code);
                (apparatus.codes(), apparatus.state().to_array().map(f64::to_bits))
            })
            .collect()
    }

    #[test]
    fn same_seed_gives_the_same_trace_bit_for_bit() {
        let settings = Settings { stiction: 0.3, ..Settings::default() };
        assert_eq!(trace(&settings, 500), trace(&settings, 500));
        let other = Settings { seed: 1, ..settings.clone() };
        assert_ne!(trace(&settings, 500), trace(&other, 500));
    }

    /// Targets may round `sin`, `ln` and `exp` differently, so this test has a tolerance.
    #[test]
    fn the_trace_of_a_seed_is_the_same_on_every_target() {
        let mut apparatus = Apparatus::new(&Settings::default()).unwrap();
        for step in 0..300u16 {
            apparatus.step(if step % 40 < 20 { 2300 } else { 1800 });
        }
        let golden = [
            0.0013351985884749278,
            0.013895320415564745,
            -0.004744986136607723,
            -0.04779649439759896,
        ];
        let found = apparatus.state().to_array();
        assert!(
            found.iter().zip(golden).all(|(found, golden)| (found - golden).abs() < 1e-9),
            "{found:?}"
        );
        let [position, angle] = apparatus.codes();
        let wiring = apparatus.wiring();
        // Three standard deviations of the filtered noise, and one step of the converter.
        assert!((wiring.position(position) - found[0]).abs() < 1.2e-3);
        assert!((wiring.angle(angle) - found[2]).abs() < 3e-3);
    }

    #[test]
    fn results_are_the_same_at_one_and_two_milliseconds() {
        let end = |step| {
            let settings = Settings { step, ..Settings::default() };
            let mut apparatus = Apparatus::new(&settings).unwrap();
            while apparatus.elapsed() < Span::from_millis(200) {
                apparatus.step(3000);
            }
            apparatus.state().to_array()
        };
        let (one, two) = (end(Span::from_millis(1)), end(Span::from_millis(2)));
        for i in 0..4 {
            assert!((one[i] - two[i]).abs() < 1e-7, "{one:?} {two:?}");
        }
    }

    #[test]
    fn the_cart_stops_at_the_end_and_the_fall_is_reported_once() {
        let start = State { position: 0.39, speed: 0.5, ..State::default() };
        let mut apparatus = Apparatus::new(&Settings { start, ..Settings::default() }).unwrap();
        for _ in 0..3000 {
            apparatus.step(4095);
        }
        let fall = apparatus.fall().unwrap();
        assert_eq!(fall.state.position, POSITION_STOP);
        assert!(fall.after < Span::from_millis(100), "{fall:?}");
        assert_eq!(apparatus.state().position, POSITION_STOP);
        assert!(apparatus.state().angle.abs() <= ANGLE_STOP);
    }

    #[test]
    fn a_rod_left_alone_falls_beyond_thirty_degrees() {
        let start = State { angle: 0.1, ..State::default() };
        let mut apparatus = Apparatus::new(&Settings { start, ..Settings::default() }).unwrap();
        while apparatus.fall().is_none() && apparatus.elapsed() < Span::from_millis(2000) {
            apparatus.step(2048);
        }
        let fall = apparatus.fall().expect("an unstable rod falls");
        assert!(fall.state.angle > ANGLE_LOST);
    }

    #[test]
    fn a_stuck_sensor_keeps_its_code_and_a_stuck_output_its_voltage() {
        let from = Span::from_millis(50);
        let settings = Settings {
            faults: [FaultKind::AngleStuck, FaultKind::OutputStuck]
                .map(|kind| ApparatusFault { kind, from })
                .to_vec(),
            ..Settings::default()
        };
        let mut apparatus = Apparatus::new(&settings).unwrap();
        let mut seen = Vec::new();
        for i in 0..100u16 {
            apparatus.step(2048 + 10 * i);
            seen.push((apparatus.codes()[1], apparatus.volts()));
        }
        assert!(seen[60..].iter().all(|s| *s == seen[60]), "{seen:?}");
        assert_ne!(seen[10], seen[20]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |settings| Apparatus::new(&settings).unwrap_err().to_string();
        assert_eq!(
            refused(Settings { step: Span::ZERO, ..Settings::default() }),
            "the integrator step 0s must be above zero and at most 5ms"
        );
        assert_eq!(
            refused(Settings { noise_v_rms: f64::NAN, ..Settings::default() }),
            "noise_v_rms is NaN; it must be finite and not negative"
        );
        let start = State { position: 0.5, ..State::default() };
        assert!(refused(Settings { start, ..Settings::default() }).contains("end stops"));
    }

    #[test]
    fn settings_survive_json() {
        let settings = Settings {
            model: Model::Custom(Parameters::ip01()),
            faults: vec![ApparatusFault {
                kind: FaultKind::AngleSpike,
                from: Span::from_millis(3),
            }],
            ..Settings::default()
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }
}
