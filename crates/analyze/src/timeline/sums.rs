//! Sums of how long a row was in which state, and sums over many of them.

use hemiola_stats::growth::push_slowly;

use super::track::Totals;

/// One sum after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    short: Vec<Short>,
    /// Those that do not fit.
    long: Vec<Totals>,
}

/// Sums of at most about 4 s in half the space.
#[derive(Clone, Copy, Debug)]
struct Short {
    ns: [u32; 4],
    /// [`LONG`] if the sums are at the place `top_ns` of the long ones.
    top: u32,
    top_ns: u32,
}

const LONG: u32 = u32::MAX;

impl Sums {
    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.short.len()
    }

    pub(super) fn push(&mut self, totals: Totals) {
        let (all, top_ns) = (totals.all(), totals.top_ns());
        let fits = all.iter().chain([&top_ns]).all(|ns| u32::try_from(*ns).is_ok());
        let short = match fits {
            true => Short { ns: all.map(|ns| ns as u32), top: totals.top, top_ns: top_ns as u32 },
            false => {
                self.long.push(totals);
                Short { ns: [0; 4], top: LONG, top_ns: self.long.len() as u32 - 1 }
            }
        };
        push_slowly(&mut self.short, short);
    }

    pub(super) fn pop(&mut self) {
        if self.short.pop().is_some_and(|short| short.top == LONG) {
            self.long.pop();
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Totals {
        let short = self.short[index];
        match short.top {
            LONG => self.long[short.top_ns as usize],
            top => Totals::new(short.ns.map(u64::from), top, u64::from(short.top_ns)),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.short.shrink_to_fit();
        self.long.shrink_to_fit();
    }
}

/// Sums that a sum above them stands for, at each level.
const FAN: usize = 16;

/// Sums over [`FAN`] of others, over [`FAN`] of those, and so on.
#[derive(Clone, Debug, Default)]
pub(super) struct Pyramid {
    levels: Vec<Vec<Totals>>,
}

impl Pyramid {
    pub(super) fn of(sums: &Sums) -> Self {
        let mut levels: Vec<Vec<Totals>> = Vec::new();
        let mut below = sums.len();
        while below > FAN {
            let of = |index: usize| match levels.last() {
                Some(lower) => lower[index],
                None => sums.get(index),
            };
            let level: Vec<Totals> = (0..below / FAN)
                .map(|group| {
                    let mut totals = Totals::default();
                    (group * FAN..(group + 1) * FAN).for_each(|index| totals.join(&of(index)));
                    totals
                })
                .collect();
            below = level.len();
            levels.push(level);
        }
        Self { levels }
    }

    /// The sum of the sums `from..to`, of which this is the pyramid.
    pub(super) fn sum(&self, sums: &Sums, mut from: usize, mut to: usize) -> Totals {
        let mut totals = Totals::default();
        // At each level the ragged ends are added one by one, and what is between them is left to the level above.
        for level in 0..=self.levels.len() {
            let mut add = |index: usize| match level {
                0 => totals.join(&sums.get(index)),
                _ => totals.join(&self.levels[level - 1][index]),
            };
            let top = level == self.levels.len();
            while from < to && (top || !from.is_multiple_of(FAN)) {
                add(from);
                from += 1;
            }
            while from < to && !to.is_multiple_of(FAN) {
                to -= 1;
                add(to);
            }
            if from >= to {
                break;
            }
            (from, to) = (from / FAN, to / FAN);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::NOBODY;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_of_any_length_are_kept(all in prop::collection::vec(any::<[u64; 4]>(), 1..20), shift in 0_u32..64) {
            let totals = |ns: &[u64; 4]| Totals::new(ns.map(|ns| ns >> shift), ns[0] as u32 & NOBODY, ns[1] >> shift);
            let mut sums = Sums::default();
            all.iter().for_each(|ns| sums.push(totals(ns)));
            for (index, ns) in all.iter().enumerate() {
                prop_assert_eq!(sums.get(index), totals(ns));
            }
            all.iter().for_each(|_| sums.pop());
            prop_assert_eq!((sums.len(), sums.long.len()), (0, 0));
        }

        #[test]
        fn a_pyramid_sums_up_what_it_stands_for(
            all in prop::collection::vec(0_u64..1000, 0..700),
            (a, b) in (0_usize..700, 0_usize..700),
        ) {
            let mut sums = Sums::default();
            all.iter().for_each(|ns| sums.push(Totals::new([*ns, 1, 0, ns / 2], 7, *ns)));
            let (from, to) = (a.min(b).min(all.len()), a.max(b).min(all.len()));
            let totals = Pyramid::of(&sums).sum(&sums, from, to);
            let ran: u64 = all[from..to].iter().sum();
            let unknown: u64 = all[from..to].iter().map(|ns| ns / 2).sum();
            prop_assert_eq!(totals.all(), [ran, (to - from) as u64, 0, unknown]);
            prop_assert_eq!(totals.top_ns(), ran);
        }
    }
}
