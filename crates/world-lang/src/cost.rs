//! A bound of the operations of an expression or a body.

use crate::definition::{Expr, ExprKind, Over, Statement, Type, Universe};

impl Universe {
    /// Operations of one evaluation: one for each scalar of each intermediate result.
    pub(crate) fn expression_cost(&self, expr: &Expr) -> u64 {
        let own = self.scalars(&expr.ty);
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Constant(_) => own,
            ExprKind::SelfRow
            | ExprKind::LastSent
            | ExprKind::Local(_)
            | ExprKind::Field(..)
            | ExprKind::Index(..) => own.saturating_add(self.place_cost(expr)),
            ExprKind::Array(items) => self.sum(items),
            ExprKind::Convert(of) | ExprKind::Unary(_, of) => {
                own.saturating_add(self.expression_cost(of))
            }
            ExprKind::Binary(_, left, right) => own
                .saturating_add(self.scalars(&left.ty))
                .saturating_add(self.expression_cost(left))
                .saturating_add(self.expression_cost(right)),
            ExprKind::If(parts) => own.saturating_add(self.sum(&parts[..])),
            ExprKind::Builtin(_, arguments) => {
                let handled = arguments.iter().map(|argument| self.scalars(&argument.ty));
                handled.fold(own, u64::saturating_add).saturating_add(self.sum(arguments))
            }
            ExprKind::Call(id, arguments) => self.functions[id.index()]
                .cost
                .saturating_add(own)
                .saturating_add(self.sum(arguments)),
        }
    }

    fn sum(&self, items: &[Expr]) -> u64 {
        items.iter().fold(1, |sum, item| sum.saturating_add(self.expression_cost(item)))
    }

    /// The work to find a place: the indices, and, for an index that is computed, a choice between all items.
    fn place_cost(&self, expr: &Expr) -> u64 {
        match &expr.kind {
            ExprKind::Field(of, _) => self.place_cost(of).saturating_add(1),
            ExprKind::Index(of, index)
                if matches!(index.kind, ExprKind::Literal(_) | ExprKind::Constant(_)) =>
            {
                self.place_cost(of).saturating_add(1)
            }
            ExprKind::Index(of, index) => self
                .place_cost(of)
                .saturating_add(self.scalars(&of.ty))
                .saturating_add(self.expression_cost(index)),
            ExprKind::SelfRow | ExprKind::LastSent | ExprKind::Local(_) => 1,
            _ => self.expression_cost(expr),
        }
    }

    /// The scalars of a value; of a row one, because it is read where it stands.
    fn scalars(&self, ty: &Type) -> u64 {
        if ty.holds_row() { 1 } else { self.size(ty).0.max(1) }
    }

    /// Operations of one run of the statements.
    pub(crate) fn block_cost(&self, statements: &[Statement]) -> u64 {
        statements
            .iter()
            .fold(1, |sum, statement| sum.saturating_add(self.statement_cost(statement)))
    }

    fn statement_cost(&self, statement: &Statement) -> u64 {
        match statement {
            Statement::Let(_, value) | Statement::Return(value) => self.expression_cost(value),
            Statement::Assign(place, value) => {
                self.place_cost(place).saturating_add(self.expression_cost(value))
            }
            Statement::If(condition, then, otherwise) => self
                .expression_cost(condition)
                .saturating_add(self.block_cost(then))
                .saturating_add(self.block_cost(otherwise)),
            Statement::ForEach { over, body, .. } => self.loop_cost(over, self.block_cost(body)),
        }
    }

    fn loop_cost(&self, over: &Over, body: u64) -> u64 {
        match over {
            Over::Rows { within, at_most, .. } => {
                let radius = within.as_ref().map_or(0, |radius| self.expression_cost(radius));
                body.saturating_add(1).saturating_mul((*at_most).into()).saturating_add(radius)
            }
            Over::Items(items) => {
                let length = match &items.ty {
                    Type::Array(_, length) | Type::List(_, length) => *length,
                    _ => 1,
                };
                body.saturating_add(1)
                    .saturating_mul(length.into())
                    .saturating_add(self.expression_cost(items))
            }
        }
    }
}
