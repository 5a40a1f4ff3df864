//! Directed interactions (clauses 5.6, 5.7, 5.12 and 5.13).

use std::collections::BTreeMap;

use hemiola_hla::{
    Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, Refusal, Reply,
};

use super::{Answer, defined, interaction_defined};
use crate::federate::Reach;
use crate::federation::Federation;

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
        let directed = &mut federation.federate_mut(me).published.directed;
        directed.entry(class).or_default().extend(interactions);
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
    let directed = &mut federation.federate_mut(me).published.directed;
    if let Some(set) = directed.get_mut(&class) {
        set.retain(|one| interactions.is_some_and(|some| !some.contains(one)));
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
        let directed = &mut federation.federate_mut(me).subscribed.directed;
        let reaches: &mut BTreeMap<InteractionClassHandle, Reach> =
            directed.entry(class).or_default();
        reaches.extend(interactions.iter().map(|one| (*one, reach)));
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
    let directed = &mut federation.federate_mut(me).subscribed.directed;
    if let Some(reaches) = directed.get_mut(&class) {
        reaches.retain(|one, _| interactions.is_some_and(|some| !some.contains(one)));
        if reaches.is_empty() {
            directed.remove(&class);
        }
    }
    Ok(Reply::Done)
}
