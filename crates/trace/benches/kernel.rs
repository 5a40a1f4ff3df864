//! What does it cost to write a switch to a trace file, to index it when the file is opened, and to read it?

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hemiola_trace::Recording;
use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_units::Instant;

/// Switches on each of two processors; each has a wake-up before it.
const SWITCHES: u64 = 100_000;

/// A ping-pong of two threads on that processor, 400,000 switches per second.
fn ping_pong(cpu: u16) -> Vec<Event> {
    let pair = [Tid(70_001 + 2 * u32::from(cpu)), Tid(70_002 + 2 * u32::from(cpu))];
    let switches = (0..SWITCHES).flat_map(|n| {
        let at = Instant::from_nanos(86_400_000_000_000 + 2500 * n + 300 * u64::from(cpu));
        let [one, other] = if n % 2 == 0 { pair } else { [pair[1], pair[0]] };
        let wake = What::Wake { tid: other, waker: one, context: Context::Thread, target: cpu };
        let what = What::Switch { prev: one, left: Left::Sleeping, next: other, priority: 49 };
        [Event { at, cpu, what: wake }, Event { at, cpu, what }]
    });
    switches.collect()
}

fn file(lanes: &[Vec<Event>; 2]) -> Vec<u8> {
    let threads = (70_001..=70_004).map(|tid| Thread {
        tid: Tid(tid),
        since: Instant::ZERO,
        pid: 70_000,
        name: format!("thread {tid}"),
        new: false,
    });
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).expect("a vector takes it");
    writer.threads(&threads.collect::<Vec<_>>()).expect("a vector takes it");
    // As a drain writes: some thousand events of each processor in turn.
    let [one, other] = lanes;
    for (one, other) in one.chunks(8000).zip(other.chunks(8000)) {
        writer.kernel(0, one).expect("a vector takes it");
        writer.kernel(1, other).expect("a vector takes it");
    }
    writer.close().expect("a vector takes it");
    file
}

fn kernel(criterion: &mut Criterion) {
    let lanes = [ping_pong(0), ping_pong(1)];
    let bytes = Arc::new(file(&lanes));
    let (recording, errors) = Recording::open(bytes.clone());
    assert_eq!((errors, recording.events().count() as u64), (vec![], 4 * SWITCHES));

    let mut group = criterion.benchmark_group("a switch with its wake-up");
    group.throughput(Throughput::Elements(2 * SWITCHES));
    group.sample_size(10);
    group.bench_function("write", |bench| bench.iter(|| black_box(file(&lanes)).len()));
    group.bench_function("open", |bench| bench.iter(|| Recording::open(bytes.clone()).0));
    group.bench_function("events", |bench| {
        bench.iter(|| recording.events().map(|event| event.at.nanos()).fold(0, u64::wrapping_add));
    });
    group.finish();
}

criterion_group!(benches, kernel);
criterion_main!(benches);
