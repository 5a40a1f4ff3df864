//! Saves and restores in progress (clauses 4.19 to 4.35).
//!
//! ```text
//! save:    scheduled? → draining → federates save → writing → storing → saved
//! restore: loading → reading → draining → federates restore → replacing → restored
//! ```
//!
//! From *draining* on, the federation is frozen: calls are refused with `SaveInProgress` or `RestoreInProgress` as
//! their lists say, no time is granted, and the management object model is silent. Unfinished jobs end before the
//! federates are asked to save or restore. A failure ends the whole with one callback to every federate, and the
//! federation goes on as before: a restore replaces its state only when all federates have restored.
//!
//! A save at a time waits until every time-constrained federate has reached that time: it has been granted it, or waits
//! for a later time while no further message can come before. No such federate is granted a later time until then.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::status::{RestoreFailureReason, RestoreStatus, SaveFailureReason, SaveStatus};
use hemiola_hla::{Call, Callback, Exception, FederateHandle, LogicalTime, Refusal};

use crate::federate::Federate;
use crate::federation::Federation;
use crate::image::{Image, Reading, Writing};
use crate::input::{Effect, SaveName, SessionId, StorageId};
use crate::memory::{Charge, can_hold};
use crate::mom;
use crate::notice::Notice;
use crate::services::object;
use crate::session::{Member, Session};
use crate::time::TimeState;

/// Bytes of an image that cost as much as a unit of work.
const BYTES_PER_UNIT: u64 = 64;

/// The memory of a federation that is read, in lengths of its image.
const EXPANSION: usize = 6;

/// The saves and restores of a federation: scheduled, in progress, and the last one.
#[derive(Debug, Default)]
pub(crate) struct Saving {
    /// A save that waits for its time.
    scheduled: Option<(String, LogicalTime)>,
    progress: Progress,
    /// Whether calls are refused because of what is in progress.
    is_frozen: bool,
    /// The last save, and its time if it had one.
    last: Option<(String, Option<LogicalTime>)>,
    /// The number of requests to the storage so far.
    requests: u64,
    /// The federation before a restore, until the kernel retires it.
    replaced: Option<Box<Federation>>,
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Nothing,
    Save(Box<Save>),
    Restore(Box<Restore>),
}

/// A save in progress.
#[derive(Debug)]
struct Save {
    label: String,
    time: Option<LogicalTime>,
    phase: SavePhase,
    /// The federates that have been asked to save.
    federates: BTreeMap<FederateHandle, SaveStatus>,
    /// For the image.
    charge: Charge,
}

#[derive(Debug)]
enum SavePhase {
    /// Unfinished jobs end.
    Draining,
    /// The federates save.
    Federates,
    Writing(Box<Writing>),
    Storing(StorageId),
}

/// A restore in progress.
#[derive(Debug)]
struct Restore {
    label: String,
    requested_by: FederateHandle,
    phase: RestorePhase,
    federates: BTreeMap<FederateHandle, Restoring>,
    /// For the image and the federation that it makes.
    charge: Charge,
}

#[derive(Debug)]
enum RestorePhase {
    Loading(StorageId),
    Reading(Box<Reading>),
    /// Unfinished jobs end.
    Draining(Box<Federation>),
    /// The federates restore.
    Federates(Box<Federation>),
}

/// A federate during a restore.
#[derive(Clone, Copy, Debug)]
struct Restoring {
    /// Its handle afterwards.
    after: FederateHandle,
    status: RestoreStatus,
}

impl Saving {
    /// Whether no save is scheduled and nothing is in progress.
    pub(crate) const fn is_idle(&self) -> bool {
        self.scheduled.is_none() && matches!(self.progress, Progress::Nothing)
    }

    /// Whether calls are refused because of what is in progress.
    pub(crate) const fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// Whether an image is being written or read.
    pub(crate) fn has_work(&self) -> bool {
        match &self.progress {
            Progress::Nothing => false,
            Progress::Save(save) => matches!(save.phase, SavePhase::Writing(_)),
            Progress::Restore(restore) => matches!(restore.phase, RestorePhase::Reading(_)),
        }
    }

    /// Checks the charge for an image. Returns it.
    pub(crate) fn check_memory(&self) -> usize {
        match &self.progress {
            Progress::Nothing => 0,
            Progress::Save(save) => {
                if let SavePhase::Writing(writing) = &save.phase {
                    assert_eq!(save.charge.len(), writing.held(), "what is written is charged");
                }
                save.charge.len()
            }
            Progress::Restore(restore) => restore.charge.len(),
        }
    }

    /// Refuses a call that the standard does not allow during what is in progress.
    pub(crate) fn admits(&self, call: &Call) -> Result<(), Refusal> {
        let exception = match &self.progress {
            Progress::Nothing => return Ok(()),
            Progress::Save(_) => Exception::SaveInProgress,
            Progress::Restore(_) => Exception::RestoreInProgress,
        };
        // While an image is being looked for, only one of the two services is refused that would compete with it.
        let is_refused = (self.is_frozen || call.requests_save_or_restore())
            && call.entry().exceptions.contains(&exception);
        if is_refused { Err(exception.into()) } else { Ok(()) }
    }

    /// Refuses a federate that wants to join.
    pub(crate) fn is_open(&self) -> Result<(), Refusal> {
        match &self.progress {
            Progress::Save(_) => Err(Exception::SaveInProgress.into()),
            Progress::Restore(_) if self.is_frozen => Err(Exception::RestoreInProgress.into()),
            _ => Ok(()),
        }
    }

    /// Whether a federate may not be granted what it waits for, because a save comes first.
    pub(crate) fn holds(&self, state: &TimeState) -> bool {
        let Some((_, time)) = &self.scheduled else { return false };
        let advance = state.advance().filter(|_| state.constrained);
        advance.is_some_and(|advance| state.destination(advance) > *time)
    }

    pub(crate) const fn has_replaced(&self) -> bool {
        self.replaced.is_some()
    }

    pub(crate) const fn take_replaced(&mut self) -> Option<Box<Federation>> {
        self.replaced.take()
    }

    /// The label of the last save, for the management object model.
    pub(crate) fn last_label(&self) -> &str {
        self.last.as_ref().map_or("", |(label, _)| label)
    }

    pub(crate) fn last_time(&self) -> Option<LogicalTime> {
        self.last.as_ref().and_then(|(_, time)| *time)
    }

    /// The label of the scheduled save, for the management object model.
    pub(crate) fn next_label(&self) -> &str {
        self.scheduled.as_ref().map_or("", |(label, _)| label)
    }

    pub(crate) fn next_time(&self) -> Option<LogicalTime> {
        self.scheduled.as_ref().map(|(_, time)| *time)
    }

    /// The status of a federate during a save.
    pub(crate) fn save_status(&self, federate: FederateHandle) -> SaveStatus {
        let Progress::Save(save) = &self.progress else { return SaveStatus::NoSaveInProgress };
        save.federates.get(&federate).copied().unwrap_or(SaveStatus::NoSaveInProgress)
    }

    /// The handle of a federate after a restore, and its status.
    pub(crate) fn restore_status(
        &self,
        federate: FederateHandle,
    ) -> (FederateHandle, RestoreStatus) {
        let none = (FederateHandle::INVALID, RestoreStatus::NoRestoreInProgress);
        let Progress::Restore(restore) = &self.progress else { return none };
        match restore.federates.get(&federate) {
            Some(one) => (one.after, one.status),
            None if restore.requested_by == federate => {
                (FederateHandle::INVALID, RestoreStatus::FederateRestoreRequestPending)
            }
            None => none,
        }
    }

    /// Whether a federation save is in progress.
    pub(crate) const fn is_saving(&self) -> bool {
        matches!(self.progress, Progress::Save(_))
    }

    /// Whether a federation restore has begun.
    pub(crate) const fn is_restoring(&self) -> bool {
        matches!(self.progress, Progress::Restore(_)) && self.is_frozen
    }

    /// Changes the status of a federate that saves. Returns `false` if it had another one than expected.
    pub(crate) fn change_save_status(
        &mut self,
        federate: FederateHandle,
        from: SaveStatus,
        to: SaveStatus,
    ) -> bool {
        let Progress::Save(save) = &mut self.progress else { return false };
        let status = save.federates.get_mut(&federate).filter(|status| **status == from);
        status.map(|status| *status = to).is_some()
    }

    /// The same of a federate that restores.
    pub(crate) fn change_restore_status(
        &mut self,
        federate: FederateHandle,
        from: RestoreStatus,
        to: RestoreStatus,
    ) -> bool {
        let Progress::Restore(restore) = &mut self.progress else { return false };
        let found = restore.federates.get_mut(&federate).filter(|one| one.status == from);
        found.map(|one| one.status = to).is_some()
    }
}

/// Sends a callback to every federate that is not leaving.
fn tell_all(federation: &mut Federation, callback: Callback) {
    let notice = Arc::new(Notice::new(callback));
    for federate in staying(federation) {
        federation.send_notice(federate, Arc::clone(&notice));
    }
}

fn staying(federation: &Federation) -> Vec<FederateHandle> {
    let staying = federation.federates().filter(|(_, one)| one.is_staying());
    staying.map(|(handle, _)| handle).collect()
}

/// Tells operators why something did not take place.
fn report(federation: &mut Federation, label: &str, reason: String) {
    let name = SaveName { federation: federation.name.clone(), label: label.to_owned() };
    federation.outbox.push(Effect::Failed(name, reason));
}

/// Sends a request to the storage.
fn request(
    federation: &mut Federation,
    label: &str,
    effect: impl FnOnce(StorageId, SaveName) -> Effect,
) -> StorageId {
    federation.saving.requests += 1;
    let id = StorageId { federation: federation.id, number: federation.saving.requests };
    let name = SaveName { federation: federation.name.clone(), label: label.to_owned() };
    federation.outbox.push(effect(id, name));
    id
}

/// Nothing is left to be done for the calls so far.
fn is_settled(federation: &Federation) -> bool {
    federation.jobs.is_empty() && federation.released.is_empty() && mom::is_settled(federation)
}

/// Ends what was in progress.
fn thaw(federation: &mut Federation) {
    federation.saving.progress = Progress::Nothing;
    federation.saving.is_frozen = false;
    federation.time_changed = true;
    mom::states_changed(federation);
}

/// Does the next step of what is scheduled or in progress. Returns whether there was one.
pub(crate) fn proceed(
    federation: &mut Federation,
    sessions: &mut BTreeMap<SessionId, Session>,
) -> bool {
    match std::mem::take(&mut federation.saving.progress) {
        Progress::Nothing => check_scheduled(federation),
        Progress::Save(save) => proceed_save(federation, save),
        Progress::Restore(restore) => proceed_restore(federation, restore, sessions),
    }
}

/// A federate begins to leave.
pub(crate) fn left(federation: &mut Federation, federate: FederateHandle) {
    let saving = &federation.saving;
    if saving.is_saving() {
        fail_save(federation, SaveFailureReason::FederateResignedDuringSave);
    } else if saving.is_restoring() {
        fail_restore(federation, RestoreFailureReason::FederateResignedDuringRestore);
    } else if let Progress::Restore(restore) = &saving.progress
        && restore.requested_by == federate
    {
        federation.saving.progress = Progress::Nothing;
    }
}

// Saves.

/// Schedules a save in place of one that was scheduled before.
pub(crate) fn schedule(federation: &mut Federation, label: String, time: LogicalTime) {
    federation.saving.scheduled = Some((label, time));
    federation.time_changed = true;
    mom::saves_changed(federation);
}

/// Begins a save, in place of one that was scheduled.
pub(crate) fn begin_save(federation: &mut Federation, label: String, time: Option<LogicalTime>) {
    let charge = Charge::new(&federation.account, 0);
    let federates = BTreeMap::new();
    let save = Save { label, time, phase: SavePhase::Draining, federates, charge };
    let saving = &mut federation.saving;
    saving.scheduled = None;
    saving.progress = Progress::Save(Box::new(save));
    saving.is_frozen = true;
    mom::states_changed(federation);
}

/// Begins the scheduled save if every time-constrained federate has reached its time, and gives it up if one has passed
/// it.
fn check_scheduled(federation: &mut Federation) -> bool {
    let Some(time) = federation.saving.next_time() else { return false };
    if staying(federation).is_empty() {
        federation.saving.scheduled = None;
        return false;
    }
    let galts = federation.galts();
    let constrained =
        || federation.federates().filter(|(_, one)| one.is_staying() && one.time.constrained);
    let has_reached = |(handle, federate): (FederateHandle, &Federate)| {
        let state = &federate.time;
        let is_beyond = state.advance().is_some_and(|one| state.destination(one) > time);
        let is_complete = galts.galt(handle).is_none_or(|galt| !galt.allows(time));
        state.now() == time || federate.jobs == 0 && is_beyond && is_complete
    };
    let is_passed = constrained().any(|(_, federate)| federate.time.now() > time);
    if !is_passed && !constrained().all(has_reached) {
        return false;
    }
    let scheduled = federation.saving.scheduled.take();
    federation.time_changed = true;
    if is_passed {
        let reason = SaveFailureReason::SaveTimeCannotBeHonored;
        tell_all(federation, Callback::FederationNotSaved { reason });
        mom::saves_changed(federation);
    } else if let Some((label, time)) = scheduled {
        mom::saves_changed(federation);
        begin_save(federation, label, Some(time));
    }
    true
}

fn proceed_save(federation: &mut Federation, mut save: Box<Save>) -> bool {
    let (mut has_gone_on, have_saved) = (true, has_saved(&save));
    match &mut save.phase {
        SavePhase::Draining if is_settled(federation) => {
            initiate_save(federation, &mut save);
            save.phase = SavePhase::Federates;
        }
        SavePhase::Federates if have_saved => {
            let writing = Writing::new(federation, &save.label);
            save.charge.grow(writing.held());
            save.phase = SavePhase::Writing(Box::new(writing));
        }
        SavePhase::Writing(writing) if federation.budget > 0 => {
            let image = write(federation, writing);
            let written = image.as_ref().map(|image| image.bytes().len());
            let len = written.unwrap_or(writing.len());
            save.charge.change(save.charge.len(), written.unwrap_or(writing.held()));
            let limit = federation.limits.image_len;
            if len > limit || !can_hold(federation, 0) {
                let reason =
                    format!("the image takes more memory than is left: {len} bytes so far");
                report(federation, &save.label, reason);
                federation.saving.progress = Progress::Save(save);
                fail_save(federation, SaveFailureReason::RtiUnableToSave);
                return true;
            }
            if let Some(image) = image {
                let store = |id, name| Effect::Store(id, name, image);
                save.phase = SavePhase::Storing(request(federation, &save.label, store));
            }
        }
        _ => has_gone_on = false,
    }
    federation.saving.progress = Progress::Save(save);
    has_gone_on
}

fn initiate_save(federation: &mut Federation, save: &mut Save) {
    let label = save.label.clone();
    let callback = match save.time {
        None => Callback::InitiateFederateSave { label },
        Some(time) => Callback::InitiateFederateSaveWithTime { label, time: time.into() },
    };
    let asked = staying(federation).into_iter();
    save.federates = asked.map(|one| (one, SaveStatus::FederateInstructedToSave)).collect();
    tell_all(federation, callback);
}

fn has_saved(save: &Save) -> bool {
    let waits = |one: &SaveStatus| *one == SaveStatus::FederateWaitingForFederationToSave;
    save.federates.values().all(waits)
}

/// Writes as much of an image as the budget allows. Returns it at the end.
fn write(federation: &mut Federation, writing: &mut Writing) -> Option<Image> {
    while federation.budget > 0 {
        let before = writing.position();
        if let Some(image) = writing.step(federation) {
            return Some(image);
        }
        federation.spend(1 + (writing.position() - before) as u64 / BYTES_PER_UNIT);
    }
    None
}

/// The storage has answered.
pub(crate) fn stored(federation: &mut Federation, id: StorageId, result: Result<(), String>) {
    let Progress::Save(save) = &federation.saving.progress else { return };
    if !matches!(save.phase, SavePhase::Storing(expected) if expected == id) {
        return;
    }
    let (label, time) = (save.label.clone(), save.time);
    match result {
        Ok(()) => {
            federation.saving.last = Some((label, time));
            tell_all(federation, Callback::FederationSaved);
            thaw(federation);
            mom::saves_changed(federation);
        }
        Err(reason) => {
            report(federation, &label, reason);
            fail_save(federation, SaveFailureReason::RtiDetectedFailureDuringSave);
        }
    }
}

/// Ends a save for this reason.
pub(crate) fn fail_save(federation: &mut Federation, reason: SaveFailureReason) {
    tell_all(federation, Callback::FederationNotSaved { reason });
    thaw(federation);
}

// Restores.

/// Begins to look for an image.
pub(crate) fn request_restore(federation: &mut Federation, me: FederateHandle, label: String) {
    let id = request(federation, &label, Effect::Load);
    let charge = Charge::new(&federation.account, 0);
    let (phase, federates) = (RestorePhase::Loading(id), BTreeMap::new());
    let restore = Restore { label, requested_by: me, phase, federates, charge };
    federation.saving.progress = Progress::Restore(Box::new(restore));
}

/// The storage has answered.
pub(crate) fn loaded(federation: &mut Federation, id: StorageId, result: Result<Image, String>) {
    let Progress::Restore(restore) = &mut federation.saving.progress else { return };
    if !matches!(restore.phase, RestorePhase::Loading(expected) if expected == id) {
        return;
    }
    let label = restore.label.clone();
    let reading = result.and_then(|image| {
        let len = image.bytes().len();
        let needed = len.saturating_mul(EXPANSION);
        if len > federation.limits.image_len || !can_hold(federation, needed) {
            return Err(format!("it needs {needed} bytes of memory, more than is left"));
        }
        Ok((Reading::new(federation, &label, image)?, needed))
    });
    match reading {
        Ok((reading, needed)) => {
            let Progress::Restore(restore) = &mut federation.saving.progress else { return };
            restore.charge.grow(needed);
            restore.phase = RestorePhase::Reading(Box::new(reading));
        }
        Err(reason) => fail_request(federation, reason),
    }
}

/// Tells the federate that requested a restore that there will be none.
fn fail_request(federation: &mut Federation, reason: String) {
    let progress = std::mem::take(&mut federation.saving.progress);
    let Progress::Restore(restore) = progress else { return };
    report(federation, &restore.label, reason);
    let callback = Callback::RequestFederationRestoreFailed { label: restore.label };
    federation.send_callback(restore.requested_by, callback);
}

fn proceed_restore(
    federation: &mut Federation,
    mut restore: Box<Restore>,
    sessions: &mut BTreeMap<SessionId, Session>,
) -> bool {
    let mut has_gone_on = true;
    restore.phase = match restore.phase {
        RestorePhase::Reading(mut reading) if federation.budget > 0 => {
            let read = read(federation, &mut reading);
            let accepted = match read {
                Ok(false) => None,
                Ok(true) => Some(accept(federation, &reading).map(|all| restore.federates = all)),
                Err(reason) => Some(Err(reason)),
            };
            match accepted {
                None => RestorePhase::Reading(reading),
                Some(Ok(())) => {
                    let label = restore.label.clone();
                    let callback = Callback::RequestFederationRestoreSucceeded { label };
                    federation.send_callback(restore.requested_by, callback);
                    federation.saving.is_frozen = true;
                    mom::states_changed(federation);
                    RestorePhase::Draining(reading.into_federation())
                }
                Some(Err(reason)) => {
                    restore.phase = RestorePhase::Reading(reading);
                    federation.saving.progress = Progress::Restore(restore);
                    fail_request(federation, reason);
                    return true;
                }
            }
        }
        RestorePhase::Draining(staged) if is_settled(federation) => {
            initiate_restore(federation, &staged, &restore.label, &mut restore.federates);
            RestorePhase::Federates(staged)
        }
        RestorePhase::Federates(staged) if has_restored(&restore.federates) => {
            replace(federation, staged, &restore.federates, sessions);
            return true;
        }
        phase => {
            has_gone_on = false;
            phase
        }
    };
    federation.saving.progress = Progress::Restore(restore);
    has_gone_on
}

/// Reads as much of an image as the budget allows. Returns whether that was all.
fn read(federation: &mut Federation, reading: &mut Reading) -> Result<bool, String> {
    while federation.budget > 0 {
        let before = reading.position();
        if reading.step()? {
            return Ok(true);
        }
        federation.spend(1 + (reading.position() - before) as u64 / BYTES_PER_UNIT);
    }
    Ok(false)
}

/// Finds a joined federate of the same type for each federate of an image, if possible the one of the same name.
fn accept(
    federation: &Federation,
    reading: &Reading,
) -> Result<BTreeMap<FederateHandle, Restoring>, String> {
    let staged = reading.federation();
    if !Arc::ptr_eq(&federation.model, &staged.model) {
        return Err("the object model of the federation has changed meanwhile".into());
    }
    let mut free = staying(federation);
    let mut assigned = BTreeMap::new();
    let status = RestoreStatus::FederateWaitingForRestoreToBegin;
    for by_name in [true, false] {
        for (after, saved) in staged.federates() {
            if assigned.values().any(|one: &Restoring| one.after == after) {
                continue;
            }
            let fits = |handle: &FederateHandle| {
                let present = federation.federate(*handle);
                present.federate_type == saved.federate_type
                    && (!by_name || present.name == saved.name)
            };
            if let Some(at) = free.iter().position(fits) {
                assigned.insert(free.remove(at), Restoring { after, status });
            }
        }
    }
    let missing = staged.joined().len() - assigned.len();
    if missing > 0 || !free.is_empty() {
        let (saved, more) = (staged.joined().len(), free.len());
        return Err(format!(
            "the joined federates do not have the types of the {saved} that were saved: {missing} are missing, {more} \
             too many"
        ));
    }
    Ok(assigned)
}

fn initiate_restore(
    federation: &mut Federation,
    staged: &Federation,
    label: &str,
    federates: &mut BTreeMap<FederateHandle, Restoring>,
) {
    tell_all(federation, Callback::FederationRestoreBegun);
    for (handle, restoring) in federates {
        restoring.status = RestoreStatus::FederateRestoring;
        let callback = Callback::InitiateFederateRestore {
            label: label.to_owned(),
            federate_name: staged.federate(restoring.after).name.clone(),
            post_restore_federate_handle: restoring.after,
        };
        federation.send_callback(*handle, callback);
    }
}

fn has_restored(federates: &BTreeMap<FederateHandle, Restoring>) -> bool {
    let waits = RestoreStatus::FederateWaitingForFederationToRestore;
    federates.values().all(|one| one.status == waits)
}

/// Replaces the federation by the one that was read. Its federates get the sessions of the present ones.
fn replace(
    federation: &mut Federation,
    staged: Box<Federation>,
    federates: &BTreeMap<FederateHandle, Restoring>,
    sessions: &mut BTreeMap<SessionId, Session>,
) {
    let before = Box::new(std::mem::replace(federation, *staged));
    let reserved = reserved(federation);
    for (handle, Restoring { after, .. }) in federates {
        let present = before.federate(*handle);
        let state = sessions.get_mut(&present.session).expect("a joined federate has a session");
        state.member = Some(Member { federation: before.id, federate: *after });
        let account = state.accounts.in_federation_of(&federation.account);
        let federate = federation.federate_mut(*after);
        let names = reserved.get(after).copied().unwrap_or_default();
        federate.charge = Charge::new(&account, federate.counted_len(names));
        federate.account = account;
        federate.session = present.session;
        federate.host = Arc::clone(&present.host);
        federate.edition = present.edition;
        federate.bring(present.modules.clone());
    }
    federation.take_over(before);
    // Their names and switches are those of the save.
    federates.values().for_each(|one| mom::begin_report_file(federation, one.after));
    tell_all(federation, Callback::FederationRestored);
    mom::states_changed(federation);
    mom::saves_changed(federation);
}

/// The memory of the reserved names of each federate.
fn reserved(federation: &Federation) -> BTreeMap<FederateHandle, usize> {
    let mut reserved = BTreeMap::new();
    for (name, by) in federation.reserved_names() {
        *reserved.entry(by).or_default() += object::reserved_len(name);
    }
    reserved
}

impl Federation {
    /// Takes over from the federation before what does not depend on its state.
    fn take_over(&mut self, mut before: Box<Self>) {
        self.id = before.id;
        self.creation = before.creation;
        self.mim.clone_from(&before.mim);
        self.report_files = before.report_files.take();
        self.now = before.now;
        self.budget = before.budget;
        self.allowance = before.allowance;
        self.is_answer_due = before.is_answer_due;
        self.refusals.set(before.refusals.take());
        self.outbox = std::mem::take(&mut before.outbox);
        self.answers = std::mem::take(&mut before.answers);
        self.saving.last = before.saving.last.take();
        self.saving.requests = before.saving.requests;
        self.saving.replaced = Some(before);
    }
}

/// Ends a restore for this reason. The federation goes on as before.
pub(crate) fn fail_restore(federation: &mut Federation, reason: RestoreFailureReason) {
    tell_all(federation, Callback::FederationNotRestored { reason });
    thaw(federation);
}
