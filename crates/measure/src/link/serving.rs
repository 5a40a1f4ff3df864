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
    /// Datagrams that were returned; one that arrived several times counts once.
    returned: u64,
    seen: Seen,
}

impl Serving {
    /// A peer asks for a session. Returns false while there is another one.
    pub(super) fn admit(&mut self, peer: IpAddr, token: u64, now: Instant) -> bool {
        if self.session.is_some() {
            return false;
        }
        let (end, silent) = (now + SESSION_MAX, now + SILENT_MAX);
        let seen = Seen::default();
        self.session = Some(Session { peer, token, end, request: None, silent, returned: 0, seen });
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
        let own = Datagram::read(bytes).filter(|head| head.token == session.token);
        let Some(head) = own.filter(|_| is_sized && from == session.peer) else { return false };
        session.returned += u64::from(session.seen.is_first(head.number));
        session.silent = now + SILENT_MAX;
        true
    }

    /// How many different datagrams of the session were returned.
    pub(super) fn returned(&self) -> u64 {
        self.session.map_or(0, |session| session.returned)
    }

    /// The session is over.
    pub(super) fn end(&mut self) {
        self.session = None;
    }
}

/// Which of the last datagrams have arrived, so that the copies that a network makes of them count once.
///
/// The measuring host knows its last 64 datagrams, so a number that is older than the last 128 does not matter to it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The highest number so far.
    highest: u64,
    /// Bit `n`: the number `highest - n` has arrived.
    last: u128,
}

impl Seen {
    /// A datagram has arrived. Returns whether it is the first one with this number.
    fn is_first(&mut self, number: u64) -> bool {
        let bit = |age: u64| u32::try_from(age).ok().and_then(|age| 1_u128.checked_shl(age));
        if number > self.highest {
            let age = u32::try_from(number - self.highest).ok();
            self.last = age.and_then(|age| self.last.checked_shl(age)).unwrap_or(0);
            self.highest = number;
        }
        let Some(bit) = bit(self.highest - number) else { return false };
        let is_first = self.last & bit == 0;
        self.last |= bit;
        is_first
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

    #[test]
    fn a_datagram_that_the_network_copies_is_returned_each_time_and_counted_once() {
        let mut serving = Serving::default();
        assert!(serving.admit(PEER, 77, Instant::ZERO));
        let mut arrives = |number| {
            let mut bytes = [0; 64];
            Datagram { token: 77, number }.write(&mut bytes);
            assert!(serving.datagram(PEER, &bytes, Instant::ZERO));
            serving.returned()
        };
        // Copies, one that was overtaken, and one that is too old to be told from a copy.
        let counts = [1, 1, 3, 2, 2, 3, 200, 73, 72, u64::MAX, 200].map(&mut arrives);
        assert_eq!(counts, [1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 6]);
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
