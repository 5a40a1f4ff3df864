//! What the next step waits for when 100,000 movers with ten monitors get another update, which is compiled beside the
//! steps: the order itself, as a universe that runs carries it out, and how much longer the step behind it takes.

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_rt::sys::team::Team;
use hemiola_units::Span;
use hemiola_world::{Desk, Event, History, Order, Reply, Request, Turn, Workers, World};
use hemiola_world_sandbox::ColumnEngine;
use mover_world::{DT, sources, world};

mod mover_world;

const WORKERS: usize = 2;
/// Steps between two redefinitions, which fill the caches with rows.
const BETWEEN: usize = 4;

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
