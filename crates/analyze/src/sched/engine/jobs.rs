//! Where invocations and marked jobs begin, go on, and end.

use hemiola_trace::perfetto::Track;
use hemiola_trace::sched::{PRIORITY_UNKNOWN, Tid};
use hemiola_trace::{Entry, EventKind};

use super::{Aim, Engine};
use crate::sched::asked::{Each, Means};
use crate::sched::blame::{self, Waited};
use crate::sched::culprits::Taken;
use crate::sched::follow::{Doing, Several};
use crate::sched::marks::Task;
use crate::sched::observed::{ManyJobs, Observed, Series};
use crate::sched::report::{DelayKind, Job, Miss};
use crate::sched::tally::{Code, Woken};
use crate::sched::threads::{Late, Mode, State, Times};
use crate::sched::{MISSES_MAX, Of, Who};

impl Engine<'_> {
    /// A thread wakes up: its invocation continues, or a new one begins.
    pub(super) fn resume(&mut self, thread: usize, at: u64, waker: Code) {
        let state = &mut self.threads.states[thread];
        let asleep = at.saturating_sub(state.since);
        let seen = state.mode != Mode::Unseen && self.gaps.until <= state.since;
        let may_go_on =
            seen && state.invocation.open && (state.mode == Mode::Blocked || !state.is_startup());
        let is_asleep = seen && state.mode == Mode::Sleeping;
        let means = if is_asleep { self.woken(thread, at) } else { Means::Anything };
        let state = &mut self.threads.states[thread];
        let goes_on = may_go_on
            && match state.mode {
                Mode::Blocked => true,
                _ if state.is_marked => !state.open_marks.is_empty(),
                _ if state.has_yielded => false,
                _ => match means {
                    Means::Instant | Means::Within | Means::Doubtful => true,
                    Means::Due(_) | Means::Early => false,
                    Means::Anything => {
                        let is_within = state.is_within_job(at);
                        let is_answered = !is_within && state.is_answered(waker);
                        if is_answered {
                            state.totals.answered = state.totals.answered.max(asleep);
                        }
                        is_within || is_answered
                    }
                },
            };
        let has_asked = matches!(means, Means::Due(_) | Means::Early | Means::Instant);
        state.slept = if is_asleep && !has_asked { asleep } else { 0 };
        let by_interrupt = waker == Code::INTERRUPT;
        match means {
            _ if state.mode == Mode::Blocked || (state.is_marked && goes_on) => {}
            Means::Due(due) => state.finder.wake(due, by_interrupt),
            Means::Instant | Means::Within | Means::Doubtful if goes_on => {}
            // A thread that asks has the period of what it asks for.
            _ if state.asked.is_some() => {}
            _ => state.finder.wake(at, by_interrupt),
        }
        if self.aim == Aim::Attempt && state.awaits_another_pass() {
            self.aim = Aim::Draft;
        }
        if goes_on && means == Means::Instant {
            self.woken_at_once(thread, at, asleep, waker);
            return;
        }
        if goes_on {
            state.totals.blocked += asleep;
            let since = std::mem::replace(&mut state.since, at);
            let longest = |other: usize| self.threads.states[other].waits.longest_in(since, at);
            let mut taken = blame::asleep(thread, waker, asleep, longest);
            taken.meanwhile.urgent = self.urgent_within(thread, since, at);
            self.delay(thread, taken);
            self.becomes(thread, at, Doing::Woken(waker));
            return;
        }
        if seen {
            state.totals.sleeping += asleep;
        } else {
            state.finder.forget();
            state.released = None;
            // Nobody knows what else it has asked for meanwhile.
            if let Some(asked) = &mut state.asked {
                asked.cut();
            }
            if state.mode == Mode::Blocked || !state.open_marks.is_empty() {
                state.cut();
            }
        }
        state.since = at;
        self.close(thread);
        let state = &mut self.threads.states[thread];
        let known = state.known();
        if let Some(asked) = &mut state.asked {
            match means {
                Means::Due(due) => asked.release(due, at, known),
                _ => asked.is_released_otherwise(),
            }
        }
        self.begin(thread, at, Some(waker));
        self.becomes(thread, at, Doing::Woken(waker));
    }

    /// A new invocation is released.
    pub(super) fn begin(&mut self, thread: usize, at: u64, waker: Option<Code>) {
        let state = &mut self.threads.states[thread];
        // Of a thread that asks, only what it asks for are releases.
        let released = state.asked.as_ref().map_or(Some(at), |asked| asked.due());
        if let Some((before, released)) = state.released.zip(released) {
            let interval = released.saturating_sub(before);
            // The first wake-up after the start-up may have been for the creation of other threads.
            let is_starting = std::mem::take(&mut state.is_starting);
            if self.aim != Aim::Follower && !is_starting {
                state.observed.push(Series::Interval, interval, &mut self.many);
            }
        }
        state.released = released;
        if let Some(waker) = waker {
            if self.aim.has_figures() {
                state.totals.wakers.add(Woken { by: waker, times: 1 });
            }
            state.released_by_interrupts += u64::from(waker == Code::INTERRUPT);
            state.released_by_reservation += u64::from(waker == Code::RESERVATION);
            state.releases += 1;
        }
        let invocation = &mut state.invocation;
        (invocation.open, invocation.sound, invocation.started) = (true, true, false);
        (invocation.release, invocation.start, invocation.finish) = (at, at, at);
        invocation.running_before = state.totals.running;
        state.replenished_at = state.totals.running;
        invocation.waker = waker;
        if let Some(follower) = &mut self.follower {
            follower.release(thread);
        }
    }

    /// Ends an invocation, complete or not.
    pub(super) fn close(&mut self, thread: usize) {
        if !self.threads.states[thread].invocation.open {
            return;
        }
        self.end_in_doubt(thread);
        let state = &mut self.threads.states[thread];
        let last_delays = state.join_delays();
        let ended_at = state.asked.as_mut().and_then(|asked| asked.ended_at.take());
        let running = ended_at.unwrap_or(state.totals.running);
        let state = &self.threads.states[thread];
        let invocation = &state.invocation;
        let seen = invocation.sound && invocation.started;
        let is_startup = state.is_startup();
        // Whether a start-up is a job turns out at the end.
        let complete = seen && !is_startup;
        let execution = running.saturating_sub(invocation.running_before);
        let jobs = state.jobs_of_invocation();
        let is_reserved = state.reservation.is_some();
        let over = state.asked.as_ref().filter(|asked| asked.count_over() > 0);
        if let Some(follower) = &mut self.follower {
            follower.close(thread, complete);
            match over {
                _ if !complete => {}
                Some(asked) => {
                    asked.over.iter().for_each(|over| follower.over(thread, over.finish, over.next))
                }
                None if jobs.released == 1 => {}
                None => {
                    let usual = state.totals.usual;
                    let [count, execution, execution_max] =
                        jobs.executions(invocation, execution, usual, is_reserved);
                    let release = invocation.release;
                    let several = Several { release, jobs: count, execution, execution_max };
                    follower.several(thread, several);
                }
            }
        }
        let is_unknown = jobs.period == 0 && !state.is_marked;
        let length = invocation.finish.saturating_sub(invocation.release);
        let deadline = state.deadline().map(|after| invocation.release.saturating_add(after));
        let late = state.deadline().filter(|_| complete && !state.is_marked);
        let late = late.and_then(|after| match over {
            Some(asked) => asked.late(invocation, after),
            None => jobs.late(invocation, after),
        });
        let waits = if complete {
            waited(state.priority, invocation.delays.iter(), &self.threads.states)
        } else {
            Waited::default()
        };
        let wanted = self.wanted.is_some_and(|wanted| wanted.of == Of::Thread(state.tid));
        if late.is_some() || wanted {
            let job = Job {
                tid: state.tid,
                track: None,
                number: invocation.number,
                release_ns: invocation.release,
                start_ns: invocation.start,
                finish_ns: invocation.finish,
                deadline_ns: deadline,
                execution_ns: execution,
                delays: invocation.delays.delays(|index| self.threads.states[index].tid),
                complete,
            };
            match over.filter(|_| wanted && complete) {
                Some(asked) => {
                    let each = asked.each(invocation, &last_delays, running);
                    let each: Vec<Job> = each
                        .enumerate()
                        .map(|(place, of)| self.one_of(thread, &job, place as u64, &of))
                        .collect();
                    self.keep(job, late, false);
                    each.into_iter().for_each(|job| self.keep(job, None, true));
                }
                None => self.keep(job, late, wanted),
            }
        }
        if is_startup {
            self.start_up(thread, execution, seen);
            return;
        }
        let state = &mut self.threads.states[thread];
        if is_unknown {
            state.longest_unknown = state.longest_unknown.max(length);
        }
        let is_later = std::mem::replace(&mut state.has_jobs, true);
        if complete && is_later {
            let shortest = state.shortest_later.map_or(execution, |other| other.min(execution));
            state.shortest_later = Some(shortest);
        }
        let (totals, observed) = (&mut state.totals, &mut state.observed);
        let invocation = &state.invocation;
        let over = state.asked.as_ref().filter(|asked| asked.count_over() > 0);
        totals.culprits.add_all(&invocation.delays);
        if complete {
            if over.is_none() && jobs.released == 1 {
                totals.usual = [totals.usual[1], execution];
            }
            if self.aim.has_figures() {
                let latency = invocation.start.saturating_sub(invocation.release);
                observed.push(Series::Latency, latency, &mut self.many);
                totals.overran += over.map_or(jobs.released - 1, |asked| asked.overran());
                if let Some(asked) = over {
                    push_jobs(observed, &mut self.many, asked.times(invocation, running));
                } else if jobs.released == 1 {
                    observed.push(Series::Response, length, &mut self.many);
                    observed.push(Series::Execution, execution, &mut self.many);
                } else if jobs.count == 1 {
                    let [_, mean, _] =
                        jobs.executions(invocation, execution, totals.usual, is_reserved);
                    observed.push(Series::Execution, mean, &mut self.many);
                    observed.push(Series::Response, length, &mut self.many);
                } else {
                    let times = jobs.times(invocation, execution, totals.usual);
                    push_jobs(observed, &mut self.many, times);
                }
            }
            let mut push = |interval| observed.push(Series::Interval, interval, &mut self.many);
            match over {
                _ if self.aim == Aim::Follower => {}
                Some(asked) => asked.intervals(state.released).for_each(push),
                None => (1..jobs.count).for_each(|_| push(jobs.period)),
            }
            if let Some(last) = over.and_then(|asked| asked.over.last()) {
                state.released = Some(last.next);
            } else if jobs.count > 1 {
                state.released = Some(jobs.last_release(invocation.release));
            }
            if let Some(blocking) = waits.blocking.filter(|_| self.aim.has_figures()) {
                observed.push(Series::Blocking, blocking, &mut self.many);
            }
            totals.suspension = totals.suspension.max(waits.suspension);
        } else {
            totals.incomplete += 1;
            totals.part = totals.part.max(length);
        }
        totals.missed += late.map_or(0, |late| late.missed);
        state.end_invocation(jobs.count);
    }

    /// One of the jobs of an invocation, which is told as one in `all`.
    fn one_of(&self, thread: usize, all: &Job, place: u64, of: &Each<'_>) -> Job {
        let Each { release, start, finish, execution, delays } = *of;
        let mut delays = delays.clone();
        if place > 0 && start > release {
            delays.add(Taken::once(Code::thread(thread), DelayKind::Earlier, start - release));
        }
        let after = all.deadline_ns.map(|deadline| deadline.saturating_sub(all.release_ns));
        Job {
            number: all.number + place,
            release_ns: release,
            start_ns: start,
            finish_ns: finish,
            deadline_ns: after.map(|after| release.saturating_add(after)),
            execution_ns: execution,
            delays: delays.delays(|index| self.threads.states[index].tid),
            ..*all
        }
    }

    /// Ends an invocation in which a thread started up. It is no job of a periodic thread, because no release began it.
    fn start_up(&mut self, thread: usize, execution: u64, seen: bool) {
        let State { tid, until, .. } = self.threads.states[thread];
        let finish = self.threads.states[thread].invocation.finish;
        let named_next = self.threads.next_name(Tid(tid), finish, until);
        let state = &mut self.threads.states[thread];
        state.named_next = named_next;
        let invocation = &state.invocation;
        state.totals.culprits.add_all(&invocation.delays);
        let times = Times {
            release: invocation.release,
            latency: invocation.start.saturating_sub(invocation.release),
            response: invocation.finish.saturating_sub(invocation.release),
            execution,
        };
        state.end_invocation(1);
        if seen {
            state.started_up(times);
        } else {
            state.totals.incomplete += 1;
        }
    }

    /// The start-up of a thread that has no period so far is a job like any other.
    pub(super) fn push_startup(&mut self, thread: usize) {
        let state = &mut self.threads.states[thread];
        if state.period().is_some() || !self.aim.has_figures() {
            state.totals.startup = None;
        }
        let Some(times) = &state.totals.startup else { return };
        let Times { release, latency, response, execution } = **times;
        state.observed.push(Series::Latency, latency, &mut self.many);
        push_jobs(&mut state.observed, &mut self.many, [(response, execution)].into_iter());
        let is_it = |job: &&mut Job| job.tid == state.tid && job.release_ns == release;
        if let Some(job) = self.jobs.iter_mut().find(is_it) {
            job.complete = true;
        }
    }

    /// The next entry of a track is due.
    pub(super) fn mark(&mut self, track: usize) {
        let Some(entry) = self.marks.take(track) else { return };
        if !matches!(entry.kind, EventKind::Start | EventKind::Finish | EventKind::Lost) {
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
            EventKind::Start => {
                self.marks.start(track, thread, &entry, &mut self.threads.states[thread], running)
            }
            EventKind::Finish => self.marked_job(track, thread, &entry, running),
            _ => {
                self.lost += entry.a;
                self.marks.lose(track, &mut self.threads.states[thread]);
            }
        }
    }

    pub(super) fn marked_job(&mut self, track: usize, thread: usize, entry: &Entry, running: u64) {
        let states = &mut self.threads.states;
        let priority = states[thread].priority;
        let open = self.marks.tasks[track].open.as_ref();
        let waits =
            open.map(|open| waited(priority, open.delays.iter(), states)).unwrap_or_default();
        let Some((job, late)) = self.marks.finish(track, entry, states, thread, running, waits)
        else {
            return;
        };
        if let Some(follower) = &mut self.follower {
            follower.marked(track, job.start_ns, job.complete);
        }
        let wanted = self.wanted.is_some_and(|wanted| wanted.of == Of::Track(track));
        self.keep(job, Late::of_one(late), wanted);
    }

    /// Counts and keeps a job that missed its deadline, or several in one invocation, and a job that the caller wants.
    pub(super) fn keep(&mut self, job: Job, late: Option<Late>, wanted: bool) {
        let wanted = wanted && self.wants(job.release_ns, job.finish_ns);
        self.missed += late.map_or(0, |late| late.missed);
        if let Some(late) = late.filter(|_| self.misses.len() < MISSES_MAX) {
            self.misses.push(Miss {
                name: String::new(),
                job: job.clone(),
                late_ns: late.ns,
                jobs: late.jobs,
                missed: late.missed,
                last_late_ns: late.last_ns,
                explanation: String::new(),
            });
        }
        if wanted {
            self.jobs.push(job);
        }
    }

    /// Whether to keep a job of the wanted thread or task.
    pub(super) fn wants(&self, release: u64, finish: u64) -> bool {
        self.wanted.is_some_and(|wanted| {
            self.jobs.len() < wanted.max && finish >= wanted.from_ns && release <= wanted.to_ns
        })
    }

    /// Looks up what the caller and the first pass know about a thread that appears for the first time.
    pub(super) fn identify(&mut self, thread: usize) {
        let state = &self.threads.states[thread];
        if state.is_identified {
            return;
        }
        let (tid, from) = (state.tid, state.from);
        let mut names = self.threads.names(state, u64::MAX);
        if state.is_created && names.len() > 1 {
            names.remove(0);
        }
        let given = self.options.periods.iter().find(|(who, _)| match who {
            Who::Tid(number) => *number == tid,
            Who::Name(name) => names.contains(&name.as_str()),
        });
        let given = given.map(|(_, period)| period.nanos().max(1).unsigned_abs());
        let hints = &self.known.periods;
        let hint = hints.binary_search_by_key(&(tid, from), |(tid, from, _)| (*tid, *from));
        let hint = hint.ok().map(|place| hints[place].2);
        let until = state.until;
        let is_own = |(task, track): (&Task<'_>, &Track)| {
            let at = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.at.nanos());
            let (first, last) = (at(track.entries.first()), at(track.entries.last()));
            task.tid == tid && task.has_jobs && first < until && last >= from
        };
        let mut tasks = self.marks.tasks.iter().zip(&self.recording.tracks);
        let is_marked = tasks.any(is_own);
        let reservation = self.reservations.get(&tid).copied();
        let state = &mut self.threads.states[thread];
        (state.given, state.hint, state.is_marked) = (given, hint, is_marked);
        let others = &self.known.not_asking;
        let other = others.binary_search_by_key(&(tid, from), |(tid, from, _)| (*tid, *from));
        state.not_asking = other.ok().map(|place| others[place].2);
        state.reservation = reservation;
        state.is_identified = true;
    }
}

/// Adds the times of the jobs of an invocation, but for the intervals between them.
#[inline]
fn push_jobs(
    observed: &mut Observed,
    many: &mut Option<ManyJobs>,
    times: impl Iterator<Item = (u64, u64)>,
) {
    for (response, execution) in times {
        observed.push(Series::Response, response, many);
        observed.push(Series::Execution, execution, many);
    }
}

/// How long a job of that priority had to wait for others than more urgent threads.
#[inline]
fn waited(own: i16, delays: impl Iterator<Item = Taken>, states: &[State]) -> Waited {
    let is_less_urgent = |code: Code| {
        let other = code.as_thread().map_or(PRIORITY_UNKNOWN, |other| states[other].priority);
        other != PRIORITY_UNKNOWN && other > own
    };
    Waited::of(delays, (own != PRIORITY_UNKNOWN).then_some(is_less_urgent))
}
