//! The processes of a measurement: this program executed again, one part each.
//!
//! The measuring process starts them with [`Peer::start`], which returns when they are ready, lets them
//! [`begin`](Peer::begin) and [`gather`]s their reports. A process opens its ends, [`settle`](Player::settle)s
//! where and how it was told to run, and waits in [`ready`](Player::ready) for the beginning.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Command, Stdio};

use hemiola_rt::clock::{Calibration, Clock, FastClock, MonotonicClock};
use hemiola_rt::profile;
use hemiola_rt::sys::process::{PidFd, Signal, set_parent_death_signal};
use hemiola_units::{Bytes, CpuSet, Granted, Instant, Policy, Profile, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    Peers, ProbeError, Setting, communication, context_switch, hand_over, idle, load, workload,
};

/// What a process writes when it is ready: no byte of a text that a host program may print first.
const READY: u8 = 0x06;

/// How long a process may take to be ready.
const PATIENCE: Span = Span::from_millis(20_000);

/// Stack a measuring thread or process touches before its first reading.
const STACK: Bytes = Bytes(64 << 10);

/// What a process is told, as its last argument.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// What it asks for when it settles.
    pub(crate) profile: Profile,
    /// For its clock.
    pub(crate) calibration: Calibration,
    /// What it does.
    pub(crate) part: Part,
}

/// What a process does: one line per subject that needs processes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// It ends: for the cost of creating it.
    Nothing,
    /// One of the two of a hand-over.
    HandOver(hand_over::Orders),
    /// One of the two of a context switch.
    ContextSwitch(context_switch::Orders),
    /// The one of the two that switches at a known rate.
    Idle(idle::Orders),
    /// One of the two of a communication.
    Communication(communication::Orders),
    /// What else the machine does.
    Load(load::Orders),
    /// One beside the measuring one of a workload.
    Workload(workload::Orders),
}

/// What measuring threads and processes ask for: one processor, and `scheduling`.
pub(crate) fn place(cpu: u16, scheduling: Policy, lock_memory: bool) -> Profile {
    Profile { scheduling, cpus: CpuSet::one(cpu), lock_memory, prefault_stack: STACK }
}

/// Plays one process of a measurement; `orders` is the argument the measuring process added. Nothing may
/// write to standard output after that.
///
/// # Errors
/// `Peer` when `orders` are not of this version; else what refused.
pub fn peer_main(orders: &str) -> Result<(), ProbeError> {
    let Orders { profile, calibration, part } = serde_json::from_str(orders)
        .map_err(|error| ProbeError::Peer(format!("got no orders it knows: {error}")))?;
    // Before everything else: what follows is part of the cost of other processes.
    if matches!(part, Part::Nothing) {
        return Ok(());
    }
    set_parent_death_signal(Signal::KILL).map_err(ProbeError::doing("follow the parent's end"))?;
    let player = Player { profile, clock: FastClock::from(calibration) };
    match part {
        Part::Nothing => Ok(()),
        Part::HandOver(orders) => hand_over::play(player, &orders),
        Part::ContextSwitch(orders) => context_switch::play(player, orders),
        Part::Idle(orders) => idle::play(player, orders),
        Part::Communication(orders) => communication::play(player, &orders),
        Part::Load(orders) => load::play(player, &orders),
        Part::Workload(orders) => workload::play(player, &orders),
    }
}

/// The process that plays.
#[derive(Debug)]
pub(crate) struct Player {
    profile: Profile,
    /// Anchored when the process began.
    pub(crate) clock: FastClock,
}

impl Player {
    /// Asks for its place; to be called when everything is open and mapped, before [`Self::ready`].
    pub(crate) fn settle(&self) -> Granted {
        profile::apply(&self.profile)
    }

    /// Says that it is ready and returns when all are to begin. A process whose parent has gone does not
    /// return with success, so none is left behind.
    pub(crate) fn ready(&mut self) -> Result<(), ProbeError> {
        let mut stdout = io::stdout();
        stdout
            .write_all(&[READY])
            .and_then(|()| stdout.flush())
            .and_then(|()| io::stdin().read_exact(&mut [0]))
            .map_err(ProbeError::doing("begin with the other process"))?;
        self.clock.anchor();
        Ok(())
    }

    /// Hands in what it found, as its last act.
    pub(crate) fn report(&self, report: &impl Serialize) -> Result<(), ProbeError> {
        let text = serde_json::to_string(report).expect("reports are plain data");
        let mut stdout = io::stdout();
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(ProbeError::doing("report"))
    }
}

/// A process of a measurement; killed when dropped.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    held: PidFd,
    output: ChildStdout,
}

impl Peer {
    /// Starts it and returns when it is ready. Descriptors it needs must be open across exec
    /// (`rt::sys::process::clear_cloexec`).
    pub(crate) fn start(
        setting: &Setting,
        profile: Profile,
        part: Part,
    ) -> Result<Self, ProbeError> {
        let mut child = command(&setting.peers, profile, setting.calibration, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(ProbeError::doing("start a process of the measurement"))?;
        let held = PidFd::open(child.id()).map_err(ProbeError::doing("hold a process"))?;
        let output = child.stdout.take().expect("it was piped");
        let mut peer = Self { child, held, output };
        let until = MonotonicClock.now() + PATIENCE;
        let mut byte = [0];
        while byte != [READY] {
            let waiting = [peer.output.as_fd()];
            if wait(&waiting, until)?.is_none() || !matches!(peer.output.read(&mut byte), Ok(1)) {
                return Err(ProbeError::Peer("did not come up".into()));
            }
        }
        Ok(peer)
    }

    /// Lets it begin.
    pub(crate) fn begin(&mut self) -> Result<(), ProbeError> {
        let mut input = self.child.stdin.take().expect("a process begins once");
        input.write_all(b"g").map_err(|_| ProbeError::Peer("ended before it began".into()))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reports of all `reporting`, in their order. `playing` report nothing and must live until then.
pub(crate) fn gather<T: DeserializeOwned>(
    reporting: &mut [&mut Peer],
    playing: &[&Peer],
    until: Instant,
) -> Result<Vec<T>, ProbeError> {
    let failed = |what: &str| ProbeError::Peer(what.into());
    let mut reports: Vec<Option<T>> = reporting.iter().map(|_| None).collect();
    let mut texts = vec![Vec::new(); reporting.len()];
    while let Some(open) = reports.iter().position(Option::is_none) {
        // One that has reported is at its end and readable for ever: only open ones are waited for.
        let pending: Vec<usize> =
            (open..reports.len()).filter(|index| reports[*index].is_none()).collect();
        let mut waiting: Vec<BorrowedFd<'_>> =
            pending.iter().map(|index| reporting[*index].output.as_fd()).collect();
        waiting.extend(playing.iter().map(|peer| peer.held.as_fd()));
        let first = wait(&waiting, until)?.ok_or_else(|| failed("took too long"))?;
        let Some(index) = pending.get(first).copied() else {
            return Err(failed("ended early"));
        };
        let mut piece = [0; 1 << 16];
        let text = &mut texts[index];
        match reporting[index].output.read(&mut piece) {
            Ok(0) => {
                let report = serde_json::from_slice(text);
                reports[index] = Some(report.map_err(|_| failed("ended without a report"))?);
            }
            Ok(length) => text.extend_from_slice(&piece[..length]),
            Err(error) => return Err(ProbeError::doing("read a report")(error)),
        }
    }
    Ok(reports.into_iter().flatten().collect())
}

/// The command that executes this program again to play `part`.
pub(crate) fn command(
    peers: &Peers,
    profile: Profile,
    calibration: Calibration,
    part: Part,
) -> Command {
    let orders = serde_json::to_string(&Orders { profile, calibration, part });
    let mut command = Command::new(&peers.program);
    command.args(&peers.arguments).arg(orders.expect("orders are plain data"));
    command
}

/// Which of `waiting` is readable or at its end first; `None` when `until` came before.
fn wait(waiting: &[BorrowedFd<'_>], until: Instant) -> Result<Option<usize>, ProbeError> {
    loop {
        let left = (until - MonotonicClock.now()).to_duration();
        let left = Timespec::try_from(left).expect("a span's seconds fit");
        let mut polled: Vec<PollFd<'_>> =
            waiting.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&left)) {
            Ok(0) if MonotonicClock.now() >= until => return Ok(None),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(polled.iter().position(|fd| !fd.revents().is_empty())),
            Err(error) => return Err(ProbeError::doing("wait for a process")(error.into())),
        }
    }
}
