//! A thread that sleeps until absolute times, recorded from the kernel: each of its jobs is known, also where no
//! wake-up shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::{cpu_clock, timer};
use hemiola_units::Span;
use serde_json::Value;

use crate::machine::Machine;

const PERIOD: Span = Span::from_millis(20);
/// One job sleeps a little beyond the next release, and one computes beyond it.
const SLEEPS: u64 = 12;
const COMPUTES: u64 = 20;

fn job(number: u64) {
    let millis = if number % 32 == COMPUTES { 30 } else { 2 };
    let end = cpu_clock::thread() + Span::from_millis(millis);
    while cpu_clock::thread() < end {}
    if number % 32 == SLEEPS {
        thread::sleep(Span::from_micros(18_400).to_duration());
    }
}

#[test]
fn jobs_that_no_wake_up_shows_are_known_from_what_their_thread_asks_for() {
    let machine = Machine::take("asked");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let run = move || {
        let mut release = MonotonicClock.now();
        for number in (0..).take_while(|_| !stopped.load(Ordering::Relaxed)) {
            job(number);
            release += PERIOD;
            timer::sleep_until(release);
        }
    };
    let periodic = thread::Builder::new().name("periodic".into()).spawn(run).unwrap();
    let pid = std::process::id().to_string();
    let arguments = ["trace", "-p", &pid, "--duration", "2s", "-o", "asked.trace"];
    let ended = machine.hemiola(&arguments);
    stop.store(true, Ordering::Relaxed);
    periodic.join().unwrap();
    ended.with_code(0);
    let json = machine.hemiola(&["analyze", "asked.trace", "--json"]).with_code(0).stdout;
    let report: Value = serde_json::from_str(&json).unwrap();
    let threads = report["threads"].as_array().unwrap();
    let thread = threads.iter().find(|thread| thread["name"] == "periodic").unwrap();
    if thread["timer_late_ns"].is_null() {
        println!("skipped: needs CAP_BPF and CAP_PERFMON");
        return;
    }
    let figure = |path: &str| thread.pointer(path).and_then(Value::as_u64).unwrap();
    // The times it asks for are exact, however late the machine wakes it.
    let period = u64::try_from(PERIOD.nanos()).unwrap();
    assert_eq!([figure("/period_ns"), figure("/interval_ns/p50")], [period; 2], "{thread}");
    // In 2 s there are three jobs that sleep and three that compute beyond the next release, one of which may be cut.
    assert!(figure("/overran") >= 5, "{thread}");
    assert!(figure("/response_ns/max") > period, "{thread}");
    assert!(figure("/suspension_ns") >= 18_000_000, "{thread}");
    let jobs = figure("/interval_ns/count");
    assert!((96..=101).contains(&jobs), "{thread}");
    // The job that slept did not end with its sleep: no job is only what followed it.
    assert!(figure("/execution_ns/min") >= 1_900_000, "{thread}");
}
