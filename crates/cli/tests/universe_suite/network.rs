//! Throughput of a network: figure 6.20. Two network name spaces, joined by a virtual cable, are the two hosts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use hemiola_report::text::size;

use super::messages::LENGTHS;
use super::page::Page;
use super::timing::{Scale, took};
use crate::two_hosts::may_make_name_spaces;

/// Where the receiver listens, in its own name space.
const RECEIVER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 98, 0, 1)), 7_700);

/// The speed of the thesis's Ethernet as a token bucket filter (tc-tbf(8)), and in bytes per second.
const ETHERNET: &str = "rate 10mbit burst 5kb latency 100ms";
const ETHERNET_RATE: f64 = 1.25e6;

/// The variable that makes this program a host: `receive`, or `send` with the number of messages of each length.
const ROLE: &str = "HEMIOLA_SUITE_HOST";

/// Not a test by itself: a host.
#[test]
fn host() {
    match std::env::var(ROLE).as_deref() {
        Ok("receive") => receive(),
        Ok(role) => send(role.strip_prefix("send ").unwrap().parse().unwrap()),
        Err(_) => {}
    }
}

fn pattern(number: u32) -> u8 {
    (number % 100) as u8
}

/// Answers each connection with the number of messages that arrived as they were sent.
fn receive() {
    let listener = TcpListener::bind(RECEIVER).unwrap();
    println!("\nlistening");
    for len in LENGTHS {
        let (mut stream, _) = listener.accept().unwrap();
        let mut count = [0; 4];
        stream.read_exact(&mut count).unwrap();
        let (mut message, mut whole) = (vec![0; len], 0_u32);
        for number in 0..u32::from_le_bytes(count) {
            stream.read_exact(&mut message).unwrap();
            whole += u32::from(message.iter().all(|byte| *byte == pattern(number)));
        }
        stream.write_all(&whole.to_le_bytes()).unwrap();
    }
}

/// Prints for each length the time in ns, and the answer.
fn send(count: u32) {
    for len in LENGTHS {
        let mut stream = TcpStream::connect(RECEIVER).unwrap();
        stream.set_nodelay(true).unwrap();
        let (nanos, whole) = took(|| {
            stream.write_all(&count.to_le_bytes()).unwrap();
            for number in 0..count {
                stream.write_all(&vec![pattern(number); len]).unwrap();
            }
            let mut whole = [0; 4];
            stream.read_exact(&mut whole).unwrap();
            u32::from_le_bytes(whole)
        });
        println!("\nsent {nanos} {whole}");
    }
}

/// What the messages of all lengths have shown.
struct Throughput {
    /// Bytes per second for each length.
    rates: Vec<f64>,
    /// Whether every message arrived as it was sent.
    is_whole: bool,
}

/// Two name spaces and the cable between them. They end with it.
struct Hosts([String; 2]);

impl Hosts {
    fn new() -> Self {
        let name = |number: u8| format!("hemiola-{}-suite-{number}", std::process::id());
        let hosts = Self([name(1), name(2)]);
        let [one, two] = &hosts.0;
        ip(&format!("netns add {one}"));
        ip(&format!("netns add {two}"));
        ip(&format!("-n {one} link add cable type veth peer name cable netns {two}"));
        for (name, address) in [(one, "10.98.0.1/24"), (two, "10.98.0.2/24")] {
            ip(&format!("-n {name} address add {address} dev cable"));
            ip(&format!("-n {name} link set cable up"));
        }
        hosts
    }

    /// Limits the speed of the cable. False if this machine cannot.
    fn limit(&self) -> bool {
        let limited = |name: &String| {
            let words = format!("-n {name} qdisc add dev cable root tbf {ETHERNET}");
            let tc = Command::new("tc").args(words.split(' ')).output();
            tc.is_ok_and(|output| output.status.success())
        };
        self.0.iter().all(limited)
    }

    /// Starts this program as a host.
    fn start(&self, host: usize, role: &str) -> Child {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[host]]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "universe_suite::network::host", "--nocapture"]).env(ROLE, role);
        command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap()
    }

    /// Sends so many messages of each length.
    fn exchange(&self, count: u32) -> Throughput {
        let mut receiver = self.start(0, "receive");
        let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
        let is_listening = lines.by_ref().any(|line| line.unwrap() == "listening");
        assert!(is_listening, "the receiver listens");
        let sender = self.start(1, &format!("send {count}")).wait_with_output().unwrap();
        if !sender.status.success() {
            let _ = receiver.kill();
        }
        lines.for_each(drop);
        let has_received = receiver.wait().unwrap().success();
        let output = String::from_utf8(sender.stdout).unwrap();
        let sent = output.lines().filter_map(|line| line.strip_prefix("sent "));
        let (mut rates, mut is_whole) = (Vec::new(), has_received);
        for (line, len) in sent.zip(LENGTHS) {
            let (nanos, whole) = line.split_once(' ').unwrap();
            is_whole &= whole == count.to_string();
            rates.push(len as f64 * f64::from(count) / nanos.parse::<f64>().unwrap() * 1e9);
        }
        is_whole &= rates.len() == LENGTHS.len();
        Throughput { rates, is_whole }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

fn mega(rate: f64) -> String {
    format!("{:.3} MB/s", rate / 1e6)
}

pub(crate) fn figure_20(scale: Scale, page: &mut Page) {
    if !may_make_name_spaces() {
        page.missing("needs root and ip(8) to make network name spaces");
        return;
    }
    let hosts = Hosts::new();
    rows(page, "cable without a limit", &hosts.exchange(scale.of(10, 2_000)));
    if !hosts.limit() {
        page.missing("the speed of Ethernet: tc(8) makes no token bucket filter here");
        return;
    }
    let found = hosts.exchange(scale.of(2, 100));
    rows(page, "10 Mbit/s", &found);
    let longest = found.rates.last().copied().unwrap_or_default();
    page.row("the longest message, 10 Mbit/s", {
        format!("{} ({:.1} Mbit/s)", mega(longest), longest * 8e-6)
    });
    page.shape("the longest message uses at least 61 % of 10 Mbit/s, as in the thesis", {
        longest >= 0.61 * ETHERNET_RATE
    });
}

fn rows(page: &mut Page, cable: &str, found: &Throughput) {
    for (len, rate) in LENGTHS.iter().zip(&found.rates) {
        page.row(format!("{}, {cable}", size(*len as f64)), mega(*rate));
    }
    page.law(format!("{cable}: every message arrives whole on the other host"), found.is_whole);
}
