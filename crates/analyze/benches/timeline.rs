//! What does it cost to draw a recording, and a tenth of it, on 1,600 pixels?
//!
//! A task set of 8 threads on two processors for 100 s, of which all rows are drawn.

mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_analyze::timeline::Timeline;

use support::task_set;

const SECONDS: u64 = 1_000_000_000;
const PIXELS: u32 = 1_600;

fn timeline(criterion: &mut Criterion) {
    let timeline = Timeline::build(&task_set(100 * SECONDS));
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
