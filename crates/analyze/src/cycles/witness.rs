//! The kernel's record of a run: which threads had the processor when a process of the loop should have had it.

use std::collections::BTreeMap;

use hemiola_trace::Recording;
use hemiola_trace::result::RunRecord;
use hemiola_trace::sched::Tid;
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Cycle, Process};
use crate::cycles::occupancy::{Occupancy, Part};
use crate::cycles::waiting::Waiting;
use hemiola_report::text::duration;

/// The maximum number of threads named in a sentence.
const NAMED_MAX: usize = 3;
/// The maximum number of threads kept by name for a program.
pub const DELAYS_KEPT_MAX: usize = 12;

/// The kernel's record beside the processes of a run.
#[derive(Debug)]
pub struct Witness<'r> {
    occupancy: Occupancy,
    waiting: Waiting,
    recording: &'r Recording,
    /// The thread of each process's loop; `None` for a process that was started more than once.
    tids: Vec<Option<Tid>>,
    /// The scenario's names of threads.
    names: BTreeMap<Tid, String>,
}

/// A thread outside a program that had its processor during its cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleDelay {
    /// Its name.
    pub name: String,
    /// In how many cycles.
    pub cycles: u64,
    /// For how long in all, ns.
    pub total_ns: i64,
    /// For how long in the cycle where it was longest, ns.
    pub max_ns: i64,
}

impl<'r> Witness<'r> {
    /// The record of `run`; `None` if it has no switches. `processes` are those of the run, in its order.
    #[must_use]
    pub fn of(recording: &'r Recording, run: &RunRecord, processes: &[Process]) -> Option<Self> {
        let occupancy = Occupancy::of(recording.events());
        if occupancy.is_empty() {
            return None;
        }
        let names = run.processes.iter().map(|process| (Tid(process.pid), process.name.clone()));
        let tid = |process: &Process| {
            let mut found = run.processes.iter().filter(|run| run.name == process.name);
            let first = found.next()?;
            found.next().is_none().then_some(Tid(first.pid))
        };
        let tids: Vec<Option<Tid>> = processes.iter().map(tid).collect();
        let followed: Vec<Tid> = tids.iter().flatten().copied().collect();
        let waiting = Waiting::of(recording.events(), &followed);
        Some(Self { occupancy, waiting, recording, tids, names: names.collect() })
    }

    /// The occupancy of all processors.
    #[must_use]
    pub const fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// The thread of a process's loop, by the process's index.
    #[must_use]
    pub fn tid(&self, process: usize) -> Option<Tid> {
        self.tids.get(process).copied().flatten()
    }

    /// How long process `process` had a processor between two moments; `None` if that is not known.
    pub(crate) fn time_of(&self, process: usize, from: Instant, to: Instant) -> Option<Span> {
        self.occupancy.had(self.tid(process)?, from, to)
    }

    /// Since when process `process` had been ready to run without a processor at `at`; `None` if it was not.
    pub(crate) fn waits_since(&self, process: usize, at: Instant) -> Option<Instant> {
        self.waiting.since(self.tid(process)?, at)
    }

    /// The thread of process `process`, the processor that it was on at `from`, and who had that until `to`.
    fn sharers(&self, process: usize, from: Instant, to: Instant) -> Option<(Tid, u16, Vec<Part>)> {
        let tid = self.tid(process)?;
        let cpu = self.occupancy.processor_of(tid, from)?;
        Some((tid, cpu, self.occupancy.who(cpu, from, to)))
    }

    /// Says which threads had the processor of process `process` between two moments instead of it.
    #[must_use]
    pub fn instead_of(&self, process: usize, from: Instant, to: Instant) -> Option<String> {
        let (tid, cpu, parts) = self.sharers(process, from, to)?;
        if parts.iter().any(|part| part.tid == Tid::UNKNOWN && part.time.is_positive()) {
            return Some(
                "it is not known which thread had the processor: the kernel's record has a gap"
                    .into(),
            );
        }
        let others = || parts.iter().filter(|part| part.tid != tid && part.time.is_positive());
        let all: Span = others().map(|part| part.time).sum();
        if all * 2 < to - from {
            let text = "by the kernel's record it had the processor: an interrupt or the host's pause held it up";
            return Some(text.into());
        }
        // Less than a twentieth of the time explains nothing.
        let named = others().filter(|part| part.time * 20 >= to - from).take(NAMED_MAX);
        let words = named.map(|part| {
            let time = duration(part.time.nanos() as f64);
            match part.tid {
                Tid::IDLE => format!("processor {cpu} was idle for {time}"),
                other => format!("{} had processor {cpu} for {time}", self.name(other, from)),
            }
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The thread that had the processor of process `process` longest between two moments instead of it, and whether
    /// it is a process of the run; a description where no thread is known.
    pub(crate) fn foremost(
        &self,
        process: usize,
        from: Instant,
        to: Instant,
    ) -> Option<(String, bool)> {
        let (tid, _, parts) = self.sharers(process, from, to)?;
        let others = || parts.iter().filter(|part| part.tid != tid && part.time.is_positive());
        if others().any(|part| part.tid == Tid::UNKNOWN) {
            return Some(("a gap in the record".into(), false));
        }
        let all: Span = others().map(|part| part.time).sum();
        if all * 2 < to - from {
            return Some(("an interrupt or the host".into(), false));
        }
        let first = others().next()?;
        Some(match first.tid {
            Tid::IDLE => ("the wake-up of an idle processor".into(), false),
            other => (self.name(other, from), self.names.contains_key(&other)),
        })
    }

    /// The thread that had the processor of process `process` longest between two moments instead of it, and whether
    /// processes of the run together had most of that time; `None` unless threads had at least half of it.
    pub(crate) fn holder(
        &self,
        process: usize,
        from: Instant,
        to: Instant,
    ) -> Option<(String, bool)> {
        let (tid, _, parts) = self.sharers(process, from, to)?;
        let is_other = |part: &&Part| ![tid, Tid::IDLE, Tid::UNKNOWN].contains(&part.tid);
        let others = || parts.iter().filter(is_other);
        let all: Span = others().map(|part| part.time).sum();
        let is_ours = |part: &&Part| self.names.contains_key(&part.tid);
        let ours: Span = others().filter(is_ours).map(|part| part.time).sum();
        let first = others().next().filter(|_| all * 2 >= to - from)?;
        Some((self.name(first.tid, from), ours * 2 >= all))
    }

    /// Adds to `delays` how long threads outside the run had the loop's processor between the release of a cycle and
    /// its end.
    pub(crate) fn add_delays(&self, cycle: &Cycle, delays: &mut BTreeMap<String, [i64; 3]>) {
        let (from, to) = (cycle.release(), cycle.finish());
        let first = cycle.jobs.first().and_then(|job| self.tid(job.process));
        let Some(cpu) = first.and_then(|tid| self.occupancy.processor_of(tid, from)) else {
            return;
        };
        for part in self.occupancy.who(cpu, from, to) {
            let ours = self.names.contains_key(&part.tid);
            if ours || matches!(part.tid, Tid::IDLE | Tid::UNKNOWN) || !part.time.is_positive() {
                continue;
            }
            let [cycles, total, max] = delays.entry(self.name(part.tid, from)).or_default();
            *cycles += 1;
            *total += part.time.nanos();
            *max = (*max).max(part.time.nanos());
        }
    }

    /// A thread's name: the scenario's where it has one, else the kernel's.
    fn name(&self, tid: Tid, at: Instant) -> String {
        let known = self.names.get(&tid).cloned();
        let kernel = || Some(self.recording.thread(tid, at)?.name.clone());
        known.or_else(kernel).unwrap_or_else(|| format!("thread {}", tid.0))
    }
}

impl CycleDelay {
    /// The longest of the delays that [`Witness::add_delays`] summed up.
    pub(crate) fn list(delays: BTreeMap<String, [i64; 3]>) -> Vec<Self> {
        let of = |(name, [cycles, total_ns, max_ns]): (String, [i64; 3])| Self {
            name,
            cycles: cycles as u64,
            total_ns,
            max_ns,
        };
        let mut list: Vec<Self> = delays.into_iter().map(of).collect();
        list.sort_by_key(|delay| std::cmp::Reverse(delay.total_ns));
        list.truncate(DELAYS_KEPT_MAX);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::metrics::Observed;
    use crate::cycles::misses::{Cause, Miss};
    use crate::cycles::synthetic::{Loop, MICRO, PERIOD, run_record};
    use hemiola_trace::sched::{Event, Left, PRIORITY_UNKNOWN, Thread, What};

    const EPOCH: i64 = 1_000_000_000;
    const HELD: i64 = 25_000 * MICRO;
    const KWORKER: u32 = 99;

    /// `io` is thread 11 and `controller` 12; `intruder` has the processor from 1 µs to 25 001 µs behind the start of
    /// cycle 7, in which `io` is at its first stamp.
    fn recording(intruder: u32) -> Recording {
        let start = EPOCH + 7 * PERIOD + 3 * MICRO;
        let event = |at: i64, prev, next| Event {
            at: Instant::from_nanos(at as u64),
            cpu: 1,
            what: What::Switch {
                prev: Tid(prev),
                left: Left::Preempted,
                next: Tid(next),
                priority: PRIORITY_UNKNOWN,
            },
        };
        let events = vec![
            event(start - MICRO, 0, 11),
            event(start + MICRO / 2, 11, intruder),
            event(start + MICRO / 2 + HELD, intruder, 11),
            event(start + HELD + 10 * MICRO, 11, 0),
        ];
        let name = Thread {
            tid: Tid(KWORKER),
            since: Instant::ZERO,
            pid: KWORKER,
            name: "kworker/1:0".into(),
            new: false,
        };
        Recording::new(events, vec![name], Vec::new())
    }

    fn miss(recording: &Recording) -> (Miss, Vec<CycleDelay>) {
        let processes = Loop::new(50).stalled(7, 1, HELD).processes();
        let run = run_record(1, 0);
        let witness = Witness::of(recording, &run, &processes);
        let observed = Observed::of(&processes, &run, Span::from_nanos(PERIOD), witness.as_ref());
        let figures = crate::cycles::metrics::Figures::of(&[observed]);
        (figures.misses[0].clone(), figures.delayed_by)
    }

    #[test]
    fn a_late_cycle_names_the_thread_that_had_the_processor() {
        let (miss, delays) = miss(&recording(KWORKER));
        insta::assert_snapshot!(miss.explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in io between start and sample, not computing: kworker/1:0 \
            had processor 1 for 25.0 ms");
        assert_eq!((miss.thread.as_deref(), miss.ours), (Some("kworker/1:0"), false));
        // It reaches into the next cycle, which is released meanwhile.
        let [delay] = &delays[..] else { panic!("{delays:?}") };
        assert_eq!((delay.name.as_str(), delay.cycles, delay.max_ns), ("kworker/1:0", 2, HELD));
    }

    #[test]
    fn a_process_of_the_run_that_had_the_processor_is_named_as_the_scenario_does_and_is_ours() {
        let (miss, delays) = miss(&recording(12));
        insta::assert_snapshot!(miss.explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in io between start and sample, not computing: controller \
            had processor 1 for 25.0 ms");
        assert_eq!((miss.thread.as_deref(), miss.ours), (Some("controller"), true));
        assert_eq!(delays, []);
    }

    #[test]
    fn processor_time_charged_to_a_process_that_did_not_run_is_no_long_execution() {
        let processes = Loop::new(50).computing(7, 1, HELD).processes();
        let run = run_record(1, 0);
        let recording = recording(KWORKER);
        let witness = Witness::of(&recording, &run, &processes);
        let observed = Observed::of(&processes, &run, Span::from_nanos(PERIOD), witness.as_ref());
        let figures = crate::cycles::metrics::Figures::of(&[observed]);
        let [group] = &figures.miss_causes[..] else { panic!("{:?}", figures.miss_causes) };
        assert_eq!((group.cause, group.thread.as_deref()), (Cause::Stall, Some("kworker/1:0")));
    }

    #[test]
    fn an_idle_processor_is_distinguished_from_a_busy_one() {
        insta::assert_snapshot!(miss(&recording(0)).0.explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in io between start and sample, not computing: processor 1 \
            was idle for 25.0 ms");
    }

    #[test]
    fn a_gap_is_no_witness() {
        insta::assert_snapshot!(miss(&recording(u32::MAX)).0.explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in io between start and sample, not computing: it is not \
            known which thread had the processor: the kernel's record has a gap");
    }

    #[test]
    fn without_switches_there_is_no_witness() {
        let nothing = Recording::default();
        assert!(Witness::of(&nothing, &run_record(1, 0), &[]).is_none());
    }

    /// In cycle 7 `controller` begins no job: `io` wakes it 9 µs after the release, and `intruder` has the processor
    /// from 8 µs on, beyond the beginning of the next cycle.
    fn missed(intruder: u32, wakes: bool) -> Miss {
        let start = EPOCH + 7 * PERIOD;
        let at = |micros: i64| Instant::from_nanos((start + micros * MICRO) as u64);
        let switch = |micros, prev, left, next| Event {
            at: at(micros),
            cpu: 1,
            what: What::Switch {
                prev: Tid(prev),
                left,
                next: Tid(next),
                priority: PRIORITY_UNKNOWN,
            },
        };
        let wake = What::Wake {
            tid: Tid(12),
            waker: Tid(11),
            context: hemiola_trace::sched::Context::Thread,
            target: 1,
        };
        let mut events = vec![
            switch(-40, 0, Left::Sleeping, 12),
            switch(-30, 12, Left::Sleeping, 0),
            switch(1, 0, Left::Sleeping, 11),
            switch(8, 11, Left::Sleeping, intruder),
        ];
        if wakes {
            events.push(Event { at: at(9), cpu: 0, what: wake });
        }
        events.push(switch(PERIOD / MICRO + 2, intruder, Left::Preempted, 11));
        let thread = |tid, name: &str| Thread {
            tid: Tid(tid),
            since: Instant::ZERO,
            pid: tid,
            name: name.into(),
            new: false,
        };
        let recording = Recording::new(events, vec![thread(KWORKER, "kworker/1:0")], Vec::new());
        let mut processes = Loop::new(50).processes();
        processes[1].entries.retain(|entry| entry.cycle != 7);
        let run = run_record(1, 0);
        let witness = Witness::of(&recording, &run, &processes);
        let observed = Observed::of(&processes, &run, Span::from_nanos(PERIOD), witness.as_ref());
        let figures = crate::cycles::metrics::Figures::of(&[observed]);
        let [miss] = &figures.misses[..] else { panic!("{:?}", figures.misses) };
        miss.clone()
    }

    #[test]
    fn a_missing_answer_of_a_process_that_waited_names_the_thread_that_had_the_processor() {
        let miss = missed(KWORKER, true);
        insta::assert_snapshot!(miss.explanation, @"\
            missing answer: controller did not begin; controller waited for the processor for 20.0 ms until \
            the next cycle began: kworker/1:0 had processor 1 for 20.0 ms");
        assert_eq!(
            (miss.cause, miss.thread.as_deref()),
            (Cause::MissingAnswer, Some("kworker/1:0"))
        );
        assert!(!miss.ours);
        let ours = missed(11, true);
        assert_eq!((ours.thread.as_deref(), ours.ours), (Some("io"), true));
    }

    #[test]
    fn a_missing_answer_of_a_process_that_slept_is_its_own() {
        let miss = missed(KWORKER, false);
        assert_eq!((miss.cause, miss.thread.as_deref()), (Cause::MissingAnswer, None));
        assert!(miss.ours && miss.explanation.ends_with("or without a message"));
    }
}
