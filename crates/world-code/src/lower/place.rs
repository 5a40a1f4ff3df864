//! Places: rows, their properties and items, read where they stand.

use std::rc::Rc;

use hemiola_world_lang::Value;
use hemiola_world_lang::definition::{Expr, ExprKind, Type};

use super::{Binding, Frame, Lowering};
use crate::code::{Comparison, FaultCode, Operand};
use crate::scalar::{Scalar, ScalarType, scalar_count, scalar_types};

/// Scalars that are not read yet.
#[derive(Clone)]
pub(super) struct View {
    base: Base,
    /// The first one.
    start: u32,
}

#[derive(Clone)]
enum Base {
    Own,
    LastSent,
    /// The present neighbour of a loop.
    Neighbour(u32),
    Memory,
    Operands(Rc<[Operand]>),
}

impl View {
    pub(super) const fn neighbour(site: u32) -> Self {
        Self { base: Base::Neighbour(site), start: 0 }
    }
}

/// A place that gets a value.
pub(super) struct Target {
    /// The first place in memory, if all computed indices were 0.
    start: u32,
    /// Computed indices: the operand, the scalars of an item, and the items.
    indices: Vec<(Operand, u32, u32)>,
    /// Bounds to check behind the value: index and count.
    bounds: Vec<(Operand, Operand)>,
}

impl Lowering<'_> {
    pub(super) fn view(&mut self, frame: &mut Frame, expr: &Expr) -> View {
        match &expr.kind {
            ExprKind::SelfRow => View { base: Base::Own, start: 0 },
            ExprKind::LastSent => View { base: Base::LastSent, start: 0 },
            ExprKind::Local(id) => match &frame.locals[id.index()] {
                Some(Binding::Memory(start)) => View { base: Base::Memory, start: *start },
                Some(Binding::Row(view)) => view.clone(),
                // Only after a limit was reached.
                None => self.view_of(Vec::new()),
            },
            ExprKind::Field(of, property) => {
                if let (ExprKind::SelfRow, Some(starts)) = (&of.kind, &self.foreign) {
                    return View { base: Base::Own, start: starts[*property as usize] };
                }
                let Type::Element(element) = of.ty else {
                    unreachable!("only rows have properties")
                };
                let mut view = self.view(frame, of);
                view.start += self.column_of(element, *property);
                view
            }
            ExprKind::Index(of, index) => self.item(frame, of, index),
            _ => {
                let operands = self.value(frame, expr);
                self.view_of(operands)
            }
        }
    }

    pub(super) fn view_of(&self, operands: Vec<Operand>) -> View {
        View { base: Base::Operands(operands.into()), start: 0 }
    }

    fn item(&mut self, frame: &mut Frame, of: &Expr, index: &Expr) -> View {
        let view = self.view(frame, of);
        let index = self.value(frame, index)[0];
        let (of, length, first) = self.shape(&of.ty);
        let stride = scalar_count(self.universe, of);
        let count = self.count(&view, length, first);
        self.check_not_negative(index);
        self.check_below(index, count);
        match self.build.integer(index) {
            Some(at) if (0..length as i32).contains(&at) => {
                View { start: view.start + first + at as u32 * stride, ..view }
            }
            _ => {
                let items = View { start: view.start + first, ..view };
                self.picked(&items, of, length, stride, index)
            }
        }
    }

    /// The item type, the most items, and the scalars in front of them.
    pub(super) fn shape<'t>(&self, ty: &'t Type) -> (&'t Type, u32, u32) {
        match ty {
            Type::Array(of, length) => (of, *length, 0),
            Type::List(of, most) => (of, *most, 1),
            _ => unreachable!("only arrays and lists have items"),
        }
    }

    /// The number of items: of an array its length, of a list its first scalar.
    pub(super) fn count(&mut self, view: &View, length: u32, first: u32) -> Operand {
        match first {
            0 => self.build.constant(Scalar::Integer(length as i32)),
            _ => self.scalar(view, 0, ScalarType::Integer),
        }
    }

    fn picked(
        &mut self,
        items: &View,
        of: &Type,
        length: u32,
        stride: u32,
        index: Operand,
    ) -> View {
        let types = scalar_types(self.universe, of);
        let mut operands = Vec::new();
        for (part, ty) in (0..stride).zip(types) {
            if !self.goes_on() {
                return self.view_of(self.nothing(of));
            }
            let choices: Vec<Operand> =
                (0..length).map(|at| self.scalar(items, at * stride + part, ty)).collect();
            operands.push(self.build.pick(ty, index, choices.into_iter()));
        }
        self.view_of(operands)
    }

    fn check_not_negative(&mut self, index: Operand) {
        let zero = self.build.constant(Scalar::Integer(0));
        let negative = self.build.compare(Comparison::Less, ScalarType::Integer, index, zero);
        self.build.raise(FaultCode::IndexOutOfRange, negative);
    }

    fn check_below(&mut self, index: Operand, count: Operand) {
        let outside = self.build.compare(Comparison::AtMost, ScalarType::Integer, count, index);
        self.build.raise(FaultCode::IndexOutOfRange, outside);
    }

    /// One scalar of a view.
    fn scalar(&mut self, view: &View, part: u32, ty: ScalarType) -> Operand {
        let at = view.start + part;
        match &view.base {
            Base::Own => match self.own.get(&at) {
                Some(place) => self.memory[*place as usize],
                None => Operand::Own(at),
            },
            Base::LastSent => self.last_sent(at),
            Base::Neighbour(site) => self.build.gather(ty, *site, at),
            Base::Memory => self.memory[at as usize],
            // After a limit was reached, operands may be missing.
            Base::Operands(operands) => {
                operands.get(at as usize).copied().unwrap_or(crate::build::FALSE)
            }
        }
    }

    fn last_sent(&mut self, column: u32) -> Operand {
        let known = &mut self.build.last_sent;
        let at = known.iter().position(|sent| *sent == column).unwrap_or_else(|| {
            known.push(column);
            known.len() - 1
        });
        Operand::LastSent(at as u32)
    }

    /// All scalars of a view.
    pub(super) fn read(&mut self, view: &View, ty: &Type) -> Vec<Operand> {
        let types = scalar_types(self.universe, ty);
        (0..).zip(types).map(|(part, ty)| self.scalar(view, part, ty)).collect()
    }

    /// The place that an assignment names, with its computed indices.
    pub(super) fn target(&mut self, frame: &mut Frame, place: &Expr) -> Target {
        match &place.kind {
            ExprKind::Local(id) => match &frame.locals[id.index()] {
                Some(Binding::Memory(start)) => Target::at(*start),
                _ => Target::at(0),
            },
            ExprKind::Field(of, property) if of.kind == ExprKind::SelfRow => {
                let element = self.element.expect("an update has an element");
                let column = self.column_of(element, *property);
                Target::at(self.own[&column])
            }
            ExprKind::Field(of, property) => {
                let Type::Element(element) = of.ty else {
                    unreachable!("only rows have properties")
                };
                let mut target = self.target(frame, of);
                target.start += self.column_of(element, *property);
                target
            }
            ExprKind::Index(of, index) => self.target_item(frame, of, index),
            _ => unreachable!("only places are assigned to"),
        }
    }

    fn target_item(&mut self, frame: &mut Frame, of: &Expr, index: &Expr) -> Target {
        let mut target = self.target(frame, of);
        let index = self.value(frame, index)[0];
        self.check_not_negative(index);
        let (item, length, first) = self.shape(&of.ty);
        let stride = scalar_count(self.universe, item);
        let count = match first {
            0 => self.build.constant(Scalar::Integer(length as i32)),
            _ => self.choice(&target, ScalarType::Integer),
        };
        target.bounds.push((index, count));
        target.start += first;
        match self.build.integer(index) {
            Some(at) if (0..length as i32).contains(&at) => target.start += at as u32 * stride,
            _ => target.indices.push((index, stride, length)),
        }
        target
    }

    /// The scalar that stands at a target.
    fn choice(&mut self, target: &Target, ty: ScalarType) -> Operand {
        let mut choice = self.memory[target.start as usize];
        for (condition, at) in self.places(target) {
            let other = self.memory[at as usize];
            choice = self.build.select(ty, condition, other, choice);
        }
        choice
    }

    /// Each place that a target may name, with the condition for it.
    fn places(&mut self, target: &Target) -> Vec<(Operand, u32)> {
        let mut places = vec![(crate::build::TRUE, target.start)];
        for (index, stride, length) in &target.indices {
            let mut next = Vec::new();
            for (condition, start) in places {
                for at in 0..*length {
                    if !self.goes_on() {
                        return Vec::new();
                    }
                    let number = self.build.constant(Scalar::Integer(at as i32));
                    let here =
                        self.build.compare(Comparison::Equal, ScalarType::Integer, *index, number);
                    next.push((self.build.and(condition, here), start + at * stride));
                }
            }
            places = next;
        }
        places
    }

    /// Gives a place its value.
    pub(super) fn assign(&mut self, target: &Target, ty: &Type, value: &[Operand]) {
        for (index, count) in &target.bounds {
            self.check_below(*index, *count);
        }
        let types = scalar_types(self.universe, ty);
        for (condition, start) in self.places(target) {
            for ((at, ty), new) in (start..).zip(&types).zip(value) {
                let chosen = self.build.select(*ty, condition, *new, self.memory[at as usize]);
                self.types[at as usize] = *ty;
                self.write(at, chosen);
            }
        }
    }

    /// Changes a place so that a branch can undo it.
    pub(super) fn write(&mut self, at: u32, value: Operand) {
        let before = std::mem::replace(&mut self.memory[at as usize], value);
        self.journal.push((at, before));
    }
}

impl Target {
    const fn at(start: u32) -> Self {
        Self { start, indices: Vec::new(), bounds: Vec::new() }
    }
}

/// The scalars of a literal.
pub(super) fn literal(lowering: &mut Lowering<'_>, ty: &Type, value: &Value) -> Vec<Operand> {
    let scalars = crate::scalar::scalars_of(lowering.universe, ty, value, lowering.texts);
    scalars.into_iter().map(|scalar| lowering.build.constant(scalar)).collect()
}
