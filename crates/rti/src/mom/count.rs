//! What a federate has sent and received since the federation is observed.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::call::{DistributionCall, ObjectCall};
use hemiola_hla::{
    AttributeHandle, Call, Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, TransportationTypeHandle,
};

use crate::federation::Federation;
use crate::image::stored;
use crate::memory::entry_len;

/// Counts by transportation type and class.
pub(super) type ByClass<C> = BTreeMap<(TransportationTypeHandle, C), i32>;

/// The counts of a federate.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) updates: ByClass<ObjectClassHandle>,
    pub(super) reflections: ByClass<ObjectClassHandle>,
    pub(super) interactions_sent: ByClass<InteractionClassHandle>,
    pub(super) interactions_received: ByClass<InteractionClassHandle>,
    pub(super) directed_sent: ByClass<InteractionClassHandle>,
    pub(super) directed_received: ByClass<InteractionClassHandle>,
    /// The instances that it has updated.
    pub(super) updated: Tally,
    /// The instances that were reflected to it.
    pub(super) reflected: Tally,
    pub(super) registered: i32,
    pub(super) discovered: i32,
    pub(super) deleted: i32,
    pub(super) removed: i32,
}

/// A number of different instances by class.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) by_class: BTreeMap<ObjectClassHandle, i32>,
    /// The instances that are counted and still exist for the federate.
    present: BTreeSet<ObjectInstanceHandle>,
}

impl Tally {
    fn add(&mut self, instance: ObjectInstanceHandle, class: ObjectClassHandle) {
        if self.present.insert(instance) {
            count(&mut self.by_class, class);
        }
    }

    fn len(&self) -> usize {
        self.by_class.len() * entry_len::<ObjectClassHandle, i32>()
            + self.present.len() * entry_len::<ObjectInstanceHandle, ()>()
    }

    /// The number of instances of all classes.
    pub(super) fn total(&self) -> i32 {
        total(&self.by_class)
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, i32>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}

/// The sum of all counts.
pub(super) fn total<K>(counts: &BTreeMap<K, i32>) -> i32 {
    counts.values().fold(0, |sum, count| sum.saturating_add(*count))
}

/// What a call is about to send.
#[derive(Debug)]
pub(super) enum Sent {
    Nothing,
    Update {
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        transportations: BTreeSet<TransportationTypeHandle>,
    },
    Interaction(TransportationTypeHandle, InteractionClassHandle),
    Directed(TransportationTypeHandle, InteractionClassHandle),
    Registration,
    Deletion(ObjectInstanceHandle),
}

impl Sent {
    /// What this call sends, if it succeeds.
    pub(super) fn of(federation: &Federation, me: FederateHandle, call: &Call) -> Self {
        use DistributionCall as D;
        use ObjectCall as C;
        let transportation = |class: &InteractionClassHandle| {
            federation.model.interaction_class(*class)?;
            Some(federation.federate(me).interaction_send_options(&federation.model, *class).1)
        };
        let interaction = |class: &InteractionClassHandle| {
            transportation(class).map_or(Self::Nothing, |kind| Self::Interaction(kind, *class))
        };
        let call = match call {
            Call::Object(call) => call,
            Call::Distribution(
                D::SendInteractionWithRegions { interaction_class, .. }
                | D::SendInteractionWithRegionsAndTime { interaction_class, .. },
            ) => return interaction(interaction_class),
            Call::Distribution(
                D::RegisterObjectInstanceWithRegions { .. }
                | D::RegisterObjectInstanceWithNameAndRegions { .. },
            ) => return Self::Registration,
            _ => return Self::Nothing,
        };
        match call {
            C::UpdateAttributeValues { object_instance, attribute_values, .. }
            | C::UpdateAttributeValuesWithTime { object_instance, attribute_values, .. } => {
                let attributes = attribute_values.iter().map(|(attribute, _)| *attribute);
                Self::update(federation, *object_instance, attributes)
            }
            C::SendInteraction { interaction_class: class, .. }
            | C::SendInteractionWithTime { interaction_class: class, .. } => interaction(class),
            C::SendDirectedInteraction { interaction_class: class, .. }
            | C::SendDirectedInteractionWithTime { interaction_class: class, .. } => {
                transportation(class).map_or(Self::Nothing, |kind| Self::Directed(kind, *class))
            }
            C::RegisterObjectInstance { .. } | C::RegisterObjectInstanceWithName { .. } => {
                Self::Registration
            }
            C::DeleteObjectInstance { object_instance, .. }
            | C::DeleteObjectInstanceWithTime { object_instance, .. } => {
                Self::Deletion(*object_instance)
            }
            _ => Self::Nothing,
        }
    }

    fn update(
        federation: &Federation,
        handle: ObjectInstanceHandle,
        attributes: impl Iterator<Item = AttributeHandle>,
    ) -> Self {
        let Some(instance) = federation.instances.get(&handle) else { return Self::Nothing };
        let transportations = attributes
            .filter_map(|attribute| instance.attribute(attribute))
            .map(|attribute| attribute.transportation)
            .collect();
        Self::Update { instance: handle, class: instance.class, transportations }
    }
}

impl Counts {
    /// The estimated memory of the tables, in bytes.
    pub(super) fn len(&self) -> usize {
        let objects = self.updates.len() + self.reflections.len();
        let interactions = self.interactions_sent.len() + self.interactions_received.len();
        let directed = self.directed_sent.len() + self.directed_received.len();
        (objects + interactions + directed)
            * entry_len::<(TransportationTypeHandle, ObjectClassHandle), i32>()
            + self.updated.len()
            + self.reflected.len()
    }

    /// A call of the federate has sent something.
    pub(super) fn note_sent(&mut self, sent: Sent) {
        match sent {
            Sent::Nothing => {}
            Sent::Update { instance, class, transportations } => {
                self.updated.add(instance, class);
                transportations.into_iter().for_each(|one| count(&mut self.updates, (one, class)));
            }
            Sent::Interaction(kind, class) => count(&mut self.interactions_sent, (kind, class)),
            Sent::Directed(kind, class) => count(&mut self.directed_sent, (kind, class)),
            Sent::Registration => self.registered = self.registered.saturating_add(1),
            Sent::Deletion(instance) => {
                self.deleted = self.deleted.saturating_add(1);
                self.forget(instance);
            }
        }
    }

    /// The federate has received a callback; `class` is the class that it knows a reflected instance as.
    pub(super) fn note_received(&mut self, callback: &Callback, class: Option<ObjectClassHandle>) {
        use Callback as C;
        match callback {
            C::ReflectAttributeValues { object_instance, transportation_type: kind, .. }
            | C::ReflectAttributeValuesWithTime {
                object_instance,
                transportation_type: kind,
                ..
            } => {
                let Some(class) = class else { return };
                self.reflected.add(*object_instance, class);
                count(&mut self.reflections, (*kind, class));
            }
            C::ReceiveInteraction { interaction_class, transportation_type: kind, .. }
            | C::ReceiveInteractionWithTime {
                interaction_class, transportation_type: kind, ..
            } => count(&mut self.interactions_received, (*kind, *interaction_class)),
            C::ReceiveDirectedInteraction {
                interaction_class, transportation_type: kind, ..
            }
            | C::ReceiveDirectedInteractionWithTime {
                interaction_class,
                transportation_type: kind,
                ..
            } => count(&mut self.directed_received, (*kind, *interaction_class)),
            C::DiscoverObjectInstance { .. } => self.discovered = self.discovered.saturating_add(1),
            C::RemoveObjectInstance { object_instance, .. }
            | C::RemoveObjectInstanceWithTime { object_instance, .. } => {
                self.removed = self.removed.saturating_add(1);
                self.forget(*object_instance);
            }
            _ => {}
        }
    }

    /// An instance exists no longer for the federate. It stays counted.
    fn forget(&mut self, instance: ObjectInstanceHandle) {
        self.updated.present.remove(&instance);
        self.reflected.present.remove(&instance);
    }
}

stored!(Tally { by_class, present });
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
