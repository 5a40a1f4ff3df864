//! Calls of clause 5, declaration management.

use super::calls;
use crate::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};

calls! {
    /// A call of clause 5, declaration management: publications and subscriptions.
    DeclarationCall, declaration_calls

    35 "5.2" PublishObjectClassAttributes "publishObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    36 "5.3" UnpublishObjectClass "unpublishObjectClass" { object_class: ObjectClassHandle }
        => Done [OwnershipAcquisitionPending ObjectClassNotDefined ..Active];
    37 "5.3" UnpublishObjectClassAttributes "unpublishObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
    } => Done [OwnershipAcquisitionPending AttributeNotDefined ObjectClassNotDefined ..Active];
    38 "5.4" PublishInteractionClass "publishInteractionClass" { interaction_class: InteractionClassHandle }
        => Done [InteractionClassNotDefined ..Active];
    39 "5.5" UnpublishInteractionClass "unpublishInteractionClass" {
        interaction_class: InteractionClassHandle,
    } => Done [InteractionClassNotDefined ..Active];
    40 "5.6" PublishObjectClassDirectedInteractions "publishObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle, interaction_classes: Vec<InteractionClassHandle>,
    } => Done [InteractionClassNotDefined ObjectClassNotDefined ..Active];
    41 "5.7" UnpublishObjectClassDirectedInteractions "unpublishObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle,
    } => Done [ObjectClassNotDefined ..Active];
    42 "5.7" UnpublishObjectClassDirectedInteractionsWithSet "unpublishObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle, interaction_classes: Vec<InteractionClassHandle>,
    } => Done [InteractionClassNotDefined ObjectClassNotDefined ..Active];
    43 "5.8" SubscribeObjectClassAttributes "subscribeObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    44 "5.8" SubscribeObjectClassAttributesWithRate "subscribeObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>, update_rate_designator: String,
    } => Done [AttributeNotDefined ObjectClassNotDefined InvalidUpdateRateDesignator ..Active];
    45 "5.8" SubscribeObjectClassAttributesPassively "subscribeObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    46 "5.8" SubscribeObjectClassAttributesPassivelyWithRate "subscribeObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>, update_rate_designator: String,
    } => Done [AttributeNotDefined ObjectClassNotDefined InvalidUpdateRateDesignator ..Active];
    47 "5.9" UnsubscribeObjectClass "unsubscribeObjectClass" { object_class: ObjectClassHandle }
        => Done [ObjectClassNotDefined ..Active];
    48 "5.9" UnsubscribeObjectClassAttributes "unsubscribeObjectClassAttributes" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    49 "5.10" SubscribeInteractionClass "subscribeInteractionClass" {
        interaction_class: InteractionClassHandle,
    } => Done [FederateServiceInvocationsAreBeingReportedViaMOM InteractionClassNotDefined ..Active];
    50 "5.10" SubscribeInteractionClassPassively "subscribeInteractionClass" {
        interaction_class: InteractionClassHandle,
    } => Done [FederateServiceInvocationsAreBeingReportedViaMOM InteractionClassNotDefined ..Active];
    51 "5.11" UnsubscribeInteractionClass "unsubscribeInteractionClass" {
        interaction_class: InteractionClassHandle,
    } => Done [InteractionClassNotDefined ..Active];
    52 "5.12" SubscribeObjectClassDirectedInteractions "subscribeObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle, interaction_classes: Vec<InteractionClassHandle>,
    } => Done [InteractionClassNotDefined ObjectClassNotDefined ..Active];
    53 "5.12" SubscribeObjectClassDirectedInteractionsUniversally "subscribeObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle, interaction_classes: Vec<InteractionClassHandle>,
    } => Done [InteractionClassNotDefined ObjectClassNotDefined ..Active];
    54 "5.13" UnsubscribeObjectClassDirectedInteractions "unsubscribeObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle,
    } => Done [ObjectClassNotDefined ..Active];
    55 "5.13" UnsubscribeObjectClassDirectedInteractionsWithSet "unsubscribeObjectClassDirectedInteractions" {
        object_class: ObjectClassHandle, interaction_classes: Vec<InteractionClassHandle>,
    } => Done [InteractionClassNotDefined ObjectClassNotDefined ..Active];
}
