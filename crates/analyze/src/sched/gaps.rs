//! The times in which the record of a processor is missing.

use std::collections::BTreeMap;

use super::GAPS_MAX;
use super::report::Gap;

/// Gaps found so far, and those that an earlier pass found.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// From an earlier pass, by beginning.
    known: Vec<Gap>,
    next: usize,
    found: Vec<Gap>,
    /// A processor was taken away: nothing ran there, so nothing was missed.
    offline: Vec<Gap>,
    /// The latest end of the gaps that have begun. A thread that was not running throughout may have been anywhere.
    pub(super) until: u64,
}

impl Gaps {
    pub(super) fn knowing(known: Vec<Gap>) -> Self {
        Self { known, ..Self::default() }
    }

    /// The next one that has begun at that moment.
    #[inline]
    pub(super) fn begun(&mut self, at: u64) -> Option<Gap> {
        let gap = *self.known.get(self.next)?;
        if gap.from_ns >= at {
            return None;
        }
        self.next += 1;
        self.until = self.until.max(gap.to_ns);
        Some(gap)
    }

    /// When the first gap after a moment begins, of those that an earlier pass found; the moment itself if none begins
    /// before `now`, because it lies within one.
    pub(super) fn first_after(&self, moment: u64, now: u64) -> u64 {
        let first = self.known.partition_point(|gap| gap.from_ns < moment);
        self.known.get(first).map(|gap| gap.from_ns).filter(|from| *from < now).unwrap_or(moment)
    }

    /// Adds a gap, at its end.
    pub(super) fn find(&mut self, gap: Gap) {
        self.until = self.until.max(gap.to_ns);
        self.found.push(gap);
        if self.found.len() >= 2 * GAPS_MAX {
            self.found = merged(std::mem::take(&mut self.found));
        }
    }

    /// A processor is online again.
    pub(super) fn back(&mut self, gap: Gap) {
        self.offline.push(gap);
        if self.offline.len() >= 2 * GAPS_MAX {
            self.offline = merged(std::mem::take(&mut self.offline));
        }
    }

    /// The gaps in which events may be missing, by beginning.
    pub(super) fn found(&self) -> Vec<Gap> {
        let mut gaps = merged(self.found.clone());
        gaps.sort_by_key(|gap| (gap.from_ns, gap.cpu));
        gaps
    }

    /// All gaps, by beginning.
    pub(super) fn all(&self) -> Vec<Gap> {
        let mut gaps = merged(self.found.iter().chain(&self.offline).copied().collect());
        gaps.sort_by_key(|gap| (gap.from_ns, gap.cpu));
        gaps
    }
}

/// Merges the gaps of a processor that are closest to each other, until [`GAPS_MAX`] and one for each processor remain.
fn merged(gaps: Vec<Gap>) -> Vec<Gap> {
    if gaps.len() <= GAPS_MAX {
        return gaps;
    }
    let mut by_cpu = BTreeMap::<u16, Vec<Gap>>::new();
    for gap in gaps {
        by_cpu.entry(gap.cpu).or_default().push(gap);
    }
    let between = |pair: &[Gap]| pair[1].from_ns.saturating_sub(pair[0].to_ns);
    let mut distances: Vec<u64> = Vec::new();
    for gaps in by_cpu.values_mut() {
        gaps.sort_by_key(|gap| gap.from_ns);
        distances.extend(gaps.windows(2).map(between));
    }
    distances.sort_unstable_by(|a, b| b.cmp(a));
    let apart = distances.get(GAPS_MAX).copied().unwrap_or(0);
    let mut kept: Vec<Gap> = Vec::new();
    for gap in by_cpu.into_values().flatten() {
        match kept.last_mut() {
            Some(last)
                if last.cpu == gap.cpu && gap.from_ns.saturating_sub(last.to_ns) <= apart =>
            {
                last.to_ns = last.to_ns.max(gap.to_ns);
                last.lost += gap.lost;
            }
            _ => kept.push(gap),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_gaps_become_fewer_that_cover_the_same() {
        let gaps: Vec<Gap> = (0..10_000_u64)
            .map(|n| Gap { cpu: (n % 2) as u16, from_ns: n * n, to_ns: n * n + 1, lost: 3 })
            .collect();
        let fewer = merged(gaps.clone());
        assert!(fewer.len() <= GAPS_MAX + 2, "{}", fewer.len());
        assert_eq!(fewer.iter().map(|gap| gap.lost).sum::<u64>(), 30_000);
        let covered = |gap: &Gap| {
            fewer.iter().any(|all| {
                all.cpu == gap.cpu && all.from_ns <= gap.from_ns && gap.to_ns <= all.to_ns
            })
        };
        assert!(gaps.iter().all(covered));
        // The nearest ones, which are the first here, went together.
        assert_eq!(
            fewer
                .iter()
                .filter(|gap| gap.to_ns - gap.from_ns > 1 && gap.to_ns > 60_000_000)
                .count(),
            0
        );
    }
}
