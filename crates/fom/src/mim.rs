//! The standard management module, which is part of every federation object model.
//!
//! `mim/standard.xml` contains the tables of IEEE 1516.1-2025 and IEEE 1516.2-2025 without their prose;
//! `mim/names_of_2010.xml` contains the entries that only the tables of 2010 have.

use std::sync::{Arc, LazyLock};

use crate::module::Module;
use crate::parse;
use crate::problem::Source;

/// The designator of the standard management module. A federate that names it as its own management module gets
/// `DesignatorIsHLAstandardMIM`.
pub const STANDARD_MIM: &str = "HLAstandardMIM";

const NAMES_OF_2010: &str = "names of 1516-2010";

/// Returns the text of the standard management module, which the management object model reports.
#[must_use]
pub const fn standard_mim_text() -> &'static str {
    include_str!("mim/standard.xml")
}

static STANDARD: LazyLock<Arc<Module>> = LazyLock::new(|| own(STANDARD_MIM, standard_mim_text()));

static OF_2010: LazyLock<Arc<Module>> =
    LazyLock::new(|| own(NAMES_OF_2010, include_str!("mim/names_of_2010.xml")));

fn own(name: &str, text: &str) -> Arc<Module> {
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    let (module, problems) = parse::parse(source).expect("the standard module is readable");
    assert!(problems.is_empty(), "the standard module is valid: {problems:?}");
    Arc::new(module)
}

/// Returns the standard management module of 2025.
pub(crate) fn standard() -> Arc<Module> {
    Arc::clone(&STANDARD)
}

/// Returns the names that modules of 2010 may refer to and that 2025 no longer has.
pub(crate) fn names_of_2010() -> Arc<Module> {
    Arc::clone(&OF_2010)
}

/// Whether a module is one of these two.
pub(crate) fn is_standard(module: &Module) -> bool {
    [&STANDARD, &OF_2010].iter().any(|own| Arc::ptr_eq(&own.source, &module.source))
}
