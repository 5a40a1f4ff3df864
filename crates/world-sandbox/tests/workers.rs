//! A step gives the same rows, outputs, counts and faults whatever the number of workers is, bit by bit and in the same
//! order, in both tiers.

use hemiola_rt::sys::team::Team;
use hemiola_units::Random;
use hemiola_world::{
    Change, Draw, Effect, Interest, MonitorCounts, MonitorId, Output, Workers, World,
};
use hemiola_world_lang::definition::{ElementId, Universe, Value};
use hemiola_world_lang::{Sources, check};
use hemiola_world_sandbox::ColumnEngine;

/// Rows that look at each other within a radius and at all, that have faults, and that are derived; constraints of one
/// part and of two, and with faults in both.
const WORLD: &str = "universe u {
  element thing {
    property p : real[2] indexed by 2;
    property n : integer;
    property seen : boolean;
    update(dt : real<s>) {
      var pull : real[2] = [0, 0];
      var near = 0;
      for each other in thing within 1.5 at most 6 {
        pull += other.p - p;
        near += if other.seen { 2 } else { 1 };
      }
      for each other in lamp at most 3 { n += mod(other.n, 5); }
      seen = near > 3;
      p += 0.1 * pull * (dt / 1<s>);
      n += near * 60000000;
    }
    constraint moved(low : real[2], high : real[2], far : real) =
      inside(p, low, high) and distance(p, last_sent.p) > far;
    constraint other(than : integer) = mod(n, than - 1) == 1;
    constraint grown(than : integer) = n > 0 and div(n, mod(last_sent.n, than)) > 2;
    constraint crowded() = seen and p[0] < 20;
  }
  element lamp : thing {
    property light : real32 = 1;
    update() { light = light / 2; n = div(60, n - 7); }
  }
}";

/// Blocks have 1,024 rows: several of them, and the last one is not full.
const THINGS: i32 = 5_300;
const LAMPS: i32 = 1_500;
/// More than are handled together.
const MONITORS: u32 = 45;
const STEPS: u32 = 4;

fn universe() -> Universe {
    let sources = Sources::of("u.uml", WORLD).unwrap();
    check(&sources, None).unwrap().universes.remove(0)
}

fn pair(random: &mut Random, low: f64, high: f64) -> Value {
    Value::Items([(); 2].map(|()| Value::Double(random.between(low, high))).to_vec())
}

/// A world with entities and monitors drawn with the seed.
fn world(seed: u64, workers: Workers, is_compiled: bool) -> World {
    let universe = universe();
    let constraints = universe.elements[0].constraints.clone();
    let mut world = World::new(universe).unwrap().with_births(seed, 9_000);
    world.employ(workers);
    if let (true, Ok(mut engine)) = (is_compiled, ColumnEngine::new()) {
        assert_eq!(world.compile(&mut engine), []);
    }
    let mut random = Random::from_seed(seed);
    for number in 0..THINGS + LAMPS {
        let element = ElementId(u32::from(number % 8 < 2 && number / 8 * 2 < LAMPS));
        let count = Value::Integer(random.below(20) as i32);
        let mut row = vec![pair(&mut random, 0.0, 60.0), count, Value::Boolean(false)];
        row.extend((element == ElementId(1)).then_some(Value::Single(8.0)));
        world.submit(Change::Construct(element, Value::Row(row))).unwrap();
    }
    for id in 0..MONITORS {
        let low = random.between(0.0, 30.0);
        let corner = |x: f64| Value::Items(vec![Value::Double(x); 2]);
        let by = vec![Value::Integer(1 + random.below(6) as i32)];
        let arguments = [
            vec![corner(low), corner(low + 25.0), Value::Double(random.between(0.0, 0.2))],
            by.clone(),
            by,
            Vec::new(),
        ];
        let choice = random.below(5) as usize;
        let constraint = constraints.get(choice).map(|of| (*of, arguments[choice].clone()));
        let effect = match (id, choice) {
            (4.., 3) if id % 3 == 0 => Effect::Death,
            (4.., 1) if id % 3 == 0 => {
                let (low, high) = (corner(-1.0), corner(1.0));
                Effect::Birth(vec![Draw { low, high, is_added: true }])
            }
            _ => Effect::None,
        };
        let element = ElementId(0);
        let interest = Interest { element, properties: vec![0], constraint, effect };
        world.submit(Change::Register(MonitorId(id), interest)).unwrap();
    }
    world.apply(&mut |_| {});
    world
}

/// Everything that can be seen of a step.
struct Seen {
    outputs: Vec<String>,
    report: String,
    counts: Vec<(MonitorId, MonitorCounts)>,
    rows: Vec<Value>,
}

fn step(world: &mut World) -> Seen {
    let mut outputs = Vec::new();
    let report = world.step(0.5, &mut |_| {}, &mut |output: Output<'_>| {
        outputs.push(format!("{output:?}"));
    });
    Seen {
        outputs,
        report: format!("{report:?}"),
        counts: world.monitors().collect(),
        rows: world.entities().map(|entity| world.row(entity).unwrap()).collect(),
    }
}

fn same(one: &Seen, other: &Seen) -> bool {
    let rows = one.rows.iter().zip(&other.rows);
    one.outputs == other.outputs
        && one.report == other.report
        && one.counts == other.counts
        && one.rows.len() == other.rows.len()
        && rows.into_iter().all(|(one, other)| one.same_bits(other))
}

fn team(members: usize) -> Workers {
    let mut team = Team::new(members, "worker", || ()).unwrap();
    Workers::new(members, Box::new(move |count, work| team.run(count, work)))
}

#[test]
fn a_step_does_not_depend_on_its_workers() {
    let mut all = [0; 4];
    for seed in 0..2 {
        let mut alone = world(seed, Workers::default(), false);
        let mut others: Vec<(usize, bool, World)> = Vec::new();
        let kinds = [(1, true), (2, false), (3, false), (3, true), (8, false)];
        for (members, is_compiled) in kinds {
            others.push((members, is_compiled, world(seed, team(members), is_compiled)));
        }
        for number in 0..STEPS {
            let expected = step(&mut alone);
            for (members, is_compiled, other) in &mut others {
                let found = step(other);
                assert!(
                    same(&expected, &found),
                    "seed {seed}, step {number}, {members} workers, compiled: {is_compiled}"
                );
            }
            let has = |kind: &str| expected.outputs.iter().any(|line| line.starts_with(kind));
            for (count, kind) in all.iter_mut().zip(["Fault", "Rows", "Born", "Died"]) {
                *count += u32::from(has(kind));
            }
        }
        assert!(alone.monitors().any(|(_, counts)| counts.faults > 0), "constraints have faults");
    }
    assert!(all.iter().all(|steps| *steps > 0), "{all:?}");
}

/// Calls that are made one after the other, the last one first: other seats do the work.
#[test]
fn calls_need_not_be_made_at_the_same_time() {
    let mut alone = world(9, Workers::default(), true);
    let reversed = Box::new(|count, work: &(dyn Fn(usize) + Sync)| (0..count).rev().for_each(work));
    let mut other = world(9, Workers::new(3, reversed), true);
    for number in 0..STEPS {
        assert!(same(&step(&mut alone), &step(&mut other)), "step {number}");
    }
}
