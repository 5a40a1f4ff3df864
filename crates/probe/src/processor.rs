//! The cost of an instruction and of a call.

use std::hint::black_box;

use crate::catalogue::Probe;
use crate::stage::{BATCH, Stage};
use crate::{ProbeError, Readings, Setting, Unit};

/// Additions in one operation of a batch.
const ADDITIONS: u64 = 64;
/// Calls in one operation of a batch.
const CALLS: u64 = 16;

pub(crate) fn probes() -> Vec<Probe> {
    let probe = |name, title, run: fn(u64, u64) -> u64, each| {
        Probe::time(name, title, true, move |name, setting, count| {
            chained(run, each, name, setting, count)
        })
    };
    let addition = "an integer addition that depends on the last";
    vec![
        probe("processor.instruction", addition, add, ADDITIONS),
        probe("processor.call", "calling a function and returning from it", call, CALLS),
    ]
}

/// Takes `count` readings of one of the `each` steps of a chain that `run` repeats. Only the clock's own cost is
/// subtracted: the loop runs in parallel with the chain and adds nothing.
fn chained(
    run: fn(u64, u64) -> u64,
    each: u64,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, |stage| {
        let mut work = |batch: u64| _ = black_box(run(black_box(1), batch));
        let batch = stage.batch(BATCH, &mut work);
        let (values, overhead) = stage.compare(count, batch, &mut work, &mut |_| ());
        let taken = (values.iter().map(|nanos| nanos / each as f64).collect(), overhead.per(each));
        let place = (setting, stage.granted.clone());
        Ok(Readings::new(name, Unit::Nanoseconds, taken, batch * each, place, &[]))
    })
}

/// `batch` times [`ADDITIONS`] additions, each dependent on the previous one: the Fibonacci numbers, which no compiler
/// shortens. Register renaming makes the exchange free.
#[inline(never)]
fn add(start: u64, batch: u64) -> u64 {
    let (mut a, mut b) = (start, start);
    for _ in 0..batch {
        for _ in 0..ADDITIONS / 2 {
            a = a.wrapping_add(b);
            b = b.wrapping_add(a);
        }
    }
    b
}

/// `batch` times [`CALLS`] calls, one after the other.
#[inline(never)]
fn call(start: u64, batch: u64) -> u64 {
    // Opaque to the compiler, which can neither inline nor analyse it.
    let callee = black_box(callee as fn(u64) -> u64);
    let mut value = start;
    for _ in 0..batch {
        for _ in 0..CALLS {
            value = callee(value);
        }
    }
    value
}

fn callee(value: u64) -> u64 {
    value.wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_additions_are_done() {
        // 1, 1, 2, 3, 5 …: two numbers per pair of additions.
        let fibonacci = (0..ADDITIONS).fold((1u64, 1u64), |(a, b), _| (b, a.wrapping_add(b)));
        assert_eq!(add(1, 1), fibonacci.1);
        assert_eq!(call(1, 3), 1 + 3 * CALLS);
    }
}
