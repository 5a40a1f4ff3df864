//! Threads under `SCHED_DEADLINE`, recorded from the kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hemiola_rt::sys::{cpu_clock, sched};
use hemiola_units::{Policy, Span};
use serde_json::Value;

use crate::machine::Machine;

const PERIOD: Span = Span::from_millis(20);
const RESERVED: Policy =
    Policy::Deadline { runtime: Span::from_millis(4), deadline: PERIOD, period: PERIOD };

/// Starts a thread of that name with [`RESERVED`] that carries out jobs until told to stop. `None` if the kernel
/// refuses the reservation.
fn reserved(
    name: &str,
    stop: &Arc<AtomicBool>,
    job: impl Fn(u32) + Send + 'static,
) -> Option<JoinHandle<()>> {
    let stop = Arc::clone(stop);
    let (granted, is_granted) = std::sync::mpsc::channel();
    let run = move || {
        let admitted = sched::set_policy(None, &RESERVED).is_ok();
        let _ = granted.send(admitted);
        for number in (0..).take_while(|_| admitted && !stop.load(Ordering::Relaxed)) {
            job(number);
        }
    };
    let handle = thread::Builder::new().name(name.into()).spawn(run).unwrap();
    is_granted.recv().unwrap().then_some(handle)
}

fn compute(millis: i64) {
    let end = cpu_clock::thread() + Span::from_millis(millis);
    while cpu_clock::thread() < end {}
}

fn thread_of<'v>(report: &'v Value, name: &str) -> &'v Value {
    let threads = report["threads"].as_array().unwrap();
    threads.iter().find(|thread| thread["name"] == name).unwrap()
}

#[test]
fn a_throttled_thread_waits_for_its_reservation_and_a_yield_ends_a_job() {
    let machine = Machine::take("deadline");
    let stop = Arc::new(AtomicBool::new(false));
    let epoch = Instant::now();
    // Each fourth job needs more than the runtime, so it is throttled and finishes after its deadline.
    let sleeper = reserved("sleeper", &stop, move |number| {
        compute(if number % 4 == 3 { 6 } else { 2 });
        let next = PERIOD.to_duration() * (number + 1);
        thread::sleep(next.saturating_sub(epoch.elapsed()));
    });
    let yielder = reserved("yielder", &stop, |_| {
        compute(2);
        thread::yield_now();
    });
    let handles: Vec<_> = [sleeper, yielder].into_iter().flatten().collect();
    let pid = std::process::id().to_string();
    let arguments = ["trace", "-p", &pid, "--duration", "1s", "-o", "deadline.trace"];
    let ended = (handles.len() == 2).then(|| machine.hemiola(&arguments));
    stop.store(true, Ordering::Relaxed);
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    let Some(ended) = ended else {
        println!("skipped: needs SCHED_DEADLINE");
        return;
    };
    ended.with_code(0);
    let json = machine.hemiola(&["analyze", "deadline.trace", "--json"]).with_code(0).stdout;
    let report: Value = serde_json::from_str(&json).unwrap();
    let sleeper = thread_of(&report, "sleeper");
    let expected = serde_json::json!({
        "runtime_ns": 4_000_000, "deadline_ns": 20_000_000, "period_ns": 20_000_000
    });
    assert_eq!(sleeper["reservation"], expected, "{sleeper}");
    assert_eq!(sleeper["period_from"], "reservation");
    let figure = |of: &Value, name: &str| of[name].as_u64().unwrap();
    assert!(figure(sleeper, "throttles") > 3 && figure(sleeper, "missed") > 3, "{sleeper}");
    let waits = sleeper["preempted_by"].as_array().unwrap();
    let idle = waits.iter().filter(|wait| wait["name"] == "idle").map(|wait| figure(wait, "ns"));
    assert!(idle.sum::<u64>() < figure(sleeper, "throttled_ns") / 10, "{sleeper}");
    let yielder = thread_of(&report, "yielder");
    assert!(figure(yielder, "invocations") > 10, "{yielder}");
    let reservations = &report["schedulability"]["reservations"][0];
    assert_ne!(reservations["answer"], "yes", "{reservations}");
    let shown = machine.hemiola(&["analyze", "deadline.trace"]).with_code(0).stdout;
    assert!(shown.contains("Reservations of processor"), "{shown}");
}
