//! Statements.

use super::context::{Context, Place};
use super::scope::{Found, Meaning};
use super::{Checked, Checker};
use crate::definition::{Expr, ExprKind, FunctionKind, Over, Statement, Type};
use crate::limits::NEIGHBOURS_MAX;
use crate::parse::is_place;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{self, BinaryOperator, Block, Name};

impl Checker<'_> {
    /// The statements of a block that can be checked. `result` is the type of `return`, which only the last statement
    /// of a body can be.
    pub(super) fn block(
        &mut self,
        cx: &mut Context,
        block: &Block,
        result: Option<&Type>,
    ) -> Vec<Statement> {
        let names = cx.mark();
        let mut statements = Vec::new();
        for (at, statement) in block.statements.iter().enumerate() {
            let last = at + 1 == block.statements.len();
            statements.extend(self.statement(cx, statement, result.filter(|_| last)));
        }
        cx.forget(names);
        statements
    }

    fn statement(
        &mut self,
        cx: &mut Context,
        statement: &syntax::Statement,
        result: Option<&Type>,
    ) -> Checked<Statement> {
        use syntax::Statement as S;
        match statement {
            S::Let { mutable, name, ty, value } => {
                self.binding(cx, *mutable, name, ty.as_ref(), value)
            }
            S::Assign { target, operator, value } => self.assignment(cx, target, *operator, value),
            S::If { condition, then, otherwise } => {
                let condition = self.expression(cx, condition);
                let (then, otherwise) =
                    (self.block(cx, then, None), self.block(cx, otherwise, None));
                Ok(Statement::If(self.coerce(condition?, &Type::Boolean)?, then, otherwise))
            }
            S::ForEach { name, over, within, at_most, body } => {
                self.for_each(cx, name, over, [within.as_ref(), at_most.as_ref()], body)
            }
            S::Return(value) => {
                let typed = self.expression(cx, value)?;
                let Some(result) = result else {
                    let problem =
                        Problem::new(value.span, "`return` stands at the end of a function only");
                    return self.report(
                        problem.hint("choose the value with `if … { } else { }` before it"),
                    );
                };
                Ok(Statement::Return(self.coerce(typed, result)?))
            }
        }
    }

    fn binding(
        &mut self,
        cx: &mut Context,
        mutable: bool,
        name: &Name,
        ty: Option<&syntax::Type>,
        value: &syntax::Expr,
    ) -> Checked<Statement> {
        let wanted = ty.map(|ty| self.ty(cx.scope, ty, &mut cx.uses));
        let value = self.expression(cx, value);
        let typed = match (wanted, value) {
            (Some(Ok(wanted)), Ok(value)) => self.coerce(value, &wanted),
            (None, Ok(value)) => Ok(value),
            (Some(Err(reported)), _) | (_, Err(reported)) => Err(reported),
        };
        let typed = typed.and_then(|value| self.no_row(value));
        let Ok(typed) = typed else {
            cx.bind_wrong(&name.text);
            return Err(super::Reported);
        };
        if matches!(typed.ty, Type::Array(_, 0)) {
            let problem = Problem::new(typed.span, "the type of an empty list is unknown");
            return self.report(problem.hint("write a type, such as `: real[..8]`"));
        }
        let id = cx.local(&name.text, typed.ty.clone(), mutable);
        Ok(Statement::Let(id, typed))
    }

    fn no_row(&mut self, value: Expr) -> Checked<Expr> {
        if !value.ty.holds_row() {
            return Ok(value);
        }
        let problem = Problem::new(value.span, "a whole row cannot be copied");
        self.report(problem.hint("name the properties that are needed"))
    }

    fn assignment(
        &mut self,
        cx: &mut Context,
        target: &syntax::Expr,
        operator: Option<BinaryOperator>,
        value: &syntax::Expr,
    ) -> Checked<Statement> {
        if !is_place(target) {
            let problem = Problem::new(target.span, "this cannot be assigned to");
            return self.report(problem.hint("assign to a property or a `var`"));
        }
        cx.newest_read = None;
        let place = self.expression(cx, target);
        // A property that is replaced is not read. With an index, the rest of it stays, so it counts as read.
        if operator.is_none()
            && is_whole(target)
            && let Some(property) = cx.newest_read
        {
            cx.reads.remove(&property);
        }
        let value = self.expression(cx, value);
        let (place, value) = (place?, value?);
        self.changeable(cx, &place)?;
        let place = self.no_row(place)?;
        let value = match operator {
            None => value,
            Some(operator) => {
                self.binary(target.span.to(value.span), operator, place.clone(), value)?
            }
        };
        let value = self.coerce(value, &place.ty)?;
        Ok(Statement::Assign(place, value))
    }

    /// Whether the place may change, and notes that it does.
    fn changeable(&mut self, cx: &mut Context, place: &Expr) -> Checked<()> {
        let updates =
            matches!(cx.place, Place::Function(FunctionKind::Update | FunctionKind::Predict));
        match &place.kind {
            ExprKind::Field(of, property) if matches!(of.kind, ExprKind::SelfRow) => {
                if updates {
                    cx.writes.insert(*property);
                    return Ok(());
                }
                let problem =
                    Problem::new(place.span, "only an update or a prediction changes a property");
                self.report(problem.hint("return the value instead"))
            }
            ExprKind::Field(of, _) if matches!(of.kind, ExprKind::Local(_)) => {
                let problem = Problem::new(place.span, "an update changes its own row only");
                self.report(problem.hint("let the other row read what it needs in its own update"))
            }
            ExprKind::Field(of, _) | ExprKind::Index(of, _) => self.changeable(cx, of),
            ExprKind::Local(id) if cx.mutable[id.index()] => Ok(()),
            ExprKind::Local(_) => {
                let problem = Problem::new(place.span, "this value does not change");
                self.report(problem.hint("declare it with `var` instead of `let`"))
            }
            _ => {
                let problem = Problem::new(place.span, "this cannot be assigned to");
                self.report(problem.hint("assign to a property or a `var`"))
            }
        }
    }

    fn for_each(
        &mut self,
        cx: &mut Context,
        name: &Name,
        over: &syntax::Expr,
        [within, at_most]: [Option<&syntax::Expr>; 2],
        body: &Block,
    ) -> Checked<Statement> {
        let rows = self.element_of(cx, over);
        let (over, ty) = match rows {
            Some(draft) => self.rows(cx, over.span, draft, within, at_most)?,
            None => self.items(cx, over, within.or(at_most))?,
        };
        let names = cx.mark();
        let item = cx.local(&name.text, ty, false);
        let body = self.block(cx, body, None);
        cx.forget(names);
        Ok(Statement::ForEach { item, over, body })
    }

    /// The element that an expression names, as in `for each other in body`.
    fn element_of(&self, cx: &Context, expr: &syntax::Expr) -> Option<usize> {
        let path = path_of(expr)?;
        if cx.find(&path.names[0].text).is_some() {
            return None;
        }
        let Found { meaning: Meaning::Element(_), .. } =
            self.scopes.find(cx.scope, &path.names[0].text)?
        else {
            return None;
        };
        let mut ignored = crate::problem::Problems::default();
        self.scopes.element(cx.scope, &path, &mut ignored)
    }

    fn items(
        &mut self,
        cx: &mut Context,
        over: &syntax::Expr,
        limit: Option<&syntax::Expr>,
    ) -> Checked<(Over, Type)> {
        let over = self.expression(cx, over)?;
        if let Some(limit) = limit {
            let problem =
                Problem::new(limit.span, "`within` and `at most` are for rows of an element");
            return self.report(problem.hint("remove it: an array is as long as its type says"));
        }
        let (Type::Array(item, _) | Type::List(item, _)) = &over.ty else {
            let message =
                format!("`for each` does not work on {}", self.universe.type_text(&over.ty));
            let hint = "it goes through an array, a list, or the rows of an element";
            return self.report(Problem::new(over.span, message).hint(hint));
        };
        let item = (**item).clone();
        Ok((Over::Items(over), item))
    }

    fn rows(
        &mut self,
        cx: &mut Context,
        span: Span,
        draft: usize,
        within: Option<&syntax::Expr>,
        at_most: Option<&syntax::Expr>,
    ) -> Checked<(Over, Type)> {
        let element = self.element_id(draft);
        let Some(at_most) = at_most else {
            let problem = Problem::new(span, "a loop over rows needs a limit");
            return self.report(
                problem.hint("add `at most` and the most rows that one row takes in, such as 64"),
            );
        };
        let most = self.whole(cx.scope, at_most, &mut cx.uses)?;
        let Some(most) =
            u32::try_from(most).ok().filter(|most| (1..=NEIGHBOURS_MAX).contains(most))
        else {
            let message = format!("`at most {most}`; it must be from 1 to {NEIGHBOURS_MAX}");
            return self.report(Problem::new(at_most.span, message).hint("correct the number"));
        };
        let allowed =
            matches!(cx.place, Place::Function(FunctionKind::Update | FunctionKind::Function));
        let Some(own) = cx.element.filter(|_| allowed) else {
            let problem = Problem::new(span, "other rows cannot be seen here");
            return self.report(
                problem.hint("only an update and the functions of its element go through rows"),
            );
        };
        cx.searches = true;
        cx.uses.insert(crate::definition::Component::Element(element));
        let within = match within {
            Some(radius) => Some(self.radius(cx, span, own, element, radius)?),
            None => None,
        };
        Ok((Over::Rows { element, within, at_most: most }, Type::Element(element)))
    }

    fn radius(
        &mut self,
        cx: &mut Context,
        span: Span,
        own: crate::definition::ElementId,
        other: crate::definition::ElementId,
        radius: &syntax::Expr,
    ) -> Checked<Expr> {
        let radius = self.expression(cx, radius)?;
        let mut positions = Vec::new();
        for id in [own, other] {
            let element = &self.universe.elements[id.index()];
            let Some(index) = &element.index else {
                let problem = Problem::new(span, format!("element `{}` has no spatial index", element.name))
                    .also(element.span, "this element")
                    .hint("add `indexed by` and the edge of a cell to its position, as in `indexed by 10<m>`");
                return self.report(problem);
            };
            positions
                .push((index.property, element.properties[index.property as usize].ty.clone()));
        }
        let [(own_position, own_type), (position, ty)] = &positions[..] else {
            unreachable!("two were pushed")
        };
        if own_type != ty {
            let (one, two) = (self.universe.type_text(own_type), self.universe.type_text(ty));
            let message = format!("the positions are {one} and {two}");
            return self.report(
                Problem::new(span, message).hint("give both elements positions of one type"),
            );
        }
        cx.reads_others.insert((own, *own_position));
        cx.reads_others.insert((other, *position));
        let number = ty.number().expect("a position has numbers").clone();
        let radius = self.coerce(radius, &number)?;
        if let ExprKind::Literal(value) = &radius.kind
            && value.number().is_some_and(|radius| radius < 0.0)
        {
            let problem = Problem::new(radius.span, "a radius below 0");
            return self.report(problem.hint("no row would be within it"));
        }
        Ok(radius)
    }
}

/// Whether a place is named without an index.
fn is_whole(target: &syntax::Expr) -> bool {
    match &target.kind {
        syntax::ExprKind::Field(of, _) => is_whole(of),
        syntax::ExprKind::Name(_) | syntax::ExprKind::SelfRow => true,
        _ => false,
    }
}

/// `a.b.c` as a path.
fn path_of(expr: &syntax::Expr) -> Option<syntax::Path> {
    let mut names = Vec::new();
    let mut at = expr;
    loop {
        match &at.kind {
            syntax::ExprKind::Name(text) => {
                names.push(Name { text: text.clone(), span: at.span });
                names.reverse();
                return Some(syntax::Path { names });
            }
            syntax::ExprKind::Field(of, name) => {
                names.push(name.clone());
                at = of;
            }
            _ => return None,
        }
    }
}
