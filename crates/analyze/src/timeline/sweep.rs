//! Goes forward through a track and sums up what it passes, one pixel after another.

use super::packed::{GROUP, Start, Steps};
use super::track::{Segment, Totals, Track};

/// A place in a track. Each segment is unpacked at most once, and no group that is passed as a whole. The
/// rest of a group is not unpacked either if one key alone ran in the group.
#[derive(Clone, Debug)]
pub(super) struct Sweep<'t> {
    track: &'t Track,
    steps: Steps<'t>,
    /// Where it is, ns, and in which segment; none at the end of the track.
    here: Option<Start>,
    /// The segment that comes next.
    next: Option<Start>,
    /// The number of the segment where it is.
    index: usize,
    /// How long which state was in its group until here, ns.
    passed: [u64; 4],
}

impl<'t> Sweep<'t> {
    /// Begins at a moment, or with the first segment if that begins later.
    pub(super) fn new(track: &'t Track, from: u64) -> Self {
        let mut steps = track.steps_to(from);
        let index = steps.index();
        let (here, next) = (steps.next(), steps.next());
        let mut sweep = Self { track, steps, here, next, index, passed: [0; 4] };
        // The first segment may have no length.
        sweep.pass(here.map_or(from, |(first, _)| from.max(first)));
        sweep
    }

    /// The end of the segment where it is, ns.
    #[inline]
    fn end(&self) -> u64 {
        self.next.map_or(self.track.end(), |(start, _)| start)
    }

    /// The rest of the segment where it is; never of no length.
    #[inline]
    pub(super) fn segment(&self) -> Option<Segment> {
        let (from, word) = self.here?;
        let (state, key) = word.what();
        Some(Segment { from, to: self.end(), state, key })
    }

    /// Goes on to a moment and sums up the time until then.
    pub(super) fn pass(&mut self, to: u64) -> Totals {
        let mut totals = Totals::default();
        self.pass_groups(to, &mut totals);
        let mut before = totals.all();
        while let Some((at, word)) = self.here {
            let end = self.end();
            if end > to {
                if at < to {
                    totals.add(word, to - at);
                    self.here = Some((to, word));
                }
                break;
            }
            totals.add(word, end.saturating_sub(at));
            (self.here, self.next) = (self.next, self.steps.next());
            self.index += 1;
            if self.index.is_multiple_of(GROUP) {
                self.passed = [0; 4];
                self.pass_groups(to, &mut totals);
                before = totals.all();
            }
        }
        for (passed, (now, before)) in self.passed.iter_mut().zip(totals.all().iter().zip(before)) {
            *passed += now - before;
        }
        totals
    }

    /// Passes the rest of the group and those after it that end at `to` or before, if their sums tell enough.
    fn pass_groups(&mut self, to: u64, totals: &mut Totals) {
        let first = self.index / GROUP;
        if let Some(reached) = self.steps.pass(first, self.passed, to, totals) {
            self.steps.go_to_group(reached);
            self.index = reached * GROUP;
            (self.here, self.next) = (self.steps.next(), self.steps.next());
            self.passed = [0; 4];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::track::State;
    use super::*;
    use hemiola_units::Random;

    /// A track long enough for three levels of sums, with segments of any length, also none.
    fn long_track(random: &mut Random) -> Track {
        let mut track = Track::default();
        let mut at = 1_000;
        for number in 0..40_000 {
            at += [0, 1, 300, 90_000][random.below(4) as usize] * random.below(20);
            // At times one key alone runs, at times one of many does mostly.
            let key = if number / 700 % 2 == 0 { 5 } else { random.below(40).saturating_sub(20) };
            track.push(at, State::ALL[random.below(7) as usize], key as u32);
        }
        track.close(at + 5);
        track
    }

    #[test]
    fn what_is_passed_is_the_sum_of_the_segments_however_far_it_goes() {
        let mut random = Random::from_seed(1);
        let track = long_track(&mut random);
        let all: Vec<Segment> = (0..track.len()).map(|index| track.segment(index)).collect();
        for reach in [100, 10_000, 1_000_000, 1 << 40] {
            let mut at = random.below(track.end());
            let mut sweep = Sweep::new(&track, at);
            for _ in 0..50 {
                let to = at + random.below(reach);
                let mut slow = [0; 4];
                let mut ran = BTreeMap::<u32, u64>::new();
                for of in all.iter().filter(|of| of.from < to && of.to > at) {
                    let ns = of.to.min(to) - of.from.max(at);
                    if of.state == State::Running {
                        *ran.entry(of.key).or_default() += ns;
                    }
                    let slots = [None, Some(0), Some(1), Some(1), Some(2), Some(3), Some(2)];
                    if let Some(slot) = slots[of.state as usize] {
                        slow[slot] += ns;
                    }
                }
                let totals = sweep.pass(to);
                assert_eq!(totals.all(), slow, "{at} to {to}");
                if let Some((key, _)) = ran.iter().find(|(_, ns)| 2 * **ns > slow[0]) {
                    assert_eq!(totals.top, *key, "{at} to {to}");
                }
                let next = all.iter().find(|of| of.to > to.max(of.from));
                let next = next.map(|of| Segment { from: of.from.max(to), ..*of });
                assert_eq!(sweep.segment(), next);
                at = to;
            }
        }
    }
}
