//! Creating, destroying and listing federation executions (clauses 4.5 to 4.10).

use std::sync::Arc;

use hemiola_hla::data::{FederationExecutionInformation, FederationExecutionMember, FomModule};
use hemiola_hla::{Callback, Exception, Refusal, Reply, TimeImplementation};

use super::Answer;
use crate::authority::{Right, may};
use crate::federate::Edition;
use crate::federation::Federation;
use crate::input::{Effect, SessionId};
use crate::kernel::Kernel;
use crate::memory::{Account, Allowance, Charge, has_room_for};
use crate::notice::Notice;
use crate::prepare::are_few;
use crate::session::FederationId;

/// Returns the edition the session is connected with.
pub(super) fn connected(kernel: &Kernel, session: SessionId) -> Result<Edition, Refusal> {
    let state = kernel.sessions.get(&session);
    state.and_then(|state| state.connected).ok_or_else(|| Exception::NotConnected.into())
}

/// Checks everything that does not depend on the modules.
pub(crate) fn may_create(
    kernel: &Kernel,
    session: SessionId,
    name: &str,
    mim: Option<&FomModule>,
) -> Result<(), Refusal> {
    connected(kernel, session)?;
    may(kernel, session, Right::Create, name)?;
    if kernel.names.contains_key(name) {
        return Err(Exception::FederationExecutionAlreadyExists.because(name));
    }
    if name.is_empty() || name.len() > kernel.limits.name_len {
        let most = kernel.limits.name_len;
        let details = format!("the name of a federation has 1 to {most} bytes");
        return Err(Exception::RTIinternalError.because(details));
    }
    // A MIM of the caller's own is merged like any other module: it may only repeat the standard MIM and add to it.
    if matches!(mim, Some(FomModule::Url(name)) if name == hemiola_fom::STANDARD_MIM) {
        return Err(Exception::DesignatorIsHLAstandardMIM.into());
    }
    Ok(())
}

/// Clause 4.5, all forms.
pub(super) fn create_federation_execution(
    kernel: &mut Kernel,
    session: SessionId,
    name: String,
    modules: &[FomModule],
    mim: Option<&FomModule>,
    time: &str,
) -> Answer {
    may_create(kernel, session, &name, mim)?;
    are_few(kernel.limits, modules)?;
    let model = kernel.prepared(session, &name, modules, mim, false).model()?;
    let Some(implementation) = TimeImplementation::named(time) else {
        let details = format!("{time} is neither HLAinteger64Time nor HLAfloat64Time");
        return Err(Exception::CouldNotCreateLogicalTimeFactory.because(details));
    };
    let creation = kernel.make_room(session)?;
    let account = Arc::<Account>::default();
    let accounts = &mut kernel.sessions.entry(session).or_default().accounts;
    let elsewhere = accounts.held();
    let creator = accounts.in_federation_of(&account);
    let len = model.memory();
    let (limits, now) = (kernel.limits, kernel.now);
    let mut federation = Federation::new(name.clone(), model, implementation, limits, account, now);
    federation.creation = creation;
    federation.report_files.clone_from(&kernel.report_files);
    federation.mim = mim.map(|mim| mim.designator().to_owned());
    federation.allowance =
        Allowance { room: kernel.room, by_others: kernel.memory.held, elsewhere };
    if let Err(refusal) = has_room_for(&federation, &creator, len) {
        kernel.retire_federation(federation);
        return Err(refusal);
    }
    federation.model_charges.push(Charge::new(&creator, len));
    kernel.federation_count += 1;
    let id = FederationId(kernel.federation_count);
    federation.id = id;
    kernel.federations.insert(id, federation);
    kernel.names.insert(name, id);
    kernel.list = None;
    Ok(Reply::Done)
}

/// Clause 4.6.
pub(super) fn destroy_federation_execution(
    kernel: &mut Kernel,
    session: SessionId,
    name: &str,
) -> Answer {
    connected(kernel, session)?;
    may(kernel, session, Right::Destroy, name)?;
    if !kernel.names.contains_key(name) {
        return Err(does_not_exist(name));
    }
    if !kernel.destroy(name) {
        return Err(Exception::FederatesCurrentlyJoined.into());
    }
    Ok(Reply::Done)
}

pub(crate) fn does_not_exist(name: &str) -> Refusal {
    Exception::FederationExecutionDoesNotExist.because(name)
}

/// Clause 4.7. The result is the callback of clause 4.8.
pub(super) fn list_federation_executions(kernel: &mut Kernel, session: SessionId) -> Answer {
    connected(kernel, session)?;
    let Kernel { names, federations, .. } = &*kernel;
    let report = || {
        let report = names.values().map(|id| {
            let federation = &federations[id];
            FederationExecutionInformation {
                federation_name: federation.name.clone(),
                logical_time_implementation: federation.implementation.name().to_owned(),
            }
        });
        Callback::ReportFederationExecutions { report: report.collect() }
    };
    let list = kernel.list.clone().unwrap_or_else(|| Arc::new(Notice::new(report())));
    kernel.list = Some(Arc::clone(&list));
    kernel.after_reply.push(Effect::Callback(session, list));
    Ok(Reply::Done)
}

/// Clause 4.9. The result is one of the callbacks of clause 4.10.
pub(super) fn list_federation_execution_members(
    kernel: &mut Kernel,
    session: SessionId,
    federation_name: String,
) -> Answer {
    connected(kernel, session)?;
    let federation = kernel.names.get(&federation_name).map(|id| &kernel.federations[id]);
    let callback = match federation {
        Some(federation) => {
            let members = federation.federates().filter(|(_, federate)| federate.is_staying());
            let members = members.map(|(_, federate)| FederationExecutionMember {
                federate_name: federate.name.clone(),
                federate_type: federate.federate_type.clone(),
            });
            let report = members.collect();
            Callback::ReportFederationExecutionMembers { federation_name, report }
        }
        None => Callback::ReportFederationExecutionDoesNotExist { federation_name },
    };
    kernel.after_reply.push(Effect::Callback(session, Arc::new(Notice::new(callback))));
    Ok(Reply::Done)
}
