//! Publishers are told whether anybody wants what they publish (clauses 5.14 to 5.17).
//!
//! Only active subscriptions of others count, to the published class or one above it. A federate is told
//! of changes: what it was last told is kept. While its switch is off it is told nothing, and when it turns the
//! switch on it is told how things are.

use std::collections::BTreeSet;

use hemiola_hla::{Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle, Switch};

use crate::federate::Activity;
use crate::federation::Federation;
use crate::input::Effect;

/// After somebody's subscriptions changed.
pub(crate) fn advise(federation: &mut Federation, out: &mut Vec<Effect>) {
    let all: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    for federate in all {
        advise_of_registration(federation, federate, out);
        advise_of_interactions(federation, federate, out);
    }
}

/// Tells a federate which of the classes that it publishes are wanted now, and which not any more.
pub(crate) fn advise_of_registration(
    federation: &mut Federation,
    me: FederateHandle,
    out: &mut Vec<Effect>,
) {
    let federate = federation.federate(me);
    let wanted: BTreeSet<ObjectClassHandle> =
        if federate.is_on(Switch::ObjectClassRelevanceAdvisory) {
            let classes = federate.published.classes.keys().copied();
            classes.filter(|class| is_class_wanted(federation, me, *class)).collect()
        } else {
            BTreeSet::new()
        };
    let before = &federate.advised.registration;
    for class in wanted.difference(before) {
        federation.tell(
            me,
            Callback::StartRegistrationForObjectClass { object_class: *class },
            out,
        );
    }
    if federate.is_on(Switch::ObjectClassRelevanceAdvisory) {
        let published = |class: &&ObjectClassHandle| federate.published.classes.contains_key(class);
        for class in before.difference(&wanted).filter(published) {
            let object_class = *class;
            federation.tell(me, Callback::StopRegistrationForObjectClass { object_class }, out);
        }
    }
    federation.federate_mut(me).advised.registration = wanted;
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

/// Tells a federate which of the interactions that it publishes are wanted now, and which not any more.
pub(crate) fn advise_of_interactions(
    federation: &mut Federation,
    me: FederateHandle,
    out: &mut Vec<Effect>,
) {
    let federate = federation.federate(me);
    let is_on = federate.is_on(Switch::InteractionRelevanceAdvisory);
    let wanted: BTreeSet<InteractionClassHandle> = if is_on {
        let classes = federate.published.interactions.iter().copied();
        classes.filter(|class| is_interaction_wanted(federation, me, *class)).collect()
    } else {
        BTreeSet::new()
    };
    let before = &federate.advised.interactions;
    for class in wanted.difference(before) {
        federation.tell(me, Callback::TurnInteractionsOn { interaction_class: *class }, out);
    }
    if is_on {
        for class in before.difference(&wanted) {
            federation.tell(me, Callback::TurnInteractionsOff { interaction_class: *class }, out);
        }
    }
    federation.federate_mut(me).advised.interactions = wanted;
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
