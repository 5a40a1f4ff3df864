//! What the next step waits for when 100,000 movers with ten monitors get another update, which is compiled beside the
//! steps: the order itself, as a universe that runs carries it out, and how much longer the step behind it takes.

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_rt::sys::team::Team;
use hemiola_units::{Random, Span};
use hemiola_world::{
    Change, Desk, Effect, Event, History, Interest, MonitorId, Order, Reply, Request, Turn,
    Workers, World,
};
use hemiola_world_lang::{Sources, Value, check};
use hemiola_world_sandbox::ColumnEngine;

const ROWS: usize = 100_000;
const EDGE: f64 = 1_000.0;
/// Side of the box of a monitor.
const SIDE: f32 = 400.0;
const DT: f64 = 0.05;
const WORKERS: usize = 2;
/// Steps between two redefinitions, which fill the caches with rows.
const BETWEEN: usize = 4;

/// The world whose movers have this speed.
fn text(factor: f64) -> String {
    format!(
        "universe bench {{
  element mover {{
    property position : real32[3];
    property velocity : real32[3];
    update(dt : real32<s>) {{
      position += velocity * (dt / 1<s>) * {factor:.3};
      for each axis in [0, 1, 2] {{
        if position[axis] < 0 or position[axis] > 1000 {{
          velocity[axis] = -velocity[axis];
        }}
      }}
    }}
    constraint near(low : real32[3], high : real32[3], moved : real32) =
      inside(position, low, high) and distance(position, last_sent.position) > moved;
  }}
}}"
    )
}

fn sources(factor: f64) -> Sources {
    Sources::of("bench.uml", text(factor)).expect("it is short")
}

fn world(monitors: u32) -> World {
    let universe = check(&sources(1.0), None).expect("it is sound").universes.remove(0);
    let element = universe.element_named("mover").expect("it is there");
    let constraint = universe.elements[element.index()].constraints[0];
    let mut world = World::new(universe).expect("it has code");
    let mut random = Random::from_seed(2);
    let value = |point: [f32; 3]| Value::Items(point.map(Value::Single).to_vec());
    let mut point = |low, high| [(); 3].map(|()| random.between(low, high) as f32);
    for _ in 0..ROWS {
        let row = Value::Row(vec![value(point(0.0, EDGE)), value(point(-20.0, 20.0))]);
        world.submit(Change::Construct(element, row)).expect("it fits");
    }
    for id in 0..monitors {
        let low = point(0.0, EDGE - f64::from(SIDE));
        let arguments = vec![value(low), value(low.map(|x| x + SIDE)), Value::Single(1.0)];
        let constraint = Some((constraint, arguments));
        let interest = Interest { element, properties: vec![0], constraint, effect: Effect::None };
        world.submit(Change::Register(MonitorId(id), interest)).expect("it fits");
    }
    world.apply(&mut |_| {});
    world
}

/// A universe that runs, and the desk that redefines it.
struct Run {
    world: World,
    history: History,
    desk: Desk,
    engine: ColumnEngine,
    redefinitions: usize,
}

impl Run {
    fn new(monitors: u32) -> Option<Self> {
        let mut engine = ColumnEngine::new().ok()?;
        let mut world = world(monitors);
        let mut team = Team::new(WORKERS, "worker", || ()).expect("a thread starts");
        world.employ(Workers::new(WORKERS, Box::new(move |count, work| team.run(count, work))));
        assert_eq!(world.compile(&mut engine), []);
        let desk = Desk::new(world.universe().clone());
        let mut run = Self { world, history: History::default(), desk, engine, redefinitions: 0 };
        run.steps(20);
        Some(run)
    }

    fn step(&mut self) -> Duration {
        let began = Instant::now();
        self.world.step(DT, &mut |_| {}, &mut |_| {});
        began.elapsed()
    }

    fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }

    /// Returns how long the order takes, and the step behind it.
    fn redefine(&mut self) -> (Duration, Duration) {
        self.redefinitions += 1;
        if self.redefinitions.is_multiple_of(1_000) {
            // A run has a limit.
            self.history = History::default();
        }
        let factor = 1.0 - 0.001 * (self.redefinitions % 100 + 1) as f64;
        let turn = self.desk.ask(Request::Apply(sources(factor)));
        let Turn::Order(mut order) = turn else { panic!("it is possible: {turn:?}") };
        if let Order::Redefine { revision, code, .. } = &mut order {
            *code = Some(revision.uncompiled(WORKERS).compile(&mut self.engine));
        }
        self.steps(BETWEEN);
        let began = Instant::now();
        let outcome = self.history.carry_out(&mut self.world, order, &mut |_| {});
        let delay = began.elapsed();
        let behind = self.step();
        assert!(matches!(outcome.event, Event::Changed(Ok(_))), "{:?}", outcome.event);
        assert!(matches!(self.desk.done(outcome, Span::ZERO), Reply::Done(_)));
        (delay, behind)
    }
}

fn redefinitions(c: &mut Criterion) {
    let mut group = c.benchmark_group("100,000 movers, another update");
    group.sample_size(20);
    for monitors in [0, 10] {
        let Some(mut run) = Run::new(monitors) else { continue };
        group.bench_function(format!("{monitors} monitors, the order"), |b| {
            b.iter_custom(|count| (0..count).map(|_| run.redefine().0).sum());
        });
        group.bench_function(format!("{monitors} monitors, the step behind it"), |b| {
            b.iter_custom(|count| (0..count).map(|_| run.redefine().1).sum());
        });
        group.bench_function(format!("{monitors} monitors, any step"), |b| {
            b.iter_custom(|count| (0..count).map(|_| run.step()).sum());
        });
    }
    group.finish();
}

criterion_group!(benches, redefinitions);
criterion_main!(benches);
