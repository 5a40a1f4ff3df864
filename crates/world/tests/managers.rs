//! Managers that read as they like, held against the world that they are told of.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use hemiola_units::{Random, Span};
use hemiola_world::{
    Change, Desk, Effect, EndReason, EntityId, Event, History, Interest, ManageRequest, Managers,
    MonitorId, Order, Outbox, Outcome, Output, Reply, Request, Room, Turn, World,
};
use hemiola_world_lang::Sources;
use hemiola_world_lang::definition::{ElementId, FunctionId, Universe, Value};

use crate::simulation::{WORLD, change, universe};

const MANAGER: MonitorId = MonitorId(70_000);

/// What a manager without a process makes of what it is told.
#[derive(Default)]
struct Picture {
    /// The bits of the columns of each known entity.
    rows: BTreeMap<EntityId, Vec<u64>>,
    dead: BTreeSet<EntityId>,
    births: u64,
    updates: u64,
}

impl Picture {
    fn born(&mut self, entity: EntityId, row: Vec<u64>) {
        assert!(!self.dead.contains(&entity), "{entity:?} was told as dead");
        assert!(self.rows.insert(entity, row).is_none(), "{entity:?} was told as born twice");
        self.births += 1;
    }

    fn row(&mut self, entity: EntityId, row: Vec<u64>) {
        let known = self.rows.get_mut(&entity);
        *known.unwrap_or_else(|| panic!("{entity:?} was not told as born")) = row;
        self.updates += 1;
    }

    fn died(&mut self, entity: EntityId) {
        assert!(self.rows.remove(&entity).is_some(), "{entity:?} is not known");
        self.dead.insert(entity);
    }

    /// Notes an output, and returns how many entities it has.
    fn note(&mut self, output: Output<'_>) -> usize {
        use hemiola_world_code::{Column, Scalar};
        let bits = |columns: &[Column], at: usize| -> Vec<u64> {
            let scalars = columns.iter().map(|column| match column.get(at) {
                Scalar::Boolean(value) => u64::from(value),
                Scalar::Integer(value) => u64::from(value as u32),
                Scalar::Single(value) => u64::from(value.to_bits()),
                Scalar::Double(value) => value.to_bits(),
                Scalar::Text(number) => number,
            });
            scalars.collect()
        };
        match output {
            Output::Births { monitor: MANAGER, entities, columns, .. } => {
                let all = entities.iter().enumerate();
                all.for_each(|(at, entity)| self.born(*entity, bits(columns, at)));
                entities.len()
            }
            Output::Rows { monitor: MANAGER, entities, columns, .. } => {
                let all = entities.iter().enumerate();
                all.for_each(|(at, entity)| self.row(*entity, bits(columns, at)));
                entities.len()
            }
            Output::Deaths { monitor: MANAGER, entities } => {
                entities.iter().for_each(|entity| self.died(*entity));
                entities.len()
            }
            Output::Born { monitor, .. } | Output::Died { monitor, .. } => {
                assert!(monitor != MANAGER, "a monitor with room is told in other ways");
                0
            }
            _ => 0,
        }
    }
}

fn constraint(universe: &Universe, name: &str) -> FunctionId {
    let at = universe.functions.iter().position(|function| function.name.ends_with(name));
    FunctionId(at.unwrap() as u32)
}

/// An interest in things: everywhere, those that moved, or odd ones.
fn interest(universe: &Universe, random: &mut Random) -> Interest {
    let point = |at: f64| Value::Items(vec![Value::Double(at), Value::Double(at)]);
    let moved = vec![point(-30.0), point(30.0), Value::Double(random.between(0.0, 1.0))];
    let constraint = match random.below(3) {
        0 => None,
        1 => Some((constraint(universe, "moved"), moved)),
        _ => Some((constraint(universe, "odd"), vec![Value::Integer(3)])),
    };
    Interest { element: ElementId(0), properties: vec![0, 2], constraint, effect: Effect::None }
}

/// The entities of things and lamps.
fn watched(world: &World) -> BTreeSet<EntityId> {
    let of = |entity: &EntityId| world.element(*entity).is_some_and(|element| element.0 < 2);
    world.entities().filter(of).collect()
}

/// The bits of `p` and `n`.
fn bits(world: &World, entity: EntityId) -> Vec<u64> {
    let Some(Value::Row(row)) = world.row(entity) else { panic!("it exists") };
    let [Value::Items(p), _, Value::Integer(n), ..] = &row[..] else { panic!("{row:?}") };
    let p = p.iter().map(|value| match value {
        Value::Double(value) => value.to_bits(),
        other => panic!("{other:?}"),
    });
    p.chain([u64::from(*n as u32)]).collect()
}

fn same_rows(world: &World, other: &World, place: &str) {
    assert_eq!(world.len(), other.len(), "{place}");
    for entity in world.entities() {
        let [row, expected] = [world, other].map(|world| world.row(entity).unwrap());
        assert!(row.same_bits(&expected), "{place}: {row:?} {expected:?}");
    }
}

/// A world with one manager that has room at random, beside a world without it. Returns births, rows, and rows held.
fn simulate(seed: u64) -> (u64, u64, u64) {
    let universe = universe(WORLD);
    let mut random = Random::from_seed(seed);
    let [mut world, mut plain] =
        [(); 2].map(|()| World::new(universe.clone()).unwrap().with_births(seed, 40));
    let interest = interest(&universe, &mut random);
    let is_everything = interest.constraint.is_none();
    let mut picture = Picture::default();
    let mut counts_before = 0;
    let begins = random.below(10);
    for step in 0..80 {
        let place = format!("seed {seed}, step {step}");
        if step < 40 {
            for _ in 0..random.below(4) {
                let change = change(&universe, &world, &mut random);
                assert_eq!(world.submit(change.clone()), plain.submit(change), "{place}");
            }
        }
        if step == begins {
            world.attach_monitor(MANAGER, interest.clone()).unwrap();
        }
        // At the end, it reads all.
        let room = Room {
            messages: if step < 40 { random.below(4) as u32 } else { 1000 },
            rows: 1 + random.below(3) as u32,
        };
        world.give_room(MANAGER, room);
        let offered = watched(&world).len() as u64;
        let (mut messages, mut sent) = (0, 0);
        let report = world.step(0.25, &mut |_| {}, &mut |output| {
            let is_row = matches!(output, Output::Rows { monitor: MANAGER, .. });
            let entities = picture.note(output);
            messages += (entities as u32).div_ceil(room.rows);
            sent += if is_row { entities as u64 } else { 0 };
        });
        let expected = plain.step(0.25, &mut |_| {}, &mut |_| {});
        assert_eq!((report.births, report.deaths), (expected.births, expected.deaths), "{place}");
        assert!(messages <= room.messages, "{place}: {messages} messages of {room:?}");
        same_rows(&world, &plain, &place);
        if step >= begins {
            let counts = world.counts(MANAGER).unwrap();
            let all = counts.sent + counts.outside + counts.unchanged + counts.faults + counts.held;
            assert_eq!(all - counts_before, offered, "{place}: each row is counted once");
            counts_before = all;
            let owed = world.owed(MANAGER).unwrap();
            let known: BTreeSet<EntityId> = picture.rows.keys().copied().collect();
            let alive = watched(&world);
            assert_eq!(alive.difference(&known).count() as u64, owed.births, "{place}");
            assert_eq!(known.difference(&alive).count() as u64, owed.deaths, "{place}");
        }
        let _ = sent;
    }
    let owed = world.owed(MANAGER).unwrap();
    assert!(owed.is_nothing(), "seed {seed}: {owed:?}");
    assert_eq!(picture.rows.keys().copied().collect::<BTreeSet<_>>(), watched(&world));
    if is_everything {
        for (entity, row) in &picture.rows {
            assert_eq!(*row, bits(&world, *entity), "seed {seed}: {entity:?}");
        }
    }
    (picture.births, picture.updates, world.counts(MANAGER).unwrap().held)
}

#[test]
fn a_slow_manager_has_the_picture_of_the_world_when_it_has_read_all() {
    let mut all = (0, 0, 0);
    for seed in 0..300 {
        let (births, rows, held) = simulate(seed);
        all = (all.0 + births, all.1 + rows, all.2 + held);
    }
    assert!(all.0 > 1000 && all.1 > 1000 && all.2 > 1000, "{all:?}");
}

/// With enough room, a monitor is sent what it would be sent without a limit.
#[test]
fn room_changes_nothing_for_a_manager_that_reads_all() {
    for seed in 0..100 {
        let universe = universe(WORLD);
        let mut random = Random::from_seed(seed);
        let [mut world, mut plain] =
            [(); 2].map(|()| World::new(universe.clone()).unwrap().with_births(seed, 40));
        let interest = interest(&universe, &mut random);
        world.attach_monitor(MANAGER, interest.clone()).unwrap();
        world.give_room(MANAGER, Room { messages: 1000, rows: 10 });
        plain.submit(Change::Register(MANAGER, interest)).unwrap();
        for step in 0..20 {
            let change = change(&universe, &world, &mut random);
            assert_eq!(world.submit(change.clone()), plain.submit(change));
            world.give_room(MANAGER, Room { messages: 1000, rows: 10 });
            let mut sent = [(); 2].map(|()| BTreeSet::new());
            for (world, sent) in [&mut world, &mut plain].into_iter().zip(&mut sent) {
                world.step(0.25, &mut |_| {}, &mut |output| {
                    if let Output::Rows { monitor: MANAGER, entities, .. } = output {
                        sent.extend(entities.iter().copied());
                    }
                });
            }
            // The first step tells births to the one, and registers the other.
            assert!(step == 0 || sent[0] == sent[1], "seed {seed}, step {step}: {sent:?}");
        }
    }
}

/// A queue in a model: what a manager may do to it.
#[derive(Default)]
struct Queue {
    capacity: u32,
    messages: Vec<Vec<u8>>,
    damage: Option<String>,
    woken: u32,
    sent: u64,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Queue>>);

impl Outbox for Shared {
    fn room(&mut self) -> Result<u32, String> {
        let queue = self.0.borrow();
        match &queue.damage {
            Some(damage) => Err(damage.clone()),
            None => Ok(queue.capacity - queue.messages.len() as u32),
        }
    }

    fn send(&mut self, message: &[u8]) {
        let mut queue = self.0.borrow_mut();
        assert!(queue.messages.len() < queue.capacity as usize, "there is room");
        queue.messages.push(message.to_vec());
        queue.sent += 1;
    }

    fn wake(&mut self) {
        self.0.borrow_mut().woken += 1;
    }
}

fn number<const N: usize>(message: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(&message[at..at + N]);
    u64::from_le_bytes(bytes)
}

/// A manager that decodes what its queue has, as the layout says.
struct Client {
    queue: Shared,
    picture: Picture,
    /// The widths of the columns.
    widths: Vec<usize>,
    elements: BTreeSet<u64>,
    definition: Option<u64>,
    /// What the last complete step left.
    left: Option<u64>,
    step: u64,
    leaves: bool,
}

impl Client {
    fn read(&mut self, most: usize) {
        let mut queue = self.queue.0.borrow_mut();
        let count = most.min(queue.messages.len());
        let messages: Vec<Vec<u8>> = queue.messages.drain(..count).collect();
        drop(queue);
        messages.iter().for_each(|message| self.decode(message));
    }

    fn decode(&mut self, message: &[u8]) {
        assert_eq!(number::<2>(message, 2), 1);
        let (kind, count) = (number::<2>(message, 0), number::<4>(message, 4) as usize);
        let step = number::<8>(message, 8);
        assert!(step >= self.step, "steps go on");
        self.step = step;
        let ids = || (0..count).map(|at| EntityId(number::<8>(message, 40 + 8 * at)));
        match kind {
            1 => {
                assert!(self.widths.is_empty());
                let mut at = 40;
                for _ in 0..count {
                    self.widths.push(number::<2>(message, at + 2) as usize);
                    at += 8 + (number::<2>(message, at + 4) as usize).next_multiple_of(8);
                }
                assert_eq!(at, message.len());
            }
            2 => {
                let definition = number::<8>(message, 24);
                if self.definition != Some(definition) {
                    self.elements.clear();
                }
                self.definition = Some(definition);
                let mut at = 40;
                for _ in 0..count {
                    self.elements.insert(number::<4>(message, at));
                    at += 8 + (number::<2>(message, at + 4) as usize).next_multiple_of(8);
                }
                assert_eq!(at, message.len());
            }
            3 | 4 => {
                assert!(self.elements.contains(&number::<4>(message, 16)), "the element is known");
                let mut rows = vec![Vec::new(); count];
                let mut at = 40 + 8 * count;
                for width in &self.widths {
                    for (place, row) in rows.iter_mut().enumerate() {
                        let mut bytes = [0; 8];
                        bytes[..*width].copy_from_slice(&message[at + place * width..][..*width]);
                        row.push(u64::from_le_bytes(bytes));
                    }
                    at += (width * count).next_multiple_of(8);
                }
                assert_eq!(at, message.len());
                for (id, row) in ids().zip(rows) {
                    if kind == 3 { self.picture.born(id, row) } else { self.picture.row(id, row) }
                }
            }
            5 => ids().for_each(|id| self.picture.died(id)),
            6 => self.left = Some(number::<8>(message, 32)),
            other => panic!("kind {other}"),
        }
    }
}

/// What happened to managers: enlisted, refused, left, damaged, ended by a redefinition, redefined and went on.
type Fates = [u32; 6];

struct Universes {
    desk: Desk,
    history: History,
    world: World,
    plain: World,
    managers: Managers<Shared>,
    clients: BTreeMap<MonitorId, Client>,
    fates: Fates,
}

impl Universes {
    /// Has an order carried out, and tells the desk.
    fn carry_out(&mut self, order: Order, queue: Option<Shared>) -> Reply {
        let outcome = self.history.carry_out(&mut self.world, order, &mut |_| {});
        if let (Event::Enlisted(Ok(enlistment)), Some(queue)) = (&outcome.event, &queue) {
            self.managers.enlist(&self.world, enlistment, queue.clone());
        }
        if let Event::Dismissed(id) = &outcome.event {
            self.managers.dismiss(*id);
        }
        let outcome: Outcome = outcome;
        self.desk.done(outcome, Span::ZERO)
    }

    fn enlist(&mut self, random: &mut Random) {
        let monitors = [
            "thing:p,n",
            "thing:p,n:moved([-30,-30],[30,30],0.5)",
            "lamp:p,n",
            "thing:p,n:odd(3)",
            "stone",
            "thing:p:nothing()",
            "thing:p:odd(1, 2)",
            "thing:p:odd(0) } universe v { constant x : integer = (1)",
        ];
        let monitor = monitors[random.below(monitors.len() as u64) as usize].to_owned();
        let request = ManageRequest { monitor, every_step: random.below(2) == 0, queue_len: None };
        match self.desk.ask(Request::Manage(request)) {
            Turn::Answer(Reply::Refused(_)) => self.fates[1] += 1,
            Turn::Order(order) => {
                let Order::Enlist { enlistment, .. } = &order else { panic!("{order:?}") };
                let id = enlistment.id;
                let queue = Shared::default();
                queue.0.borrow_mut().capacity = 4 + random.below(6) as u32;
                match self.carry_out(order, Some(queue.clone())) {
                    Reply::Managed(_, of) => assert_eq!(of, id),
                    other => panic!("{other:?}"),
                }
                let client = Client {
                    queue,
                    picture: Picture::default(),
                    widths: Vec::new(),
                    elements: BTreeSet::new(),
                    definition: None,
                    left: None,
                    step: 0,
                    leaves: false,
                };
                self.clients.insert(id, client);
                self.fates[0] += 1;
            }
            other => panic!("{other:?}"),
        }
    }

    /// Redefines both worlds, or returns.
    fn redefine(&mut self, random: &mut Random, last: &mut Option<hemiola_world::Redefinition>) {
        let text = match random.below(4) {
            0 => WORLD.to_owned(),
            1 => WORLD.replace("0.1 * pull", "0.2 * pull"),
            2 => WORLD.replace("property v", "property extra : real = 2; property v"),
            _ => WORLD.replace("constraint odd(than", "constraint odder(than"),
        };
        let sources = Sources::of("u.uml", &*text).unwrap();
        let returns = random.below(4) == 0;
        let request = if returns { Request::RollBack } else { Request::Apply(sources.clone()) };
        let Turn::Order(order) = self.desk.ask(request) else { return };
        let is_done = matches!(self.carry_out(order, None), Reply::Done(_));
        let done = if returns {
            let back = |of: &mut hemiola_world::Redefinition| {
                self.plain.roll_back(of, &mut |_| {}).is_ok()
            };
            let is_back = last.as_mut().is_some_and(back);
            last.take_if(|_| is_back);
            is_back
        } else {
            let revision = hemiola_world::Revision::check(&sources, self.plain.universe()).unwrap();
            let redefinition = self.plain.redefine(revision, &mut |_| {}).ok();
            let is_redefined = redefinition.is_some();
            *last = redefinition.or_else(|| last.take());
            is_redefined
        };
        assert_eq!(is_done, done);
        self.fates[5] += u32::from(is_done && !self.clients.is_empty());
    }

    fn step(&mut self) {
        self.managers.before_step(&mut self.world);
        for farewell in self.managers.take_farewells() {
            let client = self.clients.remove(&farewell.id).expect("it was there");
            self.desk.release(farewell.id);
            self.history.note_left(farewell.id, farewell.counts);
            match farewell.reason {
                None => assert!(client.leaves),
                Some(EndReason::Damaged(_)) => {
                    assert!(client.queue.0.borrow().damage.is_some());
                    self.fates[3] += 1;
                }
                Some(EndReason::Redefined(_)) => self.fates[4] += 1,
                Some(other) => panic!("{other:?}"),
            }
        }
        let (number, managers) = (self.world.steps() + 1, &mut self.managers);
        self.world.step(0.25, &mut |_| {}, &mut |output| managers.tell(number, output));
        self.managers.after_step(&self.world);
        self.plain.step(0.25, &mut |_| {}, &mut |_| {});
        for client in self.clients.values() {
            let queue = client.queue.0.borrow();
            assert!(queue.sent == 0 || queue.woken > 0, "it was woken");
        }
    }
}

fn manage(seed: u64) -> Fates {
    let definition = universe(WORLD);
    let [world, plain] = [(); 2].map(|()| World::new(definition.clone()).unwrap());
    let mut all = Universes {
        desk: Desk::new(Arc::clone(world.universe())),
        history: History::default(),
        world,
        plain,
        managers: Managers::default(),
        clients: BTreeMap::new(),
        fates: Fates::default(),
    };
    let (mut random, mut last) = (Random::from_seed(seed), None);
    for step in 0..60 {
        for _ in 0..random.below(4) {
            let universe = Arc::clone(all.plain.universe());
            // Redefinitions add properties, so rows are made for the present definition.
            let change = match random.below(2) {
                0 => Change::Construct(ElementId(0), default(&universe, ElementId(0))),
                _ => match all.plain.entities().next() {
                    Some(entity) if random.below(2) == 0 => Change::Destruct(entity),
                    _ => Change::Construct(ElementId(1), default(&universe, ElementId(1))),
                },
            };
            assert_eq!(all.world.submit(change.clone()), all.plain.submit(change));
        }
        match random.below(10) {
            0..=2 => all.enlist(&mut random),
            3 => {
                all.redefine(&mut random, &mut last);
                all.redefine(&mut random, &mut last);
            }
            4 => {
                let count = all.clients.len() as u64;
                if let Some((id, client)) =
                    all.clients.iter_mut().nth(random.below(count.max(1)) as usize)
                {
                    client.leaves = true;
                    let order = all.desk.leave(*id);
                    if let Some(order) = order {
                        assert_eq!(all.carry_out(order, None), Reply::Gone);
                        all.fates[2] += 1;
                    }
                }
            }
            5 => {
                let count = all.clients.len() as u64;
                if let Some(client) =
                    all.clients.values_mut().nth(random.below(count.max(1)) as usize)
                {
                    client.queue.0.borrow_mut().damage = Some("scribbled".to_owned());
                }
            }
            _ => {}
        }
        all.step();
        same_rows(&all.world, &all.plain, &format!("seed {seed}, step {step}"));
        for client in all.clients.values_mut() {
            let most = [0, 0, 1, 2, 100][random.below(5) as usize];
            client.read(most);
        }
    }
    for _ in 0..20 {
        all.step();
        all.clients.values_mut().for_each(|client| client.read(100));
    }
    for (id, client) in &all.clients {
        assert_eq!(all.world.owed(*id).map(|owed| owed.is_nothing()), Some(true), "seed {seed}");
        let base = all.world.watched_element(*id).unwrap();
        let universe = all.world.universe();
        let watched = |entity: &EntityId| {
            all.world.element(*entity).is_some_and(|element| universe.is_a(element, base))
        };
        let expected: BTreeSet<EntityId> = all.world.entities().filter(watched).collect();
        assert_eq!(client.picture.rows.keys().copied().collect::<BTreeSet<_>>(), expected);
        assert!(client.left.unwrap_or(0) == 0, "seed {seed}: {:?}", client.left);
    }
    assert_eq!(all.managers.len(), all.clients.len());
    all.fates
}

fn default(universe: &Universe, element: ElementId) -> Value {
    let properties = &universe.elements[element.index()].properties;
    Value::Row(properties.iter().map(|property| property.default.clone()).collect())
}

#[test]
fn managers_that_are_slow_hostile_or_leave_change_nothing() {
    let mut all = Fates::default();
    for seed in 0..300 {
        let fates = manage(seed);
        all.iter_mut().zip(fates).for_each(|(all, now)| *all += now);
    }
    assert!(all.iter().all(|count| *count > 20), "{all:?}");
}

#[test]
fn admissions_have_limits_and_say_which() {
    let world = World::new(universe(WORLD)).unwrap();
    let mut desk = Desk::new(Arc::clone(world.universe()));
    let ask = |desk: &mut Desk, monitor: &str, queue_len| {
        let monitor = monitor.to_owned();
        desk.ask(Request::Manage(ManageRequest { monitor, queue_len, every_step: false }))
    };
    let refused = |turn: Turn| match turn {
        Turn::Answer(Reply::Refused(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused(ask(&mut desk, "thing", Some(0))).contains("not 0"));
    assert!(refused(ask(&mut desk, "thing", Some(17 << 20))).contains("16777216"));
    assert!(refused(ask(&mut desk, &"x".repeat(5000), None)).contains("at most 4096"));
    assert!(refused(ask(&mut desk, "nobody", None)).contains("no element is named `nobody`"));
    assert!(refused(ask(&mut desk, "thing:p:odd(1.5)", None)).contains("the value `1.5`: "));
    // Four queues of 16 MiB use up the memory of all.
    let ids: Vec<MonitorId> = (0..4)
        .map(|_| match ask(&mut desk, "thing", Some(16 << 20)) {
            Turn::Order(Order::Enlist { enlistment, .. }) => enlistment.id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(refused(ask(&mut desk, "thing", Some(16 << 20))).contains("are left"));
    desk.withdraw(ids[3]);
    assert!(matches!(ask(&mut desk, "thing", Some(16 << 20)), Turn::Order(_)));
}
