//! Which priority a unit may have that is added to a run.

use hemiola_units::{Policy, Priority};
use thiserror::Error;

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
}
