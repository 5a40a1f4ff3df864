//! Which thread had which processor when, from the switches a kernel recorded.

use std::collections::BTreeMap;

use hemiola_trace::sched::{Event, Tid, What};
use hemiola_units::{Instant, Span};

/// The threads of each processor in the order they had it. Where events were lost, the thread is unknown.
///
/// ```
/// use hemiola_analyze::cycles::occupancy::Occupancy;
/// use hemiola_trace::sched::{Event, Left, PRIORITY_UNKNOWN, Tid, What};
/// use hemiola_units::{Instant, Span};
///
/// let switch = |at, prev, next| Event {
///     at: Instant::from_nanos(at),
///     cpu: 0,
///     what: What::Switch { prev, left: Left::Sleeping, next, priority: PRIORITY_UNKNOWN },
/// };
/// let events = [switch(100, Tid::IDLE, Tid(7)), switch(400, Tid(7), Tid::IDLE)];
/// let occupancy = Occupancy::of(events);
/// let [from, to] = [0, 1_000].map(Instant::from_nanos);
/// assert_eq!(occupancy.had(Tid(7), from, to), Some(Span::from_nanos(300)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    cpus: BTreeMap<u16, Vec<Turn>>,
    /// When each thread got which processor, in order of time.
    turns: BTreeMap<Tid, Vec<(Instant, u16)>>,
}

/// From when on a thread had the processor, up to the next one's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    from: Instant,
    tid: Tid,
}

/// One thread's part of a stretch of time on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The thread; [`Tid::UNKNOWN`] where events were lost or not yet recorded.
    pub tid: Tid,
    /// How long it had the processor.
    pub time: Span,
}

impl Occupancy {
    /// Builds the occupancy from events; those of each processor must be in order.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let mut cpus = BTreeMap::<u16, Vec<Turn>>::new();
        let mut last = BTreeMap::<u16, Instant>::new();
        for event in events {
            let before = last.insert(event.cpu, event.at);
            let turn = match event.what {
                What::Switch { prev, next, .. } => {
                    // The first switch names the thread that had the processor before it.
                    let turns = cpus.entry(event.cpu).or_default();
                    if turns.is_empty() {
                        turns.push(Turn { from: Instant::ZERO, tid: prev });
                    }
                    Turn { from: event.at, tid: next }
                }
                // Events are missing since the previous event.
                What::Lost(_) => Turn { from: before.unwrap_or_default(), tid: Tid::UNKNOWN },
                What::Online(_) => Turn { from: event.at, tid: Tid::UNKNOWN },
                _ => continue,
            };
            cpus.entry(event.cpu).or_default().push(turn);
        }
        Self { turns: by_thread(&cpus), cpus }
    }

    /// Whether nothing is known of any processor.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// How long `tid` had any processor between two moments; `None` if events were lost in between.
    #[must_use]
    pub fn had(&self, tid: Tid, from: Instant, to: Instant) -> Option<Span> {
        let mut sum = Span::ZERO;
        for cpu in self.cpus.keys() {
            for part in self.stretches(*cpu, from, to) {
                if part.tid == Tid::UNKNOWN && part.time.is_positive() {
                    return None;
                }
                if part.tid == tid {
                    sum += part.time;
                }
            }
        }
        Some(sum)
    }

    /// The threads that had processor `cpu` between two moments, longest first.
    #[must_use]
    pub fn who(&self, cpu: u16, from: Instant, to: Instant) -> Vec<Part> {
        let mut parts = BTreeMap::<Tid, Span>::new();
        for part in self.stretches(cpu, from, to) {
            *parts.entry(part.tid).or_default() += part.time;
        }
        let mut parts: Vec<Part> =
            parts.into_iter().map(|(tid, time)| Part { tid, time }).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.time));
        parts
    }

    /// The processor that `tid` had last at `at` or, if it never had one, the first it gets.
    #[must_use]
    pub fn processor_of(&self, tid: Tid, at: Instant) -> Option<u16> {
        let turns = self.turns.get(&tid)?;
        let until = turns.partition_point(|(from, _)| *from <= at);
        turns.get(until.saturating_sub(1)).map(|(_, cpu)| *cpu)
    }

    /// How often processor `cpu` passed from one thread to another between two moments.
    #[must_use]
    pub fn switches(&self, cpu: u16, from: Instant, to: Instant) -> u64 {
        let Some(turns) = self.cpus.get(&cpu) else { return 0 };
        let index = |at| turns.partition_point(|turn| turn.from < at);
        (index(to) - index(from)) as u64
    }

    /// The turns of a processor between two moments, cut to them.
    fn stretches(&self, cpu: u16, from: Instant, to: Instant) -> impl Iterator<Item = Part> {
        let turns = self.cpus.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = turns.partition_point(|turn| turn.from <= from).saturating_sub(1);
        let last = turns.partition_point(|turn| turn.from < to);
        (first..last.max(first)).map(move |index| {
            let end = turns.get(index + 1).map_or(to, |next| next.from.min(to));
            Part { tid: turns[index].tid, time: end - turns[index].from.max(from) }
        })
    }
}

/// The turns of all processors by thread. Idle and unknown time belongs to no thread.
fn by_thread(cpus: &BTreeMap<u16, Vec<Turn>>) -> BTreeMap<Tid, Vec<(Instant, u16)>> {
    let mut threads = BTreeMap::<Tid, Vec<(Instant, u16)>>::new();
    for (cpu, turns) in cpus {
        for turn in turns.iter().filter(|turn| ![Tid::IDLE, Tid::UNKNOWN].contains(&turn.tid)) {
            threads.entry(turn.tid).or_default().push((turn.from, *cpu));
        }
    }
    threads.values_mut().for_each(|turns| turns.sort_unstable());
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_trace::sched::{Left, PRIORITY_UNKNOWN};
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn switch(nanos: u64, cpu: u16, prev: u32, next: u32) -> Event {
        let what = What::Switch {
            prev: Tid(prev),
            left: Left::Sleeping,
            next: Tid(next),
            priority: PRIORITY_UNKNOWN,
        };
        Event { at: at(nanos), cpu, what }
    }

    #[test]
    fn time_is_divided_among_the_threads_that_had_the_processor() {
        let events = [switch(100, 0, 1, 2), switch(150, 1, 0, 1), switch(300, 0, 2, 0)];
        let occupancy = Occupancy::of(events);
        let who = occupancy.who(0, at(50), at(400));
        let part = |tid, nanos| Part { tid: Tid(tid), time: Span::from_nanos(nanos) };
        assert_eq!(who, [part(2, 200), part(0, 100), part(1, 50)]);
        assert_eq!(occupancy.had(Tid(1), at(50), at(400)), Some(Span::from_nanos(50 + 250)));
        assert_eq!(occupancy.switches(0, at(0), at(300)), 1 + 1);
        let processor = |nanos| occupancy.processor_of(Tid(1), at(nanos));
        assert_eq!([processor(120), processor(200)], [Some(0), Some(1)]);
        assert_eq!(occupancy.processor_of(Tid(9), at(200)), None);
    }

    #[test]
    fn a_loss_makes_the_time_unknown() {
        let lost = Event { at: at(200), cpu: 0, what: What::Lost(3) };
        let events = [switch(100, 0, 1, 2), lost, switch(300, 0, u32::MAX, 1)];
        let occupancy = Occupancy::of(events);
        assert_eq!(occupancy.had(Tid(1), at(50), at(100)), Some(Span::from_nanos(50)));
        assert_eq!(occupancy.had(Tid(1), at(300), at(350)), Some(Span::from_nanos(50)));
        assert_eq!(occupancy.had(Tid(2), at(100), at(250)), None);
        assert_eq!(occupancy.who(0, at(100), at(300))[0].tid, Tid::UNKNOWN);
    }

    proptest! {
        #[test]
        fn the_processor_of_a_thread_is_the_one_it_had_last_or_gets_first(
            steps in prop::collection::vec((0u64..20, 0u16..3, 1u32..5), 1..40),
            tid in 1u32..6,
            now in 0u64..400,
        ) {
            let (mut time, mut running) = (0, [9; 3]);
            let mut had = Vec::new();
            let events: Vec<Event> = steps.iter().map(|(step, cpu, next)| {
                time += step;
                let prev = std::mem::replace(&mut running[usize::from(*cpu)], *next);
                had.push((at(time), *cpu, *next));
                switch(time, *cpu, prev, *next)
            }).collect();
            let of_thread = || had.iter().filter(|(_, _, one)| *one == tid).map(|(from, cpu, _)| (*from, *cpu));
            let last = of_thread().filter(|(from, _)| *from <= at(now)).max();
            let wanted = last.or_else(|| of_thread().min()).map(|(_, cpu)| cpu);
            prop_assert_eq!(Occupancy::of(events).processor_of(Tid(tid), at(now)), wanted);
        }

        #[test]
        fn parts_add_up_to_the_whole(
            steps in prop::collection::vec((1u64..50, 0u32..4), 1..40),
            from in 0u64..500,
            length in 0u64..500,
        ) {
            let mut now = 0;
            let events: Vec<Event> = steps.iter().map(|(step, next)| {
                now += step;
                switch(now, 0, 9, *next)
            }).collect();
            let occupancy = Occupancy::of(events);
            let parts = occupancy.who(0, at(from), at(from + length));
            let sum: Span = parts.iter().map(|part| part.time).sum();
            prop_assert_eq!(sum.nanos() as u64, length);
        }
    }
}
