//! The report of a summary for a terminal or a text file.

use std::collections::BTreeMap;

use hemiola_report::table::Detail;
use hemiola_report::terminal::document;

use super::tables::{conditions, problems, tables};
use crate::cycles::summary::Summary;

/// The summary as text: title, tables, problems, conditions, a blank line between them.
#[must_use]
pub fn render(summary: &Summary, detail: Detail) -> String {
    let tables = tables(summary, &BTreeMap::new(), detail);
    document(&summary.title, &tables, &problems(summary), &conditions(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_stats::OutlierClasses;

    use crate::cycles::synthetic::ladder_analysis;

    #[test]
    fn the_short_form_has_the_reports_tables() {
        insta::assert_snapshot!(render(&ladder_analysis().summary, Detail::Short), @r"
Synthetic ladder

Table 1: features
──────────────────────────────────────────────────────────────────────────────
Feature                Monolithic  Shared memory  Message queues  Simplex (1)
──────────────────────────────────────────────────────────────────────────────
Several processes                        ✓               ✓             ✓
System data integrity                                    ✓             ✓
Safety checking                                                        ✓
──────────────────────────────────────────────────────────────────────────────

Table 2: cycle time, all runs together, µs
─────────────────────────────────────────────────────────────────────────────────────────────
Program         Lines  Cycles   Min  Mean   p50    p99  p99.9    Max  Adj. max   Std  Missed
─────────────────────────────────────────────────────────────────────────────────────────────
Monolithic        400      76  2.47  2.99  2.69   17.5   17.5   17.5      17.5  1.79       0
Shared memory     700      76  7.61  8.42  8.00   25.3   25.3   25.3      22.6  2.58       0
Message queues    700      76  10.0  10.7  10.5   19.5   19.5   19.5      19.5  1.36       0
Simplex (1)      1600      76  18.4   284  19.6  20020  20020  20020     20020  2294       1
─────────────────────────────────────────────────────────────────────────────────────────────
A cycle lasts from its first time stamp to its last, over all processes in the loop; the timing
overhead of Table 15 is included. Adj. max: without each run's last cycle.

Cost against the floor of the machine
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Program         Hand-overs  Floor   Ratio  Floor b-b  Ratio b-b  To first    Adj.  Switches  Latency   CPU  Warm-up
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Monolithic               –      –       –          –          –    1.00 ×  1.00 ×       2.5     3.04  3.60        –
Shared memory      1 futex   2.00  4.00 ×       2.30     3.48 ×    2.97 ×  2.99 ×       5.0     3.03  7.00        –
Message queues        1 mq   2.00  5.23 ×          –          –    3.89 ×  3.95 ×       5.0     3.04  9.10        –
Simplex (1)        4 futex   8.00  2.44 ×       9.20     2.12 ×    7.27 ×  7.41 ×       7.5     3.01  15.0        –
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Floor, µs: the median of a chain of processes with the same hand-overs, priorities, rate and leads
that do nothing else, measured in this run. Floor b-b: the number of hand-overs × the median of one,
back to back, down and up each with their own. Ratios are of the median cycle. Adj.: ratio to the
first program, timing overhead subtracted from both. Switches: context switches in a cycle. Latency:
median release latency, µs. CPU, warm-up: processor time of a cycle, and of warming up for it before
its release (lead), mean, µs.

Table 15: timing overhead as a share of the figure
────────────────────────────────────────────────────────────
Program         Mean, µs  Stamps/cycle  Overhead, µs  Share
────────────────────────────────────────────────────────────
Monolithic          2.99           4.0          0.12  4.0 %
Shared memory       8.42           9.0          0.32  3.8 %
Message queues      10.7           9.0          0.32  3.0 %
Simplex (1)          284          14.0          0.51  0.2 %
────────────────────────────────────────────────────────────
Time stamps of a cycle × what a pair of marks takes back to back, the first and the last counting
half. Here: 39.5 ns, 1.79 × a bare clock read.

Floors: one hand-over between two processes on this machine, µs
───────────────────────────────────────────────────────────────
Mechanism  Measured      Samples   Min  Mean   p50   p99   Max
───────────────────────────────────────────────────────────────
futex      back to back    1 000  2.07  2.41  2.30  3.45  20.7
futex      at rate         1 000  2.34  2.72  2.60  3.90  23.4
mq         at rate         1 000  2.79  3.25  3.10  4.65  27.9
yield      back to back    1 000  1.03  1.20  1.15  1.73  10.3
───────────────────────────────────────────────────────────────
Measured in the same run as the programs above. Down: to a process of lower priority, which runs
when the sender goes to sleep; up: to one of higher priority, which preempts.

Missed deadlines, explained
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Program      Run  Cycle  Cause in  Thread  Explanation
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Simplex (1)    1     20  not ours  –       23.0 µs late: 20.0 ms (usually 1.50 µs) in io between sample and send, not
                                           computing: something else had the processor
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Deadlines missed: 1. Missed cycles whose cause is in the programs of the loop: 0. Shown: 1.

Faults, with the decision module and without
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Fault         Injected into         Lost with  Earliest  Peak V  Found as       After  False  Lost without  Earliest  Peak V
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
stuck output  simulated      0/1000 (≤ 0.3 %)         –   0.610  leaves-region    1.5      0     1000/1000    412 ms   9.300
busy loop     processes      0/1000 (≤ 0.3 %)         –   0.420  leaves-region    1.0      0             –         –       –
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Lost: runs in which the plant was lost, of all runs; where it never was, the greatest share of lost
runs that is compatible with that, at 95 % (for many runs 3 ÷ runs). Found as: the first fault that
the decision module found, and in how many runs; after: cycles until then. False: switches away from
a unit that had no fault.

Time line of authority
─────────────────────────────────────────────────────────────────────────────────────────────────────────
Program      Run  At, s  Commands  For, s  Because  V  Predicted  Limit  Position, mm  Angle, °  Voltage
─────────────────────────────────────────────────────────────────────────────────────────────────────────
Simplex (1)    1  0.000  held       0.780  –        –          –      –           0.0      0.00     0.00
Simplex (1)    2  0.000  held       0.780  –        –          –      –           0.0      0.00     0.00
─────────────────────────────────────────────────────────────────────────────────────────────────────────
At: from the first release to its first voltage, which is the last column. V: Lyapunov value of the
estimated state; predicted with the answer of the active unit. Limit: of the prediction for an
answer that was refused, of V for a return of control.

Conditions
  Hemiola                  0.1.0
  Commit                   unknown
  Kernel                   Linux 6.1
  Preemption               voluntary
  Processor                Test CPU, 2 online
  Virtual machine          kvm
  Clock                    tsc: fast read 10.0 ns, bare read 22.0 ns, resolution 1.0 ns
  Real-time share          950000 of 1000000 µs
  Load before              0.25
  Stolen by the host       3 ticks
  Command                  hemiola run examples/1-pendulum-ladder
");
    }

    #[test]
    fn the_full_form_has_every_run() {
        let text = render(&ladder_analysis().summary, Detail::Full);
        for title in ["Monolithic: runs", "Simplex (1): runs", "Processes of the loop"] {
            assert!(text.contains(title), "{title}");
        }
    }

    #[test]
    fn the_full_form_has_intervals_and_outliers_of_every_run() {
        let mut summary = ladder_analysis().summary;
        let combined = &mut summary.variants[3].combined;
        combined.p50_interval_ns = Some([41_000, 42_500]);
        combined.cycle_ns.as_mut().unwrap().outliers =
            OutlierClasses { low_severe: 1, low_mild: 2, high_mild: 3, high_severe: 4 };
        let text = render(&summary, Detail::Full);
        let (_, runs) = text.split_once("Simplex (1): runs").unwrap();
        let last = |name: &str| {
            let row = runs.lines().find(|line| line.trim().starts_with(name)).unwrap();
            row.split("  ").filter(|cell| !cell.is_empty()).last().unwrap().trim().to_owned()
        };
        let cells = ["95 % interval", "Low outliers", "High outliers"].map(last);
        assert_eq!(cells, ["41.0 to 42.5", "2 + 1", "3 + 4"]);
    }

    #[test]
    fn misses_beyond_those_in_words_are_grouped_by_cause() {
        let mut summary = ladder_analysis().summary;
        let few = render(&summary, Detail::Short);
        assert!(!few.contains("Missed deadlines by cause"), "{few}");
        let group = &mut summary.variants[3].combined.miss_causes[0];
        group.cycles = 1234;
        let many = render(&summary, Detail::Short);
        let (_, table) = many.split_once("Missed deadlines by cause").unwrap();
        let row = table.lines().find(|line| line.contains("Simplex (1)")).unwrap();
        let cells = ["stall", "not ours", &hemiola_report::text::count(1234)];
        assert!(cells.iter().all(|cell| row.contains(cell)), "{row}");
    }
}
