//! The cost of a context switch: by mechanism, on one processor and across two, with warm caches and after both
//! processes walked memory of their own.
//!
//! A *context switch* here is one hand-over: half a round trip between two processes of the same priority. It begins
//! just before the call that hands over in one process and ends just after the call that waits in the other; the cost
//! of the two clock readings is subtracted. So the time is what a program pays for being switched, not only the
//! kernel's exchange of registers and address space, as in Muller, "Modeling and Analysis: Inputs and Uncertainties",
//! figure 3.13.
//!
//! *Walked* means that each process in its turn changes one word of each cache line of its own buffer before it hands
//! over. The code and data of the switch are evicted from as much cache as the buffer occupies, and are loaded again in
//! the measured time. The walk itself is outside the two readings. Subtracting it instead would need its time, a
//! thousand times that of a switch for the largest buffer, to within a millionth. The later loss of the *interrupted*
//! program, when it reloads its own data, is a figure of its own ([`interruption`](crate::interruption)).
//!
//! The paper's third row, with the cache disabled, cannot be measured in user space: only the kernel can turn caches
//! off (the processor's control register, or uncached memory types). A walk past the last cache is the worst that a
//! program can do to another.

pub(crate) mod ends;
pub(crate) mod processes;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::catalogue::Probe;
use crate::peer::{Part, Peer, gather, place};
use crate::{Overhead, Placement, ProbeError, Readings, Setting, Unit};
use ends::Objects;
use processes::{Far, Near, Report, Role};
pub(crate) use processes::{Orders, run_peer};

/// The mechanism of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mechanism {
    /// sched_yield(2), and a word of shared memory that holds the turn. On one processor only.
    Yield,
    /// A pipe each way, four bytes.
    Pipe,
    /// A word of shared memory each way, and futex(2) to sleep on it.
    Futex,
    /// A word of shared memory each way, polled without rest and without the kernel. Across processors only.
    SharedMemory,
}

impl Mechanism {
    const ALL: [Self; 4] = [Self::Yield, Self::Pipe, Self::Futex, Self::SharedMemory];

    fn word(self) -> &'static str {
        match self {
            Self::Yield => "yield",
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::SharedMemory => "shared_memory",
        }
    }

    fn works(self, placement: Placement) -> bool {
        match self {
            Self::Yield => placement == Placement::SameCore,
            Self::SharedMemory => placement == Placement::Across,
            Self::Pipe | Self::Futex => true,
        }
    }
}

/// Sizes walked in the catalogue; zero is *warm*.
pub(crate) const WALKS: [Bytes; 5] =
    [Bytes(0), Bytes(64 << 10), Bytes(1 << 20), Bytes(4 << 20), Bytes(16 << 20)];

/// Round trips in one reading of a mechanism that is too fast for the clock.
const SHORT_BATCH: u64 = 64;

/// Longer than an undisturbed round trip without its walks.
const ROUND_MAX: Span = Span::from_micros(500);
/// Longer than a walk of one MiB.
const WALK_MAX: Span = Span::from_millis(1);
/// Time allowed for the processes beyond that.
const TIMEOUT_MARGIN: Span = Span::from_millis(20_000);

pub(crate) fn probes() -> Vec<Probe> {
    let mut probes = Vec::new();
    for mechanism in Mechanism::ALL {
        for placement in Placement::ALL.into_iter().filter(|place| mechanism.works(*place)) {
            for walked in WALKS {
                let (memory, how) = match walked {
                    Bytes(0) => ("warm".into(), "from cache".into()),
                    _ => {
                        (format!("walked_{walked}"), format!("after each process walked {walked}"))
                    }
                };
                let word = mechanism.word();
                let name = format!("context_switch.{word}.{}.{memory}", placement.word());
                let title = format!("handing over by {word}, {placement}, {how}");
                // The pipe, the most common mechanism, answers the paper's question.
                let quick = walked == Bytes(0) || mechanism == Mechanism::Pipe;
                probes.push(Probe::time(name, title, quick, move |name, setting, count| {
                    context_switch(mechanism, placement, walked, name, setting, count)
                }));
            }
        }
    }
    probes
}

/// Two processes that hand over to each other.
pub(crate) struct Exchange {
    pub(crate) mechanism: Mechanism,
    pub(crate) placement: Placement,
    /// Memory that the near process walks before it hands over.
    pub(crate) own: Bytes,
    /// Memory that the far process walks before it hands back.
    pub(crate) others: Bytes,
    /// Walks of the near process after each round.
    pub(crate) passes: usize,
    /// Round trips in a reading.
    pub(crate) batch: u64,
}

impl Exchange {
    /// Runs both processes until `count` rounds are counted.
    pub(crate) fn run(
        &self,
        name: &str,
        setting: &Setting,
        count: u32,
    ) -> Result<(Near, Far), ProbeError> {
        let &Self { mechanism, placement, own, others, passes, batch } = self;
        let far_cpu = match placement {
            Placement::SameCore => setting.cpu,
            Placement::Across => setting.across(name)?,
        };
        let objects =
            Objects::create(mechanism).map_err(ProbeError::doing("make a pipe or memory"))?;
        let start = |cpu: u16, role: Role, walked: Bytes, passes: usize| {
            let ends = objects.description(role);
            let orders = Orders { mechanism, ends, role, walked, passes, count, batch };
            Peer::start(setting, place(cpu, setting.scheduling, false), Part::ContextSwitch(orders))
        };
        let mut far = start(far_cpu, Role::Far, others, 0)?;
        let mut near = start(setting.cpu, Role::Near, own, passes)?;
        // The near one first: it sleeps briefly, which lets this process start the far one.
        near.begin()?;
        far.begin()?;

        let rounds = i64::from(count) * i64::try_from(batch).unwrap_or(i64::MAX);
        let mebibytes = |size: Bytes| i64::try_from(size.0.div_ceil(1 << 20)).unwrap_or(i64::MAX);
        let walks = mebibytes(own) * (1 + passes as i64) + mebibytes(others);
        let span = (ROUND_MAX + WALK_MAX * walks) * rounds + TIMEOUT_MARGIN;
        let reports = gather(&mut [&mut near, &mut far], &[], MonotonicClock.now() + span)?;
        match <[Report; 2]>::try_from(reports) {
            Ok([Report::Near(near), Report::Far(far)]) => Ok((near, far)),
            _ => Err(ProbeError::Peer("a report of the other process".into())),
        }
    }
}

/// Takes `count` readings of a hand-over between two processes, each of which walks `walked` bytes of its own before it
/// hands over. The processes rest before the kernel would throttle real-time processes.
///
/// The clocks of two processes differ by some nanoseconds with opposite signs in the two directions, so half a round
/// trip is exact.
fn context_switch(
    mechanism: Mechanism,
    placement: Placement,
    walked: Bytes,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let batch = match (mechanism, walked) {
        (Mechanism::SharedMemory, Bytes(0)) => SHORT_BATCH,
        _ => 1,
    };
    let exchange = Exchange { mechanism, placement, own: walked, others: walked, passes: 0, batch };
    let (near, far) = exchange.run(name, setting, count)?;
    let lost = || ProbeError::Peer("lost count".into());
    let values = if batch == 1 { near.one_by_one(&far) } else { near.in_batches(batch) };
    let values = values.ok_or_else(lost)?;
    // A single reading is the mean of two intervals with a pair each; a batch shares one pair.
    let overhead = if batch == 1 { near.pair } else { near.pair.per(2 * batch) };
    let values = values.into_iter().map(|nanos| nanos - overhead.value).collect();
    let memory = match walked {
        Bytes(0) => "from cache".into(),
        walked => format!("each process walks {walked}, changing one word per line"),
    };
    let placed = placement.to_string();
    let circumstances = [("placement", placed.as_str()), ("memory", memory.as_str())];
    let place = (setting, near.granted.clone());
    let taken: (Vec<f64>, Overhead) = (values, overhead);
    Ok(Readings::new(name, Unit::Nanoseconds, taken, 2 * batch, place, &circumstances))
}
