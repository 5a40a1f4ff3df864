//! The constant-bandwidth server of a `SCHED_DEADLINE` thread, with the kernel's rules (`kernel/sched/deadline.c`).

use hemiola_trace::sched::Reservation;

/// A server; moments and lengths are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    reservation: Reservation,
    pub(super) budget: u64,
    /// The scheduling deadline.
    pub(super) deadline: u64,
    /// When a thread without budget gets it again.
    pub(super) throttled_until: Option<u64>,
}

impl Server {
    pub(super) fn new(reservation: Reservation) -> Self {
        Self { reservation, budget: 0, deadline: 0, throttled_until: None }
    }

    /// The thread wakes up (`update_dl_entity`, `dl_check_constrained_dl`).
    pub(super) fn wake(&mut self, now: u64) {
        let Reservation { runtime_ns, deadline_ns, period_ns } = self.reservation;
        if self.deadline <= now {
            if self.deadline > 0 && self.next_period() > now {
                self.throttled_until = Some(self.next_period());
                return;
            }
            (self.budget, self.deadline) = (runtime_ns, now + deadline_ns);
            return;
        }
        let laxity = self.deadline - now;
        let overflows = u128::from(self.budget) * u128::from(deadline_ns)
            > u128::from(laxity) * u128::from(runtime_ns);
        if overflows && deadline_ns == period_ns {
            (self.budget, self.deadline) = (runtime_ns, now + deadline_ns);
        } else if overflows {
            let density = u128::from(laxity) * u128::from(runtime_ns) / u128::from(deadline_ns);
            self.budget = density as u64;
        }
        if self.budget == 0 {
            self.throttle(now);
        }
    }

    /// The budget is used up: it is replenished at the next period, at once if that has begun.
    pub(super) fn throttle(&mut self, now: u64) {
        let next = self.next_period();
        if next <= now {
            self.replenish(now);
        } else {
            self.throttled_until = Some(next);
        }
    }

    /// A new period (`replenish_dl_entity`).
    pub(super) fn replenish(&mut self, now: u64) {
        self.throttled_until = None;
        self.deadline += self.reservation.period_ns;
        self.budget = self.reservation.runtime_ns;
        if self.deadline <= now {
            self.deadline = now + self.reservation.deadline_ns;
        }
    }

    pub(super) fn next_period(&self) -> u64 {
        self.deadline - self.reservation.deadline_ns + self.reservation.period_ns
    }
}
