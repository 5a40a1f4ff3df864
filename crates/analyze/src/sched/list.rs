//! Lists of culprits in a few bytes for each entry, because a report may have those of a million threads.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use hemiola_stats::Numbers;
use serde::{Serialize, Serializer};

use super::name::Name;
use super::report::{Blocking, Culprit, HeldUp, Interference, Waker};
use super::tally::Code;

/// The entries of one kind that a report has for a thread: read from front to back, but not by number.
///
/// An entry takes a few bytes, and names are kept once for the whole report.
///
/// ```
/// use hemiola_analyze::sched::{List, Waker};
/// let waker = |name: &str, times| Waker { name: name.into(), tid: Some(7), times };
/// let list: List<Waker> = vec![waker("io", 40), waker("net", 2)].into();
/// assert_eq!(list.first(), Some(waker("io", 40)));
/// assert_eq!(list.iter().map(|waker| waker.times).sum::<u64>(), 42);
/// ```
#[derive(Clone)]
pub struct List<T> {
    /// One number after another; see [`Listed`].
    bytes: Box<[u8]>,
    /// Where the names are; nothing in an empty list.
    roster: Option<Arc<Roster>>,
    of: PhantomData<T>,
}

/// The culprits of a report: threads first, at the indices that they have in the analysis.
#[derive(Debug, Default)]
pub(super) struct Roster(pub(super) Vec<Named>);

/// A culprit with its names.
#[derive(Clone, Debug)]
pub struct Named {
    pub(super) name: Name,
    /// Its number, if it is a thread.
    pub(super) tid: Option<u32>,
    pub(super) who: Culprit,
}

impl Roster {
    /// The number of a culprit: its index, or behind all indices for one that is no thread.
    pub(super) fn number(&self, code: Code) -> u64 {
        match code.as_thread() {
            Some(index) => index as u64,
            None => self.0.len() as u64 + u64::from(code.distance_to_end()),
        }
    }

    fn named(&self, number: u64) -> Named {
        match number.checked_sub(self.0.len() as u64) {
            None => self.0[number as usize].clone(),
            Some(beyond) => {
                let who = Code::at_distance_to_end(beyond as u32).culprit(|_| 0);
                Named { name: who.name().into(), tid: None, who }
            }
        }
    }
}

/// An entry of a [`List`]: the number of its culprit, and figures.
pub trait Listed: Sized {
    /// The culprit, and the one behind it.
    fn culprits(&self) -> (Named, Option<Named>);

    /// Writes the figures. `behind` is the number of the one behind it.
    fn write(&self, numbers: &mut Numbers, behind: u64);

    /// Reads the entry of a culprit as it was written. `of` gives the culprit of a number.
    fn read(
        named: Named,
        numbers: &mut impl Iterator<Item = u64>,
        of: impl Fn(u64) -> Named,
    ) -> Option<Self>;
}

impl Listed for Interference {
    fn culprits(&self) -> (Named, Option<Named>) {
        let Self { ref name, tid, who, .. } = *self;
        (Named { name: name.clone(), tid, who }, None)
    }

    fn write(&self, numbers: &mut Numbers, _: u64) {
        let figures = [self.ns, self.before_start_ns, self.times, self.longest_ns];
        figures.into_iter().for_each(|figure| numbers.push(figure));
    }

    fn read(
        Named { name, tid, who }: Named,
        numbers: &mut impl Iterator<Item = u64>,
        _: impl Fn(u64) -> Named,
    ) -> Option<Self> {
        let (ns, before_start_ns) = (numbers.next()?, numbers.next()?);
        let (times, longest_ns) = (numbers.next()?, numbers.next()?);
        Some(Self { name, tid, who, ns, before_start_ns, times, longest_ns })
    }
}

impl Listed for Blocking {
    fn culprits(&self) -> (Named, Option<Named>) {
        let Self { ref name, tid, who, .. } = *self;
        let behind = self.behind.as_ref();
        let behind = behind.map(|HeldUp { name, tid, .. }| Named {
            name: name.clone(),
            tid: *tid,
            who: Culprit::Unknown,
        });
        (Named { name: name.clone(), tid, who }, behind)
    }

    fn write(&self, numbers: &mut Numbers, behind: u64) {
        let held_up = self.behind.as_ref();
        let [number, ns] = held_up.map_or([0, 0], |held_up| [behind + 1, held_up.ns]);
        let figures = [self.ns, self.times, self.longest_ns, number, ns];
        figures.into_iter().for_each(|figure| numbers.push(figure));
    }

    fn read(
        Named { name, tid, who }: Named,
        numbers: &mut impl Iterator<Item = u64>,
        of: impl Fn(u64) -> Named,
    ) -> Option<Self> {
        let (ns, times, longest_ns) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let (behind, behind_ns) = (numbers.next()?, numbers.next()?);
        let behind = behind.checked_sub(1).map(|behind| {
            let Named { name, tid, .. } = of(behind);
            HeldUp { name, tid, ns: behind_ns }
        });
        Some(Self { name, tid, who, ns, times, longest_ns, behind })
    }
}

impl Listed for Waker {
    fn culprits(&self) -> (Named, Option<Named>) {
        let Self { ref name, tid, .. } = *self;
        (Named { name: name.clone(), tid, who: Culprit::Unknown }, None)
    }

    fn write(&self, numbers: &mut Numbers, _: u64) {
        numbers.push(self.times);
    }

    fn read(
        Named { name, tid, .. }: Named,
        numbers: &mut impl Iterator<Item = u64>,
        _: impl Fn(u64) -> Named,
    ) -> Option<Self> {
        Some(Self { name, tid, times: numbers.next()? })
    }
}

impl<T: Listed> List<T> {
    /// Packs entries, each with the numbers of its culprit and of the one behind it.
    pub(super) fn of(roster: &Arc<Roster>, entries: impl Iterator<Item = (T, [u64; 2])>) -> Self {
        let mut numbers = Numbers::default();
        for (entry, [culprit, behind]) in entries {
            numbers.push(culprit);
            entry.write(&mut numbers, behind);
        }
        let roster = (!numbers.is_empty()).then(|| Arc::clone(roster));
        Self { bytes: numbers.bytes().into(), roster, of: PhantomData }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let mut numbers = Numbers::unpack(&self.bytes);
        std::iter::from_fn(move || {
            let roster = self.roster.as_ref()?;
            let culprit = roster.named(numbers.next()?);
            T::read(culprit, &mut numbers, |number| roster.named(number))
        })
    }

    /// The first entry.
    #[must_use]
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }
}

impl<T> List<T> {
    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { bytes: Box::default(), roster: None, of: PhantomData }
    }
}

/// Keeps names of their own.
impl<T: Listed> From<Vec<T>> for List<T> {
    fn from(entries: Vec<T>) -> Self {
        let mut roster = Roster::default();
        let mut add = |named: Named| {
            roster.0.push(named);
            roster.0.len() as u64 - 1
        };
        let numbered: Vec<(T, [u64; 2])> = entries
            .into_iter()
            .map(|entry| {
                let (culprit, behind) = entry.culprits();
                let numbers = [add(culprit), behind.map_or(0, &mut add)];
                (entry, numbers)
            })
            .collect();
        Self::of(&Arc::new(roster), numbered.into_iter())
    }
}

impl<T: Listed + PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Listed + fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Listed + Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_packed() {
        let held_up = HeldUp { name: "third".into(), tid: Some(9), ns: 4 };
        let blocking = |who, behind| Blocking {
            name: "second".into(),
            tid: Some(8),
            who,
            ns: 1 << 40,
            times: 3,
            longest_ns: 1 << 39,
            behind,
        };
        let all = vec![
            blocking(Culprit::Thread(8), Some(held_up)),
            blocking(Culprit::SomeInterrupt, None),
        ];
        let list: List<Blocking> = all.clone().into();
        assert!(list.iter().eq(all.clone()));
        assert_eq!(serde_json::to_string(&list).unwrap(), serde_json::to_string(&all).unwrap());
        let empty = List::<Waker>::default();
        assert_eq!((empty.first(), empty.is_empty()), (None, true));
        assert_eq!(serde_json::to_string_pretty(&empty).unwrap(), "[]");
    }

    #[test]
    fn a_culprit_that_is_no_thread_needs_no_place_in_the_roster() {
        let named = |tid: u32| Named {
            name: format!("thread {tid}").into(),
            tid: Some(tid),
            who: Culprit::Thread(tid),
        };
        let roster = Roster((100..103).map(named).collect());
        let others = [Code::IDLE, Code::UNKNOWN, Code::OTHERS, Code::RESERVATION];
        let interrupts = [0, 24, 65_535, 65_536, 65_545].map(Code::of_interrupt);
        for code in [0, 2].map(Code::thread).into_iter().chain(others).chain(interrupts) {
            let culprit = code.culprit(|index| 100 + index as u32);
            let found = roster.named(roster.number(code));
            assert_eq!((found.who, &*found.name), (culprit, culprit.name().as_str()));
        }
    }
}
