//! Saves and restores of a world: what is restored is what was saved, and the world goes on with it.

use hemiola_hla::Exception;
use hemiola_hla::call::{FederationCall, TimeCall};
use hemiola_rti::{Image, Input, SessionId};

use super::Run;

/// The label of every save.
const LABEL: &str = "again";

impl Run {
    /// Saves the federation, restores it and saves it again: both images are the same. In some cases a federate is lost
    /// on the way, and the world goes on as if nothing had been requested.
    pub(super) fn save_and_restore(&mut self) {
        self.work_off();
        let Some(saved) = self.save() else { return };
        // A manager is told of the save, so its own state is newer than the one that was saved.
        if self.manager.is_some() || !self.restore(&saved) {
            return;
        }
        if let Some(again) = self.save() {
            assert!(saved == again, "what was restored is not what was saved");
        }
    }

    fn members(&self) -> Vec<SessionId> {
        let peers = self.peers.iter().map(|peer| peer.fed.session);
        let manager = self.manager.as_ref().map(|manager| manager.session());
        peers.chain(manager).collect()
    }

    /// Loses a federate in some cases. Returns whether it did.
    fn may_lose(&mut self) -> bool {
        let loses = !self.peers.is_empty() && self.saves.below(100) == 0;
        if loses {
            let at = self.saves.below(self.peers.len() as u64) as usize;
            self.lose(at);
            self.work_off();
        }
        loses
    }

    /// Has every federate make these calls, one after the other. Returns `false` if one was lost.
    fn all_call(&mut self, calls: &[FederationCall], refusal: Exception) -> bool {
        for call in calls {
            for session in self.members() {
                if self.may_lose() {
                    return false;
                }
                let other = self.call(session, TimeCall::QueryLogicalTime);
                assert_eq!(other, Err(refusal));
                self.call(session, call.clone()).unwrap();
                self.drain();
            }
        }
        true
    }

    fn save(&mut self) -> Option<Image> {
        let first = *self.members().first()?;
        let request = FederationCall::RequestFederationSave { label: LABEL.into() };
        self.call(first, request).unwrap();
        self.drain();
        let calls = [FederationCall::FederateSaveBegun, FederationCall::FederateSaveComplete];
        if !self.all_call(&calls, Exception::SaveInProgress) {
            return None;
        }
        self.work_off();
        let (id, image) = self.storing.take().expect("all have saved");
        let is_lost = self.may_lose();
        self.input(Input::Stored(id, Ok(())));
        self.work_off();
        (!is_lost).then_some(image)
    }

    fn restore(&mut self, image: &Image) -> bool {
        let Some(first) = self.members().first().copied() else { return false };
        let request = FederationCall::RequestFederationRestore { label: LABEL.into() };
        self.call(first, request).unwrap();
        let id = self.loading.take().expect("it was requested");
        self.input(Input::Loaded(id, Ok(image.clone())));
        self.work_off();
        let calls = [FederationCall::FederateRestoreComplete];
        // The last one ends the restore.
        let is_restored = self.all_call(&calls, Exception::RestoreInProgress);
        self.work_off();
        is_restored
    }
}
