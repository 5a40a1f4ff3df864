//! Tables of the verdict; the terminal and the page show the same ones.

use hemiola_report::table::{Alignment, Table};
use hemiola_report::text::{count, duration, percent, ratio};

use super::Answer;
use super::reserved::{ReservationsVerdict, ReservedTask};
use super::verdict::{ProcessorVerdict, SchedulabilityVerdict, TaskVerdict, TestResult};

/// The text for a missing figure.
const NONE: &str = "–";

impl SchedulabilityVerdict {
    /// The tasks and the test results of each processor, or the verdict alone of one without a set; empty if there is
    /// none.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let charged = self.switch_ns > 0;
        let of = |processor: &ProcessorVerdict| {
            let set = (!processor.tasks.is_empty()).then(|| tasks(processor));
            set.into_iter().chain([of_processor(processor, charged)])
        };
        let reserved = |of: &ReservationsVerdict| {
            let title = format!("Are the reservations of processor {} kept?", list(&of.cpus));
            let note = format!("{} U = {}.", of.verdict, percent(of.utilization));
            [reservations(of), tests(title, &of.tests, note)]
        };
        let fixed = self.processors.iter().flat_map(of);
        fixed.chain(self.reservations.iter().flat_map(reserved)).collect()
    }
}

fn list(cpus: &[u16]) -> String {
    cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn reservations(of: &ReservationsVerdict) -> Table {
    let row = |task: &ReservedTask| {
        let (measured, reservation) = (&task.measured, &task.reservation);
        let time = |nanos: u64| duration(nanos as f64);
        let of_jobs = |nanos: u64| if task.has_period { time(nanos) } else { NONE.into() };
        vec![
            measured.name.clone(),
            time(reservation.runtime_ns),
            time(reservation.deadline_ns),
            time(reservation.period_ns),
            percent(reservation.runtime_ns as f64 / reservation.period_ns as f64),
            time(measured.execution_ns),
            of_jobs(measured.period_ns),
            of_jobs(measured.deadline_ns),
            measured.response_ns.map_or(NONE.into(), time),
            task.bound_ns.map_or("none".into(), time),
            count(task.throttles),
            count(measured.missed),
        ]
    };
    let heads = [
        "Task",
        "Runtime",
        "Deadline",
        "Period",
        "U",
        "C max",
        "T",
        "D",
        "R seen",
        "R bound",
        "Throttled",
        "Missed",
    ];
    let title = format!("Reservations of processor {}", list(&of.cpus));
    Table::new(title, heads, of.tasks.iter().map(row).collect()).with_note(
        "SCHED_DEADLINE: the kernel grants the runtime within the deadline in each period, and throttles a thread that has \
         used it up. C, T, D and R are those of the jobs. R bound: the longest response if all reservations are kept.",
    )
}

fn tasks(processor: &ProcessorVerdict) -> Table {
    let row = |task: &TaskVerdict| {
        let measured = &task.measured;
        let time = |nanos: u64| duration(nanos as f64);
        let maybe = |nanos: Option<u64>| nanos.map_or(NONE.into(), time);
        vec![
            measured.name.clone(),
            measured.priority.map_or(NONE.into(), priority),
            time(measured.execution_ns),
            time(measured.period_ns),
            time(measured.deadline_ns),
            time(measured.blocking_ns),
            time(measured.jitter_ns),
            percent(task.utilization),
            maybe(measured.response_ns),
            task.bound_ns.map_or("none".into(), time),
            task.bound_with_jitter_ns.map_or("none".into(), time),
            maybe(task.execution_tolerated_ns),
        ]
    };
    let heads = [
        "Task", "Runs at", "C max", "T", "D", "B", "J", "U", "R seen", "R bound", "with J",
        "C limit",
    ];
    let rows = processor.tasks.iter().map(row).collect();
    Table::new(format!("Task set of processor {}", processor.cpu), heads, rows)
        .with_note(
            "C, B and R seen are the greatest observed values, J is half the spread of the release intervals. R bound: \
             the longest response in the worst case. C limit: the longest execution time without a missed deadline, \
             the other tasks unchanged.",
        )
        .with_prose(&[1])
}

fn of_processor(processor: &ProcessorVerdict, charged: bool) -> Table {
    let title = format!("Is processor {} schedulable?", processor.cpu);
    if processor.tasks.is_empty() {
        return tests(title, &[], processor.verdict.clone());
    }
    let note = format!(
        "{} U = {}, switches {}included.",
        processor.verdict,
        percent(processor.utilization),
        if charged { "" } else { "not " }
    );
    tests(title, &processor.tests, note)
}

fn tests(title: String, tests: &[TestResult], note: String) -> Table {
    let row = |test: &TestResult| {
        let number = |value: Option<f64>| value.map_or(NONE.into(), |value| format!("{value:.3}"));
        let answer = match test.answer {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Open => "cannot tell",
        };
        vec![
            test.name.clone(),
            number(test.value),
            number(test.limit),
            answer.into(),
            test.tolerates.map_or(NONE.into(), |factor| ratio((factor * 100.0).floor() / 100.0)),
        ]
    };
    let heads = ["Test", "Value", "Limit", "Schedulable", "Limit of all C"];
    let mut table = Table::new(title, heads, tests.iter().map(row).collect());
    table.columns[3].1 = Alignment::Left;
    table.with_note(note)
}

/// The kernel's priority in the terms of sched(7).
fn priority(kernel: i16) -> String {
    match kernel {
        i16::MIN..0 => "deadline".into(),
        // FIFO or round robin: the events do not distinguish them.
        0..100 => format!("real time {}", 99 - kernel),
        100.. => format!("nice {}", kernel - 120),
    }
}
