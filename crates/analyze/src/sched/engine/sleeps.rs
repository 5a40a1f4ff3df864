//! Threads that say until when they sleep.

use super::Engine;
use crate::sched::asked::{Asked, Doubt, Means};
use crate::sched::culprits::Taken;
use crate::sched::follow::Doing;
use crate::sched::report::DelayKind;
use crate::sched::tally::Code;

impl Engine<'_> {
    /// The running thread asks to sleep until a time: its job is over, and the next one is released then.
    pub(super) fn sleep_until(&mut self, thread: usize, at: u64, c: usize, until: u64) {
        let state = &self.threads.states[thread];
        // Marks tell more.
        if state.is_marked || state.not_asking.is_some() || self.cpus[c].depth > 0 {
            return;
        }
        self.account(c, at);
        let state = &mut self.threads.states[thread];
        let running = state.totals.running;
        // A wake-up before was for a time that has passed.
        state.woken_early = None;
        state.settle(at, running);
        let starts_up = state.starts_up_until(at);
        let begins_anew = starts_up || !state.invocation.sound;
        if !starts_up && !state.invocation.sound {
            state.seen_late_by(at.checked_sub(until));
        }
        if state.asked.is_none() {
            // The releases before were wake-ups, which may be late.
            state.released = None;
            state.finder.forget();
        }
        let period = state.period();
        let starts_here = starts_up || state.is_created || state.totals.startup.is_some();
        let is_before_jobs =
            starts_up && state.is_created && state.invocation.sound && !state.has_jobs;
        let asked = state.asked.get_or_insert_with(|| match starts_here {
            true => Box::new(Asked::first(is_before_jobs)),
            false => Box::new(Asked::resumed()),
        });
        let is_unclear = asked.is_unclear_until(until, period);
        if asked.is_due_until(until, period) && !is_unclear {
            asked.doubt = None;
        } else if asked.doubt.is_some() {
            if !is_unclear {
                asked.is_released_otherwise();
            }
            self.close(thread);
            self.begin(thread, at, None);
            let state = &mut self.threads.states[thread];
            (state.invocation.started, state.since) = (true, at);
            state.cut();
            self.becomes(thread, at, Doing::Running(c as u16));
        }
        let state = &mut self.threads.states[thread];
        state.rejoin();
        let asked = state.asked.get_or_insert_default();
        asked.delays = std::mem::take(&mut state.invocation.delays);
        asked.ask(at, running, until, period);
        if until <= at && (begins_anew || asked.is_full()) {
            self.begin_at_once(thread, at, c, until);
        }
    }

    /// A job is over, and the next one is released and begins without a sleep.
    fn begin_at_once(&mut self, thread: usize, at: u64, c: usize, release: u64) {
        self.threads.states[thread].invocation.finish = at;
        self.close(thread);
        let state = &mut self.threads.states[thread];
        let known = state.known();
        if let Some(asked) = &mut state.asked {
            asked.is_released(release, known);
        }
        state.finder.wake(release, true);
        self.begin(thread, release, None);
        if let Some(follower) = &mut self.follower {
            follower.over(thread, at, release);
        }
        if at > release {
            let own = Code::thread(thread);
            self.delay(thread, Taken::once(own, DelayKind::Earlier, at - release));
        }
        let state = &mut self.threads.states[thread];
        (state.invocation.started, state.invocation.start, state.since) = (true, at, at);
        self.becomes(thread, at, Doing::Running(c as u16));
    }

    /// A thread wakes up. Notes what that means for the time for which it had asked, if it did.
    #[inline]
    pub(super) fn woken(&mut self, thread: usize, at: u64) -> Means {
        let state = &mut self.threads.states[thread];
        let means = state.means(at);
        if means == Means::Doubtful
            && let Some(asked) = &mut state.asked
            && asked.doubt.is_none()
        {
            let (finish, running) = (state.invocation.finish, state.totals.running);
            let delays = state.invocation.delays.clone();
            asked.doubt = Some(Box::new(Doubt { finish, running, delays }));
        }
        means
    }

    /// Ends a job where it ended if its thread has done something else since.
    pub(super) fn end_in_doubt(&mut self, thread: usize) {
        let state = &mut self.threads.states[thread];
        let Some(doubt) = state.asked.as_mut().and_then(|asked| asked.doubt.take()) else { return };
        let Doubt { finish, running, delays } = *doubt;
        (state.invocation.finish, state.invocation.delays) = (finish, delays);
        if let Some(asked) = &mut state.asked {
            asked.ended_at = Some(running);
        }
        if let Some(follower) = &mut self.follower {
            follower.left(thread, finish);
        }
    }

    /// The thread ends: what it did last may have been more than a job.
    pub(super) fn ends(&mut self, thread: usize, at: u64) {
        self.end_over(thread);
        let state = &mut self.threads.states[thread];
        if state.invocation.open && !state.is_marked && state.period().is_some() {
            state.totals.ended = at.saturating_sub(state.last_release());
            state.invocation.sound = false;
            let slept = std::mem::take(&mut state.slept);
            self.missed += state.is_silent(at, slept);
        }
        self.close_last(thread);
    }

    /// Closes the invocation with which a thread or the recording ends.
    pub(super) fn close_last(&mut self, thread: usize) {
        let part = self.threads.states[thread].totals.part;
        self.close(thread);
        self.threads.states[thread].totals.part = part;
    }

    /// Of an invocation that has not ended at the end of the recording, the jobs that are over count.
    pub(super) fn end_over(&mut self, thread: usize) {
        let state = &mut self.threads.states[thread];
        state.rejoin();
        let invocation = &mut state.invocation;
        let finish = invocation.finish;
        if let Some(asked) = state.asked.as_mut().filter(|_| invocation.open && invocation.sound)
            && let Some(last) = asked.end_over(invocation)
        {
            let delays = std::mem::replace(&mut invocation.delays, last.delays);
            let is_seen = invocation.started;
            // The job that is in doubt is the one that follows.
            let doubt = asked.doubt.take();
            self.close(thread);
            if let Some(follower) = self.follower.as_mut().filter(|_| is_seen) {
                follower.over(thread, last.finish, last.next);
            }
            let state = &mut self.threads.states[thread];
            if let Some(asked) = &mut state.asked {
                asked.doubt = doubt;
            }
            let invocation = &mut state.invocation;
            invocation.delays = delays;
            (invocation.open, invocation.release) = (true, last.next);
            invocation.start = last.finish.max(last.next);
            invocation.finish = finish.max(invocation.start);
            invocation.running_before = last.running;
        }
    }

    /// A thread woke up for an instant after the job that it sleeps in had begun.
    pub(super) fn woken_at_once(&mut self, thread: usize, at: u64, asleep: u64, waker: Code) {
        let state = &mut self.threads.states[thread];
        state.totals.sleeping += asleep;
        state.since = at;
        self.becomes(thread, at, Doing::Woken(waker));
    }
}
