//! The end of a membership: resigning, being resigned, and losing the session (clauses 4.12 and 4.13).

use std::collections::BTreeMap;
use std::ops::Bound;

use hemiola_hla::data::Data;
use hemiola_hla::{Callback, Exception, FederateHandle, Refusal, ResignAction};

use super::execution::connected;
use super::{Answer, synchronization};
use crate::federate::{Edition, Federate, Owned, Presence};
use crate::federation::{Federation, NameUse};
use crate::input::{Effect, SessionId};
use crate::job::{All, DONE, Step, Task};
use crate::kernel::Kernel;
use crate::mom;
use crate::saving;
use crate::services::{declaration, follow_up, object, ownership};
use crate::session::{Member, Session};

/// Names looked at in one step; none is copied, so all cost about as much as one instance.
const NAMES: usize = 8;
/// The cost of giving back one name, in units of work.
const NAME: u64 = 4;

/// Clause 4.12. The answer comes when the federate has left.
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
    federation.budget = kernel.left;
    let action = action.ok_or(Exception::InvalidResignAction)?;
    may_leave_owned(federation, federate, action)?;
    let leave = Leave::new(action, Phase::Check(Default::default()));
    let answer = federation.start_and_answer(federate, Task::Leave(Box::new(leave)));
    follow_up(federation, &mut kernel.sessions, &mut kernel.after_reply);
    kernel.left = federation.budget;
    answer
}

/// Checks that the directive deals with everything the federate owns.
fn may_leave_owned(
    federation: &Federation,
    me: FederateHandle,
    action: ResignAction,
) -> Result<(), Refusal> {
    let DirectiveSteps { deletes, divests, .. } = steps_of(action);
    let Owned { instances, deletable } = federation.federate(me).owned;
    let left = instances - if deletes { deletable } else { 0 };
    if left > 0 && !divests {
        let details = format!("{action} keeps attributes of {left} instances");
        return Err(Exception::FederateOwnsAttributes.because(details));
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
pub(crate) fn resign_lost(federation: &mut Federation, me: FederateHandle) {
    let presence = std::mem::replace(&mut federation.federate_mut(me).presence, Presence::Gone);
    if presence == Presence::Resigning {
        // It is on its way out by its own call, which nobody waits for any more.
        let mut jobs = federation.jobs.iter_mut();
        let job = jobs.find(|job| job.federate == me).expect("a resigning federate has a job");
        job.replies_to = None;
        return;
    }
    federation.cancel_jobs(me);
    let action = federation.federate(me).resign_action;
    let phase = begin(federation, me, Presence::Gone);
    federation.start(me, Task::Leave(Box::new(Leave::new(action, phase))));
}

/// Resigns a federate by decision of the RTI and reports the reason (clause 4.13).
pub(crate) fn evict(
    federation: &mut Federation,
    federate: FederateHandle,
    reason: &str,
    sessions: &mut BTreeMap<SessionId, Session>,
) {
    let edition = federation.federate(federate).edition;
    mom::lost(federation, federate, reason);
    let session = tell_evicted(federation, federate, reason);
    resign_lost(federation, federate);
    if let Some(state) = sessions.get_mut(&session) {
        state.member = None;
        if edition == Edition::Evolved {
            state.connected = None;
        }
    }
}

/// Resigns a federate because another one asks for it through the management object model (clause 11.4).
pub(crate) fn resign_for(
    federation: &mut Federation,
    federate: FederateHandle,
    action: ResignAction,
) -> Result<(), Refusal> {
    may_leave_owned(federation, federate, action)?;
    let mut negotiations = ownership::Negotiations::default();
    while let Some((handle, attribute)) = negotiations.next(federation) {
        if !steps_of(action).cancels && ownership::seeks(federation, federate, handle, attribute) {
            let details = format!("{action} keeps pending acquisitions");
            return Err(Exception::OwnershipAcquisitionPending.because(details));
        }
    }
    let reason = "a federate asked for it through the management object model";
    federation.federate_mut(federate).resign_action = action;
    let session = tell_evicted(federation, federate, reason);
    resign_lost(federation, federate);
    federation.departed.push(session);
    Ok(())
}

/// Tells a federate that the RTI resigns it. Returns its session.
fn tell_evicted(federation: &mut Federation, federate: FederateHandle, reason: &str) -> SessionId {
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
    federation.refuse_call(federate);
    session
}

/// The federate begins to leave: from here on, no message or callback is for it, and its name is free. It publishes,
/// owns and limits time until it has left.
fn begin(federation: &mut Federation, me: FederateHandle, presence: Presence) -> Phase {
    federation.federate_mut(me).presence = presence;
    saving::left(federation, me);
    federation.overflowed.remove(&me);
    declaration::forget(federation, me);
    Phase::Advise(FederateHandle::INVALID)
}

/// The steps by which a federate leaves. Attributes that it still owns become unowned, also those that it acquires
/// while its acquisitions are being cancelled.
#[derive(Debug)]
pub(crate) struct Leave {
    action: ResignAction,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// It is refused if the federate seeks attributes that the directive does not cancel.
    Check(ownership::Negotiations),
    /// Publishers learn that it no longer subscribes; the handle is that of the last federate advised.
    Advise(FederateHandle),
    /// It seeks nothing any more.
    Withdraw(ownership::Negotiations),
    /// It knows no instances any more, having deleted those that the directive deletes.
    Instances(All),
    /// Its names are free; the name is the last one looked at.
    Names(Option<String>),
    /// It is in no synchronization point any more.
    Points(Option<String>),
    /// Its queued messages, those that it could retract, and its regions are dropped.
    Messages,
}

impl Leave {
    const fn new(action: ResignAction, phase: Phase) -> Self {
        Self { action, phase }
    }

    pub(crate) const fn is_advising(&self) -> bool {
        matches!(self.phase, Phase::Advise(_))
    }

    pub(crate) fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        let next = match &mut self.phase {
            Phase::Check(negotiations) => {
                match negotiations.next(federation).filter(|_| !steps_of(self.action).cancels) {
                    Some((handle, attribute)) => {
                        if ownership::seeks(federation, me, handle, attribute) {
                            let details = format!("{} keeps pending acquisitions", self.action);
                            let exception = Exception::OwnershipAcquisitionPending;
                            return Step::Break(Err(exception.because(details)));
                        }
                        None
                    }
                    None => {
                        // It may have acquired attributes in the meantime.
                        if let Err(refusal) = may_leave_owned(federation, me, self.action) {
                            return Step::Break(Err(refusal));
                        }
                        Some(begin(federation, me, Presence::Resigning))
                    }
                }
            }
            Phase::Advise(after) => {
                let range = (Bound::Excluded(*after), Bound::Unbounded);
                match federation.joined().range(range).next().copied() {
                    Some(federate) => {
                        *after = federate;
                        declaration::advise(federation, federate);
                        None
                    }
                    None => Some(Phase::Withdraw(Default::default())),
                }
            }
            Phase::Withdraw(negotiations) => match negotiations.next(federation) {
                Some(subject) => {
                    ownership::withdraw_from(federation, me, subject);
                    None
                }
                None => Some(Phase::Instances(All::new(federation))),
            },
            Phase::Instances(instances) => match instances.next(federation) {
                Some(handle) => {
                    leave_instance(federation, me, handle, self.action);
                    None
                }
                None => Some(Phase::Names(None)),
            },
            Phase::Names(after) => {
                if free_names(federation, me, after) {
                    None
                } else {
                    Some(Phase::Points(None))
                }
            }
            Phase::Points(after) => match synchronization::next_point(federation, after) {
                Some(label) => {
                    synchronization::resigned(federation, me, label);
                    None
                }
                None => Some(Phase::Messages),
            },
            Phase::Messages => {
                // Its queue is one of the things that limit how far others advance.
                federation.schedule.mark_changed(me);
                federation.time_changed = true;
                if federation.federate_mut(me).take_entry() || federation.regions.take_part(me) {
                    None
                } else {
                    mom::resigned(federation, me);
                    let Federate { session, presence, .. } = *federation.leave(me);
                    let is_resigning = presence == Presence::Resigning;
                    federation.departed.extend(is_resigning.then_some(session));
                    return DONE;
                }
            }
        };
        if let Some(next) = next {
            self.phase = next;
        }
        Step::Continue(())
    }
}

fn leave_instance(
    federation: &mut Federation,
    me: FederateHandle,
    handle: hemiola_hla::ObjectInstanceHandle,
    action: ResignAction,
) {
    let instance = federation.instance_mut(handle);
    instance.forget_local_deletion(me);
    let is_deleted_by_me = instance.deletion.as_ref().is_some_and(|one| one.by == me);
    if !is_deleted_by_me && instance.known_as(me).is_none() {
        return;
    }
    let instance = &federation.instances[&handle];
    if steps_of(action).deletes && object::may_delete(federation, instance, me) {
        object::delete(federation, me, handle, Data::new(), None);
    }
    object::leave(federation, me, handle);
}

/// Frees the names that a federate has reserved, among the next few of all names. Returns whether there were any.
fn free_names(federation: &mut Federation, me: FederateHandle, after: &mut Option<String>) -> bool {
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let next = federation.names.range::<str, _>((from, Bound::Unbounded)).take(NAMES);
    let last = next.clone().last().map(|(name, _)| name.clone());
    let mine = next.filter(|(_, held)| **held == NameUse::Reserved(me));
    let mine: Vec<String> = mine.map(|(name, _)| name.clone()).collect();
    for name in mine {
        federation.spend(NAME);
        federation.names.remove(&name);
        federation.federate_mut(me).charge.shrink(object::reserved_len(&name));
    }
    *after = last;
    after.is_some()
}
