//! The management module that every federation object model stands on.
//!
//! `mim/standard.xml` is written from the tables of IEEE 1516.1-2025 and IEEE 1516.2-2025, without their prose;
//! `mim/names_of_2010.xml` has what only the tables of 2010 have.

use std::sync::{Arc, LazyLock};

use crate::module::Module;
use crate::parse;
use crate::problem::Source;

/// The designator of the standard management module. A federate that gives it as its own gets
/// `DesignatorIsHLAstandardMIM`.
pub const STANDARD_MIM: &str = "HLAstandardMIM";

const NAMES_OF_2010: &str = "names of 1516-2010";

/// The text of the standard management module, which the management object model reports.
#[must_use]
pub const fn standard_mim_text() -> &'static str {
    include_str!("mim/standard.xml")
}

static STANDARD: LazyLock<Arc<Module>> = LazyLock::new(|| own(STANDARD_MIM, standard_mim_text()));

static OF_2010: LazyLock<Arc<Module>> =
    LazyLock::new(|| own(NAMES_OF_2010, include_str!("mim/names_of_2010.xml")));

fn own(name: &str, text: &str) -> Arc<Module> {
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    let (module, problems) = parse::parse(source).expect("our own module is read");
    assert!(problems.is_empty(), "our own module is sound: {problems:?}");
    Arc::new(module)
}

/// The standard management module of 2025.
pub(crate) fn standard() -> Arc<Module> {
    Arc::clone(&STANDARD)
}

/// What modules of 2010 may refer to, and 2025 has no more.
pub(crate) fn names_of_2010() -> Arc<Module> {
    Arc::clone(&OF_2010)
}

/// Is it one of the two?
pub(crate) fn is_standard(module: &Module) -> bool {
    [&STANDARD, &OF_2010].iter().any(|own| Arc::ptr_eq(&own.source, &module.source))
}
