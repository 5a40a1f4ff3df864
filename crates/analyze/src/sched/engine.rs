//! One pass over the events of a recording, with the state of all threads and processors at each moment.
//!
//! Memory is bounded by the number of threads and processors, not by the length of the recording. A
//! thread that is ready is not followed from switch to switch: each processor remembers its recent threads, and when a
//! thread begins to run, its wait is divided among those.
//!
//! A gap invalidates the state of the thread that ran on that processor, and of every thread that was not running
//! elsewhere throughout the gap. A gap is noticed only at its end, so a recording with gaps takes two passes; the
//! second one knows the gaps from the first. Of very many threads, the figures and what a follower keeps do not fit in
//! memory together, and the follower has a pass of its own ([`Aim`]).

mod books;
mod calls;
mod deadline;
mod jobs;
mod sleeps;

use std::collections::BTreeMap;

use hemiola_trace::Recording;
use hemiola_trace::sched::{Context, Event, Left, Reservation, Tid, What};
use hemiola_units::Instant;

use super::accounting::{self, Books};
use super::assemble::period;
use super::cpu::{Cpu, Shares};
use super::follow::{Doing, Follow};
use super::gaps::Gaps;
use super::marks::Marks;
use super::observed::{ManyJobs, Series};
use super::period::Finder;
use super::report::{Gap, Job, Miss};
use super::tally::Code;
use super::threads::{Mode, NotAsking, State, TIME_SHARED, Threads};
use super::{Options, Wanted};
use crate::spill::Outside;

/// The results of the first pass that the second needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    gaps: Vec<Gap>,
    /// Periods by thread, ascending: its number, the time from which the number means this thread, T.
    periods: Vec<(u32, u64, Option<u64>)>,
    /// Threads whose requests to sleep until a time are no releases, ascending: the same, and what these are instead.
    not_asking: Vec<(u32, u64, NotAsking)>,
}

impl Known {
    fn is_empty(&self) -> bool {
        self.gaps.is_empty() && self.periods.is_empty() && self.not_asking.is_empty()
    }
}

/// What a pass is for. Every pass finds the same jobs, if it knows the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// To learn of gaps and of periods found late, because another pass follows.
    Draft,
    /// The figures: times of jobs, and who delayed them.
    Figures,
    /// The figures, until it is likely that another pass follows; from then on, a draft.
    Attempt,
    /// The follower alone.
    Follower,
}

impl Aim {
    /// What looks for the period of a thread.
    fn finder(self) -> Finder {
        match self {
            Self::Draft | Self::Figures | Self::Attempt => Finder::default(),
            Self::Follower => Finder::without_end(),
        }
    }

    /// Whether the pass keeps what the figures are made of.
    const fn has_figures(self) -> bool {
        matches!(self, Self::Figures | Self::Attempt)
    }
}

pub(super) struct Engine<'r> {
    pub(super) recording: &'r Recording,
    pub(super) options: &'r Options,
    until: u64,
    aim: Aim,
    follower: Option<&'r mut (dyn Follow + 'r)>,
    known: Known,
    /// Of threads under `SCHED_DEADLINE`, by number.
    reservations: BTreeMap<u32, Reservation>,
    pub(super) threads: Threads<'r>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) gaps: Gaps,
    pub(super) marks: Marks<'r>,
    pub(super) misses: Vec<Miss>,
    pub(super) missed: u64,
    /// Where the observations of threads with many jobs go; in memory if there is nothing.
    pub(super) many: Option<ManyJobs>,
    wanted: Option<&'r Wanted>,
    pub(super) jobs: Vec<Job>,
    /// The time of the first event, and the latest so far.
    pub(super) from: Option<u64>,
    pub(super) now: u64,
    pub(super) events: u64,
    pub(super) switches: u64,
    pub(super) wake_ups: u64,
    pub(super) lost: u64,
    /// Events that were earlier than the one before them.
    pub(super) backwards: u64,
    /// Switches that do not fit what came before.
    pub(super) contradictions: u64,
    shares: Shares,
    /// The times at which to copy the books, the next one last.
    copy_at: Vec<u64>,
    /// The books at those moments.
    pub(super) copies: Vec<Books>,
}

/// What the second pass must know about a thread's period: one that was found late, one that the recording as a whole
/// does not bear out although wake-ups were already counted by it, or one that is not that of its reservation.
fn hint(state: &State, many: &Option<ManyJobs>) -> Option<Option<u64>> {
    if state.reservation.is_some() {
        return state.apart_from_reservation();
    }
    let is_withdrawn = state.is_merged
        && state.stated().is_none()
        && period(state, state.observed.streams(many).of(Series::Interval)).is_none();
    if is_withdrawn {
        Some(None)
    } else {
        // Of other threads, the first jobs do not justify another pass.
        let is_real_time = (0..TIME_SHARED).contains(&state.priority);
        let was_split = |period: &u64| is_real_time && state.longest_unknown > *period;
        let is_late = |period: &u64| state.finder.late || was_split(period);
        state.finder.period.filter(is_late).map(Some)
    }
}

/// The reservations that the recorder read.
fn reservations(recording: &Recording) -> BTreeMap<u32, Reservation> {
    let conditions = recording.conditions.iter();
    let read = |(name, text): &(String, String)| Reservation::from_condition(name, text);
    // Of a number that several threads had, nobody knows whose reservation it is.
    let is_one = |(tid, _): &(Tid, Reservation)| {
        let after = recording.threads.partition_point(|thread| thread.tid < *tid);
        let own = recording.threads[after..].iter().take_while(|thread| thread.tid == *tid);
        own.skip(1).all(|thread| !thread.new)
    };
    let read = conditions.filter_map(read).filter(is_one);
    read.map(|(tid, reservation)| (tid.0, reservation)).collect()
}

/// What to walk over.
#[derive(Clone)]
pub(super) struct Pass<'r> {
    pub(super) recording: &'r Recording,
    pub(super) options: &'r Options,
    pub(super) wanted: Option<&'r Wanted>,
    /// The last moment that matters, ns.
    pub(super) until: u64,
    /// Room for what is not kept in memory.
    pub(super) outside: Option<Outside>,
}

impl<'r> Pass<'r> {
    /// Goes through the recording, again if the first pass finds gaps or a late period, or seemed to find one, and once
    /// more if threads ask to sleep until times within their jobs. The follower hears of the first pass and of the
    /// last, and of the last only if it is known in advance that others go before.
    pub(super) fn run(self, follower: Option<&'r mut (dyn Follow + 'r)>) -> Engine<'r> {
        let aim = if self.recording.has_gaps() { Aim::Draft } else { Aim::Attempt };
        self.run_first(aim, follower)
    }

    /// The same; the first pass has that aim.
    fn run_first(self, aim: Aim, mut follower: Option<&'r mut (dyn Follow + 'r)>) -> Engine<'r> {
        let heard = follower.take_if(|_| aim.has_figures());
        let mut first = Engine::new(&self, Known::default(), heard, aim);
        first.run();
        let mut known = first.learned();
        if known.is_empty() && first.aim.has_figures() {
            return first;
        }
        let follower = first.follower.take().or(follower);
        drop(first);
        if !known.not_asking.is_empty() {
            // The periods of these threads are in their wake-ups, of which the first pass did not take all.
            let not_asking = std::mem::take(&mut known.not_asking);
            let without = Known { not_asking: not_asking.clone(), ..Known::default() };
            let mut draft = Engine::new(&self, without, None, Aim::Draft);
            draft.run();
            known = Known { not_asking, ..draft.learned() };
        }
        let mut last = Engine::new(&self, known, follower, Aim::Figures);
        last.run();
        last
    }

    /// Goes through the recording for a follower alone, which hears what a pass for the figures with the same knowledge
    /// would tell it.
    pub(super) fn follow(self, known: Known, follower: &'r mut (dyn Follow + 'r)) {
        Engine::new(&self, known, Some(follower), Aim::Follower).run();
    }
}

impl<'r> Engine<'r> {
    fn new(
        pass: &Pass<'r>,
        known: Known,
        follower: Option<&'r mut (dyn Follow + 'r)>,
        aim: Aim,
    ) -> Self {
        // Of an earlier pass, nothing is needed any more.
        if let Some(outside) = &pass.outside {
            outside.clear();
        }
        let Pass { recording, options, wanted, until, .. } = *pass;
        Self {
            recording,
            options,
            until,
            aim,
            follower,
            gaps: Gaps::knowing(known.gaps.clone()),
            known,
            reservations: reservations(recording),
            threads: Threads::new(recording, aim.finder()),
            cpus: Vec::new(),
            marks: Marks::of(recording, options),
            misses: Vec::new(),
            missed: 0,
            many: pass.outside.clone().map(ManyJobs::new),
            wanted,
            jobs: Vec::new(),
            from: None,
            now: 0,
            events: 0,
            switches: 0,
            wake_ups: 0,
            lost: 0,
            backwards: 0,
            contradictions: 0,
            shares: Shares::default(),
            copy_at: accounting::moments(recording).into_iter().rev().collect(),
            copies: Vec::new(),
        }
    }

    /// What a second pass needs to know.
    fn learned(&self) -> Known {
        let hint = |state: &State| Some((state.tid, state.from, hint(state, &self.many)?));
        let mut periods: Vec<_> = self.threads.states.iter().filter_map(hint).collect();
        periods.sort_unstable();
        let other = |state: &State| {
            let asked = state.asked.as_ref()?;
            let is_before_loop = asked.asks_before_loop();
            let is_other = is_before_loop || !asked.asks_for_releases(state.period());
            let not_asking = NotAsking { disordered: asked.disordered, is_before_loop };
            is_other.then_some((state.tid, state.from, not_asking))
        };
        let mut not_asking: Vec<_> = self.threads.states.iter().filter_map(other).collect();
        not_asking.sort_unstable();
        Known { gaps: self.gaps.found(), periods, not_asking }
    }

    /// What the pass knew before it began.
    pub(super) fn known(&self) -> Known {
        self.known.clone()
    }

    fn run(&mut self) {
        let recording = self.recording;
        if let Some(follower) = &mut self.follower {
            follower.restart();
        }
        for event in recording.events() {
            if event.at.nanos() > self.until {
                break;
            }
            self.event(event);
        }
        while let Some((_, track)) = self.marks.due(self.until) {
            self.mark(track);
        }
        let end = self.now;
        for cpu in 0..self.cpus.len() {
            self.account(cpu, end);
        }
        while self.copy_at.pop().is_some() {
            self.copy(end);
        }
        let states = &self.threads.states;
        let until = |tid: u32| {
            let last = states.iter().rev().find(|state| state.tid == tid);
            last.map_or(0, |state| state.until)
        };
        self.missed += self.marks.end(end, until);
        for thread in 0..self.threads.states.len() {
            self.finish(thread);
        }
        if let Some(follower) = &mut self.follower {
            follower.end(end);
        }
        self.misses.sort_by_key(|miss| (miss.job.release_ns, miss.job.tid));
    }

    /// Tells the follower what a thread does from a moment on.
    #[inline]
    fn becomes(&mut self, thread: usize, at: u64, doing: Doing) {
        if let Some(follower) = &mut self.follower {
            follower.thread(thread, at, doing);
        }
    }

    /// Tells the follower which thread a processor has from a moment on.
    #[inline]
    fn has(&mut self, c: usize, at: u64, code: Code) {
        if let Some(follower) = &mut self.follower {
            follower.processor(c as u16, at, code);
        }
    }

    /// Tells the follower that a thread was out of sight in a gap, in which it may have run.
    #[inline]
    fn hide(&mut self, thread: usize) {
        let State { mode, since, .. } = self.threads.states[thread];
        if self.gaps.until > since && !matches!(mode, Mode::Unseen | Mode::Running) {
            let from = self.gaps.first_after(since, self.now);
            self.becomes(thread, from, Doing::Unseen);
        }
    }

    fn finish(&mut self, thread: usize) {
        self.hide(thread);
        self.threads.states[thread].ends_by_reservation();
        let end = self.now;
        self.end_call(thread, end, None);
        if self.threads.states[thread].mode != Mode::Sleeping {
            self.end_over(thread);
        }
        let state = &mut self.threads.states[thread];
        let gap = self.gaps.until > state.since;
        let length = end.saturating_sub(state.since);
        match state.mode {
            Mode::Sleeping if !gap => {
                state.totals.sleeping += length;
                self.missed += state.is_silent(end, length);
            }
            Mode::Blocked if !gap => state.totals.blocked += length,
            Mode::Ready if !gap => state.totals.waiting += length,
            Mode::Throttled if !gap => state.totals.throttled += length,
            _ => {}
        }
        let is_doubtful = state.asked.as_ref().is_some_and(|asked| asked.doubt.is_some());
        if state.mode != Mode::Sleeping && !is_doubtful {
            if !gap {
                self.missed += state.miss_until(end);
            }
            if state.mode != Mode::Unseen && state.invocation.open {
                state.totals.unfinished = end.saturating_sub(state.last_release());
            }
            state.invocation.sound = false;
        }
        self.close_last(thread);
        self.threads.states[thread].finish();
        self.push_startup(thread);
    }

    #[inline]
    fn event(&mut self, event: Event) {
        let mut at = event.at.nanos();
        if at < self.now {
            self.backwards += 1;
            at = self.now;
        }
        while let Some((when, track)) = self.marks.due(at) {
            self.now = self.now.max(when);
            self.mark(track);
        }
        while let Some(when) = self.copy_at.pop_if(|when| *when <= at) {
            self.copy(when.max(self.now));
        }
        self.now = at;
        self.events += 1;
        self.from.get_or_insert(at);
        while let Some(gap) = self.gaps.begun(at) {
            self.lose_sight(gap);
        }
        let c = usize::from(event.cpu);
        if c >= self.cpus.len() {
            self.cpus.resize_with(c + 1, Cpu::default);
        }
        let cpu = &mut self.cpus[c];
        if cpu.last.is_none() {
            cpu.since = at;
        }
        let before = cpu.last.replace(at);
        match event.what {
            What::Switch { prev, left, next, priority } => {
                self.switch(at, c, prev, left, next, priority)
            }
            What::Wake { tid, waker, context, target } => {
                self.wake(at, c, tid, waker, context, target)
            }
            What::InterruptEntry(interrupt) => self.interrupt_entry(at, c, interrupt),
            What::InterruptExit(_) => self.interrupt_exit(at, c),
            What::PageFault(in_kernel) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.threads.states[thread].totals.page_faults += 1;
                    if let Some(follower) = &mut self.follower {
                        follower.page_fault(thread, at, in_kernel);
                    }
                }
            }
            What::SleepUntil(until) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.sleep_until(thread, at, c, until.instant().nanos());
                }
            }
            What::CallEntry(number) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.call(thread, at, number);
                }
            }
            What::CallExit(number) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.end_call(thread, at, Some(number));
                }
            }
            What::Lost(lost) => {
                self.lost += u64::from(lost);
                let gap = Gap {
                    cpu: event.cpu,
                    from_ns: before.unwrap_or(0),
                    to_ns: at,
                    lost: u64::from(lost),
                };
                self.gaps.find(gap);
                self.lose_sight(gap);
            }
            What::Online(true) => {
                // Nothing ran there meanwhile, so only the thread that seemed to run there is lost from sight.
                let gap = Gap { cpu: event.cpu, from_ns: before.unwrap_or(at), to_ns: at, lost: 0 };
                self.gaps.back(gap);
                self.lose_sight(gap);
            }
            What::Online(false) => {
                self.lose_sight(Gap { cpu: event.cpu, from_ns: at, to_ns: at, lost: 0 });
            }
        }
    }

    /// Marks the state of a processor as unknown from the beginning of a gap to its end.
    fn lose_sight(&mut self, gap: Gap) {
        let c = usize::from(gap.cpu);
        if c >= self.cpus.len() {
            return;
        }
        let from = gap.from_ns.max(self.cpus[c].since);
        self.end_interrupt(c, from);
        self.account(c, from);
        self.has(c, from, Code::UNKNOWN);
        if let Some(thread) = self.cpus[c].current.as_thread() {
            let state = &mut self.threads.states[thread];
            state.mode = Mode::Unseen;
            state.since = from;
            state.cut();
            self.becomes(thread, from, Doing::Unseen);
            self.end_call(thread, from, None);
        }
        let cpu = &mut self.cpus[c];
        (cpu.current, cpu.tid) = (Code::UNKNOWN, Tid::UNKNOWN);
        cpu.since = cpu.since.max(gap.to_ns);
    }

    fn switch(&mut self, at: u64, c: usize, prev: Tid, left: Left, next: Tid, priority: i16) {
        self.switches += 1;
        self.end_interrupt(c, at);
        let current = self.cpus[c].current;
        if prev != self.cpus[c].tid {
            let since = self.cpus[c].since;
            if let Some(thread) = current.as_thread() {
                // It cannot have left without a switch: events are missing and no loss was reported.
                let state = &mut self.threads.states[thread];
                state.mode = Mode::Unseen;
                state.since = at;
                state.cut();
                self.becomes(thread, since, Doing::Unseen);
            }
            if current != Code::UNKNOWN {
                self.contradictions += 1;
                self.has(c, since, Code::UNKNOWN);
                let cpu = &mut self.cpus[c];
                cpu.lately.push(cpu.since, at, Code::UNKNOWN);
                cpu.since = at;
            }
            self.found_running(at, c, prev);
        }
        self.account(c, at);
        let cpu = &mut self.cpus[c];
        cpu.switches += 1;
        cpu.idle_switches += u64::from((prev == Tid::IDLE) != (next == Tid::IDLE));
        let leaving = cpu.current.as_thread();
        cpu.tid = next;
        cpu.current = match next {
            Tid::IDLE => Code::IDLE,
            Tid::UNKNOWN => Code::UNKNOWN,
            _ => Code::thread(self.threads.at(next, at)),
        };
        let (code, entering) = (cpu.current, cpu.current.as_thread());
        self.has(c, at, code);
        if let Some(thread) = leaving {
            let is_throttled = left.is_ready() && self.is_throttled(thread, next, priority, at);
            self.leave(thread, at, c, left, is_throttled);
            self.left(thread, at, code);
        }
        if let Some(thread) = entering {
            self.enter(thread, at, c, priority);
        }
    }

    /// The first switch after a gap names the thread that had the processor until then.
    #[cold]
    fn found_running(&mut self, at: u64, c: usize, tid: Tid) {
        let since = self.cpus[c].since;
        let current = match tid {
            Tid::IDLE => Code::IDLE,
            Tid::UNKNOWN => Code::UNKNOWN,
            _ => {
                let thread = self.threads.at(tid, at);
                self.identify(thread);
                let state = &mut self.threads.states[thread];
                state.cut();
                self.is_not_elsewhere(thread, at, c);
                self.close(thread);
                self.begin(thread, since, None);
                let state = &mut self.threads.states[thread];
                (state.mode, state.since) = (Mode::Running, since);
                state.invocation.started = true;
                state.invocation.start = since;
                state.cut();
                state.runs_on(c);
                self.becomes(thread, since, Doing::Running(c as u16));
                Code::thread(thread)
            }
        };
        self.has(c, since, current);
        (self.cpus[c].current, self.cpus[c].tid) = (current, tid);
    }

    /// A `SCHED_DEADLINE` thread that could go on left its processor to a less urgent one, so its reservation is used
    /// up. Only the kernel's stopper is more urgent; its events have the priority of `SCHED_FIFO` 99.
    #[inline]
    fn is_throttled(&self, thread: usize, next: Tid, priority: i16, at: u64) -> bool {
        let is_stopper = |tid: Tid| {
            let named = self.recording.thread(tid, Instant::from_nanos(at));
            named.is_some_and(|thread| thread.name.starts_with("migration/"))
        };
        self.threads.states[thread].priority < 0
            && priority >= 0
            && !(priority == 0 && is_stopper(next))
    }

    fn leave(&mut self, thread: usize, at: u64, c: usize, left: Left, is_throttled: bool) {
        let state = &mut self.threads.states[thread];
        (state.since, state.seen, state.cpu) = (at, at, c as u16);
        state.placed_anew = false;
        state.invocation.finish = at;
        state.settle(at, state.totals.running);
        // sched_yield(2) ends the job of a thread under `SCHED_DEADLINE`. The kernel states the same for a thread that
        // is throttled on its way to user space, but that one has no budget left.
        state.has_yielded = left == Left::Yielded && is_throttled && state.has_budget();
        state.mode = match left {
            Left::Yielded if state.has_yielded => Mode::Sleeping,
            Left::Preempted | Left::Yielded if is_throttled => {
                state.totals.throttles += 1;
                Mode::Throttled
            }
            // A kernel without preemption does not distinguish the two.
            Left::Preempted | Left::Yielded => {
                state.totals.preemptions += 1;
                Mode::Ready
            }
            Left::Uninterruptible | Left::Stopped => Mode::Blocked,
            Left::Sleeping | Left::Idle | Left::Unknown => Mode::Sleeping,
            Left::Dead => Mode::Unseen,
        };
        if left == Left::Dead {
            self.ends(thread, at);
            self.end_call(thread, at, None);
            // The number may be used again.
            self.threads.states[thread].until = at;
        }
    }

    /// Tells the follower how a thread left its processor, to which thread or to none.
    #[inline]
    fn left(&mut self, thread: usize, at: u64, next: Code) {
        let state = &self.threads.states[thread];
        let doing = match state.mode {
            Mode::Ready => Doing::Preempted(next),
            Mode::Throttled => Doing::Throttled,
            Mode::Blocked => Doing::Blocked,
            // A thread that has ended is in no gap.
            Mode::Sleeping | Mode::Unseen | Mode::Running => Doing::Asleep,
        };
        self.becomes(thread, at, doing);
    }

    fn enter(&mut self, thread: usize, at: u64, c: usize, priority: i16) {
        self.hide(thread);
        let wakes = self.wake_ups > 0;
        let state = &mut self.threads.states[thread];
        match state.mode {
            Mode::Ready => {}
            Mode::Throttled => self.replenished(thread, at, c),
            Mode::Sleeping if state.has_yielded => self.next_period(thread, at, c),
            Mode::Sleeping | Mode::Blocked => {
                let since = state.since;
                if let Some(early) = state.woken_early {
                    // The wake-up came while it was on its way to sleep.
                    state.placed_anew = true;
                    self.resume(thread, early.max(since), Code::UNKNOWN);
                } else {
                    self.resume(thread, at, Code::UNKNOWN);
                    if wakes {
                        self.threads.states[thread].cut();
                    }
                }
            }
            Mode::Unseen => {
                self.identify(thread);
                self.close(thread);
                self.begin(thread, at, None);
                self.threads.states[thread].cut();
            }
            Mode::Running => {
                state.cut();
                self.is_not_elsewhere(thread, at, c);
            }
        }
        let state = &self.threads.states[thread];
        if state.mode != Mode::Running && state.since < at && state.mode != Mode::Unseen {
            let queue = if state.placed_anew { c } else { usize::from(state.cpu) };
            self.waited(thread, queue, at);
        }
        let state = &mut self.threads.states[thread];
        state.runs_by_reservation(priority);
        let is_first = !state.invocation.started;
        if is_first {
            state.invocation.started = true;
            state.invocation.start = at;
        }
        state.runs_on(c);
        (state.mode, state.since, state.seen) = (Mode::Running, at, at);
        state.woken_early = None;
        self.becomes(thread, at, Doing::Running(c as u16));
        let state = &mut self.threads.states[thread];
        if priority == state.priority {
            state.raised = 0;
        } else {
            state.runs_at(priority, is_first);
        }
    }

    /// A thread that seemed to run on another processor runs on `c`: events of that other processor are missing.
    #[cold]
    fn is_not_elsewhere(&mut self, thread: usize, at: u64, c: usize) {
        let code = Code::thread(thread);
        for (other, cpu) in self
            .cpus
            .iter_mut()
            .enumerate()
            .filter(|(other, cpu)| *other != c && cpu.current == code)
        {
            self.contradictions += 1;
            if let Some(follower) = &mut self.follower {
                follower.processor(other as u16, cpu.since, Code::UNKNOWN);
            }
            cpu.lately.push(cpu.since, at, Code::UNKNOWN);
            (cpu.current, cpu.tid, cpu.since) = (Code::UNKNOWN, Tid::UNKNOWN, at);
        }
    }

    fn wake(&mut self, at: u64, c: usize, tid: Tid, waker: Tid, context: Context, target: u16) {
        self.wake_ups += 1;
        if matches!(tid, Tid::IDLE | Tid::UNKNOWN) {
            return;
        }
        let thread = self.threads.at(tid, at);
        let state = &mut self.threads.states[thread];
        state.seen = at;
        match state.mode {
            Mode::Running | Mode::Ready | Mode::Throttled => {
                state.woken_early.get_or_insert(at);
                return;
            }
            Mode::Unseen => self.identify(thread),
            Mode::Sleeping | Mode::Blocked => {}
        }
        let waker = match (context, waker) {
            (Context::Interrupt, _) | (_, Tid::IDLE) => Code::INTERRUPT,
            (_, Tid::UNKNOWN) => Code::UNKNOWN,
            _ if waker == self.cpus[c].tid => self.cpus[c].current,
            _ => Code::thread(self.threads.at(waker, at)),
        };
        self.hide(thread);
        self.resume(thread, at, waker);
        let state = &mut self.threads.states[thread];
        (state.mode, state.since, state.cpu) = (Mode::Ready, at, target);
        state.placed_anew = true;
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;
    use crate::sched::synthetic::{Task, run};

    /// Periodic tasks that wait for each other at times, with events lost now and then.
    fn recording(seed: u64) -> Recording {
        let mut random = Random::from_seed(seed);
        let mut task = |n: u32| {
            let period_ns = 500_000 * (1 + random.below(8));
            Task {
                name: format!("task {n}"),
                tid: 100 + n,
                cpu: (n % 2) as u16,
                priority: n as i16,
                period_ns,
                jitter_ns: period_ns / (1 + random.below(20)),
                execution_min_ns: period_ns / 10,
                execution_max_ns: period_ns / 3,
                asks: n < 2,
                ..Task::default()
            }
        };
        let tasks: Vec<Task> = (0..5).map(&mut task).collect();
        let (recording, _) = run(&tasks, 400_000_000, seed);
        let events = recording.events().map(|event| match event.what {
            What::Switch { .. } if random.below(300) == 0 => Event { what: What::Lost(1), ..event },
            // A second wake-up within the job, so that a period is found late.
            What::Wake { tid, .. } if random.below(4) == 0 => {
                let what = What::Wake { tid, waker: Tid(104), context: Context::Thread, target: 0 };
                Event { what, ..event }
            }
            _ => event,
        });
        Recording::new(events.collect(), Vec::new(), Vec::new())
    }

    /// Keeps everything it hears.
    #[derive(Debug, Default, PartialEq)]
    struct Heard(Vec<String>);

    impl Heard {
        fn keep(&mut self, what: impl std::fmt::Debug) {
            self.0.push(format!("{what:?}"));
        }
    }

    impl Follow for Heard {
        fn restart(&mut self) {
            self.0.clear();
        }

        fn processor(&mut self, cpu: u16, at: u64, has: Code) {
            self.keep(("processor", cpu, at, has));
        }

        fn interrupt(&mut self, cpu: u16, at: u64, serves: Option<Code>) {
            self.keep(("interrupt", cpu, at, serves));
        }

        fn thread(&mut self, thread: usize, at: u64, doing: Doing) {
            self.keep(("thread", thread, at, doing));
        }

        fn release(&mut self, thread: usize) {
            self.keep(("release", thread));
        }

        fn close(&mut self, thread: usize, complete: bool) {
            self.keep(("close", thread, complete));
        }

        fn call(&mut self, thread: usize, at: u64, number: Option<u16>) {
            self.keep(("call", thread, at, number));
        }

        fn page_fault(&mut self, thread: usize, at: u64, in_kernel: bool) {
            self.keep(("page fault", thread, at, in_kernel));
        }

        fn end(&mut self, at: u64) {
            self.keep(("end", at));
        }
    }

    fn without_losses(recording: &Recording) -> impl Iterator<Item = Event> {
        recording.events().filter(|event| !matches!(event.what, What::Lost(_)))
    }

    /// A pass over all of a recording.
    fn whole_pass<'r>(recording: &'r Recording, options: &'r Options) -> Pass<'r> {
        Pass { recording, options, wanted: None, until: u64::MAX, outside: None }
    }

    #[test]
    fn a_follower_with_a_pass_of_its_own_hears_the_same() {
        let options = Options::default();
        let mut with_periods = 0;
        for seed in 0..40 {
            let whole = recording(seed);
            let mut recordings = vec![whole.clone()];
            // Without a loss the first pass is for the figures too, and the second only follows if a period came late.
            let events = without_losses(&whole);
            // Calls and interrupts now and then.
            let mut random = Random::from_seed(seed);
            let more = events.flat_map(|event| {
                let what = match random.below(12) {
                    0 => What::CallEntry(7),
                    1 => What::CallExit(7),
                    2 => What::PageFault(false),
                    3 => What::InterruptEntry(hemiola_trace::sched::Interrupt::Hard(9)),
                    4 => What::InterruptExit(hemiola_trace::sched::Interrupt::Hard(9)),
                    _ => return vec![event],
                };
                vec![event, Event { what, ..event }]
            });
            recordings.push(Recording::new(more.collect(), Vec::new(), Vec::new()));
            for recording in &recordings {
                let room = crate::spill::tests::Room::new(0, usize::MAX, true);
                let pass =
                    Pass { outside: Some(Outside::new(room)), ..whole_pass(recording, &options) };
                let (mut together, mut apart) = (Heard::default(), Heard::default());
                let engine = pass.clone().run(Some(&mut together));
                with_periods += usize::from(!engine.known.periods.is_empty());
                let first = crate::sched::assemble::walk(engine);
                let second = crate::sched::figures_then_follower(pass, &mut apart);
                assert!(together.0.len() > 1000, "seed {seed}");
                assert!(together == apart, "seed {seed}");
                assert_eq!(first.report, second.report, "seed {seed}");
            }
        }
        assert!(with_periods > 10, "{with_periods}");
    }

    #[test]
    fn an_attempt_that_becomes_a_draft_leads_to_the_same_report() {
        let options = Options::default();
        let mut drafts = 0;
        for seed in 0..40 {
            let recording = recording(seed);
            let events = without_losses(&recording).collect();
            let recording = Recording::new(events, Vec::new(), Vec::new());
            let pass = whole_pass(&recording, &options);
            let mut attempt = Engine::new(&pass, Known::default(), None, Aim::Attempt);
            attempt.run();
            drafts += usize::from(attempt.aim == Aim::Draft);
            let [one, other] = [Aim::Attempt, Aim::Figures]
                .map(|aim| crate::sched::assemble::report(&mut pass.clone().run_first(aim, None)));
            assert_eq!(one, other, "seed {seed}");
        }
        assert!((5..40).contains(&drafts), "{drafts}");
    }

    #[test]
    fn a_pass_that_does_not_blame_finds_the_same_gaps_and_periods() {
        let options = Options::default();
        for seed in 0..20 {
            let recording = recording(seed);
            let pass = whole_pass(&recording, &options);
            let [draft, whole] = [Aim::Draft, Aim::Figures].map(|aim| {
                let mut engine = Engine::new(&pass, Known::default(), None, aim);
                engine.run();
                engine.learned()
            });
            assert_eq!(draft, whole, "seed {seed}");
            assert!(!whole.gaps.is_empty(), "seed {seed}");
        }
    }
}
