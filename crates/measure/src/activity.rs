//! The work of others on the machine during a measurement.

use std::fs;

use hemiola_model::machine::OtherWork;
use hemiola_probe::Load;
use hemiola_report::text::percent;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::Span;
use serde::{Deserialize, Serialize};

/// Times of all processors since the machine started, in ticks of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All time.
    pub all: u64,
    /// Neither idle nor taken by the host.
    pub busy: u64,
    /// Taken by the host of a virtual machine.
    pub stolen: u64,
    /// Of the busy time, that of this process and of the children that it has waited for.
    pub own: u64,
}

/// The work of others between two moments, as shares of the time of all processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Other processes of this machine.
    pub others: f64,
    /// The host.
    pub stolen: f64,
}

impl Counters {
    /// The present times; `None` if the kernel does not tell them.
    ///
    /// Source: proc_stat(5), proc_pid_stat(5).
    #[must_use]
    pub fn read() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Self::parse(&fs::read_to_string("/proc/stat").ok()?, &own)
    }

    fn parse(machine: &str, own: &str) -> Option<Self> {
        let line = machine.lines().next()?.strip_prefix("cpu ")?;
        let times = numbers(line).take(8).collect::<Option<Vec<u64>>>()?;
        let [user, nice, system, idle, waiting, hard, soft, stolen] = times[..] else {
            return None;
        };
        // The name of the program before it may contain anything.
        let (_, after) = own.rsplit_once(") ")?;
        let own = numbers(after).skip(11).take(4).sum::<Option<u64>>()?;
        let busy = user + nice + system + hard + soft;
        Some(Self { all: busy + idle + waiting + stolen, busy, stolen, own })
    }

    /// The work of others since an earlier moment; `None` before 40 ticks of each of `cpus` processors have passed.
    #[must_use]
    pub fn since(self, before: Self, cpus: u32) -> Option<Activity> {
        let enough = |all: &u64| *all >= TICKS_MIN * u64::from(cpus);
        let all = self.all.checked_sub(before.all).filter(enough)? as f64;
        let busy = self.busy.saturating_sub(before.busy);
        let others = busy.saturating_sub(self.own.saturating_sub(before.own));
        Some(Activity {
            others: others as f64 / all,
            stolen: self.stolen.saturating_sub(before.stolen) as f64 / all,
        })
    }
}

fn numbers(text: &str) -> impl Iterator<Item = Option<u64>> {
    text.split_whitespace().map(|word| word.parse().ok())
}

/// The times are rounded to ticks, several of them per process, so fewer ticks say too little.
const TICKS_MIN: u64 = 40;

/// Others are busy if they use more than this part of a processor in a block.
const BUSY: f64 = 0.1;
/// The host disturbs if it takes more than this share of the processors' time in a block.
const STOLEN: f64 = 0.01;

/// The work of others during the blocks of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meanwhile {
    /// In each block, processors that others used.
    others: Vec<f64>,
    /// In each block, the share of the host.
    stolen: Vec<f64>,
    cpus: u32,
}

impl Meanwhile {
    /// From the blocks of a measurement on `cpus` processors, of which a load of our own keeps one busy.
    #[must_use]
    pub fn of(blocks: &[Activity], cpus: u32, load: Load) -> Self {
        let own = if load == Load::Idle { 0.0 } else { 1.0 };
        let others = blocks.iter().map(|block| (block.others * f64::from(cpus) - own).max(0.0));
        let stolen = blocks.iter().map(|block| block.stolen);
        Self { others: others.collect(), stolen: stolen.collect(), cpus }
    }

    /// The number of blocks in which others or the host disturbed.
    #[must_use]
    pub fn disturbed(&self) -> usize {
        let is_disturbed = |(others, stolen): (&f64, &f64)| *others > BUSY || *stolen > STOLEN;
        self.others.iter().zip(&self.stolen).filter(|block| is_disturbed(*block)).count()
    }

    /// The disturbance in words; `None` if there was none.
    #[must_use]
    pub fn disturbance(&self) -> Option<String> {
        let disturbed = self.disturbed();
        let of = self.others.len();
        (disturbed > 0).then(|| format!("busy in {disturbed} of {of} blocks: {}", self.words()))
    }

    /// Whether the kernel told nothing, or the measurement was too short.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.others.is_empty()
    }

    /// Whether two measurements on one machine are not comparable because it was busier in one of them or has another
    /// number of processors. `None` if that is unknown.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<bool> {
        let (own, others) = (self.mean()?, other.mean()?);
        Some(self.cpus != other.cpus || is_apart(own, others))
    }

    /// The work of others in the mean of all blocks; `None` if it is unknown.
    #[must_use]
    pub fn mean(&self) -> Option<OtherWork> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        (!self.is_unknown())
            .then(|| OtherWork { others: mean(&self.others), stolen: mean(&self.stolen) })
    }

    /// What others did, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Some(OtherWork { others: mean, .. }) = self.mean() else { return "unknown".into() };
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        format!(
            "others used {mean:.2} of {} processors, at most {:.2} in a block; the host took at most {}",
            self.cpus,
            most(&self.others),
            percent(most(&self.stolen))
        )
    }
}

/// Whether others worked so much more in one of two measurements that their figures are not comparable: by as much in
/// the mean as disturbs a block.
pub(crate) fn is_apart(a: OtherWork, b: OtherWork) -> bool {
    (a.others - b.others).abs() > BUSY || (a.stolen - b.stolen).abs() > STOLEN
}

/// Watches the work of others, block by block.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The times at the beginning of the block.
    counters: Option<Counters>,
    blocks: Vec<Activity>,
}

impl Watch {
    /// Begins with the first block.
    pub(crate) fn start() -> Self {
        Self { counters: Counters::read(), blocks: Vec::new() }
    }

    /// Rests, and ends the block.
    pub(crate) fn end_block(&mut self, rest: Span) {
        if rest > Span::ZERO {
            sleep_until(MonotonicClock.now() + rest);
        }
        // The times of blocks that are too short are counted together.
        let (before, now) = (self.counters, Counters::read());
        let activity = before.zip(now).and_then(|(before, now)| now.since(before, cpus()));
        if let Some(activity) = activity {
            self.blocks.push(activity);
            self.counters = now;
        }
    }

    /// The work of others during the blocks so far.
    pub(crate) fn meanwhile(&self, load: Load) -> Meanwhile {
        Meanwhile::of(&self.blocks, cpus(), load)
    }
}

fn cpus() -> u32 {
    cpu::online().iter().count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "cpu  100 10 50 700 20 5 15 100 30 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
    const OWN: &str = "7 (a) b) R 1 7 7 0 -1 4194304 100 200 0 0 40 11 6 3 20 0 1 0 5 6 7";

    #[test]
    fn the_times_are_those_of_the_kernel() {
        let counters = Counters::parse(MACHINE, OWN).unwrap();
        assert_eq!(counters, Counters { all: 1000, busy: 180, stolen: 100, own: 60 });
        for machine in ["", "cpu  1 2 3\n", "cpu  1 2 3 4 5 6 7 x\n"] {
            assert_eq!(Counters::parse(machine, OWN), None);
        }
        assert_eq!(Counters::parse(MACHINE, "7 a R 1"), None);
        assert!(Counters::read().is_some_and(|now| now.all > 0));
    }

    #[test]
    fn the_work_of_others_is_the_busy_time_without_our_own() {
        let before = Counters { all: 1000, busy: 100, stolen: 10, own: 50 };
        let after = Counters { all: 1400, busy: 300, stolen: 14, own: 150 };
        assert_eq!(after.since(before, 2), Some(Activity { others: 0.25, stolen: 0.01 }));
        assert_eq!(after.since(before, 11), None);
        assert_eq!(before.since(after, 2), None);
    }

    #[test]
    fn a_busy_machine_is_called_busy_and_a_load_of_our_own_is_not_others() {
        let block = |others, stolen| Activity { others, stolen };
        let idle = Meanwhile::of(&[block(0.01, 0.0); 10], 2, Load::Idle);
        assert_eq!(idle.disturbance(), None);
        let mut blocks = vec![block(0.02, 0.0); 10];
        (blocks[3].others, blocks[7].stolen) = (0.9, 0.05);
        let busy = Meanwhile::of(&blocks, 2, Load::Idle);
        let expected = "busy in 2 of 10 blocks: others used 0.22 of 2 processors, at most 1.80 in a block; the host \
                        took at most 5.0 %";
        assert_eq!(busy.disturbance().unwrap(), expected);
        assert_eq!((idle.differs_from(&busy), busy.differs_from(&busy)), (Some(true), Some(false)));
        let stolen = Meanwhile::of(&[block(0.01, 0.02); 10], 2, Load::Idle);
        assert_eq!(idle.differs_from(&stolen), Some(true));
        assert_eq!(idle.differs_from(&Meanwhile::default()), None);
        let loaded = Meanwhile::of(&[block(0.5, 0.0); 10], 2, Load::BusyNeighbour);
        assert_eq!(loaded.disturbance(), None);
        assert_eq!(Meanwhile::default().words(), "unknown");
    }
}
