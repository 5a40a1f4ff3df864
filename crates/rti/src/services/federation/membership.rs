//! Joining, resigning and losing federates (clauses 4.11 to 4.13).

use std::collections::BTreeMap;

use hemiola_hla::data::{Data, FomModule, JoinResult};
use hemiola_hla::{
    Callback, Exception, FederateHandle, ObjectInstanceHandle, Refusal, Reply, ResignAction,
};

use super::execution::{connected, does_not_exist};
use super::{Answer, synchronization};
use crate::federate::{Edition, Federate};
use crate::federation::{Federation, NameUse};
use crate::input::{Effect, SessionId};
use crate::kernel::Kernel;
use crate::prepare::are_few;
use crate::services::{beyond, declaration, follow_up, object, ownership};
use crate::session::{Member, Session};

/// Clause 4.11, all forms.
pub(super) fn join_federation_execution(
    kernel: &mut Kernel,
    session: SessionId,
    name: Option<String>,
    federate_type: String,
    federation_name: &str,
    modules: &[FomModule],
) -> Answer {
    let edition = connected(kernel, session)?;
    if kernel.sessions.get(&session).is_some_and(|state| state.member.is_some()) {
        return Err(Exception::FederateAlreadyExecutionMember.into());
    }
    are_few(kernel.limits, modules)?;
    let prepared =
        (!modules.is_empty()).then(|| kernel.prepared(federation_name, modules, None, true));
    if let Some(prepared) = &prepared {
        prepared.read()?;
    }
    let id = kernel.names.get(federation_name).copied();
    let id = id.ok_or_else(|| does_not_exist(federation_name))?;
    let federation = kernel.federations.get_mut(&id).expect("a name leads to a federation");
    if federation.joined().len() >= federation.limits.federates {
        return Err(beyond(federation.limits.federates, "federates in a federation"));
    }
    let longest = [name.as_deref().unwrap_or(""), &federate_type].map(str::len);
    if longest.into_iter().any(|len| len > federation.limits.name_len)
        || name.as_deref() == Some("")
    {
        let most = federation.limits.name_len;
        let details = format!("the name of a federate has 1 to {most} bytes");
        return Err(Exception::RTIinternalError.because(details));
    }
    let model = prepared.map(|prepared| prepared.model()).transpose()?;
    let name = match name {
        Some(name) if federation.federate_named(&name).is_some() => {
            return Err(Exception::FederateNameAlreadyInUse.because(name));
        }
        Some(name) => name,
        None => generated_name(federation, &federate_type),
    };
    // Existing handles stay. An instance gets the entries of new attributes when they first have an owner.
    let before = model.map(|model| std::mem::replace(&mut federation.model, model));
    let time = federation.implementation;
    let federate = Federate::new(name, federate_type, session, edition, &federation.model, time);
    let federate = federation.join(federate);
    let member = Member { federation: id, federate };
    kernel.sessions.entry(session).or_default().member = Some(member);
    synchronization::joined(federation, federate);
    follow_up(federation, &mut kernel.sessions, &mut kernel.after_reply);
    if let Some(before) = before {
        kernel.retire(before);
    }
    Ok(Reply::Joined(JoinResult { federate, logical_time_implementation: time.name().to_owned() }))
}

/// Returns an unused name for a federate that joins without one.
fn generated_name(federation: &Federation, federate_type: &str) -> String {
    let number = federation.next_federate().number();
    let mut name = format!("{federate_type}-{number}");
    while federation.federate_named(&name).is_some() {
        name.push('\'');
    }
    name
}

/// Clause 4.12.
pub(super) fn resign_federation_execution(
    kernel: &mut Kernel,
    session: SessionId,
    action: Option<ResignAction>,
) -> Answer {
    connected(kernel, session)?;
    let state = kernel.sessions.get_mut(&session).expect("it is connected");
    let Member { federation, federate } =
        state.member.ok_or(Exception::FederateNotExecutionMember)?;
    let federation = kernel.federations.get_mut(&federation);
    let federation = federation.expect("a federation with members exists");
    let action = action.ok_or(Exception::InvalidResignAction)?;
    may_resign(federation, federate, action)?;
    state.member = None;
    resign(federation, federate, action);
    follow_up(federation, &mut kernel.sessions, &mut kernel.after_reply);
    Ok(Reply::Done)
}

/// Checks that the directive deals with everything the federate owns or is acquiring.
fn may_resign(
    federation: &Federation,
    me: FederateHandle,
    action: ResignAction,
) -> Result<(), Refusal> {
    let DirectiveSteps { cancels, deletes, divests } = steps_of(action);
    let left = federation.instances.values().find(|instance| {
        let owns = instance.owned_by(me).next().is_some();
        owns && !(deletes && object::may_delete(federation, instance, me))
    });
    if let Some(instance) = left.filter(|_| !divests) {
        let details = format!("{action} keeps attributes of {}", instance.name);
        return Err(Exception::FederateOwnsAttributes.because(details));
    }
    if !cancels && ownership::is_sought_by(federation, me, |_, _| true) {
        let details = format!("{action} keeps pending acquisitions");
        return Err(Exception::OwnershipAcquisitionPending.because(details));
    }
    Ok(())
}

/// The steps of a directive.
struct DirectiveSteps {
    /// It cancels pending acquisitions.
    cancels: bool,
    /// It deletes the instances that the federate may delete.
    deletes: bool,
    /// It divests the attributes that the federate owns.
    divests: bool,
}

const fn steps_of(action: ResignAction) -> DirectiveSteps {
    use ResignAction as A;
    DirectiveSteps {
        cancels: matches!(
            action,
            A::CancelPendingOwnershipAcquisitions | A::CancelThenDeleteThenDivest
        ),
        deletes: matches!(
            action,
            A::DeleteObjects | A::DeleteObjectsThenDivest | A::CancelThenDeleteThenDivest
        ),
        divests: matches!(
            action,
            A::UnconditionallyDivestAttributes
                | A::DeleteObjectsThenDivest
                | A::CancelThenDeleteThenDivest
        ),
    }
}

/// Resigns a federate whose session has ended, with its automatic directive (clause 4.12).
pub(crate) fn resign_lost(federation: &mut Federation, federate: FederateHandle) {
    let action = federation.federate(federate).resign_action;
    resign(federation, federate, action);
}

/// Resigns a federate by decision of the RTI and reports the reason (clause 4.13).
pub(crate) fn evict(
    federation: &mut Federation,
    federate: FederateHandle,
    reason: &str,
    sessions: &mut BTreeMap<SessionId, Session>,
) {
    let Federate { session, edition, .. } = *federation.federate(federate);
    match edition {
        Edition::Hla4 => {
            let reason_for_resign_description = reason.to_owned();
            let callback = Callback::FederateResigned { reason_for_resign_description };
            federation.send_callback(federate, callback);
        }
        // 1516-2010 has no such callback.
        Edition::Evolved => federation.outbox.push(Effect::Close(session)),
    }
    resign_lost(federation, federate);
    if let Some(state) = sessions.get_mut(&session) {
        state.member = None;
        if edition == Edition::Evolved {
            state.connected = None;
        }
    }
}

/// Carries out a directive and removes the federate. Attributes it still owns become unowned.
fn resign(federation: &mut Federation, me: FederateHandle, action: ResignAction) {
    let deletes = steps_of(action).deletes;
    // From here on no message is for this federate.
    declaration::forget(federation, me);
    ownership::withdraw(federation, me, None);
    let concerned = federation.instances.iter().filter(|(_, instance)| {
        let deleted = instance.deletion.as_ref().is_some_and(|deletion| deletion.by == me);
        deleted || instance.known_as(me).is_some()
    });
    let concerned: Vec<ObjectInstanceHandle> = concerned.map(|(handle, _)| *handle).collect();
    for handle in concerned {
        let Some(instance) = federation.instances.get(&handle) else { continue };
        if deletes && object::may_delete(federation, instance, me) {
            object::delete(federation, me, handle, Data::new(), None);
        }
        object::leave(federation, me, handle);
    }
    federation.names.retain(|_, name| *name != NameUse::Reserved(me));
    synchronization::resigned(federation, me);
    federation.overflowed.remove(&me);
    federation.time_changed = true;
    federation.leave(me);
    declaration::advise(federation);
}
