//! An index of a federation's federates by their time state, so that an advance request need not look at all of them.
//!
//! [`Federation::time_mut`](crate::federation::Federation::time_mut) marks a federate as changed, and the next query
//! updates the entries of the changed federates.

use std::cmp::max;
use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::{FederateHandle, LogicalInterval};

use super::galt::Galts;
use crate::members::place;
use crate::time::{AdvanceService, Bound, Needed, TimeState};

/// The index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    /// By the places of the federates in their table.
    entries: Vec<Entry>,
    /// Places whose entries may be out of date.
    changed: Vec<usize>,
    /// What regulating federates contribute to GALT if they receive no further message.
    contributions: BTreeSet<(Bound, FederateHandle)>,
    /// The promises of federates that contribute less if they stop at a further message.
    stopping: BTreeMap<(LogicalInterval, AdvanceService), BTreeSet<(Bound, FederateHandle)>>,
    /// Waiting federates by the GALT they need.
    waiting: BTreeSet<(Needed, FederateHandle)>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The federate whose keys are in the tables. It may have left, and another may have its place.
    federate: FederateHandle,
    keys: Keys,
    is_changed: bool,
}

/// A federate's keys in the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Keys {
    contribution: Option<Bound>,
    stopping: Option<((LogicalInterval, AdvanceService), Bound)>,
    needed: Option<Needed>,
}

impl Keys {
    fn of(time: &TimeState) -> Self {
        Self {
            contribution: time.contribution(None),
            stopping: time.stopping(),
            needed: time.needed(),
        }
    }
}

impl Schedule {
    /// Marks a federate whose entry may be out of date.
    pub(crate) fn mark_changed(&mut self, federate: FederateHandle) {
        let place = place(federate);
        if place >= self.entries.len() {
            let entry = Entry { federate, keys: Keys::default(), is_changed: false };
            self.entries.resize(place + 1, entry);
        }
        if !std::mem::replace(&mut self.entries[place].is_changed, true) {
            self.changed.push(place);
        }
    }

    /// Updates the entries of changed places. `time_of` returns the federate at a place, if there is one.
    pub(crate) fn update<'t>(
        &mut self,
        time_of: impl Fn(usize) -> Option<(FederateHandle, &'t TimeState)>,
    ) {
        while let Some(place) = self.changed.pop() {
            let entry = &mut self.entries[place];
            let present = time_of(place);
            let federate = present.map_or(entry.federate, |(federate, _)| federate);
            let keys = present.map_or_else(Keys::default, |(_, time)| Keys::of(time));
            let fresh = Entry { federate, keys, is_changed: false };
            let before = std::mem::replace(entry, fresh);
            let is_same = before.federate == federate;
            // The keys of a federate that has left go before another's are entered.
            if !is_same {
                self.replace(before.federate, before.keys, Keys::default());
            }
            self.replace(federate, if is_same { before.keys } else { Keys::default() }, keys);
        }
    }

    /// Replaces the keys of one federate in the tables.
    fn replace(&mut self, federate: FederateHandle, before: Keys, now: Keys) {
        replace(&mut self.contributions, before.contribution, now.contribution, federate);
        replace(&mut self.waiting, before.needed, now.needed, federate);
        if before.stopping == now.stopping {
            return;
        }
        if let Some((group, promise)) = before.stopping {
            let members = self.stopping.get_mut(&group).expect("a key has its group");
            members.remove(&(promise, federate));
            if members.is_empty() {
                self.stopping.remove(&group);
            }
        }
        if let Some((group, promise)) = now.stopping {
            self.stopping.entry(group).or_default().insert((promise, federate));
        }
    }

    /// Returns the GALTs of all federates; see [`Galts`] for the closed form.
    pub(crate) fn galts(&self) -> Galts {
        let first = self.contributions.first().copied();
        let second = first.and_then(|(galt, whose)| {
            let next = self.contributions.iter().nth(1).copied();
            let stopped = self.stopping.iter().filter_map(|((lookahead, service), members)| {
                let (promise, by) = members.iter().find(|(_, federate)| *federate != whose)?;
                Some((max(service.stopped_at(galt).plus(*lookahead), *promise), *by))
            });
            next.into_iter().chain(stopped).min()
        });
        Galts { first, second }
    }

    /// Checks that these tables and those of a schedule made afresh are the same.
    pub(crate) fn check_against(&self, fresh: &Self) {
        assert_eq!(self.contributions, fresh.contributions);
        assert_eq!(self.stopping, fresh.stopping);
        assert_eq!(self.waiting, fresh.waiting);
    }

    /// Returns the waiting federates that may be due with these GALTs, by handle.
    pub(crate) fn due(&self, galts: Galts) -> Vec<FederateHandle> {
        let first = galts.first.map(|(galt, _)| Needed::Galt(galt));
        let is_within = |needed: Needed| first.is_none_or(|first| needed <= first);
        let due = self.waiting.iter().take_while(|(needed, _)| is_within(*needed));
        let mut due: Vec<FederateHandle> = due.map(|(_, federate)| *federate).collect();
        // The federate that limits all others has a GALT of its own.
        if let Some((_, whose)) = galts.first
            && let Some(Entry { keys, .. }) = self.entries.get(place(whose))
            && keys.needed.is_some_and(|needed| !is_within(needed))
        {
            due.push(whose);
        }
        due.sort_unstable();
        due
    }
}

fn replace<K: Copy + Ord>(
    table: &mut BTreeSet<(K, FederateHandle)>,
    before: Option<K>,
    now: Option<K>,
    federate: FederateHandle,
) {
    if before == now {
        return;
    }
    if let Some(before) = before {
        table.remove(&(before, federate));
    }
    table.extend(now.map(|now| (now, federate)));
}
