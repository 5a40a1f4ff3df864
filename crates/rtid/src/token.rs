//! What an event of the system is about.

use hemiola_rt::sys::epoll::EventFlags;

/// What is watched, as epoll carries it: a kind in the lowest bits, a number above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The place of a listener.
    Listener(u64),
    /// Something is in the mailbox.
    Mailbox,
    /// What carries the bytes of a connection.
    Connection(u64),
    /// The socket that stays open beside a stream in shared memory.
    Socket(u64),
    /// The process at the other end of it.
    Process(u64),
}

const KIND_BITS: u32 = 3;

/// As long as there is something to read.
pub(crate) const LEVEL: EventFlags = EventFlags::IN;

/// Once, for what happens once.
pub(crate) const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// Once for each time that something changes, in either direction.
pub(crate) const EDGE: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// The other side is gone, or will write no more.
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
    fn tokens_come_back_as_they_were_given() {
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
