//! Threads under `SCHED_DEADLINE`: the kernel replenishes a reservation without an event, so the moment follows from
//! the threads that ran before and from the period.

use super::Engine;
use crate::sched::culprits::Taken;
use crate::sched::follow::Doing;
use crate::sched::report::DelayKind;
use crate::sched::tally::Code;
use crate::sched::threads::{Mode, State};

impl Engine<'_> {
    /// A throttled thread runs again: until its reservation was replenished it was throttled, then it waited.
    pub(super) fn replenished(&mut self, thread: usize, at: u64, c: usize) {
        let again = self.ready_since(thread, at, c);
        let state = &mut self.threads.states[thread];
        let throttled = again.saturating_sub(state.since);
        (state.mode, state.since, state.cpu) = (Mode::Ready, again, c as u16);
        state.replenish();
        self.becomes(thread, again, Doing::Woken(Code::RESERVATION));
        let state = &mut self.threads.states[thread];
        if self.gaps.until > state.since {
            state.cut();
            return;
        }
        state.totals.throttled += throttled;
        self.delay(thread, Taken::once(Code::RESERVATION, DelayKind::Throttled, throttled));
    }

    /// A thread that had yielded runs again: its next job was released when its reservation was replenished.
    pub(super) fn next_period(&mut self, thread: usize, at: u64, c: usize) {
        let released = self.ready_since(thread, at, c);
        self.resume(thread, released, Code::RESERVATION);
        let state = &mut self.threads.states[thread];
        (state.mode, state.since, state.cpu) = (Mode::Ready, released, c as u16);
        (state.has_yielded, state.replenished_at) = (false, state.totals.running);
    }

    /// Since when a thread whose reservation had been used up was ready, at the moment at which it runs again: if a
    /// less urgent thread ran before it, since then. If others under `SCHED_DEADLINE` did, since its period began, or
    /// as long as they ran.
    fn ready_since(&self, thread: usize, at: u64, c: usize) -> u64 {
        let states = &self.threads.states;
        let is_urgent = |code: Code| code.as_thread().is_some_and(|of| states[of].priority < 0);
        let State { since, reservation, invocation, .. } = &states[thread];
        let lately = self.cpus.get(c).map_or(at, |cpu| cpu.lately.since(at, is_urgent));
        let earliest = lately.clamp(*since, at);
        let period = reservation.map_or(0, |reservation| reservation.period_ns);
        let periods = at.saturating_sub(invocation.release).checked_div(period).unwrap_or(0);
        let begun = invocation.release.saturating_add(periods.saturating_mul(period));
        if begun > earliest { begun } else { earliest }
    }
}
