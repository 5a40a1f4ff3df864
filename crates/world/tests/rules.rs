//! Single rules of a step.

use hemiola_world::{
    Change, Draw, Effect, EntityId, Interest, MonitorCounts, MonitorId, Output, Phase, Refused,
    World, WorldError,
};
use hemiola_world_lang::Value;
use hemiola_world_lang::definition::{ElementId, FunctionId};

use crate::simulation::universe;

fn world(items: &str) -> World {
    World::new(universe(&format!("universe u {{ {items} }}"))).unwrap()
}

/// An interest in entities of the first element.
fn interest(properties: Vec<u32>, constraint: Option<(FunctionId, Vec<Value>)>) -> Interest {
    Interest { element: ElementId(0), properties, constraint, effect: Effect::None }
}

/// What a step tells, in short.
fn step(world: &mut World) -> Vec<String> {
    let mut out = Vec::new();
    world.step(1.0, &mut |_| {}, &mut |output| {
        out.push(match output {
            Output::Born { monitor, entity, .. } => format!("{}: {} born", monitor.0, entity.0),
            Output::Died { monitor, entity } => format!("{}: {} died", monitor.0, entity.0),
            Output::Rows { monitor, entities, .. } => {
                format!("{}: {:?}", monitor.0, entities.iter().map(|id| id.0).collect::<Vec<_>>())
            }
            Output::Births { .. } | Output::Deaths { .. } => unreachable!("no manager"),
            Output::Fault { entity, strikes, .. } => format!("{} has strike {strikes}", entity.0),
        });
    });
    out
}

#[test]
fn messages_of_the_thesis_are_counted_exactly() {
    // Section 6.5.4 of the thesis: with x managers, y monitored components and z entities, y·z states are sent by the
    // entities and x·y·z received by the managers, in each step.
    for (managers, components, entities) in
        [(3, 1, 10), (1, 2, 10), (2, 3, 7), (4, 2, 0), (0, 2, 5)]
    {
        let mut world = world(
            "element e { property a : real; property b : real[2]; property c : integer; update() { a += 1; } }",
        );
        for _ in 0..entities {
            let pair = Value::Items(vec![Value::Double(0.0), Value::Double(0.0)]);
            let row = Value::Row(vec![Value::Double(0.0), pair, Value::Integer(0)]);
            world.submit(Change::Construct(ElementId(0), row)).unwrap();
        }
        for manager in 0..managers {
            for component in 0..components {
                let id = MonitorId(manager * components + component);
                let properties = vec![component];
                let interest = interest(properties, None);
                world.submit(Change::Register(id, interest)).unwrap();
            }
        }
        world.apply(&mut |_| {});
        let report = world.step(1.0, &mut |_| {}, &mut |_| {});
        let [x, y, z] = [u64::from(managers), u64::from(components), entities];
        let watched = if x == 0 { 0 } else { y };
        assert_eq!((report.collected, report.sent), (watched * z, x * y * z));
    }
}

#[test]
fn a_row_is_sent_again_when_it_moved_far_enough_since_it_was_sent_last() {
    let mut world = world(
        "element e {
           property x : real;
           update() { x += 1; }
           constraint moved(far : real) = x < 10 and x - last_sent.x >= far;
         }
         entity one : e;",
    );
    let constraint = Some((world.universe().elements[0].constraints[0], vec![Value::Double(3.0)]));
    let interest = interest(vec![0], constraint);
    world.submit(Change::Register(MonitorId(0), interest)).unwrap();
    world.apply(&mut |_| {});
    let sent: Vec<bool> = (0..12).map(|_| !step(&mut world).is_empty()).collect();
    let steps: Vec<usize> = (1..=12).filter(|step| sent[step - 1]).collect();
    assert_eq!(steps, [3, 6, 9]);
    // In the steps 10 to 12, x is not below 10.
    let counts = MonitorCounts { sent: 3, outside: 3, unchanged: 6, faults: 0, held: 0 };
    assert_eq!(world.counts(MonitorId(0)), Some(counts));
}

#[test]
fn a_faulty_entity_keeps_its_row_and_gets_a_strike_in_each_step() {
    let mut world = world(
        "element e { property n : integer; property m : integer; update() { m += 1; n = div(1, n); } }
         entity bad : e;
         entity good : e { n = 1; }",
    );
    for strikes in 1..4 {
        assert_eq!(step(&mut world), [format!("1 has strike {strikes}")]);
    }
    let row = |n, m| Some(Value::Row(vec![Value::Integer(n), Value::Integer(m)]));
    assert_eq!(world.row(EntityId(1)), row(0, 0));
    assert_eq!(world.row(EntityId(2)), row(1, 3));
}

#[test]
fn births_and_deaths_are_told_and_numbers_are_not_used_again() {
    let mut world =
        world("element e { property n : integer; } entity a : e; entity b : e { n = 2; }");
    let interest = interest(vec![0], None);
    world.submit(Change::Register(MonitorId(7), interest)).unwrap();
    assert_eq!(step(&mut world), ["7: 1 born", "7: 2 born"]);
    world.submit(Change::Destruct(EntityId(1))).unwrap();
    world.submit(Change::Construct(ElementId(0), Value::Row(vec![Value::Integer(5)]))).unwrap();
    assert_eq!(step(&mut world), ["7: [1, 2]", "7: 1 died", "7: 3 born"]);
    assert_eq!(world.entities().collect::<Vec<_>>(), [EntityId(2), EntityId(3)]);
    assert_eq!(world.row(EntityId(3)), Some(Value::Row(vec![Value::Integer(5)])));
    assert_eq!(world.row(EntityId(1)), None);
}

#[test]
fn phases_end_in_their_order() {
    let mut phases = Vec::new();
    world("element e { }").step(1.0, &mut |phase| phases.push(phase), &mut |_| {});
    assert_eq!(phases, Phase::ALL);
}

#[test]
fn impossible_changes_are_refused_with_the_reason() {
    let mut world = world(
        "element e { property n : integer; constraint k(far : real) = far > 1; } entity a : e;",
    );
    let mut refused = |change: Change| world.submit(change).unwrap_err();
    let row = |value| Value::Row(vec![value]);
    let wrong = Change::Construct(ElementId(0), row(Value::Double(1.0)));
    assert_eq!(refused(wrong), Refused::WrongRow("e".into()));
    let nowhere = Change::Construct(ElementId(3), row(Value::Integer(1)));
    assert_eq!(refused(nowhere), Refused::NoSuchElement(3));
    assert_eq!(refused(Change::Destruct(EntityId(9))), Refused::NoSuchEntity(9));
    assert_eq!(refused(Change::Unregister(MonitorId(1))), Refused::NoSuchMonitor(1));
    for properties in [vec![], vec![1]] {
        let change = Change::Register(MonitorId(1), interest(properties, None));
        assert_eq!(refused(change), Refused::WrongProperties("e".into()));
    }
    let id = universe(
        "universe u { element e { property n : integer; constraint k(far : real) = far > 1; } }",
    )
    .elements[0]
        .constraints[0];
    let constraint = Some((id, vec![Value::Integer(1)]));
    let change = Change::Register(MonitorId(1), interest(vec![0], constraint));
    assert_eq!(refused(change), Refused::WrongConstraint("e".into()));
    let twice = || Change::Register(MonitorId(1), interest(vec![0], None));
    world.submit(twice()).unwrap();
    assert_eq!(world.submit(twice()), Err(Refused::MonitorExists(1)));
}

#[test]
fn an_update_with_other_parameters_is_named() {
    let error =
        World::new(universe("universe u { element e { update(x : integer) { } } }")).unwrap_err();
    assert_eq!(error, WorldError::UpdateParameters("e.update".into()));
    assert!(error.to_string().contains("the length of the step"), "{error}");
}

/// A world with one flower, `n` of which counts steps, and the monitors 0 (a birth) and 1 (a death).
fn garden(draw: Draw) -> World {
    let mut world = world(
        "element flower {
           property n : integer;
           property x : real = 10;
           update() { n += 1; }
           constraint ripe(every : integer) = n >= last_sent.n + every;
           constraint old(than : integer) = n > than;
         }
         entity first : flower;",
    );
    let constraints = world.universe().elements[0].constraints.clone();
    let rules = [
        (vec![1], constraints[0], 3, Effect::Birth(vec![draw])),
        (vec![], constraints[1], 7, Effect::Death),
    ];
    for (id, (properties, constraint, limit, effect)) in (0..).map(MonitorId).zip(rules) {
        let constraint = Some((constraint, vec![Value::Integer(limit)]));
        let interest = Interest { effect, ..interest(properties, constraint) };
        world.submit(Change::Register(id, interest)).unwrap();
    }
    world.apply(&mut |_| {});
    world
}

fn draw(low: f64, high: f64, is_added: bool) -> Draw {
    Draw { low: Value::Double(low), high: Value::Double(high), is_added }
}

#[test]
fn entities_bear_and_die_in_the_step_in_which_their_constraint_holds() {
    let mut world = garden(draw(1.5, 1.5, true));
    let told: Vec<String> = (0..8).flat_map(|_| step(&mut world)).collect();
    // The child has the count of its parent, so both bear again three steps later, and die together.
    let births = ["0: [1]", "0: 2 born", "1: 2 born"];
    let again = ["0: [1, 2]", "0: 3 born", "1: 3 born", "0: 4 born", "1: 4 born"];
    let deaths = ["1: [1, 2, 3, 4]"];
    assert_eq!(told[..3], births);
    assert_eq!(told[3..8], again);
    assert_eq!(told[8..9], deaths);
    assert_eq!((told.len(), world.len()), (9 + 2 * 4, 0));
}

#[test]
fn a_newborn_has_the_row_of_its_parent_apart_from_what_is_drawn() {
    let row = |world: &World, id| match world.row(EntityId(id)) {
        Some(Value::Row(values)) => values,
        other => panic!("{other:?}"),
    };
    let mut world = garden(draw(1.5, 1.5, true));
    (0..3).for_each(|_| drop(step(&mut world)));
    assert_eq!(row(&world, 2), [Value::Integer(3), Value::Double(11.5)]);
    let drawn = |seed| {
        let mut world = garden(draw(-1.0, 1.0, false)).with_births(seed, 10);
        (0..3).for_each(|_| drop(step(&mut world)));
        let Value::Double(x) = row(&world, 2)[1] else { panic!("a real") };
        assert!((-1.0..1.0).contains(&x));
        x
    };
    assert_eq!(drawn(1).to_bits(), drawn(1).to_bits());
    assert_ne!(drawn(1).to_bits(), drawn(2).to_bits());
    let mut full = garden(draw(0.0, 1.0, true)).with_births(0, 1);
    let reports: Vec<_> = (0..3).map(|_| full.step(1.0, &mut |_| {}, &mut |_| {})).collect();
    assert_eq!(reports.iter().map(|one| (one.births, one.unborn)).max(), Some((0, 1)));
}

#[test]
fn effects_that_are_not_possible_are_refused() {
    let mut world =
        world("element e { property n : integer; property x : real; constraint k() = n > 1; }");
    let k = Some((world.universe().elements[0].constraints[0], Vec::new()));
    let mut refused = |properties, constraint, effect| {
        let interest = Interest { effect, ..interest(properties, constraint) };
        let change = Change::Register(MonitorId(0), interest);
        assert_eq!(world.submit(change), Err(Refused::WrongEffect("e".into())));
    };
    refused(vec![], None, Effect::Death);
    refused(vec![1], None, Effect::Birth(vec![draw(0.0, 1.0, false)]));
    refused(vec![1], k.clone(), Effect::Birth(Vec::new()));
    refused(vec![0], k.clone(), Effect::Birth(vec![draw(0.0, 1.0, false)]));
    let whole = Draw { low: Value::Integer(0), high: Value::Integer(1), is_added: true };
    refused(vec![0], k, Effect::Birth(vec![whole]));
}

#[test]
fn a_row_in_a_crowd_sees_the_first_others_by_id() {
    let mut world = world(
        "element e {
           property p : real[1] indexed by 1;
           property n : real;
           property sum : real;
           update() {
             var all : real = 0;
             for each other in e within 2 at most 3 { all += other.n; }
             sum = all;
           }
         }",
    );
    for n in 0..500 {
        let place = Value::Items(vec![Value::Double(f64::from(n * 37 % 500) / 500.0)]);
        let row = vec![place, Value::Double(n.into()), Value::Double(0.0)];
        world.submit(Change::Construct(ElementId(0), Value::Row(row))).unwrap();
    }
    world.apply(&mut |_| {});
    world.step(1.0, &mut |_| {}, &mut |_| {});
    let sums = world.entities().map(|entity| match world.row(entity) {
        Some(Value::Row(row)) => row[2].clone(),
        other => panic!("{other:?}"),
    });
    let expected = [6.0, 5.0, 4.0].into_iter().chain(std::iter::repeat_n(3.0, 497));
    assert!(sums.eq(expected.map(Value::Double)));
}
