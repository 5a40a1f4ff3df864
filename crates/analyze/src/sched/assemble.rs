//! Makes the report from the counts of a pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_trace::perfetto::Track;
use hemiola_trace::sched::{PRIORITY_UNKNOWN, Reservation, Tid};
use hemiola_trace::{Missing, PAUSED_AFTER, PAUSED_BEFORE, Recording};

use super::accounting;
use super::culprits::{Meanwhile, Taken};
use super::engine::Engine;
use super::explain::Explainer;
use super::list::{List, Listed, Named, Roster};
use super::marked;
use super::marks::Task;
use super::name::Name;
use super::observed::{ManyJobs, Series};
use super::period::{about, near};
use super::report::{
    Blocking, CpuReport, Culprit, DelayKind, Distribution, Gap, HeldUp, Interference, MarkKind,
    MarkReport, PeriodFrom, Report, TaskReport, ThreadReport, Waker,
};
use super::tally::{Code, Tally, Woken};
use super::threads::{State, Threads};
use super::{Seen, Walk};
use hemiola_report::text::{count, counted, duration, printable, were};
use hemiola_stats::Stream;
use hemiola_units::Span;

/// At least this share of the intervals between releases must be about one period for it to be reported.
const PERIODIC: f64 = 0.5;

/// Makes the report of a pass, and frees what the engine counted.
pub(super) fn report(engine: &mut Engine<'_>) -> Report {
    let from_ns = engine.from.unwrap_or(0);
    let to_ns = engine.now.max(from_ns);
    let length = to_ns - from_ns;
    let cpus: Vec<CpuReport> = engine
        .cpus
        .iter()
        .enumerate()
        .filter_map(|(number, cpu)| {
            cpu.last?;
            let seen_ns = cpu.busy + cpu.idle;
            Some(CpuReport {
                cpu: number as u16,
                switches: cpu.switches,
                seen_ns,
                busy_ns: cpu.busy,
                idle_ns: cpu.idle,
                interrupts_ns: cpu.interrupts,
                utilization: share(cpu.busy, seen_ns),
            })
        })
        .collect();
    let gaps = engine.gaps.all();
    // Of the time of all processors, what gaps have left.
    let blind = total(gaps.iter().map(|gap| gap.to_ns.saturating_sub(gap.from_ns.max(from_ns))));
    let whole = length as f64 * cpus.len().max(1) as f64;
    let seen = if whole > 0.0 { (1.0 - blind as f64 / whole).clamp(0.0, 1.0) } else { 1.0 };
    let mut names = Names::of(engine);
    let mut threads = Vec::with_capacity(names.threads.len());
    let mut calls = Vec::new();
    for index in 0..names.threads.len() {
        threads.push(thread(engine, &mut names, index, length as f64 * seen));
        calls.extend(called(engine, &names.threads[index], index));
        // Counts and report of all threads together would take half as much again.
        engine.threads.states[index].free();
    }
    threads.sort_by(|a, b| b.running_ns.cmp(&a.running_ns).then(a.tid.cmp(&b.tid)));
    let with_jobs = engine.marks.tasks.iter().enumerate().filter(|(_, task)| task.has_jobs);
    let tasks: Vec<TaskReport> =
        with_jobs.map(|(track, marked)| task(engine, &mut names, track, marked)).collect();
    let of_tasks =
        tasks.iter().filter(|task| task.period_ns.is_some()).map(|task| task.utilization);
    // Of a thread that came for a while only, C/T is no load of the whole.
    let stayed = |thread: &&ThreadReport| {
        let released =
            thread.period_ns.map(|period| u128::from(thread.invocations) * u128::from(period));
        thread.period_from == Some(PeriodFrom::Given)
            || released.is_some_and(|released| 2 * released >= u128::from(length))
    };
    let of_threads = threads.iter().filter(stayed).map(|thread| thread.utilization);
    // The sum of no floating-point numbers is -0.
    let task_set_utilization =
        0.0 + if tasks.is_empty() { of_threads.sum::<f64>() } else { of_tasks.sum() };
    let busy = total(cpus.iter().map(|cpu| cpu.busy_ns));
    let mut report = Report {
        from_ns,
        to_ns,
        switches: engine.switches,
        wake_ups: engine.wake_ups,
        lost_events: engine.lost,
        utilization: share(busy, total(cpus.iter().map(|cpu| cpu.seen_ns))),
        task_set_utilization,
        cpus,
        threads,
        tasks,
        marks: marked::marks(engine.recording, calls),
        misses: std::mem::take(&mut engine.misses),
        missed_deadlines: engine.missed,
        accounting: accounting::compare(
            engine.recording,
            &engine.copies,
            &gaps,
            &engine.threads.states,
            &names.threads,
        ),
        gaps,
        notes: Vec::new(),
    };
    report.notes = notes(engine, &report);
    let explainer = Explainer::new(&report);
    let misses =
        report.misses.iter().map(|miss| (explainer.name(&miss.job), explainer.explain_miss(miss)));
    let explained: Vec<(String, String)> = misses.collect();
    for (miss, (name, explanation)) in report.misses.iter_mut().zip(explained) {
        (miss.name, miss.explanation) = (name, explanation);
    }
    report
}

/// Makes the report of a pass, and what its follower needs to know of the threads.
pub(super) fn walk(mut engine: Engine<'_>) -> Walk {
    let report = report(&mut engine);
    let tracks = &engine.recording.tracks;
    let tasks = tracks.iter().zip(&engine.marks.tasks).map(|(track, task)| {
        let thread =
            (task.tid != 0).then(|| thread_of(&mut engine.threads, task.tid, first(track)));
        (thread, task.given)
    });
    let tasks = tasks.collect();
    let event_threads = engine.recording.track_events.tracks.iter().map(|track| {
        let first = track.span().map_or(0, |(first, _)| first.nanos());
        (track.tid != 0).then(|| thread_of(&mut engine.threads, track.tid, first))
    });
    let event_threads = event_threads.collect();
    let seen = |state: &State| {
        let marked = engine.recording.tracks.iter().zip(&engine.marks.tasks);
        let marked = marked.map(|(_, task)| task).find(|task| task.tid == state.tid);
        let kernel = engine.threads.names(state, state.seen).last().map(|name| (*name).to_owned());
        let name = kernel.or_else(|| marked.map(|task| task.name.to_owned()));
        let pid = engine.threads.pid(state);
        Seen {
            tid: state.tid,
            pid: if pid == 0 { marked.map_or(0, |task| task.pid) } else { pid },
            name: name.unwrap_or_else(|| format!("thread {}", state.tid)),
            deadline_ns: state.deadline(),
            startup_ns: state.totals.startup.as_ref().map(|times| times.release),
        }
    };
    let threads = engine.threads.states.iter().map(seen).collect();
    let events = engine.from.map(|from| (engine.events, from));
    Walk { events, report, threads, tasks, event_threads }
}

/// The first moment of a track, ns.
fn first(track: &Track) -> u64 {
    track.entries.first().map_or(0, |entry| entry.at.nanos())
}

/// The thread that had this number at a moment, created if there was none.
fn thread_of(threads: &mut Threads<'_>, tid: u32, at: u64) -> usize {
    threads.had(Tid(tid), at).unwrap_or_else(|| threads.at(Tid(tid), at))
}

/// The sum of times. Those of a damaged recording may exceed all bounds.
fn total(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The names of all culprits, each once.
struct Names {
    /// By the index of the thread.
    threads: Vec<Name>,
    /// Of those that are no threads.
    others: BTreeMap<Code, Name>,
    /// For the lists of the report.
    roster: Arc<Roster>,
}

impl Names {
    fn of(engine: &Engine<'_>) -> Self {
        let name = |state: &State| match engine.threads.names(state, state.seen).last() {
            Some(name) => Name::from(*name),
            None => format!("thread {}", state.tid).into(),
        };
        let threads: Vec<Name> = engine.threads.states.iter().map(name).collect();
        let named = |(state, name): (&State, &Name)| {
            let tid = state.tid;
            Named { name: name.clone(), tid: Some(tid), who: Culprit::Thread(tid) }
        };
        let roster = Roster(engine.threads.states.iter().zip(&threads).map(named).collect());
        Self { threads, others: BTreeMap::new(), roster: Arc::new(roster) }
    }

    /// Packs entries, each with its culprit and the one behind it.
    fn list<T: Listed>(&self, entries: Vec<(T, [Code; 2])>) -> List<T> {
        let entries = entries.into_iter();
        let numbered =
            entries.map(|(entry, codes)| (entry, codes.map(|code| self.roster.number(code))));
        List::of(&self.roster, numbered)
    }

    /// The culprit, its name and, for a thread, its number.
    fn who(&mut self, engine: &Engine<'_>, code: Code) -> (Culprit, Name, Option<u32>) {
        let tid = |index: usize| engine.threads.states[index].tid;
        let culprit = code.culprit(tid);
        match code.as_thread() {
            Some(index) => (culprit, self.threads[index].clone(), Some(tid(index))),
            None => {
                let name = self.others.entry(code).or_insert_with(|| culprit.name().into());
                (culprit, name.clone(), None)
            }
        }
    }
}

fn thread(engine: &Engine<'_>, names: &mut Names, index: usize, seen: f64) -> ThreadReport {
    let state = &engine.threads.states[index];
    let (totals, streams) = (&state.totals, state.observed.streams(&engine.many));
    let distribution = |of: Series| distribution(engine, streams.of(of));
    let execution_ns = distribution(Series::Execution);
    let interval = streams.of(Series::Interval);
    let (period_ns, release_jitter_ns) = match period(state, interval) {
        Some(period) => (Some(period), jitter(interval, period)),
        None => (None, None),
    };
    let period_from = period_ns.map(|_| match (state.given, state.by_reservation()) {
        (Some(_), _) => PeriodFrom::Given,
        (None, Some(_)) => PeriodFrom::Reservation,
        (None, None) => PeriodFrom::Found,
    });
    let mut names_before: Vec<String> =
        engine.threads.names(state, state.seen).into_iter().map(str::to_owned).collect();
    names_before.pop();
    ThreadReport {
        name: names.threads[index].clone(),
        tid: state.tid,
        pid: engine.threads.pid(state),
        names_before,
        priority: (state.priority != PRIORITY_UNKNOWN).then_some(state.priority),
        cpus: totals.cpus.clone(),
        invocations: state.observed.count(Series::Execution),
        incomplete: totals.incomplete,
        utilization: match (&execution_ns, period_ns) {
            // A thread may use fewer periods than it has reserved.
            (Some(execution), Some(period)) if period_from != Some(PeriodFrom::Reservation) => {
                let (_, interval) = interval.between(0, u64::MAX);
                let is_known = state.is_marked && interval > 0.0;
                execution.mean / if is_known { interval } else { period as f64 }
            }
            _ if seen > 0.0 => (totals.running as f64 / seen).min(1.0),
            _ => 0.0,
        },
        execution_ns,
        period_ns,
        period_from,
        interval_ns: interval.distribution(),
        release_jitter_ns,
        latency_ns: distribution(Series::Latency),
        response_ns: distribution(Series::Response),
        running_ns: totals.running,
        waiting_ns: totals.waiting,
        reservation: state.reservation,
        throttled_ns: totals.throttled,
        throttles: totals.throttles,
        blocked_ns: totals.blocked,
        sleeping_ns: totals.sleeping,
        interrupted_ns: totals.interrupted,
        preemptions: totals.preemptions,
        migrations: totals.migrations,
        last_cpu: state.ran_on,
        settled_ns: totals.running - totals.running_elsewhere,
        page_faults: totals.page_faults,
        calls: totals.calls,
        preempted_by: preempted_by(engine, names, totals.culprits.iter()),
        blocked_by: blocked_by(engine, names, totals.culprits.iter()),
        woken_by: woken_by(engine, names, &totals.wakers),
        blocking_ns: distribution(Series::Blocking),
        suspension_ns: totals.suspension,
        unfinished_ns: totals.unfinished,
        startup_ns: totals.startup_length,
        timer_late_ns: state.timer_late(),
        disordered: state.disordered(),
        asks_within_jobs: state.asks_within_jobs(),
        asks_before_loop: state.asks_before_loop(),
        execution_later_min_ns: state.shortest_later.unwrap_or(0),
        unclear: state.asked.as_ref().map_or(0, |asked| asked.unclear()),
        strayed: state.asked.as_ref().map_or(0, |asked| asked.strayed(state.known())),
        part_ns: totals.part,
        ended_ns: totals.ended,
        silent_ns: totals.silent,
        answered_ns: totals.answered,
        changed_policy: state.changed_policy,
        has_foreign_marks: !state.is_marked
            && engine.marks.tasks.iter().any(|task| task.tid == state.tid && task.has_jobs),
        overran: totals.overran,
        missed: totals.missed,
    }
}

/// The distribution of a stream, with the counts of its observations if they are wanted.
fn distribution(engine: &Engine<'_>, stream: &Stream) -> Option<Distribution> {
    let found = stream.distribution()?;
    let observations = engine.options.observations.then(|| Box::new(stream.observations()));
    Some(Distribution { observations, ..found })
}

/// The system calls of a thread, by number.
fn called<'e>(
    engine: &'e Engine<'_>,
    name: &'e Name,
    index: usize,
) -> impl Iterator<Item = MarkReport> + 'e {
    let state = &engine.threads.states[index];
    let all = state.totals.called.iter().flat_map(|called| called.iter());
    all.map(|(number, called)| MarkReport {
        name: engine.recording.call_name(*number),
        track: name.to_string(),
        tid: state.tid,
        pid: engine.threads.pid(state),
        kind: MarkKind::Call,
        count: called.lengths.count(),
        incomplete: called.incomplete,
        duration_ns: called.lengths.distribution(),
        ..MarkReport::default()
    })
}

/// T of a thread: given, or what was found if the intervals between its releases in the whole recording bear it out.
pub(super) fn period(state: &State, intervals: &Stream) -> Option<u64> {
    if let Some(stated) = state.stated() {
        return Some(stated);
    }
    let candidate = state.hint.unwrap_or(state.finder.period)?;
    let (low, high) = about(candidate);
    let (single, period) = intervals.between(low, high);
    let (all, mean) = intervals.between(0, u64::MAX);
    let periodic = single > 0
        && single as f64 >= PERIODIC * all as f64
        && state.finder.bears_out(candidate, mean);
    let period = period.round() as u64;
    let near = |of: Reservation| near(period, of.period_ns);
    periodic.then(|| state.reservation.map_or(period, near))
}

/// Greatest − least of the intervals that last one period.
fn jitter(intervals: &Stream, period: u64) -> Option<u64> {
    let (least, greatest) = intervals.ends_between(0, period.saturating_add(period / 2))?;
    Some(greatest - least)
}

fn task(engine: &Engine<'_>, names: &mut Names, track: usize, task: &Task<'_>) -> TaskReport {
    let execution_ns = distribution(engine, &task.execution);
    let median = |stream: &Stream| stream.distribution().map(|found: Distribution| found.p50);
    let period_ns = task.given.or_else(|| median(&task.interval));
    let latency_ns = distribution(engine, &task.latency);
    let thread = engine.threads.had(Tid(task.tid), first(&engine.recording.tracks[track]));
    let state = thread.map(|thread| &engine.threads.states[thread]);
    TaskReport {
        name: task.name.to_owned(),
        track,
        tid: task.tid,
        pid: task.pid,
        jobs: task.jobs,
        incomplete: task.incomplete + u64::from(task.open.is_some()),
        utilization: match (&execution_ns, period_ns) {
            (Some(execution), Some(period)) if period > 0 => execution.mean / period as f64,
            _ => 0.0,
        },
        execution_ns,
        period_ns,
        period_from: period_ns
            .map(|_| if task.given.is_some() { PeriodFrom::Given } else { PeriodFrom::Found }),
        deadline_ns: median(&task.deadline),
        release_jitter_ns: period_ns.and_then(|period| jitter(&task.interval, period)),
        latency_ns,
        response_ns: distribution(engine, &task.response),
        lateness_max_ns: task.lateness_max,
        missed: task.missed,
        skipped: task.skipped,
        priority: state
            .map(|state| state.priority)
            .filter(|priority| *priority != PRIORITY_UNKNOWN),
        preempted_by: preempted_by(engine, names, task.culprits.iter()),
        blocked_by: blocked_by(engine, names, task.culprits.iter()),
        blocking_ns: task.blocking.distribution(),
        suspension_ns: task.suspension,
    }
}

fn preempted_by(
    engine: &Engine<'_>,
    names: &mut Names,
    delays: impl Iterator<Item = Taken>,
) -> List<Interference> {
    let mut by_code = BTreeMap::<Code, Interference>::new();
    let held_up = [DelayKind::BeforeStart, DelayKind::Preempted, DelayKind::Interrupted];
    for taken in delays.filter(|taken| held_up.contains(&taken.kind) && taken.ns > 0) {
        let entry = by_code.entry(taken.code).or_insert_with(|| {
            let (who, name, tid) = names.who(engine, taken.code);
            Interference { name, tid, who, ns: 0, before_start_ns: 0, times: 0, longest_ns: 0 }
        });
        entry.ns += taken.ns;
        entry.before_start_ns += if taken.kind == DelayKind::BeforeStart { taken.ns } else { 0 };
        entry.times += u64::from(taken.times);
        entry.longest_ns = entry.longest_ns.max(taken.longest);
    }
    let found = by_code.into_iter().map(|(code, entry)| (entry, [code; 2]));
    let mut found: Vec<(Interference, [Code; 2])> = found.collect();
    found.sort_by_key(|(entry, _)| (std::cmp::Reverse(entry.ns), entry.who));
    names.list(found)
}

fn blocked_by(
    engine: &Engine<'_>,
    names: &mut Names,
    delays: impl Iterator<Item = Taken>,
) -> List<Blocking> {
    let blocked = delays.filter(|taken| taken.kind == DelayKind::Blocked && taken.ns > 0);
    let mut found: Vec<(Blocking, [Code; 2])> = blocked
        .map(|taken| {
            let (who, name, tid) = names.who(engine, taken.code);
            let Meanwhile { behind: third, behind_ns: ns, .. } = taken.meanwhile;
            let behind = (ns > 0).then(|| {
                let (_, name, tid) = names.who(engine, third);
                HeldUp { name, tid, ns }
            });
            let (times, longest_ns) = (u64::from(taken.times), taken.longest);
            let blocking = Blocking { name, tid, who, ns: taken.ns, times, longest_ns, behind };
            (blocking, [taken.code, third])
        })
        .collect();
    found.sort_by_key(|(entry, _)| (std::cmp::Reverse(entry.ns), entry.who));
    names.list(found)
}

fn woken_by<const MAX: usize>(
    engine: &Engine<'_>,
    names: &mut Names,
    tally: &Tally<MAX, Woken>,
) -> List<Waker> {
    let mut found: Vec<(Waker, [Code; 2])> = tally
        .iter()
        .map(|woken| {
            let (_, name, tid) = names.who(engine, woken.by);
            (Waker { name, tid, times: u64::from(woken.times) }, [woken.by; 2])
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| {
        b.times.cmp(&a.times).then_with(|| a.name.cmp(&b.name)).then(a.tid.cmp(&b.tid))
    });
    names.list(found)
}

fn notes(engine: &Engine<'_>, report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let incomplete: u64 = report.threads.iter().map(|thread| thread.incomplete).sum();
    let are_stated = states_all_gaps(engine.recording);
    let real = report.gaps.iter().filter(|gap| gap.lost > 0 || gap.from_ns < gap.to_ns);
    let (losses, pauses): (Vec<&Gap>, Vec<&Gap>) = real.partition(|gap| gap.is_loss(are_stated));
    let some = |number, noun| match number {
        1 => format!("a {noun}"),
        _ => counted(number, noun),
    };
    let effect = format!(
        "what happened there is in no figure, and greatest values are those of the rest; {} seen in part only",
        were(incomplete, "invocation"),
    );
    if losses.is_empty() && report.lost_events > 0 {
        let are = if report.lost_events == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} of programs {are} lost: the jobs around them were seen in part only",
            counted(report.lost_events, "mark")
        ));
    }
    if !losses.is_empty() {
        let length = total(
            losses.iter().map(|gap| gap.to_ns.saturating_sub(gap.from_ns.max(report.from_ns))),
        );
        let lost = match report.lost_events {
            0 => "an unknown number of events is lost in".to_owned(),
            1 => "1 event is lost, in".to_owned(),
            lost => format!("{} events are lost, in", count(lost)),
        };
        notes.push(format!(
            "{lost} {} of {} together: {effect}",
            some(losses.len() as u64, "gap"),
            duration(length as f64),
        ));
    }
    if !pauses.is_empty() {
        let (stretches, length) = Gap::stretches(pauses.iter().copied());
        notes.push(format!(
            "nothing was recorded in {} of {} together, because recording was stopped or a processor was offline: \
             {effect}",
            some(stretches as u64, "stretch"),
            duration(length as f64),
        ));
    }
    notes.extend(paused_at_ends(engine.recording));
    let blind: Vec<String> = report
        .cpus
        .iter()
        .filter(|cpu| cpu.switches == 0 && report.gaps.iter().all(|gap| gap.cpu != cpu.cpu))
        .map(|cpu| cpu.cpu.to_string())
        .collect();
    if !blind.is_empty() && report.switches > 0 {
        notes.push(format!(
            "{} {} did not switch threads: one thread had it all the time, or none, and no figure includes it",
            if blind.len() == 1 { "processor" } else { "processors" },
            blind.join(", "),
        ));
    }
    notes.extend(in_part(report, losses.is_empty() && pauses.is_empty()));
    if report.switches > 0 && report.wake_ups == 0 {
        notes.push(
            "no wake-ups recorded: an invocation counts from when it first runs, so response times lack the wait \
             before it, and no thread is known to have ended a wait"
                .into(),
        );
    }
    let unmatched = total(engine.recording.track_events.tracks.iter().map(|track| track.unmatched));
    if unmatched > 0 {
        notes.push(format!(
            "{} of other programs ended whose beginning is not in the recording: no figure includes them",
            counted(unmatched, "slice")
        ));
    }
    if report.switches == 0 && !report.tasks.is_empty() {
        notes.push(
            "the kernel's side was not recorded: execution times are the programs' own, and no thread is known to have \
             held up a job"
                .into(),
        );
    }
    if engine.many.as_ref().is_some_and(ManyJobs::is_unread) {
        notes.push(
            "observations could not be read back from the temporary file: distributions lack them"
                .into(),
        );
    }
    if engine.backwards > 0 {
        let is_one = engine.backwards == 1;
        notes.push(format!(
            "{} {}: the clock of the recording went back, and {} as of the moment it had reached",
            counted(engine.backwards, "event"),
            if is_one {
                "is earlier than the one before it"
            } else {
                "are earlier than those before them"
            },
            if is_one { "it counts" } else { "they count" },
        ));
    }
    if engine.contradictions > 0 {
        notes.push(format!(
            "{} {} not fit what came before: events are missing without a reported loss; jobs around them are in no \
             figure",
            counted(engine.contradictions, "switch"),
            if engine.contradictions == 1 { "does" } else { "do" },
        ));
    }
    let explained = total(report.misses.iter().map(|miss| miss.missed));
    if report.missed_deadlines > explained {
        notes.push(format!(
            "{} of {} missed deadlines are explained",
            count(explained),
            count(report.missed_deadlines)
        ));
    }
    notes
}

/// Names the pauses before the first event and after the last one, which the recorder states: no event shows them.
fn paused_at_ends(recording: &Recording) -> Option<String> {
    let stated = |name: &str| {
        let length = recording.condition(name)?.parse::<Span>().ok();
        length.filter(|length| *length > Span::ZERO)
    };
    let words = |which: &str, length: Option<Span>| {
        length.map(|length| format!("the {which} {}", duration(length.nanos() as f64)))
    };
    let ends = [words("first", stated(PAUSED_BEFORE)), words("last", stated(PAUSED_AFTER))];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    (!ends.is_empty()).then(|| {
        format!(
            "nothing was recorded in {}, because recording was stopped: no figure includes that time",
            ends.join(" and in ")
        )
    })
}

/// Whether a gap of unknown size is a pause or a processor that was offline: the recording has no others.
fn states_all_gaps(recording: &Recording) -> bool {
    recording.is_ours() && recording.condition(Missing::Gaps.condition()).is_none()
}

/// Jobs of one task or thread that a recording cuts although nothing is missing: at its beginning, and at its end.
const CUT_BY_ENDS: u64 = 2;
/// Of a thread, a smaller share than this is not noted. The kernel does not report every wake-up of a thread that is on
/// its way to sleep, so that few threads have no partial job.
const IN_PART_MIN: f64 = 0.01;
/// Tasks and threads named in the note on partial jobs.
const IN_PART_NAMED_MAX: usize = 3;

/// Names the tasks, then the threads, with jobs that were seen in part only, beyond those that the ends of a recording
/// cut. The note on gaps counts the jobs of threads if there is one.
fn in_part(report: &Report, with_threads: bool) -> Option<String> {
    let tasks =
        report.tasks.iter().map(|task| (task.incomplete, task.jobs, task.name.as_str(), task.tid));
    let threads = report.threads.iter();
    let threads =
        threads.map(|thread| (thread.incomplete, thread.invocations, &*thread.name, thread.tid));
    let is_cut = |(jobs, ..): &(u64, u64, &str, u32)| *jobs > CUT_BY_ENDS;
    let is_common = |(jobs, complete, ..): &(u64, u64, &str, u32)| {
        *jobs as f64 >= IN_PART_MIN * (jobs + complete) as f64
    };
    // The jobs of a thread that marks them are those of its task.
    let is_marked = |tid: u32| report.tasks.iter().any(|task| task.tid == tid);
    let order = |(jobs, _, name, tid): &(u64, u64, &str, u32)| {
        (std::cmp::Reverse(*jobs), (*name).to_owned(), *tid)
    };
    let mut found: Vec<_> = tasks.filter(is_cut).collect();
    found.sort_by_key(order);
    if with_threads {
        let threads = threads.filter(is_cut).filter(is_common);
        let mut threads: Vec<_> = threads.filter(|(.., tid)| !is_marked(*tid)).collect();
        threads.sort_by_key(order);
        found.append(&mut threads);
    }
    if found.is_empty() {
        return None;
    }
    let more = total(found.iter().skip(IN_PART_NAMED_MAX).map(|(jobs, ..)| *jobs));
    let named = found.iter().take(IN_PART_NAMED_MAX).map(|(jobs, complete, name, _)| {
        format!("{} ({} of {})", printable(name), count(*jobs), count(jobs + complete))
    });
    let more = (more > 0).then(|| format!("others ({})", count(more)));
    let whose: Vec<String> = named.chain(more).collect();
    Some(format!("jobs seen in part only, which are in no distribution: {}", whose.join(", ")))
}
