//! Finds the threads of programs in other PID namespaces, which know themselves by other numbers than the kernel's
//! events.
//!
//! A mark states the numbers of its process and thread as its program sees them. In a container, or after
//! `unshare --pid`, these are not the recorder's numbers: thread 1 there is any thread here, and not this machine's
//! init. `/proc/PID/status` has the numbers of a process in every namespace, from the recorder's to its own (`NSpid`).
//! Several programs may have the same number, so only a process that has the memory of the marks comes into question.

use std::fs;
use std::io::ErrorKind;

/// A process and one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

/// The thread that a program states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It has these numbers for the recorder.
    Here(Numbers),
    /// It cannot be found from here.
    Unknown,
}

/// What `/proc` shows of a process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// Its number in each namespace, from the recorder's to its own.
    numbers: Vec<u32>,
    /// Whether it has ended and was not reaped yet.
    is_over: bool,
}

/// What can be known about processes.
pub(crate) trait Processes {
    /// The process of that number.
    fn status(&self, pid: u32) -> Option<Status>;
    /// Whether a process has the memory of the marks. `None`: this user may not know.
    fn has_memory(&self, pid: u32) -> Option<bool>;
    /// The processes in namespaces below the recorder's.
    fn inner(&self) -> Vec<(u32, Status)>;
    /// The threads of a process.
    fn threads(&self, pid: u32) -> Vec<(u32, Status)>;
}

/// Finds the thread that a program states by the numbers of its own namespace.
pub(crate) fn find(stated: Numbers, processes: &impl Processes) -> Found {
    let same = processes.status(stated.pid);
    let is_alike = same.as_ref().is_some_and(|status| status.numbers == [stated.pid]);
    let has_memory = processes.has_memory(stated.pid);
    if is_alike && has_memory == Some(true) {
        return Found::Here(stated);
    }
    let is_it = |(pid, status): &(u32, Status)| {
        status.numbers.last() == Some(&stated.pid) && processes.has_memory(*pid) == Some(true)
    };
    let mut inner = processes.inner().into_iter().filter(is_it).map(|(pid, _)| pid);
    match (inner.next(), inner.next()) {
        (Some(pid), None) => {
            let mut threads = processes.threads(pid).into_iter();
            let tid = match stated.tid == stated.pid {
                true => Some(pid),
                false => threads
                    .find(|(_, status)| status.numbers.last() == Some(&stated.tid))
                    .map(|(tid, _)| tid),
            };
            tid.map_or(Found::Unknown, |tid| Found::Here(Numbers { pid, tid }))
        }
        (Some(_), Some(_)) => Found::Unknown,
        (None, _) if is_alike && has_memory.is_none() => Found::Here(stated),
        // A program that has ended already leaves no trace of its namespace; mostly it has none of its own.
        (None, _) if same.is_none_or(|status| status.is_over) => Found::Here(stated),
        (None, _) => Found::Unknown,
    }
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        // A kernel without namespaces does not have the first field.
        let numbers = field("NSpid").or(field("Pid"))?;
        let numbers = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let is_over = field("State").is_some_and(|state| state.starts_with(['Z', 'X']));
        Some(Self { numbers, is_over })
    }

    fn read(path: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }
}

/// The processes of this machine, some of which have the memory of the marks.
#[derive(Debug)]
pub(crate) struct Proc<'a> {
    /// The environment entry through which programs find the memory.
    pub(crate) entry: &'a str,
    /// The inode of the memory.
    pub(crate) inode: u64,
}

impl Processes for Proc<'_> {
    fn status(&self, pid: u32) -> Option<Status> {
        Status::read(&format!("/proc/{pid}/status"))
    }

    fn has_memory(&self, pid: u32) -> Option<bool> {
        let environment = match fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => environment,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
            Err(_) => return Some(false),
        };
        if environment.split(|byte| *byte == 0).any(|entry| entry == self.entry.as_bytes()) {
            return Some(true);
        }
        // A program may have overwritten its environment.
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        Some(maps.lines().any(|line| is_mapping_of(line, self.inode)))
    }

    fn inner(&self) -> Vec<(u32, Status)> {
        let all = crate::kernel::numbers("/proc").into_iter();
        let known = all.filter_map(|pid| Some((pid, self.status(pid)?)));
        known.filter(|(_, status)| status.numbers.len() > 1).collect()
    }

    fn threads(&self, pid: u32) -> Vec<(u32, Status)> {
        let folder = format!("/proc/{pid}/task");
        let all = crate::kernel::numbers(&folder).into_iter();
        all.filter_map(|tid| Some((tid, Status::read(&format!("{folder}/{tid}/status"))?)))
            .collect()
    }
}

/// Whether a line of `/proc/PID/maps` is a mapping of a memory file with that inode.
fn is_mapping_of(line: &str, inode: u64) -> bool {
    let mut fields = line.split_ascii_whitespace();
    let found = fields.nth(4).and_then(|field| field.parse().ok());
    found == Some(inode) && fields.next().is_some_and(|path| path.starts_with("/memfd:"))
}

/// Whether this process sees the kernel's own numbers of processes and threads: it is in the first PID namespace.
///
/// Source: the inode of that namespace is fixed (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`).
#[must_use]
pub fn sees_every_number() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    // Without /proc, or in a kernel without namespaces, nothing indicates another one.
    let own = fs::read_link("/proc/self/ns/pid");
    own.ok().is_none_or(|own| own.to_str() == Some(FIRST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Process {
        numbers: Vec<u32>,
        is_over: bool,
        has_memory: Option<bool>,
        threads: Vec<Vec<u32>>,
    }

    struct Fake(Vec<Process>);

    impl Fake {
        fn of(&self, pid: u32) -> Option<&Process> {
            self.0.iter().find(|process| process.numbers[0] == pid)
        }
    }

    impl Processes for Fake {
        fn status(&self, pid: u32) -> Option<Status> {
            let Process { numbers, is_over, .. } = self.of(pid)?.clone();
            Some(Status { numbers, is_over })
        }

        fn has_memory(&self, pid: u32) -> Option<bool> {
            self.of(pid)?.has_memory
        }

        fn inner(&self) -> Vec<(u32, Status)> {
            let inner = self.0.iter().filter(|process| process.numbers.len() > 1);
            let pids = inner.map(|process| process.numbers[0]);
            pids.map(|pid| (pid, self.status(pid).unwrap())).collect()
        }

        fn threads(&self, pid: u32) -> Vec<(u32, Status)> {
            let threads = self.of(pid).map(|process| process.threads.clone()).unwrap_or_default();
            let status = |numbers: Vec<u32>| (numbers[0], Status { numbers, is_over: false });
            threads.into_iter().map(status).collect()
        }
    }

    fn check(machine: &Fake, stated: (u32, u32), expected: Option<(u32, u32)>) {
        let numbers = |(pid, tid)| Numbers { pid, tid };
        let expected = expected.map_or(Found::Unknown, |found| Found::Here(numbers(found)));
        assert_eq!(find(numbers(stated), machine), expected, "{stated:?}");
    }

    #[test]
    fn a_thread_in_another_namespace_is_found_by_the_memory_that_its_process_has() {
        let process = |numbers: &[u32], has_memory, threads: &[&[u32]]| Process {
            numbers: numbers.to_vec(),
            is_over: false,
            has_memory,
            threads: threads.iter().map(|numbers| numbers.to_vec()).collect(),
        };
        let (yes, no) = (Some(true), Some(false));
        let machine = Fake(vec![
            // The machine's init, which may not be examined, a kernel thread, and a process in a container that is
            // not recorded.
            process(&[1], None, &[&[1]]),
            process(&[4], no, &[&[4]]),
            process(&[800, 1], no, &[&[800, 1]]),
            // Recorded ones: here, in a container, and in two containers under the same number.
            process(&[900], yes, &[&[900], &[901]]),
            process(&[910, 1], yes, &[&[910, 1], &[911, 2]]),
            process(&[920, 7], yes, &[&[920, 7]]),
            process(&[930, 3, 7], yes, &[&[930, 3, 7]]),
            // One that may not be examined, and one that has ended.
            process(&[940], None, &[]),
            Process { is_over: true, ..process(&[950], no, &[]) },
        ]);
        check(&machine, (900, 901), Some((900, 901)));
        // Also after the end of the thread, or of the process.
        check(&machine, (900, 999), Some((900, 999)));
        check(&machine, (950, 950), Some((950, 950)));
        check(&machine, (777, 777), Some((777, 777)));
        check(&machine, (940, 940), Some((940, 940)));
        check(&machine, (1, 1), Some((910, 910)));
        check(&machine, (1, 2), Some((910, 911)));
        check(&machine, (1, 3), None);
        check(&machine, (7, 7), None);
        check(&machine, (4, 4), None);
    }

    #[test]
    fn the_numbers_in_every_namespace_are_read() {
        let status = |text| Status::parse(text).unwrap();
        let inner = status("Name:\tx\nState:\tS (sleeping)\nTgid:\t9\nNSpid:\t90\t4\t1\n");
        assert_eq!((inner.numbers, inner.is_over), (vec![90, 4, 1], false));
        assert!(status("State:\tZ (zombie)\nPid:\t7\n").is_over);
        assert_eq!(Status::parse("Name:\tx\n"), None);
        let own = std::process::id();
        let here = Proc { entry: "NONE=", inode: 0 };
        assert_eq!(here.status(own).unwrap().numbers[0], own);
        assert_eq!(here.has_memory(own), Some(false));
    }

    #[test]
    fn a_mapping_is_recognized_by_its_inode() {
        let line = "7f2a-7f2b rw-s 00000000 00:01 2051 /memfd:hemiola-marks (deleted)";
        assert!(is_mapping_of(line, 2051) && !is_mapping_of(line, 2052));
        assert!(!is_mapping_of("7f2a-7f2b rw-p 00000000 00:00 0", 0));
    }
}
