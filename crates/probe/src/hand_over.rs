//! The minimum cost of one hand-over: a message of 64 bytes from one process to another on the same processor by the
//! bare mechanism, measured at the time and place of the request.
//!
//! Two processes exchange messages: the *near* one, at the higher priority, sends and sleeps until the answer, which
//! the *far* one sends. The time of a hand-over starts just before the sending call in one process and ends just after
//! the receiving call in the other; it includes one clock reading. *Down* is from the near to the far process, which
//! runs when the near one goes to sleep; *up* is the answer, which preempts.
//!
//! It is the floor of a periodic program's hand-overs, so the two directions are separate and it can be measured at the
//! program's rate. [`communication`](crate::communication) has every mechanism and size.

use hemiola_rt::clock::{Clock, FastClock, MonotonicClock};
use hemiola_rt::sys::timer;
use hemiola_units::{Granted, Instant, Policy, Priority, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::catalogue::Probe;
use crate::link::{Description, Link, Object};
use crate::peer::{Part, Peer, PeerProcess, gather, place};
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

pub use crate::link::Mechanism;

/// Bytes of the exchanged message.
pub const MESSAGE_SIZE: usize = 64;

/// Uncounted first rounds, which load caches and make connections; few at a rate, where they take long and the caches
/// get cold again each time.
const WARM_UP: u64 = 100;
const WARM_UP_AT_RATE: u64 = 5;

/// Time allowed for the processes beyond that of the samples.
const TIMEOUT_MARGIN: Span = Span::from_millis(20_000);

/// Longer than an undisturbed round trip by any mechanism.
const ROUND_MAX: Span = Span::from_micros(500);

/// Its name in errors.
const NAME: &str = "hand_over";

/// The times at which the near process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Circumstances {
    /// Right after each answer: caches warm, processor awake.
    BackToBack,
    /// Released by a timer at this rate, with caches and processor as cold as in a periodic task.
    AtRate(Rate),
}

/// The measured times in nanoseconds, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Samples {
    /// From the higher to the lower priority.
    pub down: Vec<u64>,
    /// From the lower to the higher priority.
    pub up: Vec<u64>,
    /// The scheduling granted to the near process; with less than FIFO, the figures are those of a time-shared
    /// processor.
    pub granted: Granted,
}

impl Circumstances {
    const fn warm_up(self) -> u64 {
        match self {
            Self::BackToBack => WARM_UP,
            Self::AtRate(_) => WARM_UP_AT_RATE,
        }
    }

    /// Its word in a figure's name.
    fn word(self) -> String {
        match self {
            Self::BackToBack => "back_to_back".into(),
            Self::AtRate(rate) => format!("at_{rate}"),
        }
    }
}

/// The mechanisms that connect processes in scenarios, with their words in figures' names.
static MECHANISMS: [(&str, Mechanism); 3] =
    [("futex", Mechanism::Futex), ("mq", Mechanism::MessageQueue), ("pubsub", Mechanism::PubSub)];

/// The directions of a figure.
const DIRECTIONS: [(&str, &str); 2] =
    [("down", "to a process of lower priority"), ("up", "to a process of higher priority")];

/// The rates in the catalogue: of a control loop, a simulation and a fast loop.
const RATES: [&str; 3] = ["50Hz", "200Hz", "1kHz"];

fn circumstances() -> Vec<Circumstances> {
    let rates = RATES.iter().map(|rate| rate.parse().expect("the constant rates are valid"));
    std::iter::once(Circumstances::BackToBack).chain(rates.map(Circumstances::AtRate)).collect()
}

pub(crate) fn probes() -> Vec<Probe> {
    let mut probes = Vec::new();
    for (word, mechanism) in &MECHANISMS {
        for (direction, target) in DIRECTIONS {
            for when in circumstances() {
                let how = match when {
                    Circumstances::BackToBack => ", back to back".into(),
                    Circumstances::AtRate(rate) => {
                        format!(" at {rate}, the processor idle in between")
                    }
                };
                let name = format!("hand_over.{word}.{direction}.{}", when.word());
                let title = format!("a hand-over {target}{how}");
                probes.push(Probe::time(name, title, false, move |name, setting, count| {
                    one_direction(name, mechanism, direction, when, setting, count)
                }));
            }
        }
    }
    probes
}

/// Takes readings of one direction, each including one clock reading.
fn one_direction(
    name: &str,
    mechanism: &Mechanism,
    direction: &str,
    when: Circumstances,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let samples = measure(setting, mechanism, when, count.into()).map_err(|error| match error {
        ProbeError::Lacking { what, .. } => ProbeError::lacking(name, what),
        other => other,
    })?;
    let nanos = if direction == "up" { samples.up } else { samples.down };
    let values = nanos.into_iter().map(|nanos| nanos as f64).collect();
    Ok(Readings::new(
        name,
        Unit::Nanoseconds,
        (values, Overhead::default()),
        1,
        (setting, samples.granted),
        &[("placement", "same core"), ("when", &when.word().replace('_', " "))],
    ))
}

/// The orders for one process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    near: bool,
    description: Description,
    circumstances: Circumstances,
    samples: u64,
}

/// Measures `samples` hand-overs in each direction on the setting's first processor. The near process requests the
/// setting's scheduling, the far one a priority one lower. Takes about a second for 50 000 back to back; the calling
/// process only waits.
///
/// Back to back, the two keep the processor fully busy, so the kernel stops real-time tasks for 50 ms in each second
/// (sched(7), "Limiting the CPU usage of real-time and deadline processes").
///
/// # Errors
/// `Lacking` for a mechanism that is not part of this build or waits without giving up the processor, and for yielding
/// at a rate; `Peer` when the processes fail; otherwise the system call that failed.
pub fn measure(
    setting: &Setting,
    mechanism: &Mechanism,
    circumstances: Circumstances,
    samples: u64,
) -> Result<Samples, ProbeError> {
    check(mechanism, circumstances)?;
    let doing = ProbeError::doing("measure a hand-over");
    let object = Object::create(mechanism, [MESSAGE_SIZE; 2], 1).map_err(doing)?;
    let start = |near: bool| {
        let level = near || *mechanism == Mechanism::Yield;
        let scheduling = lowered(setting.scheduling, u32::from(!level));
        let description = object.description();
        let orders = Orders { near, description, circumstances, samples };
        Peer::start(setting, place(setting.cpu, scheduling, true), Part::HandOver(orders))
    };
    let mut far = start(false)?;
    let mut near = start(true)?;
    // Both have opened their ends.
    far.begin()?;
    near.begin()?;

    let round = match circumstances {
        Circumstances::BackToBack => ROUND_MAX,
        Circumstances::AtRate(rate) => rate.period() + ROUND_MAX,
    };
    let rounds = i64::try_from(samples + circumstances.warm_up()).unwrap_or(i64::MAX);
    let until = MonotonicClock.now() + round * rounds + TIMEOUT_MARGIN;
    let mut reports = gather(&mut [&mut near], &[&far], until)?;
    Ok(reports.remove(0))
}

/// Rejects combinations that cannot be measured.
fn check(mechanism: &Mechanism, circumstances: Circumstances) -> Result<(), ProbeError> {
    if let Some(what) = mechanism.lacks() {
        return Err(ProbeError::lacking(NAME, what));
    }
    if mechanism.spins() {
        let what = "a mechanism that gives up the processor while it waits, because both processes share one";
        return Err(ProbeError::lacking(NAME, what));
    }
    if *mechanism == Mechanism::Yield && circumstances != Circumstances::BackToBack {
        let what = "another mechanism at a rate, because yielding keeps the processor busy between releases";
        return Err(ProbeError::lacking(NAME, what));
    }
    Ok(())
}

/// The policy with the priority lowered by this, as far as possible.
pub(crate) fn lowered(policy: Policy, by: u32) -> Policy {
    let lower = |priority: Priority| {
        let number = u32::from(priority.get()).saturating_sub(by).max(1);
        u8::try_from(number).ok().and_then(|it| Priority::try_from(it).ok()).unwrap_or(priority)
    };
    match policy {
        Policy::Fifo { priority } => Policy::Fifo { priority: lower(priority) },
        Policy::RoundRobin { priority } => Policy::RoundRobin { priority: lower(priority) },
        other => other,
    }
}

/// Runs one of the two processes.
pub(crate) fn run_peer(mut process: PeerProcess, orders: &Orders) -> Result<(), ProbeError> {
    let doing = || ProbeError::doing("hand over");
    let mut link = orders.description.open(orders.near).map_err(doing())?;
    let granted = process.apply_profile();
    process.ready()?;
    if orders.near {
        let samples = ask(&mut *link, &mut process.clock, orders, granted).map_err(doing())?;
        process.report(&samples)
    } else {
        answer(&mut *link, &mut process.clock).map_err(doing())
    }
}

/// A message with its send time and the duration of the previous message.
fn stamp(sent: Instant, took: Span) -> [u8; MESSAGE_SIZE] {
    let mut message = [0; MESSAGE_SIZE];
    message[..8].copy_from_slice(&sent.nanos().to_le_bytes());
    message[8..16].copy_from_slice(&took.nanos().to_le_bytes());
    message
}

/// The two numbers of [`stamp`].
fn read_stamp(message: &[u8; MESSAGE_SIZE]) -> (Instant, Span) {
    let word = |at: usize| {
        u64::from_le_bytes(message[at..at + 8].try_into().expect("a word has eight bytes"))
    };
    (Instant::from_nanos(word(0)), Span::from_nanos(word(8).cast_signed()))
}

/// The far process: answers until it is killed.
fn answer(link: &mut dyn Link, clock: &mut FastClock) -> std::io::Result<()> {
    let mut message = [0; MESSAGE_SIZE];
    loop {
        link.receive(&mut message)?;
        let now = clock.now();
        let took = now - read_stamp(&message).0;
        link.send(&stamp(clock.anchor(), took))?;
    }
}

/// The near process: sends requests and records the times.
fn ask(
    link: &mut dyn Link,
    clock: &mut FastClock,
    orders: &Orders,
    granted: Granted,
) -> std::io::Result<Samples> {
    let count = usize::try_from(orders.samples).unwrap_or(usize::MAX);
    let mut samples =
        Samples { down: Vec::with_capacity(count), up: Vec::with_capacity(count), granted };
    let mut answer = [0; MESSAGE_SIZE];
    let epoch = clock.anchor() + Span::from_millis(1);
    let warm_up = orders.circumstances.warm_up();
    for number in 0..orders.samples + warm_up {
        if let Circumstances::AtRate(rate) = orders.circumstances {
            timer::sleep_until(rate.release(epoch, number));
        }
        link.send(&stamp(clock.anchor(), Span::ZERO))?;
        link.receive(&mut answer)?;
        let now = clock.now();
        if number >= warm_up {
            let (sent, down) = read_stamp(&answer);
            // The two processes' clocks differ by some nanoseconds; a hand-over takes thousands.
            let nanos = |span: Span| u64::try_from(span.nanos()).unwrap_or(0);
            samples.down.push(nanos(down));
            samples.up.push(nanos(now - sent));
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_lowered_as_far_as_possible() {
        let fifo = |number| Policy::Fifo { priority: Priority::try_from(number).unwrap() };
        assert_eq!(lowered(fifo(80), 1), fifo(79));
        assert_eq!(lowered(fifo(80), 0), fifo(80));
        assert_eq!([lowered(fifo(1), 1), lowered(fifo(3), 9)], [fifo(1); 2]);
        assert_eq!(lowered(Policy::Other { nice: 0 }, 1), Policy::Other { nice: 0 });
    }
}
