//! `hemiola unit`: lists and changes the units of a running scenario.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use hemiola_runner::check_module;
use hemiola_runner::control::{NewUnit, Scenarios, UnitAnswer, UnitPair, UnitRequest, ask, watch};

use crate::args::{Action, New, Unit, UnitUser};
use crate::diagnostics::{Failure, shown};

pub(crate) fn unit(args: Unit) -> Result<ExitCode, Failure> {
    let request = match args.action {
        Action::List => UnitRequest::List,
        Action::Add(new) => UnitRequest::Add(described(new)?),
        Action::Replace { old, new, also } => {
            let mut pairs = vec![UnitPair { old, new: described(new)? }];
            for words in also.chunks_exact(3) {
                pairs.push(UnitPair { old: words[0].clone(), new: described(another(words))? });
            }
            UnitRequest::Replace(pairs)
        }
        Action::Resume => UnitRequest::Resume,
        Action::Watch { json } => return watched(args.run.as_deref(), json),
        Action::Remove { name } => UnitRequest::Remove { name },
        Action::Promote { name } => UnitRequest::Promote { name },
    };
    match ask::<Scenarios>(args.run.as_deref(), &request).map_err(Failure::failed)? {
        UnitAnswer::Done(text) => println!("{text}"),
        UnitAnswer::Refused(reason) => return Err(Failure::failed(reason)),
        // Only for those who watch.
        UnitAnswer::Event(_) => {}
        UnitAnswer::Units { variant, commanding, units } => {
            println!("{variant}: {commanding} has the plant");
            println!(
                "{:<4} {:<20} {:<9} {:>8} {:>9} {:>7} {:>7}  last fault",
                "slot", "unit", "state", "pid", "answers", "faults", "strikes"
            );
            for unit in units {
                println!(
                    "{:<4} {:<20} {:<9} {:>8} {:>9} {:>7} {:>7}  {}",
                    unit.slot,
                    unit.name,
                    unit.state,
                    if unit.pid == 0 { "-".to_owned() } else { unit.pid.to_string() },
                    unit.answers,
                    unit.faults,
                    unit.strikes,
                    unit.last_fault
                );
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints every event until the run ends.
fn watched(run: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let mut out = std::io::stdout().lock();
    let refused = watch(run, |event| {
        if json {
            serde_json::to_writer(&mut out, event)?;
            writeln!(out)
        } else {
            writeln!(out, "{event}")
        }?;
        out.flush()
    });
    match refused.map_err(Failure::failed)? {
        Some(reason) => Err(Failure::failed(reason)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The new unit of `--also OLD NEW GAIN`.
fn another(words: &[String]) -> New {
    let (name, program) = (words[1].clone(), words[2].clone());
    let (gain, command, wasm) = match Path::new(&program).extension() {
        Some(kind) if kind == "wasm" || kind == "wat" => (None, Vec::new(), Some(program.into())),
        _ if program.contains('/') => (None, vec![program], None),
        _ => (Some(program), Vec::new(), None),
    };
    New { name, gain, wasm, priority: None, budget: None, user: None, command }
}

/// Makes the program's path absolute, because the runner works in another folder than this command.
fn described(new: New) -> Result<NewUnit, Failure> {
    let New { name, gain, wasm, priority, budget, user, mut command } = new;
    let wasm = wasm.as_deref().map(module).transpose()?;
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        let path = std::path::absolute(&*program)
            .map_err(|error| Failure::failed(format!("{program} is not a path: {error}")))?;
        if !path.exists() {
            return Err(Failure::failed(format!("{} does not exist", shown(path))));
        }
        *program = path.to_string_lossy().into_owned();
    }
    let user = user.map(|user| match user {
        UnitUser::Own => hemiola_scenario::UnitUser::Own,
        UnitUser::Run => hemiola_scenario::UnitUser::Run,
    });
    Ok(NewUnit { name, gain, command, wasm, priority, budget, user })
}

/// The absolute path of a module that can be a unit.
fn module(file: &Path) -> Result<String, Failure> {
    check_module(file).map_err(|reason| Failure::bad_input(format!("error: --wasm: {reason}")))?;
    let path = std::path::absolute(file).map_err(Failure::failed)?;
    Ok(path.to_string_lossy().into_owned())
}
