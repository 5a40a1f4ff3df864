//! Explains late cycles: which federate delayed which.
//!
//! A federate that fell behind stays behind for several cycles. Each cycle is charged only with the delay it added: it
//! counts from when it was due, or from the end of the federate's previous cycle, or of the master's, whichever came
//! last. From there a cycle has up to four stretches: until it began, until its grant or pulse had come, the wait for a
//! state in mid-cycle, and the rest. The usual length of each is its median over all cycles. The stretch
//! that exceeds its median most is where the time went. If it was a wait, the search continues with the federate that
//! asked the RTI last, in the cycle that made it late, and so on. If it was not, the kernel's record says which thread
//! had the processor.

use hemiola_trace::result::{FederationRecord, Synchronization};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use super::cycle::{Cycle, Exchanged};
use super::share::Turns;
use crate::cycles::misses::{Cause, Miss};
use crate::cycles::witness::Witness;
use hemiola_report::text::duration;
use hemiola_stats::median;

/// A cycle counts as late when it ends later than usual by this part of its period, one in so many: 250 µs at 200 Hz.
const LATE: i64 = 20;
/// How many federates a delay is followed through.
const DEPTH_MAX: usize = 4;

/// A late cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The federate.
    pub federate: String,
    /// Its number.
    pub cycle: u32,
    /// How much longer it took than the federate's cycles usually do, ns, from when it was due or could begin.
    pub late_ns: i64,
    /// Whether the next was due before it ended, or did not begin at all.
    #[serde(rename = "overrun")]
    pub is_overrun: bool,
    /// The cause: a federate, the RTI, a thread outside the federation, or a description where none is known.
    pub because: String,
    /// Whether that is a process of the federation.
    pub ours: bool,
    /// The whole way there in words with figures.
    pub explanation: String,
}

/// How often one federate was late because of the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blame {
    /// The federate that was late.
    pub federate: String,
    /// The cause.
    pub because: String,
    /// In how many cycles.
    pub cycles: u64,
    /// By how much in all, ns.
    pub total_ns: i64,
    /// By how much in the latest of them, ns.
    pub max_ns: i64,
}

impl Late {
    /// The same as a miss of the program.
    pub(super) fn miss(&self) -> Miss {
        let cause = if self.because == self.federate { Cause::LongExecution } else { Cause::Stall };
        let explanation = self.explanation.clone();
        Miss { cycle: self.cycle, cause, ours: self.ours, thread: None, explanation }
    }
}

/// Everything that is known of a run.
pub(super) struct Scene<'s> {
    pub(super) mode: &'s FederationRecord,
    /// By federate, in the order of the mode.
    pub(super) cycles: &'s [Vec<Cycle>],
    /// The first counted cycle of each.
    pub(super) first: Vec<usize>,
    pub(super) master: Option<usize>,
    pub(super) turns: &'s Turns<'s>,
    /// Index of each federate's process, for the witness.
    pub(super) processes: Vec<Option<usize>>,
    pub(super) rti: Option<usize>,
    pub(super) witness: Option<&'s Witness<'s>>,
}

/// The usual times of a federate's cycles, medians.
#[derive(Clone, Copy, Default)]
struct Usual {
    whole: Span,
    begin: Span,
    synchronization: Span,
    exchange: Span,
    own: Span,
    execution: Span,
}

/// Why something took long.
struct Reason {
    because: String,
    ours: bool,
    /// The event; continues a sentence after "it" or "which".
    words: String,
}

impl Scene<'_> {
    /// The late cycles of all federates.
    pub(super) fn late(&self) -> Vec<Late> {
        let usual: Vec<Usual> = (0..self.cycles.len()).map(|f| self.usual(f)).collect();
        let finder = Finder { scene: self, usual };
        let mut all = Vec::new();
        for (federate, cycles) in self.cycles.iter().enumerate() {
            let threshold = self.threshold(federate);
            let usual = finder.usual[federate].whole;
            for (index, cycle) in cycles.iter().enumerate().skip(self.first[federate]) {
                let Some(finish) = cycle.finish() else { continue };
                let late = finish - self.free(federate, index) - usual;
                if late <= threshold {
                    continue;
                }
                let Reason { because, ours, words } =
                    finder.reason(federate, index, Follow::default());
                all.push(Late {
                    federate: self.name(federate).to_owned(),
                    cycle: cycle.number,
                    late_ns: late.nanos(),
                    is_overrun: cycle.overran() || cycle.skipped > 0,
                    because,
                    ours,
                    explanation: format!("{} longer than usual: it {words}", span(late)),
                });
            }
        }
        all
    }

    fn name(&self, federate: usize) -> &str {
        &self.mode.federates[federate].name
    }

    /// By how much a cycle is longer than usual at least to count as late.
    fn threshold(&self, federate: usize) -> Span {
        self.mode.federates[federate].period / LATE
    }

    /// When a cycle was due, releases dropped before it included.
    fn due(&self, federate: usize, cycle: &Cycle) -> Instant {
        let dropped = i64::try_from(cycle.skipped).unwrap_or(i64::MAX);
        cycle.release - self.mode.federates[federate].period * dropped
    }

    /// From when on a cycle could begin, as far as cycles before it are concerned: when it was due, the federate was
    /// through with its own cycle before, and the master with its.
    fn free(&self, federate: usize, index: usize) -> Instant {
        let cycles = &self.cycles[federate];
        let due = self.due(federate, &cycles[index]);
        let through = |cycles: &[Cycle], index: usize| cycles.get(index.checked_sub(1)?)?.finish();
        let masters = self.master.filter(|master| *master != federate).and_then(|master| {
            let before = self.cycles[master].partition_point(|cycle| cycle.release < due);
            through(&self.cycles[master], before)
        });
        let latest =
            [through(cycles, index), masters].into_iter().flatten().fold(due, Instant::max);
        latest.min(cycles[index].start.max(due))
    }

    fn usual(&self, federate: usize) -> Usual {
        let cycles = &self.cycles[federate];
        let of = |pick: &dyn Fn(usize, &Cycle) -> Option<Span>| {
            let counted = cycles.iter().enumerate().skip(self.first[federate]);
            let all: Vec<i64> =
                counted.filter_map(|(index, cycle)| Some(pick(index, cycle)?.nanos())).collect();
            Span::from_nanos(median(&all).unwrap_or(0.0).round() as i64)
        };
        Usual {
            whole: of(&|index, cycle| Some(cycle.finish()? - self.free(federate, index))),
            begin: of(&|index, cycle| Some(cycle.start - self.free(federate, index))),
            synchronization: of(&|_, cycle| Some(cycle.synchronization())),
            exchange: of(&|_, cycle| Some(cycle.exchange())),
            own: of(&|_, cycle| cycle.own()),
            execution: of(&|_, cycle| Some(cycle.end?.execution)),
        }
    }

    /// Whether others wait for the beginning of this federate's cycle, not for its end.
    fn is_awaited_at_start(&self, federate: usize) -> bool {
        self.master == Some(federate)
    }

    /// Of the others, who let `federate` go on last between two moments: who, in which of its cycles, and when.
    /// Under time management that is who asked for its next time last; otherwise the master with its pulse.
    fn holder(
        &self,
        federate: usize,
        from: Instant,
        to: Instant,
    ) -> Option<(usize, usize, Instant)> {
        let asked = |other: usize| {
            let at = |cycle: &Cycle| match self.is_awaited_at_start(other) {
                true => Some(cycle.start),
                false => cycle.finish(),
            };
            let cycles = &self.cycles[other];
            let began = cycles.partition_point(|cycle| cycle.start <= to);
            let last =
                (0..began).rev().take(2).filter_map(|index| Some((index, at(&cycles[index])?)));
            last.filter(|(_, at)| *at <= to).max_by_key(|(_, at)| *at)
        };
        let others = (0..self.cycles.len()).filter(|other| {
            *other != federate
                && (self.mode.sync == Synchronization::TimeManagement
                    || self.is_awaited_at_start(*other))
        });
        let all = others.filter_map(|other| asked(other).map(|(index, at)| (other, index, at)));
        all.max_by_key(|(_, _, at)| *at).filter(|(_, _, at)| *at > from)
    }
}

/// How far a delay has been followed, and how much of it is still unexplained.
#[derive(Clone, Copy, Default)]
struct Follow {
    depth: usize,
    wanted: Span,
}

impl Follow {
    /// Continues with another federate, which must explain this much.
    fn on(self, wanted: Span) -> Self {
        Self { depth: self.depth + 1, wanted }
    }
}

/// A scene with what is usual in it.
struct Finder<'f, 's> {
    scene: &'f Scene<'s>,
    usual: Vec<Usual>,
}

impl Finder<'_, '_> {
    /// Why the cycle `index` of `federate` ended late.
    fn reason(&self, federate: usize, index: usize, follow: Follow) -> Reason {
        let cycle = &self.scene.cycles[federate][index];
        let usual = &self.usual[federate];
        let begin = cycle.start - self.scene.free(federate, index) - usual.begin;
        let synchronization = cycle.synchronization() - usual.synchronization;
        let exchange = cycle.exchange() - usual.exchange;
        let own = cycle.own().unwrap_or(Span::ZERO) - usual.own;
        let most = begin.max(synchronization).max(exchange).max(own);
        if !self.explains(federate, most, follow) {
            return Reason::stop(self.scene.name(federate), "took hardly longer than usual");
        }
        if most == begin {
            return self.began_late(federate, index, follow);
        }
        if most == synchronization {
            let waited = self.wait(federate, cycle.start, cycle.synchronized, follow);
            let [took, usually] = [cycle.synchronization(), usual.synchronization].map(span);
            return waited.after(&format!("waited {took} to be let go (usually {usually})"));
        }
        if most == exchange
            && let Some(exchanged) = cycle.exchanged
        {
            return self.exchange(federate, exchanged, follow);
        }
        self.own(federate, cycle)
    }

    /// Whether what is longer than usual by `more` says anything about the delay that is followed. If not, it was the
    /// order in which the federates got their turns, and the last federate is named.
    fn explains(&self, federate: usize, more: Span, follow: Follow) -> bool {
        // At least a quarter of a delay is in one of the four stretches.
        follow.depth < DEPTH_MAX
            && more * 4 > self.scene.threshold(federate)
            && more * 2 >= follow.wanted
    }

    /// Why a cycle began late.
    fn began_late(&self, federate: usize, index: usize, follow: Follow) -> Reason {
        let cycle = &self.scene.cycles[federate][index];
        let free = self.scene.free(federate, index);
        let more = cycle.start - free - self.usual[federate].begin;
        if !self.explains(federate, more, follow) {
            return Reason::stop(self.scene.name(federate), "began hardly later than usual");
        }
        let [took, usually] = [cycle.start - free, self.usual[federate].begin].map(span);
        let words = format!("began {took} after it could (usually {usually})");
        if self.scene.is_awaited_at_start(federate) {
            let process = self.scene.processes[federate];
            return self.stood_still(process, free, cycle.start).after(&words);
        }
        self.wait(federate, free, cycle.start, follow).after(&words)
    }

    /// Why a state in mid-cycle came late.
    fn exchange(&self, federate: usize, exchanged: Exchanged, follow: Follow) -> Reason {
        let Exchanged { at, waited, of } = exchanged;
        let from = at - waited;
        let record = &self.scene.mode.federates[federate];
        let source = record.hears_mid_cycle.as_ref().and_then(|name| {
            self.scene.mode.federates.iter().position(|federate| federate.name == *name)
        });
        let usually = span(self.usual[federate].exchange);
        let words = format!("waited {} in mid-cycle (usually {usually})", span(waited));
        let sent = source.and_then(|source| {
            let cycles = &self.scene.cycles[source];
            let index = cycles.partition_point(|cycle| u64::from(cycle.number) < of);
            // It goes out shortly before the sender's last mark.
            Some((source, index, cycles.get(index)?.finish()?.min(at)))
        });
        match sent {
            Some((source, index, finish)) if finish - from >= at - finish => {
                let words = format!("{words} for {}", self.scene.name(source));
                self.reason(source, index, follow.on(finish - from)).which(&words)
            }
            Some((.., finish)) => self.passed_on(federate, finish.max(from), at).after(&words),
            None => self.passed_on(federate, from, at).after(&words),
        }
    }

    /// Why nothing came for `federate` between two moments.
    fn wait(&self, federate: usize, from: Instant, to: Instant, follow: Follow) -> Reason {
        let Some((other, index, at)) = self.scene.holder(federate, from, to) else {
            return self.passed_on(federate, from, to);
        };
        if at - from < to - at {
            return self.passed_on(federate, at, to);
        }
        let words = format!("held by {}", self.scene.name(other));
        let follow = follow.on(at - from);
        let reason = if self.scene.is_awaited_at_start(other) {
            self.began_late(other, index, follow)
        } else {
            self.reason(other, index, follow)
        };
        reason.which(&words)
    }

    /// Why the answer to a request made at `from` reached `federate` only at `to`: the RTI worked, the RTI stood still,
    /// or the federate woke late.
    fn passed_on(&self, federate: usize, from: Instant, to: Instant) -> Reason {
        let scene = self.scene;
        let Some(turn) = scene.turns.last_within(from, to) else {
            let still = self.stood_still(scene.processes[federate], from, to);
            return still.after("no turn of the RTI in between");
        };
        let worked = scene.turns.share(from, turn.to).unwrap_or(Span::ZERO);
        let idle = turn.to - from - worked;
        let after = to - turn.to;
        if after >= idle && after >= worked {
            let words = format!("{} of them behind the RTI's answer", span(after));
            return self.stood_still(scene.processes[federate], turn.to, to).after(&words);
        }
        if worked >= idle {
            let words = format!("{} of them while the RTI worked", span(worked));
            return Reason { because: scene.mode.rti.clone(), ours: true, words };
        }
        let words = format!("{} of them while the RTI stood still", span(idle));
        self.stood_still(scene.rti, from, turn.to).after(&words)
    }

    /// Why the rest of a cycle took long.
    fn own(&self, federate: usize, cycle: &Cycle) -> Reason {
        let usual = &self.usual[federate];
        let Some(end) = cycle.end else {
            let name = self.scene.name(federate).to_owned();
            return Reason { because: name, ours: true, words: "never ended".into() };
        };
        let own = cycle.own().unwrap_or(Span::ZERO);
        let excess = own - usual.own;
        if (end.execution - usual.execution) * 2 >= excess {
            let [took, usually] = [end.execution, usual.execution].map(span);
            let words = format!("computed for {took} (usually {usually})");
            return Reason { because: self.scene.name(federate).into(), ours: true, words };
        }
        let words = format!("took {} instead of {}, not computing", span(own), span(usual.own));
        self.stood_still(self.scene.processes[federate], cycle.synchronized, end.finish)
            .after(&words)
    }

    /// Why a process did not run between two moments: the thread that had its processor.
    fn stood_still(&self, process: Option<usize>, from: Instant, to: Instant) -> Reason {
        let known = self.scene.witness.zip(process).and_then(|(witness, process)| {
            let (because, ours) = witness.foremost(process, from, to)?;
            let words = witness.instead_of(process, from, to).unwrap_or_else(|| because.clone());
            Some(Reason { because, ours, words })
        });
        known.unwrap_or_else(|| {
            let federate = self.scene.processes.iter().position(|index| *index == process);
            let name =
                federate.map_or(self.scene.mode.rti.as_str(), |index| self.scene.name(index));
            Reason {
                because: format!("{name}, not running"),
                ours: false,
                words: "the kernel's switches were not recorded".into(),
            }
        })
    }
}

impl Reason {
    /// Puts `words` in front as the effect of this reason.
    fn after(mut self, words: &str) -> Self {
        self.words = format!("{words}: {}", self.words);
        self
    }

    /// Puts `words` in front, about the federate that waited for this one.
    fn which(mut self, words: &str) -> Self {
        self.words = format!("{words}, which {}", self.words);
        self
    }

    /// The reason where the search ends.
    fn stop(federate: &str, words: &str) -> Self {
        Self { because: federate.into(), ours: true, words: words.into() }
    }
}

fn span(span: Span) -> String {
    duration(span.nanos() as f64)
}
