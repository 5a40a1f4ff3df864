//! The subject of an epoll event.

use hemiola_rt::sys::epoll::EventFlags;

/// The watched object, as a word for epoll: its kind in the lowest bits, its number above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A listener.
    Listener(u64),
    /// The mailbox.
    Mailbox,
    /// The link of a connection.
    Connection(u64),
    /// The socket that stays open beside a stream in shared memory.
    Socket(u64),
    /// The peer's process of a session.
    Process(u64),
}

const KIND_BITS: u32 = 3;

/// Reported as long as there is something to read.
pub(crate) const LEVEL: EventFlags = EventFlags::IN;

/// Reported once per event: the end of a process, or the arrival of connections at a listener.
pub(crate) const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// Reported once per change, in either direction.
pub(crate) const EDGE: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// The peer is gone, or will write no more.
pub(crate) const END: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

impl Token {
    pub(crate) const fn to_data(self) -> u64 {
        let (kind, number) = match self {
            Self::Listener(place) => (0, place),
            Self::Mailbox => (1, 0),
            Self::Connection(number) => (2, number),
            Self::Socket(number) => (3, number),
            Self::Process(number) => (4, number),
        };
        number << KIND_BITS | kind
    }

    pub(crate) fn from_data(data: u64) -> Self {
        let number = data >> KIND_BITS;
        match data & ((1 << KIND_BITS) - 1) {
            0 => Self::Listener(number),
            1 => Self::Mailbox,
            2 => Self::Connection(number),
            3 => Self::Socket(number),
            4 => Self::Process(number),
            _ => unreachable!("tokens are made above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_round_trip() {
        let number = u64::MAX >> KIND_BITS;
        for token in [
            Token::Listener(3),
            Token::Mailbox,
            Token::Connection(number),
            Token::Socket(number),
            Token::Process(0),
        ] {
            assert_eq!(Token::from_data(token.to_data()), token);
        }
    }
}
