//! The processes of a benchmark: this program again, each in a role. Their use of resources is measured from outside.

#![allow(dead_code, reason = "each benchmark uses a part")]

pub(crate) mod federation;
pub(crate) mod relay;

use std::env;
use std::fmt;
use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hemiola_federate::{RtiAddress, Span};
use hemiola_rt::sys::{cpu, cpu_clock, sched};
use hemiola_rtid::{Options, Server};
use hemiola_units::{CpuSet, Policy, Priority};

const ROLE: &str = "--role=";

/// The name of a role and the function that runs it.
pub(crate) type Role = (&'static str, fn(&Orders));

/// Runs a role if this process was started for one, otherwise the measurement.
pub(crate) fn main(roles: &[Role], measure: fn(&Orders)) {
    let orders = Orders(env::args().skip(1).collect());
    let role = orders.0.iter().find_map(|argument| argument.strip_prefix(ROLE));
    match role {
        Some(role) => {
            orders.place();
            let common: [Role; 1] = [("rti", rti)];
            let mut all = common.iter().chain(relay::ROLES).chain(roles);
            let (_, play) =
                all.find(|(name, _)| *name == role).expect("the parent knows the roles");
            play(&orders);
        }
        // `cargo test` also runs benchmarks, but with this argument; nothing is measured then.
        None if orders.0.iter().any(|argument| argument == "--test") => {}
        None => measure(&orders),
    }
}

/// Arguments of the form `key=value`.
pub(crate) struct Orders(Vec<String>);

impl Orders {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='))
    }

    pub(crate) fn number(&self, key: &str, otherwise: u64) -> u64 {
        self.text(key).map_or(otherwise, |text| text.parse().expect("a number"))
    }

    /// Returns the address of the RTI.
    pub(crate) fn address(&self) -> RtiAddress {
        self.text("rti")
            .expect("the parent passes it")
            .parse()
            .expect("the parent passes an address")
    }

    /// Sets the ordered processor and priority.
    fn place(&self) {
        if let Some(cpu) = self.text("cpu") {
            let cpu = CpuSet::one(cpu.parse().expect("a number")).expect("a processor");
            sched::set_affinity(None, &cpu).expect("the processor is online");
        }
        if let Some(priority) = self.text("fifo") {
            let priority: u8 = priority.parse().expect("a number");
            let priority = Priority::try_from(priority).expect("a priority");
            sched::set_policy(None, &Policy::Fifo { priority }).expect("the parent tried it");
        }
    }
}

/// The processors and the scheduling policy of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) cores: Cores,
    pub(crate) is_fifo: bool,
}

/// The processors of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// The scheduler's choice.
    Any,
    /// One for all processes.
    One,
    /// One for the clients, the other for the server.
    Two,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = match self.cores {
            Cores::Any => "any core",
            Cores::One => "one core",
            Cores::Two => "two cores",
        };
        let policy = if self.is_fifo { "FIFO 40" } else { "OTHER" };
        f.pad(&format!("{cores}, {policy}"))
    }
}

/// Returns the placements to compare: FIFO only where it is permitted, two processors only where there are two.
pub(crate) fn placements(orders: &Orders) -> Vec<Placement> {
    let may_fifo = {
        let priority = Priority::try_from(40).expect("40 is valid");
        let policy = sched::policy(None).expect("a process can read its policy");
        let may = sched::set_policy(None, &Policy::Fifo { priority }).is_ok();
        sched::set_policy(None, &policy).expect("the former policy is permitted");
        may
    };
    let has_two = cpu::online().iter().count() > 1;
    let all = [
        (Cores::Any, false),
        (Cores::One, false),
        (Cores::Two, false),
        (Cores::One, true),
        (Cores::Two, true),
    ];
    let wanted = orders.text("placement");
    all.into_iter()
        .map(|(cores, is_fifo)| Placement { cores, is_fifo })
        .filter(|placement| may_fifo || !placement.is_fifo)
        .filter(|placement| has_two || placement.cores != Cores::Two)
        .filter(|placement| wanted.is_none_or(|wanted| placement.to_string().contains(wanted)))
        .collect()
}

/// The transport between federates and the RTI.
pub(crate) const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::SharedMemory];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    SharedMemory,
}

impl Transport {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::SharedMemory => "shm",
        }
    }

    /// Returns the kind of relay that serves as its floor.
    pub(crate) const fn relay(self) -> relay::Kind {
        match self {
            Self::Tcp => relay::Kind::Tcp,
            Self::SharedMemory => relay::Kind::Stream,
        }
    }

    /// Returns the transport that `over=` names, or all.
    pub(crate) fn wanted(orders: &Orders) -> Vec<Self> {
        let wanted = orders.text("over");
        let all = TRANSPORTS.into_iter();
        all.filter(|transport| wanted.is_none_or(|wanted| wanted == transport.word())).collect()
    }
}

/// A process in a role. Dropping it closes its standard input, which ends it, or kills it.
pub(crate) struct Peer {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts a process, placed as a server or as a client.
    pub(crate) fn start(
        role: &str,
        placement: Placement,
        is_server: bool,
        orders: &[String],
    ) -> Self {
        let mut command = Command::new(env::current_exe().expect("a running program has a path"));
        command.arg(format!("{ROLE}{role}")).args(orders);
        let online: Vec<u16> = cpu::online().iter().collect();
        let cpu = match placement.cores {
            Cores::Any => None,
            Cores::Two if is_server => online.last(),
            _ => online.first(),
        };
        command.args(cpu.map(|cpu| format!("cpu={cpu}")));
        command.args(placement.is_fifo.then_some("fifo=40"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program can be started again");
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().expect("it is piped");
        Self { process, stdin, stdout: BufReader::new(stdout).lines() }
    }

    /// Starts a client and waits until it has joined.
    pub(crate) fn client(role: &str, placement: Placement, orders: &[String]) -> Self {
        let mut peer = Self::start(role, placement, false, orders);
        assert_eq!(peer.read_line(), "joined");
        peer
    }

    /// Returns the next line of its output.
    pub(crate) fn read_line(&mut self) -> String {
        self.stdout.next().expect("the peer ended; see its error output").expect("it writes text")
    }

    pub(crate) fn send_line(&mut self, what: &str) {
        let stdin = self.stdin.as_mut().expect("it runs");
        writeln!(stdin, "{what}").expect("the peer ended; see its error output");
    }

    /// Sends an order and returns the answer.
    pub(crate) fn ask(&mut self, what: &str) -> String {
        self.send_line(what);
        self.read_line()
    }

    /// Returns the processor time it has used.
    pub(crate) fn used(&self) -> Span {
        cpu_clock::process(self.process.id()).expect("it runs")
    }

    /// Returns its present and peak memory, in MiB.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let mib = |key| {
            let line = status.lines().find_map(|line: &str| line.strip_prefix(key));
            let kib: f64 = line
                .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
                .expect("every process has this field (proc(5))");
            kib / 1024.0
        };
        (mib("VmRSS:"), mib("VmHWM:"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // A peer that waits for anything but its next order would not end by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In a peer: writes a line to the parent.
pub(crate) fn report(what: impl fmt::Display) {
    let mut out = stdout().lock();
    writeln!(out, "{what}").and_then(|()| out.flush()).expect("the parent listens");
}

/// In a peer: returns the parent's next order; `None` means to end.
pub(crate) fn next_order() -> Option<String> {
    stdin().lines().next().and_then(Result::ok)
}

/// The role of the RTI. Reports its TCP address and its local name.
fn rti(_: &Orders) {
    let name = format!("bench-{}", std::process::id());
    let options = Options {
        listen: vec!["127.0.0.1:0".parse().expect("a valid address")],
        local: Some(name.clone()),
        ..Options::default()
    };
    let server = Server::bind(options).expect("it listens on loopback");
    report(format_args!("tcp:{} shm:{name}", server.addresses().tcp[0]));
    server.run().expect("it serves");
}

/// An RTI in a process of its own, and its addresses.
pub(crate) struct Rti {
    pub(crate) peer: Peer,
    addresses: String,
}

impl Rti {
    pub(crate) fn start(placement: Placement) -> Self {
        let mut peer = Peer::start("rti", placement, true, &[]);
        let addresses = peer.read_line();
        Self { peer, addresses }
    }

    /// Returns the order that passes its address to a client.
    pub(crate) fn order(&self, transport: Transport) -> String {
        let (tcp, shm) = self.addresses.split_once(' ').expect("it reported both addresses");
        match transport {
            Transport::Tcp => format!("rti={tcp}"),
            Transport::SharedMemory => format!("rti={shm}"),
        }
    }
}

/// Returns the nearest-rank quantile of sorted samples, in microseconds.
pub(crate) fn quantile(sorted: &[u64], share: f64) -> f64 {
    let rank = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted[rank] as f64 * 1e-3
}

/// Runs a short block of each subject to warm up, then `blocks` blocks in the order A B B A, so that drift affects all
/// subjects equally. `block` receives a subject, the number of repetitions, and whether to keep the result.
pub(crate) fn in_turns<S>(
    subjects: &mut [S],
    (blocks, count): (u64, u64),
    block: impl Fn(&mut S, u64, bool),
) {
    for subject in &mut *subjects {
        block(subject, count / 4 + 1, false);
    }
    for number in 0..blocks {
        let keep = |subject: &mut S| block(subject, count, true);
        if number % 2 == 0 {
            subjects.iter_mut().for_each(keep);
        } else {
            subjects.iter_mut().rev().for_each(keep);
        }
    }
}

/// Returns the median ratio of each block to the floor's block of the same turn.
pub(crate) fn ratio(ours: &[f64], floor: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(floor).map(|(ours, floor)| ours / floor).collect();
    median(&ratios)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Prints the properties of the machine on which the results depend.
pub(crate) fn print_conditions() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("?");
    println!(
        "{}, {} processors, Linux {}, load {}",
        model.trim_start_matches([' ', '\t', ':']),
        cpu::online().iter().count(),
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").trim(),
    );
}
