//! Reads modules from the bytes of a file, an archive or a federate's call.

use std::sync::Arc;

use hemiola_hla::data::FomModule;

use crate::archive;
use crate::check;
use crate::module::Module;
use crate::parse;
use crate::problem::{Problem, ProblemKind};

/// Modules, shared by all models that contain them.
pub type Modules = Vec<Arc<Module>>;

/// Reads the modules in these bytes, which are XML or a ZIP archive of modules. Returns the modules and the warnings
/// about them. `name` is the designator, for problems and for lists of modules; the modules of an archive have the
/// names of their entries.
///
/// # Errors
/// All problems with the modules.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    read_beside(name, bytes, &[])
}

/// As [`read`], but a module that is among the known ones, by name and text, is not read again and gives no warnings.
fn read_beside(
    name: &str,
    bytes: &[u8],
    known: &[Arc<Module>],
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    if !archive::is_archive(bytes) {
        return read_one(name, bytes, known).map(|(module, warnings)| (vec![module], warnings));
    }
    let (mut modules, mut problems) = (Vec::new(), Vec::new());
    for entry in archive::open(bytes, name)? {
        match read_one(&entry.name, &entry.content, known) {
            Ok((module, warnings)) => {
                modules.push(module);
                problems.extend(warnings);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok((modules, problems)) }
}

/// Reads the modules that a federate sent. Returns them and the warnings about them. A module that is among the `known`
/// ones, by name and text, is shared: federates of a federation often send the same modules, which are read only once.
///
/// # Errors
/// All problems with the modules. URLs are not followed.
pub fn open(
    module: &FomModule,
    known: &[Arc<Module>],
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    match module {
        FomModule::File { name, content } => read_beside(name, content, known),
        FomModule::Compressed(bytes) if archive::is_archive(bytes) => {
            read_beside("archive", bytes, known)
        }
        FomModule::Compressed(_) => Err(vec![Problem::new(
            ProblemKind::Unreadable,
            "the compressed module is not a ZIP archive",
        )]),
        FomModule::Url(url) => {
            let message = format!("{url} is not a file that the federate could read");
            let hint = "the RTI does not follow URLs: give the path of a file";
            Err(vec![Problem::new(ProblemKind::Unopened, message).hint(hint)])
        }
    }
}

fn read_one(
    name: &str,
    bytes: &[u8],
    known: &[Arc<Module>],
) -> Result<(Arc<Module>, Vec<Problem>), Vec<Problem>> {
    let source = parse::source(name, bytes)?;
    if let Some(same) = known.iter().find(|one| *one.source == source) {
        return Ok((Arc::clone(same), Vec::new()));
    }
    let (module, mut problems) = parse::parse(source)?;
    problems.extend(check::check(&module));
    problems.sort_by_cached_key(Problem::order);
    if problems.iter().any(Problem::is_error) {
        Err(problems)
    } else {
        Ok((Arc::new(module), problems))
    }
}
