//! Watches, signals and limits other processes.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hemiola_units::{Instant, Policy, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, kill_process_group, pidfd_open, pidfd_send_signal, prlimit,
    set_parent_process_death_signal, test_kill_process,
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
        loop {
            let left = (until - MonotonicClock.now()).to_duration();
            let left = (until != Instant::MAX)
                .then(|| Timespec::try_from(left).expect("a span's seconds fit"));
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut polled, left.as_ref()) {
                Ok(0) if MonotonicClock.now() >= until => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
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

/// Sets the policy of every thread of process `number`, for example to take real-time priority from a runaway. A
/// thread that it starts meanwhile inherits its starter's policy.
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
        match sched::set_policy(Some(tid), policy) {
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
