//! The order in which object models are read and merged: a pure queue in front of two threads.
//!
//! * One job of a federation runs at a time, because each changes the model that the next one starts from. The jobs of
//!   a federation run in the order of their arrival, so no joining federate is overtaken for ever.
//! * The express lane takes small jobs only, so a small model never waits for a large one in progress.
//! * A free lane takes the smallest and the oldest job in turn: a small job waits for at most two others of its lane,
//!   and a large one for at most as many as were there before it, and as many again.
//!
//! A session has at most one job, because it makes one call at a time. That is its fair share.

use std::collections::{BTreeMap, VecDeque};

use hemiola_rti::SessionId;

use crate::network::Lane;

/// The largest job of the express lane, in bytes of text to be read and merged. It takes some 20 ms.
pub(crate) const SMALL_WORK_MAX: usize = 256 << 10;

/// The memory that reading and merging an object model may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// The limit, in bytes.
    pub(crate) memory: usize,
    /// As much of it as is on the account until the job has finished, in bytes.
    pub(crate) accounted: usize,
}

impl Allowance {
    /// This much a job may take in any case. Two lanes run, so the account need not know it: the process has more than
    /// that besides the account. A small model is therefore accepted however little is left.
    const ALWAYS: usize = 4 << 20;

    /// The allowance of a job that needs this much where this much is left, in bytes: at most half of it.
    pub(crate) fn of(needed: usize, left: usize) -> Self {
        let memory = needed.min((left / 2).max(Self::ALWAYS));
        Self { memory, accounted: if memory > Self::ALWAYS { memory } else { 0 } }
    }
}

/// A job that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) session: SessionId,
    /// The work in bytes of text.
    pub(crate) work: usize,
    /// Its place in the order of arrival.
    arrival: u64,
}

/// The jobs that wait, and the lanes.
#[derive(Debug, Default)]
pub(crate) struct Preparations {
    /// By federation, each in the order of arrival. No list is empty.
    waiting: BTreeMap<String, VecDeque<Waiting>>,
    lanes: [LaneState; 2],
    arrivals: u64,
}

#[derive(Debug, Default)]
struct LaneState {
    /// The federation of the running job.
    running: Option<String>,
    /// The memory of this job that is on the account, in bytes.
    memory: usize,
    /// Whether the next job is the oldest one, not the smallest.
    oldest_next: bool,
}

impl Preparations {
    /// Adds a job of a session for a federation.
    pub(crate) fn add(&mut self, session: SessionId, federation: &str, work: usize) {
        self.arrivals += 1;
        let job = Waiting { session, work, arrival: self.arrivals };
        self.waiting.entry(federation.to_owned()).or_default().push_back(job);
    }

    /// Puts a job back in front of those of its federation.
    pub(crate) fn put_back(&mut self, federation: &str, job: Waiting) {
        self.waiting.entry(federation.to_owned()).or_default().push_front(job);
    }

    /// Forgets a session that has ended. A running job is not affected.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, jobs| {
            jobs.retain(|job| job.session != session);
            !jobs.is_empty()
        });
    }

    /// Takes the next job for a lane that is free, with its federation. The lane stays free until the job is
    /// [started](Self::start).
    pub(crate) fn next(&mut self) -> Option<(Lane, String, Waiting)> {
        for lane in [Lane::Express, Lane::Main] {
            let Some(federation) = self.next_of(lane) else { continue };
            let jobs = self.waiting.get_mut(&federation).expect("it has a job");
            let job = jobs.pop_front().expect("no list is empty");
            if jobs.is_empty() {
                self.waiting.remove(&federation);
            }
            let state = &mut self.lanes[lane as usize];
            state.oldest_next = !state.oldest_next;
            return Some((lane, federation, job));
        }
        None
    }

    /// The lane runs a job of this federation, with this much memory on the account.
    pub(crate) fn start(&mut self, lane: Lane, federation: String, memory: usize) {
        let state = &mut self.lanes[lane as usize];
        let before = state.running.replace(federation);
        assert_eq!(before, None, "a lane runs one job at a time");
        state.memory = memory;
    }

    /// The memory of the running jobs that is on the account, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.lanes.iter().map(|lane| lane.memory).sum()
    }

    /// The lane is free. Returns the federation of its job, and its memory that was on the account, in bytes.
    pub(crate) fn finish(&mut self, lane: Lane) -> (String, usize) {
        let state = &mut self.lanes[lane as usize];
        let federation = state.running.take().expect("only a job that was started finishes");
        (federation, std::mem::take(&mut state.memory))
    }

    /// Returns the federation whose first job a lane takes next.
    fn next_of(&self, lane: Lane) -> Option<String> {
        let state = &self.lanes[lane as usize];
        if state.running.is_some() {
            return None;
        }
        let is_running =
            |name: &String| self.lanes.iter().any(|one| one.running.as_ref() == Some(name));
        let heads = self.waiting.iter().map(|(name, jobs)| (name, &jobs[0]));
        let eligible = heads.filter(|(name, job)| {
            (lane == Lane::Main || job.work <= SMALL_WORK_MAX) && !is_running(name)
        });
        let next = eligible.min_by_key(|(_, job)| {
            let size = if state.oldest_next { 0 } else { job.work };
            (size, job.arrival)
        });
        next.map(|(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts everything that can be started and returns the sessions.
    fn start_all(queue: &mut Preparations) -> Vec<(Lane, u64)> {
        let mut started = Vec::new();
        while let Some((lane, federation, job)) = queue.next() {
            queue.start(lane, federation, 1);
            started.push((lane, job.session.0));
        }
        started
    }

    const LARGE: usize = 10 * SMALL_WORK_MAX;

    #[test]
    fn a_small_model_may_be_read_however_little_is_left() {
        const MIB: usize = 1 << 20;
        let of = |needed, left| {
            let Allowance { memory, accounted } = Allowance::of(needed * MIB, left * MIB);
            (memory / MIB, accounted / MIB)
        };
        assert_eq!(
            [of(1, 0), of(4, 1000), of(500, 0), of(500, 7)],
            [(1, 0), (4, 0), (4, 0), (4, 0)]
        );
        assert_eq!([of(500, 100), of(30, 100)], [(50, 50), (30, 30)]);
    }

    #[test]
    fn a_small_job_does_not_wait_for_large_ones() {
        let mut queue = Preparations::default();
        (0..100).for_each(|at| queue.add(SessionId(at), &format!("Large{at}"), LARGE));
        assert_eq!(start_all(&mut queue), [(Lane::Main, 0)]);
        queue.add(SessionId(100), "Small", 10);
        assert_eq!(start_all(&mut queue), [(Lane::Express, 100)]);
    }

    #[test]
    fn smaller_jobs_overtake_and_the_oldest_is_not_starved() {
        let mut queue = Preparations::default();
        queue.add(SessionId(0), "First", LARGE + 50);
        (1..50).for_each(|at| queue.add(SessionId(at), &format!("F{at}"), LARGE + at as usize));
        let mut order = Vec::new();
        for at in 50..100 {
            let started = start_all(&mut queue);
            order.extend(started.iter().map(|(_, session)| *session));
            queue.finish(Lane::Main);
            // Smaller ones keep coming.
            queue.add(SessionId(at), &format!("F{at}"), LARGE - at as usize);
        }
        // In turn the smallest and the oldest.
        assert_eq!(order[..6], [1, 0, 51, 2, 53, 3]);
    }

    #[test]
    fn jobs_of_one_federation_run_in_order_and_one_at_a_time() {
        let mut queue = Preparations::default();
        queue.add(SessionId(1), "Shared", LARGE);
        queue.add(SessionId(2), "Shared", 1);
        queue.add(SessionId(3), "Shared", 1);
        assert_eq!(start_all(&mut queue), [(Lane::Main, 1)]);
        assert_eq!(queue.finish(Lane::Main), ("Shared".to_owned(), 1));
        assert_eq!(start_all(&mut queue), [(Lane::Express, 2)]);
        queue.finish(Lane::Express);
        assert_eq!(start_all(&mut queue), [(Lane::Express, 3)]);
    }

    #[test]
    fn an_ended_session_has_no_job() {
        let mut queue = Preparations::default();
        queue.add(SessionId(1), "A", 1);
        queue.add(SessionId(2), "A", 1);
        queue.forget(SessionId(1));
        assert_eq!(start_all(&mut queue), [(Lane::Express, 2)]);
        queue.forget(SessionId(2));
        assert_eq!(queue.finish(Lane::Express), ("A".to_owned(), 1));
    }
}
