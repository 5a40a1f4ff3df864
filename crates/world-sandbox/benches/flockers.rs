//! A step of flockers, 200 in each square of 150 metres: those of `examples/12-flockers`, in both tiers. They search
//! their neighbours in each step. One worker makes a step, and two.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_rt::sys::team::Team;
use hemiola_units::Random;
use hemiola_world::{Change, Workers, World};
use hemiola_world_lang::{Sources, Value, check};
use hemiola_world_sandbox::ColumnEngine;

const WORLD: &str = include_str!("../../../examples/12-flockers/flock.uml");
/// The line of the text that says how wide the square is.
const EDGE: &str = "constant EDGE : real32<m> = 1060<m>;";

/// Tiers and numbers of workers.
const TURNS: [(&str, usize); 4] =
    [("interpreter", 1), ("interpreter", 2), ("compiled", 1), ("compiled", 2)];

fn pair(random: &mut Random, low: f64, high: f64) -> Value {
    Value::Items([(); 2].map(|()| Value::Single(random.between(low, high) as f32)).to_vec())
}

fn world(rows: u32) -> World {
    let edge = (f64::from(rows) / 200.0).sqrt() * 150.0;
    let wider = format!("constant EDGE : real32<m> = {edge:.1}<m>;");
    let text = WORLD.replace(EDGE, &wider);
    assert!(text.contains(&wider), "the example says how wide its square is");
    let sources = Sources::of("flock.uml", text).expect("it is short");
    let universe = check(&sources, None).expect("it is sound").universes.remove(0);
    let bird = universe.element_named("bird").expect("it is there");
    let mut world = World::new(universe).expect("it has code");
    let mut random = Random::from_seed(3);
    for _ in 0..rows {
        let (position, velocity) = (pair(&mut random, 0.0, edge), pair(&mut random, -1.0, 1.0));
        let row = vec![position, velocity, Value::Integer(0), Value::Single(0.0)];
        world.submit(Change::Construct(bird, Value::Row(row))).expect("it fits");
    }
    world.apply(&mut |_| {});
    world
}

fn flockers(c: &mut Criterion) {
    for rows in [10_000, 100_000] {
        let mut group = c.benchmark_group(format!("{rows} flockers"));
        group.throughput(Throughput::Elements(rows.into())).sample_size(20);
        for (tier, workers) in TURNS {
            let mut world = world(rows);
            let mut team = Team::new(workers, "worker", || ()).expect("a thread starts");
            world.employ(Workers::new(workers, Box::new(move |count, work| team.run(count, work))));
            if tier == "compiled" {
                let Ok(mut engine) = ColumnEngine::new() else { continue };
                assert_eq!(world.compile(&mut engine), []);
            }
            group.bench_function(format!("{tier}, {workers} workers"), |b| {
                b.iter(|| world.step(0.5, &mut |_| {}, &mut |_| {}));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, flockers);
criterion_main!(benches);
