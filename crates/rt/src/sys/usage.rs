//! Use of processors and memory: getrusage(2), wait4(2).

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};

use hemiola_units::{Bytes, Span};

/// Context switches since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Switches {
    /// The thread blocked or yielded.
    pub voluntary: u64,
    /// The thread was preempted.
    pub involuntary: u64,
}

/// Returns the switches of the calling thread.
#[must_use]
pub fn thread_switches() -> Switches {
    switches(libc::RUSAGE_THREAD)
}

/// Returns the switches of all threads of this process, including those that have ended.
#[must_use]
pub fn process_switches() -> Switches {
    switches(libc::RUSAGE_SELF)
}

/// Returns the page faults of the calling thread that needed no disk access.
#[must_use]
pub fn thread_faults() -> u64 {
    usage(libc::RUSAGE_THREAD).ru_minflt as u64
}

/// How a child ended, and what it and the children that it waited for have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUsage {
    /// How it ended.
    pub status: ExitStatus,
    /// Processor time in user space.
    pub user: Span,
    /// Processor time in the kernel.
    pub system: Span,
    /// The most memory that one of them had in RAM, but no less than this process had when it started the child:
    /// Linux counts the memory before execve(2) too.
    pub memory_max: Bytes,
}

/// Waits until a child has ended, and reaps it.
///
/// # Errors
/// `ECHILD` if it was reaped before.
///
/// Source: wait4(2).
pub fn reap_child(child: Child) -> io::Result<ChildUsage> {
    let child = super::process::pid(child.id())?;
    let mut status = 0;
    // SAFETY: all-zero is valid for this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the call writes one integer and one structure, to variables of those types.
        let ended = unsafe {
            libc::wait4(child.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage)
        };
        if ended >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(ChildUsage {
        status: ExitStatus::from_raw(status),
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
        memory_max: Bytes(usage.ru_maxrss as u64 * 1024),
    })
}

fn span(time: libc::timeval) -> Span {
    Span::from_nanos(time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000)
}

/// The most memory that this process has had in RAM.
#[must_use]
pub fn memory_max() -> Bytes {
    Bytes(usage(libc::RUSAGE_SELF).ru_maxrss as u64 * 1024)
}

fn switches(who: libc::c_int) -> Switches {
    let usage = usage(who);
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: all-zero is valid for this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one structure, to a variable of that type.
    let result = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(result, 0, "getrusage of this process cannot fail");
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_reaped_with_its_status_and_its_use() {
        let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; exit 3";
        let child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let used = reap_child(child).unwrap();
        assert_eq!(used.status.code(), Some(3));
        assert!(used.user + used.system > Span::ZERO && used.memory_max > Bytes(0), "{used:?}");
        assert!(memory_max() > Bytes(0));
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = thread_switches();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(thread_switches().voluntary > before.voluntary);
        assert!(process_switches().voluntary >= thread_switches().voluntary);
    }
}
