//! The cost of a system call.

use std::hint::black_box;

use hemiola_rt::sys::cpu_clock;

use crate::stage::{BATCH, Stage, empty};
use crate::{Figure, ProbeError, Readings, Setting, Unit};

/// The measured system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A call that does nearly nothing: getppid(2).
    Empty,
    /// sched_yield(2) of a thread that is alone at its priority on its processor.
    YieldAlone,
    /// The thread's processor time: clock_gettime(2) of `CLOCK_THREAD_CPUTIME_ID`.
    ThreadCpuTime,
}

pub(crate) fn figures() -> Vec<Figure> {
    vec![
        Figure::time("system_call.empty", "a system call that does nearly nothing", true),
        Figure::time(
            "system_call.yield_alone",
            "sched_yield without another thread to yield to",
            true,
        ),
        Figure::time("system_call.thread_cpu_time", "reading the thread's processor time", true),
    ]
}

pub(crate) fn measure(
    words: &[&str],
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let call = match words {
        [_, "empty"] => Call::Empty,
        [_, "yield_alone"] => Call::YieldAlone,
        _ => Call::ThreadCpuTime,
    };
    system_call(call, setting, count)
}

/// Takes `count` readings of `call`.
///
/// # Errors
/// `System` when no thread can be started.
pub fn system_call(call: Call, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
    match call {
        Call::Empty => repeated("empty", "getppid", setting, count, || {
            black_box(rustix::process::getppid());
        }),
        Call::YieldAlone => {
            repeated("yield_alone", "sched_yield", setting, count, rustix::thread::sched_yield)
        }
        Call::ThreadCpuTime => repeated("thread_cpu_time", "clock_gettime", setting, count, || {
            black_box(cpu_clock::thread());
        }),
    }
}

fn repeated(
    name: &str,
    function: &str,
    setting: &Setting,
    count: u32,
    call: impl Fn() + Send,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, move |stage| {
        let mut work = |batch: u64| (0..batch).for_each(|_| call());
        let batch = stage.batch(BATCH, &mut work);
        let taken = stage.compare(count, batch, &mut work, &mut empty);
        let place = (setting, stage.granted.clone());
        let name = format!("system_call.{name}");
        Ok(Readings::new(&name, Unit::Nanoseconds, taken, batch, place, &[("call", function)]))
    })
}
