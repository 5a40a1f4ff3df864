//! Types as written to types, and values into them.

use std::collections::BTreeSet;

use hemiola_quantity::{Dimension, Unit};

use super::context::Context;
use super::scope::ScopeId;
use super::{Checked, Checker};
use crate::definition::{Component, Expr, ExprKind, Type, Value, Width};
use crate::evaluate;
use crate::limits::{ARRAY_LEN_MAX, CONSTANT_COST_MAX, LEAVES_MAX, STRING_LEN_MAX, VALUES_MAX};
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{self, Name, TypeKind};
use crate::value::number_as;

impl Checker<'_> {
    /// A type, and in `uses` what it depends on.
    pub(super) fn ty(
        &mut self,
        scope: ScopeId,
        ty: &syntax::Type,
        uses: &mut BTreeSet<Component>,
    ) -> Checked<Type> {
        match &ty.kind {
            TypeKind::Boolean => Ok(Type::Boolean),
            TypeKind::Integer => Ok(Type::Integer),
            TypeKind::Real { bits, unit } => {
                let width = if *bits == 32 { Width::Single } else { Width::Double };
                let dimension = match unit {
                    Some(unit) => self.unit(unit)?.dimension(),
                    None => Dimension::NONE,
                };
                Ok(Type::Real(width, dimension))
            }
            TypeKind::String(most) => self.string(most.as_ref()),
            TypeKind::Element(path) => {
                let Some(draft) = self.scopes.element(scope, path, self.problems) else {
                    return Err(super::Reported);
                };
                let id = self.element_id(draft);
                uses.insert(Component::Element(id));
                Ok(Type::Element(id))
            }
            TypeKind::Array(of, length) => {
                let (of, length) = (self.ty(scope, of, uses), self.length(scope, length, uses));
                self.bounded(Type::Array(Box::new(of?), length?), ty.span)
            }
            TypeKind::List(of, most) => {
                let (of, most) = (self.ty(scope, of, uses), self.length(scope, most, uses));
                self.bounded(Type::List(Box::new(of?), most?), ty.span)
            }
        }
    }

    /// The type, if a row can hold it.
    fn bounded(&mut self, ty: Type, span: Span) -> Checked<Type> {
        if self.leaves_so_far(&ty) <= LEAVES_MAX {
            return Ok(ty);
        }
        let message = format!("this type has more than {LEAVES_MAX} scalars");
        self.report(
            Problem::new(span, message).hint("make it shorter, or an element with many entities"),
        )
    }

    /// Like [`Universe::size`]; an element that is not known yet counts as one scalar.
    ///
    /// [`Universe::size`]: crate::definition::Universe::size
    fn leaves_so_far(&self, ty: &Type) -> u64 {
        match ty {
            Type::Array(of, length) | Type::List(of, length) => {
                self.leaves_so_far(of).saturating_mul((*length).into()).saturating_add(1)
            }
            Type::Element(id) if id.index() >= self.universe.elements.len() => 1,
            known => self.universe.size(known).0,
        }
    }

    fn string(&mut self, most: Option<&Name>) -> Checked<Type> {
        let Some(most) = most else { return Ok(Type::String(STRING_LEN_MAX)) };
        match most.text.parse() {
            Ok(bytes) if (1..=STRING_LEN_MAX).contains(&bytes) => Ok(Type::String(bytes)),
            _ => {
                let message =
                    format!("`{}` is not a number of bytes from 1 to {STRING_LEN_MAX}", most.text);
                self.report(Problem::new(most.span, message).hint("write for example string<40>"))
            }
        }
    }

    pub(super) fn unit(&mut self, unit: &Name) -> Checked<Unit> {
        unit.text.parse().or_else(|error: hemiola_quantity::QuantityError| {
            let at = error.at();
            let start = unit.span.start + at.start.min(unit.text.len()) as u32;
            let end = unit.span.start + at.end.min(unit.text.len()) as u32;
            let problem = Problem::new(Span { start, end: end.max(start) }, error.to_string());
            self.report(problem.hint("units are joined by · and /, with powers such as m/s^2"))
        })
    }

    /// A length of an array or a list.
    fn length(
        &mut self,
        scope: ScopeId,
        expr: &syntax::Expr,
        uses: &mut BTreeSet<Component>,
    ) -> Checked<u32> {
        let value = self.whole(scope, expr, uses)?;
        match u32::try_from(value) {
            Ok(length) if (1..=ARRAY_LEN_MAX).contains(&length) => Ok(length),
            _ => {
                let message = format!("a length of {value}; it must be from 1 to {ARRAY_LEN_MAX}");
                self.report(Problem::new(expr.span, message).hint("correct the number"))
            }
        }
    }

    /// The value of a constant expression that is an integer.
    pub(super) fn whole(
        &mut self,
        scope: ScopeId,
        expr: &syntax::Expr,
        uses: &mut BTreeSet<Component>,
    ) -> Checked<i32> {
        let (_, value) = self.constant_value(scope, expr, Some(&Type::Integer), uses)?;
        let Value::Integer(value) = value else { unreachable!("the expression is an integer") };
        Ok(value)
    }

    /// The value of a constant expression, as a value of the type `wanted`, and its type.
    pub(super) fn constant_value(
        &mut self,
        scope: ScopeId,
        expr: &syntax::Expr,
        wanted: Option<&Type>,
        uses: &mut BTreeSet<Component>,
    ) -> Checked<(Type, Value)> {
        let mut context = Context::constant(scope);
        let typed = self.expression(&mut context, expr)?;
        let typed = match wanted {
            Some(wanted) => self.coerce(typed, wanted)?,
            None if is_untyped_list(&typed) => {
                let problem = Problem::new(expr.span, "the type of an empty list is unknown");
                return self.report(problem.hint("write a type, such as `: real[..8]`"));
            }
            None => typed,
        };
        uses.append(&mut context.uses);
        let cost = self.universe.expression_cost(&typed);
        let Some(left) = self.constant_cost_left.checked_sub(cost) else {
            let message = format!(
                "constant expressions take more than {CONSTANT_COST_MAX} operations together"
            );
            return self.report(Problem::new(expr.span, message).hint("compute it in a function"));
        };
        self.constant_cost_left = left;
        match evaluate::constant(&self.universe, &typed) {
            Ok(value) => {
                self.take_values(&value, expr.span)?;
                Ok((typed.ty, value))
            }
            Err(fault) => {
                self.report(Problem::new(expr.span, format!("this constant has no value: {fault}")))
            }
        }
    }

    /// Counts the scalars of a value against the limit of the universe.
    pub(super) fn take_values(&mut self, value: &Value, span: Span) -> Checked<()> {
        let Some(left) = self.values_left.checked_sub(value.count()) else {
            self.values_left = 0;
            let message =
                format!("the defaults, constants and entities have more than {VALUES_MAX} scalars");
            return self.report(Problem::new(span, message).hint("make the arrays shorter"));
        };
        self.values_left = left;
        Ok(())
    }

    /// The value that an expression has as the type `wanted`: numbers are converted, also to fewer bits, the items of
    /// an array fill a list, and a row of a derived element is one of the base.
    pub(super) fn coerce(&mut self, expr: Expr, wanted: &Type) -> Checked<Expr> {
        if expr.ty == *wanted {
            return Ok(expr);
        }
        if let ExprKind::Literal(value) = &expr.kind
            && let Some(value) = literal_as(value, &expr.ty, wanted)
        {
            return Ok(Expr {
                kind: ExprKind::Literal(value),
                ty: wanted.clone(),
                span: expr.span,
            });
        }
        match (&expr.ty, wanted) {
            (Type::Array(_, length), Type::List(of, most)) if length <= most => {
                let ExprKind::Array(items) = expr.kind else { return self.mismatch(&expr, wanted) };
                let items: Checked<Vec<Expr>> =
                    items.into_iter().map(|item| self.coerce(item, of)).collect();
                Ok(Expr { kind: ExprKind::Array(items?), ty: wanted.clone(), span: expr.span })
            }
            (Type::Array(_, length), Type::Array(of, count)) if length == count => {
                if let ExprKind::Array(items) = expr.kind {
                    let items: Checked<Vec<Expr>> =
                        items.into_iter().map(|item| self.coerce(item, of)).collect();
                    return Ok(Expr {
                        kind: ExprKind::Array(items?),
                        ty: wanted.clone(),
                        span: expr.span,
                    });
                }
                self.convert(expr, wanted)
            }
            (Type::Element(from), Type::Element(to)) if self.universe.is_a(*from, *to) => {
                Ok(Expr { ty: wanted.clone(), ..expr })
            }
            (Type::String(_), Type::String(_)) => self.mismatch(&expr, wanted),
            _ => self.convert(expr, wanted),
        }
    }

    /// An explicit conversion of numbers that have the same dimension.
    fn convert(&mut self, expr: Expr, wanted: &Type) -> Checked<Expr> {
        let allowed = match (expr.ty.number(), wanted.number()) {
            (Some(Type::Integer), Some(Type::Real(_, dimension))) => *dimension == Dimension::NONE,
            (Some(Type::Real(_, from)), Some(Type::Real(_, to))) => from == to,
            _ => false,
        };
        if !allowed || !expr.ty.same_shape(wanted) {
            return self.mismatch(&expr, wanted);
        }
        let span = expr.span;
        Ok(Expr { kind: ExprKind::Convert(Box::new(expr)), ty: wanted.clone(), span })
    }

    pub(super) fn mismatch<T>(&mut self, expr: &Expr, wanted: &Type) -> Checked<T> {
        let (found, expected) =
            (self.universe.type_text(&expr.ty), self.universe.type_text(wanted));
        let problem =
            Problem::new(expr.span, format!("this is {found} where {expected} is expected"));
        let hint = match (expr.ty.number(), wanted.number()) {
            (Some(Type::Real(_, from)), Some(Type::Integer)) if *from == Dimension::NONE => {
                "write integer(…), which rounds toward zero".to_owned()
            }
            (Some(_), Some(Type::Real(_, to)))
                if *to != Dimension::NONE && expr.ty.same_shape(wanted) =>
            {
                format!("a number with a unit is written 5<{}>", to.si_unit())
            }
            (Some(Type::Real(_, from)), Some(_)) if *from != Dimension::NONE => {
                format!("divide by 1<{}> to remove the unit", from.si_unit())
            }
            _ => String::new(),
        };
        self.report(problem.hint(hint))
    }
}

fn is_untyped_list(expr: &Expr) -> bool {
    matches!(&expr.ty, Type::Array(_, 0))
}

/// A literal as a value of another type: a whole number as a real, any number with fewer or more bits, zero with any
/// dimension, the items of an array as those of a list.
pub(super) fn literal_as(value: &Value, ty: &Type, wanted: &Type) -> Option<Value> {
    let zero = value.number() == Some(0.0);
    match (value, ty, wanted) {
        (Value::Items(items), Type::Array(of, length), Type::Array(to, count))
            if length == count =>
        {
            items
                .iter()
                .map(|item| literal_as(item, of, to))
                .collect::<Option<_>>()
                .map(Value::Items)
        }
        (Value::Items(items), Type::Array(of, length), Type::List(to, most)) if length <= most => {
            items
                .iter()
                .map(|item| literal_as(item, of, to))
                .collect::<Option<_>>()
                .map(Value::Items)
        }
        (_, Type::Integer, Type::Integer) | (_, Type::Boolean, Type::Boolean) => {
            Some(value.clone())
        }
        (_, Type::Integer, Type::Real(_, dimension)) if zero || *dimension == Dimension::NONE => {
            number_as(value.number()?, wanted)
        }
        (_, Type::Real(_, from), Type::Real(_, to)) if zero || from == to => {
            number_as(value.number()?, wanted)
        }
        (Value::String(text), _, Type::String(most)) if text.len() <= *most as usize => {
            Some(value.clone())
        }
        _ => None,
    }
}
