//! The limits of a server.

use hemiola_fedpro::Settings as SessionSettings;
use hemiola_rti::Limits;
use hemiola_units::Span;

/// The limits of a server: of its kernel, of each session, and of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The limits of the kernel.
    pub limits: Limits,
    /// The limits and timeouts of a session.
    pub session: SessionSettings,
    /// The maximum number of connections. A further connection replaces the oldest one that carries no session, of the
    /// peer that has most connections; if there is none, it is closed.
    pub connections_max: usize,
    /// The maximum number of connections of one peer, which is less, so that no peer locks others out. A further
    /// connection replaces the peer's oldest one that carries no session.
    pub peer_connections_max: usize,
    /// The maximum number of sessions. A further session replaces one without a connection or without a federate, of
    /// the peer that has most sessions: first one without either, then the oldest of the larger crowd; if there is
    /// none, it is refused.
    pub sessions_max: usize,
    /// The maximum number of sessions of one peer, which is less. A further session replaces one of the same peer.
    pub peer_sessions_max: usize,
    /// The queue of a session from which on it is behind, in bytes of memory: further messages wait in its spool.
    pub behind_len: usize,
    /// The queue of a session from which on it is congested, in bytes of memory: its own calls wait, and it must read.
    pub congested_len: usize,
    /// The maximum memory of a session's queue, in bytes. Before it is reached, the senders that fill it are held;
    /// beyond it the session ends.
    pub backlog_len_max: usize,
    /// The maximum part of a session's spool that is in a file, in bytes of memory that it would take. 0: there is no
    /// file.
    pub spool_file_max: usize,
    /// The maximum length of all files of service reports together, in bytes.
    pub report_len_max: u64,
    /// Which messages a session misses while it is behind.
    pub slow_reader: SlowReaderPolicy,
    /// The memory that everything together may use, in bytes: sessions, federations, and modules that are being parsed.
    /// Federations may take three quarters of it; calls beyond that are refused. Sessions may take what federations
    /// leave; beyond that the session that uses most ends.
    ///
    /// [`Limits::federation_len`] is the quota of a federation.
    pub memory_max: usize,
    /// The memory of large messages that are being received, and of object models that wait to be read, in bytes; at
    /// most an eighth of `memory_max`. Beyond it they are received one after the other. Memory that was freed in the
    /// last second is still resident, and has its place beside it.
    pub incoming_len_max: usize,
    /// The kernel's work on many instances or messages in one turn, in units of about 100 ns. The rest waits for the
    /// next turns, so that other sessions have theirs.
    pub work_max: u64,
    /// The memory that the calls of one session may make federations hold, in bytes. A call beyond it is refused.
    pub session_memory_max: usize,
    /// The longest time for which one call of a sender is held because a receiver is congested.
    pub hold_max: Span,
    /// The time after which a congested session that has read nothing ends.
    pub stall_max: Span,
    /// The time after which a federation is destroyed that has no federate and whose creator's session has ended;
    /// `None`: never, as the standard says.
    pub abandoned_federation_expiry: Option<Span>,
    /// The time for which a detached session without a federate is kept.
    /// [`SessionSettings::resume_window`] applies to sessions with a federate.
    pub idle_resume_window: Span,
    /// Whether object model modules may name what no module defines, because a federate that joins later may define it.
    pub partial_models: bool,
}

/// Which best-effort messages a session misses while it is behind and its connection takes no more. Messages that the
/// object model declares reliable, and all that are sent in time stamp order, arrive in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowReaderPolicy {
    /// None.
    Wait,
    /// Updates that newer ones of the same attributes follow, which may take their place.
    #[default]
    Conflate,
    /// These, and interactions.
    Drop,
}

const MIB: usize = 1 << 20;

/// The default of [`Settings::hold_max`] for an RTI that runs at a real-time priority.
pub const REAL_TIME_HOLD_MAX: Span = Span::from_millis(20);

impl Settings {
    /// Sets the maximum number of sessions, and with it that of connections, since some resume a session or are
    /// refused, and the share of one peer: three quarters, so that others can connect.
    pub fn set_sessions_max(&mut self, sessions_max: usize) {
        self.sessions_max = sessions_max;
        self.connections_max = self.connections_max.max(sessions_max.saturating_mul(2));
        self.peer_connections_max = three_quarters(self.connections_max);
        self.peer_sessions_max = three_quarters(sessions_max);
    }

    /// Sets the maximum number of sessions of one peer. It gets room for connections that resume a session or are
    /// refused, if there is any.
    pub fn set_peer_sessions_max(&mut self, peer_sessions_max: usize) {
        self.peer_sessions_max = peer_sessions_max;
        let both = peer_sessions_max.saturating_mul(2);
        self.peer_connections_max = self.peer_connections_max.max(both).min(self.connections_max);
    }

    /// Sets the memory limit, and the quotas in proportion: a half for one federation, a quarter for one session.
    pub fn set_memory_max(&mut self, memory_max: usize) {
        self.memory_max = memory_max;
        self.limits.federation_len = memory_max / 2;
        self.limits.model_memory = memory_max / 4;
        self.session_memory_max = memory_max / 4;
    }

    /// The settings without contradictions: no part exceeds the whole.
    pub(crate) fn consistent(mut self) -> Self {
        let whole = self.memory_max;
        self.limits.federation_len = self.limits.federation_len.min(whole);
        self.incoming_len_max = self.incoming_len_max.min(whole / 8);
        // Parsing a model takes as much again.
        self.limits.model_memory = self.limits.model_memory.min(whole / 4);
        self.session_memory_max = self.session_memory_max.min(whole);
        // Messages kept for retransmission are worth less than messages that have not been sent.
        self.session.kept_len_max = self.session.kept_len_max.min((whole / 64).max(64 << 10));
        self.backlog_len_max = self.backlog_len_max.min(whole / 4);
        // Beyond half of its limit, a session is not read at all.
        self.congested_len = self.congested_len.min(self.session.waiting_len_max / 2);
        self.congested_len = self.congested_len.min(self.backlog_len_max / 2);
        self.behind_len = self.behind_len.min(self.congested_len);
        self
    }
}

const fn three_quarters(count: usize) -> usize {
    count - count / 4
}

impl Default for Settings {
    /// For a machine with a few gigabytes of memory.
    fn default() -> Self {
        let limits = Limits::default();
        let session = SessionSettings {
            // A time advance grant releases everything at once that the kernel kept for a federate.
            waiting_len_max: 2 * limits.undelivered_len,
            ..SessionSettings::default()
        };
        Self {
            limits,
            session,
            connections_max: 4096,
            peer_connections_max: 3072,
            sessions_max: 2048,
            peer_sessions_max: 1536,
            behind_len: MIB / 4,
            congested_len: 4 * MIB,
            backlog_len_max: 64 * MIB,
            spool_file_max: 0,
            report_len_max: 1024 * MIB as u64,
            slow_reader: SlowReaderPolicy::default(),
            memory_max: 1024 * MIB,
            incoming_len_max: 128 * MIB,
            work_max: 2000, // 200 µs
            session_memory_max: 256 * MIB,
            hold_max: Span::from_millis(250),
            stall_max: Span::from_millis(10_000),
            abandoned_federation_expiry: None,
            idle_resume_window: Span::from_millis(10_000),
            partial_models: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_their_number_of_sessions_and_memory() {
        let mut settings = Settings::default();
        settings.set_sessions_max(settings.sessions_max);
        settings.set_memory_max(settings.memory_max);
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn there_is_room_for_connections_beside_sessions_and_for_other_peers() {
        for sessions in (1..100).chain([2048, 5000, usize::MAX]) {
            let mut settings = Settings::default();
            settings.set_sessions_max(sessions);
            for of_peer in [1, sessions.div_ceil(2), settings.peer_sessions_max, sessions] {
                settings.set_peer_sessions_max(of_peer);
                let Settings { connections_max, peer_connections_max, .. } = settings;
                assert!(connections_max >= sessions.saturating_mul(2));
                assert!(peer_connections_max <= connections_max && peer_connections_max >= of_peer);
            }
        }
    }
}
