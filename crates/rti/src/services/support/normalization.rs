//! Normalization of handles to points of dimensions (clauses 10.29 to 10.33).

use hemiola_hla::{
    Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    Reply, ServiceGroup,
};

use super::Answer;
use crate::federation::Federation;

/// Clause 10.29.
pub(super) fn normalize_service_group(group: Option<ServiceGroup>) -> Answer {
    let number = group.ok_or(Exception::InvalidServiceGroup)?.number();
    Ok(Reply::Number(u32::try_from(number).expect("the groups are numbered from 0")))
}

/// Clause 10.30. Includes resigned federates, since regions may still refer to them.
pub(super) fn normalize_federate_handle(federation: &Federation, handle: FederateHandle) -> Answer {
    if federation.was_joined(handle) {
        Ok(Reply::Number(handle.number()))
    } else {
        Err(Exception::InvalidFederateHandle.into())
    }
}

/// Clause 10.31.
pub(super) fn normalize_object_class_handle(
    federation: &Federation,
    handle: ObjectClassHandle,
) -> Answer {
    federation.model.object_class(handle).ok_or(Exception::InvalidObjectClassHandle)?;
    Ok(Reply::Number(handle.number()))
}

/// Clause 10.32.
pub(super) fn normalize_interaction_class_handle(
    federation: &Federation,
    handle: InteractionClassHandle,
) -> Answer {
    federation.model.interaction_class(handle).ok_or(Exception::InvalidInteractionClassHandle)?;
    Ok(Reply::Number(handle.number()))
}

/// Clause 10.33. There are more instance handles than points, so distant handles may share a point.
pub(super) fn normalize_object_instance_handle(
    federation: &Federation,
    handle: ObjectInstanceHandle,
) -> Answer {
    if handle == ObjectInstanceHandle::INVALID || handle.number() > federation.instance_count {
        return Err(Exception::InvalidObjectInstanceHandle.into());
    }
    let point = handle.number() % u64::from(u32::MAX);
    Ok(Reply::Number(u32::try_from(point).expect("it is below 2^32")))
}
