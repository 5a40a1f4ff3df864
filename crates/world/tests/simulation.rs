//! Worlds in which everything happens at random, held against the naive one after each step.

use hemiola_units::Random;
use hemiola_world::{Change, Draw, Effect, EntityId, Interest, MonitorCounts, MonitorId, World};
use hemiola_world_lang::definition::{ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::evaluate::zero;
use hemiola_world_lang::{Sources, check, render};

use crate::naive::{Naive, News};

/// Births beyond so many entities do not happen.
pub(crate) const BIRTHS_UP_TO: usize = 12;

/// Movers that look at each other within a radius and at all, count until that is a fault, and are derived.
pub(crate) const WORLD: &str = "universe u {
  element thing {
    property p : real[2] indexed by 1.5;
    property v : real[2];
    property n : integer;
    update(dt : real<s>) {
      let t = dt / 1<s>;
      var pull : real[2] = [0, 0];
      var near = 0;
      for each other in thing within 2 + v[0] at most 3 {
        pull += other.p - p;
        near += 1;
      }
      for each other in lamp at most 2 { n += other.n; }
      v += 0.1 * pull;
      p += v * t;
      n += near * 1000000000;
    }
    constraint moved(low : real[2], high : real[2], far : real) =
      inside(p, low, high) and distance(p, last_sent.p) > far;
    constraint odd(than : integer) = mod(n, than) != last_sent.n;
    constraint even(than : integer) =
      (mod(n, than) == 0 and v[0] < 2) and (mod(last_sent.n, than) >= 0 and p[0] > last_sent.p[0] or n > 5) and p[1] > -3;
    constraint slow(limit : real) = dot(v, v) < limit;
  }
  element lamp : thing {
    property light : real32 = 1;
    update() {
      var sum : real32 = 0;
      for each other in lamp at most 5 { sum += other.light; }
      light = sum / 2;
      n = div(1, n);
    }
  }
  element stone { property weight : real; }
  entity first : thing { p = [1, 1]; }
  entity second : lamp;
  entity third : stone;
}";

pub(crate) fn universe(text: &str) -> Universe {
    let sources = Sources::of("u.uml", text).unwrap();
    match check(&sources, None) {
        Ok(mut definition) => definition.universes.remove(0),
        Err(problems) => panic!("{}", render(&problems, &sources)),
    }
}

fn value(universe: &Universe, ty: &Type, random: &mut Random) -> Value {
    match ty {
        Type::Integer => Value::Integer(random.below(4) as i32 - 1),
        Type::Real(hemiola_world_lang::definition::Width::Single, _) => {
            Value::Single(random.between(-1.0, 1.0) as f32)
        }
        Type::Real(..) if random.below(30) == 0 => {
            Value::Double([f64::NAN, f64::INFINITY, 1e300, -0.0][random.below(4) as usize])
        }
        Type::Real(..) => Value::Double(random.between(-4.0, 4.0)),
        Type::Array(of, length) => {
            Value::Items((0..*length).map(|_| value(universe, of, random)).collect())
        }
        Type::Element(id) => {
            let properties = &universe.elements[id.index()].properties;
            Value::Row(properties.iter().map(|p| value(universe, &p.ty, random)).collect())
        }
        _ => zero(universe, ty),
    }
}

fn interest(universe: &Universe, random: &mut Random) -> Interest {
    let element = ElementId(random.below(universe.elements.len() as u64) as u32);
    let data = &universe.elements[element.index()];
    let count = data.properties.len() as u64;
    let properties = (0..1 + random.below(2)).map(|_| random.below(count) as u32).collect();
    let choices = data.constraints.len() as u64 + 1;
    let chosen = data.constraints.get(random.below(choices) as usize);
    let constraint = chosen.map(|id: &FunctionId| {
        let function = &universe.functions[id.index()];
        let parameters = &function.locals[..function.parameter_count as usize];
        (*id, parameters.iter().map(|p| value(universe, &p.ty, random)).collect())
    });
    with_effect(
        Interest { element, properties, constraint, effect: Effect::None },
        universe,
        random,
    )
}

/// The interest, perhaps with an effect. The bounds of draws are equal.
pub(crate) fn with_effect(
    interest: Interest,
    universe: &Universe,
    random: &mut Random,
) -> Interest {
    let properties = &universe.elements[interest.element.index()].properties;
    let mut draw = |at: &u32| {
        let ty = &properties[*at as usize].ty;
        let low = value(universe, ty, random);
        let is_real = matches!(ty, Type::Real(..))
            || matches!(ty, Type::Array(of, _) if matches!(**of, Type::Real(..)));
        Draw { high: low.clone(), low, is_added: is_real && random.below(2) == 0 }
    };
    let draws = interest.properties.iter().map(&mut draw).collect();
    let effect = match random.below(6) {
        0 if interest.constraint.is_some() => Effect::Birth(draws),
        1 if interest.constraint.is_some() => Effect::Death,
        _ => Effect::None,
    };
    Interest { effect, ..interest }
}

/// A random change; some of them are refused.
pub(crate) fn change(universe: &Universe, world: &World, random: &mut Random) -> Change {
    let count = world.len() as u64;
    match random.below(8) {
        0..=3 => {
            let element = ElementId(random.below(universe.elements.len() as u64) as u32);
            Change::Construct(element, value(universe, &Type::Element(element), random))
        }
        4 | 5 if count > 0 => {
            let entity = world.entities().nth(random.below(count) as usize).unwrap();
            Change::Destruct(entity)
        }
        6 => Change::Unregister(MonitorId(random.below(4) as u32)),
        _ => Change::Register(MonitorId(random.below(4) as u32), interest(universe, random)),
    }
}

/// What happened, and whether constraints brought about births, births without room, and deaths.
fn simulate(seed: u64) -> (News, [bool; 3]) {
    let universe = universe(WORLD);
    let mut world = World::new(universe.clone()).unwrap().with_births(seed, BIRTHS_UP_TO);
    let mut naive = Naive::new(&universe);
    naive.births_up_to = BIRTHS_UP_TO;
    let mut random = Random::from_seed(seed);
    let mut all = News::default();
    let mut by_effect = [false; 3];
    for step in 1..=25 {
        let mut asked = [0; 3];
        for _ in 0..random.below(4) {
            let change = change(&universe, &world, &mut random);
            if world.submit(change.clone()).is_ok() {
                match change {
                    Change::Construct(..) => asked[0] += 1,
                    Change::Destruct(_) => asked[2] += 1,
                    _ => {}
                }
                naive.submit(change);
            }
        }
        let mut found = News::default();
        let seconds = [0.5, 0.0, 2.0][random.below(3) as usize];
        let report = world.step(seconds, &mut |_| {}, &mut |output| found.note(output));
        let expected = naive.step(seconds);
        assert_eq!(found, expected, "seed {seed}, step {step}");
        assert_eq!(report.faults, expected.faults.len() as u64);
        let counted = [report.births, report.unborn, report.deaths];
        assert_eq!(counted, naive.counted, "seed {seed}, step {step}");
        by_effect
            .iter_mut()
            .zip(counted)
            .zip(asked)
            .for_each(|((any, all), asked)| *any |= all > asked);
        assert_eq!(report.sent, expected.rows.values().map(|rows| rows.len() as u64).sum::<u64>());
        let ids: Vec<EntityId> = world.entities().collect();
        assert_eq!(ids.len(), naive.bodies.len(), "seed {seed}, step {step}");
        for body in &naive.bodies {
            let row = world.row(EntityId(body.id)).unwrap();
            assert!(row.same_bits(&body.row), "seed {seed}, step {step}: {row:?} {body:?}");
        }
        for monitor in (0..4).map(MonitorId) {
            // The naive world does not know which condition failed.
            let counts = world.counts(monitor).map(|counts| MonitorCounts {
                outside: 0,
                unchanged: counts.outside + counts.unchanged,
                ..counts
            });
            assert_eq!(counts, naive.counts(monitor), "seed {seed}, step {step}");
        }
        all.rows.extend(found.rows);
        all.died.extend(found.died);
        all.faults.extend(found.faults);
    }
    (all, by_effect)
}

#[test]
fn random_worlds_are_those_of_the_naive_one() {
    let mut kinds = [false; 6];
    for seed in 0..300 {
        let (News { rows, died, faults, .. }, [births, unborn, deaths]) = simulate(seed);
        let happened =
            [!rows.is_empty(), !died.is_empty(), !faults.is_empty(), births, unborn, deaths];
        kinds.iter_mut().zip(happened).for_each(|(any, now)| *any |= now);
    }
    assert_eq!(
        kinds, [true; 6],
        "rows were sent, entities died, updates had faults; births and deaths"
    );
}
