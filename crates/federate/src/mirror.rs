//! A pipelined federate's knowledge of its own state in the RTI, with which it raises exceptions itself.
//!
//! The RTI remains the judge. The mirror refuses a call only if the RTI certainly would, with the same exception;
//! whatever depends on a callback that may be on its way passes to the RTI. For that reason:
//!
//! * A call that the RTI may still refuse adds only possibilities: a publication becomes possible when the call is
//!   made, and certain only if the federate has looked up all of its handles.
//! * An instance is mirrored while nobody but this federate can delete it: from its registration until the federate
//!   first deletes it, unpublishes its class, or makes any call about its ownership.
//! * The object model is known as far as its names have been looked up.
//! * Logical time and promises are lower bounds, which grow with each grant that is evoked.
//! * Callbacks of an earlier membership may still wait to be evoked: time is mirrored in the first membership only.
//! * A save or a restore ends the certainty of everything.

mod objects;
mod time;

use hemiola_hla::call::{FederationCall, ObjectCall};
use hemiola_hla::{
    Call, Callback, EncodedTime, Exception, FederateHandle, Refusal, Reply, TimeImplementation,
};
use objects::Objects;
use time::Time;

/// A federate's knowledge of its own state in the RTI.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    membership: Membership,
    has_joined: bool,
}

#[derive(Debug, Default)]
enum Membership {
    #[default]
    NotJoined,
    /// Only the RTI knows whether the federate is joined: it was resigned from outside, or has joined a federation
    /// whose time is not supported.
    Unknown,
    Joined(Box<Member>),
}

/// A joined federate.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) federate: FederateHandle,
    pub(crate) implementation: TimeImplementation,
    is_certain: bool,
    /// Its handle once the restore in progress has succeeded.
    restored_as: FederateHandle,
    objects: Objects,
    /// `None` after the federate has joined again.
    time: Option<Time>,
}

/// The exception that a call would raise, if that is certain.
type Judgement = Result<(), Refusal>;

impl Mirror {
    /// Returns the joined federate, if it is joined.
    pub(crate) fn member(&self) -> Option<&Member> {
        if let Membership::Joined(member) = &self.membership { Some(member) } else { None }
    }

    /// Judges a call that is about to be made. `advances_refused` counts the requests for a time advance that the RTI
    /// is known to have refused.
    pub(crate) fn judge(&self, call: &Call, advances_refused: u64) -> Judgement {
        match &self.membership {
            Membership::Joined(member) if member.is_certain => member.judge(call, advances_refused),
            Membership::NotJoined => needs_no_member(call),
            Membership::Joined(_) | Membership::Unknown => Ok(()),
        }
    }

    /// Notes a call that has been made. The RTI may still refuse it, or has refused it.
    pub(crate) fn note_call(&mut self, call: &Call) {
        let Membership::Joined(member) = &mut self.membership else { return };
        member.is_certain &= !call.requests_save_or_restore();
        member.objects.note_call(call);
        if let (Call::Time(call), Some(time)) = (call, &mut member.time) {
            time.note_call(call);
        }
    }

    /// Notes the reply to a call that waited for it.
    pub(crate) fn note_reply(&mut self, call: &Call, reply: &Reply) {
        match (call, reply, &mut self.membership) {
            (_, Reply::Joined(joined), membership) => {
                let time = TimeImplementation::named(&joined.logical_time_implementation);
                *membership = time.map_or(Membership::Unknown, |time| {
                    Membership::Joined(Box::new(Member::new(
                        joined.federate,
                        time,
                        self.has_joined,
                    )))
                });
                self.has_joined = true;
            }
            (Call::Federation(FederationCall::ResignFederationExecution { .. }), _, membership) => {
                *membership = Membership::NotJoined;
            }
            (_, _, Membership::Joined(member)) => member.objects.note_reply(call, reply),
            _ => {}
        }
    }

    /// Notes a callback that has been evoked.
    pub(crate) fn note_callback(&mut self, callback: &Callback) {
        use Callback as C;
        let Membership::Joined(member) = &mut self.membership else { return };
        match callback {
            C::FederateResigned { .. } => self.membership = Membership::Unknown,
            C::InitiateFederateSave { .. }
            | C::InitiateFederateSaveWithTime { .. }
            | C::FederationRestoreBegun => member.is_certain = false,
            C::InitiateFederateRestore { post_restore_federate_handle, .. } => {
                member.is_certain = false;
                member.restored_as = *post_restore_federate_handle;
            }
            C::FederationRestored => member.federate = member.restored_as,
            callback => {
                if let Some(time) = &mut member.time {
                    time.note_callback(callback);
                }
            }
        }
    }
}

impl Member {
    fn new(federate: FederateHandle, implementation: TimeImplementation, again: bool) -> Self {
        let objects = Objects::default();
        let time = (!again).then(|| Time::new(implementation));
        Self { federate, implementation, is_certain: true, restored_as: federate, objects, time }
    }

    fn judge(&self, call: &Call, advances_refused: u64) -> Judgement {
        use ObjectCall as C;
        match call {
            Call::Time(call) => {
                self.time.as_ref().map_or(Ok(()), |time| time.judge(call, advances_refused))
            }
            Call::Object(call) => match call {
                C::UpdateAttributeValues { object_instance, attribute_values, .. } => {
                    self.objects.update(*object_instance, attribute_values).map(drop)
                }
                C::UpdateAttributeValuesWithTime {
                    object_instance,
                    attribute_values,
                    time,
                    ..
                } => {
                    let passes = self.objects.update(*object_instance, attribute_values)?;
                    if passes { self.stamp(*time) } else { Ok(()) }
                }
                C::SendInteraction { interaction_class, parameter_values, .. } => {
                    self.objects.interaction(*interaction_class, parameter_values).map(drop)
                }
                C::SendInteractionWithTime {
                    interaction_class, parameter_values, time, ..
                } => {
                    let passes = self.objects.interaction(*interaction_class, parameter_values)?;
                    if passes { self.stamp(*time) } else { Ok(()) }
                }
                C::DeleteObjectInstanceWithTime { object_instance, time, .. }
                    if self.objects.has(*object_instance) =>
                {
                    self.stamp(*time)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn stamp(&self, time: EncodedTime) -> Judgement {
        self.time.as_ref().map_or(Ok(()), |own| own.stamp(time))
    }
}

fn needs_no_member(call: &Call) -> Judgement {
    let exception = Exception::FederateNotExecutionMember;
    if call.entry().exceptions.contains(&exception) { Err(exception.into()) } else { Ok(()) }
}
