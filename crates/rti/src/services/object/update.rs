//! Updating and reflecting attribute values (clauses 6.10 and 6.11).

use std::sync::Arc;

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
use crate::memory::can_hold;
use crate::message::{
    Body, Message, Stamp, count_reflection, dispatch, dispatch_unevaluated, is_received_now,
    store_for_retraction,
};
use crate::postponed::Postponed;
use crate::regions::{Extent, WithRegions};
use crate::services::distribution;

/// The sending options of a value, and the regions with which it is sent.
type SendOptions = (OrderType, TransportationTypeHandle, Extent);

/// Values with the same sending options.
type Part = (SendOptions, AttributeValues);

/// Values, and the federates that receive exactly these.
type Audience = (AttributeValues, Vec<FederateHandle>);

/// Clause 6.10, both forms. Values with the same sending options are reflected together.
pub(crate) fn update_attribute_values(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    values: AttributeValues,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let (instance, known) = federation.knower(me, handle)?;
    let class = known.class;
    available(federation, class, values.iter().map(|(attribute, _)| *attribute))?;
    if let Some((other, _)) = values.iter().find(|(one, _)| instance.owner(*one) != me) {
        return Err(Exception::AttributeNotOwned.because(other.to_string()));
    }
    let time = stamped(federation, me, time)?;
    let is_deleted_locally = !instance.deleted_locally_by().is_empty();
    let is_ordered = time.is_some() && federation.federate(me).time.known_regulation().is_some();
    let (only, several) = parts(values, |attribute| {
        let attribute = instance.attribute(attribute).expect("it is owned");
        let order = if is_ordered { attribute.order } else { OrderType::Receive };
        let extent = federation.regions.extent_of(handle, attribute.handle, me);
        (order, attribute.transportation, extent)
    });
    let is_counted = match &only {
        Some(((_, kind, _), _)) => federation.mom.is_none() && known.traffic.updates.count(*kind),
        None => false,
    };
    if !is_counted {
        count(federation, me, handle, class, only.iter().chain(&several));
    }
    if is_deleted_locally {
        let values = only.iter().chain(&several).flat_map(|(_, values)| values);
        let updated: Vec<AttributeHandle> = values.map(|(one, _)| *one).collect();
        rediscover(federation, handle, &updated);
    }
    // The parts share one retraction handle.
    let mut parts = only.iter().chain(&several);
    let is_ordered = parts.any(|((order, ..), _)| *order == OrderType::TimeStamp);
    let order = if is_ordered { OrderType::TimeStamp } else { OrderType::Receive };
    let whole = Stamp::new(federation, me, time, order);
    let first = federation.sequence + 1;
    let mut retractable_from = Vec::new();
    for ((order, transportation, extent), values) in only.into_iter().chain(several) {
        let is_ordered = order == OrderType::TimeStamp;
        let stamp = if is_ordered { whole } else { whole.unordered() };
        let message = |values| {
            let body = Body::Reflect { instance: handle, values };
            let (tag, extent) = (tag.clone(), extent.clone());
            Message { body, tag, transportation, producer: me, stamp, extent }
        };
        if federation.delays_evaluation {
            let reached = dispatch_unevaluated(federation, message(values));
            if is_ordered {
                retractable_from.extend(reached);
            }
            continue;
        }
        let limits_rates = limits_rates(federation, stamp, transportation);
        if federation.has_rates() {
            postpone_for_all(federation, &message(values.clone()), limits_rates);
        }
        let way = (stamp, transportation, limits_rates);
        let (some, all) = receivers(federation, me, handle, values, way, &extent);
        for (values, receivers) in some.into_iter().chain(all) {
            dispatch(federation, message(values), &receivers);
            if is_ordered {
                retractable_from.extend(receivers);
            }
        }
    }
    store_for_retraction(federation, me, whole, first, retractable_from, None);
    Ok(whole.retraction())
}

/// Counts an update in the tables of the federate that sends it: once for each transportation type of its parts.
#[cold]
fn count<'p>(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    class: ObjectClassHandle,
    parts: impl Iterator<Item = &'p Part>,
) {
    let mut kinds: Vec<TransportationTypeHandle> = parts.map(|((_, kind, _), _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    federation.federate_mut(me).count(|counts| counts.update(handle, class, &kinds));
}

/// Does what [`postpone`] does for all receivers of an update.
fn postpone_for_all(federation: &mut Federation, message: &Message, limits_rates: bool) {
    let instance = message.subject().expect("it is an update");
    let knowers = federation.instances[&instance].known_by();
    let knowers: Vec<(FederateHandle, ObjectClassHandle)> = knowers
        .iter()
        .filter(|one| one.federate != message.producer && has_rates(federation, one))
        .map(|one| (one.federate, one.class))
        .collect();
    for (federate, class) in knowers {
        postpone(federation, (federate, class), message, limits_rates);
    }
}

/// Whether a federate may have a limited rate for an attribute of an instance that it knows as this class.
fn has_rates(federation: &Federation, KnownBy { federate, class, .. }: &KnownBy) -> bool {
    let state = federation.federate(*federate);
    let everywhere = state.subscribed.classes.get(class);
    everywhere.is_some_and(|all| all.values().any(|one| one.rate.is_some()))
        || federation.regions.subscribed(*federate, *class).is_some()
        || !state.postponed.is_empty()
}

/// Keeps the values of an update for which the rate of a federate is too low now. They replace older ones, so that the
/// federate receives the newest as soon as the rate allows it. Without room for them they are lost.
pub(super) fn postpone(
    federation: &mut Federation,
    (to, class): (FederateHandle, ObjectClassHandle),
    message: &Message,
    limits_rates: bool,
) {
    let Body::Reflect { instance, values } = &message.body else { return };
    let due = |attribute| {
        let due = allowed_from(federation, (to, class), (*instance, attribute), &message.extent);
        due.filter(|_| limits_rates)
    };
    let dues: Vec<(AttributeHandle, Instant)> =
        values.iter().filter_map(|(one, _)| Some((*one, due(*one)?))).collect();
    federation.drop_postponed(to, *instance, values);
    if dues.is_empty() {
        return;
    }
    let is_late = |one: &AttributeHandle| dues.iter().any(|(late, _)| late == one);
    let part = message.part(is_late).detached();
    if can_hold(federation, dues.len() * Postponed::entry_len(&part)) {
        federation.postpone(to, *instance, &dues, Arc::new(part));
    }
}

/// Returns when the rate of a federate allows the next reflection of an attribute that is sent in this extent; `None`
/// if it does now, or if no subscription is for it.
fn allowed_from(
    federation: &Federation,
    (to, class): (FederateHandle, ObjectClassHandle),
    (instance, attribute): (ObjectInstanceHandle, AttributeHandle),
    extent: &Extent,
) -> Option<Instant> {
    let federate = federation.federate(to);
    let mut earliest: Option<Instant> = None;
    let is_allowed = |one: &Subscription| {
        let from = federate.allowed_from(one, instance, attribute);
        earliest = earliest.into_iter().chain(from).min();
        from.is_none_or(|from| from <= federation.now)
    };
    let subscriptions = (class, attribute);
    let is_now = distribution::any_subscription(federation, to, subscriptions, extent, is_allowed);
    earliest.filter(|_| !is_now)
}

/// Reflects the values of an update that a federate's rate allows by now, of the instance that has waited longest.
pub(crate) fn reflect_postponed(federation: &mut Federation) {
    let now = federation.now;
    let Some((_, to, instance)) = federation.postponed.pop_first() else { return };
    federation.spend(1);
    if !federation.joined_federate(to).is_some_and(Federate::is_staying) {
        return;
    }
    let federate = federation.federate_mut(to);
    let Some((message, attributes, len)) = federate.postponed.take_due(instance, now) else {
        return;
    };
    federate.charge.shrink(len);
    // Values of another update may be due as well.
    federation.postponed.insert((now, to, instance));
    let part = message.part(|one| attributes.contains(one));
    if let Some(part) = evaluate(federation, to, &part) {
        if is_received_now(federation.federate(to), part.stamp) {
            count_reflection(federation, to, instance, part.transportation);
        }
        dispatch(federation, part, &[to]);
    }
}

/// Groups values by their sending options, in the order of each group's first value. If all have the same, as almost
/// always, they are the one part.
fn parts(
    values: AttributeValues,
    send_options: impl Fn(AttributeHandle) -> SendOptions,
) -> (Option<Part>, Vec<Part>) {
    let Some(((first, _), others)) = values.split_first() else { return (None, Vec::new()) };
    let first = send_options(*first);
    if others.iter().all(|(attribute, _)| send_options(*attribute) == first) {
        return (Some((first, values)), Vec::new());
    }
    let groups = values.into_iter().map(|(one, value)| (send_options(one), (one, value)));
    (None, groups.collect::<Groups<_, _>>().into_iter().collect())
}

/// Returns the receivers of some of the values, grouped by what they receive, and those of all of them.
fn receivers(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    values: AttributeValues,
    (stamp, transportation, limits_rates): (Stamp, TransportationTypeHandle, bool),
    extent: &Extent,
) -> (Vec<Audience>, Option<Audience>) {
    let is_managed = federation.mom.is_some();
    let knowers = federation.instances[&handle].known_by();
    // Almost always, all of them receive all values.
    let (mut all, mut some) = (Vec::with_capacity(knowers.len()), Vec::<Audience>::new());
    // Reflections that the tables of their receivers must count.
    let mut uncounted = Vec::new();
    // Receivers with rate limits, and their place in `some`; `None` if they receive all values.
    let mut limited = Vec::new();
    for known in knowers.iter().filter(|one| one.federate != me) {
        let KnownBy { federate: receiver, class, traffic } = known;
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
        let place = if values.iter().all(|value| wants(&value)) {
            all.push(*receiver);
            None
        } else {
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
            Some(place)
        };
        if !is_managed
            && is_received_now(federate, stamp)
            && !traffic.reflections.count(transportation)
        {
            uncounted.push(*receiver);
        }
        let is_limited = limits_rates
            && (within.is_some()
                || subscribed.is_some_and(|all| all.values().any(|one| one.rate.is_some())));
        if is_limited {
            limited.push((*receiver, *class, place));
        }
    }
    for receiver in uncounted {
        count_reflection(federation, receiver, handle, transportation);
    }
    for (receiver, class, place) in limited {
        let values = place.map_or(&values, |place| &some[place].0);
        federation.note_reflected(receiver, class, handle, values);
    }
    (some, (!all.is_empty()).then_some((values, all)))
}

/// Whether a federate's subscriptions with regions, at the class it knows the instance as, receive an attribute that is
/// sent in this extent. If a time is given, their rate must also allow a reflection at that time.
///
/// Never inlined, so that what is done for each receiver in a federation without regions stays small enough to be.
#[inline(never)]
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
