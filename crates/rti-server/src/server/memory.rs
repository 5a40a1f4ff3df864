//! The memory account: what sessions, federations and modules use together, and its limit.
//!
//! ```text
//!  0 ───────────────────────────────────────── 3/4 ─────────────── memory_max
//!  federations: calls are refused from 7/8 of this on │ always left for sessions
//! ```
//!
//! The last eighth of what calls may use is for sessions that hold little.
//!
//! Reading and merging an object model may take half of the memory that is left. It is on the account until the thread
//! has finished, so the other half is for all others meanwhile. What a small one takes is not on the account.
//!
//! A call that makes a federation grow beyond a quota is refused: that harms nobody but the caller. The quotas are
//! those of the calling session, of the federation, and of all federations together. The memory of sessions (messages
//! that wait or are not acknowledged, parts of calls) cannot be refused; if it exceeds the rest, the session that uses
//! most ends.

use hemiola_rti::{Room, SessionId};
use hemiola_units::Span;

use super::Server;
use crate::report::{MemoryReport, RefusalReport};
use crate::settings::Settings;

/// Freed memory that is worth giving back at once, in bytes. Giving back more at once would delay the federates.
const TRIM_LEN: usize = 16 << 20;
/// Freed memory that is worth giving back when this time has passed since memory was last given back, in bytes. The
/// thread's own cache can hold a few of these.
const TRIM_LATER_LEN: usize = 1 << 20;
const TRIM_LATER: Span = Span::from_millis(1000);

impl Server {
    /// What the kernel may take with a call of this length.
    pub(super) fn room(&self, call_len: usize) -> Room {
        let whole = self.settings.memory_max;
        let others = self.memory_used() - self.kernel.memory_len() + self.discards.memory();
        let left = whole.saturating_sub(others);
        // Federations that are being dropped are no longer the kernel's, and still hold memory.
        let kernel = left.min(whole - whole / 4).saturating_sub(self.kernel.retired_len());
        Room { kernel, session: self.settings.session_memory_max, call_len }
    }

    /// Charges the memory account with what a session uses now. Beyond the limit, the session that uses most ends.
    pub(super) fn charge(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let rest =
            session.connection.and_then(|connection| self.connections.by_id.get(&connection));
        let large_len = session.large_len();
        let memory = session.memory() + rest.map_or(0, |connection| connection.rest_len());
        let preparing = session.preparing_memory();
        let before = std::mem::replace(&mut session.charged, (memory, preparing));
        self.sessions.memory = self.sessions.memory - before.0 + memory;
        self.sessions.preparing = self.sessions.preparing - before.1 + preparing;
        let released = self.gate.hold(id, large_len, self.settings.incoming_len_max);
        self.read_again(released);
        if self.memory_used() > self.settings.memory_max {
            let charged = |memory: (usize, usize)| memory.0 + memory.1;
            let sessions = self.sessions.by_id.iter();
            let largest = sessions.max_by_key(|(_, session)| charged(session.charged));
            if let Some((id, session)) = largest
                && session.ending.eviction.is_none()
            {
                let reason = "all sessions together use too much memory, and this one uses most";
                self.schedule.evictions.push_back((*id, reason));
            }
        }
    }

    /// Takes a session that is forgotten off the account.
    pub(super) fn discharge(&mut self, (memory, preparing): (usize, usize)) {
        self.sessions.memory -= memory;
        self.sessions.preparing -= preparing;
    }

    /// Whether the shell should give freed memory back to the system: much was freed since it last did so, or something
    /// was freed and a second has passed.
    pub fn trim_is_due(&mut self) -> bool {
        // What reading a model takes is another thread's.
        let used = self.memory_used() - self.preparations.memory();
        let freed = self.sessions.memory_before.saturating_sub(used);
        let later = self.sessions.trimmed + TRIM_LATER;
        let is_due = freed >= TRIM_LEN || freed >= TRIM_LATER_LEN && later <= self.now;
        if is_due {
            self.sessions.trimmed = self.now;
        } else if freed >= TRIM_LATER_LEN {
            self.schedule.wake_by(later);
        }
        if is_due || used > self.sessions.memory_before {
            self.sessions.memory_before = used;
        }
        is_due
    }

    /// The memory that everything on the account uses, in bytes, except calls that are being dropped.
    fn memory_used(&self) -> usize {
        self.sessions.memory + self.preparing() + self.kernel.memory_len()
    }

    /// The memory of the calls that wait for their object models, and what reading and merging models may take.
    fn preparing(&self) -> usize {
        self.sessions.preparing + self.preparations.memory()
    }

    /// The memory that nobody uses, in bytes. Federations and calls that are being dropped still hold theirs.
    pub(super) fn left(&self) -> usize {
        let used = self.memory_used() + self.discards.memory();
        self.settings.memory_max.saturating_sub(used)
    }

    /// Reports the memory by holder.
    pub(super) fn memory_report(&self) -> MemoryReport {
        let Settings { memory_max, session_memory_max, limits, .. } = self.settings;
        let refused = self.kernel.refusals();
        MemoryReport {
            limit: memory_max,
            limited_by: self.identity.memory_limited_by.clone(),
            session_limit: session_memory_max,
            federation_limit: limits.federation_len,
            used: self.memory_used(),
            sessions: self.sessions.memory,
            federations: self.kernel.memory_len(),
            preparations: self.preparing(),
            refused: RefusalReport {
                session: refused.session,
                federation: refused.federation,
                process: refused.process,
            },
        }
    }

    /// Checks that the account is what is held, counted anew. Tests call it after every turn.
    ///
    /// # Panics
    /// It is not.
    pub(super) fn check_memory(&self) {
        let sessions = self.sessions.by_id.values();
        let (memory, preparing) = sessions
            .fold((0, 0), |sum, session| (sum.0 + session.charged.0, sum.1 + session.charged.1));
        assert_eq!(self.sessions.memory, memory, "the account is the sum of what is charged");
        assert_eq!(self.sessions.preparing, preparing);
        for (id, session) in &self.sessions.by_id {
            let connection = session.connection.and_then(|one| self.connections.by_id.get(&one));
            let rest = connection.map_or(0, |connection| connection.rest_len());
            assert_eq!(
                session.charged,
                (session.memory() + rest, session.preparing_memory()),
                "{id:?} is charged with what it holds"
            );
        }
    }
}
