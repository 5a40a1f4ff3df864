//! Scheduling policy and processors of a thread: sched(7).

use std::io;

use hemiola_units::{CpuSet, Policy, Priority, Span};
use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};

use super::process::pid;

const SCHED_DEADLINE: u32 = 6;

fn attributes() -> libc::sched_attr {
    libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    }
}

fn answer(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the policy of thread `tid`, or of the calling one.
///
/// # Errors
/// `EPERM` without the privilege, or for DEADLINE if the thread is not allowed on all processors; `EBUSY` if
/// admission control refuses DEADLINE; `EINVAL` for invalid parameters; `ESRCH`.
///
/// Source: sched_setattr(2).
pub fn set_policy(tid: Option<u32>, policy: &Policy) -> io::Result<()> {
    set(tid, policy, 0)
}

/// Sets the policy of thread `tid`, or of the calling one, for it alone: threads and processes that it starts have no
/// real-time priority. The thread cannot undo this without `CAP_SYS_NICE`.
///
/// # Errors
/// Those of [`set_policy`].
///
/// Source: sched_setattr(2), `SCHED_FLAG_RESET_ON_FORK`.
pub fn set_own_policy(tid: Option<u32>, policy: &Policy) -> io::Result<()> {
    set(tid, policy, libc::SCHED_FLAG_RESET_ON_FORK as u64)
}

fn set(tid: Option<u32>, policy: &Policy, flags: u64) -> io::Result<()> {
    let mut attr = attributes();
    attr.sched_flags = flags;
    match *policy {
        Policy::Other { nice } => attr.sched_nice = nice.into(),
        Policy::Fifo { priority } => {
            attr.sched_policy = libc::SCHED_FIFO as u32;
            attr.sched_priority = priority.get().into();
        }
        Policy::RoundRobin { priority } => {
            attr.sched_policy = libc::SCHED_RR as u32;
            attr.sched_priority = priority.get().into();
        }
        Policy::Deadline { runtime, deadline, period } => {
            attr.sched_policy = SCHED_DEADLINE;
            // Negative spans become huge, and the kernel refuses them.
            attr.sched_runtime = runtime.nanos() as u64;
            attr.sched_deadline = deadline.nanos() as u64;
            attr.sched_period = period.nanos() as u64;
        }
    }
    let no_flags = 0;
    // SAFETY: the call reads `size` bytes of a structure of that size, and writes at most its `size` field.
    answer(unsafe {
        libc::syscall(libc::SYS_sched_setattr, tid.unwrap_or(0), &raw mut attr, no_flags)
    })
}

/// Returns the policy of thread `tid`, or of the calling one. `SCHED_BATCH` and `SCHED_IDLE` are reported as OTHER.
///
/// # Errors
/// `ESRCH` if there is no such thread.
///
/// Source: sched_getattr(2).
pub fn policy(tid: Option<u32>) -> io::Result<Policy> {
    let mut attr = attributes();
    let (size, no_flags) = (attr.size, 0);
    // SAFETY: the call writes at most `size` bytes to a structure of that size, and any contents are valid.
    answer(unsafe {
        libc::syscall(libc::SYS_sched_getattr, tid.unwrap_or(0), &raw mut attr, size, no_flags)
    })?;
    let priority = || Priority::try_from(attr.sched_priority as u8).map_err(io::Error::other);
    let span = |nanos: u64| Span::from_nanos(nanos as i64);
    Ok(match attr.sched_policy {
        fifo if fifo == libc::SCHED_FIFO as u32 => Policy::Fifo { priority: priority()? },
        rr if rr == libc::SCHED_RR as u32 => Policy::RoundRobin { priority: priority()? },
        SCHED_DEADLINE => Policy::Deadline {
            runtime: span(attr.sched_runtime),
            deadline: span(attr.sched_deadline),
            period: span(attr.sched_period),
        },
        _ => Policy::Other { nice: attr.sched_nice as i8 },
    })
}

/// Restricts thread `tid`, or the calling one, to `cpus`.
///
/// # Errors
/// `EINVAL` if none of them is online and allowed by the control group; `EPERM`; `ESRCH`.
///
/// Source: sched_setaffinity(2).
pub fn set_affinity(tid: Option<u32>, cpus: &CpuSet) -> io::Result<()> {
    let mut set = KernelSet::new();
    cpus.iter().for_each(|cpu| set.set(cpu.into()));
    Ok(sched_setaffinity(tid.map(pid).transpose()?, &set)?)
}

/// Returns where thread `tid`, or the calling one, may run.
///
/// # Errors
/// `ESRCH`; `EINVAL` on machines with more than 1024 processors.
///
/// Source: sched_getaffinity(2).
pub fn affinity(tid: Option<u32>) -> io::Result<CpuSet> {
    let set = sched_getaffinity(tid.map(pid).transpose()?)?;
    let cpus = (0..KernelSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    CpuSet::from_cpus(cpus.map(|cpu| cpu as u16))
        .ok_or_else(|| io::Error::other("a thread allowed on no processor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_and_processors_are_set_and_read_back() {
        std::thread::spawn(|| {
            let asked = Policy::Other { nice: 7 };
            set_policy(None, &asked).unwrap();
            assert_eq!(policy(None).unwrap(), asked);
            let cpu = CpuSet::one(super::super::cpu::current()).unwrap();
            set_affinity(None, &cpu).unwrap();
            assert_eq!(affinity(None).unwrap(), cpu);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_a_thread_with_a_policy_of_its_own_starts_has_an_ordinary_one() {
        std::thread::spawn(|| {
            let lowest = Policy::Fifo { priority: Priority::try_from(1).unwrap() };
            if set_own_policy(None, &lowest).is_err() {
                return println!("skipped: needs real-time priority");
            }
            let inherited = std::thread::spawn(|| policy(None).unwrap()).join().unwrap();
            assert_eq!(inherited, Policy::Other { nice: 0 });
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error() {
        assert!(policy(Some(u32::MAX >> 1)).is_err());
        assert!(affinity(Some(u32::MAX)).is_err());
    }
}
