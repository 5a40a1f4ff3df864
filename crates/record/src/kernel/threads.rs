//! The threads that `/proc` lists.

use std::fs;

use hemiola_trace::sched::{Thread, Tid};
use hemiola_units::Instant;

/// The most processes of one tree that are searched.
const TREE_MAX: usize = 1 << 16;

/// Returns every thread of the machine that is visible here.
pub(super) fn all() -> Vec<Thread> {
    numbers("/proc").into_iter().flat_map(of_process).collect()
}

/// Returns every thread of a process and its descendants; only its own if the kernel does not list children.
pub(super) fn of_tree(pid: u32) -> Vec<Thread> {
    let (mut pids, mut next, mut threads) = (vec![pid], 0, Vec::new());
    while let Some(&pid) = pids.get(next).filter(|_| next < TREE_MAX) {
        next += 1;
        for thread in of_process(pid) {
            let children =
                fs::read_to_string(format!("/proc/{pid}/task/{}/children", thread.tid.0));
            let children = children.unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            threads.push(thread);
        }
    }
    threads
}

/// Threads that end meanwhile are left out.
fn of_process(pid: u32) -> Vec<Thread> {
    let name = |tid: &u32| fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok();
    let threads = numbers(&format!("/proc/{pid}/task")).into_iter();
    let named = threads.filter_map(|tid| Some((tid, name(&tid)?)));
    let thread = |(tid, name): (u32, String)| Thread {
        tid: Tid(tid),
        since: Instant::ZERO,
        pid,
        name: name.trim_end_matches('\n').to_string(),
        new: false,
    };
    named.map(thread).collect()
}

/// Returns the entries of a folder whose names are numbers, ascending.
pub(crate) fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_the_threads_of_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = of_tree(std::process::id());
        let everybody = all();
        child.kill().unwrap();
        child.wait().unwrap();
        let own = found.iter().filter(|thread| thread.pid == std::process::id()).count();
        assert!(own >= 2, "the test's thread and the main one: {found:?}");
        assert!(found.iter().any(|thread| thread.pid == child.id()), "{found:?}");
        assert!(everybody.iter().any(|thread| thread.pid == child.id()));
    }
}
