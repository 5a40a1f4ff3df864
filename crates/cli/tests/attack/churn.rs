//! Federates that join, publish and leave at full speed for minutes: nothing may grow.

use std::time::{Duration, Instant};

use hemiola_federate::hla::ResignAction;
use hemiola_federate::{Error, Options};
use hemiola_units::{Bytes, RtiAddress};

use super::federation::Member;
use super::process::{Finished, Orders, PATIENCE, Process, give_up, is_over, report};
use super::round::Transport;
use super::rti::Rti;

/// Federates that come and go at the same time.
const FEDERATES: usize = 8;

/// Updates of each federate between joining and leaving.
const UPDATES: usize = 10;

/// How much more memory than after the first tenth counts as growth.
const GROWTH_MAX: Bytes = Bytes(4 << 20);

/// How long the RTI may take to close the connections of the last visitors.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);

/// The role: joins, publishes, and leaves until the parent ends it; reports how often.
pub(crate) fn visitor(orders: &Orders) {
    let (address, mut visits) = (orders.address("rti"), 0_u64);
    while !is_over() {
        if let Err(error) = visit(&address) {
            give_up(format_args!("after {visits} visits: {error}"));
        }
        visits += 1;
    }
    report(visits);
}

fn visit(address: &RtiAddress) -> Result<(), Error> {
    let mut member = Member::join(address, "Churn", "Body", Options::default())?;
    member.subscribe()?;
    let object = member.register()?;
    let values = [(member.value, vec![7; 64].into())];
    for _ in 0..UPDATES {
        member.federate.update_attribute_values(object, &values, "")?;
    }
    member.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest)?;
    member.federate.disconnect()
}

/// What churn left behind.
pub(crate) struct Outcome {
    over: Vec<&'static str>,
    took: Duration,
    visits: u64,
    /// Visitors that did not visit until the end, and an RTI that did not serve until then.
    faults: Vec<String>,
    /// The memory after a tenth of the time, and at its end.
    memory: [Bytes; 2],
    /// The descriptors before the first visit, and after the last one, and the most meanwhile.
    descriptors: [usize; 2],
    descriptors_max: usize,
}

impl Outcome {
    /// The figures as sentences.
    pub(crate) fn line(&self) -> String {
        let [first, last] = self.memory.map(|Bytes(len)| len >> 10);
        let [before, after] = self.descriptors;
        format!(
            "{FEDERATES} federates that come and go over {} for {} s make {} visits. The RTI has {first} KiB after a \
             tenth of that and {last} KiB at its end, and {before} descriptors before it, at most {} meanwhile and \
             {after} without federates.",
            self.over.join(" and "),
            self.took.as_secs(),
            self.visits,
            self.descriptors_max,
        )
    }

    /// Returns every limit that is not kept.
    pub(crate) fn failures(&self) -> Vec<String> {
        let [first, last] = self.memory;
        let grew = (last.0 > first.0 + GROWTH_MAX.0).then(|| "memory grew".to_owned());
        self.broken_rules().into_iter().chain(grew).collect()
    }

    /// Returns what must not happen on any machine, however slow.
    pub(crate) fn broken_rules(&self) -> Vec<String> {
        let [before, after] = self.descriptors;
        let unvisited = (self.visits == 0).then(|| "no visit ended".to_owned());
        let open = (after > before).then(|| format!("{} descriptors stay open", after - before));
        self.faults.iter().cloned().chain(unvisited).chain(open).collect()
    }
}

/// What befalls the first visitor in a test of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// It is given an address at which nobody listens.
    WrongAddress,
    /// It is killed after a tenth of the time.
    Killed,
}

/// A process that visits, and what to call it.
struct Visitor {
    name: String,
    process: Process,
}

impl Visitor {
    fn start(number: usize, address: &RtiAddress) -> Self {
        let process = Process::start("visitor", &[format!("rti={address}")]);
        Self { name: format!("visitor {number} at {address}"), process }
    }

    fn has_ended(&mut self) -> bool {
        self.process.ended_within(Duration::ZERO).is_some()
    }

    /// Asks it to end. Returns how often it visited, or why it did not visit until now.
    fn finish(mut self) -> Result<u64, String> {
        let is_early = self.has_ended();
        let Finished { mut lines, failure } = self.process.finish(PATIENCE);
        let visits = lines.pop().and_then(|line| line.parse().ok());
        let reason = match (failure, visits) {
            (None, Some(visits)) if !is_early => return Ok(visits),
            (Some(failure), _) => failure.to_string(),
            (None, Some(_)) => "it ended before it was asked to".into(),
            (None, None) => "it does not say how often it visited".into(),
        };
        Err(format!("{}: {reason}", self.name))
    }
}

/// Runs eight visitors for a time, which share these transports. If one of them ends earlier, so do the others.
///
/// # Errors
/// The RTI does not start.
pub(crate) fn run(
    program: &str,
    transports: &[Transport],
    time: Duration,
    mishap: Option<Mishap>,
) -> Result<Outcome, String> {
    let local = format!("churn-{}", std::process::id());
    let rti = Rti::start(program, &["--local".into(), local], None)?;
    let idle = rti.descriptors();
    let addresses = transports.iter().cycle().map(|transport| rti.address(*transport).clone());
    let addresses = addresses.enumerate().map(|(at, address)| match mishap {
        Some(Mishap::WrongAddress) if at == 0 => RtiAddress::SharedMemory("nobody".into()),
        _ => address,
    });
    let mut visitors: Vec<Visitor> = (1..=FEDERATES)
        .zip(addresses)
        .map(|(number, address)| Visitor::start(number, &address))
        .collect();
    let began = Instant::now();
    let pause = |until: Duration| std::thread::sleep(until.saturating_sub(began.elapsed()));
    pause(time / 10);
    if mishap == Some(Mishap::Killed) {
        // Without success, it goes on visiting, and the test fails.
        let _ = visitors[0].process.child.kill();
    }
    let (first, mut descriptors_max) = (rti.memory().0, rti.descriptors());
    while began.elapsed() < time && !visitors.iter_mut().any(Visitor::has_ended) {
        pause(began.elapsed() + (time / 100));
        descriptors_max = descriptors_max.max(rti.descriptors());
    }
    let (last, took) = (rti.memory().0, began.elapsed());
    let (mut visits, mut faults) = (0, Vec::new());
    for visitor in visitors {
        match visitor.finish() {
            Ok(count) => visits += count,
            Err(fault) => faults.push(format!("{fault} (found after {} s)", took.as_secs())),
        }
    }
    let closed_by = Instant::now() + CLOSED_WITHIN;
    while rti.descriptors() > idle && Instant::now() < closed_by {
        std::thread::sleep(Duration::from_millis(10));
    }
    let remaining = rti.descriptors();
    faults.extend(rti.stop().err());
    let over = transports.iter().map(|one| one.word()).collect();
    let (memory, descriptors) = ([first, last], [idle, remaining]);
    Ok(Outcome { over, took, visits, faults, memory, descriptors, descriptors_max })
}
