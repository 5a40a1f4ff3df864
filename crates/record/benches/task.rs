//! What does a mark of a foreign program cost, with a recorder and without?

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use hemiola_mark::Task;
use hemiola_record::Marks;
use hemiola_record::marks::VARIABLE;
use hemiola_rt::sys::process::clear_cloexec;

const CHILD: &str = "HEMIOLA_BENCH_MARKS";
const BATCH: u32 = 1000;
const BATCHES: usize = 500;

/// Prints the median over batches; the recorder empties the lane between two batches.
fn figure(what: &str, mut each: impl FnMut(u32)) {
    let mut nanos: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begin = Instant::now();
            (0..BATCH).for_each(&mut each);
            let nanos = begin.elapsed().as_nanos() as f64 / f64::from(BATCH);
            std::thread::sleep(Duration::from_millis(1));
            nanos
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    println!("{what:<44} {:6.1} ns", nanos[BATCHES / 2]);
}

fn main() {
    let period = Duration::from_millis(1);
    if std::env::var_os(CHILD).is_some() {
        let mut task = Task::new("bench", period, period);
        assert!(task.is_recorded());
        figure("clock read", |_| _ = black_box(hemiola_mark::now_ns()));
        figure("mark", |n| task.mark("value", n));
        figure("begin and end", |n| {
            task.begin_released(n.into());
            task.end();
        });
        return;
    }
    let mut task = Task::new("bench", period, period);
    figure("begin and end, not recorded", |n| {
        black_box(&mut task).begin_released(n.into());
        black_box(&mut task).end();
    });
    let mut marks = Marks::create().expect("memory");
    clear_cloexec(marks.fd()).expect("an open descriptor");
    let program = std::env::current_exe().expect("a path");
    let mut child = Command::new(program).env(CHILD, "1").env(VARIABLE, marks.paths()).spawn();
    let child = child.as_mut().expect("a process");
    while child.try_wait().expect("a child").is_none() {
        marks.drain(&mut |_, entries| _ = black_box(entries));
        std::thread::sleep(Duration::from_micros(500));
    }
    let tally = marks.tally();
    println!("{} marks recorded, {} lost", tally.entries, tally.lost);
}
