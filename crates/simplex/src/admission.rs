//! What a unit may have: its priority, which follows from its state, and its share of the time for answers.

use hemiola_units::{CpuSet, Policy, Priority, Span};
use thiserror::Error;

use crate::budget::Standing;

/// What a unit needs of the processors in each cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Processor time.
    pub budget: Span,
    /// The processors that it may run on; `None` for all.
    pub cpus: Option<CpuSet>,
}

/// Why there is no room for a unit. `Display` shows the sum.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{name} needs {needed} of processor time in a cycle, but of the {limit} until answers are due only {left} are left: {taken}"
)]
pub struct ShareError {
    /// The new unit.
    pub name: String,
    /// Its budget.
    pub needed: Span,
    /// Time from the sample until answers are due.
    pub limit: Span,
    /// What the other units leave of it on the fullest processor.
    pub left: Span,
    /// The budgets of the others: `a 500us + b 2ms`.
    pub taken: String,
}

/// Checks that a unit fits beside others: on each processor, the budgets of all units that may run there must not
/// exceed `limit` together.
///
/// # Errors
/// If they would.
pub fn admit(
    name: &str,
    share: &Share,
    others: &[(&str, &Share)],
    limit: Span,
) -> Result<(), ShareError> {
    let may_run = |other: &Share, cpu: Option<u16>| match (&other.cpus, cpu) {
        (None, _) => true,
        (Some(cpus), Some(cpu)) => cpus.contains(cpu),
        (Some(_), None) => false,
    };
    let mentioned = others.iter().filter_map(|(_, other)| other.cpus.as_ref());
    let cpus: Vec<Option<u16>> = match &share.cpus {
        Some(cpus) => cpus.iter().map(Some).collect(),
        // A processor that no other unit is bound to, and all that are mentioned.
        None => std::iter::once(None).chain(mentioned.flat_map(CpuSet::iter).map(Some)).collect(),
    };
    let beside = |cpu| others.iter().filter(move |(_, other)| may_run(other, cpu));
    let sum = |cpu: &Option<u16>| beside(*cpu).fold(Span::ZERO, |sum, (_, it)| sum + it.budget);
    let Some(fullest) = cpus.into_iter().max_by_key(sum) else { return Ok(()) };
    let left = limit - sum(&fullest);
    if share.budget <= left {
        return Ok(());
    }
    let taken: Vec<String> =
        beside(fullest).map(|(name, other)| format!("{name} {}", other.budget)).collect();
    let taken = if taken.is_empty() { "it is alone".to_owned() } else { taken.join(" + ") };
    let left = left.max(Span::ZERO);
    Err(ShareError { name: name.into(), needed: share.budget, limit, left, taken })
}

/// Returns the policy of a unit. The decision module and its safety controller come first, then the active unit, then
/// all others, whatever priority a unit `wants`. Without a real-time decision module units have what they want.
#[must_use]
pub fn policy_for(standing: Standing, wanted: Policy, decision: Policy) -> Policy {
    if standing == Standing::HeldBack {
        return Policy::Other { nice: 19 };
    }
    let (Policy::Fifo { priority: above } | Policy::RoundRobin { priority: above }) = decision
    else {
        return wanted;
    };
    let below = |steps: u8, wanted: u8| {
        let number = above.get().saturating_sub(steps).min(wanted);
        // Where no real-time priority is left below the decision module, an ordinary one must do.
        Priority::try_from(number)
            .map_or(Policy::Other { nice: 0 }, |priority| Policy::Fifo { priority })
    };
    match (standing, wanted) {
        (Standing::First, _) => below(1, u8::MAX),
        (Standing::Behind, Policy::Fifo { priority } | Policy::RoundRobin { priority }) => {
            below(2, priority.get())
        }
        (Standing::Behind, ordinary) => ordinary,
        (Standing::Starting | Standing::HeldBack, _) => Policy::Other { nice: 0 },
    }
}

/// Why a priority is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PriorityError {
    /// It is out of range: choose another.
    #[error("priority {0} does not exist; real-time priorities are 1 to 99")]
    Range(u8),
    /// It is not below the decision module's: choose a lower one.
    #[error("priority {wanted} is not below the decision module's {limit}: a unit could starve it")]
    NotBelow {
        /// The requested priority.
        wanted: u8,
        /// The decision module's.
        limit: u8,
    },
    /// The decision module has no real-time priority: leave the unit's out.
    #[error(
        "the decision module has no real-time priority here, and a unit above it could starve it; leave out --priority"
    )]
    NoLimit,
}

/// Returns the policy of a unit with a priority of its own, which must be below that of the decision module.
///
/// # Errors
/// If it is not.
pub fn unit_policy(wanted: u8, decision: Policy) -> Result<Policy, PriorityError> {
    let priority = Priority::try_from(wanted).map_err(|_| PriorityError::Range(wanted))?;
    match decision {
        Policy::Fifo { priority: limit } | Policy::RoundRobin { priority: limit } => {
            if priority < limit {
                Ok(Policy::Fifo { priority })
            } else {
                Err(PriorityError::NotBelow { wanted, limit: limit.get() })
            }
        }
        _ => Err(PriorityError::NoLimit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_stays_below_the_decision_module() {
        let priority = |number| Priority::try_from(number).unwrap();
        let decision = Policy::RoundRobin { priority: priority(75) };
        assert_eq!(unit_policy(74, decision), Ok(Policy::Fifo { priority: priority(74) }));
        let refusal = PriorityError::NotBelow { wanted: 75, limit: 75 };
        assert_eq!(unit_policy(75, decision), Err(refusal));
        assert_eq!(unit_policy(0, decision), Err(PriorityError::Range(0)));
        assert_eq!(unit_policy(100, decision), Err(PriorityError::Range(100)));
        assert_eq!(unit_policy(1, Policy::Other { nice: 0 }), Err(PriorityError::NoLimit));
    }

    #[test]
    fn the_order_of_work_follows_from_the_state_and_not_from_the_wish() {
        let fifo = |number| Policy::Fifo { priority: Priority::try_from(number).unwrap() };
        let of = |standing, wanted| policy_for(standing, fifo(wanted), fifo(75));
        for wanted in 1..=99 {
            assert_eq!(of(Standing::First, wanted), fifo(74));
            assert_eq!(of(Standing::Behind, wanted), fifo(wanted.min(73)));
            assert_eq!(of(Standing::Starting, wanted), Policy::Other { nice: 0 });
            assert_eq!(of(Standing::HeldBack, wanted), Policy::Other { nice: 19 });
        }
        // No unit reaches a decision module, however low that is.
        for (limit, first, behind) in
            [(2, fifo(1), Policy::Other { nice: 0 }), (3, fifo(2), fifo(1))]
        {
            assert_eq!(policy_for(Standing::First, fifo(70), fifo(limit)), first);
            assert_eq!(policy_for(Standing::Behind, fifo(70), fifo(limit)), behind);
        }
        let ordinary = Policy::Other { nice: 0 };
        assert_eq!(policy_for(Standing::First, ordinary, fifo(75)), fifo(74));
        assert_eq!(policy_for(Standing::First, ordinary, ordinary), ordinary);
    }

    fn share(millis: i64, cpus: Option<&str>) -> Share {
        let cpus = cpus.map(|cpus| cpus.parse().unwrap());
        Share { budget: Span::from_millis(millis), cpus }
    }

    /// The sentences that users see.
    const BESIDE: &str = "new needs 2ms of processor time in a cycle, but of the 4ms until answers are due only 1ms \
                          are left: a 1ms + b 2ms";
    const ALONE: &str = "new needs 5ms of processor time in a cycle, but of the 4ms until answers are due only 4ms are \
                         left: it is alone";

    #[test]
    fn budgets_that_do_not_fit_are_refused_with_the_sum() {
        let (a, b) = (share(1, None), share(2, None));
        let limit = Span::from_millis(4);
        let others = [("a", &a), ("b", &b)];
        assert_eq!(admit("new", &share(1, None), &others, limit), Ok(()));
        let refusal = admit("new", &share(2, None), &others, limit).unwrap_err();
        assert_eq!(refusal.to_string(), BESIDE);
        let alone = admit("new", &share(5, None), &[], limit).unwrap_err();
        assert_eq!(alone.to_string(), ALONE);
    }

    #[test]
    fn budgets_count_on_the_processors_that_units_share() {
        let (zero, one) = (share(3, Some("0")), share(2, Some("1")));
        let others = [("zero", &zero), ("one", &one)];
        let fits = |cpus, millis| {
            admit("new", &share(millis, cpus), &others, Span::from_millis(4)).is_ok()
        };
        for (cpus, room) in
            [(Some("0"), 1), (Some("1"), 2), (Some("2"), 4), (Some("1-2"), 2), (None, 1)]
        {
            assert!(fits(cpus, room) && !fits(cpus, room + 1), "{cpus:?}");
        }
        // A unit that may run anywhere counts everywhere.
        let anywhere = share(3, None);
        let others = [("anywhere", &anywhere)];
        assert!(admit("new", &share(2, Some("2")), &others, Span::from_millis(4)).is_err());
    }
}
