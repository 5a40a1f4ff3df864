//! Calls that bring object models: they wait until these have been read and merged outside the loop.

use std::any::Any;

use hemiola_fedpro::{RequestId, message};
use hemiola_hla::{Call, Exception, Refusal};
use hemiola_rti::{Input, Preparation, Prepared, Retired, SessionId};

use super::Server;
use crate::network::{Lane, Network};
use crate::preparations::{Allowance, SMALL_WORK_MAX};
use crate::session::{PendingOutput, PreparingCall};

/// How often a call is prepared again because its federation has changed meanwhile. It changes only if it is destroyed
/// and created again, because all other changes of its model wait for each other.
const ATTEMPTS_MAX: u32 = 3;

/// Calls that are taken from the queue and refused in one turn, because they no longer need their models.
const REFUSED_MAX: usize = 64;

impl Server {
    /// Queues a call whose modules have to be read first.
    pub(super) fn queue_preparation(
        &mut self,
        id: SessionId,
        request: RequestId,
        call: Call,
        job: &Preparation,
    ) {
        let session = self.sessions.by_id.get_mut(&id).expect("it made a call");
        let preparing = PreparingCall { request, call, memory: job.memory(), attempts: 1 };
        session.calls.preparing = Some(Box::new(preparing));
        self.preparations.add(id, job.federation(), job.work());
        self.schedule.preparations_due = true;
    }

    /// Starts the preparations for which there is a thread.
    pub(super) fn start_preparations(&mut self, network: &mut dyn Network) {
        for _ in 0..REFUSED_MAX {
            let Some((lane, federation, mut job)) = self.preparations.next() else {
                self.schedule.preparations_due = false;
                return;
            };
            // No module is parsed that would not fit.
            self.input(Input::Room(self.room(0)));
            let Some(session) = self.sessions.by_id.get_mut(&job.session) else { continue };
            let Some(preparing) = &session.calls.preparing else { continue };
            let call = &preparing.call;
            // The federation may have changed since the call was queued.
            let Some(preparation) = self.kernel.preparation(job.session, call) else {
                self.carry_out_prepared(network, job.session, None);
                continue;
            };
            let work = preparation.work();
            if lane == Lane::Express && work > SMALL_WORK_MAX {
                job.work = work;
                self.preparations.put_back(&federation, job);
                continue;
            }
            let allowance = Allowance::of(preparation.work_memory(), self.left());
            self.preparations.start(lane, federation, allowance.accounted);
            network.prepare(lane, job.session, preparation.within(allowance.memory));
        }
    }

    /// A preparation has ended. Its result is lost if there was a panic, with this message.
    pub fn prepared(
        &mut self,
        network: &mut dyn Network,
        lane: Lane,
        session: SessionId,
        result: Result<Prepared, String>,
    ) {
        let (federation, memory) = self.preparations.finish(lane);
        self.schedule.preparations_due = true;
        let found = self.sessions.by_id.get_mut(&session);
        let Some(preparing) = found.and_then(|found| found.calls.preparing.as_mut()) else {
            self.discard(network, result, memory);
            return;
        };
        let prepared = match result {
            Ok(prepared) => prepared,
            Err(message) => {
                tracing::error!(session = session.0, message, "the object model reader panicked");
                let details = format!("an error in the RTI itself: {message}");
                self.refuse_prepared(network, session, details);
                return;
            }
        };
        if self.kernel.is_current(session, &preparing.call, &prepared) {
            for line in prepared.irregularities() {
                tracing::warn!(session = session.0, federation, "irregular object model: {line}");
            }
            self.carry_out_prepared(network, session, Some((prepared, memory)));
            return;
        }
        if preparing.attempts < ATTEMPTS_MAX {
            preparing.attempts += 1;
            let job = self.kernel.preparation(session, &preparing.call);
            let work = job.map_or(0, |job| job.work());
            self.preparations.add(session, &federation, work);
        } else {
            let details = "the federation changed each time its object model had been merged";
            self.refuse_prepared(network, session, format!("{details}: call again"));
        }
        self.discard(network, prepared, memory);
    }

    /// Carries out a call that has waited for its object model, which comes with its memory in bytes, or that no longer
    /// needs it.
    fn carry_out_prepared(
        &mut self,
        network: &mut dyn Network,
        id: SessionId,
        prepared: Option<(Prepared, usize)>,
    ) {
        let Some(preparing) = self.take_preparing(id) else { return };
        let PreparingCall { request, call, memory, .. } = preparing;
        if self.sessions.by_id[&id].is_ending() {
            let model_memory = prepared.as_ref().map_or(0, |(_, memory)| *memory);
            self.discard(network, (call, prepared), memory + model_memory);
        } else {
            if let Some((prepared, _)) = prepared {
                self.input(Input::Prepared(prepared));
            }
            // The kernel drops the call, but not the memory of its modules, which this copy shares.
            let modules = call.clone();
            self.carry_out(id, (request, true), call, 0);
            self.discard(network, modules, memory);
        }
        self.drive(network, id);
    }

    fn refuse_prepared(&mut self, network: &mut dyn Network, id: SessionId, details: String) {
        let Some(preparing) = self.take_preparing(id) else { return };
        self.refuse_call(id, preparing.request, &Exception::RTIinternalError.because(details));
        self.discard(network, preparing.call, preparing.memory);
        self.drive(network, id);
    }

    fn take_preparing(&mut self, id: SessionId) -> Option<PreparingCall> {
        self.sessions.by_id.get_mut(&id)?.calls.preparing.take().map(|preparing| *preparing)
    }

    /// Answers a request that does not reach the kernel.
    pub(super) fn refuse_call(&mut self, id: SessionId, request: RequestId, refusal: &Refusal) {
        let reply = message::encode_reply(0, &Err(refusal.clone()));
        self.send_response(id, request, reply);
        self.mark(id, PendingOutput::Urgent);
    }

    /// Has something dropped outside the loop that takes this much memory, in bytes.
    pub(super) fn discard(
        &mut self,
        network: &mut dyn Network,
        unneeded: impl Any + Send,
        memory: usize,
    ) {
        network.discard(self.discards.add(unneeded, memory));
        self.discarded();
    }

    /// Something that was [given away](Network::discard) has been dropped: there is room again.
    pub fn discarded(&mut self) {
        let released = self.gate.leave(self.discards.memory(), self.settings.incoming_len_max);
        self.read_again(released);
    }

    /// Has everything dropped that the kernel no longer needs.
    pub(super) fn discard_retired(&mut self, network: &mut dyn Network) {
        let retired: Vec<Retired> = self.kernel.take_retired();
        retired.into_iter().for_each(|one| network.discard(one));
    }
}
