//! Faults to inject: every kind by name, and a wrapper that makes a good controller misbehave.

use std::collections::VecDeque;

use hemiola_plant::FaultKind as Apparatus;
use hemiola_units::{Instant, Random};
use serde::{Deserialize, Serialize};

use crate::matrix::times;
use crate::{
    CLIP_VOLTS, Command, Controller, Gain, Model, Observer, Region, Sensors, StateFeedback, clipped,
};

/// Where a fault occurs, which decides what injects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A unit computes wrong voltages ([`Faulty`]).
    Output,
    /// A unit sends wrong messages ([`Faulty`]).
    Message,
    /// A unit's process misbehaves; in simulation, its messages stop.
    Process,
    /// A sensor is wrong (the apparatus, or the loop for lost samples).
    Sensor,
    /// The output is wrong (the apparatus).
    Actuator,
    /// A release is wrong (the loop).
    Timer,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $class:ident $name:literal),+ $(,)?) => {
        /// Every kind of fault that can be injected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        #[non_exhaustive]
        pub enum FaultKind { $($(#[$doc])* $variant),+ }

        impl FaultKind {
            /// Every kind, class by class.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name used in scenarios and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns where it occurs.
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class),+ }
            }
        }
    };
}

kinds! {
    /// No fault: the control group.
    None Output "none",
    /// Constantly +4.95 V.
    Constant Output "constant",
    /// The command with reversed sign.
    SignFlipped Output "sign-flipped",
    /// A square wave of ±4.95 V at 1.1 Hz.
    SquareWave Output "square-wave",
    /// A random voltage within ±4.95 V.
    RandomCommand Output "random-command",
    /// Not-a-number.
    NotANumber Output "not-a-number",
    /// The last good value without end.
    Stuck Output "stuck",
    /// Commands computed from data 200 ms old.
    StaleData Output "stale-data",
    /// An additional drift of 0.5 V/s.
    Drift Output "drift",
    /// +4.95 V for 100 ms of each second.
    Burst Output "burst",
    /// Ten times the command, clipped.
    GainTenfold Output "gain-tenfold",
    /// An additional 2 V.
    Bias Output "bias",
    /// An additional 4 V at 2 Hz.
    Ripple Output "ripple",
    /// The gains for another plant: plausible but wrong.
    WrongGain Output "wrong-gain",
    /// Knows the decision rule and always takes the accepted command that leads furthest outwards.
    Adversary Output "adversary",
    /// No messages.
    NoOutput Message "no-output",
    /// Messages one cycle late.
    LateOne Message "late-1",
    /// Messages two cycles late.
    LateTwo Message "late-2",
    /// Messages five cycles late.
    LateFive Message "late-5",
    /// Every second message repeats the one before.
    Duplicated Message "duplicated",
    /// Messages come in pairs, the newer one first.
    Reordered Message "reordered",
    /// Messages meant for another plant.
    OtherPlant Message "other-plant",
    /// A hundred messages each cycle.
    MessageStorm Message "message-storm",
    /// Bytes that are not a message.
    Malformed Message "malformed",
    /// One flipped bit in each message.
    BitFlip Message "bit-flip",
    /// The process ends.
    Crash Process "crash",
    /// The process sleeps without end.
    Hang Process "hang",
    /// The process spins without end at its priority.
    BusyLoop Process "busy-loop",
    /// The process is stopped for half a second and then continues.
    StopContinue Process "stop-continue",
    /// The process allocates memory without end.
    MemoryHog Process "memory-hog",
    /// The unit is replaced repeatedly.
    ReplaceLoop Process "replace-loop",
    /// The unit is replaced, and the new one never answers.
    FailureDuringReplacement Process "failure-during-replacement",
    /// Two units fail together.
    TwoTogether Process "two-together",
    /// The position channel is stuck.
    PositionStuck Sensor "position-stuck",
    /// The angle channel is stuck.
    AngleStuck Sensor "angle-stuck",
    /// Every tenth sample is lost.
    DroppedSample Sensor "dropped-sample",
    /// The angle channel spikes once a second.
    AngleSpike Sensor "angle-spike",
    /// The angle channel has an offset.
    AngleOffset Sensor "angle-offset",
    /// The angle channel's sign is reversed.
    AngleReversed Sensor "angle-reversed",
    /// The channels are swapped.
    ChannelsSwapped Sensor "channels-swapped",
    /// The angle channel has a dead zone.
    AngleDeadZone Sensor "angle-dead-zone",
    /// Ten times the noise.
    NoiseTenfold Sensor "noise-tenfold",
    /// The output is stuck.
    OutputStuck Actuator "output-stuck",
    /// The output is delayed by 20 ms.
    OutputDelayed Actuator "output-delayed",
    /// The output saturates at ±1 V.
    OutputSaturated Actuator "output-saturated",
    /// One release per second is lost.
    TickLost Timer "tick-lost",
    /// One release per second comes half a period early.
    TickEarly Timer "tick-early",
    /// The time stamps jump by an hour.
    ClockStep Timer "clock-step",
}

impl FaultKind {
    /// Returns the kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether Simplex covers it. Faults of sensors, actuator and timer are not covered: at best they end in the
    /// fail-safe.
    #[must_use]
    pub const fn is_covered(self) -> bool {
        matches!(self.class(), Class::Output | Class::Message | Class::Process)
    }

    /// Returns the corresponding fault of the apparatus, if there is one.
    #[must_use]
    pub const fn apparatus(self) -> Option<Apparatus> {
        Some(match self {
            Self::PositionStuck => Apparatus::PositionStuck,
            Self::AngleStuck => Apparatus::AngleStuck,
            Self::AngleSpike => Apparatus::AngleSpike,
            Self::AngleOffset => Apparatus::AngleOffset,
            Self::AngleReversed => Apparatus::AngleReversed,
            Self::ChannelsSwapped => Apparatus::ChannelsSwapped,
            Self::AngleDeadZone => Apparatus::AngleDeadZone,
            Self::NoiseTenfold => Apparatus::NoiseTenfold,
            Self::OutputStuck => Apparatus::OutputStuck,
            Self::OutputDelayed => Apparatus::OutputDelayed,
            Self::OutputSaturated => Apparatus::OutputSaturated,
            _ => return None,
        })
    }
}

impl TryFrom<String> for FaultKind {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("there is no fault kind \"{name}\""))
    }
}

impl From<FaultKind> for &'static str {
    fn from(kind: FaultKind) -> Self {
        kind.name()
    }
}

/// Cycles remembered for stale data and late messages: 200 ms at 10 kHz.
const HISTORY_MAX: usize = 2000;
/// The age of stale data, and how long a stopped process sleeps, in s.
const STALE: f64 = 0.2;
const STOPPED: f64 = 0.5;
/// Messages in a storm.
const STORM: u64 = 100;

/// A good controller with a fault from some cycle on.
///
/// [`Controller::step`] injects faults of the class [`Class::Output`]. [`Faulty::answer`] also injects those of
/// [`Class::Message`] and [`Class::Process`], the latter as silence. Other kinds have no effect here.
pub struct Faulty<C> {
    inner: C,
    kind: FaultKind,
    from: u64,
    random: Random,
    wrong: StateFeedback,
    adversary: Adversary,
    period: f64,
    last: f64,
    volts: VecDeque<f64>,
    sent: VecDeque<Command>,
}

impl<C: Controller> Faulty<C> {
    /// Wraps `inner`, which misbehaves from the cycle of this number on. The adversary knows `region` and
    /// `accept_below` of the decision rule.
    pub fn new(
        inner: C,
        kind: FaultKind,
        from: u64,
        model: &Model,
        (region, accept_below): (Region, f64),
        seed: u64,
    ) -> Self {
        let wrong = Gain::named("real-system-experimental").expect("the table of gains has it");
        Self {
            inner,
            kind,
            from,
            random: Random::from_seed(seed),
            wrong: StateFeedback::new(model.clone(), wrong),
            adversary: Adversary { observer: Observer::new(model.clone()), region, accept_below },
            period: model.period.secs_f64(),
            last: 0.0,
            volts: VecDeque::with_capacity(HISTORY_MAX),
            sent: VecDeque::with_capacity(8),
        }
    }

    /// Computes this cycle's answer and passes to `publish` each message that a unit of this `generation` would send
    /// now: none, one or many, the newest last.
    pub fn answer(
        &mut self,
        sensors: &Sensors,
        generation: u32,
        stamp: Instant,
        publish: &mut dyn FnMut(&[u8]),
    ) {
        let volts = self.step(sensors);
        let command = Command { sequence: sensors.sequence, unit: generation, volts, stamp };
        self.sent.truncate(5);
        self.sent.push_front(command);
        let late = |cycles: usize| self.sent.get(cycles).copied();
        let Some(since) = sensors.sequence.checked_sub(self.from) else {
            publish(&command.encode());
            return;
        };
        let odd = !since.is_multiple_of(2);
        match self.kind {
            FaultKind::NoOutput
            | FaultKind::Crash
            | FaultKind::Hang
            | FaultKind::BusyLoop
            | FaultKind::MemoryHog => {}
            FaultKind::StopContinue if (since as f64) * self.period < STOPPED => {}
            FaultKind::LateOne => publish_some(late(1), publish),
            FaultKind::LateTwo => publish_some(late(2), publish),
            FaultKind::LateFive => publish_some(late(5), publish),
            FaultKind::Duplicated if odd => publish_some(late(1), publish),
            FaultKind::Reordered if odd => {
                publish(&command.encode());
                publish_some(late(1), publish);
            }
            FaultKind::Reordered => {}
            FaultKind::OtherPlant => {
                let unit = generation ^ 0x8000_0000;
                publish(&Command { unit, volts: -volts, ..command }.encode());
            }
            FaultKind::MessageStorm => {
                for back in (0..STORM).rev() {
                    let sequence = sensors.sequence.saturating_sub(back);
                    publish(&Command { sequence, ..command }.encode());
                }
            }
            FaultKind::Malformed => {
                let bytes: [u8; Command::SIZE] = std::array::from_fn(|_| self.random.bits() as u8);
                publish(&bytes);
            }
            FaultKind::BitFlip => {
                let mut bytes = command.encode();
                let bit = self.random.below(8 * Command::SIZE as u64) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                publish(&bytes);
            }
            _ => publish(&command.encode()),
        }
    }

    fn faulty(&mut self, seconds: f64, sensors: &Sensors, good: f64) -> f64 {
        match self.kind {
            FaultKind::Constant | FaultKind::TwoTogether => CLIP_VOLTS,
            FaultKind::SignFlipped => -good,
            FaultKind::SquareWave => {
                if (seconds * 1.1) % 1.0 < 0.5 {
                    CLIP_VOLTS
                } else {
                    -CLIP_VOLTS
                }
            }
            FaultKind::RandomCommand => self.random.between(-CLIP_VOLTS, CLIP_VOLTS),
            FaultKind::NotANumber => f64::NAN,
            FaultKind::Stuck => self.last,
            FaultKind::StaleData => {
                let cycles = (STALE / self.period).round() as usize;
                self.volts.get(cycles.min(HISTORY_MAX - 1)).copied().unwrap_or(0.0)
            }
            FaultKind::Drift => clipped(good + 0.5 * seconds),
            FaultKind::Burst if seconds % 1.0 < 0.1 => CLIP_VOLTS,
            FaultKind::GainTenfold => clipped(10.0 * good),
            FaultKind::Bias => clipped(good + 2.0),
            FaultKind::Ripple => {
                clipped(good + 4.0 * (std::f64::consts::TAU * 2.0 * seconds).sin())
            }
            FaultKind::WrongGain => self.wrong.step(sensors),
            FaultKind::Adversary => self.adversary.step(sensors),
            _ => good,
        }
    }
}

fn publish_some(command: Option<Command>, publish: &mut dyn FnMut(&[u8])) {
    if let Some(command) = command {
        publish(&command.encode());
    }
}

impl<C: Controller> Controller for Faulty<C> {
    fn step(&mut self, sensors: &Sensors) -> f64 {
        let good = self.inner.step(sensors);
        self.volts.truncate(HISTORY_MAX - 1);
        self.volts.push_front(good);
        match sensors.sequence.checked_sub(self.from) {
            Some(since) => self.faulty(since as f64 * self.period, sensors, good),
            None => {
                // These two must know the state by the time their fault begins.
                if self.kind == FaultKind::WrongGain {
                    self.wrong.step(sensors);
                } else if self.kind == FaultKind::Adversary {
                    self.adversary.observer.update(sensors);
                }
                self.last = good;
                good
            }
        }
    }
}

/// A unit that uses its knowledge of the decision rule to harm the pendulum.
struct Adversary {
    observer: Observer,
    region: Region,
    accept_below: f64,
}

impl Controller for Adversary {
    /// V of the next state is a convex parabola in the voltage, so its highest accepted value is at an end of the
    /// accepted interval.
    fn step(&mut self, sensors: &Sensors) -> f64 {
        /// The distance kept from the limit, so that rounding does not cause a refusal.
        const MARGIN: f64 = 1e-6;
        let x = self.observer.update(sensors);
        let model = self.observer.model();
        let free = times(&model.ad, &x);
        let value = |volts: f64| self.region.value(&model.predict(&x, volts));
        let (at_zero, square) = (self.region.value(&free), self.region.value(&model.bd));
        let slope = value(1.0) - at_zero - square;
        let room = slope * slope - 4.0 * square * (at_zero - self.accept_below + MARGIN);
        if room < 0.0 {
            // No voltage would be accepted; the least bad one looks harmless.
            return clipped(-slope / (2.0 * square));
        }
        let ends = [-1.0, 1.0].map(|sign| clipped((-slope + sign * room.sqrt()) / (2.0 * square)));
        if value(ends[0]) > value(ends[1]) { ends[0] } else { ends[1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::Span;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::named(kind.name()), Some(*kind));
            let text = serde_json::to_string(kind).unwrap();
            assert_eq!(serde_json::from_str::<FaultKind>(&text).unwrap(), *kind);
        }
        assert_eq!(FaultKind::named("nonsense"), None);
    }

    /// The messages of each cycle; none in place of what is no command.
    fn commands(kind: FaultKind, cycles: u64) -> Vec<Vec<Option<Command>>> {
        struct Count;
        impl Controller for Count {
            fn step(&mut self, sensors: &Sensors) -> f64 {
                sensors.sequence as f64 * 0.1
            }
        }
        let model = Model::new(Span::from_millis(20)).unwrap();
        let mut unit = Faulty::new(Count, kind, 2, &model, (Region::SAFETY, 0.6), 1);
        (0..cycles)
            .map(|sequence| {
                let mut sent = Vec::new();
                unit.answer(
                    &Sensors { sequence, ..Sensors::default() },
                    1,
                    Instant::ZERO,
                    &mut |bytes| sent.push(Command::decode(bytes).ok()),
                );
                sent
            })
            .collect()
    }

    /// The numbers of these messages, 999 for what is no command.
    fn messages(kind: FaultKind, cycles: u64) -> Vec<Vec<u64>> {
        let number = |command: Option<Command>| command.map_or(999, |command| command.sequence);
        let cycles = commands(kind, cycles).into_iter();
        cycles.map(|sent| sent.into_iter().map(number).collect()).collect()
    }

    #[test]
    fn message_faults_begin_at_their_cycle() {
        let sent = |kind| messages(kind, 6);
        assert_eq!(sent(FaultKind::None), [[0], [1], [2], [3], [4], [5]]);
        assert_eq!(sent(FaultKind::LateTwo), [[0], [1], [0], [1], [2], [3]]);
        assert_eq!(sent(FaultKind::Duplicated), [[0], [1], [2], [2], [4], [4]]);
        assert_eq!(
            sent(FaultKind::Reordered),
            [vec![0], vec![1], vec![], vec![3, 2], vec![], vec![5, 4]]
        );
        assert_eq!(sent(FaultKind::BitFlip), [[0], [1], [999], [999], [999], [999]]);
        assert_eq!(sent(FaultKind::Crash)[2..], [[0u64; 0]; 4]);
        let storm: Vec<u64> = (0..100_u64).map(|n| n.saturating_sub(96)).collect();
        assert_eq!(sent(FaultKind::MessageStorm)[3], storm);
    }

    #[test]
    fn a_unit_of_another_plant_has_another_number_and_drives_the_other_way() {
        let sent = commands(FaultKind::OtherPlant, 4);
        let [healthy, other] = [1, 3].map(|cycle: usize| sent[cycle][0].unwrap());
        assert_eq!((healthy.unit, healthy.volts), (1, 0.1));
        assert_eq!((other.sequence, other.volts), (3, -(3.0 * 0.1)));
        assert_ne!(other.unit, healthy.unit);
    }
}
