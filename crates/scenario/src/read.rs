//! Reading a scenario.

use crate::check;
use crate::document::{self, Declared, Table};
use crate::facts::{Facts, Overrides};
use crate::keys::Scenario;
use crate::plan::Plan;
use hemiola_diagnostic::Problem;

/// The keys of a scenario.
pub static TABLE: &Table = Scenario::TABLE;

/// Reads a scenario in TOML and returns its plan.
///
/// # Errors
/// See [`document::read`].
pub fn read(source: &str, facts: &Facts<'_>, overrides: &Overrides) -> Result<Plan, Vec<Problem>> {
    document::read(source, TABLE, |root| {
        check::check(&Scenario::from_section(root), facts, overrides)
    })
}
