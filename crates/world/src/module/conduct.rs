//! What becomes of a module that fails: strikes, fresh instances, eviction.

/// What happens to a module, and to the entities of its element, when it has too many strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// It goes on with fresh instances, however many strikes it has.
    Keep,
    /// It is not called any more, and the rows stay as they are.
    #[default]
    Freeze,
    /// It is not called any more, and the entities end.
    End,
}

impl Then {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Freeze, Self::End];

    /// The word of a user for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Freeze => "freeze",
            Self::End => "end",
        }
    }
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A fresh instance computes the other blocks of the step.
    Restart,
    /// The other blocks of the step keep their rows; a fresh instance computes the next step.
    Rest,
    /// The module is not called any more.
    Evict(Then),
}

/// Fresh instances within a step at most. So a module that fails in each block costs a step two blocks at most.
pub const RESTARTS_PER_STEP: u32 = 1;

/// The strikes of a module. Strikes are never forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conduct {
    strikes_max: u32,
    then: Then,
    pub(super) strikes: u32,
    pub(super) is_evicted: bool,
    restarts_in_step: u32,
}

impl Conduct {
    pub(super) const fn new(strikes_max: u32, then: Then) -> Self {
        Self { strikes_max, then, strikes: 0, is_evicted: false, restarts_in_step: 0 }
    }

    pub(super) const fn begin_step(&mut self) {
        self.restarts_in_step = 0;
    }

    /// The module failed: a strike.
    pub(super) fn fail(&mut self) -> Next {
        self.strikes = self.strikes.saturating_add(1);
        if self.then != Then::Keep && self.strikes >= self.strikes_max {
            self.is_evicted = true;
            return Next::Evict(self.then);
        }
        if self.restarts_in_step >= RESTARTS_PER_STEP {
            return Next::Rest;
        }
        self.restarts_in_step += 1;
        Next::Restart
    }

    /// The entities of an element whose module was evicted end.
    pub(super) fn ends_entities(&self) -> bool {
        self.is_evicted && self.then == Then::End
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    /// Modules that fail at random, held against the rules, which are counted over the whole past.
    #[test]
    fn strikes_are_counted_and_lead_to_eviction_only_at_the_stated_number() {
        for seed in 0..300 {
            let mut random = Random::from_seed(seed);
            let then = Then::ALL[random.below(3) as usize];
            let most = 1 + random.below(6) as u32;
            let mut conduct = Conduct::new(most, then);
            let (mut failures, mut called_after_eviction) = (0, 0);
            for _ in 0..40 {
                if conduct.is_evicted {
                    break;
                }
                conduct.begin_step();
                let mut restarts = 0;
                for _ in 0..random.below(5) {
                    if random.below(3) > 0 {
                        continue;
                    }
                    failures += 1;
                    called_after_eviction += u32::from(conduct.is_evicted);
                    let next = conduct.fail();
                    let is_over = then != Then::Keep && failures == most;
                    match next {
                        Next::Evict(what) => assert!(is_over && what == then, "seed {seed}"),
                        Next::Restart => restarts += 1,
                        Next::Rest => assert_eq!(restarts, RESTARTS_PER_STEP, "seed {seed}"),
                    }
                    assert_eq!(conduct.is_evicted, is_over, "seed {seed}");
                    assert!(restarts <= RESTARTS_PER_STEP);
                    if next != Next::Restart {
                        break;
                    }
                }
            }
            assert_eq!((conduct.strikes, called_after_eviction), (failures, 0));
            assert!(then == Then::Keep || failures <= most);
            assert_eq!(conduct.ends_entities(), conduct.is_evicted && then == Then::End);
        }
    }
}
