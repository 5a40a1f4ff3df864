//! Attribute values are updated and reflected (clauses 6.10 and 6.11).

use hemiola_hla::data::{AttributeValues, Data, Retraction};
use hemiola_hla::{
    AttributeHandle, EncodedTime, Exception, FederateHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, Refusal, TransportationTypeHandle,
};
use hemiola_units::Span;

use super::{available, stamped};
use crate::federate::Federate;
use crate::federation::Federation;
use crate::instance::Knower;
use crate::message::{
    Body, Message, Stamp, dispatch, dispatch_undecided, next_retraction, remember,
};

/// How a value travels.
type Manner = (OrderType, TransportationTypeHandle);

/// Clause 6.10, both forms. Values that travel alike are reflected together.
pub(super) fn update_attribute_values(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    values: AttributeValues,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let (instance, class) = federation.known(me, handle)?;
    available(federation, class, values.iter().map(|(attribute, _)| *attribute))?;
    if let Some((other, _)) = values.iter().find(|(one, _)| instance.owner(*one) != me) {
        return Err(Exception::AttributeNotOwned.because(other.to_string()));
    }
    let time = stamped(federation, me, time)?;
    let regulates = federation.federate(me).time.regulation().is_some();
    let manner = |attribute: AttributeHandle| -> Manner {
        let said = federation.instances[&handle].attribute(attribute).expect("it is owned");
        (
            if time.is_some() && regulates { said.order } else { OrderType::Receive },
            said.transportation,
        )
    };
    let passels = alike(values, manner);
    let ordering = passels.iter().any(|((order, _), _)| *order == OrderType::TimeStamp);
    let retraction = if ordering { Some(next_retraction(federation, me)) } else { None };
    let first = federation.sequence + 1;
    let mut told = Vec::new();
    for ((order, transportation), values) in passels {
        let stamp = stamp(time, order, retraction);
        if federation.delays_evaluation {
            let body = Body::Reflect { instance: handle, values };
            let message = Message { body, tag: tag.clone(), transportation, producer: me, stamp };
            let reached = dispatch_undecided(federation, message);
            if order == OrderType::TimeStamp {
                told.extend(reached);
            }
            continue;
        }
        for (values, receivers) in receivers(federation, me, handle, values, order, transportation)
        {
            let body = Body::Reflect { instance: handle, values };
            let message = Message { body, tag: tag.clone(), transportation, producer: me, stamp };
            dispatch(federation, &message, &receivers);
            if order == OrderType::TimeStamp {
                told.extend(receivers);
            }
        }
    }
    if let (Some(time), Some(retraction)) = (time, retraction) {
        remember(federation, me, Stamp::Ordering(time, retraction), first, told, None);
    }
    Ok(retraction)
}

/// The stamp of a message of this order.
pub(super) const fn stamp(
    time: Option<LogicalTime>,
    order: OrderType,
    retraction: Retraction,
) -> Stamp {
    match (time, order, retraction) {
        (None, ..) => Stamp::None,
        (Some(time), OrderType::TimeStamp, Some(retraction)) => Stamp::Ordering(time, retraction),
        (Some(time), ..) => Stamp::Told(time),
    }
}

/// The values by how they travel, in the order of their first.
fn alike(
    values: AttributeValues,
    manner: impl Fn(AttributeHandle) -> Manner,
) -> Vec<(Manner, AttributeValues)> {
    let Some((first, _)) = values.first() else { return Vec::new() };
    let first = manner(*first);
    if values.iter().all(|(attribute, _)| manner(*attribute) == first) {
        return vec![(first, values)];
    }
    let mut passels: Vec<(Manner, AttributeValues)> = Vec::new();
    for (attribute, value) in values {
        let manner = manner(attribute);
        match passels.iter_mut().find(|(other, _)| *other == manner) {
            Some((_, passel)) => passel.push((attribute, value)),
            None => passels.push((manner, vec![(attribute, value)])),
        }
    }
    passels
}

/// Who gets which of the values. Federates that get the same stand together, so that these are kept once.
fn receivers(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    values: AttributeValues,
    order: OrderType,
    transportation: TransportationTypeHandle,
) -> Vec<(AttributeValues, Vec<FederateHandle>)> {
    let limits_rates = order == OrderType::Receive && is_lossy(federation, transportation);
    let mut all = Vec::new();
    let mut some: Vec<(AttributeValues, Vec<FederateHandle>)> = Vec::new();
    let mut limited = Vec::new();
    for Knower { federate: other, class } in federation.instances[&handle].known() {
        if *other == me {
            continue;
        }
        let federate = federation.federate(*other);
        let Some(subscribed) = federate.subscribed.classes.get(class) else { continue };
        let wants = |attribute: AttributeHandle| {
            subscribed.get(&attribute).is_some_and(|subscription| {
                let rate = subscription.rate.as_ref().filter(|_| limits_rates);
                rate.is_none_or(|rate| is_due(federate, federation, handle, attribute, rate.hertz))
            })
        };
        if limits_rates && subscribed.values().any(|subscription| subscription.rate.is_some()) {
            limited.push((*other, *class));
        }
        if values.iter().all(|(attribute, _)| wants(*attribute)) {
            all.push(*other);
            continue;
        }
        let wanted: AttributeValues =
            values.iter().filter(|(attribute, _)| wants(*attribute)).cloned().collect();
        if wanted.is_empty() {
            continue;
        }
        let same = |one: &&mut (AttributeValues, Vec<FederateHandle>)| {
            one.0
                .iter()
                .map(|(attribute, _)| attribute)
                .eq(wanted.iter().map(|(attribute, _)| attribute))
        };
        match some.iter_mut().find(same) {
            Some((_, receivers)) => receivers.push(*other),
            None => some.push((wanted, vec![*other])),
        }
    }
    for (other, class) in limited {
        note_reflection(federation, other, class, handle, &all, &some, &values);
    }
    if !all.is_empty() {
        some.push((values, all));
    }
    some
}

/// May updates that travel like this be left out?
fn is_lossy(federation: &Federation, transportation: TransportationTypeHandle) -> bool {
    !federation.model.transportation(transportation).is_some_and(|one| one.reliable)
}

/// Do subscribers that want updates at a limited rate get this message at that rate?
pub(super) fn limits_rates(federation: &Federation, message: &Message) -> bool {
    let has_order = matches!(message.stamp, Stamp::Ordering(..));
    !has_order && is_lossy(federation, message.transportation)
}

/// Is it long enough ago that the federate was told of this attribute?
pub(super) fn is_due(
    federate: &Federate,
    federation: &Federation,
    instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
    hertz: f64,
) -> bool {
    let last = federate.last_reflected.get(&(instance, attribute));
    last.is_none_or(|last| federation.now.since(*last) >= Span::from_secs_f64(1.0 / hertz))
}

/// Notes when a federate is told of attributes that it wants at a limited rate.
fn note_reflection(
    federation: &mut Federation,
    federate: FederateHandle,
    class: ObjectClassHandle,
    instance: ObjectInstanceHandle,
    all: &[FederateHandle],
    some: &[(AttributeValues, Vec<FederateHandle>)],
    values: &AttributeValues,
) {
    let told = if all.contains(&federate) {
        values
    } else {
        match some.iter().find(|(_, receivers)| receivers.contains(&federate)) {
            Some((told, _)) => told,
            None => return,
        }
    };
    note(federation, federate, class, instance, told);
}

/// Notes that a federate is told of these attributes now.
pub(super) fn note(
    federation: &mut Federation,
    federate: FederateHandle,
    class: ObjectClassHandle,
    instance: ObjectInstanceHandle,
    told: &AttributeValues,
) {
    let now = federation.now;
    let federate = federation.federate_mut(federate);
    for (attribute, _) in told {
        if federate.subscription(class, *attribute).is_some_and(|one| one.rate.is_some()) {
            federate.last_reflected.insert((instance, *attribute), now);
        }
    }
}
