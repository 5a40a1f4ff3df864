//! Accounts for time: running, waiting, and interrupts.

use hemiola_trace::sched::Interrupt;

use super::Engine;
use crate::sched::accounting::Books;
use crate::sched::blame;
use crate::sched::cpu::{Cpu, Shares};
use crate::sched::culprits::Taken;
use crate::sched::report::DelayKind;
use crate::sched::tally::Code;
use crate::sched::threads::{Mode, State, TIME_SHARED, Wait};

impl Engine<'_> {
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
                // A damaged recording may have a thread on two processors at once.
                let running = &mut self.threads.states[thread].totals.running;
                *running = running.saturating_add(length);
            }
            None if cpu.current == Code::IDLE => cpu.idle += length,
            None => {}
        }
        if full {
            self.bring_up_to_date(c, at);
        }
    }

    /// Brings the books of every processor up to a moment, and copies them.
    #[cold]
    pub(super) fn copy(&mut self, at: u64) {
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

    /// Divides the waiting time so far of all threads that wait for a processor, and forgets its recent threads.
    #[cold]
    pub(super) fn bring_up_to_date(&mut self, c: usize, at: u64) {
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
    pub(super) fn waited(&mut self, thread: usize, c: usize, at: u64) {
        let state = &mut self.threads.states[thread];
        let since = state.since;
        if self.gaps.until > since {
            state.cut();
            return;
        }
        state.totals.waiting += at.saturating_sub(since);
        if !self.aim.has_figures() {
            return;
        }
        let is_started = state.invocation.started;
        let Self { cpus, shares, marks, .. } = self;
        divide(cpus.get(c), since, at, shares);
        if let Some(most) = blame::mostly(shares.all()) {
            state.waits.add(Wait { from: since, to: at, most });
        }
        let delays = blame::waiting(shares.longest(), is_started);
        for mark in &state.open_marks {
            delays.clone().for_each(|taken| marks.delay(*mark, taken));
        }
        state.invocation.delays.add_apart(delays);
    }

    /// How long threads more urgent than a real-time thread had its processor between two moments.
    pub(super) fn urgent_within(&mut self, thread: usize, from: u64, to: u64) -> u64 {
        let State { priority, cpu, .. } = self.threads.states[thread];
        if priority >= TIME_SHARED || !self.aim.has_figures() {
            return 0;
        }
        let Self { cpus, shares, threads, .. } = self;
        divide(cpus.get(usize::from(cpu)), from, to, shares);
        let is_urgent =
            |code: Code| code.as_thread().is_some_and(|of| threads.states[of].priority < priority);
        shares.all().iter().filter(|share| is_urgent(share.0)).map(|share| share.1).sum()
    }

    /// Adds a delay to the invocation of a thread and to its marked jobs.
    #[inline]
    pub(super) fn delay(&mut self, thread: usize, taken: Taken) {
        if !self.aim.has_figures() {
            return;
        }
        let state = &mut self.threads.states[thread];
        state.invocation.delays.add(taken);
        for mark in &state.open_marks {
            self.marks.delay(*mark, taken);
        }
    }

    pub(super) fn interrupt_entry(&mut self, at: u64, c: usize, interrupt: Interrupt) {
        if self.cpus[c].depth == 0 {
            self.account(c, at);
            let code = Code::interrupt(interrupt);
            self.cpus[c].interrupt = code;
            if let Some(follower) = &mut self.follower {
                follower.interrupt(c as u16, at, Some(code));
            }
        }
        self.cpus[c].depth = self.cpus[c].depth.saturating_add(1);
    }

    pub(super) fn interrupt_exit(&mut self, at: u64, c: usize) {
        match self.cpus[c].depth {
            // It began before the recording, or in a gap.
            0 => {}
            1 => self.end_interrupt(c, at),
            _ => self.cpus[c].depth -= 1,
        }
    }

    /// The outermost interrupt is over.
    #[inline]
    pub(super) fn end_interrupt(&mut self, c: usize, at: u64) {
        let cpu = &mut self.cpus[c];
        if cpu.depth == 0 {
            return;
        }
        cpu.depth = 0;
        if let Some(follower) = &mut self.follower {
            follower.interrupt(c as u16, at, None);
        }
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
}

/// Divides the time between two moments, the second of which is now, among the threads that had a processor.
#[inline]
fn divide(cpu: Option<&Cpu>, from: u64, to: u64, shares: &mut Shares) {
    shares.clear();
    if let Some(cpu) = cpu {
        // The time since the last switch is not in `lately` yet.
        let open = cpu.since.max(from);
        if to > open {
            shares.add(if cpu.depth > 0 { cpu.interrupt } else { cpu.current }, to - open);
        }
        cpu.lately.shares(from, open.min(to), shares);
    } else {
        shares.add(Code::UNKNOWN, to.saturating_sub(from));
    }
}
