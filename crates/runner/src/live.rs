//! A universe that runs and serves requests: a thread of ordinary priority beside the thread that makes the steps.
//!
//! The thread owns the socket and the desk, which checks and plans. The thread of the steps looks into the mailbox
//! before each step, carries out one order at most, and leaves its outcome. It waits for nothing: if the mailbox is in
//! use, it looks again before the next step.

mod describe;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hemiola_trace::result::{MonitorRun, RedefinitionRun};
use hemiola_units::{Instant, Span};
use hemiola_world::{
    Changed, Desk, Event, History, MonitorCounts, MonitorId, MonitorStatus, Order, Outcome, Reply,
    Request, Sampled, Status, Turn, World,
};

use crate::control::universe::{
    ElementRow, LastRow, Pace, SampleRows, UniverseAnswer, UniverseRequest, UniverseStatus,
    Universes,
};
use crate::control::{Client, Server};

/// How often the thread looks at its socket and for outcomes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest text of an answer. It fits into the buffer of a socket, so a client that does not read delays nobody.
const TEXT_LEN_MAX: usize = 64 << 10;

/// The end of a universe's control that makes the steps.
#[derive(Debug)]
pub struct Control {
    mailbox: Arc<Mutex<Mailbox>>,
    /// The texts of the monitors.
    monitors: Vec<String>,
    /// The redefinitions and returns so far.
    pub redefinitions: Vec<RedefinitionRun>,
}

/// What waits between the two threads.
#[derive(Debug, Default)]
struct Mailbox {
    orders: VecDeque<Order>,
    outcomes: VecDeque<(Outcome, Span, Pace)>,
}

impl Control {
    /// Opens the socket of this name, and starts the thread that serves it. `monitors` are the texts of the monitors.
    ///
    /// # Errors
    /// If the name is taken or too long, or the thread cannot be started.
    pub fn start(name: &str, world: &World, monitors: Vec<String>) -> io::Result<Self> {
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        let counter = Counter {
            server: Server::open(name)?,
            mailbox: Arc::clone(&mailbox),
            desk: Desk::new(Arc::clone(world.universe())),
            clients: VecDeque::new(),
            universe: world.universe().name.clone(),
            monitors: monitors.clone(),
        };
        thread::Builder::new().name("control".into()).spawn(move || counter.serve())?;
        Ok(Self { mailbox, monitors, redefinitions: Vec::new() })
    }

    /// Carries out one order that waits, if there is one. Returns the time that the next step waited for it.
    pub fn between_steps(
        &mut self,
        world: &mut World,
        history: &mut History,
        pace: impl FnOnce() -> Pace,
        mut now: impl FnMut() -> Instant,
    ) -> Option<Span> {
        let mut mailbox = self.mailbox.try_lock().ok()?;
        let order = mailbox.orders.pop_front()?;
        let began = now();
        let outcome = history.carry_out(world, order, &mut |_| {});
        let took = now() - began;
        if let Event::Changed(Ok(changed)) = &outcome.event {
            self.redefinitions.push(redefinition_run(changed, outcome.step, took, &self.monitors));
        }
        mailbox.outcomes.push_back((outcome, took, pace()));
        Some(took)
    }
}

/// A redefinition as the result folder keeps it. `monitors` are the texts of the monitors.
#[must_use]
pub fn redefinition_run(
    changed: &Changed,
    step: u64,
    delay: Span,
    monitors: &[String],
) -> RedefinitionRun {
    let name = |(id, _): &(MonitorId, MonitorCounts)| {
        monitors.get(id.0 as usize).cloned().unwrap_or_default()
    };
    RedefinitionRun {
        behind: step,
        what: changed.what.clone(),
        plan: changed.plan.clone(),
        entities: changed.entities as u64,
        ended: changed.ended.iter().map(name).collect(),
        delay_ns: delay.nanos().max(0) as u64,
    }
}

/// The rows of a monitor with its text.
#[must_use]
pub fn monitor_run(text: &str, counts: MonitorCounts) -> MonitorRun {
    let MonitorCounts { sent, outside, unchanged, faults } = counts;
    MonitorRun { monitor: text.to_owned(), sent, outside, unchanged, faults }
}

/// The end of a universe's control that serves clients.
#[derive(Debug)]
struct Counter {
    server: Server<Universes>,
    mailbox: Arc<Mutex<Mailbox>>,
    desk: Desk,
    /// Those whose order has no outcome yet, the oldest first.
    clients: VecDeque<Client<Universes>>,
    universe: String,
    monitors: Vec<String>,
}

impl Counter {
    /// Serves clients until the other end is gone.
    fn serve(mut self) {
        while Arc::strong_count(&self.mailbox) > 1 {
            self.take_outcomes();
            while let Some((request, client)) = self.server.poll() {
                self.ask(request, client);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ask(&mut self, request: UniverseRequest, client: Client<Universes>) {
        let turn = match Request::try_from(request) {
            Ok(request) => self.desk.ask(request),
            Err(error) => Turn::Answer(Reply::Refused(error.to_string())),
        };
        match turn {
            Turn::Answer(reply) => client.answer(&self.answer(reply, Pace::default())),
            Turn::Order(order) => {
                self.clients.push_back(client);
                self.mailbox().orders.push_back(order);
            }
        }
    }

    fn take_outcomes(&mut self) {
        let outcomes = std::mem::take(&mut self.mailbox().outcomes);
        for (outcome, took, pace) in outcomes {
            let reply = self.desk.done(outcome, took);
            let answer = self.answer(reply, pace);
            self.clients.pop_front().expect("each order has a client").answer(&answer);
        }
    }

    fn mailbox(&self) -> std::sync::MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, reply: Reply, pace: Pace) -> UniverseAnswer {
        match reply {
            Reply::Status(step, status) => UniverseAnswer::Status(self.status(step, *status, pace)),
            Reply::Definition { universe, definition, from, counts } => {
                UniverseAnswer::Definition(describe::part(&universe, definition, from, &counts))
            }
            Reply::Sampled(step, waited, Sampled { rows, chosen, values }) => {
                UniverseAnswer::Sample(SampleRows { step, waited, rows, chosen, values })
            }
            Reply::Redefined => UniverseAnswer::Redefined,
            Reply::Done(text) => UniverseAnswer::Done(cut(text)),
            Reply::Refused(text) => UniverseAnswer::Refused(cut(text)),
            Reply::Unsound(text) => UniverseAnswer::Unsound(cut(text)),
        }
    }

    fn status(&self, step: u64, status: Status, pace: Pace) -> UniverseStatus {
        let Status { definition, entities, elements, monitors, last } = status;
        let element = |(element, entities)| ElementRow { element, entities: entities as u64 };
        let monitor = |MonitorStatus { id, counts, .. }: &MonitorStatus| {
            let text = self.monitors.get(id.0 as usize).map_or("", String::as_str);
            monitor_run(text, *counts)
        };
        UniverseStatus {
            universe: self.universe.clone(),
            definition,
            step,
            pace,
            entities: entities as u64,
            elements: elements.into_iter().map(element).collect(),
            monitors: monitors.iter().map(monitor).collect(),
            row_lens: monitors.iter().map(|monitor| monitor.row_len).collect(),
            last: last.map(|last| LastRow {
                step: last.step,
                what: last.what,
                no_way_back: last.no_way_back,
            }),
        }
    }
}

/// A text that is not too long for an answer.
fn cut(mut text: String) -> String {
    if text.len() > TEXT_LEN_MAX {
        let end = (0..=TEXT_LEN_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text += "\n… and more";
    }
    text
}
