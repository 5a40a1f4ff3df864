//! What does the analysis of one switch cost: of two threads that wake each other without rest, and of a task set?
//!
//! Throughput is in switches; each comes with about one wake-up.

mod support;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_analyze::sched::{Options, analyze};
use hemiola_trace::Recording;
use hemiola_trace::sched::{Context, Event, Left, Tid, What};
use hemiola_units::Instant;

use support::task_set;

/// Two threads that wake each other, about 400 000 switches a second: the most a machine does.
fn ping_pong(switches: u64) -> Recording {
    let mut events = Vec::new();
    for n in 0..switches / 2 {
        let at = n * 5_000 + n * 7919 % 1000;
        let mut push = |after: u64, what| {
            events.push(Event { at: Instant::from_nanos(at + after), cpu: 0, what });
        };
        let (a, b) = (Tid(100), Tid(200));
        let wake = |tid, waker| What::Wake { tid, waker, context: Context::Thread, target: 0 };
        let switch = |prev, next| What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
        push(800, wake(b, a));
        push(1_400, switch(a, b));
        push(2_300, wake(a, b));
        push(3_000, switch(b, a));
    }
    Recording::new(events, Vec::new(), Vec::new())
}

fn sched(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("analyze");
    group.sample_size(10);
    for (name, recording) in
        [("ping-pong", ping_pong(1_000_000)), ("task set", task_set(10_000_000_000))]
    {
        let report = analyze(&recording, &Options::default());
        group.throughput(Throughput::Elements(report.switches));
        group.bench_function(name, |bench| {
            let each = |recording: &Recording| analyze(black_box(recording), &Options::default());
            bench.iter_batched(|| &recording, each, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, sched);
criterion_main!(benches);
