//! `hemiola universe plan`: the steps from one definition to another one.

use std::process::ExitCode;

use hemiola_world_lang::Definition;
use hemiola_world_lang::definition::Universe;
use hemiola_world_plan::{Conversion, Plan};

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
        print!("{}", text(universe, &plan));
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

fn text(universe: &Universe, plan: &Plan) -> String {
    let mut text = match plan.steps.len() {
        0 => format!("universe {}: no steps\n", universe.name),
        1 => format!("universe {}: 1 step\n", universe.name),
        many => format!("universe {}: {many} steps\n", universe.name),
    };
    plan.steps.iter().for_each(|step| text += &format!("  {step}\n"));
    text += &missing("the redefinition is not possible", &plan.forward);
    text += &missing("no return is possible once a step was made", &plan.back);
    text
}

fn missing(consequence: &str, conversion: &Conversion) -> String {
    let mut text = String::new();
    for missing in &conversion.missing {
        text +=
            &format!("{consequence}: `{}` has no value: {}\n", missing.property, missing.reason);
        if !missing.stub.is_empty() {
            text += &format!("  write a converter: {}\n", missing.stub);
        }
    }
    text
}
