//! The healthy pair: one federate updates 200 times a second, the other reflects.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use hemiola_federate::Options;
use hemiola_federate::hla::Callback;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::timer;
use hemiola_units::{Instant, Span};

use super::federation::{HEALTHY, Member, waiting};
use super::process::{Finished, Orders, PATIENCE, Process, is_over, next_order, report};

/// The period of the updates.
const PERIOD: Span = Span::from_millis(5);

/// How long the subscriber waits at the end for updates that are still missing.
const MISSING_MAX: Span = Span::from_millis(5000);

/// The role of the publisher: reports `joined`, and upon an order the instant of its first release. A late publisher
/// catches up: each release has its update, and its latency counts from the planned instant.
pub(crate) fn publisher(orders: &Orders) {
    let member = Member::join(&orders.address("rti"), HEALTHY, "Body", waiting());
    let mut member = member.expect("the healthy federate joins");
    let object = member.register().expect("permitted");
    report("joined");
    let Some(_) = next_order() else { return };
    let first = MonotonicClock.now() + PERIOD;
    report(first.nanos());
    let mut number = 0;
    while !is_over() {
        let release = first + PERIOD * number;
        timer::sleep_until(release);
        let value = [number as u64, release.nanos()].map(u64::to_be_bytes).concat();
        let values = [(member.value, value.into())];
        if let Err(error) = member.federate.update_attribute_values(object, &values, "") {
            report(format_args!("lost: {error}"));
            break;
        }
        number += 1;
    }
    report(number);
}

/// The role of the subscriber: reports `joined`; after the order that states how many updates were sent, it reports the
/// number and the latency in nanoseconds of each that has arrived, in the order of arrival.
pub(crate) fn subscriber(orders: &Orders) {
    let member = Member::join(&orders.address("rti"), HEALTHY, "Body", Options::default());
    let mut member = member.expect("the healthy federate joins");
    member.subscribe().expect("permitted");
    report("joined");
    let mut total = Total::Unknown(std::thread::spawn(next_order));
    let mut arrived: Vec<(u64, i64)> = Vec::new();
    while !total.is_reached(arrived.len()) {
        match member.federate.evoke(Span::from_millis(20)) {
            Ok(Some(Callback::ReflectAttributeValues { attribute_values, .. })) => {
                let now = MonotonicClock.now();
                let bytes = &attribute_values[0].1;
                let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8"));
                arrived.push((word(0), (now - Instant::from_nanos(word(8))).nanos()));
            }
            Ok(_) => {}
            Err(error) => {
                report(format_args!("lost: {error}"));
                break;
            }
        }
    }
    for (number, latency) in arrived {
        report(format_args!("{number} {latency}"));
    }
}

/// How many updates the subscriber must wait for.
enum Total {
    Unknown(JoinHandle<Option<String>>),
    /// The number, and the instant at which missing ones are given up.
    Known(usize, Instant),
}

impl Total {
    fn is_reached(&mut self, arrived: usize) -> bool {
        if let Self::Unknown(order) = self
            && order.is_finished()
        {
            let order = std::mem::replace(order, std::thread::spawn(|| None)).join();
            let total = order.ok().flatten().and_then(|text| text.parse().ok()).unwrap_or(0);
            *self = Self::Known(total, MonotonicClock.now() + MISSING_MAX);
        }
        match self {
            Self::Unknown(_) => false,
            Self::Known(total, until) => arrived >= *total || *until <= MonotonicClock.now(),
        }
    }
}

/// The running pair.
pub(crate) struct Pair {
    publisher: Process,
    subscriber: Process,
    first: Instant,
}

/// What became of every update.
pub(crate) struct Course {
    first: Instant,
    sent: u64,
    latencies: BTreeMap<u64, i64>,
    /// Why the course is not as it must be: lost sessions, updates that are missing or out of order.
    pub(crate) faults: Vec<String>,
}

impl Pair {
    /// Joins the healthy federation and starts the updates.
    ///
    /// # Errors
    /// One of them does not join.
    pub(crate) fn start(orders: &[String]) -> Result<Self, String> {
        let mut publisher = Process::start("publisher", orders);
        publisher.says("joined")?;
        let mut subscriber = Process::start("subscriber", orders);
        subscriber.says("joined")?;
        publisher.tell("start");
        let first = publisher.line(PATIENCE)?;
        let first = first.parse().map_err(|_| format!("the publisher does not begin: {first}"))?;
        Ok(Self { publisher, subscriber, first: Instant::from_nanos(first) })
    }

    /// Ends the updates, waits for those under way, and collects what happened.
    pub(crate) fn finish(mut self) -> Course {
        let mut faults = Vec::new();
        let Finished { mut lines, failure } = self.publisher.finish(PATIENCE);
        let sent = lines.pop().and_then(|line| line.parse().ok());
        faults.extend(lines.into_iter().map(|line| format!("publisher {line}")));
        if failure.is_none() && sent.is_none() {
            faults.push("the publisher does not say how much it sent".into());
        }
        faults.extend(failure.map(String::from));
        let sent = sent.unwrap_or(0);
        self.subscriber.tell(&sent.to_string());
        let mut latencies = BTreeMap::new();
        let mut expected = 0;
        let Finished { lines, failure } = self.subscriber.finish(PATIENCE);
        faults.extend(failure.map(String::from));
        for line in lines {
            let sample = line.split_once(' ').and_then(|(number, latency)| {
                Some((number.parse::<u64>().ok()?, latency.parse::<i64>().ok()?))
            });
            let Some((number, latency)) = sample else {
                faults.push(format!("subscriber {line}"));
                continue;
            };
            if number != expected {
                faults.push(format!("update {number} arrives in place of {expected}"));
            }
            expected = number + 1;
            latencies.insert(number, latency);
        }
        if expected < sent {
            faults.push(format!("{} updates do not arrive", sent - expected));
        }
        Course { first: self.first, sent, latencies, faults }
    }
}

impl Course {
    /// Returns the latencies of the updates released within a time, sorted. An update that never arrived counts as
    /// the time until the end.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> Vec<Span> {
        let end = self.first + PERIOD * self.sent as i64;
        let mut all: Vec<Span> = (0..self.sent)
            .map(|number| (number, self.first + PERIOD * number as i64))
            .filter(|(_, release)| (from..to).contains(release))
            .map(|(number, release)| match self.latencies.get(&number) {
                Some(latency) => Span::from_nanos(*latency),
                None => end - release,
            })
            .collect();
        all.sort_unstable();
        all
    }
}
