//! Clause 5, declaration management.

mod advisory;
mod directed;
mod publication;
mod subscription;

use hemiola_hla::call::DeclarationCall;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, Refusal,
};

use super::Answer;
use crate::federate::{Activity, Reach};
use crate::federation::Federation;

pub(crate) use advisory::{
    advise, advise_of_interactions, advise_of_registration, check_invariants,
    class_subscriptions_changed, interaction_subscriptions_changed,
};
use publication::{
    publish_interaction_class, publish_object_class_attributes, unpublish_interaction_class,
    unpublish_object_class,
};
pub(crate) use subscription::{
    REPORT_OF_CALLS, forget, is_reported_to, rate_of, withdraw_from_class,
    withdraw_from_interaction,
};
use subscription::{
    subscribe, subscribe_interaction_class, unsubscribe, unsubscribe_interaction_class,
};

/// Dispatches a call of this clause.
pub(crate) fn call(
    federation: &mut Federation,
    me: FederateHandle,
    call: DeclarationCall,
) -> Answer {
    use DeclarationCall as C;
    match call {
        C::PublishObjectClassAttributes { object_class, attributes } => {
            publish_object_class_attributes(federation, me, object_class, &attributes)
        }
        C::UnpublishObjectClass { object_class } => {
            unpublish_object_class(federation, me, object_class, None)
        }
        C::UnpublishObjectClassAttributes { object_class, attributes } => {
            unpublish_object_class(federation, me, object_class, Some(&attributes))
        }
        C::PublishInteractionClass { interaction_class } => {
            publish_interaction_class(federation, me, interaction_class)
        }
        C::UnpublishInteractionClass { interaction_class } => {
            unpublish_interaction_class(federation, me, interaction_class)
        }
        C::PublishObjectClassDirectedInteractions { object_class, interaction_classes } => {
            directed::publish(federation, me, object_class, &interaction_classes)
        }
        C::UnpublishObjectClassDirectedInteractions { object_class } => {
            directed::unpublish(federation, me, object_class, None)
        }
        C::UnpublishObjectClassDirectedInteractionsWithSet {
            object_class,
            interaction_classes,
        } => directed::unpublish(federation, me, object_class, Some(&interaction_classes)),
        C::SubscribeObjectClassAttributes { object_class, attributes } => {
            subscribe(federation, me, object_class, &attributes, Activity::Active, None)
        }
        C::SubscribeObjectClassAttributesWithRate {
            object_class,
            attributes,
            update_rate_designator: rate,
        } => subscribe(federation, me, object_class, &attributes, Activity::Active, Some(&rate)),
        C::SubscribeObjectClassAttributesPassively { object_class, attributes } => {
            subscribe(federation, me, object_class, &attributes, Activity::Passive, None)
        }
        C::SubscribeObjectClassAttributesPassivelyWithRate {
            object_class,
            attributes,
            update_rate_designator: rate,
        } => subscribe(federation, me, object_class, &attributes, Activity::Passive, Some(&rate)),
        C::UnsubscribeObjectClass { object_class } => {
            unsubscribe(federation, me, object_class, None)
        }
        C::UnsubscribeObjectClassAttributes { object_class, attributes } => {
            unsubscribe(federation, me, object_class, Some(&attributes))
        }
        C::SubscribeInteractionClass { interaction_class } => {
            subscribe_interaction_class(federation, me, interaction_class, Activity::Active)
        }
        C::SubscribeInteractionClassPassively { interaction_class } => {
            subscribe_interaction_class(federation, me, interaction_class, Activity::Passive)
        }
        C::UnsubscribeInteractionClass { interaction_class } => {
            unsubscribe_interaction_class(federation, me, interaction_class)
        }
        C::SubscribeObjectClassDirectedInteractions { object_class, interaction_classes } => {
            directed::subscribe(federation, me, object_class, &interaction_classes, Reach::Owned)
        }
        C::SubscribeObjectClassDirectedInteractionsUniversally {
            object_class,
            interaction_classes,
        } => directed::subscribe(
            federation,
            me,
            object_class,
            &interaction_classes,
            Reach::Universal,
        ),
        C::UnsubscribeObjectClassDirectedInteractions { object_class } => {
            directed::unsubscribe(federation, me, object_class, None)
        }
        C::UnsubscribeObjectClassDirectedInteractionsWithSet {
            object_class,
            interaction_classes,
        } => directed::unsubscribe(federation, me, object_class, Some(&interaction_classes)),
    }
}

/// Checks that the class is defined and has these attributes.
pub(crate) fn defined(
    federation: &Federation,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
) -> Result<(), Refusal> {
    let model = &federation.model;
    let Some(definition) = model.object_class(class) else {
        return Err(Exception::ObjectClassNotDefined.because(class.to_string()));
    };
    let unknown = attributes.iter().find(|one| !model.has_attribute(class, **one));
    unknown.map_or(Ok(()), |one| {
        Err(Exception::AttributeNotDefined.because(format!("{one} of {}", definition.name)))
    })
}

/// Checks that the interaction class is defined.
pub(crate) fn interaction_defined(
    federation: &Federation,
    class: InteractionClassHandle,
) -> Result<(), Refusal> {
    match federation.model.interaction_class(class) {
        Some(_) => Ok(()),
        None => Err(Exception::InteractionClassNotDefined.because(class.to_string())),
    }
}
