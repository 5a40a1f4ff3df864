//! Recordings of real machines by other programs, and what the analysis says of them.
//!
//! Beside each recording stands what the program that made it reads in it; processor times and waits are summed up
//! from that a second time here, in the most simple way there is.

use std::collections::BTreeMap;

use hemiola_trace::Recording;

use super::tables::priority;
use super::{Options, Report, analyze};

fn report(bytes: &[u8]) -> Report {
    let (recording, errors) = Recording::read(bytes);
    assert_eq!(errors, []);
    analyze(&recording, &Options::default())
}

/// Processor time by thread from lines `TIME CPU switch PREV STATE NEXT PRIORITY`, and how many there are. A thread
/// that leaves a processor had it since the switch before if it is the one that came then, or, at the first switch,
/// since the first event there.
fn simply(text: &str) -> (BTreeMap<u32, u64>, u64) {
    let (mut running, mut switches) = (BTreeMap::<u32, u64>::new(), 0);
    let mut current = BTreeMap::<&str, (Option<&str>, u64)>::new();
    let mut end = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at: u64 = words[0].parse().unwrap();
        end = at;
        let (thread, since) = *current.entry(words[1]).or_insert((None, at));
        if words[2] == "switch" {
            switches += 1;
            if thread.is_none_or(|thread| thread == words[3]) {
                *running.entry(words[3].parse().unwrap()).or_default() += at - since;
            }
            // Cut out of a longer recording, it may be elsewhere already.
            current.retain(|cpu, (thread, _)| {
                *cpu == words[1] || words[5] == "0" || *thread != Some(words[5])
            });
            current.insert(words[1], (Some(words[5]), at));
        }
    }
    for (thread, since) in current.into_values() {
        if let Some(thread) = thread {
            *running.entry(thread.parse().unwrap()).or_default() += end - since;
        }
    }
    (running, switches)
}

fn agrees(report: &Report, text: &str) {
    let (running, switches) = simply(text);
    assert_eq!(report.switches, switches);
    let mut found = BTreeMap::<u32, u64>::new();
    for thread in &report.threads {
        *found.entry(thread.tid).or_default() += thread.running_ns + thread.interrupted_ns;
    }
    for (thread, ns) in running.into_iter().filter(|(thread, _)| *thread != 0) {
        assert_eq!(found.remove(&thread), Some(ns), "{thread}");
    }
    assert!(found.into_values().all(|ns| ns == 0));
}

/// The threads that ran most, a line each.
fn shown(report: &Report) -> String {
    let time = |ns: Option<u64>| ns.map_or("–".into(), |ns| ns.to_string());
    let line = |thread: &super::ThreadReport| {
        let max = |of: &Option<super::Distribution>| time(of.as_ref().map(|found| found.max));
        let by = thread.preempted_by.first();
        format!(
            "{} [{}] {}: {} jobs, {} in part; C {}, response {}, ran {}, waited {}{}",
            thread.name,
            thread.tid,
            priority(thread.priority),
            thread.invocations,
            thread.incomplete,
            max(&thread.execution_ns),
            max(&thread.response_ns),
            thread.running_ns,
            thread.waiting_ns,
            by.map_or(String::new(), |by| format!(", {} of it for {}", by.ns, by.name)),
        )
    };
    let mut lines: Vec<String> = report.threads.iter().take(6).map(line).collect();
    lines.extend(report.notes.iter().cloned());
    lines.join("\n")
}

#[test]
fn a_recording_of_trace_cmd() {
    let report = report(include_bytes!("../../../../data/traces/trace-cmd-7.dat"));
    agrees(&report, include_str!("../../../../data/traces/trace-cmd-7.txt"));
    insta::assert_snapshot!(shown(&report), @r"
kernel-45842a86 [16086] nice 0: 55 jobs, 1 in part; C 52896, response 96282, ran 11450617, waited 170863, 170863 of it for kernel-45842a86
rustc [15772] nice 0: 0 jobs, 1 in part; C –, response –, ran 5536424, waited 4552017, 4007761 of it for opt cgu.2
opt cgu.2 [16048] nice 0: 0 jobs, 1 in part; C –, response –, ran 4007761, waited 315277, 7251 of it for rcu_preempt
sleep [16115] nice 0: 1 jobs, 1 in part; C 178605, response 189340, ran 896878, waited 10735, 10735 of it for rustc
load4.sh [16114] nice 0: 0 jobs, 3 in part; C –, response –, ran 352912, waited 2487432, 1792954 of it for rustc
kernel-45842a86 [16085] nice 0: 28 jobs, 2 in part; C 50155, response 91566, ran 243571, waited 11399259, 164732 of it for kernel-45842a86
jobs seen in part only, which are in no distribution: load4.sh (3 of 3)
");
}

#[test]
fn a_recording_of_perf() {
    let report = report(include_bytes!("../../../../data/traces/perf-system.data"));
    agrees(&report, include_str!("../../../../data/traces/perf-system.txt"));
    insta::assert_snapshot!(shown(&report), @r"
rustc [13411] nice 0: 0 jobs, 1 in part; C –, response –, ran 13129914, waited 240285, 89222 of it for sleep
rustc [13245] nice 0: 1 jobs, 0 in part; C 10545017, response 12360188, ran 10545017, waited 1815171, 957127 of it for sleep
opt cgu.01 [13441] nice 0: 0 jobs, 1 in part; C –, response –, ran 4436036, waited 50640
opt cgu.15 [13433] nice 0: 0 jobs, 1 in part; C –, response –, ran 1911078, waited 24026, 24026 of it for coordinator
load4.sh [13434] nice 0: 2 jobs, 1 in part; C 1328867, response 2188164, ran 1616983, waited 975985, 917909 of it for sleep
sleep [13440] nice 0: 1 jobs, 1 in part; C 203952, response 214778, ran 1250301, waited 34456, 18127 of it for migration/1
an unknown number of events is lost in a gap of 27.8 µs together: what happened there is in no figure, and greatest values are those of the rest; 10 invocations were seen in part only
1 switch does not fit what came before: events are missing without a reported loss; jobs around them are in no figure
");
}

#[test]
fn a_recording_of_switches_without_wake_ups() {
    let report = report(include_bytes!("../../../../data/traces/perf-switches.data"));
    insta::assert_snapshot!(shown(&report), @r"
thread 24912 [24912] –: 5 jobs, 2 in part; C 200026, response 200026, ran 42213679, waited 18390779, 18209941 of it for thread 24897
thread 24897 [24897] –: 0 jobs, 1 in part; C –, response –, ran 38829817, waited 37205599, 33485550 of it for thread 24912
thread 24878 [24878] –: 0 jobs, 1 in part; C –, response –, ran 27734608, waited 56643320, 12932702 of it for thread 24895
thread 24895 [24895] –: 0 jobs, 1 in part; C –, response –, ran 12932702, waited 67010543, 18684443 of it for thread 24878
thread 24896 [24896] –: 0 jobs, 1 in part; C –, response –, ran 12880333, waited 71497595, 27734608 of it for thread 24878
thread 24893 [24893] –: 0 jobs, 1 in part; C –, response –, ran 11552288, waited 65527889, 23368746 of it for thread 24878
no wake-ups recorded: an invocation counts from when it first runs, so response times lack the wait before it, and no thread is known to have ended a wait
1 switch does not fit what came before: events are missing without a reported loss; jobs around them are in no figure
");
}

#[test]
fn a_recording_of_one_program() {
    let report = report(include_bytes!("../../../../data/traces/perf-program.data"));
    insta::assert_snapshot!(shown(&report), @r"
opt cgu.3 [13722] nice 0: 0 jobs, 1 in part; C –, response –, ran 858305, waited 0
sleep [13723] nice 0: 0 jobs, 2 in part; C –, response –, ran 51326, waited 0
load4.sh [13720] nice 0: 0 jobs, 3 in part; C –, response –, ran 8202, waited 0
perf [13703] nice 0: 0 jobs, 2 in part; C –, response –, ran 0, waited 0
rustc [13718] nice 0: 0 jobs, 1 in part; C –, response –, ran 0, waited 0
sleep [13724] –: 0 jobs, 1 in part; C –, response –, ran 0, waited 0
an unknown number of events is lost in 3 gaps of 6.62 ms together: what happened there is in no figure, and greatest values are those of the rest; 10 invocations were seen in part only
no wake-ups recorded: an invocation counts from when it first runs, so response times lack the wait before it, and no thread is known to have ended a wait
");
}
