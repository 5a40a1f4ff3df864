//! Interactions that adjust how a federate is reported on, its switches and its ownership (clause 11.4).

use hemiola_hla::call::{OwnershipCall, SupportCall as S};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{HLAboolean, HLAinteger32BE};
use hemiola_hla::{
    AttributeHandle, Call, Exception, FederateHandle, ObjectInstanceHandle, Refusal,
};
use hemiola_units::Span;

use super::parameters::{Fault, Parameters};
use super::{mom, observe, service, update};
use crate::federate::Edition;
use crate::federation::Federation;

/// Adjusts a federate. Returns `false` if no interaction has this name.
pub(super) fn federate(
    federation: &mut Federation,
    sender: FederateHandle,
    name: &str,
    sent: &Parameters<'_>,
) -> Result<bool, Fault> {
    let federate = sent.federate(federation)?;
    let state = |set: Set| -> Result<Vec<Call>, Fault> {
        Ok(vec![set(sent.get::<HLAboolean>("HLAreportingState")?.0).into()])
    };
    let calls = match name {
        "HLAsetTiming" => {
            set_timing(federation, federate, sent)?;
            Vec::new()
        }
        "HLAmodifyAttributeState" => {
            modify_attribute_state(federation, federate, sent)?;
            Vec::new()
        }
        "HLAsetSwitches" => {
            let edition =
                federation.joined_federate(sender).map_or(Edition::Hla4, |one| one.edition);
            let calls = switches(sent, edition)?;
            if let Some(on) = switch(sent, "HLAconveyProducingFederate")? {
                federation.conveys_producer = on;
            }
            calls
        }
        "HLAsetServiceReporting" => state(|value| S::SetServiceReportingSwitch { value })?,
        "HLAsetExceptionReporting" => state(|value| S::SetExceptionReportingSwitch { value })?,
        _ => return Ok(false),
    };
    for call in calls {
        observe(federation, federate, call)?;
    }
    Ok(true)
}

/// Adjusts the federation. Returns `false` if no interaction has this name.
pub(super) fn federation(
    federation: &mut Federation,
    name: &str,
    sent: &Parameters<'_>,
) -> Result<bool, Fault> {
    if name != "HLAsetSwitches" {
        return Ok(false);
    }
    let Some(on) = switch(sent, "HLAautoProvide")? else { return Ok(true) };
    let mom = mom(federation);
    mom.auto_provide = Some(on);
    if let Some(instance) = mom.federation {
        update(federation, instance, |attribute| attribute.name == "HLAautoProvide");
    }
    Ok(true)
}

/// From now on, the periodic attributes are updated with this period; 0 ends that.
fn set_timing(
    federation: &mut Federation,
    federate: FederateHandle,
    sent: &Parameters<'_>,
) -> Result<(), Fault> {
    const NAME: &str = "HLAreportPeriod";
    let seconds = sent.get::<HLAinteger32BE>(NAME)?.0;
    if seconds < 0 {
        return Err(Fault::parameter(NAME, format!("{seconds} s is less than 0")));
    }
    let period = Span::from_millis(i64::from(seconds) * 1000);
    let due = (seconds > 0).then_some((federation.now + period, period));
    let mom = mom(federation);
    if let Some(member) = mom.members.get_mut(&federate) {
        member.due = due;
    }
    mom.note_due();
    Ok(())
}

/// Decodes a switch, if it was sent.
fn switch(sent: &Parameters<'_>, name: &str) -> Result<Option<bool>, Fault> {
    match sent.optional::<HLAinteger32BE>(name)?.map(|value| value.0) {
        None => Ok(None),
        Some(value @ (0 | 1)) => Ok(Some(value == 1)),
        Some(value) => Err(Fault::parameter(name, format!("{value} is neither 0 nor 1"))),
    }
}

/// Makes the call that sets a switch.
type Set = fn(bool) -> S;

/// The calls that set the switches of a federate. All are decoded before the first is set.
fn switches(sent: &Parameters<'_>, edition: Edition) -> Result<Vec<Call>, Fault> {
    const SWITCHES: [(&str, Set); 8] = [
        ("HLAobjectClassRelevanceAdvisory", |value| S::SetObjectClassRelevanceAdvisorySwitch {
            value,
        }),
        ("HLAattributeRelevanceAdvisory", |value| S::SetAttributeRelevanceAdvisorySwitch { value }),
        ("HLAattributeScopeAdvisory", |value| S::SetAttributeScopeAdvisorySwitch { value }),
        ("HLAinteractionRelevanceAdvisory", |value| S::SetInteractionRelevanceAdvisorySwitch {
            value,
        }),
        ("HLAconveyRegionDesignatorSets", |value| S::SetConveyRegionDesignatorSetsSwitch { value }),
        ("HLAserviceReporting", |value| S::SetServiceReportingSwitch { value }),
        ("HLAexceptionReporting", |value| S::SetExceptionReportingSwitch { value }),
        ("HLAsendServiceReportsToFile", |value| S::SetSendServiceReportsToFileSwitch { value }),
    ];
    const DIRECTIVE: &str = "HLAautomaticResignAction";
    let mut calls = Vec::new();
    for (name, call) in SWITCHES {
        calls.extend(switch(sent, name)?.map(|value| Call::from(call(value))));
    }
    if sent.optional::<HLAinteger32BE>(DIRECTIVE)?.is_some() {
        let value = Some(service::resign_action(sent, DIRECTIVE, edition)?);
        calls.push(S::SetAutomaticResignDirective { value }.into());
    }
    Ok(calls)
}

/// Makes a federate own an attribute that nobody owns, or no longer own one.
fn modify_attribute_state(
    federation: &mut Federation,
    federate: FederateHandle,
    sent: &Parameters<'_>,
) -> Result<(), Fault> {
    const STATE: &str = "HLAattributeState";
    let object_instance: ObjectInstanceHandle = sent.get("HLAobjectInstance")?;
    let attribute: AttributeHandle = sent.get("HLAattribute")?;
    let attributes = vec![attribute];
    match sent.get::<HLAinteger32BE>(STATE)?.0 {
        UNOWNED => {
            let user_supplied_tag = Data::new();
            let call = OwnershipCall::UnconditionalAttributeOwnershipDivestiture {
                object_instance,
                attributes,
                user_supplied_tag,
            };
            observe(federation, federate, call.into())?;
        }
        OWNED => {
            let (instance, _) = federation.known(federate, object_instance)?;
            let owner = instance.owner(attribute);
            if owner != FederateHandle::INVALID && owner != federate {
                return Err(owned_by_other(owner).into());
            }
            let call = OwnershipCall::AttributeOwnershipAcquisitionIfAvailable {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag: Data::new(),
            };
            observe(federation, federate, call.into())?;
        }
        value => return Err(Fault::parameter(STATE, format!("{value} is no state of ownership"))),
    }
    Ok(())
}

/// The values of `HLAownership`.
const UNOWNED: i32 = 0;
const OWNED: i32 = 1;

fn owned_by_other(owner: FederateHandle) -> Refusal {
    Exception::AttributeAlreadyOwned.because(format!("federate {owner} owns it"))
}
