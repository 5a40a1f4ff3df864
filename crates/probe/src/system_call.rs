//! The cost of a system call.

use std::hint::black_box;

use hemiola_rt::sys::cpu_clock;

use crate::catalogue::Probe;
use crate::stage::repeated;

pub(crate) fn probes() -> Vec<Probe> {
    let alone = "sched_yield without another thread to yield to";
    let cpu_time = "reading the thread's processor time";
    vec![
        probe("system_call.empty", "a system call that does nearly nothing", "getppid", || {
            black_box(rustix::process::getppid());
        }),
        probe("system_call.yield_alone", alone, "sched_yield", rustix::thread::sched_yield),
        probe("system_call.thread_cpu_time", cpu_time, "clock_gettime", || {
            black_box(cpu_clock::thread());
        }),
    ]
}

fn probe(
    name: &str,
    title: &str,
    function: &'static str,
    call: impl Fn() + Copy + Send + 'static,
) -> Probe {
    Probe::time(name, title, true, move |name, setting, count| {
        repeated(name, setting, count, &[("call", function)], move |_| call())
    })
}
