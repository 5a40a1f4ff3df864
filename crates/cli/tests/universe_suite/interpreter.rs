//! Live changes of a definition: table 6.7, figures 6.2 and 6.3.

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_world::{Change, EntityId, MonitorId, Rates, Revision, World};

use super::page::Page;
use super::timing::{Scale, middle, shown, took};
use super::worlds::{
    construct, default_row, destruct, element, populate, sources, universe_text, watch, world,
};

/// What every definition has.
const BASE: &str = "element body { property x : integer; function f() : integer = x; \
                    update() { x += f() - x; } } element root { }";

/// A component: its name in the thesis, and its text in the definition, first and replaced, inside or beside `body`.
struct Component {
    name: &'static str,
    /// As the steps of a plan name it.
    kind: &'static str,
    inside: bool,
    first: &'static str,
    replaced: &'static str,
}

const COMPONENTS: [Component; 4] = [
    Component {
        name: "ELEMENT",
        kind: "element",
        inside: false,
        first: "element other { }",
        replaced: "element other : root { }",
    },
    Component {
        name: "CONSTANT",
        kind: "constant",
        inside: false,
        first: "constant K = 1;",
        replaced: "constant K = 2;",
    },
    Component {
        name: "PROPERTY",
        kind: "property",
        inside: true,
        first: "property y : integer;",
        replaced: "property y : real;",
    },
    Component {
        name: "FUNCTION",
        kind: "function",
        inside: true,
        first: "function g() : integer = x + 1;",
        replaced: "function g() : integer = x + 2;",
    },
];

/// The operations, each from one state of the component to another one.
const OPERATIONS: [(&str, [State; 2]); 3] = [
    ("insert", [State::Absent, State::First]),
    ("replace", [State::First, State::Replaced]),
    ("delete", [State::First, State::Absent]),
];

#[derive(Clone, Copy)]
enum State {
    Absent,
    First,
    Replaced,
}

impl Component {
    fn text(&self, state: State) -> String {
        let part = match state {
            State::Absent => "",
            State::First => self.first,
            State::Replaced => self.replaced,
        };
        let items = match self.inside {
            true => BASE.replacen('{', &format!("{{ {part}"), 1),
            false => format!("{BASE} {part}"),
        };
        universe_text(&items)
    }
}

/// The times of a redefinition with so many entities, in ns.
struct Redefined {
    /// From the text to the plan.
    check: f64,
    /// What the next step waits for.
    delay: f64,
    /// Whether the plan was this one change, and entities and their numbers stayed.
    is_sound: bool,
}

fn redefine(scale: Scale, component: &Component, states: [State; 2], entities: usize) -> Redefined {
    let [before, after] = states.map(|state| component.text(state));
    let mut world = world(&before);
    populate(&mut world, "body", entities);
    let numbers: Vec<EntityId> = world.entities().collect();
    let (mut checks, mut delays, mut is_sound) = (Vec::new(), Vec::new(), true);
    for _ in 0..scale.rounds() {
        let sources = sources(&after);
        let (check, revision) = took(|| Revision::check(&sources, world.universe()));
        let revision = revision.expect("it is sound");
        is_sound &= matches!(&revision.plan().steps[..], [step] if step.kind == component.kind);
        let (delay, last) = took(|| world.redefine(revision, &mut |_| {}));
        is_sound &= world.entities().eq(numbers.iter().copied());
        world.roll_back(&mut last.expect("it is possible"), &mut |_| {}).expect("it is the last");
        checks.push(check);
        delays.push(delay);
    }
    is_sound &= world.entities().eq(numbers.iter().copied());
    Redefined { check: middle(&checks), delay: middle(&delays), is_sound }
}

/// Live entities beside which a change is measured.
fn populations(scale: Scale) -> [usize; 3] {
    scale.of([0, 10, 1_000], [0, 1_000, 100_000])
}

fn delays(times: &[f64]) -> String {
    times.iter().map(|nanos| shown(*nanos)).collect::<Vec<_>>().join(" / ")
}

pub(crate) fn table_7(scale: Scale, page: &mut Page) {
    let populations = populations(scale);
    for component in &COMPONENTS {
        for (operation, states) in OPERATIONS {
            let all = populations.map(|count| redefine(scale, component, states, count));
            let (check, delay) = (shown(all[0].check), all.each_ref().map(|one| one.delay));
            let name = format!("{} {operation}", component.name);
            page.row(
                name.clone(),
                format!("text to plan {check}; step delayed {}", delays(&delay)),
            );
            page.law(
                format!("{name} is one step of the plan, and no entity is lost"),
                all.iter().all(|one| one.is_sound),
            );
        }
    }
    let all = populations.map(|count| entity(scale, count));
    for (at, operation) in ["insert", "replace", "delete"].into_iter().enumerate() {
        let times = all.map(|times| times[at]);
        page.row(format!("ENTITY {operation}"), delays(&times));
    }
    let all = populations.map(|count| dependency(scale, count));
    for (at, operation) in ["add", "delete"].into_iter().enumerate() {
        page.row(format!("Dependency {operation}"), delays(&all.map(|times| times[at])));
    }
    page.row("live entities", populations.map(|count| count.to_string()).join(" / "));
    predicted(scale, page);
}

/// The thesis proposes to predict what an operation costs from the structure; here it is a redefinition.
fn predicted(scale: Scale, page: &mut Page) {
    let entities = *populations(scale).last().expect("there are some");
    let rates = Rates::measure(None, &mut || MonotonicClock.now());
    let before = "element e { property a : real[3]; }";
    for (name, items, bytes) in [
        ("another function", "function f() : integer = 1; element e { property a : real[3]; }", 0),
        ("a default", "element e { property a : real[3]; property b : real[3]; }", 24),
        ("a converter", "element e { property b : real[3]; converter b = 2 * a + a; }", 24),
    ] {
        let mut world = world(&universe_text(before));
        populate(&mut world, "e", entities);
        let sources = sources(&universe_text(items));
        let revision = Revision::check(&sources, world.universe()).expect("it is sound");
        let cost = world.cost(&revision);
        let times: Vec<f64> = (0..scale.rounds())
            .map(|_| {
                let revision = revision.clone();
                let (delay, last) = took(|| world.redefine(revision, &mut |_| {}));
                let mut last = last.expect("it is possible");
                world.roll_back(&mut last, &mut |_| {}).expect("it is the last");
                delay
            })
            .collect();
        let (predicted, measured) = (rates.time(cost).nanos() as f64, middle(&times));
        page.row(
            format!("{name}, {entities} entities: predicted and measured"),
            format!("{} bytes; {}", cost.bytes, delays(&[predicted, measured])),
        );
        page.law(
            format!("{name} writes {bytes} bytes of each row"),
            cost.bytes == bytes * entities as u64,
        );
        let ratio = predicted / measured;
        page.shape(
            format!("{name} is predicted within a factor of 2"),
            (0.5..2.0).contains(&ratio),
        );
    }
}

/// ns to construct an entity, to destruct it and construct another one, and to destruct it, beside others.
fn entity(scale: Scale, others: usize) -> [f64; 3] {
    let mut world = world(&universe_text(BASE));
    populate(&mut world, "body", others);
    let body = element(&world, "body");
    let row = default_row(&world, body);
    let last = |world: &World| world.entities().last().expect("one was constructed");
    let mut rounds: [Vec<f64>; 3] = Default::default();
    for _ in 0..scale.rounds() {
        rounds[0].push(took(|| construct(&mut world, body, &row, 1)).0);
        let entity = last(&world);
        rounds[1].push(
            took(|| {
                world.submit(Change::Destruct(entity)).expect("it exists");
                construct(&mut world, body, &row, 1);
            })
            .0,
        );
        let entity = last(&world);
        rounds[2].push(took(|| destruct(&mut world, &[entity])).0);
    }
    rounds.map(|times| middle(&times))
}

/// ns to register a monitor and to end it, with so many entities that it is told of.
fn dependency(scale: Scale, entities: usize) -> [f64; 2] {
    let mut world = world(&universe_text(BASE));
    populate(&mut world, "body", entities);
    let mut rounds: [Vec<f64>; 2] = Default::default();
    for _ in 0..scale.rounds() {
        rounds[0].push(
            took(|| {
                watch(&mut world, 0, "body", 0);
                world.apply(&mut |_| {});
            })
            .0,
        );
        rounds[1].push(
            took(|| {
                world.submit(Change::Unregister(MonitorId(0))).expect("it exists");
                world.apply(&mut |_| {});
            })
            .0,
        );
    }
    rounds.map(|times| middle(&times))
}

pub(crate) fn figure_2(scale: Scale, page: &mut Page) {
    for component in COMPONENTS.iter().filter(|one| matches!(one.kind, "element" | "property")) {
        let times = OPERATIONS.map(|(_, states)| redefine(scale, component, states, 0));
        let [insert, replace, delete] = times.each_ref().map(|one| one.check + one.delay);
        let name = component.kind;
        page.row(format!("{name}: insert, replace, delete"), delays(&[insert, replace, delete]));
        page.row(format!("{name}: replace / insert"), format!("{:.2}", replace / insert));
        page.law(format!("each change of the {name} is one step of the plan"), {
            times.iter().all(|one| one.is_sound)
        });
        let ratio = delete / insert;
        page.shape(
            format!("{name}: delete / insert within 0.5 and 2"),
            (0.5..2.0).contains(&ratio),
        );
    }
    let [insert, replace, delete] = entity(scale, 0);
    page.row("entity: insert, replace, delete", delays(&[insert, replace, delete]));
    page.row("entity: replace / insert", format!("{:.2}", replace / insert));
}

pub(crate) fn figure_3(scale: Scale, page: &mut Page) {
    let mut world = world(&universe_text(BASE));
    populate(&mut world, "body", 10);
    let mut told = 0;
    watch(&mut world, 0, "body", 0);
    world.apply(&mut |_| told += 1);
    page.law("a new monitor is told of each entity once", told == 10);
    world.submit(Change::Unregister(MonitorId(0))).expect("it exists");
    world.apply(&mut |_| told += 1);
    page.law(
        "the end of a monitor is told to no monitor",
        told == 10 && world.monitors().count() == 0,
    );
    let [add, remove] = dependency(scale, 0);
    page.row("add, then remove", format!("{}, {}", shown(add), shown(remove)));
    let many = populations(scale)[2];
    let [add_many, remove_many] = dependency(scale, many);
    page.row(format!("beside {many} entities"), delays(&[add_many, remove_many]));
}
