//! The culprits of a thread over the whole recording, in half the memory of those of a job.

use super::CULPRITS_MAX;
use super::report::DelayKind;
use super::tally::{Code, Counted, Taken, Tally};

/// Counts the delays of all jobs of a thread: at most [`CULPRITS_MAX`] entries, and one of [`Code::OTHERS`] for each
/// way.
#[derive(Clone, Debug, Default)]
pub(super) struct Culprits {
    entries: Tally<CULPRITS_MAX, Sum>,
    /// What delayed the culprits that ended waits, as far as anything did.
    behind: Vec<BehindOf>,
}

/// The time one culprit took in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    code: Code,
    /// The kind in the upper bits, and how often in the lower ones.
    kind_and_times: u32,
    ns: u64,
    longest: u64,
}

/// The culprit that delayed the one of `code` longest, and for how long.
#[derive(Clone, Copy, Debug)]
struct BehindOf {
    code: Code,
    behind: Code,
    ns: u64,
}

/// More times count as this many.
const TIMES: u32 = (1 << 29) - 1;

/// Each kind at its number.
const KINDS: [DelayKind; 7] = [
    DelayKind::BeforeStart,
    DelayKind::Preempted,
    DelayKind::Interrupted,
    DelayKind::Blocked,
    DelayKind::Throttled,
    DelayKind::NotWoken,
    DelayKind::Earlier,
];

impl Sum {
    fn of(taken: &Taken) -> Self {
        let kind = KINDS.iter().position(|kind| *kind == taken.kind);
        let kind = kind.expect("all kinds are listed") as u32;
        let kind_and_times = kind << TIMES.count_ones() | taken.times.min(TIMES);
        Self { code: taken.code, kind_and_times, ns: taken.ns, longest: taken.longest }
    }

    const fn times(&self) -> u32 {
        self.kind_and_times & TIMES
    }

    const fn kind(&self) -> DelayKind {
        KINDS[(self.kind_and_times >> TIMES.count_ones()) as usize]
    }
}

impl Counted for Sum {
    #[inline]
    fn code(&self) -> Code {
        self.code
    }

    #[inline]
    fn is_like(&self, other: &Self) -> bool {
        self.code == other.code && (self.kind_and_times ^ other.kind_and_times) <= TIMES
    }

    #[inline]
    fn join(&mut self, more: Self) {
        let times = (self.times() + more.times()).min(TIMES);
        self.kind_and_times = self.kind_and_times & !TIMES | times;
        self.ns += more.ns;
        self.longest = self.longest.max(more.longest);
    }

    #[inline]
    fn weight(&self) -> (u64, u32) {
        (self.ns, self.times())
    }

    fn of_others(self) -> Self {
        Self { code: Code::OTHERS, ..self }
    }
}

impl Culprits {
    /// Adds the delays of a job.
    pub(super) fn add_all<const MAX: usize>(&mut self, delays: &Tally<MAX>) {
        delays.iter().for_each(|taken| self.add(taken));
    }

    #[inline]
    fn add(&mut self, taken: &Taken) {
        let displaced = self.entries.put(Sum::of(taken));
        if let Some(displaced) = displaced.filter(|sum| sum.kind() == DelayKind::Blocked) {
            self.displace(displaced.code);
        }
        if taken.behind_ns > 0 {
            self.add_behind(BehindOf {
                code: taken.code,
                behind: taken.behind,
                ns: taken.behind_ns,
            });
        }
    }

    /// The culprit is one of the others now, and so is what delayed it.
    #[cold]
    fn displace(&mut self, code: Code) {
        if let Some(index) = self.behind.iter().position(|of| of.code == code) {
            let of = self.behind.swap_remove(index);
            self.add_behind(BehindOf { code: Code::OTHERS, ..of });
        }
    }

    /// The longest one counts.
    fn add_behind(&mut self, more: BehindOf) {
        match self.behind.iter_mut().find(|of| of.code == more.code) {
            Some(of) if of.ns < more.ns => *of = more,
            Some(_) => {}
            None => self.behind.push(more),
        }
    }

    /// The delays of each culprit.
    pub(super) fn iter(&self) -> impl Iterator<Item = Taken> {
        self.entries.iter().map(|sum| {
            let mut taken = Taken::once(sum.code, sum.kind(), sum.ns);
            (taken.times, taken.longest) = (sum.times(), sum.longest);
            let is_of = |of: &&BehindOf| of.code == sum.code && sum.kind() == DelayKind::Blocked;
            if let Some(of) = self.behind.iter().find(is_of) {
                (taken.behind, taken.behind_ns) = (of.behind, of.ns);
            }
            taken
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn culprits_in_less_memory_are_the_same(
            parts in prop::collection::vec((0_usize..80, 1_u64..90, 0_usize..7, 0_u64..90), 1..900),
        ) {
            let (mut culprits, mut plain) = (Culprits::default(), Tally::<CULPRITS_MAX>::default());
            for (index, ns, kind, behind_ns) in parts {
                let mut taken = Taken::once(Code::thread(index), KINDS[kind], ns);
                // Only a culprit that ends a wait has another one behind it.
                if taken.kind == DelayKind::Blocked && behind_ns > 0 {
                    (taken.behind, taken.behind_ns) = (Code::thread(index + 1), behind_ns.min(ns));
                }
                let mut job = Tally::<8>::default();
                job.add(taken);
                culprits.add_all(&job);
                plain.add_all(&job);
                prop_assert!(culprits.iter().eq(plain.iter().copied()));
            }
        }
    }
}
