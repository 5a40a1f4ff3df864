//! Counts of context switches and page faults: getrusage(2).

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
    fn a_sleep_is_a_voluntary_switch() {
        let before = thread_switches();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(thread_switches().voluntary > before.voluntary);
        assert!(process_switches().voluntary >= thread_switches().voluntary);
    }
}
