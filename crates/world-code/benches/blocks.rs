//! Two updates over 100,000 rows: linear code over blocks beside plain Rust loops over the same columns.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_world_code::{BLOCK_ROWS, Block, Column, Machine, Scalar, Texts, compile};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::{Sources, check};

const ROWS: usize = 100_000;
const DT: f64 = 0.01;

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
}";

/// Columns with different numbers.
fn columns(count: usize) -> Vec<Vec<f64>> {
    (0..count)
        .map(|c| (0..ROWS).map(|row| 1.0 + ((row * 7 + c * 13) % 101) as f64).collect())
        .collect()
}

fn code(c: &mut Criterion, name: &str) {
    let definition =
        check(&Sources::of("bench.uml", WORLD).expect("it is short"), None).expect("it is sound");
    let universe = &definition.universes[0];
    let element: ElementId = universe.element_named(name).expect("it is there");
    let data = &universe.elements[element.index()];
    let update = data.update.expect("it has one");
    let program = compile(universe, update, &mut Texts::default()).expect("it is short");
    let count = data.leaf_count as usize;
    let mut own: Vec<Column> = columns(count).into_iter().map(Column::Double).collect();
    let (mut machine, arguments) = (Machine::default(), [Scalar::Double(DT)]);
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("code", |b| {
        b.iter(|| {
            for start in (0..ROWS).step_by(BLOCK_ROWS) {
                let block = Block {
                    own: &own,
                    start,
                    count: BLOCK_ROWS.min(ROWS - start),
                    arguments: &arguments,
                    last_sent: &[],
                    neighbours: None,
                    element,
                };
                machine.run(&program, &block);
                machine.store(&program, &arguments, &mut own);
            }
        });
    });
    group.finish();
}

fn plain(c: &mut Criterion, name: &str, count: usize, step: fn(&mut [Vec<f64>])) {
    let mut own = columns(count);
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("plain Rust", |b| b.iter(|| step(black_box(&mut own))));
    group.finish();
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

fn updates(c: &mut Criterion) {
    code(c, "mover");
    plain(c, "mover", 6, mover);
    code(c, "spring");
    plain(c, "spring", 7, spring);
}

criterion_group!(benches, updates);
criterion_main!(benches);
