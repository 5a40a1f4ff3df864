//! From text to plan.

use crate::check;
use crate::document;
use crate::facts::{Facts, Overrides};
use crate::plan::Plan;
use crate::schema::SCENARIO;
use hemiola_diagnostic::Problem;

/// The plan of a scenario in TOML.
///
/// # Errors
/// See [`document::read`].
pub fn read(source: &str, facts: &Facts<'_>, overrides: &Overrides) -> Result<Plan, Vec<Problem>> {
    document::read(source, &SCENARIO, |root| check::check(root, facts, overrides))
}
