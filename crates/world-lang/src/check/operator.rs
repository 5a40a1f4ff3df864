//! Operators and the functions of the language: number types, shapes and dimensions.

use hemiola_quantity::Dimension;

use super::context::Context;
use super::expression::{arguments_of, literal};
use super::types::literal_as;
use super::{Checked, Checker};
use crate::definition::{
    BinaryOperator, Builtin, Expr, ExprKind, Type, UnaryOperator, Value, Width,
};
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax;

const NUMBER: Type = Type::Real(Width::Double, Dimension::NONE);

impl Checker<'_> {
    pub(super) fn unary(
        &mut self,
        cx: &mut Context,
        span: Span,
        operator: UnaryOperator,
        operand: &syntax::Expr,
    ) -> Checked<Expr> {
        let operand = self.expression(cx, operand)?;
        if operator == UnaryOperator::Not {
            let operand = self.coerce(operand, &Type::Boolean)?;
            return Ok(Expr {
                kind: ExprKind::Unary(operator, Box::new(operand)),
                ty: Type::Boolean,
                span,
            });
        }
        if operand.ty.number().is_none() {
            return self.not_numbers(span, "-", &operand);
        }
        let ty = operand.ty.clone();
        match operand.kind {
            ExprKind::Literal(Value::Integer(number)) => {
                Ok(literal(Value::Integer(-number), ty, span))
            }
            ExprKind::Literal(Value::Double(number)) => {
                Ok(literal(Value::Double(-number), ty, span))
            }
            _ => Ok(Expr { kind: ExprKind::Unary(operator, Box::new(operand)), ty, span }),
        }
    }

    pub(super) fn binary(
        &mut self,
        span: Span,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
    ) -> Checked<Expr> {
        use BinaryOperator as B;
        let (left, right, ty) = match operator {
            B::And | B::Or => {
                let (left, right) =
                    (self.coerce(left, &Type::Boolean), self.coerce(right, &Type::Boolean));
                (left?, right?, Type::Boolean)
            }
            B::Equal | B::Unequal | B::Less | B::AtMost | B::More | B::AtLeast => {
                self.comparison(span, operator, left, right)?
            }
            B::Plus | B::Minus => {
                for side in [&left, &right] {
                    if side.ty.number().is_none() {
                        return self.not_numbers(span, operator.text(), side);
                    }
                }
                let (left, right) =
                    self.same_numbers(left, right, &format!("`{}`", operator.text()))?;
                if !left.ty.same_shape(&right.ty) {
                    return self.shapes(span, operator.text(), &left, &right);
                }
                let ty = left.ty.clone();
                (left, right, ty)
            }
            B::Times | B::Over => self.product(span, operator, left, right)?,
        };
        Ok(Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), ty, span })
    }

    fn comparison(
        &mut self,
        span: Span,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
    ) -> Checked<(Expr, Expr, Type)> {
        let equality = matches!(operator, BinaryOperator::Equal | BinaryOperator::Unequal);
        let texts = matches!((&left.ty, &right.ty), (Type::String(_), Type::String(_)));
        let booleans = left.ty == Type::Boolean && right.ty == Type::Boolean;
        if equality && (texts || booleans) {
            return Ok((left, right, Type::Boolean));
        }
        for side in [&left, &right] {
            if !matches!(side.ty, Type::Integer | Type::Real(..)) {
                return self.not_numbers(span, operator.text(), side);
            }
        }
        let (left, right) = self.same_numbers(left, right, &format!("`{}`", operator.text()))?;
        Ok((left, right, Type::Boolean))
    }

    fn product(
        &mut self,
        span: Span,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
    ) -> Checked<(Expr, Expr, Type)> {
        for side in [&left, &right] {
            if side.ty.number().is_none() {
                return self.not_numbers(span, operator.text(), side);
            }
        }
        let over = operator == BinaryOperator::Over;
        let (left, right) = if over { (real(left), real(right)) } else { (left, right) };
        let (left, right) = same_width(left, right);
        let number = match (left.ty.number(), right.ty.number()) {
            (Some(Type::Real(width, one)), Some(Type::Real(_, two))) => {
                Type::Real(*width, if over { *one / *two } else { *one * *two })
            }
            _ => Type::Integer,
        };
        let ty = match (&left.ty, &right.ty) {
            (Type::Array(..), Type::Array(..)) => {
                return self.shapes(span, operator.text(), &left, &right);
            }
            (_, Type::Array(..)) if over => {
                return self.shapes(span, operator.text(), &left, &right);
            }
            (_, array @ Type::Array(..)) => array.with_number(&number),
            (other, _) => other.with_number(&number),
        };
        Ok((left, right, ty))
    }

    /// Both operands with the same number type.
    pub(super) fn same_numbers(
        &mut self,
        left: Expr,
        right: Expr,
        place: &str,
    ) -> Checked<(Expr, Expr)> {
        let (left, right) = same_width(left, right);
        let (Some(Type::Real(_, one)), Some(Type::Real(_, two))) =
            (left.ty.number().cloned(), right.ty.number().cloned())
        else {
            return Ok((left, right));
        };
        if one == two {
            return Ok((left, right));
        }
        if let Some(zero) = zero_like(&left, &right) {
            return Ok((zero, right));
        }
        if let Some(zero) = zero_like(&right, &left) {
            return Ok((left, zero));
        }
        let message = format!("{one} and {two} do not fit together in {place}");
        let problem = Problem::new(left.span, message)
            .label(one.to_string())
            .also(right.span, two.to_string())
            .hint("both sides need the same unit");
        self.report(problem)
    }

    fn shapes<T>(&mut self, span: Span, operator: &str, left: &Expr, right: &Expr) -> Checked<T> {
        let (one, two) = (self.universe.type_text(&left.ty), self.universe.type_text(&right.ty));
        let message = format!("`{operator}` does not work on {one} and {two}");
        let hint = match operator {
            "*" => "write dot(a, b) for the sum of the products",
            "/" => "an array can be divided by a number only",
            _ => "both sides need the same length",
        };
        self.report(Problem::new(span, message).hint(hint))
    }

    fn not_numbers<T>(&mut self, span: Span, operator: &str, side: &Expr) -> Checked<T> {
        let ty = self.universe.type_text(&side.ty);
        let problem = Problem::new(span, format!("`{operator}` does not work on {ty}"));
        self.report(problem.also(side.span, "this operand"))
    }

    pub(super) fn builtin(
        &mut self,
        span: Span,
        builtin: Builtin,
        arguments: Vec<Expr>,
    ) -> Checked<Expr> {
        use Builtin as B;
        let count = match builtin {
            B::Abs | B::Ceil | B::Count | B::Floor | B::Length | B::Sqrt => 1,
            B::Append | B::Distance | B::Div | B::Dot | B::Max | B::Min | B::Mod => 2,
            B::Clamp | B::Inside => 3,
        };
        if arguments.len() != count {
            let message =
                format!("`{builtin}` takes {}, not {}", arguments_of(count), arguments.len());
            return self.report(Problem::new(span, message).hint(builtin.about()));
        }
        let mut arguments = arguments.into_iter();
        let mut next = || arguments.next().expect("they were counted");
        let (arguments, ty) = match builtin {
            B::Abs => {
                let x = self.scalar(builtin, next())?;
                let ty = x.ty.clone();
                (vec![x], ty)
            }
            B::Ceil | B::Floor => {
                let x = real(self.scalar(builtin, next())?);
                let ty = x.ty.clone();
                (vec![x], ty)
            }
            B::Sqrt => {
                let x = real(self.scalar(builtin, next())?);
                self.root(span, x)?
            }
            B::Min | B::Max => {
                let (a, b) = (self.scalar(builtin, next()), self.scalar(builtin, next()));
                let (a, b) = self.same_numbers(a?, b?, &format!("`{builtin}`"))?;
                let ty = a.ty.clone();
                (vec![a, b], ty)
            }
            B::Clamp => {
                let (x, low, high) = (
                    self.scalar(builtin, next()),
                    self.scalar(builtin, next()),
                    self.scalar(builtin, next()),
                );
                self.three(builtin, x?, low?, high?)?
            }
            B::Inside => {
                let (p, low, high) = (
                    self.point(builtin, next()),
                    self.point(builtin, next()),
                    self.point(builtin, next()),
                );
                let (all, _) = self.three(builtin, p?, low?, high?)?;
                (all, Type::Boolean)
            }
            B::Div | B::Mod => {
                let (a, b) =
                    (self.coerce(next(), &Type::Integer), self.coerce(next(), &Type::Integer));
                (vec![a?, b?], Type::Integer)
            }
            B::Dot => {
                let (a, b) = (self.point(builtin, next()), self.point(builtin, next()));
                self.dot(span, a?, b?)?
            }
            B::Length => {
                let a = real(self.point(builtin, next())?);
                let ty = a.ty.number().expect("a point has numbers").clone();
                (vec![a], ty)
            }
            B::Distance => {
                let (a, b) = (self.point(builtin, next()), self.point(builtin, next()));
                let (a, b) = self.same_numbers(real(a?), real(b?), "`distance`")?;
                if !a.ty.same_shape(&b.ty) {
                    return self.shapes(span, builtin.name(), &a, &b);
                }
                let ty = a.ty.number().expect("a point has numbers").clone();
                (vec![a, b], ty)
            }
            B::Count => {
                let list = next();
                if !matches!(list.ty, Type::List(..)) {
                    return self.not_numbers(span, builtin.name(), &list);
                }
                (vec![list], Type::Integer)
            }
            B::Append => {
                let (list, item) = (next(), next());
                let Type::List(of, _) = &list.ty else {
                    return self.not_numbers(span, builtin.name(), &list);
                };
                if of.holds_row() {
                    let problem = Problem::new(span, "a row cannot be appended to a list");
                    return self.report(
                        problem.hint("lists of elements are filled by what creates the entity"),
                    );
                }
                let of = (**of).clone();
                let item = self.coerce(item, &of)?;
                let ty = list.ty.clone();
                (vec![list, item], ty)
            }
        };
        Ok(Expr { kind: ExprKind::Builtin(builtin, arguments), ty, span })
    }

    fn root(&mut self, span: Span, x: Expr) -> Checked<(Vec<Expr>, Type)> {
        let Type::Real(width, dimension) = x.ty else { return self.not_numbers(span, "sqrt", &x) };
        let Some(root) = dimension.sqrt() else {
            let message = format!("{dimension} has no square root");
            return self
                .report(Problem::new(x.span, message).hint("every power of a unit must be even"));
        };
        Ok((vec![x], Type::Real(width, root)))
    }

    fn dot(&mut self, span: Span, a: Expr, b: Expr) -> Checked<(Vec<Expr>, Type)> {
        let (a, b) = same_width(a, b);
        if !a.ty.same_shape(&b.ty) {
            return self.shapes(span, "dot", &a, &b);
        }
        let ty = match (a.ty.number(), b.ty.number()) {
            (Some(Type::Real(width, one)), Some(Type::Real(_, two))) => {
                Type::Real(*width, *one * *two)
            }
            _ => Type::Integer,
        };
        Ok((vec![a, b], ty))
    }

    /// Three arguments of one type.
    fn three(
        &mut self,
        builtin: Builtin,
        x: Expr,
        low: Expr,
        high: Expr,
    ) -> Checked<(Vec<Expr>, Type)> {
        let place = format!("`{builtin}`");
        let (x, low) = self.same_numbers(x, low, &place)?;
        let (x, high) = self.same_numbers(x, high, &place)?;
        // The third may have been wider.
        let (low, x) = self.same_numbers(low, x, &place)?;
        for bound in [&low, &high] {
            if !bound.ty.same_shape(&x.ty) {
                return self.shapes(x.span, builtin.name(), &x, bound);
            }
        }
        let ty = x.ty.clone();
        Ok((vec![x, low, high], ty))
    }

    fn scalar(&mut self, builtin: Builtin, x: Expr) -> Checked<Expr> {
        if matches!(x.ty, Type::Integer | Type::Real(..)) {
            return Ok(x);
        }
        self.not_numbers(x.span, builtin.name(), &x)
    }

    /// An array of numbers.
    fn point(&mut self, builtin: Builtin, x: Expr) -> Checked<Expr> {
        let good = matches!(&x.ty, Type::Array(of, length)
            if *length > 0 && matches!(**of, Type::Integer | Type::Real(..)));
        if good {
            return Ok(x);
        }
        self.not_numbers(x.span, builtin.name(), &x)
    }
}

/// A literal zero with the dimension of the other operand: zero has every dimension.
fn zero_like(zero: &Expr, other: &Expr) -> Option<Expr> {
    let ExprKind::Literal(value) = &zero.kind else { return None };
    let ty = zero.ty.with_number(other.ty.number()?);
    Some(literal(literal_as(value, &zero.ty, &ty)?, ty, zero.span))
}

/// Integers as reals.
fn real(expr: Expr) -> Expr {
    match expr.ty.number() {
        Some(Type::Integer) => with_number(expr, &NUMBER),
        _ => expr,
    }
}

/// Both with the wider number type of the two, each with its own dimension. A literal takes the width of the other.
fn same_width(left: Expr, right: Expr) -> (Expr, Expr) {
    let (Some(one), Some(two)) = (left.ty.number().cloned(), right.ty.number().cloned()) else {
        return (left, right);
    };
    match (one, two) {
        (Type::Integer, Type::Real(width, _)) => {
            (with_number(left, &Type::Real(width, Dimension::NONE)), right)
        }
        (Type::Real(width, _), Type::Integer) => {
            (left, with_number(right, &Type::Real(width, Dimension::NONE)))
        }
        (Type::Real(w, one), Type::Real(v, two)) if w != v => {
            let is_literal = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_));
            let width = match (is_literal(&left), is_literal(&right)) {
                (true, false) => v,
                (false, true) => w,
                _ => Width::Double,
            };
            (
                with_number(left, &Type::Real(width, one)),
                with_number(right, &Type::Real(width, two)),
            )
        }
        _ => (left, right),
    }
}

/// The expression with another number type.
fn with_number(expr: Expr, number: &Type) -> Expr {
    let ty = expr.ty.with_number(number);
    if ty == expr.ty {
        return expr;
    }
    let span = expr.span;
    if let ExprKind::Literal(value) = &expr.kind
        && let Some(value) = literal_as(value, &expr.ty, &ty)
    {
        return literal(value, ty, span);
    }
    Expr { kind: ExprKind::Convert(Box::new(expr)), ty, span }
}
