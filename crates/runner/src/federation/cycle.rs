//! The cycle of a federate: the two simulation loops of the paper's figures 4 and 5.
//!
//! ```text
//! synchronize        the master sends the pulse, or requests and awaits a grant; the others' cycle began with theirs
//! receive            all messages that have arrived
//! compute            the time the scenario gives; a reception in mid-cycle is awaited after half of it
//! update             stamped with the end of the cycle under time management, for the others' next cycle
//! ```
//!
//! D'Ausbourg, Siron and Noulard, "Running Real Time Distributed Simulations under Linux and CERTI", section 3.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use hemiola_federate::Error;
use hemiola_hla::data::Data;
use hemiola_scenario::{Exchange, Model as Settings, Task};
use hemiola_trace::EventKind;
use hemiola_trace::result::{
    DEVIATION, EXCHANGED, FederateRun, Role, SYNCHRONIZED, Synchronization, Trajectory,
};
use hemiola_units::{Instant, RtiAddress, Span};

use super::link::{Event, Link, Membership};
use super::models::{self, Model};
use crate::spec::NodeSpec;
use crate::task::{self, Job, Next, Ports, to_value};
use crate::tasks::{Body, Equipment, TaskKind, compute};

/// Pulses of the master that may wait for a federate which is behind.
const PULSES_MAX: usize = 1 << 16;
/// Events handled in one cycle at most; the rest is left for the next.
const ARRIVALS_MAX: u32 = 1024;

pub(crate) const FEDERATE: TaskKind = TaskKind {
    // The master has the timer.
    paces: |process, variant| {
        variant.federation.as_ref().is_some_and(|federation| federation.master == process.name)
    },
    // On a busy machine it takes long to start all processes, and the first cycle of one is the first of all.
    start_delay: Span::from_millis(200),
    must_complete: true,
    equip: |supplies| {
        Equipment::new(supplies.rti.expect("the RTI is the first process of its variant"), [])
    },
    name_marks: |names| {
        names.insert(EventKind::Mark, SYNCHRONIZED, "synchronized");
        names.insert(EventKind::Mark, EXCHANGED, "exchanged");
        names.insert(EventKind::Mark, DEVIATION, "deviation");
    },
    collect: |report, record| {
        let report = Report::deserialize(report).unwrap_or_default();
        let federation = record.federation.get_or_insert_default();
        federation.federates.push(report.counted);
        federation.trajectory = federation.trajectory.or(report.trajectory);
    },
    ..TaskKind::new(Role::Federate, Body::Loop(|spec| Ok(Box::new(FederateTask::prepare(spec)?))))
};

/// The report of a federate at the end.
#[derive(Default, Serialize, Deserialize)]
struct Report {
    counted: FederateRun,
    /// The trajectory as received, where this federate compares it with the closed form.
    trajectory: Option<Trajectory>,
}

/// A message that is sent once in each cycle.
struct Outgoing {
    exchange: usize,
    message: Vec<u8>,
    /// Whether it carries the time of the cycle's end.
    is_stamped: bool,
}

/// A message that is received from another federate.
struct Incoming {
    exchange: usize,
    from: Settings,
    /// The newest message, with its number.
    newest: Option<(u64, Data)>,
    is_mid_cycle: bool,
}

/// A federate between its connection and its model.
struct FederateTask {
    /// `None` after the end.
    link: Option<Link>,
    model: Model,
    sync: Synchronization,
    is_master: bool,
    every: u64,
    /// Its own cycle.
    cycle: Span,
    /// The master's cycle.
    period: Span,
    /// Time it computes before a reception in mid-cycle, and after it.
    halves: [Span; 2],
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    epoch: Instant,
    /// Pulses that came while it was busy.
    pulses: VecDeque<(u64, Instant)>,
    /// Cycles whose logical time this federate has requested; unused by the master.
    requested: u64,
    /// Whether a requested logical time is not granted yet.
    advances: bool,
    over: bool,
    fault: Option<String>,
    counted: FederateRun,
}

impl FederateTask {
    /// Joins the federation, and waits for all federates that this one receives from.
    fn prepare(spec: &NodeSpec) -> Result<Self, String> {
        let (Some(federation), Task::Federate(settings)) =
            (&spec.run.variant.federation, &spec.process.task)
        else {
            return Err("a federate without a federation".into());
        };
        let address: RtiAddress = spec.facts()?;
        let (name, variant) = (&spec.process.name, &spec.run.variant);
        let is_master = *name == federation.master;
        let period = variant.rate.period();
        let cycle = period * i64::from(settings.every);
        let numbered = || federation.exchanges.iter().enumerate();
        let is_stamped = |exchange: &Exchange| {
            federation.sync == Synchronization::TimeManagement && !exchange.mid_cycle
        };
        let model_of = |name: &str| match variant.process(name).map(|process| &process.task) {
            Some(Task::Federate(settings)) => settings.model,
            _ => Settings::Payload,
        };
        let incoming: Vec<Incoming> = numbered()
            .filter(|(_, exchange)| exchange.to == *name)
            .map(|(number, exchange)| Incoming {
                exchange: number,
                from: model_of(&exchange.from),
                newest: None,
                is_mid_cycle: exchange.mid_cycle,
            })
            .collect();
        let waits = incoming.iter().any(|incoming| incoming.is_mid_cycle);
        let compute = settings.compute;
        let first = if waits { compute / 2 } else { compute };
        let model = Model::new(settings.model, &federation.orbit, cycle.secs_f64())?;
        if let Some(namespace) = &settings.namespace {
            super::enter(namespace)?;
        }
        let link = Link::join(&Membership {
            address: &address,
            execution: &variant.name,
            name,
            exchanges: &federation.exchanges,
            sync: federation.sync,
            is_master,
            lookahead: cycle,
        })?;
        Ok(Self {
            link: Some(link),
            model,
            sync: federation.sync,
            is_master,
            every: u64::from(settings.every),
            cycle,
            period,
            halves: [first, compute - first],
            outgoing: numbered()
                .filter(|(_, exchange)| exchange.from == *name)
                .map(|(number, exchange)| Outgoing {
                    exchange: number,
                    message: vec![0; exchange.bytes.0 as usize],
                    is_stamped: is_stamped(exchange),
                })
                .collect(),
            incoming,
            epoch: Instant::ZERO,
            pulses: VecDeque::new(),
            requested: 0,
            advances: false,
            over: false,
            fault: None,
            counted: FederateRun::default(),
        })
    }

    /// The logical time at which a cycle of this federate begins, ns. The first is one period of the master: all
    /// federates are at 0 when the run starts, and a federate is not granted the time it has.
    fn time(&self, cycle: u64) -> i64 {
        let periods = cycle.saturating_mul(self.every).saturating_add(1);
        self.period.nanos().saturating_mul(i64::try_from(periods).unwrap_or(i64::MAX))
    }

    /// Uses the connection. An error there is this federate's fault from then on.
    fn with_link<T>(&mut self, act: impl FnOnce(&mut Link) -> Result<T, Error>) -> Option<T> {
        match act(self.link.as_mut()?) {
            Ok(done) => Some(done),
            Err(error) => {
                self.fault.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    /// Handles the next event of the federation, waiting for it at most this long. Returns whether there was one. A
    /// wait without limit ends with the master's last message, or the runner kills this process.
    fn take(&mut self, at_most: Span) -> bool {
        let Some(Some(event)) = self.with_link(|link| link.next(at_most)) else { return false };
        match event {
            Event::Pulse { number, release } if self.pulses.len() < PULSES_MAX => {
                self.pulses.push_back((number, release));
            }
            Event::Pulse { .. } => {
                self.fault = Some(format!("it is {PULSES_MAX} pulses of the master behind"));
            }
            Event::Granted => self.advances = false,
            Event::Message(exchange, message) => self.receive(exchange, message),
            Event::Over => self.over = true,
        }
        true
    }

    fn receive(&mut self, exchange: usize, message: Data) {
        let known = self.incoming.iter_mut().find(|known| known.exchange == exchange);
        let (Some(incoming), Some(number)) = (known, models::number(&message)) else { return };
        self.counted.received += 1;
        let expected = incoming.newest.as_ref().map_or(0, |(newest, _)| newest + 1);
        if number < expected {
            self.counted.lost += 1;
            return;
        }
        self.counted.lost += number - expected;
        self.model.take(incoming.from, &message);
        incoming.newest = Some((number, message));
    }

    /// Handles events until `ready`. Returns false when the run ended first. There is no time limit, because no timer
    /// is set within a cycle: the runner watches whether the master makes progress.
    fn wait_for(&mut self, ready: impl Fn(&Self) -> bool) -> bool {
        while !ready(self) {
            if self.over || self.fault.is_some() {
                return false;
            }
            self.take(Span::MAX);
        }
        true
    }

    /// Synchronizes the master, and handles the messages that have arrived. Returns whether the cycle goes on.
    fn synchronize(&mut self, job: &Job<'_>) -> bool {
        match self.sync {
            Synchronization::Interaction => {
                if self.is_master {
                    self.with_link(|link| link.send_pulse(job.cycle, job.release));
                }
                for _ in 0..ARRIVALS_MAX {
                    if !self.take(Span::ZERO) {
                        break;
                    }
                }
                self.fault.is_none()
            }
            Synchronization::TimeManagement if self.is_master => {
                self.request(job.cycle);
                self.wait_for(|federate| !federate.advances)
            }
            Synchronization::TimeManagement => true,
        }
    }

    fn request(&mut self, cycle: u64) {
        let time = self.time(cycle);
        self.advances = true;
        self.with_link(|link| link.request(time));
    }

    /// Waits for the message in mid-cycle, if there is one. Returns whether the cycle goes on.
    fn exchange(&mut self, job: &Job<'_>, ports: &mut dyn Ports) -> bool {
        let Some(index) = self.incoming.iter().position(|incoming| incoming.is_mid_cycle) else {
            return true;
        };
        let before = ports.now();
        let newest = move |federate: &Self| {
            federate.incoming[index].newest.as_ref().map(|(number, _)| *number)
        };
        let came =
            self.wait_for(|federate| newest(federate).is_some_and(|number| number >= job.cycle));
        let waited = (ports.now() - before).nanos().max(0) as u64;
        ports.mark(EventKind::Mark, EXCHANGED, newest(self).unwrap_or(0), waited);
        came
    }

    /// Compares the state received in mid-cycle with the closed form.
    fn compare(&mut self, ports: &mut dyn Ports, time: i64) {
        let incoming = self.incoming.iter().find(|incoming| incoming.is_mid_cycle);
        let Some((from, (_, message))) =
            incoming.and_then(|incoming| Some((incoming.from, incoming.newest.as_ref()?)))
        else {
            return;
        };
        if let Some(deviation) = self.model.compare(from, message) {
            ports.mark(EventKind::Mark, DEVIATION, deviation.to_bits(), time.unsigned_abs());
        }
    }

    fn update(&mut self, job: &Job<'_>) {
        let end = self.time(job.cycle) + self.cycle.nanos();
        let Some(link) = &mut self.link else { return };
        let mut sent = Ok(());
        for outgoing in &mut self.outgoing {
            outgoing.message[..models::NUMBER].copy_from_slice(&job.cycle.to_be_bytes());
            self.model.write(&mut outgoing.message);
            let time = outgoing.is_stamped.then_some(end);
            sent = sent.and_then(|()| link.send(outgoing.exchange, &outgoing.message, time));
            self.counted.sent += 1;
        }
        // The request for the next logical time follows at once and takes the updates with it, which saves a turn of
        // the RTI.
        let asks_at_once = self.sync == Synchronization::TimeManagement && !self.is_master;
        if let Err(error) = sent.and_then(|()| if asks_at_once { Ok(()) } else { link.flush() }) {
            self.fault.get_or_insert_with(|| error.to_string());
        }
    }
}

impl task::Task for FederateTask {
    fn begin(&mut self, epoch: Instant) {
        self.epoch = epoch;
    }

    fn next(&mut self) -> Next {
        match self.sync {
            Synchronization::Interaction => {
                while let Some((number, release)) = self.pulses.pop_front() {
                    if number.is_multiple_of(self.every) {
                        return Next::Job { cycle: number / self.every, release };
                    }
                }
            }
            Synchronization::TimeManagement => {
                let cycle = self.counted.cycles;
                if self.requested < cycle + 1 {
                    self.requested = cycle + 1;
                    self.request(cycle);
                } else if !self.advances {
                    let periods = i64::try_from(cycle.saturating_mul(self.every));
                    let release = self.epoch + self.period * periods.unwrap_or(i64::MAX);
                    return Next::Job { cycle, release };
                }
            }
        }
        if self.over {
            return Next::Over;
        }
        self.take(Span::MAX);
        Next::Nothing
    }

    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let start = ports.now();
        self.counted.cycles += 1;
        if !self.synchronize(job) {
            return;
        }
        let time = self.time(job.cycle);
        let waited = (ports.now() - start).nanos().max(0) as u64;
        ports.mark(EventKind::Mark, SYNCHRONIZED, time.unsigned_abs(), waited);
        compute(self.halves[0]);
        if !self.exchange(job, ports) {
            return;
        }
        compute(self.halves[1]);
        self.model.step(job.cycle);
        self.compare(ports, time);
        self.update(job);
    }

    fn close(&mut self, _ports: &mut dyn Ports) {
        if self.is_master {
            self.with_link(Link::send_over);
        }
        if let Some(link) = self.link.take() {
            link.leave();
        }
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn report(&self) -> Value {
        to_value(&Report { counted: self.counted, trajectory: self.model.trajectory() })
    }
}
