//! Reads modules from the bytes of a file, an archive or a federate's call.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::data::FomModule;

use crate::archive;
use crate::check;
use crate::memory;
use crate::module::Module;
use crate::parse;
use crate::problem::{Problem, ProblemKind, Source};

/// Modules, shared by all models that contain them.
pub type Modules = Vec<Arc<Module>>;

/// The memory that reading modules may take, in bytes. What would take more is rejected before it is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryMax {
    /// Of the XML document that one module is parsed into.
    pub document: usize,
    /// Of everything that is in memory at once, besides the bytes that were given and their text: the modules read
    /// before, the document, and the module that is made from it.
    pub reading: usize,
}

impl MemoryMax {
    /// No limit.
    pub const NONE: Self = Self { document: usize::MAX, reading: usize::MAX };

    /// The rest, when a module has been read.
    #[must_use]
    pub fn after(self, module: &Module) -> Self {
        Self { reading: self.reading.saturating_sub(module.memory()), ..self }
    }
}

/// Modules that have been read before, by name and text.
#[derive(Clone, Debug, Default)]
pub struct Known<'m>(BTreeMap<&'m Source, &'m Arc<Module>>);

impl<'m> Known<'m> {
    /// Collects modules.
    #[must_use]
    pub fn of(modules: &'m [Arc<Module>]) -> Self {
        Self(modules.iter().map(|module| (&*module.source, module)).collect())
    }
}

/// Returns an estimate of the text in a module of these bytes: their number, or what an archive claims to unpack to.
/// An archive with an entry that unpacks to more than it claims is rejected.
#[must_use]
pub fn expanded_len(bytes: &[u8]) -> usize {
    if archive::is_archive(bytes) { archive::expanded_len(bytes) } else { bytes.len() }
}

/// Reads the modules in these bytes, which are XML or a ZIP archive of modules. Returns the modules and the problems
/// with them that are not [fatal](Problem::is_fatal). `name` is the designator, for problems and for lists of modules;
/// the modules of an archive have the names of their entries.
///
/// # Errors
/// All problems with the modules, if one of them is fatal.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    read_beside(name, bytes, &Known::default(), MemoryMax::NONE)
}

/// As [`read`], but a module that is among the known ones, by name and text, is not read again and gives no warnings.
fn read_beside(
    name: &str,
    bytes: &[u8],
    known: &Known<'_>,
    memory_max: MemoryMax,
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    if !archive::is_archive(bytes) {
        return read_one(name, bytes, known, memory_max)
            .map(|(module, warnings)| (vec![module], warnings));
    }
    let (mut modules, mut problems, mut left) = (Vec::new(), Vec::new(), memory_max);
    for entry in archive::open(bytes, name)? {
        match read_one(&entry.name, &entry.content, known, left) {
            Ok((module, warnings)) => {
                left = left.after(&module);
                modules.push(module);
                problems.extend(warnings);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Problem::is_fatal) { Err(problems) } else { Ok((modules, problems)) }
}

/// Reads the modules that a federate sent. Returns them and the problems with them that are not fatal. A module that is
/// among the `known` ones, by name and text, is shared: federates often send the same modules.
/// A module is rejected before it is parsed if that would need more memory than `memory_max`.
///
/// # Errors
/// All problems with the modules, if one of them is fatal. URLs are not followed.
pub fn open(
    module: &FomModule,
    known: &Known<'_>,
    memory_max: MemoryMax,
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    match module {
        FomModule::File { name, content } => read_beside(name, content, known, memory_max),
        FomModule::Compressed(bytes) if archive::is_archive(bytes) => {
            read_beside("archive", bytes, known, memory_max)
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
    known: &Known<'_>,
    memory_max: MemoryMax,
) -> Result<(Arc<Module>, Vec<Problem>), Vec<Problem>> {
    let source = parse::source(name, bytes)?;
    if let Some(same) = known.0.get(&source) {
        return Ok((Arc::clone(same), Vec::new()));
    }
    let document = memory::document(&source.text);
    let reading = memory::reading(&source.text, document);
    let limits = [
        (ProblemKind::TooLarge, "parsing", document, memory_max.document),
        (ProblemKind::Unaffordable, "reading", reading, memory_max.reading),
    ];
    for (kind, what, memory, most) in limits {
        if memory > most {
            let message = format!("{name}: {what} it takes {memory} bytes of memory");
            let hint = format!("at most {most} bytes are allowed: divide the module");
            return Err(vec![Problem::new(kind, message).hint(hint)]);
        }
    }
    let (module, mut problems) = parse::parse(source)?;
    problems.extend(check::check(&module));
    problems.sort_by_cached_key(Problem::order);
    if problems.iter().any(Problem::is_fatal) {
        Err(problems)
    } else {
        Ok((Arc::new(module), problems))
    }
}
