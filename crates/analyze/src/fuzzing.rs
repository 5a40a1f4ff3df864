//! Bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

use hemiola_trace::perfetto::Track;
use hemiola_trace::sched::{Context, Event, Interrupt, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind, Recording};
use hemiola_units::{Instant, Span};

use crate::sched::{Of, Options, Wanted, Who, analyze, csv, gantt, jobs, tables};
use hemiola_report::terminal;

/// Makes a recording of arbitrary bytes, as contradictory as they come, and takes it through the whole analysis.
///
/// # Panics
/// When a figure contradicts itself.
pub fn scheduler(bytes: &[u8]) {
    let recording = recording(bytes);
    let options = Options {
        periods: vec![(Who::Tid(3), Span::from_nanos(700)), (Who::Name("a".into()), Span::ZERO)],
        ..Options::default()
    };
    let report = analyze(&recording, &options);
    let length = report.to_ns - report.from_ns;
    for cpu in &report.cpus {
        assert!(
            cpu.busy_ns + cpu.idle_ns == cpu.seen_ns && cpu.seen_ns <= length,
            "{cpu:?} of {length}"
        );
    }
    for thread in &report.threads {
        // A thread that two processors claim at once is found out only afterwards.
        let known = thread.running_ns + thread.waiting_ns + thread.blocked_ns + thread.sleeping_ns;
        assert!(
            known <= length.saturating_mul(2 + report.cpus.len() as u64),
            "{thread:?} of {length}"
        );
        // A job may have been released before the recording began.
        for figure in
            [&thread.execution_ns, &thread.response_ns, &thread.latency_ns].into_iter().flatten()
        {
            assert!(
                figure.min <= figure.p50 && figure.p50 <= figure.max && figure.max <= report.to_ns,
                "{figure:?}"
            );
        }
        assert!(thread.utilization.is_finite());
        let wanted = Wanted { of: Of::Thread(thread.tid), from_ns: 0, to_ns: u64::MAX, max: 100 };
        for job in jobs(&recording, &options, &wanted).iter().filter(|job| job.complete) {
            let delayed: u64 = job.delays.iter().map(|delay| delay.ns).sum();
            assert!(job.execution_ns + delayed <= job.response_ns(), "{job:?}");
        }
    }
    assert!(report.misses.iter().all(|miss| !miss.explanation.is_empty()));
    let shown: Vec<String> = tables::tables(&report).iter().map(terminal::table).collect();
    assert!(shown.iter().all(|table| !table.is_empty()));
    assert_eq!(csv::write(&report).lines().count(), 1 + report.tasks.len() + report.threads.len());
    let stretch = gantt::Stretch {
        from_ns: report.from_ns,
        to_ns: report.to_ns.saturating_add(9),
        columns: 40,
        only: None,
    };
    assert!(gantt::gantt(&recording, &report, stretch).lines().count() >= 2);
}

/// Five bytes for each event or mark, on three processors, of six threads.
fn recording(bytes: &[u8]) -> Recording {
    let (mut events, mut entries, mut at) = (Vec::new(), Vec::new(), 0_u64);
    for chunk in bytes.chunks_exact(5) {
        let [kind, a, b, step, cpu] = [chunk[0], chunk[1], chunk[2], chunk[3], chunk[4]];
        at += u64::from(step) * if step > 250 { 1_000_000 } else { 1 };
        let tid = |byte: u8| match byte % 8 {
            6 => Tid::UNKNOWN,
            7 => Tid(u32::MAX - 5),
            number => Tid(u32::from(number)),
        };
        let left = [
            Left::Preempted,
            Left::Yielded,
            Left::Sleeping,
            Left::Uninterruptible,
            Left::Dead,
            Left::Unknown,
        ];
        let what = match kind % 16 {
            0..=5 => What::Switch {
                prev: tid(a),
                left: left[usize::from(kind / 16) % left.len()],
                next: tid(b),
                priority: i16::from(b) - 1,
            },
            6..=9 => What::Wake {
                tid: tid(a),
                waker: tid(b),
                context: Context::Unknown,
                target: u16::from(b % 5),
            },
            10 => What::InterruptEntry(Interrupt::Hard(a.into())),
            11 => What::InterruptExit(Interrupt::Soft(a.into())),
            12 => What::Lost(a.into()),
            13 => What::Online(a % 2 == 0),
            14 if b % 2 == 0 => {
                let until = (at + u64::from(a)).saturating_sub(100);
                What::SleepUntil(Instant::from_nanos(until).into())
            }
            _ => {
                let kind = [EventKind::Start, EventKind::Finish, EventKind::Lost, EventKind::Mark]
                    [usize::from(kind / 16) % 4];
                let a = (at + u64::from(a)).saturating_sub(100);
                entries.push(Entry {
                    at: Instant::from_nanos(at),
                    kind,
                    arg: 1,
                    cycle: b.into(),
                    a,
                    b: 5,
                });
                continue;
            }
        };
        events.push(Event { at: Instant::from_nanos(at), cpu: u16::from(cpu % 3), what });
    }
    let thread = |tid: u32, since: u64, name: &str, new| Thread {
        tid: Tid(tid),
        since: Instant::from_nanos(since),
        pid: tid,
        name: name.into(),
        new,
    };
    let threads =
        vec![thread(1, 0, "a", false), thread(2, 0, "\u{7}", false), thread(1, 600, "b", true)];
    let track = Track { pid: 3, tid: 3, name: "marked".into(), entries, ..Track::default() };
    Recording::new(events, threads, vec![track])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_sequence_of_events_contradicts_its_analysis(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            super::scheduler(&bytes);
        }
    }
}
