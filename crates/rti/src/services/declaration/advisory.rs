//! Advisories to publishers on whether other federates subscribe (clauses 5.14 to 5.17).
//!
//! Only active subscriptions of other federates count, at the published class or a superclass. Advisories report
//! changes: the last report to each federate is kept. A federate whose switch is off receives no advisories; when it
//! turns the switch on, it receives the current state.

use std::collections::BTreeSet;

use hemiola_hla::{Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle, Switch};

use crate::federate::Activity;
use crate::federation::Federation;

/// Updates the advisories of all federates after subscriptions have changed.
pub(crate) fn advise(federation: &mut Federation) {
    let all: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    for federate in all {
        advise_of_registration(federation, federate);
        advise_of_interactions(federation, federate);
    }
}

/// Tells a federate which of its published classes have become wanted and which no longer are.
pub(crate) fn advise_of_registration(federation: &mut Federation, me: FederateHandle) {
    let federate = federation.federate(me);
    let is_on = federate.is_on(Switch::ObjectClassRelevanceAdvisory);
    let classes = federate.published.classes.keys().copied().filter(|_| is_on);
    let wanted: BTreeSet<ObjectClassHandle> =
        classes.filter(|class| is_class_wanted(federation, me, *class)).collect();
    let federate = federation.federate_mut(me);
    let before = std::mem::replace(&mut federate.advised.registration, wanted.clone());
    for object_class in wanted.difference(&before).copied() {
        federation.send_callback(me, Callback::StartRegistrationForObjectClass { object_class });
    }
    for object_class in before.difference(&wanted).copied().filter(|_| is_on) {
        if federation.federate(me).published.classes.contains_key(&object_class) {
            federation.send_callback(me, Callback::StopRegistrationForObjectClass { object_class });
        }
    }
}

fn is_class_wanted(federation: &Federation, me: FederateHandle, class: ObjectClassHandle) -> bool {
    let published = &federation.federate(me).published.classes[&class];
    federation.object_class_line(class).any(|above| {
        let subscribers = federation.class_subscribers.get(&above).into_iter().flatten();
        subscribers.filter(|other| **other != me).any(|other| {
            let subscriptions = &federation.federate(*other).subscribed.classes[&above];
            subscriptions.iter().any(|(attribute, subscription)| {
                subscription.activity == Activity::Active && published.contains(attribute)
            })
        })
    })
}

/// Tells a federate which of its published interactions have become wanted and which no longer are.
pub(crate) fn advise_of_interactions(federation: &mut Federation, me: FederateHandle) {
    let federate = federation.federate(me);
    let is_on = federate.is_on(Switch::InteractionRelevanceAdvisory);
    let classes = federate.published.interactions.iter().copied().filter(|_| is_on);
    let wanted: BTreeSet<InteractionClassHandle> =
        classes.filter(|class| is_interaction_wanted(federation, me, *class)).collect();
    let federate = federation.federate_mut(me);
    let before = std::mem::replace(&mut federate.advised.interactions, wanted.clone());
    for interaction_class in wanted.difference(&before).copied() {
        federation.send_callback(me, Callback::TurnInteractionsOn { interaction_class });
    }
    for interaction_class in before.difference(&wanted).copied().filter(|_| is_on) {
        federation.send_callback(me, Callback::TurnInteractionsOff { interaction_class });
    }
}

fn is_interaction_wanted(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> bool {
    federation.interaction_class_line(class).any(|above| {
        let subscribers = federation.interaction_subscribers.get(&above).into_iter().flatten();
        subscribers.filter(|other| **other != me).any(|other| {
            let subscribed = &federation.federate(*other).subscribed.interactions;
            subscribed.get(&above) == Some(&Activity::Active)
        })
    })
}
