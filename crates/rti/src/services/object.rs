//! Clause 6, object management.

mod instance;
mod interaction;
mod interest;
mod name;
mod provide;
mod relevance;
mod transportation;
mod unpublish;
mod update;

use hemiola_fom::Model;
use hemiola_hla::call::ObjectCall;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, LogicalTime, ObjectClassHandle, Refusal, Reply,
};

use super::Answer;
use crate::backlog::Parcel;
use crate::federation::Federation;
use crate::instance::Instance;
use crate::memory::has_room;
use instance::{delete_object_instance, local_delete_object_instance};
use interaction::send_directed_interaction;
use name::{
    release_object_instance_names, reserve_multiple_object_instance_names,
    reserve_object_instance_name,
};
use provide::{request_class_attribute_value_update, request_instance_attribute_value_update};
use transportation::{
    change_default_attribute_transportation_type, query_attribute_transportation_type,
    query_interaction_transportation_type, request_attribute_transportation_type_change,
    request_interaction_transportation_type_change,
};

pub(crate) use instance::{
    delete, deletion_is_final, disown, forget, interest_changed, interest_step, leave,
    offer_published, offer_step, owners_changed, register_object_instance, scope_changed, undelete,
};
pub(crate) use interaction::{send_interaction, send_with_regions};
pub(crate) use interest::{evaluate, is_wanted};
pub(crate) use name::reserved_len;
pub(crate) use provide::{ask_owners, provide_step};
pub(crate) use relevance::{advise_of_scope, advise_of_updates};
pub(crate) use unpublish::{check_unpublish_step, unpublish, unpublish_step};
pub(crate) use update::{reflect_postponed, update_attribute_values};

/// Dispatches a call of this clause.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: ObjectCall) -> Answer {
    use ObjectCall as C;
    match call {
        C::ReserveObjectInstanceName { object_instance_name: name } => {
            reserve_object_instance_name(federation, me, name)
        }
        C::ReleaseObjectInstanceName { object_instance_name: name } => {
            release_object_instance_names(federation, me, &[name])
        }
        C::ReserveMultipleObjectInstanceNames { object_instance_names: names } => {
            reserve_multiple_object_instance_names(federation, me, names)
        }
        C::ReleaseMultipleObjectInstanceNames { object_instance_names: names } => {
            release_object_instance_names(federation, me, &names)
        }
        C::RegisterObjectInstance { object_class } => {
            register_object_instance(federation, me, object_class, None, &[])
        }
        C::RegisterObjectInstanceWithName { object_class, object_instance_name: name } => {
            register_object_instance(federation, me, object_class, Some(name), &[])
        }
        C::UpdateAttributeValues { object_instance, attribute_values, user_supplied_tag } => {
            let (values, tag) = (attribute_values, user_supplied_tag);
            update_attribute_values(federation, me, object_instance, values, tag, None)
                .map(|_| Reply::Done)
        }
        C::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values,
            user_supplied_tag,
            time,
        } => {
            let (values, tag, time) = (attribute_values, user_supplied_tag, Some(time));
            update_attribute_values(federation, me, object_instance, values, tag, time)
                .map(Reply::Retraction)
        }
        C::SendInteraction { interaction_class, parameter_values, user_supplied_tag } => {
            let (values, tag) = (parameter_values, user_supplied_tag);
            send_interaction(federation, me, interaction_class, values, tag, None)
                .map(|_| Reply::Done)
        }
        C::SendInteractionWithTime {
            interaction_class,
            parameter_values,
            user_supplied_tag,
            time,
        } => {
            let (values, tag, time) = (parameter_values, user_supplied_tag, Some(time));
            send_interaction(federation, me, interaction_class, values, tag, time)
                .map(Reply::Retraction)
        }
        C::SendDirectedInteraction {
            interaction_class,
            object_instance,
            parameter_values,
            user_supplied_tag,
        } => {
            let directed = interaction::Directed {
                class: interaction_class,
                instance: object_instance,
                values: parameter_values,
                tag: user_supplied_tag,
            };
            send_directed_interaction(federation, me, directed, None).map(|_| Reply::Done)
        }
        C::SendDirectedInteractionWithTime {
            interaction_class,
            object_instance,
            parameter_values,
            user_supplied_tag,
            time,
        } => {
            let directed = interaction::Directed {
                class: interaction_class,
                instance: object_instance,
                values: parameter_values,
                tag: user_supplied_tag,
            };
            send_directed_interaction(federation, me, directed, Some(time)).map(Reply::Retraction)
        }
        C::DeleteObjectInstance { object_instance, user_supplied_tag: tag } => {
            delete_object_instance(federation, me, object_instance, tag, None).map(|_| Reply::Done)
        }
        C::DeleteObjectInstanceWithTime { object_instance, user_supplied_tag: tag, time } => {
            delete_object_instance(federation, me, object_instance, tag, Some(time))
                .map(Reply::Retraction)
        }
        C::LocalDeleteObjectInstance { object_instance } => {
            local_delete_object_instance(federation, me, object_instance)
        }
        C::RequestInstanceAttributeValueUpdate {
            object_instance,
            attributes,
            user_supplied_tag: tag,
        } => request_instance_attribute_value_update(
            federation,
            me,
            object_instance,
            &attributes,
            &tag,
        ),
        C::RequestClassAttributeValueUpdate {
            object_class,
            attributes,
            user_supplied_tag: tag,
        } => request_class_attribute_value_update(federation, me, object_class, &attributes, &tag),
        C::RequestAttributeTransportationTypeChange {
            object_instance,
            attributes,
            transportation_type: kind,
        } => request_attribute_transportation_type_change(
            federation,
            me,
            object_instance,
            attributes,
            kind,
        ),
        C::ChangeDefaultAttributeTransportationType {
            object_class,
            attributes,
            transportation_type: kind,
        } => change_default_attribute_transportation_type(
            federation,
            me,
            object_class,
            &attributes,
            kind,
        ),
        C::QueryAttributeTransportationType { object_instance, attribute } => {
            query_attribute_transportation_type(federation, me, object_instance, attribute)
        }
        C::RequestInteractionTransportationTypeChange {
            interaction_class,
            transportation_type: kind,
        } => {
            request_interaction_transportation_type_change(federation, me, interaction_class, kind)
        }
        C::QueryInteractionTransportationType { federate, interaction_class } => {
            query_interaction_transportation_type(federation, me, federate, interaction_class)
        }
    }
}

/// Returns the attribute whose owner may delete an instance.
pub(crate) fn privilege(model: &Model) -> AttributeHandle {
    let privilege = model.attribute_named(ObjectClassHandle::new(1), "HLAprivilegeToDeleteObject");
    privilege.expect("the standard module gives it to the root")
}

/// Returns whether a federate may delete an instance.
pub(crate) fn may_delete(federation: &Federation, instance: &Instance, me: FederateHandle) -> bool {
    instance.deletion.is_none() && instance.owner(federation.privilege) == me
}

/// Checks that these attributes are available at the class a federate knows an instance as.
pub(crate) fn available(
    federation: &Federation,
    class: ObjectClassHandle,
    attributes: impl IntoIterator<Item = AttributeHandle>,
) -> Result<(), Refusal> {
    let model = &federation.model;
    match attributes.into_iter().find(|one| !model.has_attribute(class, *one)) {
        Some(one) => Err(Exception::AttributeNotDefined.because(one.to_string())),
        None => Ok(()),
    }
}

/// Decodes and checks a message's time stamp. A time-regulating federate must keep its promise; the time stamps of
/// other federates order nothing.
pub(crate) fn stamped(
    federation: &Federation,
    me: FederateHandle,
    time: Option<hemiola_hla::EncodedTime>,
) -> Result<Option<LogicalTime>, Refusal> {
    let Some(time) = time else { return Ok(None) };
    let is_regulating = federation.federate(me).time.known_regulation().is_some();
    if is_regulating {
        // The receivers may keep the message for a long time.
        has_room(federation, me, federation.allowance.room.call_len + Parcel::OVERHEAD)?;
    }
    let time = time
        .decode(federation.implementation)
        .map_err(|error| Exception::InvalidLogicalTime.because(error.to_string()))?;
    match federation.federate(me).time.output_bound() {
        Some(bound) if is_regulating && !bound.allows(time) => {
            let details = format!(
                "the least time stamp the federate may send is {}; {time} is earlier",
                bound.time()
            );
            Err(Exception::InvalidLogicalTime.because(details))
        }
        _ => Ok(Some(time)),
    }
}
