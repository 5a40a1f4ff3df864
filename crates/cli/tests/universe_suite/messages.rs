//! Messages between two threads of a node: figures 6.10 to 6.12, 6.16, 6.18, 6.19, 6.21 and 6.22.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use hemiola_report::text::size;

use super::link::{Channel, tcp};
use super::page::Page;
use super::timing::{Scale, Straight, middle, shown, took};

/// Bytes that a pipe holds on Linux by default (pipe(7)).
const PIPE_LEN: usize = 64 << 10;

/// The lengths of messages in the thesis, up to its largest one.
pub(crate) const LENGTHS: [usize; 5] = [100, 1 << 10, 5 << 10, 10 << 10, 20 << 10];

/// Times of an exchange: a message there and a byte back.
struct Exchange {
    /// From before the send until the byte is back, ns.
    round: f64,
    /// Until the send returns, ns.
    send: f64,
    /// Receptions of one message, the most.
    receptions: u64,
    /// Whether every message arrived as it was sent.
    is_whole: bool,
}

fn exchange(scale: Scale, channel: Channel, len: usize) -> Exchange {
    let count = scale.of(10, 400);
    let (mut here, mut there) = channel.pair();
    let receiver = thread::spawn(move || {
        let (mut buffer, mut most, mut is_whole) = (vec![0; len], 0, true);
        for number in 0..count {
            buffer.fill(0xff);
            most = most.max(there.receive(&mut buffer));
            is_whole &= buffer.iter().all(|byte| *byte == (number % 100) as u8);
            there.send(&[1]);
        }
        (most, is_whole)
    });
    let (mut rounds, mut sends) = (Vec::new(), Vec::new());
    for number in 0..count {
        let message = vec![(number % 100) as u8; len];
        let (round, send) = took(|| {
            let (send, ()) = took(|| here.send(&message));
            here.receive(&mut [0]);
            send
        });
        rounds.push(round);
        sends.push(send);
    }
    let (receptions, is_whole) = receiver.join().expect("it receives");
    Exchange { round: middle(&rounds), send: middle(&sends), receptions, is_whole }
}

pub(crate) fn figure_10(scale: Scale, page: &mut Page) {
    let long = [PIPE_LEN, PIPE_LEN + 1, 4 * PIPE_LEN];
    let all = LENGTHS.into_iter().chain(long).map(|len| (len, exchange(scale, Channel::Pipe, len)));
    let all: Vec<(usize, Exchange)> = all.collect();
    for (len, found) in &all {
        let Exchange { round, receptions, .. } = found;
        page.row(size(*len as f64), format!("{}, at most {receptions} reads", shown(*round)));
    }
    page.row("steps at multiples of", size(PIPE_LEN as f64));
    page.law("every message arrives whole", all.iter().all(|(_, found)| found.is_whole));
    page.law("a message needs a read for each pipe that it fills, at least", {
        all.iter().all(|(len, found)| found.receptions >= len.div_ceil(PIPE_LEN) as u64)
    });
    let points: Vec<(f64, f64)> =
        all.iter().map(|(len, found)| (*len as f64, found.round)).collect();
    let line = Straight::through(&points);
    page.row("each KiB more", shown(line.slope * 1024.0));
    page.shape("the time grows with the length", line.slope > 0.0);
}

/// The parts of a send and of a receive over a Unix socket, alone: nothing waits.
struct Parts {
    /// Filling the message, ns.
    fill: f64,
    /// `write`, ns.
    write: f64,
    /// `read`, ns.
    read: f64,
    /// Taking the values out of the message, ns.
    extract: f64,
    is_whole: bool,
}

fn parts(scale: Scale, len: usize) -> Parts {
    let (mut here, mut there) = UnixStream::pair().expect("descriptors are left");
    let values: Vec<u32> = (0..(len / 4) as u32).collect();
    let mut rounds: [Vec<f64>; 4] = Default::default();
    let mut is_whole = true;
    for _ in 0..scale.of(10, 2_000) {
        let (fill, message) = took(|| {
            let mut message = Vec::with_capacity(len);
            values.iter().for_each(|value| message.extend(value.to_le_bytes()));
            message
        });
        let (write, sent) = took(|| here.write_all(&message));
        sent.expect("the peer is there");
        let mut buffer = vec![0; message.len()];
        let (read, received) = took(|| there.read_exact(&mut buffer));
        received.expect("the peer is there");
        let (extract, taken) = took(|| {
            let values = buffer.as_chunks::<4>().0.iter().copied();
            values.map(u32::from_le_bytes).collect::<Vec<_>>()
        });
        is_whole &= taken == values;
        rounds.iter_mut().zip([fill, write, read, extract]).for_each(|(to, time)| to.push(time));
    }
    let [fill, write, read, extract] = rounds.map(|times| middle(&times));
    Parts { fill, write, read, extract, is_whole }
}

pub(crate) fn figure_11(scale: Scale, page: &mut Page) {
    for len in LENGTHS {
        let Parts { fill, write, is_whole, .. } = parts(scale, len);
        let (fill, write) = (shown(fill), shown(write));
        page.row(size(len as f64), format!("filling the message {fill}, the system call {write}"));
        page.law(format!("{} arrive as they were sent", size(len as f64)), is_whole);
    }
}

pub(crate) fn figure_16(scale: Scale, page: &mut Page) {
    let all = LENGTHS.map(|len| (len, parts(scale, len)));
    for (len, Parts { read, extract, is_whole, .. }) in &all {
        let (read, extract) = (shown(*read), shown(*extract));
        page.row(size(*len as f64), format!("the system call {read}, taking the values {extract}"));
        page.law(format!("{} are received as they were sent", size(*len as f64)), *is_whole);
    }
    let (first, last) = (&all[0].1, &all[LENGTHS.len() - 1].1);
    page.shape("administration takes longer for long messages", last.extract > first.extract);
}

pub(crate) fn figure_12(scale: Scale, page: &mut Page) {
    for len in [LENGTHS[0], LENGTHS[1], LENGTHS[4]] {
        let all = Channel::ALL.map(|channel| (channel, exchange(scale, channel, len)));
        for (channel, found) in &all {
            let half = shown(found.round / 2.0);
            page.row(format!("{}, {}", channel.name(), size(len as f64)), half);
        }
        page.law(format!("messages of {} arrive whole over all channels", size(len as f64)), {
            all.iter().all(|(_, found)| found.is_whole)
        });
        let [.., (_, tcp), (_, shared)] = &all;
        page.shape("shared memory is faster than TCP", shared.round < tcp.round);
    }
}

/// How a receiver waits.
#[derive(Clone, Copy)]
enum Wait {
    /// `read` blocks.
    Block,
    /// `read` does not block; between two reads, others may run.
    Poll,
    /// `read` does not block, and is called again at once.
    Spin,
}

/// ns of a round over TCP with a receiver that waits like this, and the reads that it needed in all.
fn waiting(scale: Scale, wait: Wait) -> (f64, u64) {
    let count = scale.of(10_u32, 1_000);
    let (mut here, mut there) = tcp();
    if !matches!(wait, Wait::Block) {
        there.set_nonblocking(true).expect("it is a socket");
    }
    let receiver = thread::spawn(move || {
        let (mut buffer, mut reads, mut messages) = ([0; 100], 0, 0);
        while messages < count {
            reads += 1;
            match there.read(&mut buffer) {
                Ok(100) => {
                    messages += 1;
                    there.write_all(&[1]).expect("the peer is there");
                }
                Ok(len) => panic!("a message of 100 bytes has {len}"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => match wait {
                    Wait::Poll => thread::yield_now(),
                    Wait::Block | Wait::Spin => std::hint::spin_loop(),
                },
                Err(error) => panic!("{error}"),
            }
        }
        reads
    });
    let rounds = (0..count).map(|_| {
        let exchange = || here.write_all(&[0; 100]).and_then(|()| here.read_exact(&mut [0]));
        let (nanos, done) = took(exchange);
        done.expect("the peer is there");
        nanos
    });
    let rounds: Vec<f64> = rounds.collect();
    (middle(&rounds), receiver.join().expect("it receives"))
}

pub(crate) fn figure_18(scale: Scale, page: &mut Page) {
    let count = scale.of(10_u32, 1_000);
    let ways = [("blocking", Wait::Block), ("polling", Wait::Poll), ("spinning", Wait::Spin)];
    for (name, wait) in ways {
        let (nanos, reads) = waiting(scale, wait);
        let each = reads as f64 / f64::from(count);
        page.row(name, format!("{} a round, {each:.1} reads a message", shown(nanos)));
        let is_right = match wait {
            Wait::Block => reads == u64::from(count),
            Wait::Poll | Wait::Spin => reads >= u64::from(count),
        };
        page.law(format!("{name} gets every message, and blocking with one read each"), is_right);
    }
}

/// MB/s of a stream of messages of this length.
fn streamed(scale: Scale, channel: Channel, len: usize) -> f64 {
    let count = scale.of(20, 2_000);
    let (mut here, mut there) = channel.pair();
    let receiver = thread::spawn(move || {
        let mut buffer = vec![0; len];
        for _ in 0..count {
            there.receive(&mut buffer);
        }
        there.send(&[1]);
    });
    let message = vec![7; len];
    let (nanos, ()) = took(|| {
        (0..count).for_each(|_| here.send(&message));
        here.receive(&mut [0]);
    });
    receiver.join().expect("it receives");
    (count * len) as f64 / nanos * 1e3
}

fn throughput(scale: Scale, page: &mut Page, channel: Channel) {
    let mut rates = Vec::new();
    for len in LENGTHS {
        let found = exchange(scale, channel, len);
        let receive = parts(scale, len);
        // The thesis: size / (send time - receive time), where a send ends when the receiver has the message.
        let apart = found.round - receive.read - receive.extract;
        let formula = if apart > 0.0 { len as f64 / apart * 1e3 } else { f64::INFINITY };
        let measured = streamed(scale, channel, len);
        let send = shown(found.send);
        page.row(
            format!("{}, {}", channel.name(), size(len as f64)),
            format!(
                "{formula:.0} MB/s by the formula, {measured:.0} MB/s as a stream; send {send}"
            ),
        );
        page.law(format!("{} of {} arrive whole", channel.name(), size(len as f64)), {
            found.is_whole && receive.is_whole
        });
        rates.push(measured);
    }
    let grows = rates[LENGTHS.len() - 1] > rates[0];
    page.shape(format!("{}: long messages have the higher throughput", channel.name()), grows);
}

pub(crate) fn figure_19(scale: Scale, page: &mut Page) {
    throughput(scale, page, Channel::Unix);
    throughput(scale, page, Channel::Shared);
}

pub(crate) fn figure_21(scale: Scale, page: &mut Page) {
    throughput(scale, page, Channel::Tcp);
}

/// Connections of this network namespace in the state TIME-WAIT, as the kernel counts them.
fn in_time_wait() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/net/sockstat").ok()?;
    let words: Vec<&str> = text.lines().find(|line| line.starts_with("TCP:"))?.split(' ').collect();
    let at = words.iter().position(|word| *word == "tw")?;
    words.get(at + 1)?.parse().ok()
}

pub(crate) fn figure_22(scale: Scale, page: &mut Page) {
    let count = scale.of(20, 2_000);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is left");
    let address = listener.local_addr().expect("it is bound");
    let receiver = thread::spawn(move || {
        let mut received = 0;
        for _ in 0..count {
            let (mut stream, _) = listener.accept().expect("it listens");
            let mut message = Vec::new();
            stream.read_to_end(&mut message).expect("the peer is there");
            received += message.len();
        }
        received
    });
    let before = in_time_wait();
    let (nanos, ()) = took(|| {
        for _ in 0..count {
            let mut stream = TcpStream::connect(address).expect("it listens");
            stream.write_all(&[0; 100]).expect("the peer is there");
        }
    });
    let received = receiver.join().expect("it receives");
    let between = in_time_wait();
    let permanent = streamed_each(count);
    let after = in_time_wait();
    page.row("a connection for each message", format!("{} a message", shown(nanos / count as f64)));
    page.row("a permanent connection", format!("{} a message", shown(permanent)));
    page.law("every message arrives", received == 100 * count);
    page.row("seconds in TIME-WAIT", "60, fixed in Linux");
    let Some(((before, between), after)) = before.zip(between).zip(after) else {
        page.missing("connections in TIME-WAIT: /proc/self/net/sockstat has no count of them");
        return;
    };
    page.row("in TIME-WAIT before, after, and after the permanent one", {
        format!("{before}, {between}, {after}")
    });
    page.shape("connections pile up", between >= before + count as u64 / 2);
    page.shape("a permanent one leaves at most one more", after <= between + 1);
}

/// ns of a message of 100 bytes over one connection.
fn streamed_each(count: usize) -> f64 {
    let (mut here, mut there) = tcp();
    let receiver = thread::spawn(move || {
        let mut buffer = [0; 100];
        (0..count).for_each(|_| there.read_exact(&mut buffer).expect("the peer is there"));
    });
    let send = || (0..count).for_each(|_| here.write_all(&[0; 100]).expect("the peer is there"));
    let (nanos, ()) = took(send);
    receiver.join().expect("it receives");
    nanos / count as f64
}
