//! `hemiola model units` and `hemiola model figures`: what a model file can name.

use std::process::ExitCode;

use hemiola_measure::experiment::known;
use hemiola_measure::link;
use hemiola_model::export::tables;
use hemiola_model::summary::{inputs, listed_units};
use hemiola_probe::catalogue;
use hemiola_report::json::pretty;
use hemiola_report::table::Table;
use hemiola_report::terminal;
use serde::Serialize;

use crate::args::Listed;
use crate::diagnostics::Failure;

/// Lists the units of formulas, with those of a model if one is given.
pub(super) fn units(of: &Listed) -> Result<ExitCode, Failure> {
    let model = of.path.as_deref().map(|path| super::open(path, None)).transpose()?;
    let model = model.as_ref().map(|(_, model)| model);
    if of.json {
        print!("{}", pretty(&listed_units(model)));
    } else {
        println!("{}", terminal::table(&tables::units(model)));
    }
    Ok(ExitCode::SUCCESS)
}

/// A figure that `hemiola measure` knows.
#[derive(Serialize)]
struct Measurable {
    name: String,
    unit: &'static str,
}

/// Lists the figures of a model or, if none is given, those that `hemiola measure` knows on this machine.
pub(super) fn figures(of: &Listed) -> Result<ExitCode, Failure> {
    if let Some(path) = &of.path {
        let figures = inputs(&super::open(path, None)?.1);
        if of.json {
            print!("{}", pretty(&figures));
        } else {
            println!("{}", terminal::table(&tables::figures(&figures)));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let all = [catalogue(), link::catalogue()].concat();
    let known = known(&all).into_iter();
    if of.json {
        let known: Vec<_> = known.map(|(name, unit)| Measurable { name, unit }).collect();
        print!("{}", pretty(&known));
        return Ok(ExitCode::SUCCESS);
    }
    let rows = known.map(|(name, unit)| vec![name, unit.to_owned()]);
    let table = Table::new("Figures of merit", ["Figure", "Unit"], rows.collect())
        .with_prose(&[1])
        .with_note(
            "Measure some of them with: hemiola measure --only NAME…, those of a link with: hemiola measure link HOST",
        );
    println!("{}", terminal::table(&table));
    Ok(ExitCode::SUCCESS)
}
