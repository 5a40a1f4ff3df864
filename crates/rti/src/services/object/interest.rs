//! Evaluating subscriptions at delivery: the switch `delaySubscriptionEvaluation` (clause 10.53).
//!
//! The switch decides when subscriptions filter messages, with or without time stamps. The object model that creates
//! the federation sets it for good.
//!
//! Off: a message is for the federates that are subscribed when it is sent, by their subscriptions at that time.
//!
//! On: a message is queued for every federate that cannot receive it yet and is filtered when it could be delivered. A
//! federate that has unsubscribed since gets nothing; a federate that has subscribed since gets it, even if it has
//! discovered the instance since. Federates that can receive the message now are evaluated now. A federate that joins
//! later does not get it.
//!
//! A request that stops at messages stops only at messages its federate wants. At the moment when it would be granted
//! the time of an unwanted message, that message is dropped and the request continues. Until then the message counts
//! for LITS and for other federates' GALT, because the federate may still subscribe.

use hemiola_hla::{FederateHandle, InteractionClassHandle};

use super::{interaction, update};
use crate::federation::Federation;
use crate::message::{Body, Message};
use crate::regions::Extent;
use crate::services::distribution;

/// Returns whether a federate subscribes to any part of a message, whatever the rate.
pub(crate) fn is_wanted(federation: &Federation, to: FederateHandle, message: &Message) -> bool {
    let Message { body, extent, .. } = message;
    match body {
        Body::Reflect { instance, values } => {
            let class = federation.instances.get(instance).and_then(|one| one.known_as(to));
            let is_received = |class, attribute| {
                let subscriptions = (class, attribute);
                distribution::any_subscription(federation, to, subscriptions, extent, |_| true)
            };
            class.is_some_and(|class| values.iter().any(|(one, _)| is_received(class, *one)))
        }
        Body::Interaction { class, .. } => received_as(federation, to, *class, extent).is_some(),
        Body::Directed { class, instance, .. } => {
            interaction::directed_as(federation, to, *instance, *class).is_some()
        }
        Body::Remove { .. } => true,
    }
}

/// Returns the part of a message that a federate subscribes to, for delivery now; `None` if there is none.
pub(crate) fn evaluate(
    federation: &mut Federation,
    to: FederateHandle,
    message: &Message,
) -> Option<Message> {
    let body = match &message.body {
        Body::Reflect { instance, values } => {
            let class = federation.instances.get(instance)?.known_as(to)?;
            let Message { stamp, transportation, .. } = *message;
            let limits_rates = update::limits_rates(federation, stamp, transportation);
            if federation.has_rates() {
                update::postpone(federation, (to, class), message, limits_rates);
            }
            let rates_at = limits_rates.then_some(federation.now);
            let federate = federation.federate(to);
            let wanted = values.iter().filter(|(attribute, _)| {
                let subscriptions = (class, *attribute);
                let allows = |one: &_| federate.allows(one, *instance, *attribute, rates_at);
                let extent = &message.extent;
                distribution::any_subscription(federation, to, subscriptions, extent, allows)
            });
            let values: Vec<_> = wanted.cloned().collect();
            if values.is_empty() {
                return None;
            }
            if rates_at.is_some() {
                federation.note_reflected(to, class, *instance, &values);
            }
            Body::Reflect { instance: *instance, values }
        }
        Body::Interaction { class, values } => {
            let received = received_as(federation, to, *class, &message.extent)?;
            let values = interaction::values_of(federation, *class, received, values);
            Body::Interaction { class: received, values }
        }
        Body::Directed { class, instance, values } => {
            let received = interaction::directed_as(federation, to, *instance, *class)?;
            let values = interaction::values_of(federation, *class, received, values);
            Body::Directed { class: received, instance: *instance, values }
        }
        body @ Body::Remove { .. } => body.clone(),
    };
    Some(message.with(body))
}

/// Returns the nearest class that a federate subscribes to, if it receives there what is sent in this extent.
fn received_as(
    federation: &Federation,
    to: FederateHandle,
    class: InteractionClassHandle,
    extent: &Extent,
) -> Option<InteractionClassHandle> {
    let is_subscribed = |one: &_| distribution::is_interaction_subscribed(federation, to, *one);
    let nearest = federation.interaction_class_line(class).find(is_subscribed)?;
    distribution::receives(federation, to, nearest, extent).then_some(nearest)
}
