//! The reservations of `SCHED_DEADLINE` threads, which the kernel's events do not contain: read with sched_getattr(2)
//! while the threads exist.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_rt::sys::sched;
use hemiola_trace::sched::{Event, Reservation, Tid, What};
use hemiola_units::{Policy, Span};

/// The most threads noted; the reservations of others stay unknown.
const THREADS_MAX: usize = 4096;

/// The reservations of the threads that ran under `SCHED_DEADLINE`.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// `None` for a thread that changed its reservation.
    known: BTreeMap<Tid, Option<Reservation>>,
}

impl Reservations {
    /// Reads the reservation of every thread that begins to run under `SCHED_DEADLINE` in these events.
    pub fn notice(&mut self, events: &[Event]) {
        let tids: BTreeSet<Tid> = events.iter().filter_map(runs_by_deadline).collect();
        for tid in tids {
            // A thread that has ended, or has another policy now, keeps what was read before.
            if let Ok(Policy::Deadline { runtime, deadline, period }) = sched::policy(Some(tid.0)) {
                self.note(tid, reservation(runtime, deadline, period));
            }
        }
    }

    fn note(&mut self, tid: Tid, read: Reservation) {
        if self.known.len() < THREADS_MAX || self.known.contains_key(&tid) {
            let known = self.known.entry(tid).or_insert(Some(read));
            *known = known.filter(|known| *known == read);
        }
    }

    /// Returns the entries that a trace stores: [`Reservation::condition`] for each thread that kept one reservation.
    #[must_use]
    pub fn conditions(&self) -> Vec<(String, String)> {
        let one =
            |(tid, known): (&Tid, &Option<Reservation>)| Some(known.as_ref()?.condition(*tid));
        self.known.iter().filter_map(one).collect()
    }
}

/// The thread that begins to run at the priority of `SCHED_DEADLINE`.
fn runs_by_deadline(event: &Event) -> Option<Tid> {
    match event.what {
        What::Switch { next, priority: ..0, .. } => Some(next),
        _ => None,
    }
}

fn reservation(runtime: Span, deadline: Span, period: Span) -> Reservation {
    let [runtime_ns, deadline_ns, period_ns] =
        [runtime, deadline, period].map(|span| span.nanos().unsigned_abs());
    // The kernel takes a period of 0 for the deadline.
    Reservation { runtime_ns, deadline_ns, period_ns: period_ns.max(deadline_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_changes_its_reservation_has_none() {
        let mut noted = Reservations::default();
        let read = |runtime_ns| Reservation { runtime_ns, deadline_ns: 8, period_ns: 9 };
        for (tid, runtime_ns) in [(1, 5), (2, 5), (1, 5), (2, 6), (2, 5)] {
            noted.note(Tid(tid), read(runtime_ns));
        }
        assert_eq!(noted.conditions(), [("sched.deadline.1".to_owned(), "5 8 9".to_owned())]);
    }
}
