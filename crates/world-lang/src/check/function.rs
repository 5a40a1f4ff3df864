//! Functions after those they call, and what each element takes from its base.

use std::collections::BTreeSet;

use super::collect::chain;
use super::context::{Context, Place};
use super::order::order;
use super::scope::{Meaning, ScopeId};
use super::{Checked, Checker};
use crate::definition::{Function, FunctionId, FunctionKind, Type};
use crate::limits::{COST_MAX, PROPERTIES_MAX};
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{self, Block, Expr, ExprKind};

impl Checker<'_> {
    pub(super) fn functions(&mut self) {
        let count = self.drafts.functions.len();
        self.signatures = (0..count).map(|draft| self.signature(draft)).collect();
        let needs: Vec<Vec<usize>> = (0..count).map(|draft| self.called(draft)).collect();
        let (sorted, cycle) = order(&needs);
        if let Some(cycle) = cycle {
            let names: Vec<&str> = cycle
                .iter()
                .chain(&cycle[..1])
                .map(|at| self.drafts.functions[*at].name.as_str())
                .collect();
            let message = format!("function `{}` calls itself: {}", names[0], chain(&names));
            let span = self.drafts.functions[cycle[0]].syntax.name.span;
            self.problems
                .push(Problem::new(span, message).hint("recursion has no bound; use `for each`"));
            return;
        }
        self.drafts.function_ids = vec![FunctionId(0); count];
        for (id, draft) in (0..).zip(&sorted) {
            self.drafts.function_ids[*draft] = FunctionId(id);
        }
        for draft in sorted {
            let function = self.function(draft);
            self.searches.push(function.1);
            self.universe.functions.push(function.0);
        }
    }

    fn signature(&mut self, draft: usize) -> Option<(Vec<Type>, Type)> {
        let (syntax, scope) =
            (self.drafts.functions[draft].syntax, self.drafts.functions[draft].scope);
        let mut uses = BTreeSet::new();
        let parameters: Vec<Checked<Type>> = syntax
            .parameters
            .iter()
            .map(|parameter| self.ty(scope, &parameter.ty, &mut uses))
            .collect();
        let result = match &syntax.result {
            Some(ty) => {
                self.ty(scope, ty, &mut uses).and_then(|result| self.no_row_result(result, ty.span))
            }
            None => Ok(Type::Boolean),
        };
        Some((parameters.into_iter().collect::<Checked<_>>().ok()?, result.ok()?))
    }

    fn no_row_result(&mut self, result: Type, span: Span) -> Checked<Type> {
        if !result.holds_row() {
            return Ok(result);
        }
        let problem = Problem::new(span, "a function cannot return a row");
        self.report(problem.hint("return the properties that are needed"))
    }

    /// The functions that a function calls, by name.
    fn called(&self, draft: usize) -> Vec<usize> {
        let (syntax, scope) =
            (self.drafts.functions[draft].syntax, self.drafts.functions[draft].scope);
        let mut found = BTreeSet::new();
        calls_in_block(&syntax.body, &mut |name| {
            if let Some(Meaning::Function(callee)) =
                self.scopes.find(scope, name).map(|found| found.meaning)
            {
                found.insert(callee);
            }
        });
        found.into_iter().collect()
    }

    /// The checked function, and whether it goes through other rows.
    fn function(&mut self, draft: usize) -> (Function, bool) {
        let (syntax, scope) =
            (self.drafts.functions[draft].syntax, self.drafts.functions[draft].scope);
        let element = (scope > 0).then(|| self.element_id(scope - 1));
        let mut cx = Context::new(scope, Place::Function(syntax.kind), element);
        let signature = self.signatures[draft].clone();
        let sound = signature.is_some();
        let (parameters, result) = signature.unwrap_or((Vec::new(), Type::Boolean));
        for (parameter, ty) in syntax.parameters.iter().zip(parameters) {
            if cx.find(&parameter.name.text).is_some() {
                let message = format!("two parameters are named `{}`", parameter.name.text);
                self.problems
                    .push(Problem::new(parameter.name.span, message).hint("rename one of them"));
            }
            cx.local(&parameter.name.text, ty, false);
        }
        let result = match syntax.kind {
            FunctionKind::Function => Some(result),
            FunctionKind::Constraint => Some(Type::Boolean),
            FunctionKind::Update | FunctionKind::Predict => None,
        };
        // Without a signature, its parameters would cause problems that are not there.
        let body =
            if sound { self.block(&mut cx, &syntax.body, result.as_ref()) } else { Vec::new() };
        let returns = matches!(syntax.body.statements.last(), Some(syntax::Statement::Return(_)));
        if result.is_some() && !returns {
            let message = format!("`{}` does not end with `return`", syntax.name.text);
            self.problems
                .push(Problem::new(syntax.name.span, message).hint("add `return` and its value"));
        }
        let function = Function {
            name: self.drafts.functions[draft].name.clone(),
            kind: syntax.kind,
            element,
            parameter_count: syntax.parameters.len() as u32,
            locals: cx.locals.clone(),
            result,
            body,
            cost: 0,
            reads: std::mem::take(&mut cx.reads),
            writes: std::mem::take(&mut cx.writes),
            reads_others: std::mem::take(&mut cx.reads_others),
            uses: std::mem::take(&mut cx.uses),
            span: syntax.name.span,
        };
        self.complete(function, &cx)
    }

    /// Adds what the called functions do.
    fn complete(&mut self, mut function: Function, cx: &Context) -> (Function, bool) {
        let mut searches = cx.searches;
        for id in &cx.calls {
            // After an error, functions may be missing.
            let Some(callee) = self.universe.functions.get(id.index()) else { continue };
            searches |= self.searches[id.index()];
            let size = callee.reads.len() + callee.reads_others.len();
            let Some(left) = self.properties_left.checked_sub(size) else {
                let _: Checked<()> = self.too_many_properties(function.span);
                break;
            };
            self.properties_left = left;
            if callee.element.is_some() {
                function.reads.extend(&callee.reads);
            }
            function.reads_others.extend(&callee.reads_others);
        }
        if searches && !matches!(function.kind, FunctionKind::Update | FunctionKind::Function) {
            let problem =
                Problem::new(function.span, "this calls a function that goes through other rows");
            self.problems.push(problem.hint("only an update sees other rows"));
        }
        function.cost = self.universe.block_cost(&function.body);
        if function.cost > COST_MAX {
            let message = format!(
                "one call takes up to {} operations; {COST_MAX} are the most",
                function.cost
            );
            self.problems.push(
                Problem::new(function.span, message).hint("lower `at most`, or shorten the arrays"),
            );
        }
        (function, searches)
    }

    pub(super) fn too_many_properties<T>(&mut self, span: Span) -> Checked<T> {
        self.properties_left = 0;
        let message = format!(
            "the elements have more than {PROPERTIES_MAX} properties, inherited ones included"
        );
        self.report(Problem::new(span, message).hint("divide the universe"))
    }

    /// Gives each element its update, prediction and constraints.
    pub(super) fn connect(&mut self) {
        if self.universe.functions.len() < self.drafts.functions.len() {
            return;
        }
        let mut drafts: Vec<usize> = (0..self.drafts.elements.len()).collect();
        drafts.sort_by_key(|draft| self.element_id(*draft));
        for draft in drafts {
            let id = self.element_id(draft);
            let (mut update, mut predict, mut constraints) =
                match self.universe.elements[id.index()].base {
                    Some(base) => {
                        let base = &self.universe.elements[base.index()];
                        (base.update, base.predict, base.constraints.clone())
                    }
                    None => (None, None, Vec::new()),
                };
            let Some(left) = self.properties_left.checked_sub(constraints.len()) else {
                let span = self.universe.elements[id.index()].span;
                let _: Checked<()> = self.too_many_properties(span);
                return;
            };
            self.properties_left = left;
            for &function in &self.drafts.elements[draft].functions {
                let id = self.function_id(function);
                match self.drafts.functions[function].syntax.kind {
                    FunctionKind::Update => update = Some(id),
                    FunctionKind::Predict => predict = Some(id),
                    FunctionKind::Constraint => constraints.push(id),
                    FunctionKind::Function => {}
                }
            }
            let element = &mut self.universe.elements[id.index()];
            (element.update, element.predict, element.constraints) = (update, predict, constraints);
        }
    }

    /// The names that an expression uses as constants.
    pub(super) fn constants_used(&self, scope: ScopeId, expr: &Expr, found: &mut BTreeSet<usize>) {
        walk(expr, &mut |part| {
            if let ExprKind::Name(name) = &part.kind
                && let Some(Meaning::Constant(draft)) =
                    self.scopes.find(scope, name).map(|found| found.meaning)
            {
                found.insert(draft);
            }
        });
    }
}

fn calls_in_block(block: &Block, found: &mut impl FnMut(&str)) {
    for statement in &block.statements {
        let mut calls = |expr: &Expr| {
            walk(expr, &mut |part| {
                if let ExprKind::Call(name, _) = &part.kind {
                    found(&name.text);
                }
            });
        };
        match statement {
            syntax::Statement::Let { value, .. } | syntax::Statement::Return(value) => calls(value),
            syntax::Statement::Assign { target, value, .. } => {
                [target, value].into_iter().for_each(calls)
            }
            syntax::Statement::If { condition, then, otherwise } => {
                calls(condition);
                calls_in_block(then, found);
                calls_in_block(otherwise, found);
            }
            syntax::Statement::ForEach { over, within, at_most, body, .. } => {
                [Some(over), within.as_ref(), at_most.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(calls);
                calls_in_block(body, found);
            }
        }
    }
}

/// Visits an expression and all its parts.
fn walk(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Array(items) | ExprKind::Call(_, items) => {
            items.iter().for_each(|item| walk(item, visit))
        }
        ExprKind::Field(of, _) | ExprKind::Convert(_, of) | ExprKind::Unary(_, of) => {
            walk(of, visit)
        }
        ExprKind::Index(one, two) | ExprKind::Binary(_, one, two) => {
            walk(one, visit);
            walk(two, visit);
        }
        ExprKind::If(parts) => parts.iter().for_each(|part| walk(part, visit)),
        _ => {}
    }
}
