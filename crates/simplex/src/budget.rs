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
    /// Whether its process was ending then, or had ended. That uses processor time too, for example for a core dump.
    pub ending: bool,
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

/// A unit that is held back: what it may still use for its next answer, and how long it has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldBack {
    /// Processor time since it last answered or was charged.
    spent: Span,
    /// Cycles since it was last above its budget.
    waited: u32,
}

/// When a unit answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// This cycle, in time.
    InTime,
    /// An earlier cycle, too late.
    Late,
    /// Nothing since the previous cycle.
    No,
}

/// What a unit was entitled to in a cycle, and what it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// With what it could not use before.
    pub(crate) budget: Span,
    pub(crate) usage: Usage,
    pub(crate) answered: Answered,
    /// If it is held back, it has no right to processor time.
    pub(crate) held_back: Option<HeldBack>,
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
///
/// A unit that is held back gets what others leave, perhaps a hundredth of the processor, so its budget counts from
/// answer to answer over any number of cycles. Until it has used it, it waits.
///
/// In a cycle in which the decision module itself was `late`, nobody is above a budget: the kernel counts a pause of
/// the machine as the time of whoever was running.
pub(crate) fn charge(claims: &[Option<Claim>; SLOTS], late: bool) -> [Charge; SLOTS] {
    let excess_of = |claim: &Claim| if late { -claim.budget } else { claim.excess() };
    let claims = claims.map(|claim| claim.map(|claim| (claim, excess_of(&claim))));
    let entitled = || claims.iter().flatten().filter(|(claim, _)| claim.held_back.is_none());
    let is_starved = |(claim, excess): &&(Claim, Span)| claim.waits() && !excess.is_positive();
    let lack = entitled().filter(is_starved).map(|(_, excess)| -*excess).min();
    let excess = entitled()
        .filter(|(_, excess)| excess.is_positive())
        .fold(Span::ZERO, |sum, (_, excess)| sum + *excess);
    let took_from_others = lack.is_some_and(|lack| excess >= lack);
    claims.map(|claim| match claim {
        None => Charge::Clear,
        Some((claim, excess)) if is_starved(&&(claim, excess)) => {
            Charge::Starved { unused: -excess }
        }
        Some((claim, excess)) => {
            let to_blame = match claim.answered {
                Answered::InTime => took_from_others && claim.held_back.is_none(),
                Answered::Late | Answered::No => true,
            };
            if to_blame && excess.is_positive() { Charge::Over } else { Charge::Clear }
        }
    })
}

impl Claim {
    fn excess(&self) -> Span {
        self.held_back.map_or(Span::ZERO, |held_back| held_back.spent) + self.usage.used
            - self.budget
    }

    /// Whether it has no answer to this cycle and works on it, or was held back and answers late for that reason.
    fn waits(&self) -> bool {
        match self.answered {
            Answered::InTime => false,
            Answered::Late => self.usage.runnable || self.held_back.is_some(),
            Answered::No => self.usage.runnable,
        }
    }
}

impl HeldBack {
    /// Returns it after a cycle in which the unit used this much; `None` once it has waited `cycles` without being
    /// above its budget, so that it gets another try.
    pub(crate) fn after(
        self,
        used: Span,
        answered: Answered,
        charge: Charge,
        cycles: u32,
    ) -> Option<Self> {
        let waited = if charge == Charge::Over { 0 } else { self.waited.saturating_add(1) };
        let begins = charge == Charge::Over || answered != Answered::No;
        let spent = if begins { Span::ZERO } else { self.spent + used };
        (waited < cycles).then_some(Self { spent, waited })
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
            let usage = Usage { used: Span::from_micros(used), runnable, ending: false };
            let budget = Span::from_micros(500);
            let answered = if answered { Answered::InTime } else { Answered::No };
            Some(Claim { budget, usage, answered, held_back: None })
        });
        let charges = charge(&claims, false);
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

    /// Charges a unit with a budget of 500 µs that is held back and has used 400 µs since its last answer.
    fn held_back(used: i64, runnable: bool, answered: Answered) -> Charge {
        let usage = Usage { used: Span::from_micros(used), runnable, ending: false };
        let budget = Span::from_micros(500);
        let held_back = Some(HeldBack { spent: Span::from_micros(400), waited: 0 });
        let mut claims = [None; SLOTS];
        claims[0] = Some(Claim { budget, usage, answered, held_back });
        charge(&claims, false)[0]
    }

    #[test]
    fn a_unit_that_is_held_back_has_its_budget_over_all_cycles_until_it_answers() {
        assert_eq!(held_back(100, true, Answered::No), starved(0));
        assert_eq!(held_back(101, true, Answered::No), Charge::Over);
        assert_eq!(held_back(100, false, Answered::Late), starved(0));
        assert_eq!(held_back(101, false, Answered::Late), Charge::Over);
        assert_eq!(held_back(0, false, Answered::No), Charge::Clear, "it sleeps");
        assert_eq!(held_back(4000, true, Answered::InTime), Charge::Clear);
    }

    #[test]
    fn a_unit_that_is_held_back_has_no_right_to_the_processor() {
        let claim = |answered, used, held_back| {
            let usage = Usage { used: Span::from_micros(used), runnable: true, ending: false };
            Some(Claim { budget: Span::from_micros(500), usage, answered, held_back })
        };
        let mut claims = [None; SLOTS];
        claims[0] = claim(Answered::No, 0, Some(HeldBack::default()));
        claims[1] = claim(Answered::InTime, 4000, None);
        assert_eq!(charge(&claims, false)[..2], [starved(500), Charge::Clear]);
        claims[0] = claim(Answered::No, 0, None);
        assert_eq!(charge(&claims, false)[..2], [starved(500), Charge::Over]);
    }

    #[test]
    fn nobody_is_above_a_budget_while_the_decision_module_itself_was_late() {
        let claim = |used, runnable, answered| {
            let usage = Usage { used: Span::from_micros(used), runnable, ending: false };
            Some(Claim { budget: Span::from_micros(500), usage, answered, held_back: None })
        };
        let mut claims = [None; SLOTS];
        claims[0] = claim(7000, true, Answered::No);
        claims[1] = claim(20, true, Answered::No);
        claims[2] = claim(980, false, Answered::InTime);
        claims[3] = claim(7000, false, Answered::No);
        let blamed = [Charge::Over, starved(480), Charge::Over, Charge::Over];
        assert_eq!(charge(&claims, false)[..4], blamed);
        let excused = [starved(500), starved(500), Charge::Clear, Charge::Clear];
        assert_eq!(charge(&claims, true)[..4], excused);
    }

    #[test]
    fn a_unit_is_held_back_until_it_has_waited_long_enough_without_another_excess() {
        let used = Span::from_micros(30);
        let mut held_back = HeldBack::default();
        for charge in [starved(0), starved(0), Charge::Over, starved(0), Charge::Clear] {
            held_back = held_back.after(used, Answered::No, charge, 3).unwrap();
        }
        assert_eq!(held_back, HeldBack { spent: used * 2, waited: 2 });
        let late = held_back.after(used, Answered::Late, starved(0), 9).unwrap();
        assert_eq!(late.spent, Span::ZERO, "the next answer has a budget of its own");
        assert_eq!(held_back.after(used, Answered::No, starved(0), 3), None);
    }
}
