//! How much each federate has sent and received since it joined. The management object model reports it (clause 11.2).
//!
//! Most of what federates do is to update and to reflect. While nobody manages a federation, each update and reflection
//! is counted beside the entry of the federate that knows the instance ([`Traffic`]), which the services have found
//! anyway. When the federation begins to be managed, a job adds these counts to the tables of the federates
//! ([`gather_step`]). From then on, updates and reflections are counted in the tables, so that their sums can be told
//! at any time.

mod by_class;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::{
    Callback, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};

use crate::federation::Federation;
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::job::{All, DONE, Step};
use crate::memory::entry_len;
pub(crate) use by_class::ByClass;

/// The counts of a federate.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) updates: ByClass<ObjectClassHandle>,
    pub(crate) reflections: ByClass<ObjectClassHandle>,
    pub(crate) interactions_sent: ByClass<InteractionClassHandle>,
    pub(crate) interactions_received: ByClass<InteractionClassHandle>,
    pub(crate) directed_sent: ByClass<InteractionClassHandle>,
    pub(crate) directed_received: ByClass<InteractionClassHandle>,
    /// The instances that it has updated.
    pub(crate) updated: Tally,
    /// The instances that were reflected to it.
    pub(crate) reflected: Tally,
    pub(crate) registered: i32,
    pub(crate) discovered: i32,
    pub(crate) deleted: i32,
    pub(crate) removed: i32,
}

/// A number of different instances by class.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) by_class: BTreeMap<ObjectClassHandle, i32>,
    /// The instances that are counted and still exist for the federate.
    present: BTreeSet<ObjectInstanceHandle>,
}

impl Tally {
    /// Counts an instance once. Returns the memory that this takes, in bytes.
    fn add(&mut self, instance: ObjectInstanceHandle, class: ObjectClassHandle) -> usize {
        if !self.present.insert(instance) {
            return 0;
        }
        let classes = self.by_class.len();
        let count = self.by_class.entry(class).or_default();
        *count = count.saturating_add(1);
        (self.by_class.len() - classes) * Self::CLASS + Self::INSTANCE
    }

    /// The instance does not exist any more. Returns the memory that this frees.
    fn forget(&mut self, instance: ObjectInstanceHandle) -> usize {
        if self.present.remove(&instance) { Self::INSTANCE } else { 0 }
    }

    const CLASS: usize = entry_len::<ObjectClassHandle, i32>();
    const INSTANCE: usize = entry_len::<ObjectInstanceHandle, ()>();

    fn len(&self) -> usize {
        self.by_class.len() * Self::CLASS + self.present.len() * Self::INSTANCE
    }

    /// The number of instances of all classes.
    pub(crate) fn total(&self) -> i32 {
        self.by_class.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl Counts {
    /// The estimated memory of the tables, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.updates.memory()
            + self.reflections.memory()
            + self.interactions_sent.memory()
            + self.interactions_received.memory()
            + self.directed_sent.memory()
            + self.directed_received.memory()
            + self.updated.len()
            + self.reflected.len()
    }

    /// The federate has updated an instance that it knows as this class. Counts that once for each of these
    /// transportation types. Returns the memory that this takes, in bytes, as the following functions do.
    pub(crate) fn update(
        &mut self,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        kinds: &[TransportationTypeHandle],
    ) -> usize {
        let updates = &mut self.updates;
        let counts = kinds.iter().map(|kind| updates.add(*kind, class, 1));
        counts.sum::<usize>() + self.updated.add(instance, class)
    }

    /// An update of an instance that the federate knows as this class was reflected to it.
    pub(crate) fn reflection(
        &mut self,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        kind: TransportationTypeHandle,
    ) -> usize {
        let count = self.reflections.add(kind, class, 1);
        count + self.reflected.add(instance, class)
    }

    /// The federate has sent an interaction.
    pub(crate) fn interaction(
        &mut self,
        class: InteractionClassHandle,
        kind: TransportationTypeHandle,
    ) -> usize {
        self.interactions_sent.add(kind, class, 1)
    }

    /// The federate has sent a directed interaction.
    pub(crate) fn directed(
        &mut self,
        class: InteractionClassHandle,
        kind: TransportationTypeHandle,
    ) -> usize {
        self.directed_sent.add(kind, class, 1)
    }

    /// The federate has received an interaction, or the removal of an instance.
    pub(crate) fn received(&mut self, callback: &Callback) -> usize {
        use Callback as C;
        match callback {
            C::ReceiveInteraction { interaction_class, transportation_type: kind, .. }
            | C::ReceiveInteractionWithTime {
                interaction_class, transportation_type: kind, ..
            } => self.interactions_received.add(*kind, *interaction_class, 1),
            C::ReceiveDirectedInteraction {
                interaction_class, transportation_type: kind, ..
            }
            | C::ReceiveDirectedInteractionWithTime {
                interaction_class,
                transportation_type: kind,
                ..
            } => self.directed_received.add(*kind, *interaction_class, 1),
            C::RemoveObjectInstance { .. } | C::RemoveObjectInstanceWithTime { .. } => {
                self.removed = self.removed.saturating_add(1);
                0
            }
            _ => 0,
        }
    }

    /// Adds what was counted beside the entry of the federate for an instance that it knows as this class.
    pub(crate) fn gather(
        &mut self,
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        traffic: &Traffic,
    ) -> usize {
        let mut len = 0;
        for (kind, count) in traffic.updates.by_kind() {
            len += self.updates.add(kind, class, count);
            len += self.updated.add(instance, class);
        }
        for (kind, count) in traffic.reflections.by_kind() {
            len += self.reflections.add(kind, class, count);
            len += self.reflected.add(instance, class);
        }
        len
    }

    /// An instance does not exist any more for the federate. It stays counted. Returns the memory that this frees, in
    /// bytes.
    pub(crate) fn forget(&mut self, instance: ObjectInstanceHandle) -> usize {
        self.updated.forget(instance) + self.reflected.forget(instance)
    }
}

/// How often a federate has updated an instance, and how often updates were reflected to it, as far as the tables of
/// the federate do not have it yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) updates: ByKind,
    pub(crate) reflections: ByKind,
}

impl Traffic {
    /// Takes the counts.
    pub(crate) fn take(&self) -> Self {
        Self { updates: self.updates.take(), reflections: self.reflections.take() }
    }
}

/// Counts for the two standard transportation types. They change where an instance is only read, hence the cells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ByKind {
    reliable: Cell<i32>,
    best_effort: Cell<i32>,
}

impl ByKind {
    /// Counts one of this transportation type. Returns `false` if it is not one of the standard ones: then the tables
    /// of the federate must count it.
    #[inline]
    #[must_use]
    pub(crate) fn count(&self, kind: TransportationTypeHandle) -> bool {
        let count = match kind {
            TransportationTypeHandle::RELIABLE => &self.reliable,
            TransportationTypeHandle::BEST_EFFORT => &self.best_effort,
            _ => return false,
        };
        count.set(count.get().saturating_add(1));
        true
    }

    fn take(&self) -> Self {
        Self { reliable: self.reliable.take().into(), best_effort: self.best_effort.take().into() }
    }

    /// Returns the counts that are not 0.
    fn by_kind(&self) -> impl Iterator<Item = (TransportationTypeHandle, i32)> {
        let reliable = (TransportationTypeHandle::RELIABLE, self.reliable.get());
        let best_effort = (TransportationTypeHandle::BEST_EFFORT, self.best_effort.get());
        [reliable, best_effort].into_iter().filter(|(_, count)| *count > 0)
    }
}

/// Adds what was counted beside the entries of the federates that know the next instance to their tables.
pub(crate) fn gather_step(federation: &mut Federation, instances: &mut All) -> Step {
    let Some(handle) = instances.next(federation) else { return DONE };
    for at in 0..federation.instances[&handle].known_by().len() {
        let known = &federation.instances[&handle].known_by()[at];
        let (federate, class, traffic) = (known.federate, known.class, known.traffic.take());
        federation.federate_mut(federate).count(|counts| counts.gather(handle, class, &traffic));
        federation.spend(1);
    }
    Step::Continue(())
}

stored!(Tally { by_class, present });
stored!(Traffic { updates, reflections });
stored!(Counts {
    updates,
    reflections,
    interactions_sent,
    interactions_received,
    directed_sent,
    directed_received,
    updated,
    reflected,
    registered,
    discovered,
    deleted,
    removed
});

impl Stored for ByKind {
    fn put(&self, to: &mut Writer) {
        (self.reliable.get(), self.best_effort.get()).put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let (reliable, best_effort): (i32, i32) = Stored::take(from)?;
        Ok(Self { reliable: reliable.into(), best_effort: best_effort.into() })
    }
}
