//! `hemiola universe watch`: a manager that prints what it is told.

use std::io::{self, Write};
use std::process::ExitCode;

use hemiola_manager::message::Rows;
use hemiola_manager::{Manager, ManagerError, Registration, Told, Value};
use hemiola_units::Instant;
use serde_json::json;

use crate::args;
use crate::diagnostics::Failure;

pub(crate) fn watch(args: &args::UniverseWatch) -> Result<ExitCode, Failure> {
    let registration = Registration {
        monitor: args.monitor.clone(),
        name: Some(args.name.clone()),
        universe: args.chosen.run.clone(),
        queue: args.queue,
        every_step: args.steps.is_some(),
    };
    let mut manager = Manager::register(&registration).map_err(Failure::failed)?;
    let (mut out, mut steps) = (io::stdout().lock(), 0);
    let columns: Vec<String> = manager.columns().into_iter().map(str::to_owned).collect();
    loop {
        let told = match manager.next(Instant::MAX) {
            Ok(Some(told)) => told,
            Ok(None) => continue,
            Err(ManagerError::UniverseEnded) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(Failure::failed(error)),
        };
        let is_complete = matches!(told, Told::Step { .. });
        let line = Printer { json: args.json, columns: &columns };
        // A reader of the output that is gone ends the command.
        if line.print(&mut out, told).and_then(|()| out.flush()).is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        steps += u64::from(is_complete);
        if args.steps.is_some_and(|most| steps >= most) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

struct Printer<'c> {
    json: bool,
    columns: &'c [String],
}

impl Printer<'_> {
    fn print(&self, out: &mut impl Write, told: Told<'_>) -> io::Result<()> {
        match told {
            Told::Births(rows) => self.rows(out, "born", rows),
            Told::Rows(rows) => self.rows(out, "row", rows),
            Told::Deaths(deaths) => {
                for entity in deaths.entities() {
                    let step = deaths.step;
                    if self.json {
                        let line = json!({ "step": step, "event": "died", "entity": entity });
                        writeln!(out, "{line}")?;
                    } else {
                        writeln!(out, "step {step}: {entity} died")?;
                    }
                }
                Ok(())
            }
            Told::Step { step, left } if self.json => {
                writeln!(out, "{}", json!({ "step": step, "event": "step", "left": left }))
            }
            Told::Step { step, left } if left > 0 => {
                writeln!(out, "step {step}: {left} births, rows and deaths are left for later")
            }
            _ => Ok(()),
        }
    }

    fn rows(&self, out: &mut impl Write, event: &str, rows: Rows<'_>) -> io::Result<()> {
        let Rows { step, element, .. } = rows;
        for row in 0..rows.len() {
            let entity = rows.entity(row);
            let values = self.columns.iter().enumerate();
            let values = values.filter_map(|(at, name)| Some((name, rows.value(at, row)?)));
            if self.json {
                let values: serde_json::Map<String, serde_json::Value> =
                    values.map(|(name, value)| (name.clone(), json_value(value))).collect();
                let line = json!({
                    "step": step, "event": event, "element": element, "entity": entity, "values": values,
                });
                writeln!(out, "{line}")?;
            } else {
                let values: Vec<String> =
                    values.map(|(name, value)| format!("{name} = {}", text(value))).collect();
                let born = if event == "born" { " is born:" } else { ":" };
                writeln!(out, "step {step}: {element} {entity}{born} {}", values.join("  "))?;
            }
        }
        Ok(())
    }
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real32(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(value) => format!("{value:?}"),
    }
}

fn json_value(value: Value<'_>) -> serde_json::Value {
    match value {
        Value::Boolean(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Real32(value) => json!(value),
        Value::Real(value) => json!(value),
        Value::Text(value) => json!(value),
    }
}
