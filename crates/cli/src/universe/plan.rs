//! `hemiola universe plan`: the steps from one definition to another one.

use std::process::ExitCode;

use hemiola_world_lang::Definition;
use hemiola_world_lang::definition::Universe;
use hemiola_world_plan::Plan;

use super::definition;
use crate::args::UniversePlan;
use crate::diagnostics::Failure;

pub(crate) fn plan(args: &UniversePlan) -> Result<ExitCode, Failure> {
    let before = definition(&args.after, None)?;
    let after = definition(&args.files, Some(&before))?;
    let mut is_possible = true;
    for universe in &after.universes {
        let plan = Plan::of(former(&before, universe)?, universe);
        is_possible &= plan.forward.missing.is_empty();
        print!("{}", plan.text(&universe.name));
    }
    Ok(if is_possible { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn former<'d>(before: &'d Definition, universe: &Universe) -> Result<&'d Universe, Failure> {
    let mut universes = before.universes.iter();
    universes.find(|other| other.name == universe.name).ok_or_else(|| {
        let name = &universe.name;
        Failure::bad_input(format!("error: the texts of --after define no universe `{name}`"))
    })
}
