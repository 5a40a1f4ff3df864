//! Expressions: names, fields, indices, calls and literals.

use hemiola_diagnostic::did_you_mean;
use hemiola_quantity::Dimension;

use super::context::{Context, Place};
use super::scope::{Found, Meaning, SUGGESTIONS_MAX};
use super::types::literal_as;
use super::{Checked, Checker, Reported};
use crate::definition::{Builtin, Component, Expr, ExprKind, FunctionKind, Type, Value, Width};
use crate::limits::ARRAY_LEN_MAX;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{self, Name};

impl Checker<'_> {
    pub(super) fn expression(&mut self, cx: &mut Context, expr: &syntax::Expr) -> Checked<Expr> {
        use syntax::ExprKind as S;
        let span = expr.span;
        match &expr.kind {
            S::Number { value, whole, unit } => self.number(span, *value, *whole, unit.as_ref()),
            S::Boolean(value) => Ok(literal(Value::Boolean(*value), Type::Boolean, span)),
            S::Text(text) => {
                let ty = Type::String(text.len().min(u32::MAX as usize) as u32);
                Ok(literal(Value::String(text.clone()), ty, span))
            }
            S::Array(items) => self.array(cx, span, items),
            S::Name(name) => self.name(cx, span, name),
            S::SelfRow => match cx.element {
                Some(element) if cx.foreign.is_empty() => {
                    Ok(Expr { kind: ExprKind::SelfRow, ty: Type::Element(element), span })
                }
                _ => {
                    let hint = "it is the row of an update, a prediction, a constraint or a function of an element";
                    self.report(Problem::new(span, "`self` has no meaning here").hint(hint))
                }
            },
            S::LastSent => self.last_sent(cx, span),
            S::Field(of, name) => self.field(cx, span, of, name),
            S::Index(of, index) => self.index(cx, span, of, index),
            S::Call(name, arguments) => self.call(cx, span, name, arguments),
            S::Convert(ty, value) => self.conversion(cx, span, ty, value),
            S::Unary(operator, operand) => self.unary(cx, span, *operator, operand),
            S::Binary(operator, left, right) => {
                let (left, right) = (self.expression(cx, left), self.expression(cx, right));
                self.binary(span, *operator, left?, right?)
            }
            S::If(parts) => self.choice(cx, span, parts),
        }
    }

    fn number(
        &mut self,
        span: Span,
        value: f64,
        whole: bool,
        unit: Option<&Name>,
    ) -> Checked<Expr> {
        let real = |value, dimension| {
            literal(Value::Double(value), Type::Real(Width::Double, dimension), span)
        };
        if let Some(unit) = unit {
            let unit = self.unit(unit)?;
            return Ok(real(unit.to_base(value), unit.dimension()));
        }
        if !whole {
            return Ok(real(value, Dimension::NONE));
        }
        if value > f64::from(i32::MAX) {
            let problem = Problem::new(span, "a whole number beyond the range of `integer`");
            return self.report(problem.hint("write it with a point to make it a real"));
        }
        Ok(literal(Value::Integer(value as i32), Type::Integer, span))
    }

    fn array(&mut self, cx: &mut Context, span: Span, items: &[syntax::Expr]) -> Checked<Expr> {
        if items.len() > ARRAY_LEN_MAX as usize {
            let message = format!("{} items; {ARRAY_LEN_MAX} are the most", items.len());
            return self.report(Problem::new(span, message).hint("divide the array"));
        }
        let checked: Vec<Checked<Expr>> =
            items.iter().map(|item| self.expression(cx, item)).collect();
        let mut items = checked.into_iter().collect::<Checked<Vec<Expr>>>()?;
        let length = items.len() as u32;
        let Some(first) = items.first() else {
            return Ok(literal(
                Value::Items(Vec::new()),
                Type::Array(Box::new(Type::Boolean), 0),
                span,
            ));
        };
        let mut ty = first.ty.clone();
        for item in &items[1..] {
            ty = self.common(&ty, item);
        }
        if ty.holds_row() {
            let problem = Problem::new(span, "an array of rows cannot be written down");
            return self.report(problem.hint("assign to each property of each item"));
        }
        items = items.into_iter().map(|item| self.coerce(item, &ty)).collect::<Checked<_>>()?;
        let all: Option<Vec<Value>> =
            items
                .iter()
                .map(|item| {
                    if let ExprKind::Literal(value) = &item.kind {
                        Some(value.clone())
                    } else {
                        None
                    }
                })
                .collect();
        let kind =
            all.map_or(ExprKind::Array(items), |values| ExprKind::Literal(Value::Items(values)));
        Ok(Expr { kind, ty: Type::Array(Box::new(ty), length), span })
    }

    /// The type of an array that holds items of the type `ty` and this one: the wider number type.
    fn common(&self, ty: &Type, item: &Expr) -> Type {
        match (ty.number(), item.ty.number()) {
            (Some(Type::Integer), Some(real @ Type::Real(..))) => ty.with_number(real),
            (Some(Type::Real(Width::Single, _)), Some(real @ Type::Real(Width::Double, _))) => {
                ty.with_number(real)
            }
            // Zero has every dimension.
            (Some(Type::Real(_, Dimension::NONE)), Some(real @ Type::Real(_, dimension)))
                if *dimension != Dimension::NONE =>
            {
                ty.with_number(real)
            }
            _ => match (ty, &item.ty) {
                (Type::String(one), Type::String(two)) => Type::String(*one.max(two)),
                _ => ty.clone(),
            },
        }
    }

    fn name(&mut self, cx: &mut Context, span: Span, name: &str) -> Checked<Expr> {
        if let Some(id) = cx.find(name) {
            // The value of a local that is wrong has been reported.
            let ty = cx.locals.get(id.index()).ok_or(Reported)?.ty.clone();
            return Ok(Expr { kind: ExprKind::Local(id), ty, span });
        }
        if let Some((property, ty)) = cx.foreign.get(name) {
            let row = Expr { kind: ExprKind::SelfRow, ty: Type::Boolean, span };
            return Ok(Expr {
                kind: ExprKind::Field(Box::new(row), *property),
                ty: ty.clone(),
                span,
            });
        }
        let Some(found) = self.scopes.find(cx.scope, name) else {
            return self.unknown(cx, span, name);
        };
        match found.meaning {
            Meaning::Constant(draft) => {
                let id = self.drafts.constant_ids[draft].ok_or(Reported)?;
                cx.uses.insert(Component::Constant(id));
                let ty = self.universe.constants[id.index()].ty.clone();
                Ok(Expr { kind: ExprKind::Constant(id), ty, span })
            }
            Meaning::Property => self.own_property(cx, span, name, found),
            Meaning::Function(_) => {
                let problem = Problem::new(span, format!("`{name}` is a function"))
                    .also(found.span, "defined here");
                self.report(problem.hint(format!("call it: {name}(…)")))
            }
            Meaning::Element(_) => {
                let problem = Problem::new(span, format!("`{name}` is an element, not a value"));
                self.report(problem.also(found.span, "defined here"))
            }
        }
    }

    fn own_property(
        &mut self,
        cx: &mut Context,
        span: Span,
        name: &str,
        found: Found,
    ) -> Checked<Expr> {
        let Some(element) = cx.element.filter(|_| found.own && cx.place != Place::Converter) else {
            let message = format!("the property `{name}` has no value here");
            let hint = match cx.place {
                Place::Constant => "only literals and constants have one",
                Place::Converter => "a converter reads the properties of the other definition",
                Place::Function(_) => "pass it to the function, or the row that it belongs to",
            };
            return self
                .report(Problem::new(span, message).also(found.span, "defined here").hint(hint));
        };
        let row = Expr { kind: ExprKind::SelfRow, ty: Type::Element(element), span };
        self.property(cx, span, row, &Name { text: name.to_owned(), span })
    }

    fn unknown(&mut self, cx: &Context, span: Span, name: &str) -> Checked<Expr> {
        if self.scopes.is_incomplete(cx.scope) {
            return Err(Reported);
        }
        let mut names: Vec<&str> = cx.visible().collect();
        names.extend(cx.foreign.keys().take(SUGGESTIONS_MAX).map(String::as_str));
        names.extend(self.scopes.visible(cx.scope, |meaning| {
            matches!(meaning, Meaning::Constant(_))
                || meaning == Meaning::Property && cx.place != Place::Converter
        }));
        let hint = did_you_mean(name, names).unwrap_or_default();
        self.report(Problem::new(span, format!("nothing is named `{name}` here")).hint(hint))
    }

    fn last_sent(&mut self, cx: &Context, span: Span) -> Checked<Expr> {
        match cx.element {
            Some(element) if cx.place == Place::Function(FunctionKind::Constraint) => {
                Ok(Expr { kind: ExprKind::LastSent, ty: Type::Element(element), span })
            }
            _ => {
                let problem = Problem::new(span, "`last_sent` has no meaning here");
                self.report(problem.hint(
                    "only a constraint compares with the row last sent; pass it on as a parameter",
                ))
            }
        }
    }

    fn field(
        &mut self,
        cx: &mut Context,
        span: Span,
        of: &syntax::Expr,
        name: &Name,
    ) -> Checked<Expr> {
        let row = self.expression(cx, of)?;
        self.property(cx, span, row, name)
    }

    /// A property of a row.
    pub(super) fn property(
        &mut self,
        cx: &mut Context,
        span: Span,
        row: Expr,
        name: &Name,
    ) -> Checked<Expr> {
        let Type::Element(element) = row.ty else {
            let ty = self.universe.type_text(&row.ty);
            let message = format!("{ty} has no property `{}`", name.text);
            return self
                .report(Problem::new(name.span, message).hint("only elements have properties"));
        };
        let (property, ty) = self.known_property(element, name)?;
        cx.read(&row, element, property);
        Ok(Expr { kind: ExprKind::Field(Box::new(row), property), ty, span })
    }

    fn index(
        &mut self,
        cx: &mut Context,
        span: Span,
        of: &syntax::Expr,
        index: &syntax::Expr,
    ) -> Checked<Expr> {
        let (of, index) = (self.expression(cx, of), self.expression(cx, index));
        let of = of?;
        let index = self.coerce(index?, &Type::Integer)?;
        let (Type::Array(item, length) | Type::List(item, length)) = &of.ty else {
            let message = format!("{} has no items", self.universe.type_text(&of.ty));
            return self.report(Problem::new(of.span, message).hint("only arrays and lists have"));
        };
        let constant = match &index.kind {
            ExprKind::Literal(Value::Integer(at)) => Some(*at),
            ExprKind::Constant(id) => match self.universe.constants[id.index()].value {
                Value::Integer(at) => Some(at),
                _ => None,
            },
            _ => None,
        };
        if let Some(at) = constant.filter(|at| !(0..i64::from(*length)).contains(&i64::from(*at))) {
            let message = format!("item {at} of {length}");
            return self.report(
                Problem::new(index.span, message)
                    .hint(format!("items count from 0 to {}", length - 1)),
            );
        }
        let ty = (**item).clone();
        Ok(Expr { kind: ExprKind::Index(Box::new(of), Box::new(index)), ty, span })
    }

    fn conversion(
        &mut self,
        cx: &mut Context,
        span: Span,
        ty: &syntax::Type,
        value: &syntax::Expr,
    ) -> Checked<Expr> {
        let wanted = self.ty(cx.scope, ty, &mut cx.uses);
        let value = self.expression(cx, value)?;
        let wanted = match (wanted?, value.ty.number()) {
            // Without a unit, the dimension stays.
            (Type::Real(width, Dimension::NONE), Some(Type::Real(_, dimension))) => {
                Type::Real(width, *dimension)
            }
            (wanted, _) => wanted,
        };
        let allowed = match (value.ty.number(), &wanted) {
            (Some(Type::Integer), Type::Real(_, Dimension::NONE) | Type::Integer) => true,
            (Some(Type::Real(_, Dimension::NONE)), Type::Integer) => true,
            (Some(Type::Real(_, from)), Type::Real(_, to)) => from == to,
            _ => false,
        };
        if !allowed {
            return self.mismatch(&value, &wanted);
        }
        let ty = value.ty.with_number(&wanted);
        let folded = match &value.kind {
            ExprKind::Literal(literal) => literal_as(literal, &value.ty, &ty),
            _ => None,
        };
        // Not a literal: its number type was chosen.
        let kind = match folded {
            Some(folded) => ExprKind::Convert(Box::new(Expr {
                kind: ExprKind::Literal(folded),
                ty: ty.clone(),
                span,
            })),
            None => ExprKind::Convert(Box::new(value)),
        };
        Ok(Expr { kind, ty, span })
    }

    fn choice(&mut self, cx: &mut Context, span: Span, parts: &[syntax::Expr; 3]) -> Checked<Expr> {
        let [condition, then, otherwise] = parts.each_ref().map(|part| self.expression(cx, part));
        let condition = self.coerce(condition?, &Type::Boolean);
        let (then, otherwise) = (then?, otherwise?);
        let (then, otherwise) = if then.ty.number().is_some() && otherwise.ty.number().is_some() {
            self.same_numbers(then, otherwise, "`if`")?
        } else {
            let otherwise = self.coerce(otherwise, &then.ty)?;
            (then, otherwise)
        };
        if !then.ty.same_shape(&otherwise.ty) {
            return self.mismatch(&otherwise, &then.ty);
        }
        if then.ty.holds_row() {
            let problem = Problem::new(span, "an `if` cannot choose between rows");
            return self.report(problem.hint("choose between their properties"));
        }
        let ty = then.ty.clone();
        Ok(Expr { kind: ExprKind::If(Box::new([condition?, then, otherwise])), ty, span })
    }

    fn call(
        &mut self,
        cx: &mut Context,
        span: Span,
        name: &Name,
        arguments: &[syntax::Expr],
    ) -> Checked<Expr> {
        let arguments: Vec<Checked<Expr>> =
            arguments.iter().map(|argument| self.expression(cx, argument)).collect();
        let arguments = arguments.into_iter().collect::<Checked<Vec<Expr>>>();
        let found = self.scopes.find(cx.scope, &name.text);
        match found.map(|found| (found.meaning, found)) {
            Some((Meaning::Function(draft), found)) => {
                self.call_function(cx, span, name, draft, found, arguments?)
            }
            _ => match Builtin::ALL.iter().find(|builtin| builtin.name() == name.text) {
                Some(builtin) => self.builtin(span, *builtin, arguments?),
                None => self.unknown_function(cx, name),
            },
        }
    }

    fn unknown_function(&mut self, cx: &Context, name: &Name) -> Checked<Expr> {
        if self.scopes.is_incomplete(cx.scope) {
            return Err(Reported);
        }
        let mut names: Vec<&str> = Builtin::ALL.iter().map(|builtin| builtin.name()).collect();
        names.extend(
            self.scopes.visible(cx.scope, |meaning| matches!(meaning, Meaning::Function(_))),
        );
        let hint = did_you_mean(&name.text, names).unwrap_or_default();
        self.report(
            Problem::new(name.span, format!("no function is named `{}`", name.text)).hint(hint),
        )
    }

    fn call_function(
        &mut self,
        cx: &mut Context,
        span: Span,
        name: &Name,
        draft: usize,
        found: Found,
        arguments: Vec<Expr>,
    ) -> Checked<Expr> {
        let callee = &self.drafts.functions[draft];
        let problem =
            |message: String| Problem::new(name.span, message).also(found.span, "defined here");
        if callee.syntax.kind != FunctionKind::Function {
            let problem = problem(format!("`{}` cannot be called", name.text));
            return self.report(problem.hint("move what both need into a function"));
        }
        if !matches!(cx.place, Place::Function(_)) {
            let problem =
                problem(format!("`{}` cannot be called in a constant or a converter", name.text));
            return self.report(problem.hint("write its expression here"));
        }
        if callee.scope > 0 && !(found.own && cx.element.is_some()) {
            let problem = problem(format!("`{}` needs a row of its element as `self`", name.text));
            return self
                .report(problem.hint("move the function into the universe and pass the row"));
        }
        let Some((parameters, result)) = self.signatures[draft].clone() else {
            return Err(Reported);
        };
        if parameters.len() != arguments.len() {
            let message = format!(
                "`{}` takes {}, not {}",
                name.text,
                arguments_of(parameters.len()),
                arguments.len()
            );
            return self.report(problem(message));
        }
        let arguments: Vec<Checked<Expr>> = arguments
            .into_iter()
            .zip(&parameters)
            .map(|(argument, wanted)| self.coerce(argument, wanted))
            .collect();
        let arguments = arguments.into_iter().collect::<Checked<Vec<Expr>>>()?;
        let id = self.function_id(draft);
        cx.calls.insert(id);
        cx.uses.insert(Component::Function(id));
        Ok(Expr { kind: ExprKind::Call(id, arguments), ty: result, span })
    }
}

pub(super) fn literal(value: Value, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Literal(value), ty, span }
}

/// `1 argument`, `2 arguments`
pub(super) fn arguments_of(count: usize) -> String {
    if count == 1 { "1 argument".into() } else { format!("{count} arguments") }
}
