//! Interactions and directed interactions (clauses 6.12 to 6.15).

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::data::{Data, ParameterValues, Retraction};
use hemiola_hla::{
    EncodedTime, Exception, FederateHandle, InteractionClassHandle, ObjectInstanceHandle, Refusal,
    RegionHandle, TransportationTypeHandle,
};

use super::stamped;
use crate::counts::Counts;
use crate::federate::Reach;
use crate::federation::{Federation, Receiver};
use crate::group::Groups;
use crate::message::{Body, Message, Stamp, dispatch, dispatch_unevaluated, store_for_retraction};
use crate::regions::Extent;
use crate::services::{beyond, declaration, distribution};

/// Clause 6.12, both forms.
pub(crate) fn send_interaction(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    values: ParameterValues,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    is_publisher(federation, me, class, &values)?;
    send_in(federation, me, class, (values, tag), Extent::Everywhere, time)
}

/// Clause 9.12, both forms.
pub(crate) fn send_with_regions(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    (values, tag): (ParameterValues, Data),
    mut regions: Vec<RegionHandle>,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    is_publisher(federation, me, class, &values)?;
    let dimensions = &federation.model.interaction_class(class).expect("just seen").dimensions;
    distribution::usable_regions(federation, me, regions.iter().copied(), dimensions)?;
    regions.sort_unstable();
    regions.dedup();
    let limit = federation.limits.regions_sent;
    if regions.len() > limit {
        return Err(beyond(limit, "regions of one interaction"));
    }
    let extent = federation.regions.extent(regions.into_iter());
    send_in(federation, me, class, (values, tag), extent, time)
}

fn is_publisher(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    values: &ParameterValues,
) -> Result<(), Refusal> {
    parameters_defined(federation, class, values)?;
    if !federation.federate(me).published.interactions.contains(&class) {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    Ok(())
}

/// Sends an interaction to the other federates that receive it in this extent.
fn send_in(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    (values, tag): (ParameterValues, Data),
    extent: Extent,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let receivers = receivers(federation, class);
    let has_regions = federation.regions.has_subscriptions();
    let is_receiver = |(federate, received): &&Receiver| {
        *federate != me
            && (!has_regions || distribution::receives(federation, *federate, *received, &extent))
    };
    let others = receivers.iter().filter(is_receiver);
    let groups = others.map(|(federate, received)| (*received, *federate)).collect();
    let body = |class, values| Body::Interaction { class, values };
    let count = Counts::interaction;
    send(federation, me, (class, values), groups, (body, count), (tag, extent), time)
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

/// Returns the receivers of a class, each with the nearest class it subscribes to.
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
    federation.keep_receivers(class, Arc::clone(&receivers));
    receivers
}

/// Counts what is sent.
type Count = fn(&mut Counts, InteractionClassHandle, TransportationTypeHandle) -> usize;

/// Sends an interaction to each group of receivers, as the class that the group subscribes to and with the parameters
/// of that class.
fn send(
    federation: &mut Federation,
    me: FederateHandle,
    (class, values): (InteractionClassHandle, ParameterValues),
    groups: Groups<InteractionClassHandle, FederateHandle>,
    (body, count): (impl Fn(InteractionClassHandle, ParameterValues) -> Body, Count),
    (tag, extent): (Data, Extent),
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let time = stamped(federation, me, time)?;
    let federate = federation.federate(me);
    let (order, transportation) = federate.interaction_send_options(&federation.model, class);
    federation.federate_mut(me).count(|counts| count(counts, class, transportation));
    let stamp = Stamp::new(federation, me, time, order);
    let first = federation.sequence + 1;
    if federation.delays_evaluation {
        let body = body(class, values);
        let message = Message { body, tag, transportation, producer: me, stamp, extent };
        let told = dispatch_unevaluated(federation, message);
        store_for_retraction(federation, me, stamp, first, told, None);
        return Ok(stamp.retraction());
    }
    let mut told = Vec::new();
    for (received, receivers) in groups {
        let values = values_of(federation, class, received, &values);
        let body = body(received, values);
        let (tag, extent) = (tag.clone(), extent.clone());
        let message = Message { body, tag, transportation, producer: me, stamp, extent };
        dispatch(federation, message, &receivers);
        if stamp.retraction().is_some() {
            told.extend(receivers);
        }
    }
    store_for_retraction(federation, me, stamp, first, told, None);
    Ok(stamp.retraction())
}

/// Returns the parameters that a superclass has, for a federate that receives the interaction as that class.
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

/// A directed interaction.
pub(super) struct Directed {
    pub(super) class: InteractionClassHandle,
    pub(super) instance: ObjectInstanceHandle,
    pub(super) values: ParameterValues,
    pub(super) tag: Data,
}

/// Clause 6.14, both forms. Receivers subscribe at the class they know the instance as or at a superclass; a
/// subscription counts if it is universal or if the federate owns an attribute of the instance.
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
    // Publication depends on the class the federate knows the instance as, so an unknown instance is an error first.
    if !known
        .as_ref()
        .map_or_else(|_| published.values().any(|set| set.contains(&class)), publishes)
    {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    let (instance, _) = known?;
    let others = instance.known_by().iter().map(|one| one.federate).filter(|one| *one != me);
    let groups = others
        .filter_map(|one| Some((directed_as(federation, one, handle, class)?, one)))
        .collect();
    let body = |class, values| Body::Directed { class, instance: handle, values };
    let (count, everywhere) = (Counts::directed, Extent::Everywhere);
    send(federation, me, (class, values), groups, (body, count), (tag, everywhere), time)
}

/// Returns the class as which a federate receives a directed interaction; `None` if it does not.
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
