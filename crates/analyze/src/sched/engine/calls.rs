//! System calls, from entry to return: the thread may wait meanwhile, and go on on another processor.

use super::Engine;

/// The number with which the kernel states the return from a signal handler.
const FROM_HANDLER: u16 = u16::MAX;

impl Engine<'_> {
    /// A thread enters a system call.
    pub(super) fn call(&mut self, thread: usize, at: u64, number: u16) {
        self.end_call(thread, at, None);
        let state = &mut self.threads.states[thread];
        state.totals.calls += 1;
        state.call = Some((number, at));
        if let Some(follower) = &mut self.follower {
            follower.call(thread, at, Some(number));
        }
    }

    /// A thread returns from a system call, or is out of sight from then on.
    pub(super) fn end_call(&mut self, thread: usize, at: u64, returned: Option<u16>) {
        let Some((number, entered)) = self.threads.states[thread].call.take() else { return };
        let is_same = returned.is_some_and(|of| of == number || of == FROM_HANDLER);
        // In a gap it may have returned, and have entered the same call again.
        let has_gap = self.gaps.until > entered;
        let end = if has_gap { self.gaps.first_after(entered, at).max(entered) } else { at };
        if self.aim.has_figures() {
            let called = self.threads.states[thread].totals.called.get_or_insert_default();
            let called = called.entry(number).or_default();
            if is_same && !has_gap {
                called.lengths.push(at.saturating_sub(entered));
            } else {
                called.incomplete += 1;
            }
        }
        if let Some(follower) = &mut self.follower {
            follower.call(thread, end, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use hemiola_trace::Recording;
    use hemiola_trace::sched::{Context, Event, Left, Tid, What};
    use hemiola_units::Instant;

    use crate::sched::{MarkKind, MarkReport, Options, analyze};
    use crate::timeline::{State, Subject, Timeline};

    const SEVEN: Tid = Tid(7);

    fn recording(events: &[(u64, u16, What)]) -> Recording {
        let event = |&(at, cpu, what)| Event { at: Instant::from_nanos(at), cpu, what };
        Recording::new(events.iter().map(event).collect(), Vec::new(), Vec::new())
    }

    fn switch(prev: Tid, next: Tid) -> What {
        What::Switch { prev, left: Left::Sleeping, next, priority: 120 }
    }

    fn wake(target: u16) -> What {
        What::Wake { tid: SEVEN, waker: Tid::IDLE, context: Context::Interrupt, target }
    }

    /// A call that waits and returns on another processor, one without a return, one with another return, and a return
    /// without a call.
    fn calls() -> Recording {
        recording(&[
            (100, 0, switch(Tid::IDLE, SEVEN)),
            (110, 0, What::CallExit(3)),
            (200, 0, What::CallEntry(0)),
            (300, 0, switch(SEVEN, Tid::IDLE)),
            (400, 1, wake(1)),
            (500, 1, switch(Tid::IDLE, SEVEN)),
            (700, 1, What::CallExit(0)),
            (710, 1, What::CallEntry(1)),
            (720, 1, What::CallExit(1)),
            (730, 1, What::CallEntry(1)),
            (740, 1, What::CallEntry(202)),
            (750, 1, What::CallExit(9)),
            (800, 1, What::CallEntry(15)),
            (810, 1, What::CallExit(u16::MAX)),
            (900, 1, switch(SEVEN, Tid::IDLE)),
        ])
    }

    fn brief(recording: &Recording) -> Vec<(String, u64, u64, u64)> {
        let report = analyze(recording, &Options::default());
        let calls = report.marks.iter().filter(|mark| mark.kind == MarkKind::Call);
        let brief = |mark: &MarkReport| {
            let most = mark.duration_ns.as_ref().map_or(0, |of| of.max);
            (mark.name.clone(), mark.count, mark.incomplete, most)
        };
        calls.map(brief).collect()
    }

    #[test]
    fn a_call_lasts_until_its_return_wherever_the_thread_goes_on() {
        let named =
            |name: &str, count, incomplete, most| (name.to_owned(), count, incomplete, most);
        assert_eq!(
            brief(&calls()),
            [
                named("read", 1, 0, 500),
                named("rt_sigreturn", 1, 0, 10),
                named("write", 1, 1, 10),
                named("futex", 0, 1, 0),
            ]
        );
    }

    #[test]
    fn a_call_around_a_gap_has_no_length() {
        let recording = recording(&[
            (100, 0, switch(Tid::IDLE, SEVEN)),
            (200, 0, What::CallEntry(0)),
            (300, 0, switch(SEVEN, Tid::IDLE)),
            (600, 1, switch(Tid(9), Tid::IDLE)),
            (800, 1, What::Lost(3)),
            (900, 0, wake(0)),
            (950, 0, switch(Tid::IDLE, SEVEN)),
            (990, 0, What::CallExit(0)),
            (999, 0, switch(SEVEN, Tid::IDLE)),
        ]);
        assert_eq!(brief(&recording), [("read".to_owned(), 0, 1, 0)]);
    }

    #[test]
    fn calls_are_slices_below_their_thread() {
        let timeline = Timeline::build(&calls());
        let [row] = timeline.slice_rows().collect::<Vec<_>>()[..] else { panic!("one row") };
        let thread = timeline.thread_rows().next().unwrap();
        let subject =
            Subject::Slices { below: Some(thread), pid: 0, name: "system calls".into(), depth: 0 };
        assert_eq!(timeline.rows[row].subject, subject);
        let track = &timeline.rows[row].track;
        let all = (0..track.len()).map(|index| track.segment(index));
        let slices = all.filter(|segment| segment.state == State::Running);
        let brief = |of: crate::timeline::Segment| {
            (of.from, of.to, timeline.names[of.key as usize].clone())
        };
        let named = |from, to, name: &str| (from, to, name.to_owned());
        assert_eq!(
            slices.map(brief).collect::<Vec<_>>(),
            [
                named(200, 700, "read"),
                named(710, 720, "write"),
                named(730, 740, "write"),
                named(740, 750, "futex"),
                named(800, 810, "rt_sigreturn"),
            ]
        );
    }

    #[test]
    fn another_machine_has_other_numbers() {
        let mut recording = calls();
        recording.conditions.push(("architecture".into(), "aarch64".into()));
        assert_eq!(brief(&recording)[0].0, "system call 0");
    }
}
