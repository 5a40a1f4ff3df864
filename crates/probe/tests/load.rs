//! A load runs while its guard lives, at ordinary priority on the other processor.

use std::time::Duration;

use hemiola_probe::{Load, Setting, load};
use hemiola_rt::sys::{process, sched};
use hemiola_units::{CpuSet, Policy};

use crate::setting;

/// The child processes of this one whose arguments name a load.
fn loads() -> Vec<u32> {
    let children = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim();
        let ours = parent.parse() == Ok(std::process::id());
        let orders = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        (ours && orders.contains("\"load\"")).then_some(number)
    });
    children.collect()
}

fn threads(number: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{number}/task")).unwrap().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The processor time of process `number` in ticks: fields 14 and 15 of its stat (proc_pid_stat(5)).
fn ticks(number: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap();
    let after = text.rsplit_once(") ").unwrap().1;
    let field = |at: usize| after.split(' ').nth(at - 3).unwrap().parse::<u64>().unwrap();
    field(14) + field(15)
}

#[test]
fn a_load_computes_until_it_is_dropped() {
    assert!(load::start(&setting()).unwrap().is_none());
    for load in [Load::BusyNeighbour, Load::CachePolluter] {
        let setting = Setting { load, ..setting() };
        let guard = load::start(&setting).unwrap();
        assert!(guard.is_some());
        let [number] = loads()[..] else { panic!("{load}: {:?}", loads()) };
        // In a test binary the load is not the first thread.
        let cpu = CpuSet::one(setting.other_cpu.unwrap_or(setting.cpu)).unwrap();
        let placed = |thread: u32| sched::affinity(Some(thread)).is_ok_and(|cpus| cpus == cpu);
        let thread = threads(number).into_iter().find(|thread| placed(*thread)).unwrap();
        assert_eq!(sched::policy(Some(thread)).unwrap(), Policy::Other { nice: 0 });
        let before = ticks(number);
        while ticks(number) == before {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(guard);
        assert!(process::PidFd::open(number).is_err() && loads().is_empty(), "{load}");
    }
}
