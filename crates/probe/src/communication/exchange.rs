//! The two processes of a communication: request and answer, or stream and acknowledge.

use std::io;

use hemiola_rt::clock::Clock;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Delivery, Granted, Span};
use serde::{Deserialize, Serialize};

use super::{
    BATCH, BATCH_SPINNING_BYTES, BATCH_SPINNING_MAX, BURST_BYTES, BURST_MAX, BURST_MIN,
    ExchangeQuantity, Mechanism,
};
use crate::link::{Description, Link};
use crate::peer::PeerProcess;
use crate::stage::{SPELL, pair};
use crate::{Overhead, ProbeError};

/// Bytes of an acknowledgement: the number of the last message.
pub(super) const ACKNOWLEDGEMENT: usize = 8;

/// Uncounted first readings, which load caches and make connections; one more after each rest.
pub(super) const WARM_UP: i64 = 2;

/// The near process rests this long after a spell. A spinning far process gives up after some 40 ms of it, so both stay
/// below the kernel's limit for real-time processes in each second.
const REST: Span = Span::from_millis(120);

/// The capacity of a queue whose full state blocks the sender: allowed by every kernel (`fs.mqueue.msg_max`), rounded
/// to a power of two.
const BACKLOG: u32 = 8;

/// Bytes in transit that fit every default receive buffer of a socket (`net.core.rmem_default` is 208 KiB), given that
/// a datagram counts twice its size plus some bookkeeping.
const DATAGRAM_BYTES: usize = 96 << 10;
const DATAGRAM_EXTRA: usize = 1 << 10;

/// Bytes and messages in transit through shared memory.
const MEMORY_BYTES: usize = 1 << 20;
const MEMORY_MESSAGES: usize = 256;

/// The message exchange of one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Traffic {
    /// Round trips of a message and an answer of its size.
    PingPong {
        /// Round trips.
        rounds: u32,
    },
    /// Messages in one direction.
    Stream {
        /// Number of messages; a multiple of `window`.
        burst: u32,
        /// Messages that may be unacknowledged; a multiple of `credit`.
        window: u32,
        /// Messages per acknowledgement.
        credit: u32,
        /// Messages that may be unread.
        ahead: u32,
    },
}

impl Traffic {
    pub(super) fn new(mechanism: &Mechanism, quantity: ExchangeQuantity, size: usize) -> Self {
        if quantity == ExchangeQuantity::Latency {
            let rounds = if mechanism.spins() {
                (BATCH_SPINNING_BYTES / size.max(1)).clamp(BATCH, BATCH_SPINNING_MAX)
            } else {
                BATCH
            };
            return Self::PingPong { rounds: rounds as u32 };
        }
        let power = |number: usize| 1u32 << number.max(1).ilog2();
        let burst = power((BURST_BYTES / size.max(1)).clamp(BURST_MIN, BURST_MAX));
        // A mechanism that drops messages for a slow receiver needs acknowledgements; one that blocks the sender needs
        // a single one at the end.
        let held = |messages: usize| {
            let window = power(messages).min(burst);
            Self::Stream { burst, window, credit: (window / 2).max(1), ahead: window }
        };
        match mechanism {
            Mechanism::Udp | Mechanism::Multicast => {
                held(DATAGRAM_BYTES / (2 * size + DATAGRAM_EXTRA))
            }
            Mechanism::TcpPerMessage => {
                let burst = BURST_MIN as u32;
                Self::Stream { burst, window: 1, credit: 1, ahead: 1 }
            }
            Mechanism::Pipe
            | Mechanism::MessageQueue
            | Mechanism::UnixStream
            | Mechanism::UnixDatagram
            | Mechanism::Tcp => {
                Self::Stream { burst, window: burst, credit: burst, ahead: BACKLOG }
            }
            Mechanism::Yield
            | Mechanism::Futex
            | Mechanism::Spin
            | Mechanism::PubSub
            | Mechanism::PubSubPolled => held((MEMORY_BYTES / size.max(1)).min(MEMORY_MESSAGES)),
            Mechanism::Channel { delivery: Delivery::Latest, .. } => held(1),
            Mechanism::Channel { delivery: Delivery::Queue(length), .. } => {
                held(length.get() as usize)
            }
        }
    }

    /// Messages in a reading, including answers.
    pub(super) fn messages(self) -> u32 {
        match self {
            Self::PingPong { rounds } => 2 * rounds,
            Self::Stream { burst, .. } => burst,
        }
    }

    /// Messages that may be unread.
    pub(super) fn ahead(self) -> u32 {
        match self {
            Self::PingPong { .. } => 1,
            Self::Stream { ahead, .. } => ahead,
        }
    }
}

/// The orders for one process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(super) near: bool,
    pub(super) description: Description,
    pub(super) traffic: Traffic,
    pub(super) count: u32,
}

/// The result of the near process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// Nanoseconds of each reading, including one pair of clock readings.
    pub(super) elapsed: Vec<f64>,
    /// Nanoseconds of that pair.
    pub(super) pair: Overhead,
    pub(super) granted: Granted,
}

/// Runs one of the two processes.
pub(crate) fn run_peer(mut process: PeerProcess, orders: &Orders) -> Result<(), ProbeError> {
    let doing = || ProbeError::doing("communicate");
    let link = orders.description.open(orders.near).map_err(doing())?;
    let granted = process.apply_profile();
    process.ready()?;
    let [down, up] = orders.description.sizes().map(|size| vec![0; size]);
    let traffic = orders.traffic;
    if orders.near {
        let mut near = Near { link, traffic, number: 0, message: down, answer: up };
        let report = near.readings(&mut process, orders.count, granted).map_err(doing())?;
        process.report(&report)
    } else {
        Far { link, traffic, number: 0, message: down, answer: up }.answer_all().map_err(doing())
    }
}

/// The requesting process.
struct Near {
    link: Box<dyn Link>,
    traffic: Traffic,
    /// The number of the last message.
    number: u64,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Near {
    fn readings(
        &mut self,
        process: &mut PeerProcess,
        count: u32,
        granted: Granted,
    ) -> io::Result<Report> {
        for _ in 0..WARM_UP {
            self.once()?;
        }
        let clock = &mut process.clock;
        let mut elapsed = Vec::with_capacity(count as usize);
        let pair = pair(clock);
        let mut rested = clock.anchor();
        while elapsed.len() < count as usize {
            if clock.now() - rested >= SPELL {
                sleep_until(clock.now() + REST);
                rested = clock.anchor();
                self.once()?;
            }
            let start = clock.now();
            self.once()?;
            elapsed.push((clock.now() - start).nanos() as f64);
        }
        Ok(Report { elapsed, pair, granted })
    }

    /// The timed part of a reading.
    fn once(&mut self) -> io::Result<()> {
        match self.traffic {
            Traffic::PingPong { rounds } => {
                for _ in 0..rounds {
                    self.send()?;
                    self.acknowledged(self.number)?;
                }
                Ok(())
            }
            Traffic::Stream { burst, window, credit, .. } => {
                let before = self.number;
                let mut acknowledged = before;
                for _ in 0..burst {
                    if self.number - acknowledged == u64::from(window) {
                        acknowledged += u64::from(credit);
                        self.acknowledged(acknowledged)?;
                    }
                    self.send()?;
                }
                while acknowledged < self.number {
                    acknowledged += u64::from(credit);
                    self.acknowledged(acknowledged)?;
                }
                Ok(())
            }
        }
    }

    fn send(&mut self) -> io::Result<()> {
        self.number += 1;
        write_number(&mut self.message, self.number);
        self.link.send(&self.message)
    }

    /// Waits for the answer to message `number`.
    fn acknowledged(&mut self, number: u64) -> io::Result<()> {
        self.link.receive(&mut self.answer)?;
        expect_number(&self.answer, number)
    }
}

/// The answering process.
struct Far {
    link: Box<dyn Link>,
    traffic: Traffic,
    number: u64,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Far {
    /// Answers until it is killed.
    fn answer_all(mut self) -> io::Result<()> {
        let every = match self.traffic {
            Traffic::PingPong { .. } => 1,
            Traffic::Stream { credit, .. } => u64::from(credit),
        };
        loop {
            self.link.receive(&mut self.message)?;
            self.number += 1;
            expect_number(&self.message, self.number)?;
            if self.number.is_multiple_of(every) {
                write_number(&mut self.answer, self.number);
                self.link.send(&self.answer)?;
            }
        }
    }
}

/// Writes the number at the start of a message or answer: eight bytes.
fn write_number(message: &mut [u8], number: u64) {
    message[..8].copy_from_slice(&number.to_le_bytes());
}

fn expect_number(message: &[u8], expected: u64) -> io::Result<()> {
    let found = u64::from_le_bytes(message[..8].try_into().expect("the slice has eight bytes"));
    if found == expected {
        return Ok(());
    }
    Err(io::Error::other(format!("received message {found} instead of {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_consists_of_windows_and_a_window_of_credits() {
        let mechanisms = [
            Mechanism::Udp,
            Mechanism::Pipe,
            Mechanism::Spin,
            Mechanism::PubSub,
            Mechanism::TcpPerMessage,
        ];
        for mechanism in mechanisms {
            for size in [8, 64, 1 << 10, 16 << 10, 64 << 10, 1 << 24] {
                let traffic = Traffic::new(&mechanism, ExchangeQuantity::Throughput, size);
                let Traffic::Stream { burst, window, credit, ahead } = traffic else { panic!() };
                assert!(credit > 0 && ahead > 0, "{traffic:?}");
                assert_eq!((window % credit, burst % window), (0, 0), "{traffic:?}");
            }
        }
    }

    #[test]
    fn datagrams_in_transit_fit_the_default_buffer() {
        for size in [64, 1 << 10, 16 << 10] {
            let traffic = Traffic::new(&Mechanism::Udp, ExchangeQuantity::Throughput, size);
            let Traffic::Stream { window, .. } = traffic else { panic!() };
            assert!(window as usize * (2 * size + DATAGRAM_EXTRA) <= DATAGRAM_BYTES, "{traffic:?}");
        }
    }

    #[test]
    fn a_message_out_of_order_is_an_error() {
        let mut message = vec![0; 64];
        write_number(&mut message, 7);
        assert!(expect_number(&message, 7).is_ok());
        let error = expect_number(&message, 8).unwrap_err().to_string();
        assert_eq!(error, "received message 7 instead of 8");
    }
}
