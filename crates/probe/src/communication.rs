//! The cost of communication between two processes: the time of a message and the throughput, by mechanism, message
//! size and placement.
//!
//! *Latency* is half a round trip of a message and an answer of the same size; tools like lmbench's
//! `lat_pipe` give the whole round trip. *Throughput* is bytes per second of consecutive messages with occasional
//! acknowledgements of 8 bytes, so that no message is lost and the last one has arrived when the clock is read.
//!
//! The two processes have the same priority. The *near* one, on the setting's first processor, sends requests and takes
//! the time; the *far* one answers, on the same processor or on the other one. Mechanisms that wait without giving up
//! the processor are measured across processors only. Each process checks the number in every message.

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::{Bytes, Span};

use crate::catalogue::Probe;
use crate::link::Object;
use crate::peer::{Part, Peer, gather, place};
use crate::{FigureOfMerit, Overhead, Placement, ProbeError, Readings, Setting, Unit};

mod exchange;

pub use crate::link::Mechanism;
use exchange::{ACKNOWLEDGEMENT, Report, Traffic};
pub(crate) use exchange::{Orders, run_peer};

/// A communication to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The mechanism that carries the messages.
    pub mechanism: Mechanism,
    /// The measured property.
    pub quantity: ExchangeQuantity,
    /// The placement of the two processes.
    pub placement: Placement,
    /// Bytes of a message, 8 or more.
    pub size: usize,
}

/// The measured property of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeQuantity {
    /// Half a round trip of a message and an answer of its size.
    Latency,
    /// Bytes per second, one way.
    Throughput,
}

/// Names, mechanisms and their descriptions.
static MECHANISMS: [(&str, Mechanism, &str); 12] = [
    ("pipe", Mechanism::Pipe, "a pipe each way, blocking"),
    ("mq", Mechanism::MessageQueue, "a POSIX queue each way, blocking"),
    ("unix_stream", Mechanism::UnixStream, "a pair of Unix stream sockets"),
    ("unix_datagram", Mechanism::UnixDatagram, "a pair of Unix datagram sockets"),
    ("tcp", Mechanism::Tcp, "a TCP connection over loopback, kept open, TCP_NODELAY"),
    (
        "tcp_per_message",
        Mechanism::TcpPerMessage,
        "a TCP connection over loopback for each message and its answer, opened and closed",
    ),
    ("udp", Mechanism::Udp, "UDP over loopback"),
    ("multicast", Mechanism::Multicast, "UDP to a group joined on the loopback interface"),
    ("shared_memory_futex", Mechanism::Futex, "shared memory, woken by futex"),
    ("shared_memory_spin", Mechanism::Spin, "shared memory, polled without rest"),
    ("iceoryx2", Mechanism::PubSub, "iceoryx2, woken by its event"),
    ("iceoryx2_polled", Mechanism::PubSubPolled, "iceoryx2, polled without rest"),
];

/// Message sizes in the catalogue, in bytes.
const SIZES: [usize; 4] = [64, 1 << 10, 16 << 10, 64 << 10];

/// The quick set contains the latency of the smallest message by these mechanisms on one core …
const QUICK_SAME_CORE: [&str; 6] =
    ["pipe", "mq", "unix_stream", "tcp", "udp", "shared_memory_futex"];
/// … and by these across cores.
const QUICK_ACROSS: [&str; 4] = ["pipe", "tcp", "shared_memory_spin", "iceoryx2_polled"];

/// The longest UDP datagram over IPv4 (RFC 768: 65 535 bytes including both headers).
const DATAGRAM_MAX: usize = 65_507;

/// Round trips in a latency reading. If the processes spin and a short message takes less time than reading the clock,
/// up to `BATCH_SPINNING_MAX` of about `BATCH_SPINNING_BYTES` in total.
const BATCH: usize = 16;
const BATCH_SPINNING_MAX: usize = 256;
const BATCH_SPINNING_BYTES: usize = 256 << 10;

/// The approximate number of bytes in a throughput reading, and the limits of its number of messages.
const BURST_BYTES: usize = 4 << 20;
const BURST_MIN: usize = 64;
const BURST_MAX: usize = 4096;

/// Time allowed for the processes beyond the longest time of the readings.
const TIMEOUT_MARGIN: Span = Span::from_millis(20_000);

/// Longer than an undisturbed hand-over by any mechanism.
const HAND_OVER_MAX: Span = Span::from_micros(250);

pub(crate) fn probes() -> Vec<Probe> {
    let probe = |exchange: Exchange| {
        Probe::new(exchange.figure(), move |_, setting, count| exchange.measure(setting, count))
    };
    exchanges().into_iter().map(probe).collect()
}

/// The communications possible on this machine, in the order of the catalogue.
fn exchanges() -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for (_, mechanism, _) in &MECHANISMS {
        for quantity in [ExchangeQuantity::Latency, ExchangeQuantity::Throughput] {
            for placement in Placement::ALL {
                for size in SIZES {
                    let mechanism = mechanism.clone();
                    exchanges.push(Exchange { mechanism, quantity, placement, size });
                }
            }
        }
    }
    exchanges.retain(|exchange| exchange.impossible().is_none());
    exchanges
}

impl Exchange {
    /// Takes `count` readings. A latency reading is the mean over a batch of round trips, a throughput reading comes
    /// from a burst of messages.
    ///
    /// # Errors
    /// `Lacking` when there is no second processor for it, the mechanism is not part of this build, does not support
    /// the size, or is refused by the kernel; `Peer` when the processes fail; otherwise the system call that failed.
    pub fn measure(&self, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
        let name = self.name();
        if let Some(what) = self.impossible().or_else(|| self.mechanism.lacks().map(Into::into)) {
            return Err(ProbeError::lacking(&name, what));
        }
        let far_cpu = match self.placement {
            Placement::SameCore => setting.cpu,
            Placement::Across => setting.across(&name)?,
        };
        let traffic = Traffic::new(&self.mechanism, self.quantity, self.size);
        let object = self.make(traffic)?;
        let start = |near: bool| {
            let cpu = if near { setting.cpu } else { far_cpu };
            let orders = Orders { near, description: object.description(), traffic, count };
            let part = Part::Communication(orders);
            Peer::start(setting, place(cpu, setting.scheduling, false), part)
        };
        let mut far = start(false)?;
        let mut near = start(true)?;
        far.begin()?;
        near.begin()?;
        let messages = i64::from(traffic.messages()) * (i64::from(count) + exchange::WARM_UP);
        let until = MonotonicClock.now() + HAND_OVER_MAX * messages + TIMEOUT_MARGIN;
        let report: Report = gather(&mut [&mut near], &[&far], until)?.remove(0);

        let messages = traffic.messages();
        let taken = match self.quantity {
            ExchangeQuantity::Latency => per_message(&report, messages),
            ExchangeQuantity::Throughput => {
                per_second(&report, f64::from(messages) * self.size as f64)
            }
        };
        let readings = Readings::new(
            &name,
            self.unit(),
            taken,
            messages.into(),
            (setting, report.granted),
            &[
                ("mechanism", self.words().1),
                ("placement", &self.placement.to_string()),
                ("message", &Bytes(self.size as u64).to_string()),
            ],
        );
        Ok(match traffic {
            Traffic::PingPong { .. } => readings,
            Traffic::Stream { credit, .. } => readings.note(format!(
                "includes an acknowledgement of {ACKNOWLEDGEMENT} B after every {credit} messages"
            )),
        })
    }

    /// Its name in the catalogue.
    fn name(&self) -> String {
        let quantity = match self.quantity {
            ExchangeQuantity::Latency => "latency",
            ExchangeQuantity::Throughput => "throughput",
        };
        let (mechanism, placement) = (self.words().0, self.placement.word());
        let size = Bytes(self.size as u64);
        format!("communication.{mechanism}.{quantity}.{placement}.{size}")
    }

    fn figure(&self) -> FigureOfMerit {
        let (mechanism, size) = (self.words().0, Bytes(self.size as u64));
        let (what, quick) = match (self.quantity, self.placement) {
            (ExchangeQuantity::Latency, Placement::SameCore) => {
                ("half a round trip", &QUICK_SAME_CORE[..])
            }
            (ExchangeQuantity::Latency, Placement::Across) => {
                ("half a round trip", &QUICK_ACROSS[..])
            }
            (ExchangeQuantity::Throughput, _) => ("one way without pause", &[][..]),
        };
        FigureOfMerit {
            name: self.name(),
            title: format!(
                "messages of {size} by {}, {}, {what}",
                mechanism.replace('_', " "),
                self.placement
            ),
            unit: self.unit(),
            quick: self.size == SIZES[0] && quick.contains(&mechanism),
        }
    }

    fn unit(&self) -> Unit {
        match self.quantity {
            ExchangeQuantity::Latency => Unit::Nanoseconds,
            ExchangeQuantity::Throughput => Unit::BytesPerSecond,
        }
    }

    /// The word for its mechanism and a description.
    fn words(&self) -> (&'static str, &'static str) {
        let known = MECHANISMS.iter().find(|(_, known, _)| *known == self.mechanism);
        known.map_or(("channel", "a channel each way"), |(word, _, how)| (*word, *how))
    }

    /// The unmet requirement, if it can never be measured here.
    fn impossible(&self) -> Option<String> {
        let datagram = matches!(self.mechanism, Mechanism::Udp | Mechanism::Multicast);
        if self.mechanism.spins() && self.placement == Placement::SameCore {
            Some("a processor for each process, because waiting keeps it busy".into())
        } else if self.size < ACKNOWLEDGEMENT {
            Some(format!("messages of at least {ACKNOWLEDGEMENT} B, which contain their number"))
        } else if datagram && self.size > DATAGRAM_MAX {
            Some(format!("a mechanism that carries more than {DATAGRAM_MAX} B, unlike a datagram"))
        } else if self.mechanism == Mechanism::MessageQueue && self.size > queue_message_max() {
            Some(format!(
                "longer messages in queues than {} (fs.mqueue.msgsize_max); \
                 `sysctl fs.mqueue.msgsize_max={}` as root raises it",
                Bytes(queue_message_max() as u64),
                self.size
            ))
        } else {
            None
        }
    }

    /// Creates the links between the two processes.
    fn make(&self, traffic: Traffic) -> Result<Object, ProbeError> {
        let answer = match self.quantity {
            ExchangeQuantity::Latency => self.size,
            ExchangeQuantity::Throughput => ACKNOWLEDGEMENT,
        };
        let object = Object::create(&self.mechanism, [self.size, answer], traffic.ahead());
        object.map_err(|error| match self.mechanism {
            Mechanism::Multicast => {
                let what =
                    format!("multicast on the loopback interface, which was refused: {error}");
                ProbeError::lacking(&self.name(), what)
            }
            _ => ProbeError::doing(&format!("create {}", self.words().1))(error),
        })
    }
}

/// The longest message of a POSIX queue (mq_overview(7)), or its default if the kernel does not report it.
fn queue_message_max() -> usize {
    const DEFAULT: usize = 8192;
    let text = std::fs::read_to_string("/proc/sys/fs/mqueue/msgsize_max");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT)
}

/// Nanoseconds per message; a round trip has two.
fn per_message(report: &Report, messages: u32) -> (Vec<f64>, Overhead) {
    let per = |nanos: &f64| (nanos - report.pair.value) / f64::from(messages);
    (report.elapsed.iter().map(per).collect(), report.pair.per(messages.into()))
}

/// Bytes per second, corrected for the pair of clock readings in each burst.
fn per_second(report: &Report, bytes: f64) -> (Vec<f64>, Overhead) {
    const NANOS: f64 = 1e9;
    let pair = report.pair;
    let rate = |nanos: f64| bytes * NANOS / nanos;
    let values = report.elapsed.iter().map(|nanos| rate(nanos - pair.value)).collect();
    let mean = report.elapsed.iter().sum::<f64>() / report.elapsed.len().max(1) as f64;
    let overhead = Overhead {
        // The overhead lowers a rate, so the correction is negative.
        value: rate(mean) - rate(mean - pair.value),
        uncertainty: rate(mean) * pair.uncertainty / mean,
    };
    (values, overhead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_messages_and_spinning_on_one_core_are_not_in_the_catalogue() {
        let names: Vec<String> = exchanges().iter().map(Exchange::name).collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        assert!(has("communication.udp.latency.across.16KiB"));
        assert!(!has("communication.udp.latency.across.64KiB"));
        assert!(has("communication.shared_memory_spin.latency.across.64B"));
        assert!(!has("communication.shared_memory_spin.latency.same_core.64B"));
        assert!(has("communication.pipe.throughput.same_core.64KiB"));
    }

    #[test]
    fn the_quick_set_is_part_of_the_catalogue() {
        let quick = exchanges().iter().filter(|exchange| exchange.figure().quick).count();
        assert_eq!(quick, QUICK_SAME_CORE.len() + QUICK_ACROSS.len());
    }

    #[test]
    fn readings_exclude_the_cost_of_the_clock() {
        let pair = Overhead { value: 40.0, uncertainty: 4.0 };
        let granted = hemiola_rt::profile::apply(&hemiola_units::Profile::ordinary());
        let report = Report { elapsed: vec![1_040.0], pair, granted };
        let (values, overhead) = per_message(&report, 2);
        assert_eq!((values[0], overhead.value, overhead.uncertainty), (500.0, 20.0, 2.0));
        let (values, overhead) = per_second(&report, 1_000.0);
        assert_eq!(values[0], 1e9);
        assert!((values[0] + overhead.value - 1e9 / 1.04).abs() < 1.0);
    }
}
