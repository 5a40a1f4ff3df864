//! Advisories to publishers on whether other federates subscribe (clauses 5.14 to 5.17).
//!
//! Only active subscriptions of other federates count, at the published class or a superclass. Advisories report
//! changes: the last report to each federate is kept. A federate whose switch is off receives no advisories; when it
//! turns the switch on, it receives the current state.

use std::collections::BTreeSet;

use hemiola_hla::{Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle, Switch};

use crate::federate::Activity;
use crate::federation::Federation;
use crate::services::distribution;

/// Updates the advisories of a federate after another has lost its subscriptions.
pub(crate) fn advise(federation: &mut Federation, federate: FederateHandle) {
    advise_of_registration(federation, federate);
    advise_of_interactions(federation, federate);
}

/// Updates the advisories of all federates after subscriptions to interactions have changed.
pub(crate) fn interaction_subscriptions_changed(federation: &mut Federation) {
    let all: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    all.into_iter().for_each(|federate| advise_of_interactions(federation, federate));
}

/// Updates the advisories of all federates after subscriptions to an object class have changed. This concerns only
/// publications of the class and its subclasses.
pub(crate) fn class_subscriptions_changed(federation: &mut Federation, class: ObjectClassHandle) {
    let advised = federation.federates().filter(|(_, federate)| {
        federate.is_on(Switch::ObjectClassRelevanceAdvisory)
            && !federate.published.classes.is_empty()
    });
    let advised: Vec<FederateHandle> = advised.map(|(federate, _)| federate).collect();
    for federate in advised {
        let published = &federation.federate(federate).published.classes;
        let below = federation.entries_below(published, class);
        let below: Vec<ObjectClassHandle> = below.into_iter().map(|(one, _)| one).collect();
        let (mut starts, mut stops) = (Vec::new(), Vec::new());
        for object_class in below {
            let is_wanted = is_class_wanted(federation, federate, object_class);
            let advised = &mut federation.federate_mut(federate).advised.registration;
            if is_wanted && advised.insert(object_class) {
                starts.push(Callback::StartRegistrationForObjectClass { object_class });
            } else if !is_wanted && advised.remove(&object_class) {
                stops.push(Callback::StopRegistrationForObjectClass { object_class });
            }
        }
        for callback in starts.into_iter().chain(stops) {
            federation.send_callback(federate, callback);
        }
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
            let subscriptions = federation.federate(*other).subscribed.classes.get(&above);
            let is_wanted = subscriptions.into_iter().flatten().any(|(attribute, subscription)| {
                subscription.activity == Activity::Active && published.contains(attribute)
            });
            let is_published = |attribute| published.contains(&attribute);
            is_wanted || distribution::is_wanted_actively(federation, *other, above, is_published)
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
                || distribution::is_used_actively(federation, *other, above)
        })
    })
}

/// Checks that each federate's registration advisories report the current state, unless a job is about to update them.
pub(crate) fn check_invariants(federation: &Federation) {
    if federation.is_advising() {
        return;
    }
    for (handle, federate) in federation.federates() {
        let is_on = federate.is_on(Switch::ObjectClassRelevanceAdvisory);
        let classes = federate.published.classes.keys().copied().filter(|_| is_on);
        let wanted = classes.filter(|class| is_class_wanted(federation, handle, *class));
        assert_eq!(federate.advised.registration, wanted.collect::<BTreeSet<_>>());
    }
}
