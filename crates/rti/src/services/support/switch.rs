//! Switches and the resign directive (clauses 10.34 to 10.56).

use hemiola_hla::{Exception, FederateHandle, Reply, ResignAction, Switch};

use super::Answer;
use crate::federation::Federation;
use crate::job::{Known, Task};
use crate::mom;
use crate::services::{declaration, distribution};

pub(super) fn get(federation: &Federation, me: FederateHandle, switch: Switch) -> Answer {
    Ok(Reply::Flag(if switch.is_per_federate() {
        federation.federate(me).is_on(switch)
    } else {
        federation.is_on(switch)
    }))
}

/// Sets a federate's switch. Turning an advisory on reports the current state.
pub(super) fn set(
    federation: &mut Federation,
    me: FederateHandle,
    switch: Switch,
    on: bool,
) -> Answer {
    let federate = federation.federate_mut(me);
    if federate.is_on(switch) == on {
        return Ok(Reply::Done);
    }
    if on {
        federate.switches.insert(switch);
    } else {
        federate.switches.remove(&switch);
    }
    match switch {
        Switch::ObjectClassRelevanceAdvisory => {
            declaration::advise_of_registration(federation, me);
        }
        Switch::InteractionRelevanceAdvisory => {
            declaration::advise_of_interactions(federation, me);
        }
        Switch::AttributeScopeAdvisory => {
            let known = Known::new(federation);
            let task = if on { Task::AdviseOfScope(known) } else { Task::ForgetScope };
            federation.start(me, task);
        }
        Switch::AttributeRelevanceAdvisory => {
            let known = Known::new(federation);
            let task = if on { Task::AdviseOfUpdates(known) } else { Task::ForgetUpdates };
            federation.start(me, task);
        }
        Switch::ConveyRegionDesignatorSets => federate.conveys_regions = on,
        Switch::ServiceReporting | Switch::SendServiceReportsToFile => {
            mom::begin_report_file(federation, me);
        }
        _ => {}
    }
    Ok(Reply::Done)
}

/// Clause 10.45.
pub(super) fn set_automatic_resign_directive(
    federation: &mut Federation,
    me: FederateHandle,
    action: Option<ResignAction>,
) -> Answer {
    let action = action.ok_or(Exception::InvalidResignAction)?;
    federation.federate_mut(me).resign_action = action;
    Ok(Reply::Done)
}

/// Clause 10.47.
pub(super) fn set_service_reporting_switch(
    federation: &mut Federation,
    me: FederateHandle,
    on: bool,
) -> Answer {
    let reports = federation.model.interaction_class_named(declaration::REPORT_OF_CALLS);
    let is_subscribed = |reports| distribution::is_interaction_subscribed(federation, me, reports);
    if on && reports.is_some_and(is_subscribed) {
        return Err(Exception::ReportServiceInvocationsAreSubscribed.into());
    }
    set(federation, me, Switch::ServiceReporting, on)
}
