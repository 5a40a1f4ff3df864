//! What one hand-over costs at least: a message of 64 bytes from one process to another on the same
//! processor, by the bare mechanism, measured where and when it is asked for.
//!
//! Two processes play ping-pong: the *near* one at the higher priority sends and sleeps for the answer,
//! the *far* one answers. The time of a hand-over starts just before the sending call in one process and
//! ends just after the receiving call in the other; the clock reading in it is not taken off. *Down* is
//! from the near to the far process, which runs when the near one goes to sleep; *up* is the answer,
//! which preempts.
//!
//! Both processes are this program executed again: it must answer to the arguments in [`Peers`], with
//! one more after them, by calling [`peer_main`] with that one.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hemiola_rt::clock::{Calibration, Clock, FastClock};
use hemiola_rt::profile;
use hemiola_rt::sys::{process::clear_cloexec, timer};
use hemiola_units::{
    Bytes, CpuSet, Delivery, Endpoint, Granted, Instant, Policy, Priority, Profile, Rate, Span,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{CreateError, OpenError};

mod link;

pub(crate) use link::Link;
use link::{Description, Object};

/// Bytes of the message that goes to and fro.
pub const MESSAGE_SIZE: usize = 64;

/// `SCHED_FIFO` priorities of the near and the far process.
const PRIORITIES: [u8; 2] = [80, 79];

/// Rounds before the first that counts, to load caches and make connections.
const WARM_UP: u64 = 100;

/// How long the processes may take beyond the samples' own time.
const PATIENCE: Span = Span::from_millis(20_000);

/// More than any mechanism needs for a round trip when nothing is in the way.
const ROUND_MAX: Span = Span::from_micros(500);

/// What a process writes when it has opened its ends: no byte of a text a host program may print first.
const READY: u8 = 0x06;

/// Memory touched before the first sample.
const STACK: Bytes = Bytes(64 << 10);

/// What hands over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// sched_yield(2) between two processes of one priority, and shared memory: no waking at all.
    Yield,
    /// A pipe each way, blocking.
    Pipe,
    /// Shared memory, and a futex to sleep on.
    Futex,
    /// A POSIX queue each way, blocking.
    MessageQueue,
    /// iceoryx2's publish and notify, wait and take. Needs the feature `pubsub`.
    PubSub,
    /// Not bare: a channel of this crate each way, for comparison.
    Channel {
        /// Its mechanism, with any name; not `local:`.
        endpoint: Endpoint,
        /// Its delivery.
        delivery: Delivery,
    },
}

/// When the near process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Circumstances {
    /// As soon as it has its answer: caches warm, processor awake.
    BackToBack,
    /// Released by a timer at this rate, so caches and processor are as cold as in a periodic task.
    AtRate(Rate),
}

/// The processes that play, and where.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The program, usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Arguments that lead it to [`peer_main`]; the orders follow as the last one.
    pub arguments: Vec<OsString>,
    /// The processor both run on.
    pub cpu: u16,
    /// For their clocks.
    pub calibration: Calibration,
}

/// What was measured, in nanoseconds, in the order it happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Samples {
    /// From the higher to the lower priority.
    pub down: Vec<u64>,
    /// From the lower to the higher priority.
    pub up: Vec<u64>,
    /// What the near process was granted; anything less than FIFO makes the figures those of a time
    /// shared processor.
    pub granted: Granted,
}

impl Samples {
    /// Down and up again, pair by pair; half of one is the cost of a hand-over in a cycle of as many
    /// down as up. (The two directions differ, so a quantile of both thrown together says little.)
    #[must_use]
    pub fn round_trips(&self) -> Vec<u64> {
        self.down.iter().zip(&self.up).map(|(down, up)| down + up).collect()
    }
}

/// A hand-over that could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FloorError {
    /// The mechanism is left out of this build.
    #[error("publish–subscribe is not part of this build; build with `--features pubsub`")]
    NotBuilt,
    /// Yielding at a rate would keep the processor busy between the releases, for nothing.
    #[error("yielding is measured back to back only")]
    YieldAtRate,
    /// The channel could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// An end of it could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The processes did not play as they should.
    #[error("a process of the measurement {0}")]
    Peer(&'static str),
    /// The operating system refused.
    #[error("cannot measure a hand-over: {0}")]
    System(#[from] io::Error),
}

/// What a process of the measurement is told.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    near: bool,
    description: Description,
    circumstances: Circumstances,
    samples: u64,
    cpu: u16,
    priority: u8,
    calibration: Calibration,
}

/// Measures `samples` hand-overs in each direction. Takes as long as they take, at most about a second
/// for 50 000 back to back; the calling process only waits.
///
/// Back to back on one processor the two keep it wholly busy: the kernel stops real-time tasks for
/// 50 ms in each second (sched(7), "Limiting the CPU usage of real-time and deadline processes").
///
/// # Errors
/// See [`FloorError`].
pub fn measure(
    peers: &Peers,
    mechanism: &Mechanism,
    circumstances: Circumstances,
    samples: u64,
) -> Result<Samples, FloorError> {
    if *mechanism == Mechanism::Yield && circumstances != Circumstances::BackToBack {
        return Err(FloorError::YieldAtRate);
    }
    let object = Object::create(mechanism)?;
    for descriptor in object.descriptors() {
        clear_cloexec(descriptor)?;
    }
    let start = |near: bool| {
        let level = usize::from(!near && *mechanism != Mechanism::Yield);
        let orders = Orders {
            near,
            description: object.description(),
            circumstances,
            samples,
            cpu: peers.cpu,
            priority: PRIORITIES[level],
            calibration: peers.calibration,
        };
        Peer::start(peers, &orders)
    };
    let mut far = start(false)?;
    let mut near = start(true)?;
    // Both have opened their ends.
    near.0.stdin.take().expect("it was piped").write_all(b"g")?;

    let round = match circumstances {
        Circumstances::BackToBack => ROUND_MAX,
        Circumstances::AtRate(rate) => rate.period() + ROUND_MAX,
    };
    let rounds = i64::try_from(samples + WARM_UP).unwrap_or(i64::MAX);
    let until = crate::now() + round * rounds + PATIENCE;
    let mut output = near.0.stdout.take().expect("it was piped");
    let report = std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut report = String::new();
            output.read_to_string(&mut report).map(|_| report)
        });
        while !reading.is_finished() {
            let lost = far.0.try_wait()?.is_some();
            if lost || crate::now() > until {
                // This ends the reading too.
                near.0.kill()?;
                let why = if lost { "ended early" } else { "took too long" };
                return Err(FloorError::Peer(why));
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ok(reading.join().expect("reading does not panic")?)
    })?;
    serde_json::from_str(&report).map_err(|_| FloorError::Peer("ended without a report"))
}

/// A process of the measurement, killed when dropped.
struct Peer(Child);

impl Peer {
    /// Starts it and returns when it has opened its ends.
    fn start(peers: &Peers, orders: &Orders) -> Result<Self, FloorError> {
        let orders = serde_json::to_string(orders).expect("orders are plain data");
        let child = Command::new(&peers.program)
            .args(&peers.arguments)
            .arg(orders)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut peer = Self(child);
        let mut byte = [0];
        let output = peer.0.stdout.as_mut().expect("it was piped");
        while byte != [READY] {
            output.read_exact(&mut byte).map_err(|_| FloorError::Peer("did not come up"))?;
        }
        Ok(peer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only when it has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays one of the two processes of a measurement; `orders` is the argument [`measure`] added. Returns
/// in the near process only, and nothing may write to standard output after that.
///
/// # Errors
/// `Peer` when `orders` are not [`measure`]'s; else what refused.
pub fn peer_main(orders: &str) -> Result<(), FloorError> {
    let orders: Orders =
        serde_json::from_str(orders).map_err(|_| FloorError::Peer("got no orders it knows"))?;
    let signal = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(signal).map_err(io::Error::from)?;
    let mut link = orders.description.open(orders.near)?;
    let priority = Priority::try_from(orders.priority).expect("priorities here are constants");
    let granted = profile::apply(&Profile {
        scheduling: Policy::Fifo { priority },
        cpus: CpuSet::one(orders.cpu),
        lock_memory: true,
        prefault_stack: STACK,
    });
    let mut clock = FastClock::from(orders.calibration);
    let mut stdout = io::stdout();
    stdout.write_all(&[READY])?;
    stdout.flush()?;
    if !orders.near {
        return answer(&mut *link, &mut clock);
    }
    io::stdin().read_exact(&mut [0])?;
    let samples = ask(&mut *link, &mut clock, &orders, granted)?;
    let report = serde_json::to_string(&samples).expect("samples are plain data");
    Ok(stdout.write_all(report.as_bytes())?)
}

/// When it was sent, and how long the message before it took.
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

/// The far process: answers for ever.
fn answer(link: &mut dyn Link, clock: &mut FastClock) -> Result<(), FloorError> {
    loop {
        let message = link.receive()?;
        let now = clock.now();
        let took = now - read_stamp(&message).0;
        link.send(&stamp(clock.anchor(), took))?;
    }
}

/// The near process: asks, and keeps the times.
fn ask(
    link: &mut dyn Link,
    clock: &mut FastClock,
    orders: &Orders,
    granted: Granted,
) -> Result<Samples, FloorError> {
    let count = usize::try_from(orders.samples).unwrap_or(usize::MAX);
    let mut samples =
        Samples { down: Vec::with_capacity(count), up: Vec::with_capacity(count), granted };
    let epoch = clock.anchor() + Span::from_millis(1);
    for number in 0..orders.samples + WARM_UP {
        if let Circumstances::AtRate(rate) = orders.circumstances {
            timer::sleep_until(rate.release(epoch, number));
        }
        link.send(&stamp(clock.anchor(), Span::ZERO))?;
        let answer = link.receive()?;
        let now = clock.now();
        if number >= WARM_UP {
            let (sent, down) = read_stamp(&answer);
            // Two processes' clocks differ by some nanoseconds; a hand-over takes a thousand.
            let nanos = |span: Span| u64::try_from(span.nanos()).unwrap_or(0);
            samples.down.push(nanos(down));
            samples.up.push(nanos(now - sent));
        }
    }
    Ok(samples)
}
