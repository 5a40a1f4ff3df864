//! A universe that runs and serves requests: a thread of ordinary priority beside the thread that makes the steps.
//!
//! The thread owns the socket and the desk, which checks and plans. The thread of the steps looks into the mailbox
//! before each step, carries out one order at most, and leaves its outcome. It waits for nothing: if the mailbox is in
//! use, it looks again before the next step.

mod describe;
mod queue;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_trace::result::{MonitorRun, RedefinitionRun};
use hemiola_units::{Instant, Span};
use hemiola_world::{
    Changed, Code, Desk, Event, Farewell, History, MESSAGE_VERSION, Managers, MonitorCounts,
    MonitorId, MonitorStatus, Order, Outcome, Output, Rates, Reply, Request, Sampled, Status, Turn,
    Uncompiled, World,
};
use queue::Queue;

use crate::compiler::Compiler;
use crate::control::universe::{
    ElementRow, LastRow, Manage, Managed, Pace, SampleRows, UniverseAnswer, UniverseRequest,
    UniverseStatus, Universes,
};
use crate::control::{Client, Server};
use crate::modules::module_run;

/// How often the thread looks at its socket and for outcomes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest text of an answer. It fits into the buffer of a socket, so a client that does not read delays nobody.
const TEXT_LEN_MAX: usize = 64 << 10;

/// The longest name of a manager that is shown.
const NAME_LEN_MAX: usize = 64;

/// The names of monitors by their numbers: their texts, and for managers also their own names.
type MonitorNames = BTreeMap<MonitorId, String>;

/// The end of a universe's control that makes the steps.
#[derive(Debug)]
pub struct Control {
    mailbox: Arc<Mutex<Mailbox>>,
    /// Those of the setup, and those of all managers so far.
    names: MonitorNames,
    /// Bytes of a row of each of them.
    row_lens: BTreeMap<MonitorId, u64>,
    /// How fast this machine redefines worlds.
    rates: Rates,
    managers: Managers<Queue>,
    /// The redefinitions and returns so far.
    pub redefinitions: Vec<RedefinitionRun>,
}

/// What waits between the two threads.
#[derive(Debug, Default)]
struct Mailbox {
    orders: VecDeque<(Order, Option<NewManager>)>,
    outcomes: VecDeque<(Outcome, Span, Pace)>,
    /// Managers that ended, with their queues.
    farewells: VecDeque<Farewell<Queue>>,
    /// Code for functions that a change left without.
    code: Vec<Code>,
}

/// What a manager needs on the side of the steps.
#[derive(Debug)]
struct NewManager {
    name: String,
    queue: Queue,
}

impl Control {
    /// Opens the socket of this name, and starts the thread that serves it. `monitors` are the texts of the monitors.
    /// The thread compiles the functions of later definitions.
    ///
    /// # Errors
    /// If the name is taken or too long, or the thread cannot be started.
    pub fn start(
        name: &str,
        world: &World,
        monitors: Vec<String>,
        compiler: Option<Compiler>,
    ) -> io::Result<Self> {
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        let names: MonitorNames = (0..).map(MonitorId).zip(monitors).collect();
        let rates = rates(compiler.as_ref());
        let counter = Counter {
            server: Server::open(name)?,
            mailbox: Arc::clone(&mailbox),
            desk: Desk::new(Arc::clone(world.universe())).with_rates(rates),
            clients: VecDeque::new(),
            lines: BTreeMap::new(),
            universe: world.universe().name.clone(),
            names: names.clone(),
            compiler,
        };
        thread::Builder::new().name("control".into()).spawn(move || counter.serve())?;
        let row_len = |id: &MonitorId| (*id, world.row_len(*id).unwrap_or_default());
        let row_lens = names.keys().map(row_len).collect();
        let (managers, redefinitions) = (Managers::default(), Vec::new());
        Ok(Self { mailbox, names, row_lens, rates, managers, redefinitions })
    }

    /// Carries out one order that waits, if there is one, and looks at the queues of the managers. Returns the time
    /// that the next step waited for the order.
    pub fn between_steps(
        &mut self,
        world: &mut World,
        history: &mut History,
        pace: impl FnOnce() -> Pace,
        now: impl FnMut() -> Instant,
    ) -> Option<Span> {
        let took = self.carry_out(world, history, pace, now);
        self.managers.before_step(world);
        took
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        history: &mut History,
        pace: impl FnOnce() -> Pace,
        mut now: impl FnMut() -> Instant,
    ) -> Option<Span> {
        let mailbox = Arc::clone(&self.mailbox);
        let mut mailbox = mailbox.try_lock().ok()?;
        for farewell in self.managers.take_farewells() {
            history.note_left(farewell.id, farewell.counts);
            mailbox.farewells.push_back(farewell);
        }
        mailbox.code.drain(..).for_each(|code| world.install(code));
        let (order, manager) = mailbox.orders.pop_front()?;
        let began = now();
        let outcome = history.carry_out(world, order, &mut |_| {});
        match &outcome.event {
            Event::Enlisted(Ok(enlistment)) => {
                if let Some(NewManager { name, queue }) = manager {
                    self.managers.enlist(world, enlistment, queue);
                    let id = enlistment.id;
                    self.names.insert(id, name);
                    self.row_lens.insert(id, world.row_len(id).unwrap_or_default());
                }
            }
            Event::Dismissed(id) => self.managers.dismiss(*id),
            _ => {}
        }
        let took = now() - began;
        if let Event::Changed(Ok(changed)) = &outcome.event {
            let run = redefinition_run(changed, outcome.step, took, Some(&self.rates), |id| {
                self.name(id)
            });
            self.redefinitions.push(run);
        }
        mailbox.outcomes.push_back((outcome, took, pace()));
        Some(took)
    }

    /// Tells managers what the step of this number tells.
    pub fn tell(&mut self, step: u64, output: Output<'_>) {
        self.managers.tell(step, output);
    }

    /// Tells managers that the step is complete.
    pub fn after_step(&mut self, world: &World) {
        self.managers.after_step(world);
    }

    fn name(&self, id: MonitorId) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    /// What became of the rows of all monitors so far, those of managers behind the others.
    #[must_use]
    pub fn monitors(&self, world: &World, history: &History) -> Vec<MonitorRun> {
        let run = |(id, name): (&MonitorId, &String)| {
            let left = self.managers.counts_of_ended(*id);
            let counts = left.unwrap_or_else(|| history.counts(world, *id));
            monitor_run(name, counts, self.row_lens.get(id).copied().unwrap_or_default())
        };
        self.names.iter().map(run).collect()
    }
}

/// How fast this machine redefines worlds whose functions are compiled by this compiler, if there is one. It takes some
/// milliseconds.
#[must_use]
pub fn rates(compiler: Option<&Compiler>) -> Rates {
    let code = compiler.map(|compiler| compiler.clone().compile(&Uncompiled::default()));
    Rates::measure(code, &mut || MonotonicClock.now())
}

/// A redefinition as the result folder keeps it. `name` names monitors.
#[must_use]
pub fn redefinition_run(
    changed: &Changed,
    step: u64,
    delay: Span,
    rates: Option<&Rates>,
    name: impl Fn(MonitorId) -> String,
) -> RedefinitionRun {
    RedefinitionRun {
        behind: step,
        what: changed.what.clone(),
        plan: changed.plan.clone(),
        entities: changed.entities as u64,
        ended: changed.ended.iter().map(|(id, _)| name(*id)).collect(),
        delay_ns: delay.nanos().max(0) as u64,
        predicted_ns: rates.map(|rates| rates.time(changed.cost).nanos().max(0) as u64),
        rows: changed.cost.rows,
        bytes: changed.cost.bytes,
    }
}

/// The rows of a monitor with its text.
#[must_use]
pub fn monitor_run(text: &str, counts: MonitorCounts, row_len: u64) -> MonitorRun {
    let MonitorCounts { sent, outside, unchanged, faults, held } = counts;
    MonitorRun { monitor: text.to_owned(), sent, outside, unchanged, faults, held, row_len }
}

/// The end of a universe's control that serves clients.
#[derive(Debug)]
struct Counter {
    server: Server<Universes>,
    mailbox: Arc<Mutex<Mailbox>>,
    desk: Desk,
    /// Those whose order has no outcome yet, the oldest first.
    clients: VecDeque<Waiting>,
    /// The connections of managers that are told.
    lines: BTreeMap<MonitorId, UnixStream>,
    universe: String,
    /// Those of the setup, and those of managers that are told.
    names: MonitorNames,
    compiler: Option<Compiler>,
}

/// Somebody whose order has no outcome yet.
#[derive(Debug)]
enum Waiting {
    /// A client that waits for its answer.
    Client(Client<Universes>),
    /// A client that becomes a manager with this name and the queue of this descriptor.
    Manager(Client<Universes>, String, OwnedFd, u64),
    /// A manager that has left.
    Nobody,
}

impl Counter {
    /// Serves clients until the other end is gone.
    fn serve(mut self) {
        while Arc::strong_count(&self.mailbox) > 1 {
            self.take_outcomes();
            while let Some((request, client)) = self.server.poll() {
                self.ask(request, client);
            }
            self.look_after_managers();
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ask(&mut self, request: UniverseRequest, client: Client<Universes>) {
        let name = match &request {
            UniverseRequest::Manage(Manage { name, monitor, .. }) => {
                let name = name[..name.floor_char_boundary(NAME_LEN_MAX)].trim();
                format!("manager {name}: {monitor}")
            }
            _ => String::new(),
        };
        let mut turn = match Request::try_from(request) {
            Ok(request) => self.desk.ask(request),
            Err(error) => Turn::Answer(Reply::Refused(error.to_string())),
        };
        if let (Turn::Order(order), Some(compiler)) = (&mut turn, &mut self.compiler) {
            compiler.complete(order);
        }
        match turn {
            Turn::Answer(reply) => client.answer(&self.answer(reply, Pace::default())),
            Turn::Order(order) => match &order {
                Order::Enlist { enlistment, .. } => match Queue::create(enlistment) {
                    Ok((queue, fd)) => {
                        let len = enlistment.format.len_max() as u64;
                        self.clients.push_back(Waiting::Manager(client, name.clone(), fd, len));
                        let manager = NewManager { name, queue };
                        self.mailbox().orders.push_back((order, Some(manager)));
                    }
                    Err(reason) => {
                        self.desk.withdraw(enlistment.id);
                        client.answer(&UniverseAnswer::Refused(reason));
                    }
                },
                _ => {
                    self.clients.push_back(Waiting::Client(client));
                    self.mailbox().orders.push_back((order, None));
                }
            },
        }
    }

    fn take_outcomes(&mut self) {
        let (outcomes, farewells) = {
            let mut mailbox = self.mailbox();
            // At once, so that nobody is told of the end of a manager before its beginning.
            (std::mem::take(&mut mailbox.outcomes), std::mem::take(&mut mailbox.farewells))
        };
        let mut uncompiled = Vec::new();
        for (mut outcome, took, pace) in outcomes {
            if let Event::Changed(Ok(changed)) = &mut outcome.event {
                uncompiled.push(std::mem::take(&mut changed.uncompiled));
            }
            let reply = self.desk.done(outcome, took);
            match (self.clients.pop_front().expect("each order has a client"), reply) {
                (Waiting::Manager(client, name, fd, message), Reply::Managed(step, id)) => {
                    let version = MESSAGE_VERSION;
                    let managed = Managed { version, monitor: id.0, message, step };
                    let answer = UniverseAnswer::Managed(managed);
                    match client.answer_with(&answer, fd.as_fd()) {
                        Some(line) => {
                            self.lines.insert(id, line);
                            self.names.insert(id, name);
                        }
                        None => self.leave(id),
                    }
                }
                (Waiting::Client(client) | Waiting::Manager(client, ..), reply) => {
                    client.answer(&self.answer(reply, pace));
                }
                (Waiting::Nobody, _) => {}
            }
        }
        self.take_farewells(farewells);
        if let Some(compiler) = &mut self.compiler {
            let uncompiled = uncompiled.iter().filter(|functions| !functions.is_empty());
            let code: Vec<Code> = uncompiled.map(|functions| compiler.compile(functions)).collect();
            self.mailbox().code.extend(code);
        }
    }

    /// A manager that closes its connection, or says anything more, leaves.
    fn look_after_managers(&mut self) {
        let has_left = |mut line: &UnixStream| {
            let read = line.read(&mut [0; 1]);
            !read.is_err_and(|error| {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            })
        };
        let lines = self.lines.iter().filter(|(_, line)| has_left(line));
        let left: Vec<MonitorId> = lines.map(|(id, _)| *id).collect();
        for id in left {
            self.lines.remove(&id);
            self.leave(id);
        }
    }

    fn leave(&mut self, id: MonitorId) {
        if let Some(order) = self.desk.leave(id) {
            self.clients.push_back(Waiting::Nobody);
            self.mailbox().orders.push_back((order, None));
        }
    }

    /// Frees the queues of managers that ended, and tells those that did not leave why.
    fn take_farewells(&mut self, farewells: VecDeque<Farewell<Queue>>) {
        for Farewell { id, reason, outbox, .. } in farewells {
            self.names.remove(&id);
            if let (Some(reason), Some(mut line)) = (reason, self.lines.remove(&id)) {
                let answer = UniverseAnswer::Ended(reason.to_string());
                let text = serde_json::to_string(&answer).expect("plain data has a JSON form");
                let _ = line.write_all((text + "\n").as_bytes());
            }
            outbox.wake_to_end();
            self.desk.release(id);
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
            Reply::Managed(..) | Reply::Gone => UniverseAnswer::Refused("no manager asked".into()),
        }
    }

    fn status(&self, step: u64, status: Status, pace: Pace) -> UniverseStatus {
        let Status { definition, entities, elements, monitors, modules, last } = status;
        let element = |(element, entities)| ElementRow { element, entities: entities as u64 };
        let monitor = |MonitorStatus { id, counts, row_len }: &MonitorStatus| {
            let text = self.names.get(id).map_or("", String::as_str);
            monitor_run(text, *counts, *row_len)
        };
        UniverseStatus {
            universe: self.universe.clone(),
            definition,
            step,
            pace,
            entities: entities as u64,
            elements: elements.into_iter().map(element).collect(),
            monitors: monitors.iter().map(monitor).collect(),
            modules: modules.iter().map(module_run).collect(),
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
