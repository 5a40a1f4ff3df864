//! What the next step waits for when a world of 100,000 movers is redefined, and when it returns.

use std::cell::RefCell;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use hemiola_units::Random;
use hemiola_world::{Change, Revision, World};
use hemiola_world_lang::{Sources, Value, check};

const ROWS: usize = 100_000;

const BEFORE: &str = "universe bench {
  element mover {
    property position : real[3];
    property velocity : real[3];
    update(dt : real<s>) { position += velocity * (dt / 1<s>); }
  }
}";

/// Another update.
const CODE: &str = "universe bench {
  element mover {
    property position : real[3];
    property velocity : real[3];
    update(dt : real<s>) { position += 2 * velocity * (dt / 1<s>); velocity = 0.99 * velocity; }
  }
}";

/// Three columns that converters compute.
const CONVERTED: &str = "universe bench {
  element mover {
    property position : real[3];
    property momentum : real[3];
    converter momentum = 3 * velocity;
    converter back velocity = momentum / 3;
    update(dt : real<s>) { position += momentum * (dt / 3<s>); }
  }
}";

fn sources(text: &str) -> Sources {
    Sources::of("bench.uml", text).expect("it is short")
}

fn world() -> World {
    let universe = check(&sources(BEFORE), None).expect("it is sound").universes.remove(0);
    let element = universe.element_named("mover").expect("it is there");
    let mut world = World::new(universe).expect("it has code");
    let mut random = Random::from_seed(2);
    let mut point =
        || Value::Items((0..3).map(|_| Value::Double(random.between(0.0, 9.0))).collect());
    for _ in 0..ROWS {
        let row = Value::Row(vec![point(), point()]);
        world.submit(Change::Construct(element, row)).expect("it fits");
    }
    world.step(0.1, &mut |_| {}, &mut |_| {});
    world
}

fn redefine(c: &mut Criterion) {
    let mut group = c.benchmark_group("100,000 movers");
    group.sample_size(20);
    for (name, text) in [("another update", CODE), ("three columns converted", CONVERTED)] {
        // Setup and routine of a measurement both need the world and what leads back.
        let (world, last) = (RefCell::new(world()), RefCell::new(None));
        let before = world.borrow().universe().clone();
        let revision = || Revision::check(&sources(text), &before).expect("it is sound");
        let checked = revision();
        let there = || {
            let redefined = world.borrow_mut().redefine(checked.clone(), &mut |_| {});
            *last.borrow_mut() = Some(redefined.expect("it is possible"));
        };
        let back = || {
            if let Some(mut last) = last.take() {
                world.borrow_mut().roll_back(&mut last, &mut |_| {}).expect("it is the last one");
            }
        };
        let step = || world.borrow_mut().step(0.1, &mut |_| {}, &mut |_| {});
        group.bench_function(format!("{name}, text to plan"), |b| {
            b.iter(revision);
        });
        group.bench_function(format!("{name}, there"), |b| {
            b.iter_batched(back, |()| there(), BatchSize::PerIteration);
        });
        back();
        group.bench_function(format!("{name}, back before a step"), |b| {
            b.iter_batched(there, |()| back(), BatchSize::PerIteration);
        });
        group.bench_function(format!("{name}, a step before it"), |b| {
            b.iter_batched(|| (), |()| step(), BatchSize::PerIteration);
        });
        group.bench_function(format!("{name}, the step after it"), |b| {
            let go = || {
                back();
                there();
            };
            b.iter_batched(go, |()| step(), BatchSize::PerIteration);
        });
        group.bench_function(format!("{name}, back after a step"), |b| {
            let go = || {
                back();
                there();
                step();
            };
            b.iter_batched(go, |()| back(), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, redefine);
criterion_main!(benches);
