//! Watches, signals and limits other processes.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use hemiola_units::{Instant, Policy, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Gid, Pid, PidfdFlags, Resource, Rlimit, Uid, WaitOptions, getpid, kill_process,
    kill_process_group, pidfd_open, pidfd_send_signal, prlimit, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, test_kill_process, waitpid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use rustix::time::Timespec;

use super::sched;
use crate::clock::{Clock, MonotonicClock};

pub use rustix::process::Signal;

/// Converts a process or thread id from `std::process::id`; `ESRCH` if it is not one.
pub(super) fn pid(number: u32) -> io::Result<Pid> {
    let raw = i32::try_from(number).ok().filter(|raw| *raw > 0);
    raw.and_then(Pid::from_raw).ok_or_else(|| Errno::SRCH.into())
}

/// Makes the kernel send `signal` to this process when the thread that started it ends.
///
/// A parent that died before this call is not noticed: compare `std::os::unix::process::parent_id` with the expected
/// parent afterwards.
///
/// # Errors
/// None known for a valid signal.
///
/// Source: PR_SET_PDEATHSIG(2const).
pub fn set_parent_death_signal(signal: Signal) -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(signal))?)
}

/// Makes every orphan among this process's descendants a child of this process, instead of process 1: none is lost,
/// also when it has left its process group.
///
/// # Errors
/// None known.
///
/// Source: PR_SET_CHILD_SUBREAPER(2const).
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// A process below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descendant {
    /// Its number.
    pub pid: u32,
    /// The child of this process that it is, or descends from.
    pub branch: u32,
    /// Whether it has ended and waits to be reaped.
    pub has_ended: bool,
}

/// Lists every process below this one.
///
/// # Errors
/// If `/proc` cannot be read.
///
/// Source: proc_pid_stat(5).
pub fn descendants() -> io::Result<Vec<Descendant>> {
    let mut table = Vec::new();
    for entry in fs::read_dir("/proc")? {
        // A process may end while the table is read.
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        table.extend(state_and_parent(&stat).map(|(state, parent)| (pid, state, parent)));
    }
    Ok(below(std::process::id(), &table))
}

/// State and parent in a line of `/proc/PID/stat`. The name in parentheses may contain anything.
fn state_and_parent(stat: &str) -> Option<(char, u32)> {
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// The processes of a table of number, state and parent that descend from `root`.
fn below(root: u32, table: &[(u32, char, u32)]) -> Vec<Descendant> {
    let parent = |pid| table.iter().find(|(known, ..)| *known == pid).map(|(.., parent)| *parent);
    let branch = |pid| {
        let mut child = pid;
        // The table may contain a loop, because it is not read at one instant.
        for _ in 0..table.len() {
            match parent(child)? {
                above if above == root => return Some(child),
                above => child = above,
            }
        }
        None
    };
    let descendant = |&(pid, state, _): &(u32, char, u32)| {
        Some(Descendant { pid, branch: branch(pid)?, has_ended: matches!(state, 'Z' | 'X') })
    };
    table.iter().filter_map(descendant).collect()
}

/// Sends `signal` to a child of this process, or to a process below it.
///
/// # Errors
/// `ESRCH` if there is none; `EPERM`.
pub fn signal_one(number: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process(pid(number)?, signal)?)
}

/// Reaps an adopted child that has ended, without waiting for it.
///
/// # Errors
/// `ECHILD` if it is not a child of this process.
pub fn reap(number: u32) -> io::Result<()> {
    waitpid(Some(pid(number)?), WaitOptions::NOHANG)?;
    Ok(())
}

/// A process held by descriptor, so that reuse of its number does no harm.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens process `number`, which must not have been reaped meanwhile.
    ///
    /// # Errors
    /// `ESRCH` if there is none; `EMFILE`.
    ///
    /// Source: pidfd_open(2).
    pub fn open(number: u32) -> io::Result<Self> {
        Ok(Self(pidfd_open(pid(number)?, PidfdFlags::empty())?))
    }

    /// Waits until the process has ended or until `until`; returns whether it has ended. Does not reap it.
    ///
    /// # Errors
    /// `ENOMEM` only.
    pub fn wait(&self, until: Instant) -> io::Result<bool> {
        self.wait_beside(self, until)
    }

    /// Like [`PidFd::wait`], but returns as soon as `other` is readable, too.
    ///
    /// # Errors
    /// `ENOMEM` only.
    pub fn wait_beside(&self, other: &impl AsFd, until: Instant) -> io::Result<bool> {
        loop {
            let left = (until - MonotonicClock.now()).to_duration();
            let left = (until != Instant::MAX)
                .then(|| Timespec::try_from(left).expect("a span's seconds fit"));
            let mut polled =
                [PollFd::new(&self.0, PollFlags::IN), PollFd::new(other, PollFlags::IN)];
            match poll(&mut polled, left.as_ref()) {
                Ok(0) if MonotonicClock.now() >= until => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(!polled[0].revents().is_empty()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends it `signal`.
    ///
    /// # Errors
    /// `ESRCH` if it has ended and was reaped; `EPERM`.
    ///
    /// Source: pidfd_send_signal(2).
    pub fn send_signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, signal)?)
    }
}

impl AsFd for PidFd {
    /// Readable once the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether there is a process or thread with that number, including one that has ended and was not reaped.
///
/// Source: kill(2) with signal 0.
#[must_use]
pub fn exists(number: u32) -> bool {
    pid(number).is_ok_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether process `number` is stopped, by a signal or by a tracer. `false` if there is no such process.
///
/// Source: proc_pid_stat(5), states `T` and `t`.
#[must_use]
pub fn is_stopped(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    // The name before it, in parentheses, may contain anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

/// What the first thread of a process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// It runs or waits for a processor, in contrast to sleeping.
    pub runnable: bool,
    /// The process ends, or has ended: by itself or by a signal, perhaps still writing a core dump. Not if only this
    /// thread ended and others go on.
    pub ending: bool,
}

/// What the first thread of process `number` does; nothing of all that if there is no such process. Allocates nothing.
///
/// Source: proc_pid_stat(5), the states `R`, `Z` and `X`, the number of threads, and the flags, with `PF_EXITING` and
/// `PF_SIGNALED` of the kernel's `include/linux/sched.h`.
#[must_use]
pub fn activity(number: u32) -> Activity {
    // Up to the number of threads there are 17 numbers besides, after a name of at most 15 bytes in parentheses.
    let (mut path, mut stat) = ([0; 32], [0; 384]);
    let mut rest = &mut path[..];
    let fits = write!(rest, "/proc/{number}/stat").is_ok();
    let unused = rest.len();
    let path = Path::new(OsStr::from_bytes(&path[..path.len() - unused]));
    let read =
        fits.then(|| rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()));
    let Some(Ok(file)) = read else { return Activity::default() };
    let length = rustix::io::read(&file, &mut stat).unwrap_or(0);
    activity_of(&stat[..length])
}

fn activity_of(stat: &[u8]) -> Activity {
    const EXITING: u32 = 0x4;
    const SIGNALED: u32 = 0x400;
    // The name may contain anything.
    let Some(end_of_name) = stat.iter().rposition(|byte| *byte == b')') else {
        return Activity::default();
    };
    let mut fields = stat[end_of_name + 1..].split(|byte| *byte == b' ').skip(1);
    let state = fields.next().and_then(|state| state.first()).copied();
    let mut number = |fields_before: usize| -> Option<u32> {
        std::str::from_utf8(fields.nth(fields_before)?).ok()?.parse().ok()
    };
    // Parent, group, session, terminal and its group come first; page faults, times and priorities between the two.
    let (flags, threads) = (number(5).unwrap_or(0), number(10).unwrap_or(0));
    let thread_ends = matches!(state, Some(b'Z' | b'X')) || flags & EXITING != 0;
    let ending = flags & SIGNALED != 0 || (thread_ends && threads <= 1);
    Activity { runnable: state == Some(b'R'), ending }
}

/// Gives up every capability by which this process, or a program executed in its place, could take a processor from
/// others, or act on processes that have them. Rights to its own files and memory stay.
///
/// Without `CAP_SYS_NICE` nothing changes: there is little to give up, and whoever has only a limit on priorities needs
/// it to be given a higher one later. Returns whether anything was given up.
///
/// # Errors
/// None known for a process that has them.
///
/// Source: capabilities(7), getrlimit(2) `RLIMIT_RTPRIO`.
pub fn give_up_power() -> io::Result<bool> {
    let mut sets = rustix::thread::capabilities(None)?;
    if !sets.effective.contains(CapabilitySet::SYS_NICE) {
        return Ok(false);
    }
    let none = || Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Rtprio, none())?;
    if sets.effective.contains(CapabilitySet::SETPCAP) {
        for capability in POWER.iter() {
            // A kernel that does not know it does not grant it.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    sets.effective.remove(POWER);
    sets.permitted.remove(POWER);
    sets.inheritable.remove(POWER);
    rustix::thread::set_capabilities(None, sets)?;
    Ok(true)
}

/// Whether this process may take any user id ([`become_user`]), and can still end a process that did.
///
/// Source: capabilities(7).
#[must_use]
pub fn may_change_user() -> bool {
    let needed = CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL);
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Makes the calling thread, and a program executed in its place, one of user and group `id`, for ever: without other
/// groups and without capabilities. A process with several threads must not call it. The parent-death signal is lost.
///
/// # Errors
/// `EPERM` without the capabilities; `EINVAL` in a user namespace that does not have `id`, with no user changed.
///
/// Source: setgroups(2), setresuid(2), PR_SET_PDEATHSIG(2const).
pub fn become_user(id: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, none)?)
}

/// Makes programs that grant privileges (set-user-ID, file capabilities) grant none to this process and its children.
///
/// # Errors
/// None known.
///
/// Source: PR_SET_NO_NEW_PRIVS(2const).
pub fn take_no_privileges() -> io::Result<()> {
    Ok(set_no_new_privs(true)?)
}

/// Makes this process, and its children, the first that the kernel ends when memory runs out.
///
/// # Errors
/// If `/proc` cannot be written.
///
/// Source: proc_pid_oom_score_adj(5). With `CAP_SYS_RESOURCE` now, and without it later, it cannot be undone.
pub fn end_first_without_memory() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "1000")
}

/// The capabilities that reach beyond a process.
const POWER: CapabilitySet = CapabilitySet::SYS_NICE
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::SYS_TIME)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::CHECKPOINT_RESTORE);

/// Sends `signal` to every process of group `group`.
///
/// # Errors
/// `ESRCH` if the group is empty; `EPERM`.
pub fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process_group(pid(group)?, signal)?)
}

/// Lets process `number` run at real-time priority for at most `budget` without blocking; beyond it the kernel kills
/// the process. Only privilege can undo this.
///
/// # Errors
/// `EPERM` for a process of another user, or a budget above its limit; `ESRCH`.
///
/// Source: getrlimit(2), `RLIMIT_RTTIME`, in microseconds. Soft and hard limit are the same, so SIGKILL is sent
/// rather than a SIGXCPU that could be ignored. The kernel checks at its tick, every 1 to 10 ms.
pub fn set_rt_time_limit(number: u32, budget: Span) -> io::Result<()> {
    let micros = Some((budget.nanos() / 1000).max(1) as u64);
    let limit = Rlimit { current: micros, maximum: micros };
    prlimit(Some(pid(number)?), Resource::Rttime, limit)?;
    Ok(())
}

/// Sets the policy of every thread of process `number`, for example to take real-time priority from a runaway. Threads
/// and processes that these start later have no real-time priority.
///
/// # Errors
/// Those of [`sched::set_policy`], the first of them after all threads were tried; `ENOENT` if there is no such
/// process.
pub fn set_policy_of(number: u32, policy: &Policy) -> io::Result<()> {
    let mut result = Ok(());
    for entry in fs::read_dir(format!("/proc/{number}/task"))? {
        let Some(tid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        match sched::set_own_policy(Some(tid), policy) {
            // The thread has ended since the directory was read.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            outcome => result = result.and(outcome),
        }
    }
    result
}

/// Keeps `fd` open across exec, so that a child inherits it under its number.
///
/// # Errors
/// None known for an open descriptor.
pub fn clear_cloexec(fd: impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfd(fd, FdFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn the_end_of_a_killed_process_is_noticed() {
        let mut child = sleeper();
        let held = PidFd::open(child.id()).unwrap();
        assert!(!held.wait(MonotonicClock.now() + Span::from_millis(1)).unwrap());
        held.send_signal(Signal::KILL).unwrap();
        assert!(held.wait(Instant::MAX).unwrap());
        child.wait().unwrap();
        assert!(exists(std::process::id()) && !exists(child.id()) && !exists(0));
        assert!(held.send_signal(Signal::KILL).is_err());
        assert!(PidFd::open(child.id()).is_err());
    }

    #[test]
    fn a_stopped_process_is_told_from_a_running_one() {
        let mut child = sleeper();
        let held = PidFd::open(child.id()).unwrap();
        let becomes = |stopped| {
            let limit = MonotonicClock.now() + Span::from_millis(10_000);
            while is_stopped(child.id()) != stopped {
                assert!(MonotonicClock.now() < limit);
                std::thread::yield_now();
            }
        };
        becomes(false);
        held.send_signal(Signal::STOP).unwrap();
        becomes(true);
        held.send_signal(Signal::CONT).unwrap();
        becomes(false);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(child.id()) && !is_stopped(0));
    }

    #[test]
    fn it_is_known_whether_a_process_computes_sleeps_or_ends() {
        let becomes = |child: &Child, runnable: bool, ending: bool| {
            while activity(child.id()) != (Activity { runnable, ending }) {
                std::thread::yield_now();
            }
        };
        let ended = |mut child: Child| {
            child.kill().unwrap();
            // Its exit status is not fetched yet.
            becomes(&child, false, true);
            child.wait().unwrap();
            assert_eq!(activity(child.id()), Activity::default());
        };
        let sleeper = sleeper();
        becomes(&sleeper, false, false);
        ended(sleeper);
        let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        becomes(&busy, true, false);
        ended(busy);
        assert_eq!(activity(u32::MAX), Activity::default());
    }

    #[test]
    fn a_process_that_writes_a_core_dump_ends() {
        let rest = "93 0 0 0 5 2 0 0 -71 0";
        let of = |head: &str, flags: u32, threads: u32| {
            activity_of(
                format!("7 ({head} 1 7 7 34816 -1 {flags} {rest} {threads} 0 81").as_bytes(),
            )
        };
        let (runs, ends) =
            (Activity { runnable: true, ending: false }, Activity { runnable: true, ending: true });
        assert_eq!(of("a) Z 1) R", 4_194_304, 1), runs);
        // PF_SIGNALED | PF_DUMPCORE | PF_FORKNOEXEC.
        assert_eq!(of("a b) R", 1_600, 3), ends);
        let (exiting, asleep) = (4_194_308, Activity { runnable: false, ..ends });
        assert_eq!(of("a) D", exiting, 1), asleep);
        // Its other threads go on.
        assert_eq!(of("a) Z", exiting, 2), Activity::default());
        assert_eq!(activity_of(b"7 (a) R 1"), runs);
        assert_eq!(activity_of(b"7 (a"), Activity::default());
    }

    #[test]
    fn descendants_are_found_below_their_branch() {
        let table = [
            (1, 'S', 0),
            (10, 'S', 1),
            (11, 'S', 10),
            (12, 'R', 11),
            (13, 'Z', 11),
            (14, 'S', 13),
            (20, 'S', 1),
            (30, 'S', 31),
            (31, 'S', 30),
        ];
        let found: Vec<_> =
            below(10, &table).iter().map(|it| (it.pid, it.branch, it.has_ended)).collect();
        assert_eq!(found, [(11, 11, false), (12, 11, false), (13, 11, true), (14, 11, false)]);
        assert_eq!(state_and_parent("7 (a) b) S 42 7 7"), Some(('S', 42)));
        assert_eq!(state_and_parent("7 (cut"), None);
        let mut child = sleeper();
        let pid = child.id();
        let running = Descendant { pid, branch: pid, has_ended: false };
        assert!(descendants().unwrap().contains(&running));
        signal_one(pid, Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(!descendants().unwrap().iter().any(|it| it.pid == pid));
    }

    #[test]
    fn a_group_is_killed_as_a_whole() {
        use std::os::unix::process::CommandExt;
        let mut leader = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let group = leader.id() as i32;
        let mut member = Command::new("sleep").arg("600").process_group(group).spawn().unwrap();
        signal_group(leader.id(), Signal::KILL).unwrap();
        assert!(!leader.wait().unwrap().success() && !member.wait().unwrap().success());
    }

    #[test]
    fn another_process_can_be_demoted() {
        let mut child = sleeper();
        let policy = Policy::Other { nice: 5 };
        set_policy_of(child.id(), &policy).unwrap();
        assert_eq!(sched::policy(Some(child.id())).unwrap(), policy);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(set_policy_of(child.id(), &policy).is_err());
    }
}
