//! Joining a federation execution (clause 4.11).

use std::sync::Arc;

use hemiola_hla::data::{FomModule, JoinResult};
use hemiola_hla::{Exception, Reply};

use super::execution::{connected, does_not_exist};
use super::{Answer, synchronization};
use crate::authority::{Right, may};
use crate::federate::Federate;
use crate::federation::Federation;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::memory::{Allowance, Charge, has_room_for};
use crate::mom;
use crate::prepare::are_few;
use crate::services::{beyond, follow_up};
use crate::session::Member;

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
    may(kernel, session, Right::Join, federation_name)?;
    if kernel.sessions.get(&session).is_some_and(|state| state.member.is_some()) {
        return Err(Exception::FederateAlreadyExecutionMember.into());
    }
    if let Some(id) = kernel.names.get(federation_name) {
        kernel.federations[id].saving.is_open()?;
    }
    are_few(kernel.limits, modules)?;
    let prepared = (!modules.is_empty())
        .then(|| kernel.prepared(session, federation_name, modules, None, true));
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
    let accounts = &mut kernel.sessions.entry(session).or_default().accounts;
    let account = accounts.in_federation_of(&federation.account);
    let elsewhere = accounts.held() - account.held();
    let by_others = kernel.memory.held - federation.held();
    federation.allowance = Allowance { room: kernel.room, by_others, elsewhere };
    if let Some(model) = &model {
        let more = model.memory().saturating_sub(federation.model.memory());
        has_room_for(federation, &account, more)?;
        federation.model_charges.push(Charge::new(&account, more));
    }
    // Existing handles stay. An instance gets the entries of new attributes when they first have an owner.
    let before = model.map(|model| std::mem::replace(&mut federation.model, model));
    let time = federation.implementation;
    let model = &federation.model;
    let federate = Federate::new(name, federate_type, session, edition, model, time, account);
    let federate = federation.join(federate);
    let own = before
        .as_ref()
        .map_or_else(Vec::new, |before| mom::brought(&federation.model, before, modules));
    federation.federate_mut(federate).bring(own);
    let host = kernel.sessions.get(&session).map(|session| Arc::clone(&session.host));
    federation.federate_mut(federate).host = host.unwrap_or_default();
    let member = Member { federation: id, federate };
    kernel.sessions.entry(session).or_default().member = Some(member);
    synchronization::joined(federation, federate);
    mom::begin_report_file(federation, federate);
    mom::joined(federation, federate, before.is_some());
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
