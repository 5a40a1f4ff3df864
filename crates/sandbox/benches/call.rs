//! What the sandbox costs: a call, an instance, the stop of an endless loop, and the time of a unit of fuel at worst.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_sandbox::{Engine, Fault, Instance, Limits, Module};

/// The unit of the pendulum ladder.
const UNIT: &str = include_str!("../../../examples/1-pendulum-ladder/state-feedback.wat");
/// Fuel of a call; the unit needs some fifty.
const FUEL: u64 = 25_000;

fn compile(text: &str) -> Module {
    let engine = Engine::new(Limits::default()).expect("the feature is on");
    engine.compile(text.as_bytes(), "bench.wat").expect("the module is valid")
}

fn unit() -> (Instance, hemiola_sandbox::Function<(f64, f64, f64), f64>) {
    let mut instance = compile(UNIT).instantiate(FUEL).expect("it has no start function");
    let step = instance.function("step").expect("it has one");
    (instance, step)
}

fn calls(c: &mut Criterion) {
    let (mut instance, step) = unit();
    c.bench_function("call, warm", |b| {
        b.iter(|| instance.call(&step, black_box((0.1, 0.01, 0.0)), FUEL));
    });
    c.bench_function("call, first after 20 ms", |b| {
        b.iter_custom(|count| {
            (0..count).fold(Duration::ZERO, |sum, _| {
                std::thread::sleep(Duration::from_millis(20));
                let start = Instant::now();
                let _ = black_box(instance.call(&step, (0.1, 0.01, 0.0), FUEL));
                sum + start.elapsed()
            })
        });
    });
}

fn preparation(c: &mut Criterion) {
    c.bench_function("compile", |b| b.iter(|| compile(UNIT)));
    let module = compile(UNIT);
    c.bench_function("instantiate", |b| b.iter(|| module.instantiate(FUEL)));
}

/// Programs that take long for their fuel. One iteration consumes [`FUEL`]: time divided by that is the time of a unit.
const GREEDY: [(&str, &str); 7] = [
    ("an empty loop", "(loop $l (br $l))"),
    (
        "divisions",
        "(loop $l (global.set $i (i64.div_u (i64.const -1) (i64.or (global.get $i) (i64.const 3)))) (br $l))",
    ),
    (
        "roots",
        "(loop $l (global.set $f (f64.sqrt (f64.add (global.get $f) (f64.const 2)))) (br $l))",
    ),
    (
        "loads that miss the cache",
        "(loop $l
            (local.set $a (i32.and (i32.const 0x3ffff8) (i32.add (i32.mul (local.get $a) (i32.const 1664525))
                (i32.add (i32.const 1013904223) (i32.load (local.get $a))))))
            (br $l))",
    ),
    ("fills", "(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 64)) (br $l))"),
    ("growth by nothing", "(loop $l (drop (memory.grow (i32.const 0))) (br $l))"),
    ("indirect calls", "(loop $l (call_indirect (i32.const 0)) (br $l))"),
];

fn fuel(c: &mut Criterion) {
    for (name, body) in GREEDY {
        let mut instance = compile(&format!(
            r#"(module (memory 64) (table funcref (elem $nothing)) (func $nothing)
                (global $i (mut i64) (i64.const 7)) (global $f (mut f64) (f64.const 7))
                (func (export "run") (local $a i32) {body}))"#
        ))
        .instantiate(FUEL)
        .expect("it fits");
        let run = instance.function::<(), ()>("run").expect("it has one");
        assert_eq!(instance.call(&run, (), FUEL), Err(Fault::OutOfFuel));
        c.bench_function(&format!("25000 of fuel: {name}"), |b| {
            b.iter(|| instance.call(&run, (), FUEL));
        });
    }
    let mut instance = compile(r#"(module (func (export "run") (loop $l (br $l))))"#)
        .instantiate(FUEL)
        .expect("it fits");
    let run = instance.function::<(), ()>("run").expect("it has one");
    c.bench_function("stop of an endless loop", |b| b.iter(|| instance.call(&run, (), 1)));
}

criterion_group!(benches, calls, preparation, fuel);
criterion_main!(benches);
