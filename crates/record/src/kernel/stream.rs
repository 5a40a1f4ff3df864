//! The ordered events of one processor: which thread runs, and whether events are missing.

use hemiola_trace::sched::{Event, Tid, What};
use hemiola_units::Instant;

use super::Tally;

/// The state of one processor between two events.
#[derive(Debug)]
pub(super) struct Stream {
    cpu: u16,
    /// The running thread: for wake-ups, and to detect missing switches.
    running: Tid,
    last: Instant,
    online: bool,
}

impl Stream {
    pub(super) const fn new(cpu: u16) -> Self {
        Self { cpu, running: Tid::UNKNOWN, last: Instant::ZERO, online: true }
    }

    pub(super) const fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Returns the running thread, as far as known.
    pub(super) const fn running(&self) -> Tid {
        self.running
    }

    pub(super) const fn is_online(&self) -> bool {
        self.online
    }

    /// Appends the event at `at` to `events`; its time is not earlier than that of the event before it.
    ///
    /// A [`What::Lost`] of unknown number precedes it if the departing thread is not the one that arrived, and a
    /// [`What::Online`] if the processor was offline. The waker of a wake-up is the running thread.
    pub(super) fn push(
        &mut self,
        at: Instant,
        what: What,
        events: &mut Vec<Event>,
        tally: &mut Tally,
    ) {
        let at = at.max(self.last);
        self.last = at;
        let mut push = |what| events.push(Event { at, cpu: self.cpu, what });
        if !self.online && what != What::Online(true) {
            self.online = true;
            push(What::Online(true));
        }
        match what {
            What::Switch { prev, next, .. } => {
                if self.running != Tid::UNKNOWN && self.running != prev {
                    push(What::Lost(0));
                    tally.gaps += 1;
                }
                self.running = next;
                push(what);
            }
            What::Wake { tid, context, target, .. } => {
                push(What::Wake { tid, waker: self.running, context, target });
            }
            What::Lost(count) => {
                self.running = Tid::UNKNOWN;
                push(what);
                tally.lost += u64::from(count);
                tally.gaps += u64::from(count == 0);
                return;
            }
            What::Online(online) => {
                self.running = Tid::UNKNOWN;
                self.online = online;
                push(what);
            }
            _ => push(what),
        }
        tally.events += 1;
    }
}

#[cfg(test)]
mod tests {
    use hemiola_trace::sched::{Context, Left};

    use super::*;

    fn switch(prev: u32, next: u32) -> What {
        What::Switch { prev: Tid(prev), left: Left::Sleeping, next: Tid(next), priority: 120 }
    }

    fn wake(waker: Tid) -> What {
        What::Wake { tid: Tid(9), waker, context: Context::Thread, target: 1 }
    }

    fn check(pushed: &[(u64, What)], expected: &[(u64, What)]) -> Tally {
        let (mut stream, mut events, mut tally) = (Stream::new(1), Vec::new(), Tally::default());
        for (at, what) in pushed {
            stream.push(Instant::from_nanos(*at), *what, &mut events, &mut tally);
        }
        let events: Vec<_> = events.iter().map(|event| (event.at.nanos(), event.what)).collect();
        assert_eq!(events, expected);
        tally
    }

    #[test]
    fn the_waker_is_the_running_thread() {
        let unknown = wake(Tid::UNKNOWN);
        let tally = check(
            &[(1, unknown), (2, switch(0, 7)), (3, unknown)],
            &[(1, unknown), (2, switch(0, 7)), (3, wake(Tid(7)))],
        );
        assert_eq!(tally, Tally { events: 3, ..Tally::default() });
    }

    #[test]
    fn a_switch_from_a_thread_that_did_not_run_shows_a_gap() {
        let tally = check(
            &[(1, switch(0, 7)), (2, switch(8, 0)), (3, What::Lost(4)), (5, switch(3, 4))],
            &[
                (1, switch(0, 7)),
                (2, What::Lost(0)),
                (2, switch(8, 0)),
                (3, What::Lost(4)),
                (5, switch(3, 4)),
            ],
        );
        assert_eq!((tally.events, tally.lost, tally.gaps), (3, 4, 1));
    }

    #[test]
    fn a_returning_processor_is_reported_before_its_first_event() {
        check(
            &[(1, switch(0, 7)), (2, What::Online(false)), (4, switch(0, 9))],
            &[
                (1, switch(0, 7)),
                (2, What::Online(false)),
                (4, What::Online(true)),
                (4, switch(0, 9)),
            ],
        );
    }

    #[test]
    fn time_never_goes_back() {
        check(&[(5, switch(0, 7)), (4, switch(7, 0))], &[(5, switch(0, 7)), (5, switch(7, 0))]);
    }
}
