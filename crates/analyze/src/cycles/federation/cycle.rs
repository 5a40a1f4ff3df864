//! Makes cycles from the entries of a federate: when each began, was synchronized, exchanged and ended.

use hemiola_trace::EventKind;
use hemiola_trace::result::{EXCHANGED, SYNCHRONIZED};
use hemiola_units::{Instant, Span};

use crate::cycles::jobs::{End, Process};

/// One cycle of a federate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    /// Its number, as the federate counts.
    pub(super) number: u32,
    /// When it was due.
    pub(super) release: Instant,
    /// When it began.
    pub(super) start: Instant,
    /// Releases dropped just before it.
    pub(super) skipped: u64,
    /// When its pulse was out or its grant had come; its start where it waited for neither.
    pub(super) synchronized: Instant,
    /// The state it takes in mid-cycle.
    pub(super) exchanged: Option<Exchanged>,
    /// How it ended; `None` if the record stops before.
    pub(super) end: Option<End>,
}

/// A state that was taken in mid-cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchanged {
    /// When it was there.
    pub(super) at: Instant,
    /// How long it was waited for.
    pub(super) waited: Span,
    /// The number of the sender's cycle it is of.
    pub(super) of: u64,
}

impl Cycle {
    /// When it ended.
    pub(super) fn finish(&self) -> Option<Instant> {
        self.end.map(|end| end.finish)
    }

    /// Finish − release.
    pub(super) fn response(&self) -> Option<Span> {
        Some(self.finish()? - self.release)
    }

    /// From its start until it was synchronized.
    pub(super) fn synchronization(&self) -> Span {
        self.synchronized - self.start
    }

    /// How long it waited in mid-cycle.
    pub(super) fn exchange(&self) -> Span {
        self.exchanged.map_or(Span::ZERO, |exchanged| exchanged.waited)
    }

    /// From start to finish without both waits.
    pub(super) fn own(&self) -> Option<Span> {
        Some(self.finish()? - self.start - self.synchronization() - self.exchange())
    }

    /// Whether it was not over at its deadline, or is not over at all.
    pub(super) fn overran(&self) -> bool {
        self.end.is_none_or(|end| end.deadline.is_some_and(|deadline| end.finish > deadline))
    }
}

/// The cycles of a federate in the order they began; the last one only if it ended, since the run was stopped in it.
pub(super) fn cycles(process: &Process) -> Vec<Cycle> {
    let mut cycles: Vec<Cycle> = Vec::new();
    let mut is_open = false;
    for entry in &process.entries {
        if entry.kind == EventKind::Start {
            cycles.push(Cycle {
                number: entry.cycle,
                release: Instant::from_nanos(entry.a),
                start: entry.at,
                skipped: entry.arg.into(),
                synchronized: entry.at,
                exchanged: None,
                end: None,
            });
            is_open = true;
            continue;
        }
        let Some(cycle) = cycles.last_mut().filter(|_| is_open) else { continue };
        match (entry.kind, entry.arg) {
            (EventKind::Mark, SYNCHRONIZED) => cycle.synchronized = entry.at.max(cycle.start),
            (EventKind::Mark, EXCHANGED) => {
                let waited = Span::from_nanos(entry.b.try_into().unwrap_or(i64::MAX));
                let most = (entry.at - cycle.synchronized).max(Span::ZERO);
                let waited = waited.min(most);
                cycle.exchanged = Some(Exchanged { at: entry.at, waited, of: entry.a });
            }
            (EventKind::Finish, _) if entry.cycle == cycle.number => {
                let deadline =
                    (entry.a != 0 && entry.a != u64::MAX).then(|| Instant::from_nanos(entry.a));
                let execution = Span::from_nanos(entry.b.try_into().unwrap_or(i64::MAX));
                cycle.end = Some(End { finish: entry.at, deadline, execution });
                is_open = false;
            }
            _ => {}
        }
    }
    cycles.pop_if(|last| last.end.is_none());
    cycles
}
