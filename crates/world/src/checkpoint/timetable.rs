//! When the checkpoints of a run are due that another thread writes.

/// Decides after which steps images are taken. One image is written at a time: a checkpoint that comes due meanwhile is
/// taken after the first step behind the writing, and stands for all that came due until then.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Steps from one to the next; none means only at the end.
    every: Option<u64>,
    /// The step of the last image, or of the start.
    last: u64,
    is_writing: bool,
    late: u64,
}

impl Timetable {
    /// For a run that goes on behind this step. An interval of zero steps means one step.
    #[must_use]
    pub fn new(every: Option<u64>, start: u64) -> Self {
        Self { every: every.map(|every| every.max(1)), last: start, is_writing: false, late: 0 }
    }

    /// Whether an image is to be taken after this step.
    #[must_use]
    pub fn is_due(&self, step: u64) -> bool {
        let passed = |every: u64| step / every > self.last / every;
        !self.is_writing && self.every.is_some_and(passed)
    }

    /// An image was taken after this step, and its writing begins.
    ///
    /// # Panics
    /// If another one is being written.
    pub fn taken(&mut self, step: u64) {
        assert!(!self.is_writing, "one image is written at a time");
        let is_late = self.every.is_some_and(|every| !step.is_multiple_of(every));
        self.late += u64::from(is_late);
        self.is_writing = true;
        self.last = step;
    }

    /// The writing has ended, in whatever way.
    pub fn written(&mut self) {
        self.is_writing = false;
    }

    /// Whether an image is being written.
    #[must_use]
    pub const fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// Images that were taken later than they were due.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    /// What the rules say, written as a search over all steps that were due.
    fn expected(every: u64, start: u64, last: u64, step: u64, busy_until: u64) -> bool {
        let due = (start + 1..=step).filter(|step| step % every == 0);
        step > busy_until && due.max().is_some_and(|due| due > last)
    }

    #[test]
    fn images_are_taken_when_due_and_never_while_one_is_written() {
        for seed in 0..300 {
            let mut random = Random::from_seed(seed);
            let (every, start) = (1 + random.below(9), random.below(30));
            let mut timetable = Timetable::new(Some(every), start);
            let (mut last, mut busy_until, mut late) = (start, start, 0);
            for step in start + 1..start + 200 {
                if timetable.is_writing() && step > busy_until {
                    timetable.written();
                }
                let due = expected(every, start, last, step, busy_until);
                assert_eq!(timetable.is_due(step), due, "seed {seed}, step {step}");
                if due {
                    timetable.taken(step);
                    late += u64::from(step % every != 0);
                    (last, busy_until) = (step, step + random.below(2 * every));
                }
                assert_eq!(timetable.late(), late);
            }
        }
    }

    #[test]
    fn without_an_interval_none_is_due() {
        let timetable = Timetable::new(None, 0);
        assert!((0..100).all(|step| !timetable.is_due(step)));
    }
}
