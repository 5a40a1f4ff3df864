//! The tables of Simplex programs: the time line of authority, the faults that were found, and the units.

use hemiola_report::table::{Detail, Table};
use hemiola_report::text::{NONE, count};

use crate::cycles::authority::{Command, Control, UnitEnd, UnitFault};
use crate::cycles::summary::Summary;

/// How many changes of authority the terminal shows for each run.
const CHANGES_SHOWN_MAX: usize = 8;

/// The tables of all programs with a decision module.
pub(super) fn tables(summary: &Summary, detail: Detail) -> [Table; 3] {
    [unit_faults(summary), authority(summary, detail), units(summary)]
}

/// A row for each item of each run, behind the program and the number of the run.
fn rows<'s, T: 's>(
    summary: &'s Summary,
    items: impl Fn(&'s Control) -> &'s [T],
    row: impl Fn(&T) -> Vec<String>,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for variant in &summary.variants {
        for run in &variant.runs {
            let control = run.control.as_ref();
            for item in control.map(&items).unwrap_or_default() {
                let head = [variant.name.clone(), run.number.to_string()];
                rows.push(head.into_iter().chain(row(item)).collect());
            }
        }
    }
    rows
}

fn seconds(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

fn authority(summary: &Summary, detail: Detail) -> Table {
    let number = |value: Option<f64>, scale: f64, digits: usize| {
        value.map_or(NONE.into(), |value| format!("{:.digits$}", value * scale))
    };
    // The pendulum's state in the units in which people think of it; that of another plant in its own.
    let [first, second] = match summary.measured.as_slice() {
        [first, second] => [(first.as_str(), 1.0, 3), (second.as_str(), 1.0, 3)],
        _ => [("Position, mm", 1000.0, 1), ("Angle, °", 1f64.to_degrees(), 2)],
    };
    let row = |command: &Command| {
        vec![
            seconds(command.at_ns),
            command.source.clone(),
            seconds(command.for_ns),
            command.because.clone().unwrap_or_else(|| NONE.into()),
            number(command.v, 1.0, 3),
            number(command.v_predicted, 1.0, 3),
            number(command.v_limit, 1.0, 3),
            number(command.position_m, first.1, first.2),
            number(command.angle_rad, second.1, second.2),
            format!("{:.2}", command.volts),
        ]
    };
    let shown = |control: &Control| match detail {
        Detail::Short => control.authority.len().min(CHANGES_SHOWN_MAX),
        Detail::Full => control.authority.len(),
    };
    let runs = summary.variants.iter().flat_map(|variant| &variant.runs);
    let left_out: u64 = runs
        .filter_map(|run| run.control.as_ref())
        .map(|control| control.changes - shown(control) as u64)
        .sum();
    let left_out = match left_out {
        0 => String::new(),
        many => format!(" Not shown: {} later changes.", count(many)),
    };
    let heads = "Program|Run|At, s|Commands|For, s|Because|V|Predicted|Limit";
    let heads = heads.split('|').chain([first.0, second.0, "Voltage"]);
    let rows = rows(summary, |control| &control.authority[..shown(control)], row);
    Table::new("Time line of authority", heads, rows).with_prose(&[3, 5]).with_note(format!(
        "At: from the first release to its first voltage, which is the last column. V: Lyapunov value of the estimated \
         state; predicted with the answer of the active unit. Limit: of the prediction for an answer that was refused, \
         of V for a return of control.{left_out}"
    ))
}

fn unit_faults(summary: &Summary) -> Table {
    let row = |fault: &UnitFault| {
        vec![
            fault.unit.clone(),
            fault.fault.clone(),
            seconds(fault.at_ns),
            fault.cycle.to_string(),
            fault.samples.map_or(NONE.into(), count),
            count(fault.count),
            remedy(fault),
        ]
    };
    let heads = "Program|Run|Unit|Fault|First, s|Cycle|Samples|Times|What was done";
    let rows = rows(summary, |control| &control.unit_faults, row);
    let title = "Faults that the decision module found";
    Table::new(title, heads.split('|'), rows).with_prose(&[2, 3, 8]).with_note(
        "First: from the first release to when it was first found. Samples: from the unit's last acceptable answer \
         to then, 1 for a fault found with the first sample. Times: cycles in which it was found.",
    )
}

/// The consequences of a fault, in words.
fn remedy(fault: &UnitFault) -> String {
    let took_over = match fault.takeovers {
        0 => None,
        1 => Some("control taken away".to_owned()),
        many => Some(format!("control taken away {} times", count(many))),
    };
    let ended = fault.ended.as_ref().map(|state| format!("unit {state}"));
    let all: Vec<String> = took_over.into_iter().chain(ended).collect();
    match (all.is_empty(), fault.fault.as_str()) {
        (false, _) => all.join(", "),
        (true, "starved") => "excused".into(),
        (true, _) if fault.samples.is_some() => "answer not used".into(),
        (true, _) => "reported".into(),
    }
}

fn units(summary: &Summary) -> Table {
    let row = |unit: &UnitEnd| {
        vec![
            unit.unit.clone(),
            unit.slot.to_string(),
            unit.state.clone(),
            seconds(unit.commanded_ns),
            unit.user.map_or("the run's".into(), |user| user.to_string()),
        ]
    };
    let heads = "Program|Run|Unit|Slot|State at the end|Commanded, s|User".split('|');
    Table::new("Units", heads, rows(summary, |control| &control.units, row)).with_prose(&[2, 4])
}
