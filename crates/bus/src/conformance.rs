//! The conformance suite: the rules for every backend, as functions that panic if a rule is broken.
//!
//! A backend is complete when it passes the suite unchanged. Where it matters, the other end of a channel is a
//! separate process: the test binary run again with only the test named by [`CHILD_TEST`], which calls [`child`].
//! `local:` works only within one process, so its other end is a thread and the tests that kill do not apply to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hemiola_units::{Delivery, Endpoint, Instant, Span};
use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};

use crate::{
    Channel, Handle, Readiness, ReceiveError, Receiver, SendError, Sender, Spec, open_receiver,
    open_sender,
};

/// The path of the test in the test binary that calls [`child`].
pub const CHILD_TEST: &str = "child";

/// The environment variable with a child's orders.
const CHILD_VARIABLE: &str = "HEMIOLA_BUS_CHILD";

/// Odd on purpose: no word size divides it.
const MESSAGE_SIZE: usize = 61;

/// Messages checked by a test under load.
const HAMMER_COUNT: u64 = 20_000;

/// How long a test waits for an event before it fails.
const TIMEOUT: Span = Span::from_millis(20_000);

/// The role of the process at the other end.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Role {
    /// Sends self-checking messages of this generation as fast as the channel accepts them, without end.
    Hammer { generation: u64 },
    /// Receives and checks messages without end.
    Receive,
    /// Sends one message after this many milliseconds.
    SendAfter { millis: u64 },
    /// Creates the channel again, opens both ends, sends, and sleeps without end.
    Make,
}

#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    handle: Handle,
    role: Role,
}

/// Plays the other end if this process is a child of the suite; otherwise does nothing. Call it from the test named
/// [`CHILD_TEST`].
pub fn child() {
    let Ok(orders) = std::env::var(CHILD_VARIABLE) else { return };
    let signal = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(signal).unwrap();
    let Orders { handle, role } = serde_json::from_str(&orders).unwrap();
    play(&handle, &role, || {
        std::io::stdout().write_all(b"\nready\n").unwrap();
        std::io::stdout().flush().unwrap();
    });
    std::process::exit(0);
}

fn play(handle: &Handle, role: &Role, ready: impl FnOnce()) {
    match *role {
        Role::Hammer { generation } => {
            let mut sender = open_sender(handle).unwrap();
            ready();
            for number in 0.. {
                send_with_retries(&mut *sender, &message(generation, number));
            }
        }
        Role::Receive => {
            let mut receiver = open_receiver(handle).unwrap();
            ready();
            loop {
                receive_within(&mut *receiver, TIMEOUT).expect("messages keep coming");
            }
        }
        Role::SendAfter { millis } => {
            let mut sender = open_sender(handle).unwrap();
            ready();
            std::thread::sleep(Duration::from_millis(millis));
            sender.send(&message(0, 7)).unwrap();
        }
        Role::Make => {
            let channel = Channel::create(handle.spec()).unwrap();
            let mut sender = open_sender(&channel.handle()).unwrap();
            let _receiver = open_receiver(&channel.handle()).unwrap();
            sender.send(&message(0, 0)).unwrap();
            ready();
            loop {
                std::thread::park();
            }
        }
    }
}

/// A child of the suite, killed when dropped.
struct Peer(Child);

impl Peer {
    /// Starts the process and returns once it has opened its end.
    fn start(channel: &Channel, role: Role) -> Self {
        for descriptor in channel.descriptors() {
            rustix::io::fcntl_setfd(descriptor, FdFlags::empty()).unwrap();
        }
        Self::spawn(channel.handle(), role)
    }

    fn spawn(handle: Handle, role: Role) -> Self {
        let orders = Orders { handle, role };
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([CHILD_TEST, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD_VARIABLE, serde_json::to_string(&orders).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|line| line == "ready");
        assert!(ready, "the other process ended before it was ready");
        Self(child)
    }

    fn alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Kills the process with SIGKILL, whatever it is doing.
    fn kill(mut self) {
        assert!(self.alive(), "the other process found something wrong");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only if the process was already waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A message that can be checked: generation, number, then bytes computed from both. Its length depends on the number.
fn message(generation: u64, number: u64) -> Vec<u8> {
    let length = 16 + (number % (MESSAGE_SIZE as u64 - 15)) as usize;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(generation.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    let seed = (generation << 32 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bytes.extend((16..length).map(|index| (seed >> (index % 8 * 8)) as u8 ^ index as u8));
    bytes
}

/// Returns generation and number of a message after checking that it is whole.
fn checked(bytes: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (generation, number) = (word(0), word(8));
    assert_eq!(bytes, message(generation, number), "a torn message");
    (generation, number)
}

/// Returns the next message if there is one now. A torn read is retried, as a caller would.
fn receive_now(receiver: &mut dyn Receiver) -> Option<(u64, u64)> {
    let mut buffer = [0; MESSAGE_SIZE];
    loop {
        match receiver.receive(&mut buffer) {
            Ok(message) => return message.map(checked),
            Err(ReceiveError::Torn) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the next message, waiting for it.
fn receive_within(receiver: &mut dyn Receiver, span: Span) -> Option<(u64, u64)> {
    let until = crate::now() + span;
    loop {
        if let Some(message) = receive_now(receiver) {
            return Some(message);
        }
        if receiver.wait(until).unwrap() == Readiness::TimedOut {
            return None;
        }
    }
}

/// Sends once there is room.
fn send_with_retries(sender: &mut dyn Sender, message: &[u8]) {
    let until = crate::now() + TIMEOUT;
    loop {
        match sender.send(message) {
            Ok(()) => return,
            Err(SendError::Full) if crate::now() < until => {
                std::thread::sleep(Duration::from_micros(50));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A channel of its own run, swept afterwards.
struct Fixture {
    channel: Channel,
}

impl Fixture {
    fn new(endpoint: &Endpoint, delivery: Delivery) -> Self {
        Self::of_run(endpoint, delivery, &fresh_run())
    }

    fn of_run(endpoint: &Endpoint, delivery: Delivery, run: &str) -> Self {
        let spec = Spec {
            endpoint: endpoint.clone(),
            delivery,
            message_size: MESSAGE_SIZE,
            run: run.to_owned(),
        };
        Self { channel: Channel::create(&spec).unwrap() }
    }

    /// The receiver is opened first: no backend keeps messages for receivers that do not exist yet.
    fn ends(&self) -> (Box<dyn Sender>, Box<dyn Receiver>) {
        let receiver = self.receiver();
        (self.sender(), receiver)
    }

    fn sender(&self) -> Box<dyn Sender> {
        open_sender(&self.channel.handle()).unwrap()
    }

    fn receiver(&self) -> Box<dyn Receiver> {
        open_receiver(&self.channel.handle()).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        sweep(&self.channel.handle().spec().run);
    }
}

/// Returns a run name that no other test uses.
fn fresh_run() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Removes what mechanisms with names leave behind.
fn sweep(run: &str) -> usize {
    #[cfg(feature = "pubsub")]
    return crate::pubsub::sweep(run).unwrap();
    #[cfg(not(feature = "pubsub"))]
    {
        let _ = run;
        0
    }
}

fn length(delivery: Delivery) -> u64 {
    match delivery {
        Delivery::Latest => 1,
        Delivery::Queue(length) => u64::from(length.get()),
    }
}

/// An empty channel gives no message.
pub fn empty_gives_nothing(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    assert_eq!(receive_now(&mut *receiver), None);
    sender.send(&message(0, 1)).unwrap();
    assert_eq!(receive_now(&mut *receiver), Some((0, 1)));
    assert_eq!(receive_now(&mut *receiver), None);
}

/// Warming up sends nothing, takes nothing and does not wait.
pub fn warming_up_moves_nothing(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    sender.warm_up();
    receiver.warm_up();
    assert_eq!(receive_now(&mut *receiver), None);
    sender.send(&message(0, 1)).unwrap();
    sender.warm_up();
    receiver.warm_up();
    assert_eq!(receive_now(&mut *receiver), Some((0, 1)));
    assert_eq!(receive_now(&mut *receiver), None);
}

/// A queue delivers every message once and in order, over many times its length.
pub fn queue_keeps_order(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    let (mut sent, mut received) = (0, 0);
    for round in 0..50 {
        for _ in 0..round % length(delivery) + 1 {
            sender.send(&message(0, sent)).unwrap();
            sent += 1;
        }
        while let Some(got) = receive_now(&mut *receiver) {
            assert_eq!(got, (0, received));
            received += 1;
        }
        assert_eq!(received, sent);
    }
}

/// A latest channel accepts every message and delivers the newest, once.
pub fn latest_gives_the_newest_once(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    for number in 0..100 {
        sender.send(&message(0, number)).unwrap();
        if number % 7 == 0 {
            assert_eq!(receive_now(&mut *receiver), Some((0, number)));
            assert_eq!(receive_now(&mut *receiver), None);
        }
    }
    assert_eq!(receive_now(&mut *receiver), Some((0, 99)));
}

/// Every receiver gets the newest message, however many there are, including late ones. The sender does not know of
/// them.
pub fn every_receiver_gets_the_newest(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, first) = fixture.ends();
    let mut receivers = vec![first];
    for number in 0..5 {
        sender.send(&message(0, number)).unwrap();
        for receiver in &mut receivers {
            assert_eq!(receive_now(&mut **receiver), Some((0, number)));
            assert_eq!(receive_now(&mut **receiver), None);
        }
        let mut another = fixture.receiver();
        // A late receiver may or may not see the last message from before it was opened.
        receive_now(&mut *another);
        receivers.push(another);
    }
}

/// A full queue refuses messages, keeps the others, and has room again after one is received.
pub fn full_queue_refuses_and_loses_nothing(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    let count = length(delivery);
    for number in 0..count {
        sender.send(&message(0, number)).unwrap();
    }
    for _ in 0..3 {
        assert!(matches!(sender.send(&message(0, 1000)), Err(SendError::Full)));
    }
    assert_eq!(receive_now(&mut *receiver), Some((0, 0)));
    sender.send(&message(0, count)).unwrap();
    for number in 1..=count {
        assert_eq!(receive_now(&mut *receiver), Some((0, number)));
    }
    assert_eq!(receive_now(&mut *receiver), None);
}

/// A message or buffer of the wrong size is refused, and the channel continues to work.
pub fn wrong_sizes_are_refused(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    let refused = sender.send(&[0; MESSAGE_SIZE + 1]);
    assert!(matches!(refused, Err(SendError::Size { size: 62, size_max: MESSAGE_SIZE })));
    assert_eq!(receive_now(&mut *receiver), None);
    sender.send(&[]).unwrap();
    let mut short = [0; MESSAGE_SIZE - 1];
    assert!(matches!(receiver.receive(&mut short), Err(ReceiveError::Buffer { .. })));
    assert_eq!(receiver.receive(&mut [0; MESSAGE_SIZE]).unwrap(), Some(&[][..]));
    sender.send(&[5; MESSAGE_SIZE]).unwrap();
    let mut long = [0; MESSAGE_SIZE + 40];
    assert_eq!(receiver.receive(&mut long).unwrap(), Some(&[5; MESSAGE_SIZE][..]));
}

/// A wait without messages ends at its time limit, not before.
pub fn wait_times_out(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let (mut sender, mut receiver) = fixture.ends();
    assert_eq!(receiver.wait(Instant::ZERO).unwrap(), Readiness::TimedOut);
    let until = crate::now() + Span::from_micros(2_500);
    assert_eq!(receiver.wait(until).unwrap(), Readiness::TimedOut);
    assert!(crate::now() >= until);
    sender.send(&message(0, 0)).unwrap();
    assert_eq!(receiver.wait(Instant::ZERO).unwrap(), Readiness::Ready);
    assert_eq!(receiver.wait(Instant::MAX).unwrap(), Readiness::Ready);
    assert!(receive_now(&mut *receiver).is_some());
    let soon = crate::now() + Span::from_micros(100);
    assert_eq!(receiver.wait(soon).unwrap(), Readiness::TimedOut);
}

/// A wait ends when another process, or thread, sends.
pub fn wait_wakes(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let mut receiver = fixture.receiver();
    for _ in 0..3 {
        let role = Role::SendAfter { millis: 20 };
        let mut peer = None;
        if matches!(endpoint, Endpoint::Local(_)) {
            let handle = fixture.channel.handle();
            std::thread::spawn(move || play(&handle, &role, || ()));
        } else {
            peer = Some(Peer::start(&fixture.channel, role));
        }
        let until = crate::now() + TIMEOUT;
        assert_eq!(receiver.wait(until).unwrap(), Readiness::Ready);
        assert_eq!(receive_now(&mut *receiver), Some((0, 7)));
        drop(peer);
    }
}

/// However the ends interleave, messages are whole and in order, and a queue has no gap.
pub fn torn_messages_are_never_seen(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let mut receiver = fixture.receiver();
    let role = Role::Hammer { generation: 3 };
    let _peer = if matches!(endpoint, Endpoint::Local(_)) {
        let handle = fixture.channel.handle();
        std::thread::spawn(move || {
            let mut sender = open_sender(&handle).unwrap();
            (0..HAMMER_COUNT).for_each(|n| send_with_retries(&mut *sender, &message(3, n)));
        });
        None
    } else {
        Some(Peer::start(&fixture.channel, role))
    };
    let mut expected = 0;
    while expected < HAMMER_COUNT {
        let (generation, number) = receive_within(&mut *receiver, TIMEOUT).unwrap();
        assert_eq!(generation, 3);
        match delivery {
            Delivery::Latest => assert!(number >= expected, "{number} after {expected}"),
            Delivery::Queue(_) => assert_eq!(number, expected),
        }
        expected = number + 1;
    }
}

/// A sender killed at any moment leaves whole messages, and its successor takes over.
pub fn successor_of_a_killed_sender_takes_over(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let mut receiver = fixture.receiver();
    for generation in 1..=5 {
        let peer = Peer::start(&fixture.channel, Role::Hammer { generation });
        // The predecessor's messages come first, or are replaced; then the successor's, in order.
        let mut last = None;
        while last < Some(500 + generation * 97) {
            let (from, number) = receive_within(&mut *receiver, TIMEOUT).unwrap();
            assert!(from == generation || (from + 1 == generation && last.is_none()), "{from}");
            if from == generation {
                assert!(last < Some(number));
                last = Some(number);
            }
        }
        peer.kill();
    }
}

/// A receiver killed at any moment does not hinder the sender, and its successor takes over.
pub fn successor_of_a_killed_receiver_takes_over(endpoint: &Endpoint, delivery: Delivery) {
    let fixture = Fixture::new(endpoint, delivery);
    let mut sender = fixture.sender();
    let mut number = 0;
    for generation in 1..=5 {
        let mut peer = Peer::start(&fixture.channel, Role::Receive);
        for _ in 0..500 + generation * 97 {
            send_with_retries(&mut *sender, &message(generation, number));
            number += 1;
        }
        assert!(peer.alive(), "the other process found something wrong");
        peer.kill();
        // Without a receiver, a queue fills up and a latest channel accepts everything; neither blocks.
        for _ in 0..2 * length(delivery) {
            match sender.send(&message(generation, number)) {
                Ok(()) => number += 1,
                Err(SendError::Full) => assert_ne!(delivery, Delivery::Latest),
                Err(error) => panic!("{error}"),
            }
        }
    }
    let mut receiver = fixture.receiver();
    let handle = fixture.channel.handle();
    let until = crate::now() + TIMEOUT;
    let got = loop {
        match sender.send(&message(9, number)) {
            Ok(()) => number += 1,
            Err(SendError::Full) => {}
            Err(error) => panic!("{error}"),
        }
        if let Some((9, number)) = receive_now(&mut *receiver) {
            break number;
        }
        assert!(crate::now() < until, "{handle:?} gives nothing to the successor");
    };
    assert!(got < number);
}

/// Channels with the same name in two runs are separate.
pub fn two_runs_do_not_meet(endpoint: &Endpoint, delivery: Delivery) {
    let run = fresh_run();
    let one = Fixture::of_run(endpoint, delivery, &run);
    // A run name that begins with the other's, to detect prefixes mistaken for names.
    let two = Fixture::of_run(endpoint, delivery, &format!("{run}-x"));
    let (mut sender_one, mut receiver_one) = one.ends();
    let (mut sender_two, mut receiver_two) = two.ends();
    sender_one.send(&message(1, 1)).unwrap();
    assert_eq!(receive_now(&mut *receiver_two), None);
    sender_two.send(&message(2, 2)).unwrap();
    assert_eq!(receive_now(&mut *receiver_one), Some((1, 1)));
    assert_eq!(receive_now(&mut *receiver_two), Some((2, 2)));
    drop((sender_one, receiver_one));
    drop(one);
    // The first run has ended and was swept, which must not affect the second.
    sender_two.send(&message(2, 3)).unwrap();
    assert_eq!(receive_now(&mut *receiver_two), Some((2, 3)));
}

/// The leftovers of a killed run disturb no other run, and are gone after a sweep, even for the same run.
pub fn leftovers_of_a_killed_run_are_swept(endpoint: &Endpoint, delivery: Delivery) {
    let other = Fixture::new(endpoint, delivery);
    let run = fresh_run();
    let spec = Spec { run: run.clone(), ..other.channel.handle().spec().clone() };
    Peer::spawn(Handle::named(spec), Role::Make).kill();

    let (mut sender, mut receiver) = other.ends();
    sender.send(&message(1, 1)).unwrap();
    assert_eq!(receive_now(&mut *receiver), Some((1, 1)));

    let left = sweep(&run);
    assert_eq!(left > 0, matches!(endpoint, Endpoint::PubSub(_)), "{left} leftovers");
    assert_eq!(sweep(&run), 0);
    sender.send(&message(1, 2)).unwrap();
    assert_eq!(receive_now(&mut *receiver), Some((1, 2)));

    let again = Fixture::of_run(endpoint, delivery, &run);
    let (mut sender, mut receiver) = again.ends();
    assert_eq!(receive_now(&mut *receiver), None);
    sender.send(&message(2, 1)).unwrap();
    assert_eq!(receive_now(&mut *receiver), Some((2, 1)));
}
