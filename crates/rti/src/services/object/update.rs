//! Updating and reflecting attribute values (clauses 6.10 and 6.11).

use hemiola_hla::data::{AttributeValues, Data, Retraction};
use hemiola_hla::{
    AttributeHandle, EncodedTime, Exception, FederateHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, Refusal, TransportationTypeHandle,
};
use hemiola_units::Instant;

use super::instance::rediscover;
use super::{available, evaluate, stamped};
use crate::federate::{Federate, Subscription};
use crate::federation::Federation;
use crate::group::Groups;
use crate::instance::KnownBy;
use crate::message::{Body, Message, Stamp, dispatch, dispatch_unevaluated, store_for_retraction};
use crate::regions::{Extent, WithRegions};

/// The sending options of a value, and the regions with which it is sent.
type SendOptions = (OrderType, TransportationTypeHandle, Extent);

/// Clause 6.10, both forms. Values with the same sending options are reflected together.
pub(crate) fn update_attribute_values(
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
    let is_ordered = time.is_some() && federation.federate(me).time.known_regulation().is_some();
    let groups = alike(values, |attribute| {
        let attribute = instance.attribute(attribute).expect("it is owned");
        let order = if is_ordered { attribute.order } else { OrderType::Receive };
        let extent = federation.regions.extent_of(handle, attribute.handle, me);
    let is_deleted_locally = !instance.deleted_locally_by().is_empty();
        (order, attribute.transportation, extent)
    });
    // The parts share one retraction handle.
    let is_ordered = groups.iter().any(|((order, ..), _)| *order == OrderType::TimeStamp);
    let order = if is_ordered { OrderType::TimeStamp } else { OrderType::Receive };
    let whole = Stamp::new(federation, me, time, order);
    let first = federation.sequence + 1;
    if is_deleted_locally {
        let values = groups.iter().flat_map(|(_, values)| values);
        let updated: Vec<AttributeHandle> = values.map(|(one, _)| *one).collect();
        rediscover(federation, handle, &updated);
    }
    let mut retractable_from = Vec::new();
    for ((order, transportation, extent), values) in groups {
        let is_ordered = order == OrderType::TimeStamp;
        let stamp = if is_ordered { whole } else { whole.unordered() };
        let message = |values| {
            let body = Body::Reflect { instance: handle, values };
            let (tag, extent) = (tag.clone(), extent.clone());
            Message { body, tag, transportation, producer: me, stamp, extent }
        };
        if federation.delays_evaluation {
            let reached = dispatch_unevaluated(federation, message(values));
            retractable_from.extend(reached.into_iter().filter(|_| is_ordered));
            continue;
        }
        let limits_rates = limits_rates(federation, stamp, transportation);
        let groups = receivers(federation, me, handle, values, limits_rates, &extent);
        for (values, receivers) in groups {
            dispatch(federation, &message(values), &receivers);
            retractable_from.extend(receivers.into_iter().filter(|_| is_ordered));
        }
    }
    store_for_retraction(federation, me, whole, first, retractable_from, None);
    Ok(whole.retraction())
}

/// Groups values by their sending options, in the order of each group's first value.
fn alike(
    values: AttributeValues,
    send_options: impl Fn(AttributeHandle) -> SendOptions,
) -> Vec<(SendOptions, AttributeValues)> {
    let Some((first, _)) = values.first() else { return Vec::new() };
    let first = send_options(*first);
    if values.iter().all(|(attribute, _)| send_options(*attribute) == first) {
        return vec![(first, values)];
    }
    let groups = values.into_iter().map(|(one, value)| (send_options(one), (one, value)));
    groups.collect::<Groups<_, _>>().into_iter().collect()
}

/// Returns the receivers of the values. Federates that receive the same values form a group and share them.
fn receivers(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    values: AttributeValues,
    limits_rates: bool,
    extent: &Extent,
) -> Vec<(AttributeValues, Vec<FederateHandle>)> {
    let mut all = Vec::new();
    let mut some: Vec<(AttributeValues, Vec<FederateHandle>)> = Vec::new();
    // Receivers with rate limits, and their place in `some`; `None` if they receive all values.
    let mut limited = Vec::new();
    let knowers = federation.instances[&handle].known_by().iter();
    for KnownBy { federate: receiver, class } in knowers.filter(|one| one.federate != me) {
        let federate = federation.federate(*receiver);
        let subscribed = federate.subscribed.classes.get(class);
        let within = federation.regions.subscribed(*receiver, *class);
        if subscribed.is_none() && within.is_none() {
            continue;
        }
        let rates_at = limits_rates.then_some(federation.now);
        let wants = |(attribute, _): &&(AttributeHandle, Data)| {
            let wants = |all| federate.wants(all, handle, *attribute, rates_at);
            subscribed.is_some_and(wants)
                || within.is_some_and(|within| {
                    wants_within(
                        federation,
                        federate,
                        (*class, within),
                        (handle, *attribute),
                        rates_at,
                        extent,
                    )
                })
        };
        let is_limited = limits_rates
            && (within.is_some()
                || subscribed.is_some_and(|all| all.values().any(|one| one.rate.is_some())));
        if values.iter().all(|value| wants(&value)) {
            all.push(*receiver);
            limited.extend(is_limited.then_some((*receiver, *class, None)));
            continue;
        }
        let wanted: AttributeValues = values.iter().filter(wants).cloned().collect();
        if wanted.is_empty() {
            continue;
        }
        let same = some.iter().position(|(other, _)| {
            other.iter().map(|(one, _)| one).eq(wanted.iter().map(|(one, _)| one))
        });
        let place = same.unwrap_or_else(|| {
            some.push((wanted, Vec::new()));
            some.len() - 1
        });
        some[place].1.push(*receiver);
        limited.extend(is_limited.then_some((*receiver, *class, Some(place))));
    }
    for (receiver, class, place) in limited {
        let values = place.map_or(&values, |place| &some[place].0);
        federation.note_reflected(receiver, class, handle, values);
    }
    if !all.is_empty() {
        some.push((values, all));
    }
    some
}

/// Whether a federate's subscriptions with regions, at the class it knows the instance as, receive an attribute that is
/// sent in this extent. If a time is given, their rate must also allow a reflection at that time.
pub(super) fn wants_within(
    federation: &Federation,
    federate: &Federate,
    (class, within): (ObjectClassHandle, &WithRegions),
    (instance, attribute): (ObjectInstanceHandle, AttributeHandle),
    rates_at: Option<Instant>,
    extent: &Extent,
) -> bool {
    let Some(regions) = within.get(&attribute) else { return false };
    let allows = |one: &_| federate.allows(one, instance, attribute, rates_at);
    federation.regions.any_of(&federation.model, class, regions, extent, allows)
}

/// Returns whether update rate limits apply: only to messages that may be dropped.
pub(super) fn limits_rates(
    federation: &Federation,
    stamp: Stamp,
    transportation: TransportationTypeHandle,
) -> bool {
    let definition = federation.model.transportation(transportation);
    stamp.retraction().is_none() && !definition.is_some_and(|one| one.reliable)
}
