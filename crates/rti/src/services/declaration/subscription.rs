//! Subscriptions (clauses 5.8 to 5.11).

use std::collections::BTreeMap;

use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, Refusal,
    Reply, Switch,
};

use super::{
    Answer, class_subscriptions_changed, defined, interaction_defined,
    interaction_subscriptions_changed,
};
use crate::federate::{Activity, Rate, Subscription, table};
use crate::federation::Federation;
use crate::memory::has_room;
use crate::services::{distribution, object};

/// The interaction that reports service invocations. A federate whose own calls are reported may not subscribe to it,
/// since each report would cause another.
pub(crate) const REPORT_OF_CALLS: &str =
    "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";

/// Clause 5.8, all forms. A subscription adds to earlier ones; for attributes already subscribed it replaces activity
/// and rate.
pub(super) fn subscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
    activity: Activity,
    rate: Option<&str>,
) -> Answer {
    defined(federation, class, attributes)?;
    let rate = rate.map_or(Ok(None), |designator| rate_of(federation, designator))?;
    if attributes.is_empty() {
        return Ok(Reply::Done);
    }
    has_room(federation, me, table::subscribed(Some(&BTreeMap::new())))?;
    let federate = federation.federate_mut(me);
    let before = table::subscribed(federate.subscribed.classes.get(&class));
    let entries = federate.subscribed.classes.entry(class).or_default();
    for attribute in attributes {
        entries.insert(*attribute, Subscription { activity, rate: rate.clone() });
    }
    federate.charge.change(before, table::subscribed(Some(entries)));
    federation.class_subscribers.entry(class).or_default().insert(me);
    class_subscriptions_changed(federation, class);
    object::interest_changed(federation, me, class);
    Ok(Reply::Done)
}

/// Returns the rate of a designator; `None` if it is unlimited.
pub(crate) fn rate_of(
    federation: &mut Federation,
    designator: &str,
) -> Result<Option<Rate>, Refusal> {
    if designator.is_empty() {
        return Ok(None);
    }
    let refusal = || Exception::InvalidUpdateRateDesignator.because(designator);
    let hertz = *federation.model.update_rates().get(designator).ok_or_else(refusal)?;
    if hertz <= 0.0 {
        return Ok(None);
    }
    let designator = federation.rate_name(designator);
    Ok(Some(Rate { designator, hertz }))
}

/// Clause 5.9, both forms: all attributes or some.
pub(super) fn unsubscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: Option<&[AttributeHandle]>,
) -> Answer {
    defined(federation, class, attributes.unwrap_or_default())?;
    let federate = federation.federate_mut(me);
    let subscribed = &mut federate.subscribed.classes;
    let Some(entries) = subscribed.get_mut(&class) else { return Ok(Reply::Done) };
    let before = table::subscribed(Some(entries));
    match attributes {
        Some(attributes) => entries.retain(|one, _| !attributes.contains(one)),
        None => entries.clear(),
    }
    if entries.is_empty() {
        subscribed.remove(&class);
        federate.charge.shrink(before);
        withdraw_from_class(federation, class, me);
    } else {
        federate.charge.change(before, table::subscribed(Some(entries)));
    }
    class_subscriptions_changed(federation, class);
    object::interest_changed(federation, me, class);
    Ok(Reply::Done)
}

/// Clause 5.10, both forms.
pub(super) fn subscribe_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    activity: Activity,
) -> Answer {
    interaction_defined(federation, class)?;
    if is_reported_to(federation, me, class) {
        return Err(Exception::FederateServiceInvocationsAreBeingReportedViaMOM.into());
    }
    has_room(federation, me, table::INTERACTION)?;
    let federate = federation.federate_mut(me);
    if federate.subscribed.interactions.insert(class, activity).is_none() {
        federate.charge.grow(table::INTERACTION);
    }
    federation.interaction_subscribers.entry(class).or_default().insert(me);
    federation.forget_receivers();
    interaction_subscriptions_changed(federation);
    Ok(Reply::Done)
}

/// Whether an interaction class reports the calls of this federate, which it must not receive itself.
pub(crate) fn is_reported_to(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> bool {
    let is_report = |name: &str| name == REPORT_OF_CALLS;
    federation.federate(me).is_on(Switch::ServiceReporting)
        && federation.model.interaction_class(class).is_some_and(|one| is_report(&one.name))
}

/// Clause 5.11.
pub(super) fn unsubscribe_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> Answer {
    interaction_defined(federation, class)?;
    let federate = federation.federate_mut(me);
    if federate.subscribed.interactions.remove(&class).is_some() {
        federate.charge.shrink(table::INTERACTION);
    }
    withdraw_from_interaction(federation, class, me);
    interaction_subscriptions_changed(federation);
    Ok(Reply::Done)
}

/// Removes a federate from all subscriber lists.
pub(crate) fn forget(federation: &mut Federation, me: FederateHandle) {
    let federate = federation.federate_mut(me);
    let before = federate.subscribed.len();
    let subscribed = std::mem::take(&mut federate.subscribed);
    federate.charge.shrink(before);
    for class in subscribed.classes.into_keys() {
        withdraw_from_class(federation, class, me);
    }
    for class in subscribed.interactions.into_keys() {
        withdraw_from_interaction(federation, class, me);
    }
    distribution::forget(federation, me);
}

/// Removes a federate from a class's subscribers, unless it still subscribes.
pub(crate) fn withdraw_from_class(
    federation: &mut Federation,
    class: ObjectClassHandle,
    me: FederateHandle,
) {
    if !distribution::is_subscribed(federation, me, class) {
        withdraw(&mut federation.class_subscribers, class, me);
    }
}

/// Removes a federate from an interaction class's subscribers, unless it still subscribes.
pub(crate) fn withdraw_from_interaction(
    federation: &mut Federation,
    class: InteractionClassHandle,
    me: FederateHandle,
) {
    if !distribution::is_interaction_subscribed(federation, me, class) {
        withdraw(&mut federation.interaction_subscribers, class, me);
    }
    federation.forget_receivers();
}

type Subscribers<C> = std::collections::BTreeMap<C, std::collections::BTreeSet<FederateHandle>>;

/// Removes a federate from a class's subscribers, and the list with the last one.
fn withdraw<C: Ord>(subscribers: &mut Subscribers<C>, class: C, me: FederateHandle) {
    if let Some(of_class) = subscribers.get_mut(&class) {
        of_class.remove(&me);
        if of_class.is_empty() {
            subscribers.remove(&class);
        }
    }
}
