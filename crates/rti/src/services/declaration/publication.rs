//! Publications (clauses 5.2 to 5.5).

use std::collections::BTreeSet;

use hemiola_hla::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, Reply,
};

use super::{Answer, advise_of_interactions, advise_of_registration, defined, interaction_defined};
use crate::federate::table;
use crate::federation::Federation;
use crate::memory::has_room;
use crate::services::object;

/// Clause 5.2. Publishing any attribute also publishes the privilege to delete.
pub(super) fn publish_object_class_attributes(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
) -> Answer {
    defined(federation, class, attributes)?;
    if attributes.is_empty() {
        return Ok(Reply::Done);
    }
    let privilege = federation.privilege;
    has_room(federation, me, table::published(Some(&BTreeSet::new())))?;
    let federate = federation.federate_mut(me);
    let before = table::published(federate.published.classes.get(&class));
    let set = federate.published.classes.entry(class).or_default();
    let more = attributes.iter().copied().chain([privilege]).filter(|one| set.insert(*one));
    let more: Vec<AttributeHandle> = more.collect();
    federate.charge.change(before, table::published(Some(set)));
    advise_of_registration(federation, me);
    object::offer_published(federation, me, class, &more);
    Ok(Reply::Done)
}

/// Clause 5.3, both forms: all attributes or some. Attributes of instances that the federate no longer publishes become
/// unowned. The privilege to delete, which was published implicitly, goes with the last attribute.
pub(super) fn unpublish_object_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: Option<&[AttributeHandle]>,
) -> Answer {
    defined(federation, class, attributes.unwrap_or_default())?;
    let privilege = federation.privilege;
    let published = &federation.federate(me).published.classes;
    let Some(set) = published.get(&class) else { return Ok(Reply::Done) };
    let mut left: BTreeSet<AttributeHandle> = match attributes {
        Some(attributes) => set.iter().filter(|one| !attributes.contains(one)).copied().collect(),
        None => BTreeSet::new(),
    };
    if left.iter().all(|one| *one == privilege) {
        left.clear();
    }
    object::unpublish(federation, me, class, left)
}

/// Clause 5.4.
pub(super) fn publish_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> Answer {
    interaction_defined(federation, class)?;
    has_room(federation, me, table::INTERACTION)?;
    let federate = federation.federate_mut(me);
    if federate.published.interactions.insert(class) {
        federate.charge.grow(table::INTERACTION);
    }
    advise_of_interactions(federation, me);
    Ok(Reply::Done)
}

/// Clause 5.5.
pub(super) fn unpublish_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> Answer {
    interaction_defined(federation, class)?;
    let federate = federation.federate_mut(me);
    if federate.published.interactions.remove(&class) {
        federate.charge.shrink(table::INTERACTION);
    }
    federate.advised.interactions.remove(&class);
    Ok(Reply::Done)
}
