//! The rate of updates through the RTI, with its processor time and memory; checks that none is lost. A federate with
//! default options is compared with one that waits for each reply, and with a relay of the same number of bytes, the
//! floor, in the same run.
//!
//! `cargo bench -p hemiola-federate --bench updates -- [blocks=N] [count=N] [over=tcp|shm] [placement=WORDS]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::{publisher, subscriber};
use bench::relay::{self, Kind};
use bench::{Orders, Peer, Placement, Rti, Transport};
use hemiola_federate::Span;
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    bench::main(&[("publisher", publisher), ("subscriber", subscriber)], measure);
}

/// The bytes of an update and its number of receivers.
const LOADS: [(usize, usize); 2] = [(64, 1), (1024, 4)];

/// A source, the server that passes its messages on, and the receivers.
struct Subject {
    name: String,
    source: Peer,
    server: Peer,
    sinks: Vec<Peer>,
    rates: Vec<f64>,
    cpu: Vec<f64>,
}

impl Subject {
    fn federation(
        (transport, waits): (Transport, bool),
        placement: Placement,
        len: usize,
        sinks: usize,
    ) -> Self {
        let rti = Rti::start(placement);
        let mut orders = vec![rti.order(transport), format!("len={len}")];
        orders.extend(waits.then(|| "waits=yes".into()));
        let source = Peer::client("publisher", placement, &orders);
        let sinks = (0..sinks).map(|_| Peer::client("subscriber", placement, &orders)).collect();
        let waits = if waits { ", each waits" } else { "" };
        Self::new(format!("{}{waits}", transport.word()), source, rti.peer, sinks)
    }

    fn floor(kind: Kind, placement: Placement, len: usize, sinks: usize) -> Self {
        let (server, orders) = relay::start("relay", kind, 1 + sinks, len, placement);
        // The source connects first.
        let source = Peer::client("pump", placement, &orders);
        let sinks = (0..sinks).map(|_| Peer::client("sink", placement, &orders)).collect();
        Self::new(format!("floor: {}", kind.word()), source, server, sinks)
    }

    fn new(name: String, source: Peer, server: Peer, sinks: Vec<Peer>) -> Self {
        Self { name, source, server, sinks, rates: vec![], cpu: vec![] }
    }

    fn used(&self) -> Span {
        let peers = self.sinks.iter().chain([&self.source, &self.server]);
        peers.fold(Span::ZERO, |sum, peer| sum + peer.used())
    }

    fn block(&mut self, count: u64, is_kept: bool) {
        for sink in &mut self.sinks {
            assert_eq!(sink.ask(&count.to_string()), "ready");
        }
        let (start, used) = (MonotonicClock.now(), self.used());
        self.source.send_line(&count.to_string());
        for sink in &mut self.sinks {
            assert_eq!(sink.read_line(), "done");
        }
        let seconds = (MonotonicClock.now() - start).secs_f64();
        let cpu = (self.used() - used).secs_f64();
        if is_kept {
            self.rates.push(count as f64 / seconds);
            self.cpu.push(cpu / count as f64 * 1e5);
        }
    }
}

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 4), orders.number("count", 100_000));
    bench::print_conditions();
    println!("{blocks} blocks of {count} updates; medians");
    println!(
        "{:20} {:14} {:18} {:>10} {:>14} {:>12} {:>14}",
        "", "", "", "updates/s", "of the floor", "CPU s/100k", "server MiB"
    );
    for placement in bench::placements(orders) {
        for (len, sinks) in LOADS {
            for transport in Transport::wanted(orders) {
                let mut subjects = [
                    Subject::floor(transport.relay(), placement, len, sinks),
                    Subject::federation((transport, false), placement, len, sinks),
                    Subject::federation((transport, true), placement, len, sinks),
                ];
                bench::in_turns(&mut subjects, (blocks, count), Subject::block);
                let floor = subjects[0].rates.clone();
                for subject in &subjects {
                    let (now, peak) = subject.server.memory();
                    println!(
                        "{placement:20} {:14} {:18} {:10.0} {:14.2} {:12.3} {now:6.1} ≤{peak:6.1}",
                        format!("{len} B, 1→{sinks}"),
                        subject.name,
                        bench::median(&subject.rates),
                        bench::ratio(&subject.rates, &floor),
                        bench::median(&subject.cpu),
                    );
                }
            }
        }
    }
}
