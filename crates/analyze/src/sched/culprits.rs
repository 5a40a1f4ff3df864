//! The delays of a job or of all jobs of a thread: by which culprit, in which way and for how long.

use super::report::{Behind, Delay, DelayKind};
use super::tally::{Code, Counted, Tally};
use hemiola_stats::growth::push_slowly;

/// The time one culprit took in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) code: Code,
    pub(crate) kind: DelayKind,
    /// How often; more than fit count as the most that do.
    pub(crate) times: u32,
    pub(crate) ns: u64,
    pub(crate) longest: u64,
    /// Of a culprit that ended waits, what is known of these.
    pub(crate) meanwhile: Meanwhile,
}

/// What happened while a thread waited for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meanwhile {
    /// For how long more urgent threads had the processor, ns: interference, and no blocking.
    pub(crate) urgent: u64,
    /// The culprit that delayed the awaited thread longest.
    pub(crate) behind: Code,
    /// For how long, ns; 0 if there was none.
    pub(crate) behind_ns: u64,
}

impl Meanwhile {
    pub(crate) const NOTHING: Self = Self { urgent: 0, behind: Code::UNKNOWN, behind_ns: 0 };

    fn join(&mut self, more: Self) {
        self.urgent += more.urgent;
        if more.behind_ns > self.behind_ns {
            (self.behind, self.behind_ns) = (more.behind, more.behind_ns);
        }
    }
}

impl Taken {
    /// A delay that occurred once.
    #[inline]
    pub(crate) const fn once(code: Code, kind: DelayKind, ns: u64) -> Self {
        Self { code, kind, times: 1, ns, longest: ns, meanwhile: Meanwhile::NOTHING }
    }
}

/// Counts delays: at most `MAX` entries, and one of [`Code::OTHERS`] for each way.
///
/// Few culprits end waits in which anything happened, so that is beside the entries: they take half the memory without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Culprits<const MAX: usize> {
    entries: Tally<MAX, Sum>,
    /// Of culprits that ended waits, each once.
    meanwhile: Vec<(Code, Meanwhile)>,
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

/// More times count as this many.
const TIMES: u32 = (1 << 29) - 1;

/// Each kind at its number.
const KINDS: [DelayKind; 7] = [
    DelayKind::NotWoken,
    DelayKind::Earlier,
    DelayKind::BeforeStart,
    DelayKind::Preempted,
    DelayKind::Throttled,
    DelayKind::Blocked,
    DelayKind::Interrupted,
];

impl Sum {
    #[inline]
    fn of(taken: &Taken) -> Self {
        let kind_and_times = (taken.kind as u32) << TIMES.count_ones() | taken.times.min(TIMES);
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

impl<const MAX: usize> Culprits<MAX> {
    #[inline]
    pub(crate) fn add(&mut self, taken: Taken) {
        self.put(Sum::of(&taken), taken.meanwhile);
    }

    /// Adds delays in one way by culprits that all differ.
    pub(crate) fn add_apart(&mut self, delays: impl Iterator<Item = Taken>) {
        if self.entries.is_empty() {
            delays.for_each(|taken| self.entries.add_new(Sum::of(&taken)));
        } else {
            delays.for_each(|taken| self.add(taken));
        }
    }

    /// Adds the delays of a job.
    pub(crate) fn add_all<const OTHER: usize>(&mut self, job: &Culprits<OTHER>) {
        job.entries.iter().for_each(|sum| self.put(*sum, job.meanwhile(sum)));
    }

    #[inline]
    fn put(&mut self, sum: Sum, meanwhile: Meanwhile) {
        let displaced = self.entries.put(sum);
        if let Some(displaced) = displaced.filter(|sum| sum.kind() == DelayKind::Blocked) {
            self.displace(displaced.code);
        }
        if meanwhile != Meanwhile::NOTHING {
            self.add_meanwhile(sum.code, meanwhile);
        }
    }

    /// The culprit is one of the others now, and so is what happened while others waited for it.
    #[cold]
    fn displace(&mut self, code: Code) {
        if let Some(index) = self.meanwhile.iter().position(|of| of.0 == code) {
            let (_, meanwhile) = self.meanwhile.swap_remove(index);
            self.add_meanwhile(Code::OTHERS, meanwhile);
        }
    }

    fn add_meanwhile(&mut self, code: Code, more: Meanwhile) {
        match self.meanwhile.iter_mut().find(|of| of.0 == code) {
            Some((_, meanwhile)) => meanwhile.join(more),
            None => push_slowly(&mut self.meanwhile, (code, more)),
        }
    }

    #[inline]
    fn meanwhile(&self, sum: &Sum) -> Meanwhile {
        if sum.kind() != DelayKind::Blocked {
            return Meanwhile::NOTHING;
        }
        let found = self.meanwhile.iter().find(|of| of.0 == sum.code);
        found.map_or(Meanwhile::NOTHING, |of| of.1)
    }

    /// The delays of each culprit.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Taken> {
        self.entries.iter().map(|sum| Taken {
            code: sum.code,
            kind: sum.kind(),
            times: sum.times(),
            ns: sum.ns,
            longest: sum.longest,
            meanwhile: self.meanwhile(sum),
        })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.meanwhile.clear();
    }

    /// The delays of a job, longest first; `tid` gives the number of a thread.
    pub(crate) fn delays(&self, tid: impl Fn(usize) -> u32) -> Vec<Delay> {
        let delay = |Taken { code, kind, times, ns, meanwhile, .. }| {
            let Meanwhile { behind, behind_ns, .. } = meanwhile;
            let behind =
                (behind_ns > 0).then(|| Behind { who: behind.culprit(&tid), ns: behind_ns });
            Delay { who: code.culprit(&tid), kind, ns, times, behind }
        };
        let mut delays: Vec<Delay> = self.iter().filter(|taken| taken.ns > 0).map(delay).collect();
        delays.sort_by_key(|delay| (std::cmp::Reverse(delay.ns), delay.kind, delay.who));
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Entries with everything about a delay.
    impl Counted for Taken {
        fn code(&self) -> Code {
            self.code
        }

        fn is_like(&self, other: &Self) -> bool {
            self.code == other.code && self.kind == other.kind
        }

        fn join(&mut self, more: Self) {
            self.times += more.times;
            self.ns += more.ns;
            self.longest = self.longest.max(more.longest);
            self.meanwhile.join(more.meanwhile);
        }

        fn weight(&self) -> (u64, u32) {
            (self.ns, self.times)
        }

        fn of_others(self) -> Self {
            Self { code: Code::OTHERS, ..self }
        }
    }

    proptest! {
        #[test]
        fn culprits_in_less_memory_are_the_same(
            parts in prop::collection::vec(
                (0_usize..60, 1_u64..90, 0..KINDS.len(), 0_u64..90, 0_u64..90, any::<bool>()), 1..900,
            ),
        ) {
            let (mut culprits, mut job) = (Culprits::<24>::default(), Culprits::<8>::default());
            let (mut plain, mut plain_job) = (Tally::<24, Taken>::default(), Tally::<8, Taken>::default());
            for (index, ns, kind, behind_ns, urgent, is_over) in parts {
                let mut taken = Taken::once(Code::thread(index), KINDS[kind], ns);
                // Only while a thread waits for another one does anything happen meanwhile.
                if taken.kind == DelayKind::Blocked {
                    let behind_ns = behind_ns.min(ns);
                    let behind = if behind_ns > 0 { Code::thread(index + 1) } else { Code::UNKNOWN };
                    taken.meanwhile = Meanwhile { urgent: urgent.min(ns), behind, behind_ns };
                }
                job.add(taken);
                plain_job.add(taken);
                prop_assert!(job.iter().eq(plain_job.iter().copied()));
                if is_over {
                    culprits.add_all(&job);
                    plain_job.iter().for_each(|taken| plain.add(*taken));
                    prop_assert!(culprits.iter().eq(plain.iter().copied()));
                    job.clear();
                    plain_job.clear();
                }
            }
        }
    }

    #[test]
    fn every_kind_is_at_its_number() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let taken = Taken { times: u32::MAX, ..Taken::once(Code::IDLE, kind, 7) };
            let sum = Sum::of(&taken);
            assert_eq!((sum.kind(), sum.times()), (kind, TIMES));
        }
        assert!(std::mem::size_of::<Sum>() <= 24);
    }
}
