//! Clause 5, declaration management.

use hemiola_hla::call::DeclarationCall;
use hemiola_hla::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};

use super::services;

services! {
    DeclarationCall, send:
    "5.2" PublishObjectClassAttributes: publish_object_class_attributes(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    );
    "5.3" UnpublishObjectClass: unpublish_object_class(object_class: ObjectClassHandle);
    "5.3" UnpublishObjectClassAttributes: unpublish_object_class_attributes(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    );
    "5.4" PublishInteractionClass: publish_interaction_class(interaction_class: InteractionClassHandle);
    "5.5" UnpublishInteractionClass: unpublish_interaction_class(interaction_class: InteractionClassHandle);
    "5.6" PublishObjectClassDirectedInteractions: publish_object_class_directed_interactions(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    );
    "5.7" UnpublishObjectClassDirectedInteractions: unpublish_object_class_directed_interactions(
        object_class: ObjectClassHandle,
    );
    "5.7" UnpublishObjectClassDirectedInteractionsWithSet: unpublish_object_class_directed_interactions_with_set(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    );
    "5.8" SubscribeObjectClassAttributes: subscribe_object_class_attributes(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    );
    "5.8" SubscribeObjectClassAttributesWithRate: subscribe_object_class_attributes_with_rate(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], update_rate_designator: &str,
    );
    "5.8" SubscribeObjectClassAttributesPassively: subscribe_object_class_attributes_passively(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    );
    "5.8" SubscribeObjectClassAttributesPassivelyWithRate: subscribe_object_class_attributes_passively_with_rate(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], update_rate_designator: &str,
    );
    "5.9" UnsubscribeObjectClass: unsubscribe_object_class(object_class: ObjectClassHandle);
    "5.9" UnsubscribeObjectClassAttributes: unsubscribe_object_class_attributes(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    );
    "5.10" SubscribeInteractionClass: subscribe_interaction_class(interaction_class: InteractionClassHandle);
    "5.10" SubscribeInteractionClassPassively: subscribe_interaction_class_passively(
        interaction_class: InteractionClassHandle,
    );
    "5.11" UnsubscribeInteractionClass: unsubscribe_interaction_class(interaction_class: InteractionClassHandle);
    "5.12" SubscribeObjectClassDirectedInteractions: subscribe_object_class_directed_interactions(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    );
    "5.12" SubscribeObjectClassDirectedInteractionsUniversally:
        subscribe_object_class_directed_interactions_universally(
            object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
        );
    "5.13" UnsubscribeObjectClassDirectedInteractions: unsubscribe_object_class_directed_interactions(
        object_class: ObjectClassHandle,
    );
    "5.13" UnsubscribeObjectClassDirectedInteractionsWithSet: unsubscribe_object_class_directed_interactions_with_set(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    );
}
