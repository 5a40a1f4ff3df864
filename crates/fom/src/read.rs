//! Modules from bytes, however they come.

use std::sync::Arc;

use hemiola_hla::data::FomModule;

use crate::archive;
use crate::check;
use crate::module::Module;
use crate::parse;
use crate::problem::{Kind, Problem};

/// Modules, shared by everyone who merges them.
pub type Modules = Vec<Arc<Module>>;

/// The modules that these bytes hold, and what is doubtful about them. Bytes are XML, or a ZIP archive of modules; what
/// they are is seen from their beginning. `name` is the designator, for problems and for lists of modules; in an
/// archive, entries have their own.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    read_beside(name, bytes, &[])
}

/// As [`read`]; what is one of the known modules, by name and text, is not read again, and nothing is said of it.
fn read_beside(
    name: &str,
    bytes: &[u8],
    known: &[Arc<Module>],
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    if !archive::is_archive(bytes) {
        return read_one(name, bytes, known).map(|(module, doubts)| (vec![module], doubts));
    }
    let (mut modules, mut problems) = (Vec::new(), Vec::new());
    for entry in archive::open(bytes, name)? {
        match read_one(&entry.name, &entry.content, known) {
            Ok((module, doubts)) => {
                modules.push(module);
                problems.extend(doubts);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok((modules, problems)) }
}

/// The modules that a federate sent, and what is doubtful about them. Those that are among the `known` ones, by name
/// and text, are these: every federate of a federation may send the same modules, and they are read once.
///
/// # Errors
/// Everything that is wrong with them; addresses are not followed.
pub fn open(
    module: &FomModule,
    known: &[Arc<Module>],
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    match module {
        FomModule::File { name, content } => read_beside(name, content, known),
        FomModule::Compressed(bytes) if archive::is_archive(bytes) => {
            read_beside("archive", bytes, known)
        }
        FomModule::Compressed(_) => {
            Err(vec![Problem::new(Kind::Unreadable, "the compressed module is no ZIP archive")])
        }
        FomModule::Url(url) => {
            let message = format!("{url} is no file that the federate could read");
            let hint = "the RTI follows no addresses: give the path of a file";
            Err(vec![Problem::new(Kind::Unopened, message).hint(hint)])
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
