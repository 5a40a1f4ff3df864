//! A step of flockers, 200 in each square of 150 metres: those of `examples/12-flockers`, as plain Rust loops and in
//! both tiers. They search their neighbours in each step. One worker makes a step, and two.
//!
//! Birds flock, so later steps take longer: each reading is the mean of the first steps of a new world.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_rt::sys::team::Team;
use hemiola_units::Random;
use hemiola_world::{Change, EntityId, Workers, World};
use hemiola_world_lang::{Sources, Value, check};
use hemiola_world_sandbox::ColumnEngine;

const WORLD: &str = include_str!("../../../examples/12-flockers/flock.uml");
/// The line of the text that says how wide the square is.
const EDGE: &str = "constant EDGE : real32<m> = 1060<m>;";

/// Tiers and numbers of workers.
const TURNS: [(&str, usize); 4] =
    [("interpreter", 1), ("interpreter", 2), ("compiled", 1), ("compiled", 2)];

/// Birds, and steps of a reading.
const SIZES: [(u32, u32); 2] = [(10_000, 100), (100_000, 20)];
const DT: f32 = 0.5;

/// The positions and velocities of so many birds at random, and the edge of their square.
fn scene(rows: u32) -> (f64, Vec<[[f32; 2]; 2]>) {
    let edge = (f64::from(rows) / 200.0).sqrt() * 150.0;
    let mut random = Random::from_seed(3);
    let mut pair = |low, high| [(); 2].map(|()| random.between(low, high) as f32);
    (edge, (0..rows).map(|_| [pair(0.0, edge), pair(-1.0, 1.0)]).collect())
}

fn world(rows: u32) -> World {
    let (edge, birds) = scene(rows);
    let wider = format!("constant EDGE : real32<m> = {edge:.1}<m>;");
    let text = WORLD.replace(EDGE, &wider);
    assert!(text.contains(&wider), "the example says how wide its square is");
    let sources = Sources::of("flock.uml", text).expect("it is short");
    let universe = check(&sources, None).expect("it is sound").universes.remove(0);
    let bird = universe.element_named("bird").expect("it is there");
    let mut world = World::new(universe).expect("it has code");
    // The bird of the text is not among those of the loops.
    world.submit(Change::Destruct(EntityId(1))).expect("it is there");
    for pairs in birds {
        let [position, velocity] = pairs.map(|pair| Value::Items(pair.map(Value::Single).to_vec()));
        let row = vec![position, velocity, Value::Integer(0), Value::Single(0.0)];
        world.submit(Change::Construct(bird, Value::Row(row))).expect("it fits");
    }
    world.apply(&mut |_| {});
    world
}

/// How many neighbours all birds of a world found in the last step.
fn neighbours(world: &World) -> u64 {
    let of = |entity| match world.row(entity) {
        Some(Value::Row(row)) => match row[2] {
            Value::Integer(count) => count as u64,
            _ => 0,
        },
        _ => 0,
    };
    world.entities().map(of).sum()
}

/// The same birds as plain loops.
struct Plain {
    edge: f32,
    birds: Birds,
    /// As they were before the step.
    before: Birds,
    cells: Grid,
}

/// Positions and velocities by axis.
#[derive(Clone)]
struct Birds {
    position: [Vec<f32>; 2],
    velocity: [Vec<f32>; 2],
}

/// Birds sorted into cells of 10 metres.
#[derive(Default)]
struct Grid {
    side: usize,
    starts: Vec<u32>,
    birds: Vec<u32>,
}

impl Grid {
    fn cell(&self, x: f32) -> usize {
        ((x / 10.0).max(0.0) as usize).min(self.side - 1)
    }

    fn fill(&mut self, birds: &Birds, edge: f32) {
        self.side = (edge / 10.0) as usize + 1;
        let [x, y] = &birds.position;
        let place = |at: usize| self.cell(x[at]) * self.side + self.cell(y[at]);
        let places: Vec<usize> = (0..x.len()).map(place).collect();
        self.starts.clear();
        self.starts.resize(self.side * self.side + 1, 0);
        places.iter().for_each(|place| self.starts[place + 1] += 1);
        let mut start = 0;
        for next in &mut self.starts[1..] {
            start += std::mem::replace(next, start);
        }
        self.birds.resize(x.len(), 0);
        for (bird, place) in places.into_iter().enumerate() {
            let next = &mut self.starts[place + 1];
            self.birds[*next as usize] = bird as u32;
            *next += 1;
        }
    }

    fn near(&self, [x, y]: [f32; 2], mut found: impl FnMut(usize)) {
        for column in self.cell(x - 10.0)..=self.cell(x + 10.0) {
            let line = column * self.side;
            let (low, high) = (self.cell(y - 10.0), self.cell(y + 10.0));
            let range = self.starts[line + low] as usize..self.starts[line + high + 1] as usize;
            self.birds[range].iter().for_each(|bird| found(*bird as usize));
        }
    }
}

impl Plain {
    fn new(rows: u32) -> Self {
        let (edge, birds) = scene(rows);
        let axes = |of: usize| [0, 1].map(|axis| birds.iter().map(|bird| bird[of][axis]).collect());
        let birds = Birds { position: axes(0), velocity: axes(1) };
        Self { edge: edge as f32, before: birds.clone(), birds, cells: Grid::default() }
    }

    /// Makes a step and returns how many neighbours all birds found.
    fn step(&mut self, team: &mut Team) -> u64 {
        let Self { edge, birds, before, cells } = self;
        for (to, from) in before.position.iter_mut().zip(&birds.position) {
            to.copy_from_slice(from);
        }
        for (to, from) in before.velocity.iter_mut().zip(&birds.velocity) {
            to.copy_from_slice(from);
        }
        cells.fill(before, *edge);
        let workers = team.members();
        let part = birds.position[0].len().div_ceil(workers);
        let [[x, y], [vx, vy]] = [&mut birds.position, &mut birds.velocity];
        let parts = x.chunks_mut(part).zip(y.chunks_mut(part));
        let parts = parts.zip(vx.chunks_mut(part)).zip(vy.chunks_mut(part));
        let parts = parts.map(|(((x, y), vx), vy)| Mutex::new(([x, y, vx, vy], 0)));
        let parts: Vec<_> = parts.collect();
        let (before, cells, edge) = (&*before, &*cells, *edge);
        team.run(workers, &|worker| {
            let mut part_of = parts[worker].lock().unwrap_or_else(PoisonError::into_inner);
            let (columns, neighbours) = &mut *part_of;
            *neighbours = fly(columns, worker * part, before, cells, edge);
        });
        let found = |part: &Mutex<_>| {
            part.lock().map_or(0, |part: std::sync::MutexGuard<'_, (_, u64)>| part.1)
        };
        parts.iter().map(found).sum()
    }
}

/// Moves the birds from this one on, and returns how many neighbours they found.
fn fly(
    [x, y, vx, vy]: &mut [&mut [f32]; 4],
    first: usize,
    before: &Birds,
    cells: &Grid,
    edge: f32,
) -> u64 {
    let (px, py) = (&before.position[0][..], &before.position[1][..]);
    let (qx, qy) = (&before.velocity[0][..], &before.velocity[1][..]);
    let mut neighbours = 0;
    for at in 0..x.len() {
        let own = first + at;
        let here = [px[own], py[own]];
        let (mut others, mut crowd, mut their, mut headings) =
            ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2]);
        let mut count = 0;
        cells.near(here, |other| {
            let way = [px[other] - here[0], py[other] - here[1]];
            let square: f32 = way[0] * way[0] + way[1] * way[1];
            if other == own || square > 100.0 {
                return;
            }
            let velocity = [qx[other], qy[other]];
            let speed = (velocity[0] * velocity[0] + velocity[1] * velocity[1]).sqrt().max(0.001);
            for axis in 0..2 {
                others[axis] += way[axis];
                if square < 9.0 {
                    crowd[axis] -= way[axis];
                }
                their[axis] += velocity[axis];
                headings[axis] += velocity[axis] / speed;
            }
            count += 1;
        });
        neighbours += count;
        black_box(headings);
        let n = count.max(1) as f32;
        let mut velocity = [vx[at], vy[at]];
        if count > 0 {
            for axis in 0..2 {
                let own = velocity[axis];
                let steer = (0.02 * others[axis] + 0.3 * crowd[axis]) / n;
                velocity[axis] += (steer + 0.25 * (their[axis] / n - own)) * DT;
            }
        }
        let speed = (velocity[0] * velocity[0] + velocity[1] * velocity[1]).sqrt().max(0.001);
        let factor = speed.clamp(0.5, 2.0) / speed;
        let mut position = [x[at], y[at]];
        for axis in 0..2 {
            let v = velocity[axis] * factor;
            let v = if position[axis] < 0.0 { v.abs() } else { v };
            velocity[axis] = if position[axis] > edge { -v.abs() } else { v };
            position[axis] += velocity[axis] * DT;
        }
        [x[at], y[at]] = position;
        [vx[at], vy[at]] = velocity;
    }
    neighbours
}

/// The time of a step, over so many readings.
fn readings<W>(
    iterations: u64,
    steps: u32,
    start: impl Fn() -> W,
    mut step: impl FnMut(&mut W),
) -> Duration {
    let reading = |_| {
        let mut world = start();
        let began = Instant::now();
        (0..steps).for_each(|_| step(&mut world));
        began.elapsed() / steps
    };
    (0..iterations).map(reading).sum()
}

fn flockers(c: &mut Criterion) {
    for (rows, steps) in SIZES {
        let mut group = c.benchmark_group(format!("{rows} flockers"));
        group.throughput(Throughput::Elements(rows.into())).sample_size(10);
        let found = {
            let mut one = Team::new(1, "worker", || ()).expect("it needs no thread");
            Plain::new(rows).step(&mut one)
        };
        for workers in [1, 2] {
            let mut team = Team::new(workers, "worker", || ()).expect("a thread starts");
            group.bench_function(format!("plain Rust, {workers} workers"), |b| {
                b.iter_custom(|iterations| {
                    readings(
                        iterations,
                        steps,
                        || Plain::new(rows),
                        |plain| {
                            black_box(plain.step(&mut team));
                        },
                    )
                });
            });
        }
        for (tier, workers) in TURNS {
            let start = || {
                let mut world = world(rows);
                let mut team = Team::new(workers, "worker", || ()).expect("a thread starts");
                let run = move |count: usize, work: &(dyn Fn(usize) + Sync)| team.run(count, work);
                world.employ(Workers::new(workers, Box::new(run)));
                if tier == "compiled" {
                    let mut engine = ColumnEngine::new().ok()?;
                    assert_eq!(world.compile(&mut engine), []);
                }
                Some(world)
            };
            let step = |world: &mut World| _ = world.step(DT.into(), &mut |_| {}, &mut |_| {});
            let Some(mut first) = start() else { continue };
            step(&mut first);
            assert_eq!(neighbours(&first), found, "the neighbours are those of plain Rust");
            group.bench_function(format!("{tier}, {workers} workers"), |b| {
                b.iter_custom(|iterations| {
                    readings(iterations, steps, || start().expect("it was there before"), step)
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, flockers);
criterion_main!(benches);
