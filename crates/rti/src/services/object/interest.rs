//! What a federate wants of a message, as things are when it could be delivered: the switch
//! `delaySubscriptionEvaluation` (clause 10.53).
//!
//! The switch says when the RTI looks at subscriptions to filter messages, with or without time stamps. It is set by
//! the object model that a federation is created with, and stays. Off, a message is for who was subscribed when it was
//! sent, and as that federate was. On, it waits for everybody that cannot have it yet, and what comes of it is
//! seen when it could be delivered: who has unsubscribed since gets nothing, who has subscribed since gets it, also if
//! it came to know the instance since. Who may have the message at once is looked at at once, as always; who joins
//! after it was sent does not get it.
//!
//! A federate whose request stops at messages can only stop at one that it wants. A message that it does not want
//! when it would be granted the time of that message is over for it, and its request goes on to the next. Until then
//! the message counts: in LITS, and for how far others may go, because the federate may still come to want it.

use hemiola_hla::{AttributeHandle, FederateHandle, InteractionClassHandle};

use super::{interaction, update};
use crate::federation::Federation;
use crate::message::{Body, Message};

/// Does a federate want anything of this? At what rate does not matter.
pub(crate) fn is_wanted(federation: &Federation, to: FederateHandle, body: &Body) -> bool {
    let federate = federation.federate(to);
    match body {
        Body::Reflect { instance, values } => {
            let class = federation.instances.get(instance).and_then(|one| one.known_as(to));
            let subscribed = class.and_then(|class| federate.subscribed.classes.get(&class));
            let Some(subscribed) = subscribed else { return false };
            values.iter().any(|(attribute, _)| subscribed.contains_key(attribute))
        }
        Body::Interaction { class, .. } => received_as(federation, to, *class).is_some(),
        Body::Directed { class, instance, .. } => {
            interaction::directed_as(federation, to, *instance, *class).is_some()
        }
        Body::Remove { .. } => true,
    }
}

/// What a federate gets of a message that it is about to get; `None` if it does not want it.
pub(crate) fn evaluate(
    federation: &mut Federation,
    to: FederateHandle,
    message: &Message,
) -> Option<Message> {
    let body = match &message.body {
        Body::Reflect { instance, values } => {
            let class = federation.instances.get(instance)?.known_as(to)?;
            let limits_rates = update::limits_rates(federation, message);
            let federate = federation.federate(to);
            let subscribed = federate.subscribed.classes.get(&class)?;
            let wants = |attribute: AttributeHandle| {
                subscribed.get(&attribute).is_some_and(|one| {
                    let rate = one.rate.as_ref().filter(|_| limits_rates);
                    let is_due =
                        |hertz| update::is_due(federate, federation, *instance, attribute, hertz);
                    rate.is_none_or(|rate| is_due(rate.hertz))
                })
            };
            let wanted = values.iter().filter(|(attribute, _)| wants(*attribute));
            let values: Vec<_> = wanted.cloned().collect();
            if values.is_empty() {
                return None;
            }
            if limits_rates {
                update::note(federation, to, class, *instance, &values);
            }
            Body::Reflect { instance: *instance, values }
        }
        Body::Interaction { class, values } => {
            let received = received_as(federation, to, *class)?;
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

/// The nearest class that a federate subscribes to.
fn received_as(
    federation: &Federation,
    to: FederateHandle,
    class: InteractionClassHandle,
) -> Option<InteractionClassHandle> {
    let subscribed = &federation.federate(to).subscribed.interactions;
    federation.interaction_class_line(class).find(|one| subscribed.contains_key(one))
}
