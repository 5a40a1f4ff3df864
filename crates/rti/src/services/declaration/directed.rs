//! Directed interactions (clauses 5.6, 5.7, 5.12 and 5.13).

use std::collections::BTreeMap;

use hemiola_hla::{
    Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, Refusal, Reply,
};

use super::{Answer, defined, interaction_defined};
use crate::federate::{Reach, table};
use crate::federation::Federation;
use crate::memory::has_room;

/// Checks that the object model allows these interactions to be directed at instances of this class.
fn directable(
    federation: &Federation,
    class: ObjectClassHandle,
    interactions: &[InteractionClassHandle],
) -> Result<(), Refusal> {
    defined(federation, class, &[])?;
    let model = &federation.model;
    let allowed = &model.object_class(class).expect("just seen").directed_interactions;
    for one in interactions {
        interaction_defined(federation, *one)?;
        if !allowed.iter().any(|(other, _)| model.is_interaction_class(*one, *other)) {
            let details = format!("{one} cannot be directed at instances of class {class}");
            return Err(Exception::InteractionClassNotDefined.because(details));
        }
    }
    Ok(())
}

/// Clause 5.6.
pub(super) fn publish(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    interactions: &[InteractionClassHandle],
) -> Answer {
    directable(federation, class, interactions)?;
    if !interactions.is_empty() {
        has_room(federation, me, table::directed(interactions.len()))?;
        let federate = federation.federate_mut(me);
        let set = federate.published.directed.entry(class).or_default();
        let before = table::directed(set.len());
        set.extend(interactions);
        federate.charge.change(before, table::directed(set.len()));
    }
    Ok(Reply::Done)
}

/// Clause 5.7, both forms: all interactions or some.
pub(super) fn unpublish(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    interactions: Option<&[InteractionClassHandle]>,
) -> Answer {
    directable(federation, class, interactions.unwrap_or_default())?;
    let federate = federation.federate_mut(me);
    let directed = &mut federate.published.directed;
    if let Some(set) = directed.get_mut(&class) {
        let before = table::directed(set.len());
        set.retain(|one| interactions.is_some_and(|some| !some.contains(one)));
        federate.charge.change(before, table::directed(set.len()));
        if set.is_empty() {
            directed.remove(&class);
        }
    }
    Ok(Reply::Done)
}

/// Clause 5.12, both forms.
pub(super) fn subscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    interactions: &[InteractionClassHandle],
    reach: Reach,
) -> Answer {
    directable(federation, class, interactions)?;
    if !interactions.is_empty() {
        has_room(federation, me, table::directed(interactions.len()))?;
        let federate = federation.federate_mut(me);
        let reaches: &mut BTreeMap<InteractionClassHandle, Reach> =
            federate.subscribed.directed.entry(class).or_default();
        let before = table::directed(reaches.len());
        reaches.extend(interactions.iter().map(|one| (*one, reach)));
        federate.charge.change(before, table::directed(reaches.len()));
    }
    Ok(Reply::Done)
}

/// Clause 5.13, both forms: all interactions or some.
pub(super) fn unsubscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    interactions: Option<&[InteractionClassHandle]>,
) -> Answer {
    directable(federation, class, interactions.unwrap_or_default())?;
    let federate = federation.federate_mut(me);
    let directed = &mut federate.subscribed.directed;
    if let Some(reaches) = directed.get_mut(&class) {
        let before = table::directed(reaches.len());
        reaches.retain(|one, _| interactions.is_some_and(|some| !some.contains(one)));
        federate.charge.change(before, table::directed(reaches.len()));
        if reaches.is_empty() {
            directed.remove(&class);
        }
    }
    Ok(Reply::Done)
}
