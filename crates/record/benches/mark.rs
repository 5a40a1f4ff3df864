//! What does one mark cost, against one bare clock read?

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_record::{LOG_CAPACITY, Recorder, create_log};
use hemiola_rt::clock::{Clock, FastClock, MonotonicClock};
use hemiola_rt::shared::LogReader;
use hemiola_trace::EventKind;

/// Times `iterations` marks; empties the log in untimed pauses so that none is dropped.
fn time_marks<C: Clock>(
    recorder: &mut Recorder<C>,
    reader: &mut LogReader,
    iterations: u64,
) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let batch = left.min(LOG_CAPACITY.into());
        let begin = Instant::now();
        for n in 0..batch {
            black_box(recorder.mark(EventKind::Sample, 0, black_box(n as u32), n, n));
        }
        total += begin.elapsed();
        let drained = reader.drain(|entry| _ = black_box(entry));
        assert_eq!(drained.expect("only the recorder writes here") as u64, batch);
        left -= batch;
    }
    total
}

fn mark(criterion: &mut Criterion) {
    let fast = FastClock::calibrate();
    let mut group = criterion.benchmark_group("mark");
    group.bench_function("bare clock_gettime", |bench| bench.iter(|| MonotonicClock.now()));
    group.bench_function("fast clock read", |bench| bench.iter(|| fast.now()));

    let log = create_log("bench", LOG_CAPACITY).expect("memory for a log");
    let mut reader =
        LogReader::attach(log.try_clone().expect("a descriptor")).expect("it is a log");
    let mut recorder = Recorder::new(log, fast.clone()).expect("it is a log");
    group.bench_function("mark", |bench| {
        bench.iter_custom(|iterations| time_marks(&mut recorder, &mut reader, iterations));
    });
    group.finish();
}

criterion_group!(benches, mark);
criterion_main!(benches);
