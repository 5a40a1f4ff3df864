//! `hemiola universe plan`: the steps from one definition to another one.

use std::process::ExitCode;
use std::sync::Arc;

use hemiola_world::{Cost, Revision};
use hemiola_world_lang::Definition;
use hemiola_world_lang::definition::Universe;

use super::definition;
use crate::args::UniversePlan;
use crate::diagnostics::Failure;

pub(crate) fn plan(args: &UniversePlan) -> Result<ExitCode, Failure> {
    let before = definition(&args.after, None)?;
    let after = definition(&args.files, Some(&before))?;
    let mut is_possible = true;
    for universe in after.universes {
        let former = Arc::new(former(&before, &universe)?.clone());
        let revision = Revision::between(&former, universe);
        is_possible &= revision.plan().forward.missing.is_empty();
        print!("{}{}", revision.plan().text(&former.name), costs(&revision));
    }
    Ok(if is_possible { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the redefinition writes for each row of which element.
fn costs(revision: &Revision) -> String {
    let line = |(element, Cost { bytes, instructions, .. }): (&str, Cost)| {
        format!(
            "cost of each row of `{element}`: {bytes} bytes in columns, {instructions} instructions of converters\n"
        )
    };
    revision.costs().map(line).collect()
}

fn former<'d>(before: &'d Definition, universe: &Universe) -> Result<&'d Universe, Failure> {
    let mut universes = before.universes.iter();
    universes.find(|other| other.name == universe.name).ok_or_else(|| {
        let name = &universe.name;
        Failure::bad_input(format!("error: the texts of --after define no universe `{name}`"))
    })
}
