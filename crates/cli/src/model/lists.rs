//! `hemiola model units` and `hemiola model figures`: what a model file can name.

use std::process::ExitCode;

use hemiola_measure::experiment::known;
use hemiola_measure::link;
use hemiola_model::export::tables;
use hemiola_probe::catalogue;
use hemiola_report::table::Table;
use hemiola_report::terminal;

use crate::diagnostics::Failure;

/// Lists the units of formulas.
pub(super) fn units() -> Result<ExitCode, Failure> {
    println!("{}", terminal::table(&tables::units()));
    Ok(ExitCode::SUCCESS)
}

/// Lists the figures that `hemiola measure` knows on this machine.
pub(super) fn figures() -> Result<ExitCode, Failure> {
    let all = [catalogue(), link::catalogue()].concat();
    let rows = known(&all).into_iter().map(|(name, unit)| vec![name, unit.to_owned()]);
    let table = Table::new("Figures of merit", ["Figure", "Unit"], rows.collect())
        .with_prose(&[1])
        .with_note(
            "Measure some of them with: hemiola measure --only NAME…, those of a link with: hemiola measure link HOST",
        );
    println!("{}", terminal::table(&table));
    Ok(ExitCode::SUCCESS)
}
