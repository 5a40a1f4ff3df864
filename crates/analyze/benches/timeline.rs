//! What does it cost to draw a recording, and a tenth of it, on 1,600 pixels?
//!
//! A task set of 8 threads on two processors for 100 s, of which all rows are drawn.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_analyze::sched::synthetic::{Task, run};
use hemiola_analyze::timeline::Timeline;

const SECONDS: u64 = 1_000_000_000;
const PIXELS: u32 = 1_600;

fn recorded() -> Timeline {
    let task = |n: u32, period_ns: u64| Task {
        name: format!("task {n}"),
        tid: 100 + n,
        cpu: (n % 2) as u16,
        priority: n as i16,
        period_ns,
        jitter_ns: 20_000,
        execution_min_ns: period_ns / 20,
        execution_max_ns: period_ns / 10,
        ..Task::default()
    };
    let tasks = [1, 2, 3, 5, 8, 13, 21, 34].map(|n| task(n, u64::from(n) * 100_000));
    Timeline::build(&run(&tasks, 100 * SECONDS, 1).0)
}

fn timeline(criterion: &mut Criterion) {
    let timeline = recorded();
    let (from, to) = (timeline.from.nanos(), timeline.to.nanos());
    let tenth = (to - from) / 10;
    let mut group = criterion.benchmark_group("timeline");
    for (name, from, to) in [
        ("all", from, to),
        ("a tenth", from + 4 * tenth, from + 5 * tenth),
        ("a thousandth", from + 4 * tenth, from + 4 * tenth + tenth / 100),
    ] {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let rows = 0..timeline.rows.len();
                rows.map(|row| black_box(timeline.window(from, to, PIXELS, row)).len())
                    .sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, timeline);
criterion_main!(benches);
