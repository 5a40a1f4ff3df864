//! The table of hostile units: each kind is added many times to one run, whose report says what became of everybody.
//!
//! `cargo xtask hostile` makes it with the release build; the test of this file makes two rows.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_analyze::cycles::authority::Control;
use hemiola_analyze::cycles::summary::Summary;
use hemiola_rt::sys::process::Signal;

use super::Outcome::{self, Fails, Nothing, NothingInTime};
use super::{AFTER, ISOLATED, KINDS, OVER, SETTLED, hostile, isolates, running};
use crate::command::Running;
use crate::machine::{Machine, PATIENCE};
use crate::results::Results;
use crate::units::row;

/// How often each kind is added, the kinds (all by default), and the file for the table, from `cargo xtask hostile`.
const TIMES: &str = "HEMIOLA_HOSTILE_TIMES";
const CHOSEN: &str = "HEMIOLA_HOSTILE_KINDS";
const OUTPUT: &str = "HEMIOLA_HOSTILE_OUTPUT";

const HEAD: &str = "\
| kind | times | failed | as | plant lost | innocents failed | blame right |
|---|---|---|---|---|---|---|";

/// The healthy units.
const INNOCENT: [&str; 2] = ["experimental", "baseline"];
/// The states of a unit that was taken out against its will.
const TAKEN_OUT: [&str; 3] = ["failed", "retired", "dead"];

/// What the report of a run says about a kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    kind: String,
    times: usize,
    failed: usize,
    /// Faults that ended a hostile unit, and how many.
    faults: BTreeMap<String, usize>,
    plant_lost: bool,
    innocents_failed: usize,
    /// Times at which the unit ran and the outcome was that of the kind.
    blame_right: usize,
}

impl Row {
    fn is_sound(&self) -> bool {
        !self.plant_lost && self.innocents_failed == 0 && self.blame_right == self.times
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> =
            self.faults.iter().map(|(fault, count)| format!("{fault} {count}")).collect();
        let faults = if faults.is_empty() { "–".into() } else { faults.join(", ") };
        let lost = if self.plant_lost { "yes" } else { "no" };
        let Self { kind, times, failed, innocents_failed, blame_right, .. } = self;
        write!(
            f,
            "| {kind} | {times} | {failed} | {faults} | {lost} | {innocents_failed} | {blame_right} |"
        )
    }
}

/// The row of a kind whose units are called after it and a number from 1 on.
fn judged(control: &Control, plant_lost: bool, kind: &str, times: usize, outcome: Outcome) -> Row {
    let mut found = Row { kind: kind.into(), times, plant_lost, ..Row::default() };
    let taken_out = |name: &str| {
        let mut units = control.units.iter().filter(|unit| unit.unit == name);
        units.any(|unit| TAKEN_OUT.contains(&&*unit.state))
    };
    for name in (1..=times).map(|number| format!("{kind}-{number}")) {
        let mut faults = control.unit_faults.iter().filter(|fault| fault.unit == name);
        let ended_by = faults.find(|fault| fault.ended.is_some()).map(|fault| &*fault.fault);
        let has_failed = ended_by.is_some() || taken_out(&name);
        found.failed += usize::from(has_failed);
        let has_run = control.units.iter().any(|unit| unit.unit == name);
        found.blame_right += usize::from(match outcome {
            Fails(expected) => ended_by.is_some_and(|fault| expected.contains(&fault)),
            Nothing => has_run && !has_failed,
            NothingInTime => has_run && ended_by.map_or(!has_failed, |fault| OVER.contains(&fault)),
        });
        if let Some(fault) = ended_by {
            *found.faults.entry(fault.into()).or_default() += 1;
        }
    }
    found.innocents_failed = INNOCENT.iter().filter(|name| taken_out(name)).count();
    found
}

/// Adds a kind so many times beside the healthy units, each time until its attack has had its effect.
fn attacked(machine: &Machine, program: &Path, kind: &str, outcome: Outcome, times: usize) -> Row {
    let mut run = running(machine);
    for name in (1..=times).map(|number| format!("{kind}-{number}")) {
        if run.has_ended() {
            break;
        }
        let (program, after) = (program.to_str().unwrap(), AFTER.to_string());
        let add = ["add", &name, "--priority", "74", "--", program, kind, &after];
        // It may have failed before the command returns.
        let _ = run.unit(machine, &add);
        settle(machine, &mut run, &name);
        if !run.has_ended() {
            let _ = run.unit(machine, &["remove", &name]);
        }
    }
    if !run.has_ended() {
        run.signal(Signal::INT);
    }
    run.end();
    let results = Results::open(machine.folder().join("result"));
    let summary: Summary = serde_json::from_str(&results.text("summary.json")).unwrap();
    let run = &summary.variants[0].runs[0];
    let control = run.control.as_ref().expect("the program has a decision module");
    judged(control, run.fallen_after_ns.is_some(), kind, times, outcome)
}

/// Waits until the unit has failed, is not listed any more, or has answered long enough.
fn settle(machine: &Machine, run: &mut Running, name: &str) {
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit && !run.has_ended() {
        let Some(row) = row(&run.unit(machine, &["list"]), name) else { return };
        let answers: u64 = row[4].parse().unwrap_or(0);
        if row[2] == "failed" || (row[2] == "shadow" && answers >= SETTLED) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Makes the rows of these kinds and shows each when it is known.
fn table(kinds: &[(&str, Outcome)], times: usize, mut show: impl FnMut(&Row)) -> Vec<Row> {
    let machine = Machine::take("hostile-table");
    let Some(program) = hostile(&machine) else { return Vec::new() };
    let row = |&(kind, outcome): &(&str, Outcome)| {
        let _ = std::fs::remove_dir_all(machine.folder().join("result"));
        let row = attacked(&machine, &program, kind, outcome, times);
        machine.nothing_is_left();
        show(&row);
        row
    };
    kinds.iter().map(row).collect()
}

/// Not a test by itself: makes the table for `cargo xtask hostile`, and fails unless every row is sound.
#[test]
fn measured() {
    let Ok(times) = std::env::var(TIMES) else { return };
    let times: usize = times.parse().expect("the number of times is a whole number");
    let chosen = std::env::var(CHOSEN).unwrap_or_default();
    let chosen: Vec<&str> = chosen.split_whitespace().collect();
    let isolated = if isolates() { ISOLATED } else { &[] };
    let all = KINDS.iter().chain(isolated).flat_map(|group| group.iter().copied());
    let kinds: Vec<_> =
        all.filter(|(kind, _)| chosen.is_empty() || chosen.contains(kind)).collect();
    let unknown: Vec<_> =
        chosen.iter().filter(|name| kinds.iter().all(|(kind, _)| kind != *name)).collect();
    assert!(unknown.is_empty(), "no kind of hostile unit is called {unknown:?}");
    println!("{HEAD}");
    let rows = table(&kinds, times, |row| println!("{row}"));
    if let Ok(path) = std::env::var(OUTPUT) {
        let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(path, format!("{HEAD}\n{rows}")).unwrap();
    }
    let unsound: Vec<&Row> = rows.iter().filter(|row| !row.is_sound()).collect();
    println!("{} of {} kinds are sound", rows.len() - unsound.len(), rows.len());
    assert!(unsound.is_empty(), "{unsound:#?}");
}

#[test]
fn the_table_counts_what_became_of_each_kind() {
    let kinds = [("nan", Fails(&["not-finite"])), ("least", Nothing)];
    let rows = table(&kinds, 2, |_| {});
    let shown: Vec<String> = rows.iter().map(Row::to_string).collect();
    if !shown.is_empty() {
        let expected =
            ["| nan | 2 | 2 | not-finite 2 | no | 0 | 2 |", "| least | 2 | 0 | – | no | 0 | 2 |"];
        assert_eq!(shown, expected);
        assert!(rows.iter().all(Row::is_sound));
    }
}

#[test]
fn another_fault_a_lost_plant_or_a_failed_innocent_makes_a_row_unsound() {
    let fault = |unit: &str, fault: &str| hemiola_analyze::cycles::authority::UnitFault {
        unit: unit.into(),
        fault: fault.into(),
        count: 1,
        cycle: 1,
        at_ns: 1,
        samples: None,
        takeovers: 0,
        ended: Some("failed".into()),
    };
    let end = |unit: &str, state: &str| hemiola_analyze::cycles::authority::UnitEnd {
        unit: unit.into(),
        slot: 0,
        state: state.into(),
        commanded_ns: 0,
        user: None,
    };
    let mut control = Control {
        unit_faults: vec![fault("nan-1", "not-finite"), fault("nan-2", "missing")],
        units: vec![end("experimental", "active"), end("nan-1", "removed"), end("nan-2", "failed")],
        ..Control::default()
    };
    let outcome = Fails(&["not-finite"]);
    let judge = |control: &Control, lost: bool| judged(control, lost, "nan", 2, outcome);
    let row = judge(&control, false);
    assert_eq!((row.failed, row.blame_right, row.is_sound()), (2, 1, false));
    control.unit_faults.pop();
    control.unit_faults.push(fault("nan-2", "not-finite"));
    assert!(judge(&control, false).is_sound() && !judge(&control, true).is_sound());
    assert_eq!(judged(&control, false, "nan", 2, Nothing).blame_right, 0);
    assert_eq!(judged(&control, false, "never-added", 2, Nothing).blame_right, 0);
    control.units[0].state = "retired".into();
    assert_eq!(judge(&control, false).innocents_failed, 1);
    assert!(!judge(&control, false).is_sound());
}
