//! Interactions are sent and received (clauses 6.12 to 6.15).

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::data::{Data, ParameterValues, Retraction};
use hemiola_hla::{
    EncodedTime, Exception, FederateHandle, InteractionClassHandle, ObjectInstanceHandle,
    OrderType, Refusal,
};

use super::{stamped, update};
use crate::federate::Reach;
use crate::federation::{Federation, Receiver};
use crate::message::{Body, Message, dispatch, dispatch_undecided, next_retraction, remember};
use crate::services::declaration;

/// Clause 6.12, both forms.
pub(super) fn send_interaction(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    values: ParameterValues,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    parameters_defined(federation, class, &values)?;
    if !federation.federate(me).published.interactions.contains(&class) {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    let receivers = receivers(federation, class);
    let mut groups: Vec<(InteractionClassHandle, Vec<FederateHandle>)> = Vec::new();
    for (federate, received) in receivers.iter().filter(|(federate, _)| *federate != me) {
        match groups.iter_mut().find(|(class, _)| class == received) {
            Some((_, group)) => group.push(*federate),
            None => groups.push((*received, vec![*federate])),
        }
    }
    let body = |class, values| Body::Interaction { class, values };
    send(federation, me, (class, values), groups, body, tag, time)
}

fn parameters_defined(
    federation: &Federation,
    class: InteractionClassHandle,
    values: &ParameterValues,
) -> Result<(), Refusal> {
    declaration::interaction_defined(federation, class)?;
    let model = &federation.model;
    match values.iter().find(|(one, _)| !model.has_parameter(class, *one)) {
        Some((one, _)) => Err(Exception::InteractionParameterNotDefined.because(one.to_string())),
        None => Ok(()),
    }
}

/// Who gets interactions of a class: each federate as the nearest class that it subscribes to.
fn receivers(federation: &mut Federation, class: InteractionClassHandle) -> Arc<[Receiver]> {
    if let Some(known) = federation.receivers.get(&class) {
        return Arc::clone(known);
    }
    let mut nearest: BTreeMap<FederateHandle, InteractionClassHandle> = BTreeMap::new();
    for above in federation.interaction_class_line(class) {
        for federate in federation.interaction_subscribers.get(&above).into_iter().flatten() {
            nearest.entry(*federate).or_insert(above);
        }
    }
    let receivers: Arc<[Receiver]> = nearest.into_iter().collect();
    federation.receivers.insert(class, Arc::clone(&receivers));
    receivers
}

/// Sends an interaction to each group of receivers, as the class the group gets it as and with the parameters
/// that this class has.
#[expect(clippy::too_many_arguments, reason = "the common end of the two services")]
fn send(
    federation: &mut Federation,
    me: FederateHandle,
    (class, values): (InteractionClassHandle, ParameterValues),
    groups: Vec<(InteractionClassHandle, Vec<FederateHandle>)>,
    body: impl Fn(InteractionClassHandle, ParameterValues) -> Body,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let time = stamped(federation, me, time)?;
    let federate = federation.federate(me);
    let (order, transportation) = federate.interaction_manner(&federation.model, class);
    let ordering =
        time.is_some() && order == OrderType::TimeStamp && federate.time.regulation().is_some();
    let order = if ordering { order } else { OrderType::Receive };
    let retraction = if ordering { Some(next_retraction(federation, me)) } else { None };
    let stamp = update::stamp(time, order, retraction);
    let first = federation.sequence + 1;
    if federation.delays_evaluation {
        let body = body(class, values);
        let message = Message { body, tag, transportation, producer: me, stamp };
        let told = dispatch_undecided(federation, message);
        remember(federation, me, stamp, first, told, None);
        return Ok(retraction);
    }
    let mut told = Vec::new();
    for (received, receivers) in groups {
        let values = values_of(federation, class, received, &values);
        let body = body(received, values);
        let message = Message { body, tag: tag.clone(), transportation, producer: me, stamp };
        dispatch(federation, &message, &receivers);
        told.extend(receivers);
    }
    remember(federation, me, stamp, first, told, None);
    Ok(retraction)
}

/// The parameters of an interaction of a class that one above it has: who gets it as that gets these.
pub(super) fn values_of(
    federation: &Federation,
    class: InteractionClassHandle,
    received: InteractionClassHandle,
    values: &ParameterValues,
) -> ParameterValues {
    let mut values = values.clone();
    if received != class {
        values.retain(|(parameter, _)| federation.model.has_parameter(received, *parameter));
    }
    values
}

/// An interaction directed at an instance.
pub(super) struct Directed {
    pub(super) class: InteractionClassHandle,
    pub(super) instance: ObjectInstanceHandle,
    pub(super) values: ParameterValues,
    pub(super) tag: Data,
}

/// Clause 6.14, both forms. It reaches who subscribes to it for the class that it knows the instance as, or for one
/// above: those who own an attribute of the instance, and those who want all.
pub(super) fn send_directed_interaction(
    federation: &mut Federation,
    me: FederateHandle,
    Directed { class, instance: handle, values, tag }: Directed,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    parameters_defined(federation, class, &values)?;
    let published = &federation.federate(me).published.directed;
    let known = federation.known(me, handle);
    let publishes = |(_, known_as): &(_, _)| {
        let mut line = federation.object_class_line(*known_as);
        line.any(|above| published.get(&above).is_some_and(|set| set.contains(&class)))
    };
    // Of an instance that it does not know, nobody can say whether it publishes the class for it.
    if !known
        .as_ref()
        .map_or_else(|_| published.values().any(|set| set.contains(&class)), publishes)
    {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    let (instance, _) = known?;
    let mut groups: Vec<(InteractionClassHandle, Vec<FederateHandle>)> = Vec::new();
    let others = instance.known().iter().map(|one| one.federate).filter(|one| *one != me);
    for federate in others {
        let Some(received) = directed_as(federation, federate, handle, class) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == received) {
            Some((_, group)) => group.push(federate),
            None => groups.push((received, vec![federate])),
        }
    }
    let body = |class, values| Body::Directed { class, instance: handle, values };
    send(federation, me, (class, values), groups, body, tag, time)
}

/// As what a federate gets an interaction of a class that is directed at an instance, if it gets it.
pub(super) fn directed_as(
    federation: &Federation,
    federate: FederateHandle,
    handle: ObjectInstanceHandle,
    class: InteractionClassHandle,
) -> Option<InteractionClassHandle> {
    let instance = federation.instances.get(&handle)?;
    let known_as = instance.known_as(federate)?;
    let subscribed = &federation.federate(federate).subscribed.directed;
    let reached = |received: &InteractionClassHandle| {
        let mut reaches = federation
            .object_class_line(known_as)
            .filter_map(|above| subscribed.get(&above)?.get(received).copied());
        let owns = || instance.owned_by(federate).next().is_some();
        reaches.any(|reach| reach == Reach::Universal || owns())
    };
    federation.interaction_class_line(class).find(reached)
}
