//! A step of 100,000 movers in a box with ten monitors, each a box of its own and a threshold: plain Rust loops over
//! the same columns, and both tiers, each with one worker and with two. All of them send the same number of rows.

use std::hint::black_box;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_rt::sys::team::Team;
use hemiola_world::Workers;
use hemiola_world_sandbox::ColumnEngine;
use mover_world::{DT, EDGE, MOVED, Point, ROWS, SIDE, scene, world};

mod mover_world;

/// Rows of a block of the plain loops.
const BLOCK: usize = 2_048;
/// Tiers and numbers of workers.
const TURNS: [(&str, usize); 4] =
    [("interpreter", 1), ("interpreter", 2), ("compiled", 1), ("compiled", 2)];

/// The same world as plain loops.
struct Plain {
    position: [Vec<f32>; 3],
    velocity: [Vec<f32>; 3],
    monitors: Vec<PlainMonitor>,
}

struct PlainMonitor {
    low: Point,
    last_sent: [Vec<f32>; 3],
    rows: Vec<u32>,
    columns: [Vec<f32>; 3],
}

impl Plain {
    fn new(monitors: u32, part: Range<usize>) -> Self {
        let (rows, boxes) = scene(monitors);
        let rows = &rows[part];
        let columns = |at: usize| {
            [0, 1, 2].map(|axis| rows.iter().map(|row| row[at][axis]).collect::<Vec<f32>>())
        };
        let (position, velocity) = (columns(0), columns(1));
        let monitor = |low| {
            let (last_sent, columns) = (position.clone(), [(); 3].map(|()| Vec::new()));
            PlainMonitor { low, last_sent, rows: Vec::new(), columns }
        };
        let monitors = boxes.into_iter().map(monitor).collect();
        Self { position, velocity, monitors }
    }

    /// Makes a step and returns how many rows are sent.
    fn step(&mut self) -> u64 {
        let Self { position, velocity, monitors } = self;
        let rows = position[0].len();
        for start in (0..rows).step_by(BLOCK) {
            let block = start..rows.min(start + BLOCK);
            for (position, velocity) in position.iter_mut().zip(velocity.iter_mut()) {
                let rows = position[block.clone()].iter_mut().zip(&mut velocity[block.clone()]);
                for (position, velocity) in rows {
                    *position += *velocity * DT as f32;
                    let is_outside = *position < 0.0 || *position > EDGE as f32;
                    *velocity = if is_outside { -*velocity } else { *velocity };
                }
            }
            monitors.iter_mut().for_each(|monitor| monitor.choose(position, block.clone()));
        }
        monitors.iter_mut().map(|monitor| monitor.send(position)).sum()
    }
}

impl PlainMonitor {
    fn choose(&mut self, position: &[Vec<f32>; 3], block: Range<usize>) {
        let mut inside = [true; BLOCK];
        for (position, low) in position.iter().zip(self.low) {
            for (inside, x) in inside.iter_mut().zip(&position[block.clone()]) {
                *inside &= (*x >= low) & (*x <= low + SIDE);
            }
        }
        for row in block.clone().filter(|row| inside[row - block.start]) {
            let squares = [0, 1, 2].map(|axis| {
                let offset = position[axis][row] - self.last_sent[axis][row];
                offset * offset
            });
            if squares.iter().sum::<f32>().sqrt() > MOVED {
                self.rows.push(row as u32);
            }
        }
    }

    fn send(&mut self, position: &[Vec<f32>; 3]) -> u64 {
        for (axis, column) in self.columns.iter_mut().enumerate() {
            column.clear();
            for row in &self.rows {
                let x = position[axis][*row as usize];
                self.last_sent[axis][*row as usize] = x;
                column.push(x);
            }
        }
        black_box(&self.columns);
        let sent = self.rows.len() as u64;
        self.rows.clear();
        sent
    }
}

fn movers(c: &mut Criterion) {
    let mut group = c.benchmark_group("100,000 movers");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(20);
    for monitors in [0, 10] {
        let sent: Vec<u64> = {
            let mut plain = Plain::new(monitors, 0..ROWS);
            (0..20).map(|_| plain.step()).collect()
        };
        for workers in [1, 2] {
            // Entities do not depend on each other, so each thread has rows of its own.
            let parts = (0..workers).map(|at| ROWS * at / workers..ROWS * (at + 1) / workers);
            let parts: Vec<Mutex<Plain>> =
                parts.map(|part| Mutex::new(Plain::new(monitors, part))).collect();
            let step = |at: usize| {
                black_box(parts[at].lock().unwrap_or_else(PoisonError::into_inner).step());
            };
            let mut team = Team::new(workers, "worker", || ()).expect("a thread starts");
            let name = format!("{monitors} monitors, plain Rust, {workers} workers");
            group.bench_function(name, |b| b.iter(|| team.run(workers, &step)));
        }
        for (tier, workers) in TURNS {
            let mut world = world(monitors);
            let mut team = Team::new(workers, "worker", || ()).expect("a thread starts");
            world.employ(Workers::new(workers, Box::new(move |count, work| team.run(count, work))));
            if tier == "compiled" {
                let Ok(mut engine) = ColumnEngine::new() else { continue };
                assert_eq!(world.compile(&mut engine), []);
            }
            let mut step = || {
                world.step(DT, &mut |_| {}, &mut |output| {
                    black_box(output);
                })
            };
            assert!(
                sent.iter().all(|sent| step().sent == *sent),
                "the rows are those of plain Rust"
            );
            let name = format!("{monitors} monitors, {tier}, {workers} workers");
            group.bench_function(name, |b| b.iter(&mut step));
        }
    }
    group.finish();
}

criterion_group!(benches, movers);
criterion_main!(benches);
