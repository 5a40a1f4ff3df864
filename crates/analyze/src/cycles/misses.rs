//! Explains every missed deadline from the record, in words with figures.
//!
//! The usual behaviour of a cycle is known from all the others: the median of each stretch between two neighbouring
//! stamps, of each process's processor time and of the wake-up. The stretch that exceeds its own median most is where
//! the time went. The processor time shows whether its process was computing (long execution) or not running (stall).
//!
//! Processor time has one limit: without interrupt accounting in the kernel (`CONFIG_IRQ_TIME_ACCOUNTING`), interrupts
//! are charged to the thread they hit. Processes of the loop run the same straight code in every cycle, so a stretch
//! that is this long in at most one cycle of [`RARE`] is attributed to an interrupt. A unit's code is unknown, so there
//! it counts as long execution.

use std::collections::BTreeMap;

use hemiola_trace::EventKind;
use hemiola_trace::result::Role;
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Cycle, End, Process, Stamp};
use crate::cycles::witness::Witness;
use hemiola_report::text::duration;
use hemiola_stats::quantile;

/// A long stretch of straight code is attributed to an interrupt if it occurs at most once in this many cycles.
pub const RARE: usize = 1000;

/// Where the time of a miss went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The first process began long after its release, and no process of the loop ran before.
    LateWakeUp,
    /// The previous cycle was still running.
    PreviousOverrun,
    /// A process stood still between two of its stamps without using the processor.
    Stall,
    /// It took long from a stamp of one process to the next stamp of another, neither computing.
    SlowHandOver,
    /// A process used the processor longer than usual.
    LongExecution,
    /// The same by the kernel's figures, but in straight code that is never that long.
    ChargedInterrupt,
    /// A process had no finished job in the cycle.
    MissingAnswer,
    /// A process had no finished job in the cycle, and its recorder lost events.
    RecordLost,
}

/// One missed deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// The cycle's number.
    pub cycle: u32,
    /// Where the time went.
    pub cause: Cause,
    /// Whether the cause lies in the programs of the loop rather than in the machine or the kernel.
    pub ours: bool,
    /// The thread that had the processor meanwhile, where it is known; a process of the run by the scenario's name.
    #[serde(default)]
    pub thread: Option<String>,
    /// The same in words with figures.
    pub explanation: String,
}

impl Cause {
    /// Returns its name in a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::LateWakeUp => "late wake-up",
            Self::PreviousOverrun => "previous overrun",
            Self::Stall => "stall",
            Self::SlowHandOver => "slow hand-over",
            Self::LongExecution => "long execution",
            Self::ChargedInterrupt => "charged interrupt",
            Self::MissingAnswer => "missing answer",
            Self::RecordLost => "record lost",
        }
    }
}

/// All misses of one cause and one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissGroup {
    /// Where the time went.
    pub cause: Cause,
    /// Whether the cause lies in the programs of the loop.
    pub ours: bool,
    /// The thread that had the processor meanwhile, where it is known.
    #[serde(default)]
    pub thread: Option<String>,
    /// Missed cycles with this cause.
    pub cycles: u64,
    /// The first of them in words.
    pub explanation: String,
}

/// Groups all misses by cause and thread, the most frequent first.
pub fn by_cause<'m>(misses: impl IntoIterator<Item = &'m Miss>) -> Vec<MissGroup> {
    let mut groups = BTreeMap::<(Cause, bool, Option<&str>), MissGroup>::new();
    for miss in misses {
        let Miss { cause, ours, thread, explanation, .. } = miss;
        let (cause, ours) = (*cause, *ours);
        let new = || {
            let (thread, explanation) = (thread.clone(), explanation.clone());
            MissGroup { cause, ours, thread, cycles: 0, explanation }
        };
        groups.entry((cause, ours, thread.as_deref())).or_insert_with(new).cycles += 1;
    }
    let mut groups: Vec<MissGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.cycles));
    groups
}

/// How many deadlines a cycle stands for: one for itself if it was late or incomplete, one for each
/// release dropped before it.
#[must_use]
pub fn deadlines_missed(cycle: &Cycle) -> u64 {
    u64::from(is_late(cycle) || !cycle.is_complete()) + cycle.skipped()
}

fn is_late(cycle: &Cycle) -> bool {
    cycle.lateness().is_some_and(Span::is_positive)
}

/// The misses of one run in the order of its cycles, one for each cycle with any.
///
/// `lost` gives the number of events that each process's recorder lost. `witness` is the kernel's record, if there is
/// one.
#[must_use]
pub fn explain(
    processes: &[Process],
    cycles: &[Cycle],
    lost: &[u64],
    witness: Option<&Witness<'_>>,
) -> Vec<Miss> {
    if cycles.iter().all(|cycle| deadlines_missed(cycle) == 0) {
        return Vec::new();
    }
    let usual = Usual::of(processes, cycles, witness);
    let mut misses: Vec<Miss> = Vec::new();
    for (index, cycle) in cycles.iter().enumerate() {
        if deadlines_missed(cycle) == 0 {
            continue;
        }
        let before = index.checked_sub(1).map(|index| &cycles[index]);
        let newest = misses.last().filter(|miss| Some(miss.cycle) == before.map(|it| it.number));
        let blamed = newest.map(|miss| Holder { thread: miss.thread.clone(), ours: miss.ours });
        let blamed = blamed.unwrap_or_default();
        let Finding { cause, holder: Holder { thread, ours }, explanation } =
            if !cycle.is_complete() {
                let after = cycles.get(index + 1);
                incomplete(processes, cycle, lost)
                    .or_else(|| usual.kept_waiting(processes, cycle, after?))
                    .unwrap_or_else(|| unanswered(processes, cycle))
            } else if is_late(cycle) {
                usual.late(processes, cycle, before, blamed)
            } else {
                usual.skipped(cycle, before, blamed)
            };
        misses.push(Miss { cycle: cycle.number, cause, ours, thread, explanation });
    }
    misses
}

/// The thread that had the processor meanwhile.
#[derive(Clone, Debug, Default)]
struct Holder {
    /// The thread, where it is known.
    thread: Option<String>,
    /// Whether it was the programs of the loop.
    ours: bool,
}

impl Holder {
    /// A process of the loop that computed.
    fn process(name: &str) -> Self {
        Self { thread: Some(name.to_owned()), ours: true }
    }
}

/// What explains a miss; see [`Miss`].
struct Finding {
    cause: Cause,
    holder: Holder,
    explanation: String,
}

impl Finding {
    const fn of(cause: Cause, holder: Holder, explanation: String) -> Self {
        Self { cause, holder, explanation }
    }

    fn late(self, by: &str) -> Self {
        Self { explanation: format!("{by} late: {}", self.explanation), ..self }
    }
}

/// The names of the processes that had no finished job in a cycle.
fn missing(processes: &[Process], cycle: &Cycle) -> String {
    let names: Vec<&str> = cycle.missing.iter().map(|p| processes[*p].name.as_str()).collect();
    names.join(", ")
}

/// A job may be missing because the record has lost it.
fn incomplete(processes: &[Process], cycle: &Cycle, lost: &[u64]) -> Option<Finding> {
    let events: u64 = cycle.missing.iter().filter_map(|p| lost.get(*p)).sum();
    let names = missing(processes, cycle);
    let text =
        format!("no finished job of {names} in the record, which lost {events} events there");
    let ours = Holder { thread: None, ours: true };
    (events > 0).then(|| Finding::of(Cause::RecordLost, ours, text))
}

/// No other thread kept the missing processes from running.
fn unanswered(processes: &[Process], cycle: &Cycle) -> Finding {
    let names = missing(processes, cycle);
    let began = |p: &usize| cycle.jobs.iter().any(|job| job.process == *p);
    let how = if cycle.missing.iter().any(began) {
        "began and did not finish"
    } else {
        "did not begin: stopped, stuck in an earlier cycle, or without a message"
    };
    let ours = Holder { thread: None, ours: true };
    Finding::of(Cause::MissingAnswer, ours, format!("missing answer: {names} {how}"))
}

/// Two neighbouring stamps of a cycle, by what they are.
type Stretch = [(usize, EventKind, u16); 2];

fn stretch(from: &Stamp, to: &Stamp) -> Stretch {
    [from, to].map(|stamp| {
        let is_channel = matches!(stamp.kind, EventKind::Receive | EventKind::Send);
        (stamp.process, stamp.kind, if is_channel { stamp.arg } else { 0 })
    })
}

/// The usual behaviour of the cycles of a run.
struct Usual<'w> {
    witness: Option<&'w Witness<'w>>,
    /// Start − release of the first job, median, ns.
    wake_up: i64,
    /// All lengths of each stretch, sorted, ns.
    stretches: BTreeMap<Stretch, Vec<i64>>,
    /// Processor time of a job by process, median, ns.
    execution: Vec<i64>,
}

impl<'w> Usual<'w> {
    fn of(processes: &[Process], cycles: &[Cycle], witness: Option<&'w Witness<'w>>) -> Self {
        let mut wake_ups = Vec::with_capacity(cycles.len());
        let mut stretches = BTreeMap::<Stretch, Vec<i64>>::new();
        let mut executions = vec![Vec::new(); processes.len()];
        for cycle in cycles {
            wake_ups.push((cycle.start() - cycle.release()).nanos());
            for pair in cycle.stamps.windows(2) {
                let length = (pair[1].at - pair[0].at).nanos();
                stretches.entry(stretch(&pair[0], &pair[1])).or_default().push(length);
            }
            for job in &cycle.jobs {
                executions[job.process].extend(job.end.map(|end| end.execution.nanos()));
            }
        }
        let median = |values: &mut Vec<i64>| {
            values.sort_unstable();
            quantile(values, 0.5).unwrap_or(0)
        };
        stretches.values_mut().for_each(|lengths| lengths.sort_unstable());
        Self {
            witness,
            wake_up: median(&mut wake_ups),
            stretches,
            execution: executions.iter_mut().map(median).collect(),
        }
    }

    /// A cycle in time whose process dropped releases before it.
    fn skipped(&self, cycle: &Cycle, before: Option<&Cycle>, blamed: Holder) -> Finding {
        let count = cycle.skipped();
        let releases = if count == 1 { "1 release".into() } else { format!("{count} releases") };
        let Some(before) = before else {
            let text = format!("{releases} dropped before the first cycle");
            return Finding::of(Cause::LateWakeUp, Holder::default(), text);
        };
        let period = (cycle.release() - before.release()) / (count as i64 + 1);
        let dropped = before.release() + period;
        if before.finish() > dropped {
            let text = format!(
                "{releases} dropped: cycle {} ran until {} after the first of them",
                before.number,
                span(before.finish() - dropped)
            );
            return Finding::of(Cause::PreviousOverrun, blamed, text);
        }
        let text = format!(
            "{releases} dropped: woken {} after the first of them, {}",
            span(cycle.start() - dropped),
            self.before_start(cycle, dropped)
        );
        Finding::of(Cause::LateWakeUp, self.holder_before(cycle, dropped), text)
    }

    /// A missing process was ready to run and still had no processor when the next cycle began, whose sample takes the
    /// place of this one. Of several, the first one in the scenario counts: those after it wait for it.
    fn kept_waiting(&self, processes: &[Process], cycle: &Cycle, after: &Cycle) -> Option<Finding> {
        let (witness, to) = (self.witness?, after.start());
        let began = |p: &usize| cycle.jobs.iter().any(|job| job.process == *p);
        let waiting = |p: &usize| Some((*p, witness.waits_since(*p, to)?.max(cycle.release())));
        let (first, from) =
            cycle.missing.iter().filter(|process| !began(process)).find_map(waiting)?;
        let text = format!(
            "missing answer: {} did not begin; {} waited for the processor for {} until the next cycle began: {}",
            missing(processes, cycle),
            processes[first].name,
            span(to - from),
            self.else_had(first, from, to)
        );
        Some(Finding::of(Cause::MissingAnswer, self.holder(first, from, to), text))
    }

    /// The thread that had the processor of a process that did not run between two moments.
    fn holder(&self, process: usize, from: Instant, to: Instant) -> Holder {
        let known = self.witness.and_then(|witness| witness.holder(process, from, to));
        known.map_or_else(Holder::default, |(thread, ours)| Holder { thread: Some(thread), ours })
    }

    fn holder_before(&self, cycle: &Cycle, from: Instant) -> Holder {
        let first = cycle.jobs.first();
        first.map_or_else(Holder::default, |job| self.holder(job.process, from, cycle.start()))
    }

    /// Says which thread had the processor of a process that did not run between two moments.
    fn else_had(&self, process: usize, from: Instant, to: Instant) -> String {
        let known = self.witness.and_then(|witness| witness.instead_of(process, from, to));
        known.unwrap_or_else(|| "something else had the processor".into())
    }

    /// Describes the time before the first job of a cycle that was woken late.
    fn before_start(&self, cycle: &Cycle, from: Instant) -> String {
        const NOTHING: &str = "nothing of the loop running meanwhile";
        let known = self
            .witness
            .zip(cycle.jobs.first())
            .and_then(|(witness, job)| witness.instead_of(job.process, from, cycle.start()));
        known.map_or(NOTHING.into(), |known| format!("{NOTHING}: {known}"))
    }

    /// The lengths of this stretch in all cycles.
    fn lengths(&self, pair: &[Stamp]) -> &[i64] {
        self.stretches.get(&stretch(&pair[0], &pair[1])).map_or(&[], Vec::as_slice)
    }

    fn late(
        &self,
        processes: &[Process],
        cycle: &Cycle,
        before: Option<&Cycle>,
        blamed: Holder,
    ) -> Finding {
        let late = cycle.lateness().map_or(String::new(), span);
        if let Some(finding) = self.afterwards(processes, cycle) {
            return finding.late(&late);
        }
        let wake_up = (cycle.start() - cycle.release()).nanos();
        let worst = cycle
            .stamps
            .windows(2)
            .map(|pair| {
                let length = (pair[1].at - pair[0].at).nanos();
                (length - quantile(self.lengths(pair), 0.5).unwrap_or(0), pair)
            })
            .max_by_key(|(excess, _)| *excess);
        match worst {
            Some((excess, pair)) if excess >= wake_up - self.wake_up => {
                self.within(processes, cycle, pair, excess).late(&late)
            }
            _ => match before.filter(|before| before.finish() > cycle.release()) {
                Some(before) => {
                    let text = format!(
                        "cycle {} was still running {} after the release",
                        before.number,
                        span(before.finish() - cycle.release())
                    );
                    Finding::of(Cause::PreviousOverrun, blamed, text).late(&late)
                }
                None => {
                    let text = format!(
                        "woken {} after the release (usually {}), {}",
                        duration(wake_up as f64),
                        duration(self.wake_up as f64),
                        self.before_start(cycle, cycle.release())
                    );
                    let holder = self.holder_before(cycle, cycle.release());
                    Finding::of(Cause::LateWakeUp, holder, text).late(&late)
                }
            },
        }
    }

    /// The loop was in time, but a job that no process waits for ended late: the decision module or a unit, after its
    /// answer.
    fn afterwards(&self, processes: &[Process], cycle: &Cycle) -> Option<Finding> {
        let ends = || cycle.jobs.iter().filter_map(|job| Some((job.process, job.end?)));
        let lateness = |end: &End| end.deadline.map(|deadline| end.finish - deadline);
        let is_late = |end: &End| lateness(end).is_some_and(Span::is_positive);
        if ends().any(|(_, end)| is_late(&end) && end.finish <= cycle.finish()) {
            return None;
        }
        let (process, end) =
            ends().filter(|(_, end)| is_late(end)).max_by_key(|(_, end)| lateness(end))?;
        let (name, usual) = (&processes[process].name, self.execution[process]);
        let more = end.execution.nanos() - usual;
        let behind = format!("the loop was in time, {name} ended late behind it");
        if more >= (end.finish - cycle.finish()).nanos() / 2 {
            let computed = duration(end.execution.nanos() as f64);
            let text = format!(
                "{behind}: it computed for {computed} (usually {})",
                duration(usual as f64)
            );
            return Some(Finding::of(Cause::LongExecution, Holder::process(name), text));
        }
        let job = cycle.jobs.iter().find(|job| job.process == process)?;
        let text =
            format!("{behind}, not computing: {}", self.else_had(process, job.start, end.finish));
        let holder = self.holder(process, job.start, end.finish);
        Some(Finding::of(Cause::Stall, holder, text))
    }

    /// The time went between the two stamps of `pair`, `excess` ns more than usual.
    fn within(&self, processes: &[Process], cycle: &Cycle, pair: &[Stamp], excess: i64) -> Finding {
        let lengths = self.lengths(pair);
        let took = duration((pair[1].at - pair[0].at).nanos() as f64);
        let usually = duration(quantile(lengths, 0.5).unwrap_or(0) as f64);
        let name = |stamp: &Stamp| processes[stamp.process].name.as_str();
        let (from, to) = (pair[0].kind.name(), pair[1].kind.name());
        let place = if pair[0].process == pair[1].process {
            format!("{took} (usually {usually}) in {} between {from} and {to}", name(&pair[0]))
        } else {
            format!(
                "{took} (usually {usually}) from {from} of {} to {to} of {}",
                name(&pair[0]),
                name(&pair[1])
            )
        };
        let computing = [pair[0].process, pair[1].process]
            .into_iter()
            .filter_map(|process| {
                let job = cycle.jobs.iter().find(|job| job.process == process)?;
                let execution = job.end?.execution.nanos();
                Some((execution - self.execution[process], execution, process))
            })
            .max();
        match computing {
            // Another thread had the processor meanwhile: it was not this one that computed.
            Some((more, execution, process))
                if more >= excess / 2
                    && self.holder(process, pair[0].at, pair[1].at).thread.is_none() =>
            {
                let executed = format!(
                    "{} computed for {} (usually {})",
                    processes[process].name,
                    duration(execution as f64),
                    duration(self.execution[process] as f64)
                );
                let bound = quantile(lengths, 0.5).unwrap_or(0) + excess / 2;
                let as_long = lengths.len() - lengths.partition_point(|length| *length < bound);
                let is_fixed = matches!(
                    processes[process].role,
                    Role::Io | Role::Controller | Role::Monolithic | Role::Decision
                );
                if is_fixed && lengths.len() >= 100 && as_long <= (lengths.len() / RARE).max(1) {
                    let text = format!(
                        "{place}; by the kernel's figures {executed}, but this straight-line code took \
                         that long in {as_long} of {} cycles: an interrupt or the host's pause is charged \
                         to the thread it hits",
                        lengths.len()
                    );
                    let holder =
                        Holder { ours: false, ..Holder::process(&processes[process].name) };
                    return Finding::of(Cause::ChargedInterrupt, holder, text);
                }
                let text = format!("{place}; long execution: {executed}");
                let holder = Holder::process(&processes[process].name);
                Finding::of(Cause::LongExecution, holder, text)
            }
            _ if pair[0].process == pair[1].process => {
                let had = self.else_had(pair[0].process, pair[0].at, pair[1].at);
                let text = format!("{place}, not computing: {had}");
                let holder = self.holder(pair[0].process, pair[0].at, pair[1].at);
                Finding::of(Cause::Stall, holder, text)
            }
            _ => {
                let had = self.else_had(pair[1].process, pair[0].at, pair[1].at);
                let text = format!("{place}, neither computing: {had}");
                let holder = self.holder(pair[1].process, pair[0].at, pair[1].at);
                Finding::of(Cause::SlowHandOver, holder, text)
            }
        }
    }
}

fn span(span: Span) -> String {
    duration(span.nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::jobs::cycles;
    use crate::cycles::synthetic::{Loop, MICRO, PERIOD};
    use hemiola_trace::Entry;

    fn check(run: &Loop, adapt: impl FnOnce(&mut Vec<Process>)) -> Vec<Miss> {
        let mut processes = run.processes();
        adapt(&mut processes);
        explain(&processes, &cycles(&processes, 0), &[0, 0], None)
    }

    const LATE: i64 = 25_000 * MICRO;

    #[test]
    fn a_run_in_time_has_no_misses() {
        assert_eq!(check(&Loop::new(50), |_| {}), []);
    }

    #[test]
    fn a_late_job_behind_a_loop_in_time_is_not_blamed_on_the_loop() {
        let held_up = |executed_too: bool| {
            move |processes: &mut Vec<Process>| {
                processes[1].role = Role::Decision;
                let finish = processes[1]
                    .entries
                    .iter_mut()
                    .find(|entry| entry.kind == EventKind::Finish && entry.cycle == 7)
                    .unwrap();
                finish.at += Span::from_nanos(LATE);
                if executed_too {
                    finish.b += LATE as u64;
                }
            }
        };
        let misses = check(&Loop::new(50), held_up(false));
        assert_eq!((misses[0].cycle, misses[0].cause, misses[0].ours), (7, Cause::Stall, false));
        assert!(misses[0].explanation.contains("the loop was in time, controller ended late"));
        let misses = check(&Loop::new(50), held_up(true));
        assert_eq!((misses[0].cause, misses[0].ours), (Cause::LongExecution, true));
    }

    /// Moves the end of the controller's job in cycle 7, which no process waits for, to `at` ns after the release.
    fn ending(at: i64) -> impl FnOnce(&mut Vec<Process>) {
        move |processes| {
            processes[1].role = Role::Decision;
            let entries = &mut processes[1].entries;
            let of = |kind| move |entry: &Entry| (entry.kind, entry.cycle) == (kind, 7);
            let release = entries.iter().find(|entry| of(EventKind::Start)(entry)).unwrap().a;
            let finish = entries.iter_mut().find(|entry| of(EventKind::Finish)(entry)).unwrap();
            finish.at = Instant::from_nanos(release) + Span::from_nanos(at);
        }
    }

    #[test]
    fn a_job_that_ends_at_its_deadline_is_no_miss() {
        assert_eq!(check(&Loop::new(50), ending(PERIOD)), []);
        assert_eq!(check(&Loop::new(50), ending(PERIOD + 1)).len(), 1);
    }

    #[test]
    fn a_loop_that_ends_at_its_deadline_is_not_blamed_for_a_late_job_behind_it() {
        // The loop ends 13 µs after its release.
        let at_the_deadline = Loop::new(50).stalled(7, 10, PERIOD - 13 * MICRO);
        let misses = check(&at_the_deadline, ending(PERIOD + LATE));
        assert_eq!((misses.len(), misses[0].cycle), (1, 7));
        let explanation = &misses[0].explanation;
        assert!(explanation.contains("the loop was in time"), "{explanation}");
    }

    #[test]
    fn a_late_wake_up_is_distinguished_from_a_stall() {
        let misses = check(&Loop::new(50).stalled(7, 0, LATE), |_| {});
        assert_eq!(
            (misses[0].cycle, misses[0].cause, misses[0].ours),
            (7, Cause::LateWakeUp, false)
        );
        insta::assert_snapshot!(misses[0].explanation, @"\
            5.01 ms late: woken 25.0 ms after the release (usually 3.00 µs), nothing of the loop running \
            meanwhile");
    }

    #[test]
    fn a_stall_names_the_process_and_the_stamps() {
        let misses = check(&Loop::new(50).stalled(7, 1, LATE), |_| {});
        assert_eq!((misses[0].cause, misses[0].ours), (Cause::Stall, false));
        insta::assert_snapshot!(misses[0].explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in io between start and sample, not computing: something \
            else had the processor");
    }

    #[test]
    fn a_slow_hand_over_names_both_processes() {
        let misses = check(&Loop::new(50).stalled(7, 4, LATE), |_| {});
        assert_eq!((misses[0].cause, misses[0].ours), (Cause::SlowHandOver, false));
        insta::assert_snapshot!(misses[0].explanation, @"\
            5.01 ms late: 25.0 ms (usually 2.00 µs) from send of io to start of controller, neither computing: \
            something else had the processor");
    }

    #[test]
    fn long_execution_of_a_unit_is_ours() {
        let misses = check(&Loop::new(200).computing(7, 6, LATE), |processes| {
            processes[1].role = Role::Unit
        });
        assert_eq!((misses[0].cause, misses[0].ours), (Cause::LongExecution, true));
        insta::assert_snapshot!(misses[0].explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in controller between receive and send; long execution: \
            controller computed for 25.0 ms (usually 3.00 µs)");
    }

    #[test]
    fn one_long_stretch_of_straight_code_is_a_charged_interrupt_and_repeated_ones_are_ours() {
        let once = check(&Loop::new(200).computing(7, 6, LATE), |_| {});
        assert_eq!((once[0].cause, once[0].ours), (Cause::ChargedInterrupt, false));
        insta::assert_snapshot!(once[0].explanation, @"\
            5.01 ms late: 25.0 ms (usually 1.00 µs) in controller between receive and send; by the kernel's \
            figures controller computed for 25.0 ms (usually 3.00 µs), but this straight-line code took that \
            long in 1 of 200 cycles: an interrupt or the host's pause is charged to the thread it hits");
        let often = check(&Loop::new(200).computing(7, 6, LATE).computing(70, 6, LATE), |_| {});
        assert!(often.iter().all(|miss| miss.ours && miss.cause == Cause::LongExecution));
        assert_eq!(often.len(), 2);
    }

    #[test]
    fn a_missing_answer_is_ours_unless_the_record_lost_it() {
        let mut processes = Loop::new(50).processes();
        processes[1].entries.retain(|entry| entry.cycle != 9);
        let cycles = cycles(&processes, 0);
        let miss = &explain(&processes, &cycles, &[0, 0], None)[0];
        assert_eq!((miss.cycle, miss.cause), (9, Cause::MissingAnswer));
        insta::assert_snapshot!(miss.explanation, @"\
            missing answer: controller did not begin: stopped, stuck in an earlier cycle, or without a message");
        assert_eq!(explain(&processes, &cycles, &[0, 4], None)[0].cause, Cause::RecordLost);
    }

    #[test]
    fn dropped_releases_follow_from_the_cycle_before() {
        let misses = check(&Loop::new(50).stalled(7, 1, LATE), |processes| {
            for process in processes.iter_mut() {
                process.entries.retain(|entry| entry.cycle != 8);
            }
            let start = |entry: &&mut hemiola_trace::Entry| {
                entry.cycle == 9 && entry.kind == EventKind::Start
            };
            processes[0].entries.iter_mut().find(start).unwrap().arg = 1;
        });
        assert_eq!(misses.len(), 2);
        assert_eq!(
            (misses[1].cycle, misses[1].cause, misses[1].ours),
            (9, Cause::PreviousOverrun, false)
        );
        insta::assert_snapshot!(misses[1].explanation, @"\
            1 release dropped: cycle 7 ran until 5.01 ms after the first of them");
    }
}
