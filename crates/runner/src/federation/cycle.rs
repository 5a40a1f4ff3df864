//! What a federate does in each of its cycles: the two simulation loops of the paper's figures 4 and 5.
//!
//! ```text
//! synchronise        the master: pulse, or request and grant; the others have got theirs: that is what began the cycle
//! receive            what arrived
//! compute            a quarter of the cycle; who receives in mid-cycle waits for that after half of it
//! update             stamped with the end of the cycle under time management, for the others' next
//! ```
//!
//! D'Ausbourg, Siron and Noulard, "Running Real Time Distributed Simulations under Linux and CERTI", section 3.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use hemiola_federate::Error;
use hemiola_hla::data::Data;
use hemiola_scenario::{Exchange, FederateSettings, Federation, Model as Settings};
use hemiola_trace::EventKind;
use hemiola_trace::result::{DEVIATION, EXCHANGED, FederateRun, SYNCHRONIZED, Synchronization};
use hemiola_units::{Instant, RtiAddress, Span};

use super::link::{Event, Link, Membership};
use super::models::{self, Model};
use crate::launch::Finished;
use crate::task::{Job, Next, Ports, Task};
use crate::tasks::compute;

/// Pulses of the master that may wait for a federate which is behind.
const PULSES_MAX: usize = 1 << 16;
/// What a cycle takes in of what has arrived, at most: the rest is for the next.
const ARRIVALS_MAX: u32 = 1024;

/// What a federate must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FederateWork {
    /// Its name in the federation.
    pub(crate) name: String,
    /// Where the RTI is.
    pub(crate) address: RtiAddress,
    /// The name of the federation execution.
    pub(crate) execution: String,
    /// What it is.
    pub(crate) settings: FederateSettings,
    /// What all federates have in common.
    pub(crate) federation: Federation,
    /// What each federate simulates, by name.
    pub(crate) models: Vec<(String, Settings)>,
    /// The master's cycle.
    pub(crate) period: Span,
}

/// A message that is sent once in each cycle.
struct Outgoing {
    exchange: usize,
    message: Vec<u8>,
    /// Whether it carries the time of the cycle's end.
    is_stamped: bool,
}

/// What is received of another federate.
struct Incoming {
    exchange: usize,
    from: Settings,
    /// The newest message, with its number.
    newest: Option<(u64, Data)>,
    is_mid_cycle: bool,
}

/// A federate between its line and its model.
pub(crate) struct FederateTask {
    /// Nothing after the end.
    link: Option<Link>,
    model: Model,
    sync: Synchronization,
    is_master: bool,
    every: u64,
    /// Its own cycle, and the master's.
    cycle: Span,
    period: Span,
    /// What it computes before a reception in mid-cycle, and after.
    halves: [Span; 2],
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    epoch: Instant,
    /// Pulses that came while it was busy.
    pulses: VecDeque<(u64, Instant)>,
    /// Cycles whose logical time was asked for by one who is not the master.
    requested: u64,
    /// Whether a logical time was asked for that is not granted yet.
    advances: bool,
    over: bool,
    fault: Option<String>,
    counted: FederateRun,
}

impl FederateTask {
    /// Joins the federation: everything that waits for others before the first cycle.
    pub(crate) fn prepare(work: &FederateWork) -> Result<Self, String> {
        let federation = &work.federation;
        let is_master = work.name == federation.master;
        let cycle = work.period * i64::from(work.settings.every);
        let numbered = || federation.exchanges.iter().enumerate();
        let is_stamped = |exchange: &Exchange| {
            federation.sync == Synchronization::TimeManagement && !exchange.mid_cycle
        };
        let model_of = |name: &str| {
            let found = work.models.iter().find(|(known, _)| known == name);
            found.map_or(Settings::Payload, |(_, model)| *model)
        };
        let incoming: Vec<Incoming> = numbered()
            .filter(|(_, exchange)| exchange.to == work.name)
            .map(|(number, exchange)| Incoming {
                exchange: number,
                from: model_of(&exchange.from),
                newest: None,
                is_mid_cycle: exchange.mid_cycle,
            })
            .collect();
        let waits = incoming.iter().any(|incoming| incoming.is_mid_cycle);
        let compute = work.settings.compute;
        let first = if waits { compute / 2 } else { compute };
        let model = Model::new(work.settings.model, &federation.orbit, cycle.secs_f64())?;
        if let Some(namespace) = &work.settings.namespace {
            super::enter(namespace)?;
        }
        let link = Link::join(&Membership {
            address: &work.address,
            execution: &work.execution,
            name: &work.name,
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
            every: u64::from(work.settings.every),
            cycle,
            period: work.period,
            halves: [first, compute - first],
            outgoing: numbered()
                .filter(|(_, exchange)| exchange.from == work.name)
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

    /// The logical time at which a cycle of this federate begins, ns. The first is one period of the master:
    /// everybody is at 0 when the run starts, and nobody is granted what it has.
    fn time(&self, cycle: u64) -> i64 {
        let periods = cycle.saturating_mul(self.every).saturating_add(1);
        self.period.nanos().saturating_mul(i64::try_from(periods).unwrap_or(i64::MAX))
    }

    /// Does something on the line; what goes wrong there is this federate's fault from then on.
    fn on_line<T>(&mut self, act: impl FnOnce(&mut Link) -> Result<T, Error>) -> Option<T> {
        match act(self.link.as_mut()?) {
            Ok(done) => Some(done),
            Err(error) => {
                self.fault.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    /// Takes in the next thing of the federation, waiting for it at most so long; whether there was one. One that waits
    /// for ever is woken at the end by the master, and killed where there is none any more.
    fn take(&mut self, at_most: Span) -> bool {
        let Some(Some(event)) = self.on_line(|link| link.next(at_most)) else { return false };
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

    /// Takes in what comes until `ready` says so; whether it did. The end of the run ends it. There is no other limit,
    /// as no timer is set within a cycle: the runner watches whether the master gets on.
    fn wait_for(&mut self, ready: impl Fn(&Self) -> bool) -> bool {
        while !ready(self) {
            if self.over || self.fault.is_some() {
                return false;
            }
            self.take(Span::MAX);
        }
        true
    }

    /// The master's synchronisation, and what has arrived for everybody; whether the cycle goes on.
    fn synchronize(&mut self, job: &Job<'_>) -> bool {
        match self.sync {
            Synchronization::Interaction => {
                if self.is_master {
                    self.on_line(|link| link.send_pulse(job.cycle, job.release));
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
        self.on_line(|link| link.request(time));
    }

    /// Waits for the state that comes in mid-cycle, if any does; whether the cycle goes on.
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

    /// Holds what came in mid-cycle against the closed form.
    fn hold(&mut self, ports: &mut dyn Ports, time: i64) {
        let incoming = self.incoming.iter().find(|incoming| incoming.is_mid_cycle);
        let Some((from, (_, message))) =
            incoming.and_then(|incoming| Some((incoming.from, incoming.newest.as_ref()?)))
        else {
            return;
        };
        if let Some(deviation) = self.model.hold(from, message) {
            ports.mark(EventKind::Mark, DEVIATION, deviation.to_bits(), time.unsigned_abs());
        }
    }

    fn update(&mut self, job: &Job<'_>) {
        let end = self.time(job.cycle) + self.cycle.nanos();
        let Some(link) = &mut self.link else { return };
        let mut sent = Ok(());
        for outgoing in &mut self.outgoing {
            outgoing.message[..models::NUMBER].copy_from_slice(&job.cycle.to_be_bytes());
            self.model.say(&mut outgoing.message);
            let time = outgoing.is_stamped.then_some(end);
            sent = sent.and_then(|()| link.send(outgoing.exchange, &outgoing.message, time));
            self.counted.sent += 1;
        }
        // Who asks for its next logical time at once sends all of it together: one turn of the RTI less.
        let asks_at_once = self.sync == Synchronization::TimeManagement && !self.is_master;
        if let Err(error) = sent.and_then(|()| if asks_at_once { Ok(()) } else { link.flush() }) {
            self.fault.get_or_insert_with(|| error.to_string());
        }
    }
}

impl Task for FederateTask {
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
        self.hold(ports, time);
        self.update(job);
    }

    fn close(&mut self, _ports: &mut dyn Ports) {
        if self.is_master {
            self.on_line(Link::send_over);
        }
        if let Some(link) = self.link.take() {
            link.leave();
        }
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn report(&self, finished: &mut Finished) {
        finished.federate = Some(self.counted);
        finished.trajectory = self.model.trajectory();
    }
}
