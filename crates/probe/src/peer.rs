//! The processes of a measurement: this program executed again, each with one part.
//!
//! The measuring process starts them with [`Peer::start`], which returns when they are ready, lets them
//! [`begin`](Peer::begin) and [`gather`]s their reports. A process opens its ends,
//! [applies](PeerProcess::apply_profile) its profile, and waits in [`ready`](PeerProcess::ready) for the start.

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
    Peers, ProbeError, Setting, chain, communication, context_switch, hand_over, idle, load,
    workload,
};

/// The byte that a process writes when it is ready; it does not occur in text that a host program may print first.
const READY: u8 = 0x06;

/// Time limit for a process to become ready.
const READY_TIMEOUT: Span = Span::from_millis(20_000);

/// Stack a measuring thread or process touches before its first reading.
const STACK: Bytes = Bytes(64 << 10);

/// The last argument of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The profile that it requests.
    pub(crate) profile: Profile,
    /// The calibration of its clock.
    pub(crate) calibration: Calibration,
    /// Its part in the measurement.
    pub(crate) part: Part,
}

/// The part of a process: one variant per subject that needs processes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// Ends at once, to measure the cost of its creation.
    Nothing,
    /// One of the two of a hand-over.
    HandOver(hand_over::Orders),
    /// One of those of a chain.
    Chain(chain::Orders),
    /// One of the two of a context switch.
    ContextSwitch(context_switch::Orders),
    /// The one of the two that switches at a known rate.
    Idle(idle::Orders),
    /// One of the two of a communication.
    Communication(communication::Orders),
    /// The load on the machine.
    Load(load::Orders),
    /// A process of a workload besides the measuring one.
    Workload(workload::Orders),
}

/// The profile of measuring threads and processes on one processor.
pub(crate) fn place(cpu: u16, scheduling: Policy, lock_memory: bool) -> Profile {
    Profile { scheduling, cpus: CpuSet::one(cpu), lock_memory, prefault_stack: STACK }
}

/// Runs one process of a measurement; `orders` is the argument that the measuring process added. Nothing else may be
/// written to standard output afterwards.
///
/// # Errors
/// `Peer` when `orders` are not of this version; otherwise the error of the part.
pub fn peer_main(orders: &str) -> Result<(), ProbeError> {
    let Orders { profile, calibration, part } = serde_json::from_str(orders)
        .map_err(|error| ProbeError::Peer(format!("received unknown orders: {error}")))?;
    // First of all, because everything before it adds to the cost of creating a process.
    if matches!(part, Part::Nothing) {
        return Ok(());
    }
    set_parent_death_signal(Signal::KILL).map_err(ProbeError::doing("end with the parent"))?;
    let process = PeerProcess { profile, clock: FastClock::from(calibration) };
    match part {
        Part::Nothing => Ok(()),
        Part::HandOver(orders) => hand_over::run_peer(process, &orders),
        Part::Chain(orders) => chain::run_peer(process, &orders),
        Part::ContextSwitch(orders) => context_switch::run_peer(process, orders),
        Part::Idle(orders) => idle::run_peer(process, orders),
        Part::Communication(orders) => communication::run_peer(process, &orders),
        Part::Load(orders) => load::run_peer(process, &orders),
        Part::Workload(orders) => workload::run_peer(process, &orders),
    }
}

/// The context of a process of a measurement.
#[derive(Debug)]
pub(crate) struct PeerProcess {
    profile: Profile,
    /// Anchored when the process began.
    pub(crate) clock: FastClock,
}

impl PeerProcess {
    /// Requests its profile, after everything is opened and mapped and before [`Self::ready`].
    pub(crate) fn apply_profile(&self) -> Granted {
        profile::apply(&self.profile)
    }

    /// Reports that it is ready and returns when the measurement starts. Fails if the parent has ended, so that no
    /// process is left behind.
    pub(crate) fn ready(&mut self) -> Result<(), ProbeError> {
        let mut stdout = io::stdout();
        stdout
            .write_all(&[READY])
            .and_then(|()| stdout.flush())
            .and_then(|()| io::stdin().read_exact(&mut [0]))
            .map_err(ProbeError::doing("wait for the start of the measurement"))?;
        self.clock.anchor();
        Ok(())
    }

    /// Sends its report, as its last action.
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
    /// Starts the process and returns when it is ready. Descriptors it needs must be open across exec
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
        let held =
            PidFd::open(child.id()).map_err(ProbeError::doing("open a process descriptor"))?;
        let output = child.stdout.take().expect("it was piped");
        let mut peer = Self { child, held, output };
        let until = MonotonicClock.now() + READY_TIMEOUT;
        let mut byte = [0];
        while byte != [READY] {
            let waiting = [peer.output.as_fd()];
            if wait(&waiting, until)?.is_none() || !matches!(peer.output.read(&mut byte), Ok(1)) {
                return Err(ProbeError::Peer("did not become ready".into()));
            }
        }
        Ok(peer)
    }

    /// Lets it start its part.
    pub(crate) fn begin(&mut self) -> Result<(), ProbeError> {
        let mut input = self.child.stdin.take().expect("a process begins once");
        input.write_all(b"g").map_err(|_| ProbeError::Peer("ended before the start".into()))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reports of all `reporting`, in their order. The `silent` processes do not report and must live until then.
pub(crate) fn gather<T: DeserializeOwned>(
    reporting: &mut [&mut Peer],
    silent: &[&Peer],
    until: Instant,
) -> Result<Vec<T>, ProbeError> {
    let failed = |what: &str| ProbeError::Peer(what.into());
    let mut reports: Vec<Option<T>> = reporting.iter().map(|_| None).collect();
    let mut texts = vec![Vec::new(); reporting.len()];
    while let Some(open) = reports.iter().position(Option::is_none) {
        // A process that has reported stays readable at its end, so only the others are polled.
        let pending: Vec<usize> =
            (open..reports.len()).filter(|index| reports[*index].is_none()).collect();
        let mut waiting: Vec<BorrowedFd<'_>> =
            pending.iter().map(|index| reporting[*index].output.as_fd()).collect();
        waiting.extend(silent.iter().map(|peer| peer.held.as_fd()));
        let first = wait(&waiting, until)?.ok_or_else(|| failed("exceeded its time limit"))?;
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

/// The command that executes this program again for `part`.
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

/// The index of the first descriptor that is readable or at its end; `None` if `until` comes first.
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
