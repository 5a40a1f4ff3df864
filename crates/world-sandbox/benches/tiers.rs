//! Updates over 100,000 rows: plain Rust loops over the same columns, the interpreter, and the compiled tier. Also the
//! time from the text of an update to the code of it.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_units::Random;
use hemiola_world_code::{
    BLOCK_ROWS, Block, Column, Machine, NearLists, Neighbour, Neighbours, Program, Scalar, Search,
    Texts, compile,
};
use hemiola_world_lang::definition::{ElementId, Universe};
use hemiola_world_lang::{Sources, check};
use hemiola_world_sandbox::ColumnEngine;

const ROWS: usize = 100_000;
const DT: f64 = 0.01;
/// Side of the square of the birds: 3.5 neighbours each.
const SIDE: f64 = 3_354.0;
const RADIUS: f64 = 10.0;

const WORLD: &str = "universe bench {
  element mover {
    property position : real<m>[3];
    property velocity : real<m/s>[3];
    update(dt : real<s>) { position += velocity * dt; }
  }
  element spring {
    property position : real<m>[3];
    property velocity : real<m/s>[3];
    property rest : real<m>;
    update(dt : real<s>) {
      let stretch = length(position) - rest;
      let pull = if stretch > 0<m> { -4<1/s^2> * stretch } else { -1<1/s^2> * stretch };
      velocity += pull / (rest + 1<mm>) * position * dt;
      position += velocity * dt;
    }
  }
  element bird {
    property position : real<m>[2] indexed by 10<m>;
    property velocity : real<m/s>[2];
    update(dt : real<s>) {
      var pull : real<m>[2] = [0<m>, 0<m>];
      var mean : real<m/s>[2] = [0<m/s>, 0<m/s>];
      var seen : real = 0;
      for each other in bird within 10<m> at most 32 {
        let offset = other.position - position;
        pull += if length(offset) < 2<m> { -5 * offset } else { offset };
        mean += other.velocity - velocity;
        seen += 1;
      }
      if seen > 0 { velocity += pull / seen * 0.5<1/s^2> * dt + mean / seen * 0.1<1/s> * dt; }
      position += velocity * dt;
    }
  }
}";

/// Columns with different numbers.
fn columns(count: usize) -> Vec<Vec<f64>> {
    (0..count)
        .map(|c| (0..ROWS).map(|row| 1.0 + ((row * 7 + c * 13) % 101) as f64).collect())
        .collect()
}

/// Birds in a square.
fn birds() -> Vec<Vec<f64>> {
    let mut random = Random::from_seed(1);
    let column = |(low, high)| (0..ROWS).map(|_| random.between(low, high)).collect();
    [(0.0, SIDE), (0.0, SIDE), (-1.0, 1.0), (-1.0, 1.0)].map(column).to_vec()
}

/// The birds within the radius of each bird.
fn lists(birds: &[Vec<f64>]) -> Vec<Vec<u32>> {
    let cells = (SIDE / RADIUS) as usize + 1;
    let cell = |row: usize| [0, 1].map(|axis| (birds[axis][row] / RADIUS) as usize);
    let mut grid = vec![Vec::new(); cells * cells];
    (0..ROWS).for_each(|row| grid[cell(row)[0] * cells + cell(row)[1]].push(row as u32));
    let near = |row: usize, other: usize| {
        let offset = [0, 1].map(|axis| birds[axis][other] - birds[axis][row]);
        row != other && offset[0] * offset[0] + offset[1] * offset[1] <= RADIUS * RADIUS
    };
    let list = |row: usize| {
        let around = |at: usize| at.saturating_sub(1)..(at + 2).min(cells);
        let [x, y] = cell(row);
        let cells = around(x).flat_map(|x| around(y).map(move |y| x * cells + y));
        let mut list: Vec<u32> = cells.flat_map(|cell| grid[cell].iter().copied()).collect();
        list.retain(|other| near(row, *other as usize));
        list.sort_unstable();
        list.truncate(32);
        list
    };
    (0..ROWS).map(list).collect()
}

/// The birds before the step. Their search is no part of what is measured.
struct Before {
    columns: Vec<Column>,
    lists: Vec<Vec<u32>>,
}

impl Neighbours for Before {
    fn column(&self, _: ElementId, column: u32) -> &Column {
        &self.columns[column as usize]
    }

    fn all(&self, _: ElementId) -> &[Neighbour] {
        &[]
    }

    fn near_each(&self, search: &Search<'_>, lists: &mut NearLists) {
        for (own, _) in search.rows() {
            let list = &self.lists[own.row as usize];
            lists.items.extend(list.iter().map(|row| Neighbour { row: *row, ..own }));
            lists.end_row();
        }
    }
}

fn universe() -> Universe {
    let sources = Sources::of("bench.uml", WORLD).expect("it is short");
    check(&sources, None).expect("it is sound").universes.remove(0)
}

/// The program of the update of an element.
fn program(universe: &Universe, name: &str) -> (ElementId, Program) {
    let element: ElementId = universe.element_named(name).expect("it is there");
    let update = universe.elements[element.index()].update.expect("it has one");
    (element, compile(universe, update, &mut Texts::default()).expect("it is short"))
}

/// Both tiers beside the plain loop.
fn tiers(
    c: &mut Criterion,
    name: &str,
    data: &[Vec<f64>],
    before: Option<&Before>,
    plain: impl Fn(&mut [Vec<f64>]),
) {
    let (element, program) = program(&universe(), name);
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(ROWS as u64));
    let mut own = data.to_vec();
    group.bench_function("plain Rust", |b| b.iter(|| plain(black_box(&mut own))));
    for tier in ["interpreter", "compiled"] {
        let mut machine = Machine::default();
        if tier == "compiled" {
            let Ok(mut engine) = ColumnEngine::new() else { continue };
            machine.compile(&program, &mut engine).expect("it is compiled");
        }
        let mut own: Vec<Column> =
            data.iter().cloned().map(|rows| Column::Double(rows.into())).collect();
        group.bench_function(tier, |b| {
            b.iter(|| step(&mut machine, &program, element, &mut own, before));
        });
    }
    group.finish();
}

fn step(
    machine: &mut Machine,
    program: &Program,
    element: ElementId,
    own: &mut [Column],
    before: Option<&Before>,
) {
    let arguments = [Scalar::Double(DT)];
    for start in (0..ROWS).step_by(BLOCK_ROWS) {
        let block = Block {
            own,
            start,
            count: BLOCK_ROWS.min(ROWS - start),
            arguments: &arguments,
            apart: &[],
            last_sent: &[],
            neighbours: before.map(|before| before as &dyn Neighbours),
            element,
        };
        machine.run(program, &block);
        machine.store(program, &arguments, own);
    }
}

fn mover(own: &mut [Vec<f64>]) {
    let (positions, velocities) = own.split_at_mut(3);
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        position.iter_mut().zip(velocity).for_each(|(p, v)| *p += *v * DT);
    }
}

fn spring(own: &mut [Vec<f64>]) {
    let [x, y, z, vx, vy, vz, rest] = own else { unreachable!("it has seven columns") };
    let positions = x.iter_mut().zip(y).zip(z);
    let velocities = vx.iter_mut().zip(vy).zip(vz);
    for ((((x, y), z), ((vx, vy), vz)), rest) in positions.zip(velocities).zip(rest) {
        let stretch = (*x * *x + *y * *y + *z * *z).sqrt() - *rest;
        let pull = if stretch > 0.0 { -4.0 * stretch } else { -stretch };
        let pull = pull / (*rest + 1e-3);
        for (position, velocity) in [(x, vx), (y, vy), (z, vz)] {
            *velocity += pull * *position * DT;
            *position += *velocity * DT;
        }
    }
}

fn bird(own: &mut [Vec<f64>], before: &[Vec<f64>], lists: &[Vec<u32>]) {
    let [x, y, vx, vy] = own else { unreachable!("it has four columns") };
    for (row, list) in lists.iter().enumerate() {
        let (mut pull, mut mean) = ([0.0; 2], [0.0; 2]);
        for other in list {
            let other = *other as usize;
            let offset = [before[0][other] - x[row], before[1][other] - y[row]];
            let far = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
            let sign = if far < 2.0 { -5.0 } else { 1.0 };
            (0..2).for_each(|axis| pull[axis] += sign * offset[axis]);
            mean[0] += before[2][other] - vx[row];
            mean[1] += before[3][other] - vy[row];
        }
        if !list.is_empty() {
            let seen = list.len() as f64;
            vx[row] += pull[0] / seen * 0.5 * DT + mean[0] / seen * 0.1 * DT;
            vy[row] += pull[1] / seen * 0.5 * DT + mean[1] / seen * 0.1 * DT;
        }
        x[row] += vx[row] * DT;
        y[row] += vy[row] * DT;
    }
}

fn updates(c: &mut Criterion) {
    tiers(c, "mover", &columns(6), None, mover);
    tiers(c, "spring", &columns(7), None, spring);
    let birds = birds();
    let lists = lists(&birds);
    let before = birds.clone();
    let plain = |own: &mut [Vec<f64>]| bird(own, &before, &lists);
    let columns = birds.iter().cloned().map(|rows| Column::Double(rows.into())).collect();
    tiers(c, "bird", &birds, Some(&Before { columns, lists: lists.clone() }), plain);
}

/// From the text of a definition to an update that can be called.
fn replacement(c: &mut Criterion) {
    let Ok(mut engine) = ColumnEngine::new() else { return };
    for name in ["mover", "spring", "bird"] {
        c.bench_function(&format!("{name}: text to running"), |b| {
            b.iter(|| {
                let (_, program) = program(&universe(), name);
                let mut machine = Machine::default();
                machine.compile(&program, &mut engine).expect("it is compiled");
                machine
            });
        });
    }
}

criterion_group!(benches, updates, replacement);
criterion_main!(benches);
