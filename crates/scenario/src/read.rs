//! From text to plan.

use std::ops::Range;

use toml::de::DeTable;

use crate::check;
use crate::facts::{Facts, Overrides};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::schema::SCENARIO;
use crate::section::Section;
use crate::shape;

/// The longest scenario: thousands of times what a person writes.
const SOURCE_LEN_MAX: usize = 1 << 20;

/// The plan of a scenario in TOML.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text; first what has no place in it, because
/// it is missing or comes from the command line.
/// Where a line is no TOML, only its syntax and the shape of the other lines are reported, because
/// what it would have said is unknown.
pub fn read(source: &str, facts: &Facts<'_>, overrides: &Overrides) -> Result<Plan, Vec<Problem>> {
    if source.len() > SOURCE_LEN_MAX {
        let message = format!("the scenario is longer than {} KiB", SOURCE_LEN_MAX / 1024);
        return Err(vec![Problem::new(None, message)]);
    }
    let (document, errors) = DeTable::parse_recoverable(source);
    // What is missing from the whole document is missing nowhere; marked so until the end.
    let start = 0..0;
    let mut problems = Vec::new();
    shape::check(document.get_ref(), &SCENARIO, start.clone(), &mut problems);
    if !errors.is_empty() {
        let syntax: Vec<Problem> = errors
            .iter()
            .map(|error| Problem::new(error.span().unwrap_or(start.clone()), error.message()))
            .collect();
        let unsure: Vec<Range<usize>> = syntax.iter().map(|s| lines(source, s)).collect();
        problems.retain(|problem| {
            let at = problem.span.clone().unwrap_or(start.clone());
            at != start && !unsure.iter().any(|lines| lines.contains(&at.start))
        });
        problems.extend(syntax);
        return Err(in_order(problems));
    }
    let root = Section::new(document.get_ref(), start);
    let (plan, found) = check::check(&root, facts, overrides);
    problems.extend(found);
    if problems.is_empty() { Ok(plan) } else { Err(in_order(problems)) }
}

/// The bytes of the lines a problem is about.
fn lines(source: &str, problem: &Problem) -> Range<usize> {
    let at = problem.span.clone().unwrap_or(0..0);
    let bytes = source.as_bytes();
    let before = &bytes[..at.start.min(bytes.len())];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let after = &bytes[at.end.clamp(start, bytes.len())..];
    let end = after
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |length| bytes.len() - after.len() + length);
    start..end + 1
}

fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in &mut problems {
        problem.span.take_if(|span| *span == (0..0));
    }
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| (span.start, span.end)));
    problems
}
