//! Federates that join, publish and leave at full speed for minutes: nothing may grow.

use std::time::{Duration, Instant};

use hemiola_federate::hla::ResignAction;
use hemiola_federate::{Error, Options};
use hemiola_units::{Bytes, RtiAddress};

use super::federation::Member;
use super::process::{Orders, Process, is_over, report};
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
        visit(&address).expect("the RTI has room for eight federates");
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
    /// The figures.
    pub(crate) line: String,
    visits: u64,
    /// The memory after a tenth of the time, and at its end.
    memory: [Bytes; 2],
    /// The descriptors before the first visit, and after the last one.
    descriptors: [usize; 2],
}

impl Outcome {
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
        unvisited.into_iter().chain(open).collect()
    }
}

/// Runs eight visitors for a time, which share these transports.
///
/// # Errors
/// The RTI ends, or does not end when asked.
pub(crate) fn run(
    program: &str,
    transports: &[Transport],
    time: Duration,
) -> Result<Outcome, String> {
    let local = format!("churn-{}", std::process::id());
    let rti = Rti::start(program, &["--local".into(), local], None);
    let idle = rti.descriptors();
    let visitor = |transport: &Transport| {
        Process::start("visitor", &[format!("rti={}", rti.address(*transport))])
    };
    let visitors: Vec<Process> = transports.iter().cycle().take(FEDERATES).map(visitor).collect();
    let began = Instant::now();
    let pause = |until: Duration| std::thread::sleep(until.saturating_sub(began.elapsed()));
    pause(time / 10);
    let (first, descriptors) = (rti.memory().0, rti.descriptors());
    let mut most = descriptors;
    while began.elapsed() < time {
        pause(began.elapsed() + (time / 100));
        most = most.max(rti.descriptors());
    }
    let last = rti.memory().0;
    let visits: u64 = visitors
        .into_iter()
        .filter_map(|visitor| visitor.finish(Duration::from_secs(20)).last()?.parse::<u64>().ok())
        .sum();
    let closed_by = Instant::now() + CLOSED_WITHIN;
    while rti.descriptors() > idle && Instant::now() < closed_by {
        std::thread::sleep(Duration::from_millis(10));
    }
    let remaining = rti.descriptors();
    rti.stop()?;
    let over: Vec<&str> = transports.iter().map(|one| one.word()).collect();
    let line = format!(
        "churn over {}: {visits} visits in {} s; RSS {} KiB after a tenth, {} KiB at the end; {idle} descriptors \
         before, {descriptors} after a tenth, at most {most}, {remaining} without federates",
        over.join(" and "),
        began.elapsed().as_secs(),
        first.0 >> 10,
        last.0 >> 10,
    );
    Ok(Outcome { line, visits, memory: [first, last], descriptors: [idle, remaining] })
}
