//! Where jobs of a row end without a sleep, or before their thread ran for the last time.

use std::iter::Peekable;
use std::slice::Iter;

use super::Job;
use crate::sched::follow::Several;

/// Where a thread went from one job to the next one without a sleep between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Where the end of a job is known, by time.
    pub(in crate::timeline) ends: Vec<End>,
    /// When a job ended that its thread left for something that is no job, by time.
    pub(in crate::timeline) left: Vec<u64>,
    /// Jobs of the list that are several, whose ends are not known, by release.
    pub(in crate::timeline) several: Vec<Several>,
}

/// The end of a job that another one follows without a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timeline) struct End {
    /// When it ended, ns.
    pub(in crate::timeline) finish: u64,
    /// When the next one was released, ns.
    pub(in crate::timeline) next: u64,
}

impl Busy {
    /// The number of the job that is at this place of the list and was released then, as the figures count.
    #[must_use]
    pub fn number(&self, place: usize, release: u64) -> u64 {
        let before = self.several.partition_point(|several| several.release < release);
        place as u64 + self.several[..before].iter().map(|several| several.jobs - 1).sum::<u64>()
    }

    /// How many jobs a job of the list is.
    #[must_use]
    pub fn count(&self, release: u64) -> u64 {
        self.several(release).map_or(1, |several| several.jobs)
    }

    /// The jobs that are one in the list, released then.
    pub(in crate::timeline) fn several(&self, release: u64) -> Option<&Several> {
        let place = self.several.binary_search_by_key(&release, |several| several.release);
        place.ok().map(|place| &self.several[place])
    }
}

/// Takes the ends of jobs in order.
pub(super) struct Ends<'b> {
    ends: Peekable<Iter<'b, End>>,
    left: Peekable<Iter<'b, u64>>,
}

impl<'b> Ends<'b> {
    pub(super) fn of(busy: &'b Busy) -> Self {
        Self { ends: busy.ends.iter().peekable(), left: busy.left.iter().peekable() }
    }

    /// The release of a job that begins to run at a moment: an earlier one, if its thread was busy until then.
    pub(super) fn release(&mut self, at: u64) -> u64 {
        self.ends.next_if(|end| end.finish == at).map_or(at, |end| end.next)
    }

    /// Divides what a thread did from a release on until before `until` into jobs. All but the last were seen whole.
    /// Each is due `deadline` after its release.
    pub(super) fn divide(
        &mut self,
        mut job: Job,
        until: u64,
        deadline: Option<u64>,
        mut add: impl FnMut(Job),
    ) {
        while let Some(left) = self.left.next_if(|left| **left <= until) {
            job.finish = job.finish.min(*left).max(job.release);
        }
        job.start = job.start.min(job.finish);
        let last = job.finish;
        while let Some(end) = self.ends.next_if(|end| end.finish < until) {
            let finish = end.finish.max(job.start);
            add(Job { finish, whole: true, ..job });
            job.release = end.next;
            job.start = finish.max(end.next);
            job.finish = last.max(job.start);
            job.deadline = deadline.map(|after| end.next.saturating_add(after));
        }
        add(job);
    }
}
