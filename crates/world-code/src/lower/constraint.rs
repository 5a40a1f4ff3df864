//! Constraints in two parts, so that what was sent is looked at for few rows only.

use hemiola_world_lang::definition::{
    BinaryOperator, Expr, ExprKind, Function, FunctionId, Statement, Universe,
};

use super::{CodeError, lowered};
use crate::code::Program;
use crate::scalar::Texts;

/// A constraint as one or two programs, each with one truth value as its result.
///
/// A constraint is often a conjunction of conditions on the row, such as a box, and of conditions that compare the row
/// with what was sent last. The first ones choose the few rows for which the others have to be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The leading conditions that do not read the row last sent; if there are none, all conditions.
    pub first: Program,
    /// The other conditions, of the rows for which `first` holds.
    pub then: Option<Program>,
    /// The columns of the own table that `then` reads, in ascending order.
    pub then_reads: Vec<u32>,
}

impl Constraint {
    /// The columns of the own table that the row last sent is read in, in the order of
    /// [`Operand::LastSent`](crate::code::Operand::LastSent) in the program that reads it.
    #[must_use]
    pub fn last_sent(&self) -> &[u32] {
        &self.then.as_ref().unwrap_or(&self.first).last_sent
    }
}

/// The code of a constraint. The same definition gives the same code.
///
/// # Errors
/// If the constraint exceeds one of the [`limits`](crate::limits).
///
/// # Panics
/// If the function has no result.
pub fn compile_constraint(
    universe: &Universe,
    function: FunctionId,
    texts: &mut Texts,
) -> Result<Constraint, CodeError> {
    let function = &universe.functions[function.index()];
    let Some(Statement::Return(result)) = function.body.last() else {
        panic!("`{}` ends without a result", function.name);
    };
    let mut conditions = Vec::new();
    split(result, &mut conditions);
    let mut part = |conditions: &[&Expr]| lowered(universe, &with(function, conditions), texts);
    // More conditions never read less, so the first one that reads what was sent is found by halving.
    let (mut leading, mut end) = (0, conditions.len());
    while leading < end {
        let middle = (leading + end).div_ceil(2);
        if part(&conditions[..middle])?.reads_last_sent() {
            end = middle - 1;
        } else {
            leading = middle;
        }
    }
    let (first, then) = conditions.split_at(leading);
    match (first, then) {
        (all, []) | ([], all) => {
            Ok(Constraint { first: part(all)?, then: None, then_reads: Vec::new() })
        }
        (first, then) => {
            let (first, then) = (part(first)?, part(then)?);
            let then_reads = then.own_columns().into_iter().collect();
            Ok(Constraint { first, then: Some(then), then_reads })
        }
    }
}

/// The conditions of a conjunction, in the order in which they are evaluated.
fn split<'e>(expr: &'e Expr, conditions: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary(BinaryOperator::And, left, right) => {
            split(left, conditions);
            split(right, conditions);
        }
        _ => conditions.push(expr),
    }
}

/// The function with the conjunction of some conditions as its result.
fn with(function: &Function, conditions: &[&Expr]) -> Function {
    let joined = conditions.iter().map(|condition| (*condition).clone()).reduce(|left, right| {
        let (ty, span) = (left.ty.clone(), left.span);
        let kind = ExprKind::Binary(BinaryOperator::And, Box::new(left), Box::new(right));
        Expr { kind, ty, span }
    });
    let mut function = function.clone();
    function.body.pop();
    function.body.extend(joined.map(Statement::Return));
    function
}
