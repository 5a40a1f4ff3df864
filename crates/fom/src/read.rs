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
    if !archive::is_archive(bytes) {
        return read_one(name, bytes).map(|(module, doubts)| (vec![Arc::new(module)], doubts));
    }
    let (mut modules, mut problems) = (Vec::new(), Vec::new());
    for entry in archive::open(bytes, name)? {
        match read_one(&entry.name, &entry.content) {
            Ok((module, doubts)) => {
                modules.push(Arc::new(module));
                problems.extend(doubts);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok((modules, problems)) }
}

/// The modules that a federate sent, and what is doubtful about them.
///
/// # Errors
/// Everything that is wrong with them; addresses are not followed.
pub fn open(module: &FomModule) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    match module {
        FomModule::File { name, content } => read(name, content),
        FomModule::Compressed(bytes) if archive::is_archive(bytes) => read("archive", bytes),
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

fn read_one(name: &str, bytes: &[u8]) -> Result<(Module, Vec<Problem>), Vec<Problem>> {
    let (module, mut problems) = parse::parse(name, bytes)?;
    problems.extend(check::check(&module));
    problems.sort_by_cached_key(Problem::order);
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok((module, problems)) }
}
