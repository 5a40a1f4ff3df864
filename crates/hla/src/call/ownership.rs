//! Calls of clause 7, ownership management.

use super::calls;
use crate::data::Data;
use crate::handle::{AttributeHandle, ObjectInstanceHandle};

calls! {
    /// A call of clause 7, ownership management: who may update which attribute of an instance.
    OwnershipCall, ownership_calls

    78 "7.2" UnconditionalAttributeOwnershipDivestiture "unconditionalAttributeOwnershipDivestiture" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Done [AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active];
    79 "7.3" NegotiatedAttributeOwnershipDivestiture "negotiatedAttributeOwnershipDivestiture" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Done [
        AttributeAlreadyBeingDivested AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active
    ];
    80 "7.6" ConfirmDivestiture "confirmDivestiture" {
        object_instance: ObjectInstanceHandle, confirmed_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    } => Done [
        NoAcquisitionPending AttributeDivestitureWasNotRequested AttributeNotOwned AttributeNotDefined
        ObjectInstanceNotKnown ..Active
    ];
    81 "7.8" AttributeOwnershipAcquisition "attributeOwnershipAcquisition" {
        object_instance: ObjectInstanceHandle, desired_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    } => Done [
        AttributeNotPublished ObjectClassNotPublished FederateOwnsAttributes AttributeNotDefined
        ObjectInstanceNotKnown ..Active
    ];
    82 "7.9" AttributeOwnershipAcquisitionIfAvailable "attributeOwnershipAcquisitionIfAvailable" {
        object_instance: ObjectInstanceHandle, desired_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    } => Done [
        AttributeAlreadyBeingAcquired AttributeNotPublished ObjectClassNotPublished FederateOwnsAttributes
        AttributeNotDefined ObjectInstanceNotKnown ..Active
    ];
    83 "7.12" AttributeOwnershipReleaseDenied "attributeOwnershipReleaseDenied" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Done [AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active];
    84 "7.13" AttributeOwnershipDivestitureIfWanted "attributeOwnershipDivestitureIfWanted" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Attributes [AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active];
    85 "7.14" CancelNegotiatedAttributeOwnershipDivestiture "cancelNegotiatedAttributeOwnershipDivestiture" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    } => Done [
        AttributeDivestitureWasNotRequested AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown
        ..Active
    ];
    86 "7.15" CancelAttributeOwnershipAcquisition "cancelAttributeOwnershipAcquisition" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    } => Done [
        AttributeAcquisitionWasNotRequested AttributeAlreadyOwned AttributeNotDefined ObjectInstanceNotKnown
        ..Active
    ];
    87 "7.17" QueryAttributeOwnership "queryAttributeOwnership" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    } => Done [AttributeNotDefined ObjectInstanceNotKnown ..Active];
    88 "7.19" IsAttributeOwnedByFederate "isAttributeOwnedByFederate" {
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    } => Flag [AttributeNotDefined ObjectInstanceNotKnown ..Active];
}
