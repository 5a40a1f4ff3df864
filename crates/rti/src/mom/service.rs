//! Interactions that make a federate invoke a service (clause 11.4): the service itself carries them out, with its
//! preconditions and callbacks.

use hemiola_hla::call::{
    DeclarationCall as D, FederationCall as F, ObjectCall as O, OwnershipCall as W, TimeCall as T,
};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    Element, HLAboolean, HLAinteger32BE, HLAlogicalTime, HLAopaqueData, HLAtimeInterval,
    HLAunicodeString, HLAvariableArray,
};
use hemiola_hla::{Call, FederateHandle, OrderType, ResignAction, TransportationTypeHandle};

use super::observe;
use super::parameters::{Fault, Parameters};
use crate::federate::Edition;
use crate::federation::Federation;
use crate::services::federation;

/// Invokes a service for a federate. Returns `false` if no interaction has this name.
pub(super) fn invoke(
    federation: &mut Federation,
    sender: FederateHandle,
    service: &str,
    parameters: &Parameters<'_>,
) -> Result<bool, Fault> {
    let federate = parameters.federate(federation)?;
    let edition = federation.joined_federate(sender).map_or(Edition::Hla4, |one| one.edition);
    if service == "HLAresignFederationExecution" {
        let action = resign_action(parameters, "HLAresignAction", edition)?;
        federation::resign_for(federation, federate, action)?;
        return Ok(true);
    }
    let transportation = || transportation(federation, parameters);
    let Some(call) = call(service, parameters, edition, transportation)? else { return Ok(false) };
    observe(federation, federate, call)?;
    // The job that would answer the call answers nobody.
    federation.is_answer_due = true;
    Ok(true)
}

/// The call that an interaction stands for.
fn call(
    service: &str,
    sent: &Parameters<'_>,
    edition: Edition,
    transportation: impl Fn() -> Result<TransportationTypeHandle, Fault>,
) -> Result<Option<Call>, Fault> {
    let object_class = || sent.get("HLAobjectClass");
    let interaction_class = || sent.get("HLAinteractionClass");
    let object_instance = || sent.get("HLAobjectInstance");
    let attributes = || list(sent, "HLAattributeList");
    let interaction_classes = || list(sent, "HLAinteractionClassList");
    let time = || sent.get::<HLAlogicalTime>("HLAtimeStamp").map(|time| time.0);
    let lookahead = || sent.get::<HLAtimeInterval>("HLAlookahead").map(|lookahead| lookahead.0);
    let flag = |name| sent.get::<HLAboolean>(name).map(|flag| flag.0);
    let order_type = || order(sent, edition).map(Some);
    Ok(Some(match service {
        "HLAsynchronizationPointAchieved" => F::SynchronizationPointAchieved {
            synchronization_point_label: sent.get::<HLAunicodeString>("HLAlabel")?.0,
            successfully: true,
        }
        .into(),
        "HLAfederateSaveBegun" => F::FederateSaveBegun.into(),
        "HLAfederateSaveComplete" if flag("HLAsuccessIndicator")? => F::FederateSaveComplete.into(),
        "HLAfederateSaveComplete" => F::FederateSaveNotComplete.into(),
        "HLAfederateRestoreComplete" if flag("HLAsuccessIndicator")? => {
            F::FederateRestoreComplete.into()
        }
        "HLAfederateRestoreComplete" => F::FederateRestoreNotComplete.into(),
        "HLApublishObjectClassAttributes" => D::PublishObjectClassAttributes {
            object_class: object_class()?,
            attributes: attributes()?,
        }
        .into(),
        "HLAunpublishObjectClassAttributes" => D::UnpublishObjectClassAttributes {
            object_class: object_class()?,
            attributes: attributes()?,
        }
        .into(),
        "HLApublishInteractionClass" => {
            D::PublishInteractionClass { interaction_class: interaction_class()? }.into()
        }
        "HLAunpublishInteractionClass" => {
            D::UnpublishInteractionClass { interaction_class: interaction_class()? }.into()
        }
        "HLApublishObjectClassDirectedInteractions" => D::PublishObjectClassDirectedInteractions {
            object_class: object_class()?,
            interaction_classes: interaction_classes()?,
        }
        .into(),
        "HLAunpublishObjectClassDirectedInteractions" => {
            D::UnpublishObjectClassDirectedInteractionsWithSet {
                object_class: object_class()?,
                interaction_classes: interaction_classes()?,
            }
            .into()
        }
        "HLAsubscribeObjectClassAttributes" => {
            let (object_class, attributes) = (object_class()?, attributes()?);
            if flag("HLAactive")? {
                D::SubscribeObjectClassAttributes { object_class, attributes }.into()
            } else {
                D::SubscribeObjectClassAttributesPassively { object_class, attributes }.into()
            }
        }
        "HLAunsubscribeObjectClassAttributes" => D::UnsubscribeObjectClassAttributes {
            object_class: object_class()?,
            attributes: attributes()?,
        }
        .into(),
        "HLAsubscribeInteractionClass" => {
            let interaction_class = interaction_class()?;
            if flag("HLAactive")? {
                D::SubscribeInteractionClass { interaction_class }.into()
            } else {
                D::SubscribeInteractionClassPassively { interaction_class }.into()
            }
        }
        "HLAunsubscribeInteractionClass" => {
            D::UnsubscribeInteractionClass { interaction_class: interaction_class()? }.into()
        }
        "HLAsubscribeObjectClassDirectedInteractions" => {
            D::SubscribeObjectClassDirectedInteractions {
                object_class: object_class()?,
                interaction_classes: interaction_classes()?,
            }
            .into()
        }
        "HLAunsubscribeObjectClassDirectedInteractions" => {
            D::UnsubscribeObjectClassDirectedInteractionsWithSet {
                object_class: object_class()?,
                interaction_classes: interaction_classes()?,
            }
            .into()
        }
        "HLAdeleteObjectInstance" => {
            let object_instance = object_instance()?;
            let tag = sent.optional::<HLAopaqueData>("HLAtag")?.unwrap_or_default();
            let user_supplied_tag = Data::from(tag.0);
            match sent.optional::<HLAlogicalTime>("HLAtimeStamp")? {
                None => O::DeleteObjectInstance { object_instance, user_supplied_tag }.into(),
                Some(HLAlogicalTime(time)) => {
                    O::DeleteObjectInstanceWithTime { object_instance, user_supplied_tag, time }
                        .into()
                }
            }
        }
        "HLAlocalDeleteObjectInstance" => {
            O::LocalDeleteObjectInstance { object_instance: object_instance()? }.into()
        }
        "HLArequestAttributeTransportationTypeChange" => {
            O::RequestAttributeTransportationTypeChange {
                object_instance: object_instance()?,
                attributes: attributes()?,
                transportation_type: transportation()?,
            }
            .into()
        }
        "HLArequestInteractionTransportationTypeChange" => {
            O::RequestInteractionTransportationTypeChange {
                interaction_class: interaction_class()?,
                transportation_type: transportation()?,
            }
            .into()
        }
        "HLAunconditionalAttributeOwnershipDivestiture" => {
            W::UnconditionalAttributeOwnershipDivestiture {
                object_instance: object_instance()?,
                attributes: attributes()?,
                user_supplied_tag: Data::new(),
            }
            .into()
        }
        "HLAenableTimeRegulation" => T::EnableTimeRegulation { lookahead: lookahead()? }.into(),
        "HLAdisableTimeRegulation" => T::DisableTimeRegulation.into(),
        "HLAenableTimeConstrained" => T::EnableTimeConstrained.into(),
        "HLAdisableTimeConstrained" => T::DisableTimeConstrained.into(),
        "HLAtimeAdvanceRequest" => T::TimeAdvanceRequest { time: time()? }.into(),
        "HLAtimeAdvanceRequestAvailable" => T::TimeAdvanceRequestAvailable { time: time()? }.into(),
        "HLAnextMessageRequest" => T::NextMessageRequest { time: time()? }.into(),
        "HLAnextMessageRequestAvailable" => T::NextMessageRequestAvailable { time: time()? }.into(),
        "HLAflushQueueRequest" => T::FlushQueueRequest { time: time()? }.into(),
        "HLAenableAsynchronousDelivery" => T::EnableAsynchronousDelivery.into(),
        "HLAdisableAsynchronousDelivery" => T::DisableAsynchronousDelivery.into(),
        "HLAmodifyLookahead" => T::ModifyLookahead { lookahead: lookahead()? }.into(),
        "HLAchangeAttributeOrderType" => T::ChangeAttributeOrderType {
            object_instance: object_instance()?,
            attributes: attributes()?,
            order_type: order_type()?,
        }
        .into(),
        "HLAchangeInteractionOrderType" => T::ChangeInteractionOrderType {
            interaction_class: interaction_class()?,
            order_type: order_type()?,
        }
        .into(),
        _ => return Ok(None),
    }))
}

fn list<T: Element>(sent: &Parameters<'_>, name: &str) -> Result<Vec<T>, Fault> {
    Ok(sent.get::<HLAvariableArray<T>>(name)?.0)
}

/// Decodes a transportation type: its handle, or as in 2010 its name.
fn transportation(
    federation: &Federation,
    sent: &Parameters<'_>,
) -> Result<TransportationTypeHandle, Fault> {
    const NAME: &str = "HLAtransportation";
    let handle = sent.get::<TransportationTypeHandle>(NAME);
    if let Ok(handle) = &handle
        && federation.model.transportation(*handle).is_some()
    {
        return Ok(*handle);
    }
    let name = sent.get::<HLAunicodeString>(NAME)?.0;
    let named = federation.model.transportation_named(&name);
    named.ok_or_else(|| Fault::parameter(NAME, "no transportation type has this handle or name"))
}

/// Decodes an order. The values of 2010 are one less.
fn order(sent: &Parameters<'_>, edition: Edition) -> Result<OrderType, Fault> {
    const NAME: &str = "HLAsendOrder";
    let value = sent.get::<HLAinteger32BE>(NAME)?.0;
    let first = if edition == Edition::Evolved { 0 } else { OrderType::Receive.mom_value() };
    let order = value.checked_sub(first).and_then(OrderType::from_number);
    order.ok_or_else(|| Fault::parameter(NAME, format!("{value} is no order")))
}

/// Decodes a directive. The values of 2010 are one more.
pub(super) fn resign_action(
    sent: &Parameters<'_>,
    name: &str,
    edition: Edition,
) -> Result<ResignAction, Fault> {
    let value = sent.get::<HLAinteger32BE>(name)?.0;
    let first = i32::from(edition == Edition::Evolved);
    let action = value.checked_sub(first).and_then(ResignAction::from_number);
    action.ok_or_else(|| Fault::parameter(name, format!("{value} is no directive")))
}
