//! A step of 100,000 movers in a box with ten monitors, each a box of its own and a threshold, in both tiers.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_units::Random;
use hemiola_world::{Change, Effect, Interest, MonitorId, World};
use hemiola_world_lang::{Sources, Value, check};
use hemiola_world_sandbox::ColumnEngine;

const ROWS: usize = 100_000;
const EDGE: f64 = 1_000.0;

const WORLD: &str = "universe bench {
  element mover {
    property position : real32[3];
    property velocity : real32[3];
    update(dt : real32<s>) {
      position += velocity * (dt / 1<s>);
      for each axis in [0, 1, 2] {
        if position[axis] < 0 or position[axis] > 1000 {
          velocity[axis] = -velocity[axis];
        }
      }
    }
    constraint near(low : real32[3], high : real32[3], moved : real32) =
      inside(position, low, high) and distance(position, last_sent.position) > moved;
  }
}";

fn point(random: &mut Random, low: f64, high: f64) -> [f64; 3] {
    [(); 3].map(|()| random.between(low, high))
}

fn value(point: [f64; 3]) -> Value {
    Value::Items(point.map(|x| Value::Single(x as f32)).to_vec())
}

fn world(monitors: u32) -> World {
    let sources = Sources::of("bench.uml", WORLD).expect("it is short");
    let universe = check(&sources, None).expect("it is sound").universes.remove(0);
    let element = universe.element_named("mover").expect("it is there");
    let constraint = universe.elements[element.index()].constraints[0];
    let mut world = World::new(universe).expect("it has code");
    let mut random = Random::from_seed(2);
    for _ in 0..ROWS {
        let (position, velocity) = (point(&mut random, 0.0, EDGE), point(&mut random, -20.0, 20.0));
        let row = Value::Row(vec![value(position), value(velocity)]);
        world.submit(Change::Construct(element, row)).expect("it fits");
    }
    for id in 0..monitors {
        let low = point(&mut random, 0.0, EDGE - 400.0);
        let arguments = vec![value(low), value(low.map(|x| x + 400.0)), Value::Single(1.0)];
        let constraint = Some((constraint, arguments));
        let interest = Interest { element, properties: vec![0], constraint, effect: Effect::None };
        world.submit(Change::Register(MonitorId(id), interest)).expect("it fits");
    }
    world.apply(&mut |_| {});
    world
}

fn movers(c: &mut Criterion) {
    let mut group = c.benchmark_group("100,000 movers");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(20);
    for monitors in [0, 10] {
        for tier in ["interpreter", "compiled"] {
            let mut world = world(monitors);
            if tier == "compiled" {
                let Ok(mut engine) = ColumnEngine::new() else { continue };
                assert_eq!(world.compile(&mut engine), []);
            }
            group.bench_function(format!("{monitors} monitors, {tier}"), |b| {
                b.iter(|| {
                    world.step(0.05, &mut |_| {}, &mut |output| {
                        black_box(output);
                    })
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, movers);
criterion_main!(benches);
