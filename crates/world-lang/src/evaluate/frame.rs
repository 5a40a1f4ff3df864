//! One call: its row and locals.

use std::borrow::Cow;

use super::number::{binary, negated};
use super::{Body, Fault, builtin};
use crate::definition::{
    BinaryOperator, ElementId, Expr, ExprKind, Function, LocalId, Over, Statement, Type,
    UnaryOperator, Universe, Value,
};
use crate::value::number_as;

/// A call in progress.
pub(super) struct Frame<'f> {
    universe: &'f Universe,
    bodies: &'f [Body],
    /// The own row; copied when it first changes.
    pub(super) own: Option<Cow<'f, Value>>,
    /// The own place in `bodies`.
    pub(super) own_id: Option<usize>,
    pub(super) last_sent: Option<&'f Value>,
    locals: Vec<Option<Value>>,
}

impl<'f> Frame<'f> {
    pub(super) fn new(universe: &'f Universe, row: Option<&'f Value>, bodies: &'f [Body]) -> Self {
        let own = row.map(Cow::Borrowed);
        Self { universe, bodies, own, own_id: None, last_sent: None, locals: Vec::new() }
    }

    /// The frame with the arguments of a function.
    pub(super) fn entered(mut self, function: &Function, arguments: Vec<Value>) -> Self {
        assert_eq!(arguments.len(), function.parameter_count as usize, "{}", function.name);
        self.locals = arguments.into_iter().map(Some).collect();
        self.locals.resize(function.locals.len(), None);
        self
    }

    /// Runs statements and returns the value of `return`.
    pub(super) fn run(&mut self, statements: &[Statement]) -> Result<Option<Value>, Fault> {
        for statement in statements {
            match statement {
                Statement::Let(id, value) => {
                    let value = self.value(value)?;
                    self.locals[id.index()] = Some(value);
                }
                Statement::Assign(place, value) => self.assign(place, value)?,
                Statement::If(condition, then, otherwise) => {
                    let chosen = if self.holds(condition)? { then } else { otherwise };
                    self.run(chosen)?;
                }
                Statement::ForEach { item, over, body } => self.for_each(*item, over, body)?,
                Statement::Return(value) => return self.value(value).map(Some),
            }
        }
        Ok(None)
    }

    fn assign(&mut self, place: &Expr, value: &Expr) -> Result<(), Fault> {
        let mut steps = Vec::new();
        let local = self.steps(place, &mut steps)?;
        let value = self.value(value)?;
        let mut at = match local {
            Some(id) => self.locals[id.index()].as_mut().expect("it has a value"),
            None => self.own.as_mut().expect("an update has a row").to_mut(),
        };
        for step in steps {
            let (Value::Items(parts) | Value::Row(parts)) = at else {
                unreachable!("the types agree")
            };
            at = parts.get_mut(step).ok_or(Fault::IndexOutOfRange)?;
        }
        // A local keeps its bits; they cannot be told apart before they are stored.
        *at = if local.is_none() { value.canonical() } else { value };
        Ok(())
    }

    /// The indices that lead to a place from a local, or from the own row.
    fn steps(&self, place: &Expr, steps: &mut Vec<usize>) -> Result<Option<LocalId>, Fault> {
        match &place.kind {
            ExprKind::Local(id) => Ok(Some(*id)),
            ExprKind::SelfRow => Ok(None),
            ExprKind::Field(of, property) => {
                let root = self.steps(of, steps)?;
                steps.push(*property as usize);
                Ok(root)
            }
            ExprKind::Index(of, index) => {
                let root = self.steps(of, steps)?;
                steps.push(self.index(index)?);
                Ok(root)
            }
            _ => unreachable!("only places are assigned to"),
        }
    }

    fn index(&self, index: &Expr) -> Result<usize, Fault> {
        let Value::Integer(at) = self.value(index)? else { unreachable!("an index is an integer") };
        usize::try_from(at).map_err(|_| Fault::IndexOutOfRange)
    }

    fn for_each(&mut self, item: LocalId, over: &Over, body: &[Statement]) -> Result<(), Fault> {
        match over {
            Over::Items(items) => {
                let Value::Items(items) = self.value(items)? else { unreachable!("it has items") };
                for value in items {
                    self.locals[item.index()] = Some(value);
                    self.run(body)?;
                }
            }
            Over::Rows { element, within, at_most } => {
                let within = match within {
                    Some(radius) => Some(self.value(radius)?),
                    None => None,
                };
                for at in self.rows(*element, within.as_ref(), *at_most as usize)? {
                    self.locals[item.index()] = Some(self.bodies[at].row.clone());
                    self.run(body)?;
                }
            }
        }
        Ok(())
    }

    /// The bodies that a loop goes through, in the order of their ids.
    fn rows(
        &self,
        element: ElementId,
        within: Option<&Value>,
        at_most: usize,
    ) -> Result<Vec<usize>, Fault> {
        let mut found = Vec::new();
        for (at, body) in self.bodies.iter().enumerate() {
            let other = Some(at) != self.own_id && self.universe.is_a(body.element, element);
            if other && self.is_near(body, within)? {
                found.push(at);
            }
        }
        found.sort_by_key(|at| self.bodies[*at].id);
        found.truncate(at_most);
        Ok(found)
    }

    /// Whether the square of the distance is at most that of the radius, both computed in the bits of the position.
    fn is_near(&self, body: &Body, within: Option<&Value>) -> Result<bool, Fault> {
        let (Some(radius), Some(own)) = (within, self.own_id) else { return Ok(true) };
        let own = &self.bodies[own];
        let (one, two) = (self.position(own), self.position(body));
        let apart = binary(BinaryOperator::Minus, two, one)?;
        let apart =
            if matches!(apart, Value::Items(_)) { apart } else { Value::Items(vec![apart]) };
        let square = builtin::dot(&apart, &apart)?;
        let limit = binary(BinaryOperator::Times, radius, radius)?;
        Ok(binary(BinaryOperator::AtMost, &square, &limit)? == Value::Boolean(true))
    }

    fn position<'b>(&self, body: &'b Body) -> &'b Value {
        let index = self.universe.elements[body.element.index()]
            .index
            .as_ref()
            .expect("a radius needs an index");
        let Value::Row(properties) = &body.row else { unreachable!("a body has a row") };
        &properties[index.property as usize]
    }

    fn holds(&self, condition: &Expr) -> Result<bool, Fault> {
        Ok(self.value(condition)? == Value::Boolean(true))
    }

    pub(super) fn value(&self, expr: &Expr) -> Result<Value, Fault> {
        if let Some(place) = self.place(expr)? {
            return Ok(place.clone());
        }
        match &expr.kind {
            ExprKind::Literal(value) => Ok(value.clone()),
            ExprKind::Field(of, property) => match self.value(of)? {
                Value::Row(mut properties) => Ok(properties.swap_remove(*property as usize)),
                _ => unreachable!("only rows have properties"),
            },
            ExprKind::Index(of, index) => match self.value(of)? {
                Value::Items(mut items) => {
                    let at = self.index(index)?;
                    if at < items.len() {
                        Ok(items.swap_remove(at))
                    } else {
                        Err(Fault::IndexOutOfRange)
                    }
                }
                _ => unreachable!("only arrays and lists have items"),
            },
            ExprKind::Array(items) => items
                .iter()
                .map(|item| self.value(item))
                .collect::<Result<_, _>>()
                .map(Value::Items),
            ExprKind::Convert(of) => converted(&self.value(of)?, &expr.ty),
            ExprKind::Unary(UnaryOperator::Not, of) => Ok(Value::Boolean(!self.holds(of)?)),
            ExprKind::Unary(UnaryOperator::Minus, of) => negated(&self.value(of)?),
            ExprKind::Binary(BinaryOperator::And, left, right) => {
                Ok(Value::Boolean(self.holds(left)? && self.holds(right)?))
            }
            ExprKind::Binary(BinaryOperator::Or, left, right) => {
                Ok(Value::Boolean(self.holds(left)? || self.holds(right)?))
            }
            ExprKind::Binary(operator, left, right) => {
                binary(*operator, &self.value(left)?, &self.value(right)?)
            }
            ExprKind::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.value(if self.holds(condition)? { then } else { otherwise })
            }
            ExprKind::Builtin(function, arguments) => {
                let values: Vec<Value> = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect::<Result<_, _>>()?;
                builtin::builtin(*function, values, arguments.first().map(|first| &first.ty))
            }
            ExprKind::Call(id, arguments) => {
                let function = &self.universe.functions[id.index()];
                let values = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect::<Result<_, _>>()?;
                let row = function.element.and(self.own.as_deref());
                let mut callee =
                    Frame::new(self.universe, row, self.bodies).entered(function, values);
                callee.own_id = self.own_id;
                Ok(callee.run(&function.body)?.expect("a function returns a value"))
            }
            ExprKind::Constant(_) | ExprKind::SelfRow | ExprKind::LastSent | ExprKind::Local(_) => {
                unreachable!("these are places")
            }
        }
    }

    /// The value where it stands, if the expression names a place.
    fn place(&self, expr: &Expr) -> Result<Option<&Value>, Fault> {
        Ok(match &expr.kind {
            ExprKind::Constant(id) => Some(&self.universe.constants[id.index()].value),
            ExprKind::SelfRow => Some(self.own.as_deref().expect("`self` was checked")),
            ExprKind::LastSent => Some(self.last_sent.expect("`last_sent` was checked")),
            ExprKind::Local(id) => Some(self.locals[id.index()].as_ref().expect("it has a value")),
            ExprKind::Field(of, property) => match self.place(of)? {
                Some(Value::Row(properties)) => Some(&properties[*property as usize]),
                _ => None,
            },
            ExprKind::Index(of, index) => match self.place(of)? {
                Some(Value::Items(items)) => {
                    Some(items.get(self.index(index)?).ok_or(Fault::IndexOutOfRange)?)
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// The value with another number type.
fn converted(value: &Value, ty: &Type) -> Result<Value, Fault> {
    match (value, ty) {
        (Value::Items(items), Type::Array(of, _)) => {
            items.iter().map(|item| converted(item, of)).collect::<Result<_, _>>().map(Value::Items)
        }
        _ => number_as(value.number().expect("only numbers are converted"), ty)
            .ok_or(Fault::NotAnInteger),
    }
}
