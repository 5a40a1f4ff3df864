//! The processor time of units: who exceeded a budget, who waited for the processor, and how each is scheduled.

use hemiola_units::Span;

use crate::SLOTS;

/// What a unit did with the processor in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time since the previous cycle's command.
    pub used: Span,
    /// Whether it was ready to run, and not asleep, when the time for answers was over.
    pub runnable: bool,
}

/// How the scheduler should treat a unit: the order of the variants is the order of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The active unit: before all other units.
    First,
    /// In shadow or on standby: after the active unit.
    Behind,
    /// Not yet answering: without real-time priority.
    Starting,
    /// Held back because it exceeded its budget: after everything else.
    HeldBack,
}

/// What a unit was entitled to in a cycle, and what it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// With what it could not use before.
    pub(crate) budget: Span,
    pub(crate) usage: Usage,
    /// Whether its answer to this cycle was there in time.
    pub(crate) answered: bool,
    /// Whether it is held back: it then has no right to processor time.
    pub(crate) held_back: bool,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// No fault of this kind.
    Clear,
    /// It could not answer, because others had the processor.
    Starved {
        /// The rest of its budget.
        unused: Span,
    },
    /// It used more than its budget and did not answer, or another unit went without because of it.
    Over,
}

/// Finds who is to blame for missing answers.
///
/// A unit that did not answer was starved if it was ready to run and had not used its budget yet. Of the units that
/// did answer, those above their budgets are to blame if together they took at least as much too much as a starved unit
/// lacked; otherwise the time went elsewhere, such as to an interrupt.
pub(crate) fn charge(claims: &[Option<Claim>; SLOTS]) -> [Charge; SLOTS] {
    let claims = claims.map(|claim| claim.map(|claim| (claim, claim.excess())));
    let present = || claims.iter().flatten();
    let lack = present().filter(|(claim, _)| claim.is_starved()).map(|(_, excess)| -*excess).min();
    let excess = present()
        .filter(|(claim, excess)| !claim.held_back && excess.is_positive())
        .fold(Span::ZERO, |sum, (_, excess)| sum + *excess);
    let took_from_others = lack.is_some_and(|lack| excess >= lack);
    claims.map(|claim| match claim {
        None => Charge::Clear,
        Some((claim, excess)) if claim.is_starved() => Charge::Starved { unused: -excess },
        Some((claim, excess)) => {
            let over = if claim.answered {
                took_from_others && !claim.held_back && excess.is_positive()
            } else {
                excess.is_positive() || claim.held_back && claim.usage.runnable
            };
            if over { Charge::Over } else { Charge::Clear }
        }
    })
}

impl Claim {
    fn excess(&self) -> Span {
        self.usage.used - self.budget
    }

    fn is_starved(&self) -> bool {
        let entitled = !self.held_back && !self.excess().is_positive();
        !self.answered && self.usage.runnable && entitled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Charges units with a budget of 500 µs, given as processor time in µs, whether it is ready to run, and whether it
    /// has answered.
    fn charged<const N: usize>(units: [(i64, bool, bool); N]) -> [Charge; N] {
        let claims = std::array::from_fn(|slot| {
            let (used, runnable, answered) = *units.get(slot)?;
            let usage = Usage { used: Span::from_micros(used), runnable };
            let budget = Span::from_micros(500);
            Some(Claim { budget, usage, answered, held_back: false })
        });
        let charges = charge(&claims);
        std::array::from_fn(|slot| charges[slot])
    }

    const ANSWERED: (i64, bool, bool) = (40, false, true);

    fn starved(unused: i64) -> Charge {
        Charge::Starved { unused: Span::from_micros(unused) }
    }

    #[test]
    fn a_unit_that_answers_but_starves_others_is_to_blame() {
        let spins = (3990, false, true);
        let waits = (0, true, false);
        assert_eq!(charged([ANSWERED, spins, waits]), [Charge::Clear, Charge::Over, starved(500)]);
    }

    #[test]
    fn a_unit_above_its_budget_that_harms_nobody_is_not_to_blame() {
        assert_eq!(charged([(3000, false, true), ANSWERED]), [Charge::Clear; 2]);
    }

    #[test]
    fn a_unit_that_sleeps_instead_of_answering_is_not_excused_by_another() {
        assert_eq!(charged([(3990, false, true), (0, false, false)]), [Charge::Clear; 2]);
    }

    #[test]
    fn a_small_excess_does_not_explain_a_long_wait() {
        let slightly_over = (505, false, true);
        let waits = (20, true, false);
        assert_eq!(charged([slightly_over, waits]), [Charge::Clear, starved(480)]);
        // Two together do if they took what the third lacked.
        let over = (740, false, true);
        assert_eq!(charged([over, over, waits]), [Charge::Over, Charge::Over, starved(480)]);
    }

    #[test]
    fn a_runaway_is_to_blame_for_its_own_missing_answer() {
        assert_eq!(charged([(501, true, false)]), [Charge::Over]);
        assert_eq!(charged([(500, true, false)]), [starved(0)]);
    }

    #[test]
    fn a_unit_that_is_held_back_has_no_right_to_the_processor() {
        let usage = |used, runnable| Usage { used: Span::from_micros(used), runnable };
        let claim = |answered, usage| Claim {
            budget: Span::from_micros(500),
            usage,
            answered,
            held_back: true,
        };
        let mut claims = [None; SLOTS];
        claims[0] = Some(claim(false, usage(0, true)));
        claims[1] = Some(claim(true, usage(4000, true)));
        claims[2] = Some(claim(false, usage(0, false)));
        assert_eq!(charge(&claims)[..3], [Charge::Over, Charge::Clear, Charge::Clear]);
    }
}
