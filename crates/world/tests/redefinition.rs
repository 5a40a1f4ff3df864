//! Worlds that are redefined and brought back at random, held against a naive one after each step.

use std::sync::Arc;

use hemiola_units::Random;
use hemiola_world::{
    Change, Effect, EntityId, Event, History, Interest, MonitorCounts, MonitorId, Order, Output,
    RedefineError, Return, Revision, RevisionError, World,
};
use hemiola_world_code::{Engine, Instance, Module};
use hemiola_world_lang::Sources;
use hemiola_world_lang::definition::{ElementId, Type, Universe, Value};
use hemiola_world_lang::evaluate::{Body, convert, zero};

use crate::naive::{Naive, Names, News};
use crate::simulation::{BIRTHS_UP_TO, universe, with_effect};

/// An element with the components that all definitions share: neighbours are read as they were before the step, and a
/// row has a fault in each step from `n` = 7 on.
fn element(head: &str, inner: &str) -> String {
    let name = head.split(' ').next().unwrap();
    format!(
        "element {head} {{ {inner}
           update(dt : real<s>) {{
             n += 1 + 0 * div(1, n - 7);
             for each other in {name} at most 2 {{ p += 0.25 * other.p; }}
           }}
           constraint moved(far : real) = p > last_sent.p + far;
           constraint odd() = mod(n, 2) == 1;
         }}"
    )
}

/// The definitions. Some lead to others by themselves, some by converters, some not at all; some converters have
/// faults.
pub(crate) fn texts() -> Vec<String> {
    let thing = |inner: &str| element("thing", inner);
    let definition = |inner: &str| format!("universe u {{ {inner} }}");
    vec![
        definition(&thing("property p : real = 1; property n : integer; property q : real32[2];")),
        // Another order, wider types, one property more.
        definition(&thing(
            "property q : real[2]; property n : integer; property extra : boolean = true; property p : real;",
        )),
        // Renamed, in front of another element, so that elements have other numbers.
        definition(&format!(
            "element another {{ property n : integer; update() {{ n += 2; }} }}
             {}",
            thing("property p : real; property n : integer; property r : real[2] was q;")
        )),
        // Converters there and back; the first has a fault where n is 3.
        definition(&thing(
            "property p : real; property n : integer; property share : integer; property q : real32[2];
             converter share = div(12, n - 3); converter q = [real32(p), 1]; converter back q = [real32(share), 2];",
        )),
        // The element has another name, and a derived one is new.
        definition(&format!(
            "{} element special : item {{ property more : real = 7; }}",
            element(
                "item was thing",
                "property p : real; property n : integer; property l : integer[..2];"
            )
        )),
        // Back from the other name.
        definition(&element(
            "thing was item",
            "property p : real; property n : integer; property l : integer[..4];",
        )),
        // A type that needs a converter.
        definition(&thing("property p : real; property n : integer; property q : integer[2];")),
        // A rename leaves its name free for a new property, which the update writes.
        definition(&thing(
            "property former : real was p; property n : integer; property p : real = 4; property q : real32[2];",
        )),
        // The element is not there.
        definition("element other { property x : real; }"),
    ]
}

fn revision(text: &str, world: &World) -> Result<Revision, RevisionError> {
    Revision::check(&Sources::of("u.uml", text).unwrap(), world.universe())
}

/// A value as one of another type, or nothing if something would be lost.
fn widened(value: &Value, from: &Type, to: &Type) -> Option<Value> {
    use hemiola_world_lang::definition::Width::{Double, Single};
    match (from, to, value) {
        (Type::Array(from, n), Type::Array(to, m), Value::Items(items)) if n == m => items
            .iter()
            .map(|item| widened(item, from, to))
            .collect::<Option<_>>()
            .map(Value::Items),
        (Type::List(from, n), Type::List(to, m), Value::Items(items)) if n <= m => items
            .iter()
            .map(|item| widened(item, from, to))
            .collect::<Option<_>>()
            .map(Value::Items),
        (Type::Integer, Type::Real(Double, _), Value::Integer(x)) => {
            Some(Value::Double(f64::from(*x)))
        }
        (Type::Real(Single, _), Type::Real(Double, _), Value::Single(x)) => {
            Some(Value::Double(f64::from(*x)))
        }
        _ => (from == to).then(|| value.clone()),
    }
}

/// The row under another definition.
fn row_of(names: &Names<'_>, code: &Universe, body: &Body) -> Option<(ElementId, Value)> {
    let from = body.element;
    let to = names.element(from)?;
    let (old, new) = (&names.from.elements[from.index()], &names.to.elements[to.index()]);
    let Value::Row(values) = &body.row else { panic!("a row") };
    let value = |at: usize| {
        let property = &new.properties[at];
        if let Some(converter) = names.converter(from, to, at) {
            return convert(code, converter, &body.row).ok();
        }
        match names.property(from, to, at) {
            Some(source) => widened(&values[source], &old.properties[source].ty, &property.ty),
            None => (names.is_forward && property.was.is_none()).then(|| property.default.clone()),
        }
    };
    Some((to, Value::Row((0..new.properties.len()).map(value).collect::<Option<_>>()?)))
}

fn compare(world: &World, naive: &Naive, place: &str) {
    assert_eq!(world.len(), naive.bodies.len(), "{place}");
    for body in &naive.bodies {
        let id = EntityId(body.id);
        assert_eq!(world.element(id), Some(body.element), "{place}");
        let row = world.row(id).unwrap();
        assert!(row.same_bits(&body.row), "{place}: {row:?} {:?}", body.row);
    }
    let monitors = |counts: &dyn Fn(MonitorId) -> Option<MonitorCounts>| {
        let ids = (0..3).map(MonitorId);
        counted(&ids.filter_map(|id| Some((id, counts(id)?))).collect::<Vec<_>>())
    };
    assert_eq!(monitors(&|id| world.counts(id)), monitors(&|id| naive.counts(id)), "{place}");
}

/// Rows that were sent and that were not; the naive world does not know two reasons for the second.
fn counted(monitors: &[(MonitorId, MonitorCounts)]) -> Vec<(MonitorId, u64, u64)> {
    let counts = monitors.iter();
    counts.map(|(id, counts)| (*id, counts.sent, counts.outside + counts.unchanged)).collect()
}

pub(crate) fn random_row(universe: &Universe, element: ElementId, random: &mut Random) -> Value {
    let properties = &universe.elements[element.index()].properties;
    let value = |property: &hemiola_world_lang::definition::Property| match property.ty {
        Type::Integer => Value::Integer(random.below(5) as i32),
        Type::Real(hemiola_world_lang::definition::Width::Double, _) => {
            Value::Double(random.between(-2.0, 2.0))
        }
        _ => zero(universe, &property.ty),
    };
    Value::Row(properties.iter().map(value).collect())
}

/// Counts of what happened: redefined, refused for a row, for a property, for entities, returned at once, converted
/// back, monitors ended by that, return refused.
type Happened = [u32; 8];

fn simulate(seed: u64, happened: &mut Happened) {
    let texts = texts();
    let mut random = Random::from_seed(seed);
    let first = universe(&texts[random.below(3) as usize]);
    let mut world = World::new(first.clone()).unwrap().with_births(seed, BIRTHS_UP_TO);
    let mut naive = Naive::new(&first);
    naive.births_up_to = BIRTHS_UP_TO;
    let mut last: Option<(hemiola_world::Redefinition, Arc<Universe>, Naive)> = None;
    for step in 0..40 {
        let place = format!("seed {seed}, step {step}");
        let universe = world.universe().clone();
        for _ in 0..random.below(3) {
            let element = ElementId(random.below(universe.elements.len() as u64) as u32);
            let change = match random.below(3) {
                0 if !world.is_empty() => Change::Destruct(
                    world.entities().nth(random.below(world.len() as u64) as usize).unwrap(),
                ),
                _ => Change::Construct(element, random_row(&universe, element, &mut random)),
            };
            world.submit(change.clone()).unwrap();
            naive.submit(change);
        }
        let id = MonitorId(random.below(3) as u32);
        let change = if naive.counts(id).is_some() {
            Change::Unregister(id)
        } else {
            let element = ElementId(random.below(universe.elements.len() as u64) as u32);
            let data = &universe.elements[element.index()];
            let property = random.below(data.properties.len() as u64) as u32;
            let constraint = data.constraints.first().filter(|_| random.below(2) == 0);
            let constraint = constraint.map(|id| (*id, vec![Value::Double(0.5)]));
            let properties = vec![property];
            let interest = Interest { element, properties, constraint, effect: Effect::None };
            Change::Register(id, with_effect(interest, &universe, &mut random))
        };
        if random.below(3) == 0 && world.submit(change.clone()).is_ok() {
            naive.submit(change);
        }
        if random.below(2) == 0 {
            let mut found = News::default();
            world.step(0.5, &mut |_| {}, &mut |output| found.note(output));
            assert_eq!(found, naive.step(0.5), "{place}");
        }
        match random.below(4) {
            0 => redefine(&texts, &mut world, &mut naive, &mut last, &mut random, &place, happened),
            1 => roll_back(&mut world, &mut naive, &mut last, &place, happened),
            _ => {}
        }
        world.apply(&mut |_| {});
        naive.apply(&mut News::default());
        compare(&world, &naive, &place);
    }
}

fn redefine(
    texts: &[String],
    world: &mut World,
    naive: &mut Naive,
    last: &mut Option<(hemiola_world::Redefinition, Arc<Universe>, Naive)>,
    random: &mut Random,
    place: &str,
    happened: &mut Happened,
) {
    let text = &texts[random.below(texts.len() as u64) as usize];
    let before = world.universe().clone();
    let Ok(revision) = revision(text, world) else { return };
    let after = Arc::clone(revision.after());
    naive.apply(&mut News::default());
    world.apply(&mut |_| {});
    let would = world.dry_run(&revision);
    compare(world, naive, place);
    let names = Names { from: &before, to: &after, is_forward: true };
    let rows: Option<Vec<_>> =
        naive.bodies.iter().map(|body| row_of(&names, &after, body)).collect();
    let mut told = News::default();
    match world.redefine(revision, &mut |output| told.note(output)) {
        Ok(redefinition) => {
            assert_eq!(would.as_ref(), Ok(&redefinition.ended), "{place}");
            let former = naive.clone();
            let rows = rows.expect("every row has a value");
            assert_eq!(told, naive.redefine(&names, rows), "{place}");
            assert_eq!(counted(&redefinition.ended), counted(&naive.ended), "{place}");
            *last = Some((redefinition, before, former));
            happened[0] += 1;
        }
        Err(error) => {
            assert_eq!(would.as_ref(), Err(&error), "{place}");
            happened[is_refused(&error, rows.is_none(), place)] += 1;
            assert_eq!(told, News::default(), "{place}");
            assert!(Arc::ptr_eq(world.universe(), &before), "{place}");
        }
    }
}

/// The reason for a refusal, which the naive world must have too. Returns its number.
fn is_refused(error: &RedefineError, row_has_no_value: bool, place: &str) -> usize {
    let (at, is_right) = match error {
        RedefineError::NoValue { .. } => (1, row_has_no_value),
        // A property can be missing although no entity needs it.
        RedefineError::Missing(_) => (2, true),
        RedefineError::Entities { .. } => (3, row_has_no_value),
        error => panic!("{place}: {error}"),
    };
    assert!(is_right, "{place}: {error:?}");
    at
}

fn roll_back(
    world: &mut World,
    naive: &mut Naive,
    last: &mut Option<(hemiola_world::Redefinition, Arc<Universe>, Naive)>,
    place: &str,
    happened: &mut Happened,
) {
    let Some((redefinition, before, former)) = last else { return };
    naive.apply(&mut News::default());
    world.apply(&mut |_| {});
    let after = world.universe().clone();
    let names = Names { from: &after, to: before, is_forward: false };
    let rows: Option<Vec<_>> =
        naive.bodies.iter().map(|body| row_of(&names, &after, body)).collect();
    let mut told = News::default();
    match world.roll_back(redefinition, &mut |output| told.note(output)) {
        Ok(Return::Unchanged) => {
            naive.go_back(former);
            assert_eq!(told, naive.send_all(), "{place}");
            happened[4] += 1;
        }
        Ok(Return::Converted(ended)) => {
            let rows = rows.expect("every row has a value");
            assert_eq!(told, naive.redefine(&names, rows), "{place}");
            assert_eq!(counted(&ended), counted(&naive.ended), "{place}");
            happened[5] += 1;
            happened[6] += u32::from(!ended.is_empty());
        }
        Err(error) => {
            happened[7] += 1;
            is_refused(&error, rows.is_none(), place);
            assert_eq!(told, News::default(), "{place}");
            assert_eq!(*world.universe(), after, "{place}");
            return compare(world, naive, place);
        }
    }
    assert!(matches!(world.roll_back(redefinition, &mut |_| {}), Err(RedefineError::Superseded)));
    *last = None;
}

#[test]
fn random_redefinitions_are_those_of_the_naive_world() {
    let mut happened = Happened::default();
    for seed in 0..600 {
        simulate(seed, &mut happened);
    }
    assert!(happened.iter().all(|count| *count > 5), "{happened:?}");
}

/// Each definition counts steps in `n`; they differ in everything else.
#[test]
fn a_hundred_thousand_entities_survive_five_redefinitions_while_each_step_is_made() {
    const ENTITIES: i32 = 100_000;
    let texts = [
        "element e { property n : integer; update() { n += 1; } }",
        "element e { property n : integer; property x : real; update() { x += 0.5; n += 1; } }",
        "element first { property n : integer; }
         element f was e { property x : real; property n : integer; update() { n += 1; } }",
        "element f { property m : real was n; converter back n = integer(m); update() { m += 1; } }",
        "element f { property n : integer; converter n = integer(m); update() { n += 1; } }",
        "element e was f { property n : integer; update() { n = 1 + n; } }",
    ];
    let mut texts = texts.iter().map(|text| format!("universe u {{ {text} }}"));
    let mut world = World::new(universe(&texts.next().unwrap())).unwrap();
    for n in 0..ENTITIES {
        let row = Value::Row(vec![Value::Integer(n)]);
        world.submit(Change::Construct(ElementId(0), row)).unwrap();
    }
    for step in 1..=6 {
        let report = world.step(0.1, &mut |_| {}, &mut |_| {});
        assert_eq!((report.step, report.entities), (step, ENTITIES as u64));
        if let Some(text) = texts.next() {
            let revision = revision(&text, &world).unwrap();
            world.redefine(revision, &mut |_| {}).unwrap();
        }
    }
    // The entities were constructed after the update of the first step.
    let found: Vec<(u64, Value)> =
        world.entities().map(|id| (id.0, world.row(id).unwrap())).collect();
    let row = |n: i32| Value::Row(vec![Value::Integer(n + 5)]);
    let expected: Vec<(u64, Value)> = (1..).zip((0..ENTITIES).map(row)).collect();
    assert!(found == expected);
}

#[test]
fn rows_of_a_derived_element_are_converted_by_its_base() {
    let after = "universe u {
        element e { property y : real; converter y = 2 * x; converter back x = y / 2; }
        element f : e { property z : integer; }
    }";
    let before = "universe u {
        element e { property x : real = 3; }
        element f : e { property z : integer = 5; }
        entity base : e;
        entity derived : f;
    }";
    let mut world = World::new(universe(before)).unwrap();
    let rows = |x| [vec![Value::Double(x)], vec![Value::Double(x), Value::Integer(5)]];
    let are = |world: &World, x: f64| {
        let found: Vec<Value> = world.entities().filter_map(|id| world.row(id)).collect();
        assert_eq!(found, rows(x).map(Value::Row));
    };
    are(&world, 3.0);
    let revision = revision(after, &world).unwrap();
    let mut redefinition = world.redefine(revision, &mut |_| {}).unwrap();
    are(&world, 6.0);
    world.step(0.1, &mut |_| {}, &mut |_| {});
    assert_eq!(world.roll_back(&mut redefinition, &mut |_| {}), Ok(Return::Converted(Vec::new())));
    are(&world, 3.0);
}

/// An engine whose instances can be counted; none of them computes anything.
#[derive(Default)]
struct Counted(Arc<()>);

#[derive(Debug)]
struct Idle {
    _counted: Arc<()>,
}

impl Counted {
    fn instances(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl Engine for Counted {
    fn instantiate(&mut self, _: &Module) -> Result<Box<dyn Instance>, String> {
        Ok(Box::new(Idle { _counted: Arc::clone(&self.0) }))
    }
}

impl Instance for Idle {
    fn window(&self) -> &[u8] {
        &[]
    }

    fn window_mut(&mut self) -> &mut [u8] {
        &mut []
    }

    fn call(&mut self, _: usize, _: i32) -> Option<i32> {
        None
    }
}

/// A definition with an update of its own.
fn counting(by: u32) -> String {
    format!("universe u {{ element e {{ property n : integer; update() {{ n += {by}; }} }} }}")
}

#[test]
fn compiled_code_goes_with_the_last_definition_that_can_come_back() {
    let mut engine = Counted::default();
    let mut world = World::new(universe(&counting(1))).unwrap();
    assert_eq!(world.compile(&mut engine), []);
    assert_eq!(engine.instances(), 1);
    let to = |world: &mut World, by| {
        let revision = revision(&counting(by), world).unwrap();
        world.redefine(revision, &mut |_| {}).unwrap()
    };
    // The way back keeps the code of the definition before, but not that of the one before it.
    to(&mut world, 2);
    assert_eq!(engine.instances(), 1);
    let mut last = to(&mut world, 3);
    assert_eq!(engine.instances(), 0);
    assert_eq!(world.compile(&mut engine), []);
    assert_eq!(engine.instances(), 1);
    world.roll_back(&mut last, &mut |_| {}).unwrap();
    assert_eq!(engine.instances(), 0);
}

/// An engine that notes the names of the functions that it compiles.
#[derive(Default)]
struct Noted(Counted, usize);

impl Engine for Noted {
    fn instantiate(&mut self, module: &Module) -> Result<Box<dyn Instance>, String> {
        self.1 += 1;
        self.0.instantiate(module)
    }
}

#[test]
fn a_redefinition_compiles_only_its_new_functions() {
    let text = |factor: u32, word: &str| {
        format!(
            "universe u {{
              element stays {{ property n : integer; update() {{ n += 1; }} }}
              element goes {{ property n : integer; update() {{ n += {factor}; }} }}
              element says {{ property s : string; update() {{ s = \"{word}\"; }} }}
            }}"
        )
    };
    let mut engine = Noted::default();
    let mut world = World::new(universe(&text(2, "old"))).unwrap();
    assert!(world.interpreted().is_empty() && !world.is_compiled(), "nothing is to be compiled");
    assert_eq!((world.compile(&mut engine), engine.1), (Vec::new(), 3));
    let names = |world: &World| world.interpreted().join("; ");
    assert_eq!(names(&world), "");
    // Beside the world, everything is known but the numbers of texts.
    let revision = revision(&text(3, "new"), &world).unwrap();
    let code = revision.uncompiled(1).compile(&mut engine);
    assert_eq!(engine.1, 4);
    let order = |code| Order::Redefine {
        revision: Box::new(revision.clone()),
        sources: Arc::default(),
        plan: Vec::new(),
        code: Some(code),
    };
    let mut history = History::default();
    let outcome = history.carry_out(&mut world, order(code), &mut |_| {});
    let Event::Changed(Ok(changed)) = outcome.event else { panic!("{outcome:?}") };
    assert_eq!(names(&world), "`says.update` is not compiled yet");
    world.install(changed.uncompiled.compile(&mut engine));
    assert_eq!((names(&world), engine.1), (String::new(), 5));
    // The code of the definition before is still there.
    let outcome = history.carry_out(&mut world, Order::RollBack, &mut |_| {});
    let Event::Changed(Ok(changed)) = outcome.event else { panic!("{outcome:?}") };
    assert!(changed.uncompiled.is_empty() && names(&world).is_empty());
    assert_eq!(engine.0.instances(), 5, "the step waits for the end of no instance");
    drop(outcome.spent);
    assert_eq!(engine.0.instances(), 3);
}

#[test]
fn a_monitor_is_sent_all_rows_only_if_what_it_knows_changed() {
    let text = |property: &str| {
        format!(
            "universe u {{
              element e {{
                {property} property x : real;
                constraint far() = abs(x - last_sent.x) > 1;
              }}
              entity one : e {{ x = 3; }}
            }}"
        )
    };
    let mut world = World::new(universe(&text("property n : integer;"))).unwrap();
    let constraint = Some((world.universe().elements[0].constraints[0], Vec::new()));
    let interest = |properties: &[u32]| Interest {
        element: ElementId(0),
        properties: properties.to_vec(),
        constraint: constraint.clone(),
        effect: Effect::None,
    };
    for (id, properties) in [(0, &[0][..]), (1, &[1])] {
        world.submit(Change::Register(MonitorId(id), interest(properties))).unwrap();
    }
    world.apply(&mut |_| {});
    let mut redefine = |text: &str| {
        let mut told = Vec::new();
        let revision = revision(text, &world).unwrap();
        let redefined = world.redefine(revision, &mut |output| match output {
            Output::Rows { monitor, .. } => told.push(monitor.0),
            other => panic!("{other:?}"),
        });
        let ended: Vec<u32> = redefined.unwrap().ended.iter().map(|(id, _)| id.0).collect();
        world.step(0.1, &mut |_| {}, &mut |output| panic!("{output:?}"));
        (told, ended)
    };
    // Another place of a property is the same property.
    let more = "property q : string; property n : integer;";
    assert_eq!(redefine(&text(more)), (Vec::new(), Vec::new()));
    // The first monitor compares with values that change, and the second one would be sent them.
    assert_eq!(redefine(&text("property n : integer; converter x = 7;")), (vec![0], vec![1]));
}

#[test]
fn code_for_a_redefinition_that_is_refused_goes() {
    let mut engine = Counted::default();
    let text = "universe u { element e { property n : integer; } entity one : e; }";
    let mut world = World::new(universe(text)).unwrap();
    let text = "universe u { element e { property n : integer; property q : integer; \
                converter q = div(1, n); update() { n += q; } } }";
    let revision = Box::new(revision(text, &world).unwrap());
    let code = Some(revision.uncompiled(1).compile(&mut engine));
    let (sources, plan) = (Arc::default(), Vec::new());
    let order = Order::Redefine { revision, sources, plan, code };
    assert_eq!(engine.instances(), 1);
    let outcome = History::default().carry_out(&mut world, order, &mut |_| {});
    assert!(matches!(outcome.event, Event::Changed(Err(_))), "{outcome:?}");
    assert_eq!(engine.instances(), 1, "the step waits for the end of no instance");
    drop(outcome);
    assert_eq!(engine.instances(), 0);
}

#[test]
fn a_revision_of_another_definition_is_refused() {
    let text = |names: &str| format!("universe u {{ element e {{ {names} }} entity one : e; }}");
    let mut world = World::new(universe(&text("property n : integer = 1;"))).unwrap();
    // Its converter reads the property with the number 1 of the other world, which this one does not have.
    let other = text("property m : real; property n : real = 5;");
    let other = World::new(universe(&other)).unwrap();
    let revision =
        revision(&text("property share : real; converter share = n / 2;"), &other).unwrap();
    assert_eq!(world.dry_run(&revision), Err(RedefineError::Outdated));
    let refused = world.redefine(revision, &mut |_| {}).unwrap_err();
    assert_eq!(refused, RedefineError::Outdated);
    assert_eq!(world.row(EntityId(1)), Some(Value::Row(vec![Value::Integer(1)])));
}

#[test]
fn a_revision_is_outdated_once_the_world_has_another_definition() {
    let mut world = World::new(universe(&counting(1))).unwrap();
    let [first, second] = [2, 3].map(|by| revision(&counting(by), &world).unwrap());
    let mut last = world.redefine(first, &mut |_| {}).unwrap();
    let refused = world.redefine(second.clone(), &mut |_| {}).unwrap_err();
    assert_eq!(refused, RedefineError::Outdated);
    // After a return, the definition is the one that the texts were checked with.
    world.roll_back(&mut last, &mut |_| {}).unwrap();
    world.redefine(second, &mut |_| {}).unwrap();
}
