//! One attack beside the healthy pair: what the pair, the newcomers and the memory show before, during and after it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::{Bytes, Span};

use super::attacks::Attack;
use super::newcomer::{Newcomers, Reception};
use super::pair::Pair;
use super::process::{Failure, Finished, PATIENCE, Process};
use super::rti::Rti;
use super::timer::BareTimer;

/// The transport between the federates of a round and the RTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    SharedMemory,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Tcp, Self::SharedMemory];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::SharedMemory => "shm",
        }
    }
}

/// The lengths of the parts of a round, and the scheduling of its processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Whether attacks run at their full scale, and the processes at real-time priority.
    pub(crate) is_full: bool,
    quiet: Duration,
    /// An attack that takes longer is ended.
    attack_max: Duration,
    /// What an attack leaves behind may still take effect for this long.
    aftermath: Duration,
}

/// The form that measures.
pub(crate) const FULL: Form = Form {
    is_full: true,
    quiet: Duration::from_millis(2000),
    attack_max: Duration::from_secs(20),
    aftermath: Duration::from_millis(2500),
};

/// The form of the tests, which measures nothing.
pub(crate) const SHORT: Form = Form {
    is_full: false,
    quiet: Duration::from_millis(50),
    attack_max: Duration::from_secs(10),
    aftermath: Duration::from_millis(50),
};

/// The real-time priorities. The bare timer has the highest, because it stands for the machine alone.
const TIMER: u8 = 70;
const RTI: u8 = 60;
const FEDERATES: u8 = 50;

/// The default `--memory-max` of the RTI.
const MEMORY_MAX: Bytes = Bytes(1 << 30);

/// The memory of the RTI besides what peers make it keep.
pub(crate) const MEMORY_BESIDES: Bytes = Bytes(32 << 20);

/// Quantiles of the pair's latency, from the planned release of an update to its reflection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) p50: Span,
    pub(crate) p99: Span,
    pub(crate) worst: Span,
}

impl Latency {
    fn of(sorted: &[Span]) -> Self {
        let at = |share: f64| {
            let rank = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
            sorted.get(rank).copied().unwrap_or(Span::MAX)
        };
        Self { p50: at(0.5), p99: at(0.99), worst: at(1.0) }
    }
}

/// The memory of the RTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) limit: Bytes,
    pub(crate) before: Bytes,
    pub(crate) peak: Bytes,
    pub(crate) after: Bytes,
}

/// The result of a round.
pub(crate) struct Record {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) transport: Transport,
    pub(crate) before: Latency,
    pub(crate) during: Latency,
    pub(crate) after: Latency,
    /// The worst lateness of the bare timer during the attack.
    pub(crate) bare: Span,
    /// The longest turn of the RTI's loop; the maximum if it does not say.
    pub(crate) turn: Span,
    pub(crate) memory: Memory,
    pub(crate) sessions: Reception,
    pub(crate) creates: Reception,
    /// What the attacker reports.
    pub(crate) note: String,
    /// What must never happen: updates that are lost, an RTI that ends or does not end when asked.
    pub(crate) faults: Vec<String>,
}

/// Runs one round.
///
/// # Errors
/// The RTI does not start, or a process of the harness that measures fails: then there are no figures.
pub(crate) fn run(
    program: &str,
    attack: &Attack,
    transport: Transport,
    form: Form,
) -> Result<Record, String> {
    let mut rti = Rti::start(program, &options(attack, transport, form), attack.address_space)?;
    let rti_order = format!("rti={}", rti.address(transport));
    let shm_order = format!("shm={}", rti.shm);
    let healthy = with_priority(form, FEDERATES, &rti_order);
    let mut timer = BareTimer::start(&with_priority(form, TIMER, &rti_order));
    let pair = Pair::start(&healthy)?;
    let mut newcomers = [Newcomers::prepare(&healthy, false)?, Newcomers::prepare(&healthy, true)?];
    let quiet_from = MonotonicClock.now();
    sleep(form.quiet);
    let present = rti.memory_before();
    timer.worst()?;
    newcomers.iter_mut().for_each(Newcomers::start);
    let attack_from = MonotonicClock.now();
    let mut orders = vec![rti_order, shm_order, format!("attack={}", attack.name)];
    orders.extend(form.is_full.then(|| "full".to_owned()));
    let note = attack_within(form.attack_max, &orders);
    let attack_ended = Instant::now();
    sleep(form.aftermath);
    let (bare, attack_to) = (timer.worst()?, MonotonicClock.now());
    let patience = if rti.end().is_some() { Duration::ZERO } else { Duration::from_secs(5) };
    let [sessions, creates] = newcomers.map(|newcomers| newcomers.finish(patience));
    let tidied = tidy_up(&rti.tcp.to_string(), form);
    if form.is_full {
        sleep(attack.keeps_for.saturating_sub(attack_ended.elapsed()));
    }
    let recovery_from = MonotonicClock.now();
    sleep(form.quiet);
    let recovery_to = MonotonicClock.now();
    let (after, peak) = rti.memory();
    let turn = rti.longest_turn(program);
    let course = pair.finish();
    let mut faults = course.faults.clone();
    faults.extend(rti.stop().err());
    faults.extend(note.clone().err());
    faults.extend(tidied.err());
    faults.extend(turn.clone().err());
    let limit = attack.memory_mib.map_or(MEMORY_MAX, |mib| Bytes(mib << 20));
    Ok(Record {
        name: attack.name,
        what: attack.what,
        transport,
        before: Latency::of(&course.within(quiet_from, attack_from)),
        during: Latency::of(&course.within(attack_from, attack_to)),
        after: Latency::of(&course.within(recovery_from, recovery_to)),
        bare,
        turn: turn.unwrap_or(Span::MAX),
        memory: Memory { limit, before: present, peak, after },
        sessions,
        creates,
        note: note.unwrap_or_default(),
        faults,
    })
}

/// Destroys the federations that the attack has left, which would rightly occupy memory.
fn tidy_up(rti: &str, form: Form) -> Result<(), String> {
    let mut orders = vec![format!("rti={rti}")];
    orders.extend(form.is_full.then(|| "full".to_owned()));
    let mut janitor = Process::start("janitor", &orders);
    janitor.line(PATIENCE)?;
    janitor.finish(PATIENCE).failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns the options of the RTI.
fn options(attack: &Attack, transport: Transport, form: Form) -> Vec<String> {
    // The name is part of the address, so that rounds do not meet.
    let local = format!("attack-{}-{}", std::process::id(), transport.word());
    let mut options = vec!["--local".to_owned(), local];
    if form.is_full {
        options.extend(["--priority".to_owned(), RTI.to_string()]);
    }
    if let Some(mib) = attack.memory_mib {
        options.extend(["--memory-max".to_owned(), format!("{mib}MiB")]);
    }
    options.extend(attack.options.iter().map(|&option| option.to_owned()));
    options
}

fn with_priority(form: Form, priority: u8, order: &str) -> Vec<String> {
    let mut orders = vec![order.to_owned()];
    orders.extend(form.is_full.then(|| format!("fifo={priority}")));
    orders
}

/// Lets the attacker work, and kills it if it takes too long. Returns its note, or why the attack was not made.
pub(crate) fn attack_within(limit: Duration, orders: &[String]) -> Result<String, String> {
    let mut attacker = Process::start("attacker", orders);
    let until = Instant::now() + limit;
    let line = match attacker.line(limit) {
        Ok(line) => line,
        Err(Failure::Late(_)) => return Ok(format!("ended after {} s", limit.as_secs())),
        Err(Failure::Ended(reason)) => return Err(format!("the attack is not made: {reason}")),
    };
    let Finished { failure, .. } = attacker.finish(until.saturating_duration_since(Instant::now()));
    match (line.split_once(' ').unwrap_or((&line, "")), failure) {
        // Its sessions and federates may take long to close.
        (("note", note), None | Some(Failure::Late(_))) => Ok(note.to_owned()),
        (("note", note), Some(Failure::Ended(reason))) => Err(format!("{note}, then: {reason}")),
        ((_, reason), _) => Err(format!("the attack is not made: {reason}")),
    }
}
