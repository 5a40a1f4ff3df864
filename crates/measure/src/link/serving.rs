//! What an answering host grants: one session at a time, within limits of time, bytes and datagrams.

use std::net::IpAddr;

use hemiola_units::{Instant, Span};

use super::frame::{DATAGRAM_MAX, DATAGRAM_MIN, Datagram, REQUEST, Refused, Request};

/// How long a session may be silent.
const SILENT_MAX: Span = Span::from_millis(10_000);

/// How long one request may take.
const REQUEST_MAX: Span = Span::from_millis(20_000);

/// How long a session may last: a full measurement takes four minutes.
const SESSION_MAX: Span = Span::from_millis(600_000);

/// The rules of an answering host.
#[derive(Debug, Default)]
pub(super) struct Serving {
    session: Option<Session>,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    peer: IpAddr,
    token: u64,
    /// The session is over at this time at the latest.
    end: Instant,
    /// The current request must be carried out at this time.
    request: Option<Instant>,
    /// Between requests, something must arrive before this time.
    silent: Instant,
    /// Datagrams that were returned.
    returned: u64,
}

impl Serving {
    /// A peer asks for a session. Returns false while there is another one.
    pub(super) fn admit(&mut self, peer: IpAddr, token: u64, now: Instant) -> bool {
        if self.session.is_some() {
            return false;
        }
        let (end, silent) = (now + SESSION_MAX, now + SILENT_MAX);
        self.session = Some(Session { peer, token, end, request: None, silent, returned: 0 });
        true
    }

    /// A request has arrived. Returns what to do before [`Serving::deadline`]; the session ends after a refusal.
    pub(super) fn request(
        &mut self,
        bytes: &[u8; REQUEST],
        now: Instant,
    ) -> Result<Request, Refused> {
        let request = Request::decode(bytes)?;
        if let Some(session) = &mut self.session {
            session.request = Some(now + REQUEST_MAX);
        }
        Ok(request)
    }

    /// The request has been carried out.
    pub(super) fn done(&mut self, now: Instant) {
        if let Some(session) = &mut self.session {
            (session.request, session.silent) = (None, now + SILENT_MAX);
        }
    }

    /// When the session ends if nothing happens; `None` without one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.session.map(|session| session.end.min(session.request.unwrap_or(session.silent)))
    }

    /// A datagram has arrived. Returns whether to send it back to where it came from.
    pub(super) fn datagram(&mut self, from: IpAddr, bytes: &[u8], now: Instant) -> bool {
        let Some(session) = &mut self.session else { return false };
        let is_sized = (DATAGRAM_MIN..=DATAGRAM_MAX).contains(&bytes.len());
        let is_own = Datagram::read(bytes).is_some_and(|head| head.token == session.token);
        let is_granted = is_sized && is_own && from == session.peer;
        if is_granted {
            session.returned += 1;
            session.silent = now + SILENT_MAX;
        }
        is_granted
    }

    /// How many datagrams of the session were returned.
    pub(super) fn returned(&self) -> u64 {
        self.session.map_or(0, |session| session.returned)
    }

    /// The session is over.
    pub(super) fn end(&mut self) {
        self.session = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::frame::{ECHO_MAX, TRANSFER_MAX};
    use hemiola_units::Random;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 3));

    fn datagram(token: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        Datagram { token, number: 1 }.write(&mut bytes);
        bytes
    }

    #[test]
    fn only_the_host_with_the_session_gets_datagrams_back() {
        let mut serving = Serving::default();
        assert!(!serving.datagram(PEER, &datagram(0, 64), Instant::ZERO));
        assert!(serving.admit(PEER, 77, Instant::ZERO));
        assert!(!serving.admit(OTHER, 78, Instant::ZERO));
        assert!(serving.datagram(PEER, &datagram(77, 64), Instant::ZERO));
        assert!(!serving.datagram(OTHER, &datagram(77, 64), Instant::ZERO));
        assert!(!serving.datagram(PEER, &datagram(78, 64), Instant::ZERO));
        assert!(!serving.datagram(PEER, &datagram(77, DATAGRAM_MAX + 1), Instant::ZERO));
        assert!(!serving.datagram(PEER, &[7; 8], Instant::ZERO));
        assert_eq!(serving.returned(), 1);
        serving.end();
        assert!(
            !serving.datagram(PEER, &datagram(77, 64), Instant::ZERO) && serving.returned() == 0
        );
        assert!(serving.admit(OTHER, 79, Instant::ZERO));
    }

    /// No request of a peer moves more than its limit, and its session has an end.
    #[test]
    fn no_peer_gets_more_than_the_limits() {
        for seed in 0..500 {
            let mut random = Random::from_seed(seed);
            let mut word = || random.bits();
            let mut serving = Serving::default();
            let mut now = Instant::ZERO;
            assert!(serving.admit(PEER, 1, now));
            loop {
                now += Span::from_nanos((word() % 5_000_000_000) as i64);
                let deadline = serving.deadline().unwrap();
                assert!(deadline <= Instant::ZERO + SESSION_MAX, "seed {seed}");
                if now > deadline {
                    break;
                }
                let mut bytes = [0; REQUEST];
                let words = [word() % 6, word() >> (word() % 64), word()];
                for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
                match serving.request(&bytes, now) {
                    Ok(Request::Echo { length }) => assert!(length <= ECHO_MAX, "seed {seed}"),
                    Ok(Request::Take { length } | Request::Give { length, .. }) => {
                        assert!(length <= TRANSFER_MAX, "seed {seed}");
                    }
                    Ok(Request::Count) => {}
                    Err(_) => break,
                }
                assert!(serving.deadline().unwrap() <= now + REQUEST_MAX, "seed {seed}");
                serving.done(now);
                serving.datagram(PEER, &datagram(1, 64), now);
            }
        }
    }
}
