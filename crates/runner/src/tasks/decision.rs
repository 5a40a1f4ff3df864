//! The decision module's process: the core of `simplex`, the units' answers, the runner's requests.
//!
//! It has a higher priority than every unit and sleeps until the last of them has answered, or until the limit after
//! the release: a timer that was set in the cycle before, so a unit cannot keep it from waking. In a cycle without
//! faults it runs once. Where no unit is expected to answer, the sensors wake it. An answer that is not there at the
//! limit counts as missing, and the kernel is asked which unit had the processor meanwhile. The order of units is kept
//! here too: the active unit first.

use std::hint::black_box;
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use hemiola_bus::{Channel, Handle, Readiness, Receiver, Sender, open_receiver, open_sender};
use hemiola_rt::sys;
use hemiola_rt::sys::process::Activity;
use hemiola_scenario::{Release, Unit};
use hemiola_simplex::{Answer, Decided, Decision, SLOTS, Usage, policy_for};
use hemiola_simplex::{Command, DecodeError, Event, Events, Request, Sensors};
use hemiola_trace::EventKind;
use hemiola_trace::result::Role;
use hemiola_units::{Instant, Policy, Priority, Span};

use super::{Body, Equipment, Supplies, TaskKind, mismatch};
use crate::sandboxed::{self, Sandboxed};
use crate::spec::NodeSpec;
use crate::status::{Ask, REQUEST_SIZE, Reply, SlotStatus, Status};
use crate::task::{Job, Ports, Task, mark_values, to_value};
use crate::wiring::Sandbox;

pub(super) const KIND: TaskKind = TaskKind {
    is_in_cycle: true,
    equip,
    name_marks: |names| {
        names.insert_all(EventKind::Switch, hemiola_simplex::REASONS);
        names.insert_all(EventKind::Fault, hemiola_simplex::FAULTS);
        names.insert_all(EventKind::UnitState, hemiola_simplex::STATES);
    },
    describe: |of, record| {
        let mut add = |feature: &str| record.features.push(feature.to_owned());
        add("unknown receivers");
        add("safety checking and recovery");
        if of.variant.units.len() > 1 {
            add("analytic redundancy");
        }
        if of.variant.units.iter().any(Unit::is_sandboxed) {
            add("sandboxed units");
        }
        if of.plan.plant.is_some() {
            add("live upgrade");
        }
    },
    collect: |report, record| record.switches = report.as_u64().unwrap_or(0),
    sources: &[
        include_str!("decision.rs"),
        include_str!("controller.rs"),
        include_str!("../audience.rs"),
        include_str!("../sandboxed.rs"),
        include_str!("../status.rs"),
        include_str!("../units.rs"),
        include_str!("../../../bus/src/shared_memory.rs"),
        include_str!("../../../simplex/src/decision.rs"),
        include_str!("../../../simplex/src/performance.rs"),
        include_str!("../../../simplex/src/region.rs"),
        include_str!("../../../simplex/src/transaction.rs"),
        include_str!("../../../simplex/src/unit.rs"),
        include_str!("../../../simplex/src/upgrade.rs"),
    ],
    ..TaskKind::new(Role::Decision, Body::Loop(|spec| Ok(Box::new(DecisionTask::prepare(spec)?))))
};

fn equip<'w>(supplies: &Supplies<'w>) -> Equipment<'w> {
    let Some(supervision) = &supplies.wiring.supervision else { return Equipment::NONE };
    let lines = Lines {
        slots: supervision.slots.iter().map(Channel::handle).collect(),
        requests: supervision.requests.handle(),
        replies: supervision.replies.handle(),
        status: supervision.status.handle(),
        sandbox: supervision.sandbox.as_ref().map(Sandbox::lines),
    };
    Equipment::new(&lines, supervision.descriptors())
}

/// The channels between the decision process, the units and the runner.
#[derive(Debug, Serialize, Deserialize)]
struct Lines {
    /// Where each slot's unit answers.
    slots: Vec<Handle>,
    /// Requests of the runner.
    requests: Handle,
    /// What became of them.
    replies: Handle,
    /// The state of every unit.
    status: Handle,
    /// Those of sandboxed units, where this build has any.
    sandbox: Option<sandboxed::Lines>,
}

/// How often the status is sent when nothing happens: the runner reads it some twenty times a second.
const STATUS_EVERY: Span = Span::from_millis(50);

struct DecisionTask {
    decision: Decision,
    /// A copy of the module, for decisions without effect.
    rehearsal: Decision,
    /// What the last decision was made from.
    last: Option<(Sensors, [Answer; SLOTS])>,
    answer_within: Span,
    lead: Span,
    period: Span,
    slots: [Slot; SLOTS],
    sandboxed: Sandboxed,
    /// The policy of this process, above those of all units.
    policy: Policy,
    requests: Box<dyn Receiver>,
    replies: Box<dyn Sender>,
    status: Box<dyn Sender>,
    status_due: Instant,
    /// The newest request of the runner.
    served: u32,
    switches: u64,
    cycles: u64,
    v: f64,
    commanding: u16,
    /// When the next cycle is due, once there was one.
    next_release: Option<Instant>,
}

/// A slot, and the unit in it.
struct Slot {
    answers: Box<dyn Receiver>,
    /// The unit's process; `None` for an empty slot.
    pid: Option<u32>,
    /// Answers missed in a row.
    missed: u32,
    /// Its processor time at the last command.
    cpu: Span,
    /// The policy that it asked for.
    wanted: Policy,
    /// The policy that it was given; `None` before the first.
    given: Option<Policy>,
}

impl DecisionTask {
    fn prepare(spec: &NodeSpec) -> Result<Self, String> {
        let because = |what: &str, e: &dyn std::fmt::Display| format!("{what}: {e}");
        let Some(settings) = &spec.run.variant.decision else { return mismatch() };
        let lines: Lines = spec.facts()?;
        let mut slots = Vec::new();
        for handle in &lines.slots {
            let answers = open_receiver(handle).map_err(|e| because("a unit's slot", &e))?;
            slots.push(Slot::new(answers));
        }
        let period = spec.process.period;
        let decision = Decision::new(settings.clone(), period)
            .map_err(|e| because("the decision rule", &e))?;
        Ok(Self {
            rehearsal: decision.clone(),
            decision,
            last: None,
            answer_within: settings.answer_within,
            lead: match spec.process.release {
                Release::On { lead, .. } => lead,
                Release::Every { .. } | Release::Federation | Release::Own => Span::ZERO,
            },
            period,
            sandboxed: Sandboxed::prepare(lines.sandbox.as_ref(), period)?,
            policy: spec.process.profile.scheduling,
            slots: slots.try_into().map_err(|_| format!("a decision module has {SLOTS} slots"))?,
            requests: open_receiver(&lines.requests).map_err(|e| because("the requests", &e))?,
            replies: open_sender(&lines.replies).map_err(|e| because("the replies", &e))?,
            status: open_sender(&lines.status).map_err(|e| because("the status", &e))?,
            status_due: Instant::ZERO,
            served: 0,
            switches: 0,
            cycles: 0,
            v: 0.0,
            commanding: 0,
            next_release: None,
        })
    }

    /// Collects the answers to this cycle: of processes first, then of sandboxed units, for which a part of the time
    /// is reserved.
    fn gather(&mut self, sensors: &Sensors, ports: &mut dyn Ports) -> [Answer; SLOTS] {
        // From the sample, not from the release: a late release must not shorten the units' time.
        let limit = sensors.sampled + self.answer_within - self.sandboxed.reserve();
        let mut answers = self.gather_messages(sensors.sequence, limit, &mut || ports.now());
        self.sandboxed.answer(sensors, &self.decision, &mut answers, || ports.now());
        answers
    }

    /// Waits for the answers of processes. It waits for the unit with the lowest priority first: by the
    /// time that one has answered, all others have run. In a cycle without faults this process wakes up
    /// once, however many units there are.
    fn gather_messages(
        &mut self,
        sequence: u64,
        limit: Instant,
        now: &mut dyn FnMut() -> Instant,
    ) -> [Answer; SLOTS] {
        let mut answers = [Answer::None; SLOTS];
        for (answer, slot) in answers.iter_mut().zip(&mut self.slots) {
            if slot.pid.is_some() {
                *answer = slot.take();
            }
        }
        let answered = |answer: &Answer| match answer {
            Answer::Missing => false,
            // An answer to an earlier cycle that came after its limit: the one to this cycle may still come.
            Answer::Command(command) => command.sequence >= sequence,
            _ => true,
        };
        let awaited = |answers: &[Answer; SLOTS], slots: &[Slot; SLOTS]| {
            lowest(slots, |n| slots[n].is_awaited(sequence) && !answered(&answers[n]))
        };
        let mut woken = false;
        while let Some(last) = awaited(&answers, &self.slots) {
            // A unit that publishes without end on another processor is always ready.
            if woken && now() >= limit {
                break;
            }
            let waited = self.slots[last].answers.wait(limit);
            for (answer, slot) in answers.iter_mut().zip(&mut self.slots) {
                if slot.pid.is_some()
                    && !answered(answer)
                    && let newer @ (Answer::Command(_) | Answer::Malformed(_)) = slot.take()
                {
                    *answer = newer;
                }
            }
            // Checked after the others were read: they may have answered while the last one did not.
            if !matches!(waited, Ok(Readiness::Ready)) {
                break;
            }
            woken = true;
        }
        let mut is_complete = true;
        for (answer, slot) in
            answers.iter_mut().zip(&mut self.slots).filter(|(_, slot)| slot.pid.is_some())
        {
            let on_time =
                matches!(answer, Answer::Command(command) if command.sequence == sequence);
            // An answer to the cycle before came after that cycle's limit.
            if matches!(answer, Answer::Command(command) if command.sequence.wrapping_add(1) == sequence)
            {
                *answer = Answer::Late;
            }
            is_complete &= on_time;
            slot.missed = if on_time { 0 } else { slot.missed.saturating_add(1) };
        }
        if !is_complete {
            self.decision.meter(self.slots.each_ref().map(Slot::usage));
        }
        answers
    }

    /// Gives each unit the policy that follows from its state, and reads its processor time. Called once the command is
    /// sent, so no process waits for it.
    fn keep_order(&mut self) {
        for (n, slot) in (0..).zip(&mut self.slots) {
            let Some(pid) = slot.pid else { continue };
            slot.cpu = sys::cpu_clock::process(pid).unwrap_or(slot.cpu);
            let Some(standing) = self.decision.standing(n) else { continue };
            slot.give(policy_for(standing, slot.wanted, self.policy), pid);
        }
    }

    /// Brings what the next decision needs into the caches: decides on a copy what the next cycle would bring if
    /// nothing changed, and touches every channel.
    fn rehearse(&mut self, ports: &mut dyn Ports) {
        let Some((mut sensors, mut answers)) = self.last else { return };
        sensors.sequence += 1;
        sensors.release += self.period;
        sensors.sampled += self.period;
        for answer in &mut answers {
            if let Answer::Command(command) = answer {
                command.sequence = sensors.sequence;
            }
        }
        self.sandboxed.rehearse(&sensors);
        self.rehearsal.clone_from(&self.decision);
        let _ = black_box(self.rehearsal.sense(&sensors));
        let _ = black_box(self.rehearsal.decide(&answers, ports.now()));
        for slot in self.slots.iter_mut().filter(|slot| slot.pid.is_some()) {
            slot.answers.warm_up();
        }
        ports.warm_up();
    }

    /// Carries out at most one request of the runner a cycle.
    fn serve_requests(&mut self, ports: &mut dyn Ports) {
        let mut buffer = [0; REQUEST_SIZE];
        let Ok(Some(message)) = self.requests.receive(&mut buffer) else { return };
        let Some(ask) = Ask::from_bytes(message) else { return };
        (self.status_due, self.served) = (Instant::ZERO, ask.id);
        let mut reply = Reply { id: ask.id, ..Reply::default() };
        match self.decision.request(ask.request) {
            Ok(events) => {
                self.record(&events, ports);
                self.seat(&ask);
            }
            // Written into the message in place. A refusal is the user's mistake and no part of a cycle's
            // work: its sentence may allocate.
            Err(error) => {
                let mut rest = &mut reply.refusal[..];
                let _ = write!(rest, "{error}");
            }
        }
        let _ = self.replies.send(&reply.to_bytes());
    }

    /// Follows a request that was carried out: which slots have a unit to wait for.
    fn seat(&mut self, ask: &Ask) {
        for unit in ask.units().iter() {
            let slot = &mut self.slots[usize::from(unit.slot)];
            match ask.request {
                Request::Add { .. } if self.sandboxed.seat(unit) => slot.pid = None,
                Request::Add { .. } => slot.occupy(ask),
                Request::Remove { .. } | Request::Exited { .. } => {
                    slot.pid = None;
                    self.sandboxed.unseat(usize::from(unit.slot));
                }
                Request::Promote { .. } | Request::Resume => {}
            }
        }
    }

    fn record(&mut self, events: &Events, ports: &mut dyn Ports) {
        for event in events {
            match *event {
                Event::Switch { from, to, reason } => {
                    self.switches += 1;
                    ports.mark(
                        EventKind::Switch,
                        reason.code(),
                        u64::from(from.code()),
                        u64::from(to.code()),
                    );
                }
                Event::Fault { slot, fault } => {
                    let samples = slot.map_or(0, |slot| self.decision.since_acceptable(slot));
                    let slot = slot.map_or(u64::MAX, u64::from);
                    ports.mark(EventKind::Fault, fault.code(), slot, samples.into());
                }
                Event::UnitState { slot, state, generation } => {
                    ports.mark(
                        EventKind::UnitState,
                        state.code(),
                        u64::from(slot),
                        u64::from(generation),
                    );
                }
            }
        }
    }

    fn send_status(&mut self, now: Instant, decided: &Decided) {
        self.v = decided.v_now;
        self.commanding = decided.source.code();
        if now < self.status_due && decided.events.is_empty() {
            return;
        }
        self.status_due = now + STATUS_EVERY;
        let mut slots = [SlotStatus::default(); SLOTS];
        for (n, status) in slots.iter_mut().enumerate() {
            if let Some(unit) = self.decision.unit(n as u8) {
                *status = SlotStatus::of(&unit);
            }
        }
        let (cycle, served, switches) = (self.cycles, self.served, self.switches);
        let status =
            Status { cycle, served, commanding: self.commanding, switches, v: self.v, slots };
        let _ = self.status.send(&status.to_bytes());
    }
}

/// Answers in a row that a unit may miss and still be waited for.
const MISSED_MAX: u32 = 2;
/// A unit that missed more is waited for once in so many cycles: one that was only delayed comes back, and one
/// that never answers costs little.
const RETRY_EVERY: u64 = 25;

/// Of the slots that are wanted, the one whose unit runs last: lowest in priority, then highest in number.
fn lowest(slots: &[Slot; SLOTS], is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
    (0..SLOTS).rev().filter(|n| is_wanted(*n)).min_by_key(|n| slots[*n].priority())
}

impl Slot {
    fn new(answers: Box<dyn Receiver>) -> Self {
        let wanted = Policy::Other { nice: 0 };
        Self { answers, pid: None, missed: 0, cpu: Span::ZERO, wanted, given: None }
    }

    /// Whether this cycle waits for the unit.
    fn is_awaited(&self, cycle: u64) -> bool {
        self.pid.is_some() && (self.missed <= MISSED_MAX || cycle.is_multiple_of(RETRY_EVERY))
    }

    /// Puts a new unit into the slot; the history of the one before is forgotten, and its last answer with it.
    fn occupy(&mut self, ask: &Ask) {
        let _ = self.take();
        self.pid = Some(ask.pid);
        self.missed = 0;
        self.cpu = sys::cpu_clock::process(ask.pid).unwrap_or(Span::ZERO);
        let priority = Priority::try_from(ask.priority);
        self.wanted =
            priority.map_or(Policy::Other { nice: 0 }, |priority| Policy::Fifo { priority });
        self.given = None;
    }

    /// The real-time priority that the unit has; 0 for none.
    const fn priority(&self) -> u8 {
        match self.given {
            Some(Policy::Fifo { priority } | Policy::RoundRobin { priority }) => priority.get(),
            _ => 0,
        }
    }

    /// Sets the policy of the unit if it is another one. A refusal has been reported when the unit started, and the
    /// units then run in the order that the kernel chooses.
    fn give(&mut self, policy: Policy, pid: u32) {
        if self.given.replace(policy) == Some(policy) {
            return;
        }
        let _ = match policy {
            // It may have raised threads of its own, where it is permitted to.
            Policy::Other { .. } => sys::process::set_policy_of(pid, &policy),
            _ => sys::sched::set_own_policy(Some(pid), &policy),
        };
    }

    /// What the unit did with the processor since the last command. The kernel is asked only in cycles with a missing
    /// answer.
    fn usage(&self) -> Usage {
        let Some(pid) = self.pid else { return Usage::default() };
        // Without a clock there is no such process any more.
        let Ok(cpu) = sys::cpu_clock::process(pid) else {
            return Usage { ending: true, ..Usage::default() };
        };
        let Activity { runnable, ending } = sys::process::activity(pid);
        Usage { used: cpu - self.cpu, runnable, ending }
    }

    /// Takes what the unit wrote since the last time. The core judges whether a command is stale.
    fn take(&mut self) -> Answer {
        let mut buffer = [0; Command::SIZE];
        match self.answers.receive(&mut buffer) {
            Ok(None) => Answer::Missing,
            Ok(Some(bytes)) => match Command::decode(bytes) {
                Ok(command) => Answer::Command(command),
                Err(error) => Answer::Malformed(error),
            },
            // Torn on every attempt, or damaged.
            Err(_) => Answer::Malformed(DecodeError::Length { found: 0, expected: Command::SIZE }),
        }
    }
}

impl Task for DecisionTask {
    /// Sleeps through the start of the next cycle, while the units work. Waking up for the sensors as well
    /// would be one hand-over more in every cycle, and the estimate is as good when it is made later.
    fn before_message(&mut self, ports: &mut dyn Ports) -> Span {
        let Some(next) = self.next_release else { return Span::ZERO };
        let mut warm_up = Span::ZERO;
        if self.lead.is_positive() {
            sys::timer::sleep_until(next - self.lead);
            let before = sys::cpu_clock::thread();
            self.rehearse(ports);
            warm_up = sys::cpu_clock::thread() - before;
        }
        let next_cycle = self.cycles + 1;
        if let Some(last) = lowest(&self.slots, |n| self.slots[n].is_awaited(next_cycle)) {
            // Ready, timed out or broken: the cycle is judged by the answers present then.
            let limit = next + self.answer_within - self.sandboxed.reserve();
            let _ = self.slots[last].answers.wait(limit);
        }
        warm_up
    }

    fn trigger(&mut self, message: &[u8]) -> Option<(u64, Instant)> {
        Sensors::decode(message).ok().map(|sensors| (sensors.sequence, sensors.release))
    }

    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let Ok(sensors) = Sensors::decode(job.message) else { return };
        self.cycles = job.cycle;
        self.next_release = Some(job.release + self.period);
        self.decision.sense(&sensors);
        let answers = self.gather(&sensors, ports);
        let decided = self.decision.decide(&answers, ports.now());
        let command = Command {
            sequence: sensors.sequence,
            unit: u32::from(decided.source.code()),
            volts: decided.volts,
            stamp: ports.now(),
        };
        ports.send(&command.encode());
        // I/O has its command now, and may preempt everything below.
        self.last = Some((sensors, answers));
        mark_values(
            ports,
            EventKind::Decide,
            decided.source.code(),
            decided.v_now,
            decided.v_predicted,
        );
        self.record(&decided.events, ports);
        self.serve_requests(ports);
        let now = ports.now();
        self.send_status(now, &decided);
        self.keep_order();
    }

    fn report(&self) -> Value {
        to_value(&self.switches)
    }
}
