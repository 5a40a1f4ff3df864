//! Counts how much of a thread's time each culprit took, in a bounded list that keeps the largest.

use hemiola_trace::sched::Interrupt;

use super::report::Culprit;
use hemiola_stats::growth::push_slowly;

/// A [`Culprit`] as one word: the index of a thread in the analysis, or one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Code(u32);

impl Code {
    pub(crate) const IDLE: Self = Self(u32::MAX);
    pub(crate) const UNKNOWN: Self = Self(u32::MAX - 1);
    pub(crate) const OTHERS: Self = Self(u32::MAX - 2);
    pub(crate) const INTERRUPT: Self = Self(u32::MAX - 3);
    pub(crate) const RESERVATION: Self = Self(u32::MAX - 4);
    /// The first code that is not a thread. Interrupts follow, hard ones first, 2¹⁶ of each.
    const THREADS_MAX: u32 = 1 << 31;

    #[inline]
    pub(crate) const fn thread(index: usize) -> Self {
        if index < Self::THREADS_MAX as usize { Self(index as u32) } else { Self::OTHERS }
    }

    #[inline]
    pub(crate) const fn as_thread(self) -> Option<usize> {
        if self.0 < Self::THREADS_MAX { Some(self.0 as usize) } else { None }
    }

    /// The number of an interrupt, soft ones from 65,536.
    pub(crate) fn as_interrupt(self) -> Option<u32> {
        let number = self.0.checked_sub(Self::THREADS_MAX)?;
        (number < 2 << 16).then_some(number)
    }

    /// The interrupt with the number that [`Code::as_interrupt`] returned.
    pub(crate) const fn of_interrupt(number: u32) -> Self {
        Self(Self::THREADS_MAX + number)
    }

    pub(crate) const fn interrupt(interrupt: Interrupt) -> Self {
        Self(match interrupt {
            Interrupt::Hard(number) => Self::THREADS_MAX + number as u32,
            Interrupt::Soft(vector) => Self::THREADS_MAX + (1 << 16) + vector as u32,
        })
    }

    /// A number for a hash table: neighbours are apart.
    #[inline]
    pub(crate) const fn hash(self) -> usize {
        (self.0 ^ self.0 >> 7 ^ self.0 >> 16) as usize
    }

    /// How far it is from the last code.
    pub(crate) const fn distance_to_end(self) -> u32 {
        u32::MAX - self.0
    }

    /// The code that [`Code::distance_to_end`] stood for.
    pub(crate) const fn at_distance_to_end(distance: u32) -> Self {
        Self(u32::MAX - distance)
    }

    /// The culprit for the report; `tid` gives the number of a thread.
    pub(crate) fn culprit(self, tid: impl FnOnce(usize) -> u32) -> Culprit {
        const SOFT: u32 = Code::THREADS_MAX + (1 << 16);
        match self {
            Self::IDLE => Culprit::Idle,
            Self::OTHERS => Culprit::Others,
            Self::INTERRUPT => Culprit::SomeInterrupt,
            Self::RESERVATION => Culprit::Reservation,
            Self(code) if code < Self::THREADS_MAX => Culprit::Thread(tid(code as usize)),
            Self(code) if code < SOFT => Culprit::Interrupt(code as u16),
            Self(code) if code < SOFT + (1 << 16) => Culprit::SoftInterrupt(code as u16),
            Self(_) => Culprit::Unknown,
        }
    }
}

/// An entry of a [`Tally`].
pub(crate) trait Counted: Copy {
    /// The culprit.
    fn code(&self) -> Code;
    /// Whether both are of the same culprit, in the same way.
    fn is_like(&self, other: &Self) -> bool;
    /// Adds another entry that is like this one.
    fn join(&mut self, more: Self);
    /// What makes an entry worth keeping.
    fn weight(&self) -> (u64, u32);
    /// The same of [`Code::OTHERS`].
    fn of_others(self) -> Self;
}

/// How often one culprit woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Woken {
    pub(crate) by: Code,
    /// How often; more than fit count as the most that do.
    pub(crate) times: u32,
}

impl Counted for Woken {
    #[inline]
    fn code(&self) -> Code {
        self.by
    }

    #[inline]
    fn is_like(&self, other: &Self) -> bool {
        self.by == other.by
    }

    #[inline]
    fn join(&mut self, more: Self) {
        self.times = self.times.saturating_add(more.times);
    }

    #[inline]
    fn weight(&self) -> (u64, u32) {
        (0, self.times)
    }

    fn of_others(self) -> Self {
        Self { by: Code::OTHERS, ..self }
    }
}

/// The count of each culprit: at most `MAX` entries and one of [`Code::OTHERS`] for each way.
#[derive(Clone, Debug)]
pub(crate) struct Tally<const MAX: usize, E> {
    entries: Vec<E>,
    /// No entry but the last one and [`Code::OTHERS`] weighs less. The last one is the newest, which is usually the
    /// least when a full tally needs a place, and this shows it without a search.
    floor: (u64, u32),
}

impl<const MAX: usize, E> Default for Tally<MAX, E> {
    fn default() -> Self {
        Self { entries: Vec::new(), floor: HEAVIEST }
    }
}

/// Entries for which an empty tally keeps its memory: most jobs have no more.
const KEPT: usize = 8;

/// No entry weighs more.
const HEAVIEST: (u64, u32) = (u64::MAX, u32::MAX);

impl<const MAX: usize, E: Counted> Tally<MAX, E> {
    #[inline]
    pub(crate) fn add(&mut self, more: E) {
        self.put(more);
    }

    /// As [`Tally::add`]. Returns the entry that lost its place and is now one of [`Code::OTHERS`].
    #[inline]
    pub(crate) fn put(&mut self, more: E) -> Option<E> {
        let same = |entry: &E| entry.is_like(&more);
        let Some(index) = self.entries.iter().position(same) else { return self.insert(more) };
        self.entries[index].join(more);
        // Frequent culprits move to the front, where they are found first.
        if index > 0 {
            if index + 1 == self.entries.len() {
                self.floor = self.floor.min(self.entries[index].weight());
            }
            self.entries.swap(index, index - 1);
        }
        None
    }

    /// Adds an entry that is like none before.
    #[inline]
    pub(crate) fn add_new(&mut self, more: E) {
        self.insert(more);
    }

    fn insert(&mut self, more: E) -> Option<E> {
        let mut displaced = None;
        if self.entries.len() >= MAX && more.code() != Code::OTHERS {
            let least = self.least();
            let least = self.entries.swap_remove(least);
            self.add(least.of_others());
            displaced = Some(least);
        }
        if let Some(last) = self.entries.last() {
            self.floor = self.floor.min(last.weight());
        }
        push_slowly(&mut self.entries, more);
        displaced
    }

    /// The index of the first entry that weighs least, except [`Code::OTHERS`]. The caller removes it.
    fn least(&mut self) -> usize {
        let newest = self.entries.len() - 1;
        let last = &self.entries[newest];
        if last.code() != Code::OTHERS && last.weight() < self.floor {
            return newest;
        }
        let (mut least, mut second) = ((HEAVIEST, newest), HEAVIEST);
        for (index, entry) in self.entries.iter().enumerate() {
            let weight = entry.weight();
            if entry.code() == Code::OTHERS {
                continue;
            } else if weight < least.0 {
                (least, second) = ((weight, index), least.0);
            } else {
                second = second.min(weight);
            }
        }
        self.floor = second;
        least.1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter()
    }

    pub(crate) fn clear(&mut self) {
        // The next job usually has about as many entries as this one.
        let used = self.entries.len().max(KEPT);
        self.entries.clear();
        self.floor = HEAVIEST;
        if self.entries.capacity() > 2 * used {
            self.entries.shrink_to(used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::culprits::Taken;
    use crate::sched::report::DelayKind;
    use proptest::prelude::*;

    #[test]
    fn a_code_is_the_culprit_it_was_made_from() {
        let culprit = |code: Code| code.culprit(|index| index as u32 + 100);
        assert_eq!(culprit(Code::thread(7)), Culprit::Thread(107));
        assert_eq!(culprit(Code::interrupt(Interrupt::Hard(65_535))), Culprit::Interrupt(65_535));
        assert_eq!(culprit(Code::interrupt(Interrupt::Soft(0))), Culprit::SoftInterrupt(0));
        assert_eq!(culprit(Code::UNKNOWN), Culprit::Unknown);
        assert_eq!(culprit(Code::INTERRUPT), Culprit::SomeInterrupt);
        assert_eq!(culprit(Code::RESERVATION), Culprit::Reservation);
    }

    /// Adds to a tally that looks at all entries whenever it needs a place.
    fn add_searching(entries: &mut Vec<Taken>, max: usize, more: Taken) {
        if let Some(index) = entries.iter().position(|entry| entry.is_like(&more)) {
            entries[index].join(more);
            entries.swap(index, index.saturating_sub(1));
            return;
        }
        if entries.len() >= max && more.code != Code::OTHERS {
            let kept = entries.iter().enumerate().filter(|(_, entry)| entry.code != Code::OTHERS);
            let least = kept.min_by_key(|(_, entry)| entry.weight()).unwrap().0;
            let least = entries.swap_remove(least);
            add_searching(entries, max, least.of_others());
        }
        entries.push(more);
    }

    proptest! {
        #[test]
        fn the_entry_that_makes_room_is_the_least(
            parts in prop::collection::vec((0_usize..20, 1_u64..30, any::<bool>()), 1..400),
        ) {
            let (mut tally, mut entries) = (Tally::<8, Taken>::default(), Vec::new());
            for (index, ns, is_started) in parts {
                let kind = if is_started { DelayKind::Preempted } else { DelayKind::BeforeStart };
                let taken = Taken::once(Code::thread(index), kind, ns);
                tally.add(taken);
                add_searching(&mut entries, 8, taken);
                prop_assert_eq!(&tally.entries, &entries);
            }
        }

        #[test]
        fn total_is_preserved_and_the_largest_is_kept(
            parts in prop::collection::vec((0_usize..40, 1_u64..50), 1..400),
        ) {
            let mut tally = Tally::<8, Taken>::default();
            for &(index, ns) in parts.iter().chain([&(99, 100_000)]) {
                let code = Code::thread(index);
                tally.add(Taken::once(code, DelayKind::Preempted, ns));
            }
            let total: u64 = parts.iter().map(|(_, ns)| ns).sum();
            prop_assert_eq!(tally.iter().map(|taken| taken.ns).sum::<u64>(), total + 100_000);
            prop_assert_eq!(tally.iter().map(|taken| u64::from(taken.times)).sum::<u64>(), parts.len() as u64 + 1);
            prop_assert!(tally.iter().count() <= 9);
            prop_assert!(tally.iter().any(|taken| taken.code == Code::thread(99)));
        }
    }
}
