//! One pass over the events of a recording, with everything that is known at each moment.
//!
//! Memory is bounded by the number of threads and processors, not by the length of the recording. What happens while
//! a thread is ready is not followed from switch to switch: each processor remembers who had it lately, and when a
//! thread begins to run, its wait is shared out among those.
//!
//! A gap ends all that is known of the thread that ran there, and of every thread that was not running elsewhere from
//! before it until after it. That a stretch was not seen shows only at its end, so a recording with gaps is gone
//! through twice, the second time knowing them.

use hemiola_trace::sched::{Context, Event, Interrupt, Left, PRIORITY_UNKNOWN, Tid, What};
use hemiola_trace::{Entry, Kind, Recording};

use super::cpu::{Cpu, share};
use super::gaps::Gaps;
use super::marks::Marks;
use super::report::{DelayKind, Gap, Job, Miss};
use super::tally::{Code, Taken};
use super::threads::{Mode, State, Threads, Wait};
use super::{MISSES_MAX, Of, Options, Wanted, Who};

/// What one pass tells the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    gaps: Vec<Gap>,
    /// Periods by thread: number, since when it means this thread, T.
    periods: Vec<(u32, u64, u64)>,
}

pub(super) struct Engine<'r> {
    pub(super) recording: &'r Recording,
    options: &'r Options,
    known: Known,
    pub(super) threads: Threads<'r>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) gaps: Gaps,
    pub(super) marks: Marks<'r>,
    pub(super) misses: Vec<Miss>,
    pub(super) missed: u64,
    wanted: Option<&'r Wanted>,
    pub(super) jobs: Vec<Job>,
    /// The time of the first event, and the latest so far.
    pub(super) from: Option<u64>,
    pub(super) now: u64,
    pub(super) switches: u64,
    pub(super) wake_ups: u64,
    pub(super) lost: u64,
    /// Events that were earlier than the one before them.
    pub(super) backwards: u64,
    /// Switches that do not fit what came before.
    pub(super) contradictions: u64,
    shares: Vec<(Code, u64)>,
    /// When the books are to be copied, the next one last.
    copy_at: Vec<u64>,
    /// The books at those moments.
    pub(super) copies: Vec<Books>,
}

/// What had been counted by a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// Of each processor: busy, idle, switches from or to idle, switches.
    pub(super) cpus: Vec<[u64; 4]>,
    /// Of each thread: processor time.
    pub(super) running: Vec<u64>,
}

/// Goes through a recording, a second time where the first shows that it must be.
pub(super) fn pass<'r>(
    recording: &'r Recording,
    options: &'r Options,
    wanted: Option<&'r Wanted>,
) -> Engine<'r> {
    let mut first = Engine::new(recording, options, wanted, Known::default());
    first.run();
    let states = &first.threads.states;
    let known = Known {
        gaps: first.gaps.found(),
        periods: states
            .iter()
            .filter(|state| state.finder.late)
            .filter_map(|state| Some((state.tid, state.from, state.finder.period?)))
            .collect(),
    };
    if known.gaps.is_empty() && known.periods.is_empty() {
        return first;
    }
    let mut second = Engine::new(recording, options, wanted, known);
    second.run();
    second
}

impl<'r> Engine<'r> {
    fn new(
        recording: &'r Recording,
        options: &'r Options,
        wanted: Option<&'r Wanted>,
        known: Known,
    ) -> Self {
        Self {
            recording,
            options,
            gaps: Gaps::knowing(known.gaps.clone()),
            known,
            threads: Threads::new(recording),
            cpus: Vec::new(),
            marks: Marks::of(recording, options),
            misses: Vec::new(),
            missed: 0,
            wanted,
            jobs: Vec::new(),
            from: None,
            now: 0,
            switches: 0,
            wake_ups: 0,
            lost: 0,
            backwards: 0,
            contradictions: 0,
            shares: Vec::new(),
            copy_at: super::accounting::moments(recording).into_iter().rev().collect(),
            copies: Vec::new(),
        }
    }

    fn run(&mut self) {
        let recording = self.recording;
        for event in recording.events() {
            self.event(event);
        }
        while let Some((_, track)) = self.marks.due(u64::MAX) {
            self.mark(track);
        }
        let end = self.now;
        for cpu in 0..self.cpus.len() {
            self.account(cpu, end);
        }
        while self.copy_at.pop().is_some() {
            self.copy(end);
        }
        for thread in 0..self.threads.states.len() {
            self.finish(thread);
        }
        self.misses.sort_by_key(|miss| (miss.job.release_ns, miss.job.tid));
    }

    fn finish(&mut self, thread: usize) {
        let end = self.now;
        let state = &mut self.threads.states[thread];
        let gap = self.gaps.until > state.since;
        let length = end.saturating_sub(state.since);
        match state.mode {
            Mode::Sleeping if !gap => state.totals.sleeping += length,
            Mode::Blocked if !gap => state.totals.blocked += length,
            Mode::Ready if !gap => state.totals.waiting += length,
            _ => {}
        }
        if state.mode != Mode::Sleeping {
            state.invocation.sound = false;
        }
        self.close(thread);
        self.threads.states[thread].finder.look();
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
            What::PageFault(_) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.threads.states[thread].totals.page_faults += 1;
                }
            }
            What::CallEntry(_) => {
                if let Some(thread) = cpu.current.as_thread() {
                    self.threads.states[thread].totals.calls += 1;
                }
            }
            What::CallExit(_) => {}
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
                // Nothing ran there meanwhile, so only what was thought to run there is lost from sight.
                let gap = Gap { cpu: event.cpu, from_ns: before.unwrap_or(at), to_ns: at, lost: 0 };
                self.gaps.back(gap);
                self.lose_sight(gap);
            }
            What::Online(false) => {
                self.lose_sight(Gap { cpu: event.cpu, from_ns: at, to_ns: at, lost: 0 });
            }
        }
    }

    /// Brings the books of every processor up to a moment, and copies them.
    #[cold]
    fn copy(&mut self, at: u64) {
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].depth == 0 {
                self.account(cpu, at);
            }
        }
        self.copies.push(Books {
            cpus: self
                .cpus
                .iter()
                .map(|cpu| [cpu.busy, cpu.idle, cpu.idle_switches, cpu.switches])
                .collect(),
            running: self.threads.states.iter().map(|state| state.totals.running).collect(),
        });
    }

    /// Nothing is known of a processor from the beginning of a gap to its end.
    fn lose_sight(&mut self, gap: Gap) {
        let c = usize::from(gap.cpu);
        if c >= self.cpus.len() {
            return;
        }
        let from = gap.from_ns.max(self.cpus[c].since);
        self.end_interrupt(c, from);
        self.account(c, from);
        if let Some(thread) = self.cpus[c].current.as_thread() {
            let state = &mut self.threads.states[thread];
            state.mode = Mode::Unseen;
            state.since = from;
            state.cut();
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
            if let Some(thread) = current.as_thread() {
                // It cannot have gone without a switch: events are missing, and nobody said so.
                let state = &mut self.threads.states[thread];
                state.mode = Mode::Unseen;
                state.since = at;
                state.cut();
            }
            if current != Code::UNKNOWN {
                self.contradictions += 1;
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
        let entering = cpu.current.as_thread();
        if let Some(thread) = leaving {
            self.leave(thread, at, c, left);
        }
        if let Some(thread) = entering {
            self.enter(thread, at, c, priority);
        }
    }

    /// The first switch after a gap says who had the processor until then.
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
                Code::thread(thread)
            }
        };
        (self.cpus[c].current, self.cpus[c].tid) = (current, tid);
    }

    /// Brings the books of a processor up to `at`.
    #[inline]
    pub(super) fn account(&mut self, c: usize, at: u64) {
        let cpu = &mut self.cpus[c];
        let length = at.saturating_sub(cpu.since);
        if length == 0 {
            return;
        }
        let full = cpu.lately.push(cpu.since, at, cpu.current);
        cpu.since = at;
        match cpu.current.as_thread() {
            Some(thread) => {
                cpu.busy += length;
                self.threads.states[thread].totals.running += length;
            }
            None if cpu.current == Code::IDLE => cpu.idle += length,
            None => {}
        }
        if full {
            self.bring_up_to_date(c, at);
        }
    }

    /// Shares out the waiting so far of everybody who waits for a processor, and forgets who had it.
    #[cold]
    fn bring_up_to_date(&mut self, c: usize, at: u64) {
        for thread in 0..self.threads.states.len() {
            let state = &self.threads.states[thread];
            if state.mode == Mode::Ready && usize::from(state.cpu) == c && state.since < at {
                self.waited(thread, c, at);
                self.threads.states[thread].since = at;
            }
        }
        self.cpus[c].lately.forget();
    }

    /// The thread was ready until now, waiting for that processor.
    #[inline]
    fn waited(&mut self, thread: usize, c: usize, at: u64) {
        let state = &mut self.threads.states[thread];
        let since = state.since;
        if self.gaps.until > since {
            state.cut();
            return;
        }
        state.totals.waiting += at.saturating_sub(since);
        let kind =
            if state.invocation.started { DelayKind::Preempted } else { DelayKind::BeforeStart };
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        if let Some(cpu) = self.cpus.get(c) {
            // What it does since the last switch is not remembered yet.
            let open = cpu.since.max(since);
            if at > open {
                share(
                    &mut shares,
                    if cpu.depth > 0 { cpu.interrupt } else { cpu.current },
                    at - open,
                );
            }
            cpu.lately.shares(since, open.min(at), &mut shares);
        } else {
            shares.push((Code::UNKNOWN, at.saturating_sub(since)));
        }
        for &(code, ns) in shares.iter().filter(|share| share.1 > 0) {
            self.delay(thread, Taken::once(code, kind, ns));
        }
        if let Some(&(most, _)) = shares.iter().max_by_key(|share| share.1) {
            self.threads.states[thread].waits.add(Wait { from: since, to: at, most });
        }
        self.shares = shares;
    }

    /// Puts a delay down to the invocation of a thread, and to its marked jobs.
    #[inline]
    fn delay(&mut self, thread: usize, taken: Taken) {
        let state = &mut self.threads.states[thread];
        state.invocation.delays.add(taken);
        for mark in &state.open_marks {
            self.marks.delay(*mark, taken);
        }
    }

    fn leave(&mut self, thread: usize, at: u64, c: usize, left: Left) {
        let state = &mut self.threads.states[thread];
        (state.since, state.seen, state.cpu) = (at, at, c as u16);
        state.placed_anew = false;
        state.invocation.finish = at;
        state.mode = match left {
            // Which of the two it is, a kernel without preemption does not tell.
            Left::Preempted | Left::Yielded => {
                state.totals.preemptions += 1;
                Mode::Ready
            }
            Left::Uninterruptible | Left::Stopped => Mode::Blocked,
            Left::Sleeping | Left::Idle | Left::Unknown => Mode::Sleeping,
            Left::Dead => Mode::Unseen,
        };
        if left == Left::Dead {
            self.close(thread);
            // The number may be used again.
            self.threads.states[thread].until = at;
        }
    }

    fn enter(&mut self, thread: usize, at: u64, c: usize, priority: i16) {
        let wakes = self.wake_ups > 0;
        let state = &mut self.threads.states[thread];
        match state.mode {
            Mode::Ready => {}
            Mode::Sleeping | Mode::Blocked => {
                let since = state.since;
                if let Some(early) = state.woken_early {
                    // The wake-up came while it was on its way to sleep.
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
        if !state.invocation.started {
            state.invocation.started = true;
            state.invocation.start = at;
        }
        state.runs_on(c);
        (state.mode, state.since, state.seen) = (Mode::Running, at, at);
        state.woken_early = None;
        if priority != PRIORITY_UNKNOWN {
            state.priority = priority;
        }
    }

    /// A thread that was thought to run on another processor runs on `c`: events are missing there.
    #[cold]
    fn is_not_elsewhere(&mut self, thread: usize, at: u64, c: usize) {
        let code = Code::thread(thread);
        for (_, cpu) in self
            .cpus
            .iter_mut()
            .enumerate()
            .filter(|(other, cpu)| *other != c && cpu.current == code)
        {
            self.contradictions += 1;
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
            Mode::Running | Mode::Ready => {
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
        self.resume(thread, at, waker);
        let state = &mut self.threads.states[thread];
        (state.mode, state.since, state.cpu) = (Mode::Ready, at, target);
        state.placed_anew = true;
    }

    /// A thread sleeps no more: its invocation goes on, or a new one begins.
    fn resume(&mut self, thread: usize, at: u64, waker: Code) {
        let state = &mut self.threads.states[thread];
        let asleep = at.saturating_sub(state.since);
        let seen = state.mode != Mode::Unseen && self.gaps.until <= state.since;
        let invocation = &state.invocation;
        let goes_on = seen
            && invocation.open
            && match state.mode {
                Mode::Blocked => true,
                _ if state.is_marked => !state.open_marks.is_empty(),
                _ => state
                    .period()
                    .is_some_and(|period| at.saturating_sub(invocation.release) < period / 2),
            };
        if state.mode != Mode::Blocked && (!state.is_marked || !goes_on) {
            state.finder.wake(at, waker == Code::INTERRUPT);
        }
        if goes_on {
            state.totals.blocked += asleep;
            let since = std::mem::replace(&mut state.since, at);
            let behind = match waker.as_thread() {
                Some(other) if other != thread => {
                    self.threads.states[other].waits.longest_in(since, at)
                }
                _ => (Code::UNKNOWN, 0),
            };
            let taken = Taken { behind, ..Taken::once(waker, DelayKind::Blocked, asleep) };
            self.delay(thread, taken);
            return;
        }
        if seen {
            state.totals.sleeping += asleep;
        } else {
            state.finder.forget();
            state.released = None;
            if state.mode == Mode::Blocked || !state.open_marks.is_empty() {
                state.cut();
            }
        }
        state.since = at;
        self.close(thread);
        self.begin(thread, at, Some(waker));
    }

    /// A new invocation is released.
    fn begin(&mut self, thread: usize, at: u64, waker: Option<Code>) {
        let state = &mut self.threads.states[thread];
        if let Some(before) = state.released {
            state.streams.interval.push(at.saturating_sub(before));
        }
        state.released = Some(at);
        if let Some(waker) = waker {
            let taken = Taken::once(waker, DelayKind::NotWoken, 0);
            state.totals.wakers.add(taken);
        }
        let invocation = &mut state.invocation;
        (invocation.open, invocation.sound, invocation.started) = (true, true, false);
        (invocation.release, invocation.start, invocation.finish) = (at, at, at);
        invocation.running_before = state.totals.running;
        invocation.waker = waker;
    }

    /// An invocation is over, or all that was seen of it.
    fn close(&mut self, thread: usize) {
        let state = &self.threads.states[thread];
        let invocation = &state.invocation;
        if !invocation.open {
            return;
        }
        let complete = invocation.sound && invocation.started;
        let execution = state.totals.running - invocation.running_before;
        let response = invocation.finish.saturating_sub(invocation.release);
        let deadline = state.given.map(|period| invocation.release.saturating_add(period));
        let late = deadline.map_or(0, |deadline| invocation.finish.saturating_sub(deadline));
        let missed = complete && late > 0 && !state.is_marked;
        let blocking = if complete {
            blocking(state.priority, invocation.delays.iter(), &self.threads.states)
        } else {
            None
        };
        let wanted = self.wanted.is_some_and(|wanted| wanted.of == Of::Thread(state.tid));
        if missed || wanted {
            let job = Job {
                tid: state.tid,
                track: None,
                number: invocation.number,
                release_ns: invocation.release,
                start_ns: invocation.start,
                finish_ns: invocation.finish,
                deadline_ns: deadline,
                execution_ns: execution,
                delays: super::assemble::delays(&invocation.delays, &self.threads.states),
                complete,
            };
            self.keep(job, if missed { late } else { 0 }, wanted);
        }
        let state = &mut self.threads.states[thread];
        let (totals, streams) = (&mut state.totals, &mut state.streams);
        let invocation = &mut state.invocation;
        totals.culprits.add_all(&invocation.delays);
        if complete {
            streams.execution.push(execution);
            streams.latency.push(invocation.start.saturating_sub(invocation.release));
            streams.response.push(response);
            if let Some(blocking) = blocking {
                streams.blocking.push(blocking);
            }
        } else {
            totals.incomplete += 1;
        }
        totals.missed += u64::from(missed);
        invocation.open = false;
        invocation.number += 1;
        invocation.delays.clear();
    }

    fn interrupt_entry(&mut self, at: u64, c: usize, interrupt: Interrupt) {
        if self.cpus[c].depth == 0 {
            self.account(c, at);
            self.cpus[c].interrupt = Code::interrupt(interrupt);
        }
        self.cpus[c].depth = self.cpus[c].depth.saturating_add(1);
    }

    fn interrupt_exit(&mut self, at: u64, c: usize) {
        match self.cpus[c].depth {
            // It began before the recording, or in a gap.
            0 => {}
            1 => self.end_interrupt(c, at),
            _ => self.cpus[c].depth -= 1,
        }
    }

    /// The outermost interrupt is over.
    #[inline]
    fn end_interrupt(&mut self, c: usize, at: u64) {
        let cpu = &mut self.cpus[c];
        if cpu.depth == 0 {
            return;
        }
        cpu.depth = 0;
        let length = at.saturating_sub(cpu.since);
        let (current, code) = (cpu.current, cpu.interrupt);
        let full = length > 0 && cpu.lately.push(cpu.since, at, code);
        cpu.since = at;
        cpu.interrupts += length;
        match current.as_thread() {
            Some(thread) => {
                cpu.busy += length;
                self.threads.states[thread].totals.interrupted += length;
                self.delay(thread, Taken::once(code, DelayKind::Interrupted, length));
            }
            None if current == Code::IDLE => cpu.idle += length,
            None => {}
        }
        if full {
            self.bring_up_to_date(c, at);
        }
    }

    /// The next entry of a track is due.
    fn mark(&mut self, track: usize) {
        let Some(entry) = self.marks.take(track) else { return };
        if !matches!(entry.kind, Kind::Start | Kind::Finish | Kind::Lost) {
            return;
        }
        let at = entry.at.nanos();
        let thread = self.threads.at(Tid(self.marks.tasks[track].tid), at);
        self.identify(thread);
        let state = &self.threads.states[thread];
        let running = match self.cpus.get(usize::from(state.cpu)) {
            Some(cpu) if state.mode == Mode::Running && cpu.depth == 0 => {
                state.totals.running + at.saturating_sub(cpu.since)
            }
            _ => state.totals.running,
        };
        match entry.kind {
            Kind::Start => {
                self.marks.start(track, thread, &entry, &mut self.threads.states[thread], running)
            }
            Kind::Finish => self.marked_job(track, thread, &entry, running),
            _ => {
                self.lost += entry.a;
                self.marks.lose(track, &mut self.threads.states[thread]);
            }
        }
    }

    fn marked_job(&mut self, track: usize, thread: usize, entry: &Entry, running: u64) {
        let states = &mut self.threads.states;
        let priority = states[thread].priority;
        let open = self.marks.tasks[track].open.as_ref();
        let blocking = open.and_then(|open| blocking(priority, open.delays.iter(), states));
        let Some((job, late)) = self.marks.finish(track, entry, states, thread, running, blocking)
        else {
            return;
        };
        let wanted = self.wanted.is_some_and(|wanted| wanted.of == Of::Track(track));
        self.keep(job, late, wanted);
    }

    /// Counts and keeps a job that was missed, and one that is wanted.
    fn keep(&mut self, job: Job, late: u64, wanted: bool) {
        let wanted = wanted && self.wants(job.release_ns, job.finish_ns);
        let missed = late > 0 && self.misses.len() < MISSES_MAX;
        self.missed += u64::from(late > 0);
        if missed {
            let job = job.clone();
            self.misses.push(Miss {
                name: String::new(),
                job,
                late_ns: late,
                explanation: String::new(),
            });
        }
        if wanted {
            self.jobs.push(job);
        }
    }

    /// Whether a job of the wanted thread or task is to be kept.
    fn wants(&self, release: u64, finish: u64) -> bool {
        self.wanted.is_some_and(|wanted| {
            self.jobs.len() < wanted.max && finish >= wanted.from_ns && release <= wanted.to_ns
        })
    }

    /// What the caller and an earlier pass know of a thread that is seen for the first time.
    fn identify(&mut self, thread: usize) {
        let state = &self.threads.states[thread];
        if state.is_identified {
            return;
        }
        let (tid, from) = (state.tid, state.from);
        let names = self.threads.names(state, u64::MAX);
        let given = self.options.periods.iter().find(|(who, _)| match who {
            Who::Tid(number) => *number == tid,
            Who::Name(name) => names.contains(&name.as_str()),
        });
        let given = given.map(|(_, period)| period.nanos().max(1).unsigned_abs());
        let hints = &self.known.periods;
        let hint = hints
            .iter()
            .find(|(number, since, _)| (*number, *since) == (tid, from))
            .map(|hint| hint.2);
        let is_marked = self.marks.tasks.iter().any(|task| task.tid == tid && task.has_jobs);
        let state = &mut self.threads.states[thread];
        (state.given, state.hint, state.is_marked) = (given, hint, is_marked);
        state.is_identified = true;
    }
}

/// How long less urgent threads held up a job; nothing where priorities are not known.
#[inline]
fn blocking<'a>(
    own: i16,
    delays: impl Iterator<Item = &'a Taken>,
    states: &[State],
) -> Option<u64> {
    if own == PRIORITY_UNKNOWN {
        return None;
    }
    let less_urgent = |taken: &&Taken| {
        let other = taken.code.as_thread().map_or(PRIORITY_UNKNOWN, |other| states[other].priority);
        other != PRIORITY_UNKNOWN
            && other > own
            && matches!(
                taken.kind,
                DelayKind::BeforeStart | DelayKind::Preempted | DelayKind::Blocked
            )
    };
    Some(delays.filter(less_urgent).map(|taken| taken.ns).sum())
}
