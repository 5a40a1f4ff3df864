//! Clause 5, declaration management.

use hemiola_hla::call::DeclarationCall;
use hemiola_hla::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};

use super::{list, services};

services! {
    "5.2" publish_object_class_attributes(object_class: ObjectClassHandle, attributes: &[AttributeHandle])
        = DeclarationCall::PublishObjectClassAttributes { object_class, attributes: list(attributes) };
    "5.3" unpublish_object_class(object_class: ObjectClassHandle)
        = DeclarationCall::UnpublishObjectClass { object_class };
    "5.3" unpublish_object_class_attributes(object_class: ObjectClassHandle, attributes: &[AttributeHandle])
        = DeclarationCall::UnpublishObjectClassAttributes { object_class, attributes: list(attributes) };
    "5.4" publish_interaction_class(interaction_class: InteractionClassHandle)
        = DeclarationCall::PublishInteractionClass { interaction_class };
    "5.5" unpublish_interaction_class(interaction_class: InteractionClassHandle)
        = DeclarationCall::UnpublishInteractionClass { interaction_class };
    "5.6" publish_object_class_directed_interactions(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    ) = DeclarationCall::PublishObjectClassDirectedInteractions {
        object_class,
        interaction_classes: list(interaction_classes),
    };
    "5.7" unpublish_object_class_directed_interactions(object_class: ObjectClassHandle)
        = DeclarationCall::UnpublishObjectClassDirectedInteractions { object_class };
    "5.7" unpublish_object_class_directed_interactions_with_set(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    ) = DeclarationCall::UnpublishObjectClassDirectedInteractionsWithSet {
        object_class,
        interaction_classes: list(interaction_classes),
    };
    "5.8" subscribe_object_class_attributes(object_class: ObjectClassHandle, attributes: &[AttributeHandle])
        = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes: list(attributes) };
    "5.8" subscribe_object_class_attributes_with_rate(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], update_rate_designator: &str,
    ) = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class,
        attributes: list(attributes),
        update_rate_designator: update_rate_designator.to_owned(),
    };
    "5.8" subscribe_object_class_attributes_passively(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle],
    ) = DeclarationCall::SubscribeObjectClassAttributesPassively {
        object_class,
        attributes: list(attributes),
    };
    "5.8" subscribe_object_class_attributes_passively_with_rate(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], update_rate_designator: &str,
    ) = DeclarationCall::SubscribeObjectClassAttributesPassivelyWithRate {
        object_class,
        attributes: list(attributes),
        update_rate_designator: update_rate_designator.to_owned(),
    };
    "5.9" unsubscribe_object_class(object_class: ObjectClassHandle)
        = DeclarationCall::UnsubscribeObjectClass { object_class };
    "5.9" unsubscribe_object_class_attributes(object_class: ObjectClassHandle, attributes: &[AttributeHandle])
        = DeclarationCall::UnsubscribeObjectClassAttributes { object_class, attributes: list(attributes) };
    "5.10" subscribe_interaction_class(interaction_class: InteractionClassHandle)
        = DeclarationCall::SubscribeInteractionClass { interaction_class };
    "5.10" subscribe_interaction_class_passively(interaction_class: InteractionClassHandle)
        = DeclarationCall::SubscribeInteractionClassPassively { interaction_class };
    "5.11" unsubscribe_interaction_class(interaction_class: InteractionClassHandle)
        = DeclarationCall::UnsubscribeInteractionClass { interaction_class };
    "5.12" subscribe_object_class_directed_interactions(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    ) = DeclarationCall::SubscribeObjectClassDirectedInteractions {
        object_class,
        interaction_classes: list(interaction_classes),
    };
    "5.12" subscribe_object_class_directed_interactions_universally(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    ) = DeclarationCall::SubscribeObjectClassDirectedInteractionsUniversally {
        object_class,
        interaction_classes: list(interaction_classes),
    };
    "5.13" unsubscribe_object_class_directed_interactions(object_class: ObjectClassHandle)
        = DeclarationCall::UnsubscribeObjectClassDirectedInteractions { object_class };
    "5.13" unsubscribe_object_class_directed_interactions_with_set(
        object_class: ObjectClassHandle, interaction_classes: &[InteractionClassHandle],
    ) = DeclarationCall::UnsubscribeObjectClassDirectedInteractionsWithSet {
        object_class,
        interaction_classes: list(interaction_classes),
    };
}
