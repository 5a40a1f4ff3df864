//! The part of a spool that is in a file: what is stored when, and what the shell reports about it.

use hemiola_rti::SessionId;

use super::Server;
use crate::chunk::SpoolChunk;
use crate::network::Network;
use crate::session::PendingOutput;
use crate::settings::Settings;

/// The length of a part, in bytes of memory.
const CHUNK_LEN: usize = 1 << 20;

impl Server {
    /// Moves messages to the file while a spool uses more than a quarter of its memory and the file has room.
    pub(super) fn spill(&mut self, network: &mut dyn Network, id: SessionId) {
        let Settings { backlog_len_max, spool_file_max, .. } = self.settings;
        let chunk_len = CHUNK_LEN.min(backlog_len_max / 8);
        while let Some(session) = self.sessions.by_id.get_mut(&id)
            && session.spool.in_queue() > backlog_len_max / 4
            && session.spool.file_len() + session.spool.ahead() + chunk_len <= spool_file_max
            && let Some((number, chunk)) = session.spool.take_chunk(chunk_len)
        {
            network.store(id, number, chunk);
            if self.count_slow(id, |count| &mut count.stored) {
                tracing::info!(session = id.0, "the spool of a slow reader continues in a file");
            }
        }
    }

    /// A part of a spool has been stored, or could not be, with the reason in words.
    pub fn stored(&mut self, session: SessionId, chunk: u64, result: Result<(), String>) {
        let Some(found) = self.sessions.by_id.get_mut(&session) else { return };
        match result {
            Ok(()) => found.spool.stored(chunk),
            Err(reason) => self.fail(session, &reason),
        }
        self.mark(session, PendingOutput::Lazy);
    }

    /// A part of a spool has been read, or could not be, with the reason in words.
    pub fn loaded(&mut self, session: SessionId, chunk: u64, result: Result<SpoolChunk, String>) {
        let Some(found) = self.sessions.by_id.get_mut(&session) else { return };
        let failure = match result {
            Ok(messages) if found.spool.loaded(chunk, &messages) => None,
            Ok(_) => Some("its content has changed".to_owned()),
            Err(reason) => Some(reason),
        };
        if let Some(reason) = failure {
            self.fail(session, &reason);
        }
        self.mark(session, PendingOutput::Callback);
    }

    /// Ends a session whose spool file cannot be written or read.
    fn fail(&mut self, session: SessionId, reason: &str) {
        tracing::warn!(session = session.0, reason, "the spool file of a session fails");
        self.schedule.evictions.push_back((session, "its spool file fails"));
    }
}
