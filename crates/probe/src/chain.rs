//! The minimum cost of all hand-overs of a cycle: a message that passes through a chain of processes on one processor,
//! which do nothing but pass it on.
//!
//! It is the floor of a program with the same channels, priorities and leads. The sum of single hand-overs is not: each
//! of them would pay for a processor that has just woken up, where the processes of a chain pay once.

use std::io;

use hemiola_bus::{Channel, Handle, Receiver, Receivers, Sender, Spec, open_receiver, open_sender};
use hemiola_rt::clock::{Clock, FastClock, MonotonicClock};
use hemiola_rt::periodic::Periodic;
use hemiola_rt::sys::process::clear_cloexec;
use hemiola_rt::sys::timer;
use hemiola_units::{Delivery, Endpoint, Granted, Instant, Overrun, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::hand_over::{MESSAGE_SIZE, lowered};
use crate::link::Run;
use crate::peer::{Part, Peer, PeerProcess, gather, place};
use crate::{ProbeError, Setting};

/// Uncounted first rounds, which load caches and make connections.
const WARM_UP: u64 = 5;

/// Time allowed for the processes beyond that of the samples.
const TIMEOUT_MARGIN: Span = Span::from_millis(20_000);

/// Longer than an undisturbed round.
const ROUND_MAX: Span = Span::from_millis(1);

/// The attempted action, for errors.
const DOING: &str = "measure a chain of hand-overs";

/// Processes that pass on one message per period.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The channel from each process to the next, with any name; not `local:`.
    pub endpoint: Endpoint,
    /// Its delivery.
    pub delivery: Delivery,
    /// Hand-overs to a process of lower priority, which come first; at least 1.
    pub down: u32,
    /// Hand-overs to a process of higher priority; the last one leads back to the first process. Without any, the time
    /// ends where the last process down has the message.
    pub up: u32,
    /// How often the first process begins.
    pub rate: Rate,
    /// The time before each release at which the first process and the last one wake to warm their channels; 0 for
    /// never. The first one stays awake until the release.
    pub leads: [Span; 2],
}

/// The measured times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    /// From just before the first sending call until just after the last receiving one, ns, in order.
    pub nanos: Vec<u64>,
    /// The scheduling granted to the first process.
    pub granted: Granted,
}

impl Chain {
    const fn stations(&self) -> u32 {
        1 + self.down + self.up.saturating_sub(1)
    }

    /// The part of a process, by its number from the beginning.
    const fn part(&self, station: u32) -> Station {
        match (station, self.up) {
            (0, 0) => Station::First { ends_here: false },
            (0, _) => Station::First { ends_here: true },
            (last, 0) if last == self.down => Station::End,
            _ => Station::Between,
        }
    }

    /// How many priorities a process is below the first one.
    const fn below_first(&self, station: u32) -> u32 {
        match station.checked_sub(self.down) {
            _ if station == 0 => 0,
            None | Some(0) => self.up.saturating_sub(1) + station,
            Some(above) => self.up - above,
        }
    }

    fn lead(&self, station: u32) -> Span {
        match station {
            0 => self.leads[0],
            last if last + 1 == self.stations() => self.leads[1],
            _ => Span::ZERO,
        }
    }
}

/// What a process does with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Station {
    /// Sends it at each release. The chain may end where it has it back.
    First { ends_here: bool },
    /// Passes it on.
    Between,
    /// The chain ends where this one has it; it returns the time to the first.
    End,
}

/// The orders for one process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    station: Station,
    stations: u32,
    out: Handle,
    back: Handle,
    rate: Rate,
    lead: Span,
    samples: u64,
}

/// A channel, and the run that it belongs to, which is swept after the channel is dropped.
#[derive(Debug)]
struct Hop {
    channel: Channel,
    _run: Run,
}

impl Hop {
    fn create(chain: &Chain) -> io::Result<Self> {
        let run = Run::new();
        let spec = Spec {
            endpoint: chain.endpoint.clone(),
            delivery: chain.delivery,
            message_size: MESSAGE_SIZE,
            run: run.name().to_owned(),
        };
        let channel = Channel::create(&spec).map_err(io::Error::other)?;
        let channel = channel.with_receivers(Receivers::One);
        for descriptor in channel.descriptors() {
            clear_cloexec(descriptor)?;
        }
        Ok(Self { channel, _run: run })
    }
}

/// Measures `samples` rounds on the setting's first processor. The first process requests the setting's scheduling, the
/// others priorities below it. The calling process only waits.
///
/// # Errors
/// `Peer` when a process fails; otherwise the system call that failed.
pub fn measure(setting: &Setting, chain: &Chain, samples: u64) -> Result<Times, ProbeError> {
    let stations = chain.stations();
    let hops: io::Result<Vec<Hop>> = (0..stations).map(|_| Hop::create(chain)).collect();
    let hops = hops.map_err(ProbeError::doing(DOING))?;
    let start = |station: u32| {
        let before = (station + stations - 1) % stations;
        let orders = Orders {
            station: chain.part(station),
            stations,
            out: hops[station as usize].channel.handle(),
            back: hops[before as usize].channel.handle(),
            rate: chain.rate,
            lead: chain.lead(station),
            samples,
        };
        let scheduling = lowered(setting.scheduling, chain.below_first(station));
        Peer::start(setting, place(setting.cpu, scheduling, true), Part::Chain(orders))
    };
    let mut others = (1..stations).map(start).collect::<Result<Vec<Peer>, _>>()?;
    let mut first = start(0)?;
    // All have opened their ends.
    others.iter_mut().try_for_each(Peer::begin)?;
    first.begin()?;
    let rounds = i64::try_from(samples + WARM_UP).unwrap_or(i64::MAX);
    let until = MonotonicClock.now() + (chain.rate.period() + ROUND_MAX) * rounds + TIMEOUT_MARGIN;
    let others: Vec<&Peer> = others.iter().collect();
    let mut reports = gather(&mut [&mut first], &others, until)?;
    Ok(reports.remove(0))
}

/// Runs one of the processes.
pub(crate) fn run_peer(mut process: PeerProcess, orders: &Orders) -> Result<(), ProbeError> {
    let doing = || ProbeError::doing(DOING);
    let mut ends = Ends::open(orders).map_err(doing())?;
    let granted = process.apply_profile();
    process.ready()?;
    let Station::First { ends_here } = orders.station else {
        return pass_on(&mut ends, &mut process.clock, orders).map_err(doing());
    };
    let nanos = begin(&mut ends, &mut process.clock, orders, ends_here).map_err(doing())?;
    process.report(&Times { nanos, granted })
}

/// The message of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    sent: Instant,
    release: Instant,
    /// The time of the chain, once it has ended before the first process.
    took: Span,
    /// Processes that have sent it.
    senders: u32,
}

impl Token {
    fn encode(self) -> [u8; MESSAGE_SIZE] {
        let words = [
            self.sent.nanos(),
            self.release.nanos(),
            self.took.nanos() as u64,
            self.senders.into(),
        ];
        let mut message = [0; MESSAGE_SIZE];
        for (bytes, word) in message.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        message
    }

    fn decode(message: &[u8; MESSAGE_SIZE]) -> Self {
        let word = |at: usize| {
            u64::from_le_bytes(message[8 * at..][..8].try_into().expect("a word has eight bytes"))
        };
        Self {
            sent: Instant::from_nanos(word(0)),
            release: Instant::from_nanos(word(1)),
            took: Span::from_nanos(word(2).cast_signed()),
            senders: word(3) as u32,
        }
    }
}

/// A process's channel to the next process and from the one before.
struct Ends {
    sender: Box<dyn Sender>,
    receiver: Box<dyn Receiver>,
}

impl Ends {
    fn open(orders: &Orders) -> io::Result<Self> {
        let sender = open_sender(&orders.out).map_err(io::Error::other)?;
        let receiver = open_receiver(&orders.back).map_err(io::Error::other)?;
        Ok(Self { sender, receiver })
    }

    fn send(&mut self, token: Token) -> io::Result<()> {
        self.sender.send(&token.encode()).map_err(io::Error::other)
    }

    fn take(&mut self) -> io::Result<Token> {
        let mut message = [0; MESSAGE_SIZE];
        loop {
            let taken = self.receiver.take(&mut message, Instant::MAX).map_err(io::Error::other)?;
            if taken.is_some() {
                return Ok(Token::decode(&message));
            }
        }
    }

    fn warm_up(&mut self) {
        self.receiver.warm_up();
        self.sender.warm_up();
    }
}

/// The first process: sends the message at each release and records the times.
fn begin(
    ends: &mut Ends,
    clock: &mut FastClock,
    orders: &Orders,
    ends_here: bool,
) -> io::Result<Vec<u64>> {
    let mut nanos = Vec::with_capacity(usize::try_from(orders.samples).unwrap_or(usize::MAX));
    let epoch = clock.anchor() + orders.lead + Span::from_millis(1);
    let mut periodic = Periodic::new(epoch, orders.rate, Overrun::Skip).with_lead(orders.lead);
    for number in 0..orders.samples + WARM_UP {
        periodic.approach(clock).map_err(io::Error::other)?;
        if orders.lead.is_positive() {
            ends.warm_up();
        }
        let release = periodic.wait(clock).map_err(io::Error::other)?.at;
        ends.send(Token { sent: clock.now(), release, took: Span::ZERO, senders: 1 })?;
        let token = ends.take()?;
        let took = if ends_here { clock.now() - token.sent } else { token.took };
        if token.senders != orders.stations {
            return Err(io::Error::other("a message has left out a process"));
        }
        if number >= WARM_UP {
            // The clocks of two processes differ by some nanoseconds; a chain takes thousands.
            nanos.push(u64::try_from(took.nanos()).unwrap_or(0));
        }
    }
    Ok(nanos)
}

/// Another process: passes each message on, until it is killed.
fn pass_on(ends: &mut Ends, clock: &mut FastClock, orders: &Orders) -> io::Result<()> {
    loop {
        let mut token = ends.take()?;
        if orders.station == Station::End {
            token.took = clock.now() - token.sent;
        }
        token.senders += 1;
        ends.send(token)?;
        clock.anchor();
        if orders.lead.is_positive() {
            timer::sleep_until(token.release + orders.rate.period() - orders.lead);
            ends.warm_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(down: u32, up: u32) -> Chain {
        Chain {
            endpoint: "shm:chain".parse().unwrap(),
            delivery: Delivery::Latest,
            down,
            up,
            rate: "1kHz".parse().unwrap(),
            leads: [Span::from_micros(100), Span::from_micros(200)],
        }
    }

    fn below(chain: &Chain) -> Vec<u32> {
        (0..chain.stations()).map(|station| chain.below_first(station)).collect()
    }

    #[test]
    fn each_hand_over_goes_down_or_up_as_the_chain_says() {
        assert_eq!(below(&chain(1, 0)), [0, 1]);
        assert_eq!(below(&chain(1, 1)), [0, 1]);
        assert_eq!(below(&chain(3, 2)), [0, 2, 3, 4, 1]);
        for (down, up) in (1..5).flat_map(|down| (0..4).map(move |up| (down, up))) {
            let below = below(&chain(down, up));
            let steps = below.iter().zip(below.iter().cycle().skip(1));
            let steps: Vec<bool> = steps.map(|(from, to)| to > from).collect();
            let (down, up) = (down as usize, up.max(1) as usize);
            assert_eq!(steps, [vec![true; down], vec![false; up]].concat());
        }
    }

    #[test]
    fn the_first_process_and_the_last_have_a_lead() {
        let chain = chain(3, 2);
        let leads: Vec<i64> = (0..5).map(|station| chain.lead(station).nanos() / 1000).collect();
        assert_eq!(leads, [100, 0, 0, 0, 200]);
        assert_eq!(chain.part(0), Station::First { ends_here: true });
        assert_eq!(self::chain(2, 0).part(2), Station::End);
    }

    #[test]
    fn a_message_survives_its_encoding() {
        let token = Token {
            sent: Instant::from_nanos(1 << 60),
            release: Instant::from_nanos(7),
            took: Span::from_nanos(-3),
            senders: 5,
        };
        assert_eq!(Token::decode(&token.encode()), token);
    }
}
