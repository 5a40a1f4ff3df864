//! Statements.

use std::collections::BTreeSet;

use hemiola_world_lang::definition::{Expr, ExprKind, LocalId, Over, Statement, Type};

use super::place::View;
use super::{Binding, Frame, Lowering};
use crate::code::{Comparison, Operand, Site};
use crate::scalar::{Scalar, ScalarType, scalar_count, scalar_types};

/// What assignments of a loop change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    Local(LocalId),
    Property(u32),
}

impl Lowering<'_> {
    /// Translates statements and returns the operands of `return`.
    pub(super) fn body(&mut self, frame: &mut Frame, statements: &[Statement]) -> Vec<Operand> {
        self.deeper(|lowering| lowering.statements(frame, statements)).unwrap_or_default()
    }

    fn statements(&mut self, frame: &mut Frame, statements: &[Statement]) -> Vec<Operand> {
        for statement in statements {
            if !self.goes_on() {
                break;
            }
            match statement {
                Statement::Let(id, value) => {
                    let operands = self.value(frame, value);
                    self.bind(frame, *id, &value.ty, operands);
                }
                Statement::Assign(place, value) => {
                    let target = self.target(frame, place);
                    let operands = self.value(frame, value);
                    self.assign(&target, &place.ty, &operands);
                }
                Statement::If(condition, then, otherwise) => {
                    let condition = self.value(frame, condition)[0];
                    self.branches(
                        condition,
                        frame,
                        |lowering, frame| drop(lowering.body(frame, then)),
                        |lowering, frame| drop(lowering.body(frame, otherwise)),
                    );
                }
                Statement::ForEach { item, over: Over::Items(items), body } => {
                    self.each_item(frame, *item, items, body);
                }
                Statement::ForEach {
                    item,
                    over: Over::Rows { element, within, at_most },
                    body,
                } => {
                    let within = within.as_ref().map(|radius| {
                        let ty = self.number_type(radius);
                        let radius = self.value(frame, radius)[0];
                        self.build.convert(ty, ScalarType::Double, radius)
                    });
                    let site =
                        Site { element: *element, at_most: *at_most, within: within.is_some() };
                    self.each_row(frame, *item, site, within, body);
                }
                Statement::Return(value) => return self.value(frame, value),
            }
        }
        Vec::new()
    }

    /// A local gets its first value.
    pub(super) fn bind(
        &mut self,
        frame: &mut Frame,
        id: LocalId,
        ty: &Type,
        operands: Vec<Operand>,
    ) {
        let base = self.remember(operands);
        self.types.truncate(base as usize);
        self.types.extend(scalar_types(self.universe, ty));
        frame.locals[id.index()] = Some(Binding::Memory(base));
        frame.lengths[id.index()] = self.memory.len() as u32 - base;
    }

    /// Two branches from the same memory, and selections of what they change.
    fn branches(
        &mut self,
        condition: Operand,
        frame: &mut Frame,
        then: impl FnOnce(&mut Self, &mut Frame),
        otherwise: impl FnOnce(&mut Self, &mut Frame),
    ) {
        let mask = self.build.mask;
        let mark = self.journal.len();
        self.build.mask = self.build.and(mask, condition);
        then(self, frame);
        let one = self.undo(mark);
        let not = self.build.not(condition);
        self.build.mask = self.build.and(mask, not);
        otherwise(self, frame);
        let two = self.undo(mark);
        self.build.mask = mask;
        let changed: BTreeSet<u32> = one.iter().chain(&two).map(|(at, _)| *at).collect();
        let value = |changes: &[(u32, Operand)], at: u32, before: Operand| {
            let found = changes.binary_search_by_key(&at, |(at, _)| *at);
            found.map_or(before, |index| changes[index].1)
        };
        for at in changed {
            let before = self.memory[at as usize];
            let (one, two) = (value(&one, at, before), value(&two, at, before));
            let merged = self.build.select(self.types[at as usize], condition, one, two);
            self.write(at, merged);
        }
    }

    /// Restores the memory of the mark and returns what was changed since, in the order of the places.
    fn undo(&mut self, mark: usize) -> Vec<(u32, Operand)> {
        let places: BTreeSet<u32> = self.journal[mark..].iter().map(|(at, _)| *at).collect();
        let changes = places.iter().map(|at| (*at, self.memory[*at as usize])).collect();
        while self.journal.len() > mark {
            let (at, before) = self.journal.pop().expect("it is longer than the mark");
            self.memory[at as usize] = before;
        }
        changes
    }

    /// A loop over an array or a list is unrolled.
    fn each_item(&mut self, frame: &mut Frame, item: LocalId, items: &Expr, body: &[Statement]) {
        let (of, length, first) = self.shape(&items.ty);
        // The items of before the loop, whatever its body assigns.
        let operands = self.value(frame, items);
        let stride = scalar_count(self.universe, of) as usize;
        let view = self.view_of(operands.clone());
        let count = self.count(&view, length, first);
        for at in 0..length {
            if !self.goes_on() {
                return;
            }
            let number = self.build.constant(Scalar::Integer(at as i32));
            let exists = self.build.compare(Comparison::Less, ScalarType::Integer, number, count);
            let start = first as usize + at as usize * stride;
            let scalars = operands.get(start..start + stride).unwrap_or_default().to_vec();
            self.branches(
                exists,
                frame,
                |lowering, frame| {
                    lowering.bind_item(frame, item, of, scalars);
                    drop(lowering.body(frame, body));
                },
                |_, _| {},
            );
        }
    }

    fn bind_item(&mut self, frame: &mut Frame, id: LocalId, ty: &Type, scalars: Vec<Operand>) {
        if ty.holds_row() {
            frame.locals[id.index()] = Some(Binding::Row(self.view_of(scalars)));
        } else {
            self.bind(frame, id, ty, scalars);
        }
    }

    /// A loop over neighbours: what it changes is kept in registers.
    fn each_row(
        &mut self,
        frame: &mut Frame,
        item: LocalId,
        site: Site,
        radius: Option<Operand>,
        body: &[Statement],
    ) {
        let mut roots = BTreeSet::new();
        assigned(body, &mut roots);
        let places: Vec<u32> =
            roots.into_iter().flat_map(|root| self.places_of(frame, root)).collect();
        let mut carried = Vec::new();
        for at in places {
            let (ty, value) = (self.types[at as usize], self.memory[at as usize]);
            let register = self.build.moved(ty, value);
            self.write(at, Operand::Register(register));
            carried.push((at, ty, register));
        }
        let open = self.build.begin_loop(site, radius);
        frame.locals[item.index()] = Some(Binding::Row(View::neighbour(open.site)));
        drop(self.body(frame, body));
        let active = self.build.mask;
        let mut changes = Vec::new();
        for (at, ty, register) in &carried {
            let (before, after) = (Operand::Register(*register), self.memory[*at as usize]);
            if before != after {
                changes.push((*ty, *register, self.build.select(*ty, active, after, before)));
            }
            self.write(*at, before);
        }
        // All are computed before the first one changes.
        for (ty, register, value) in changes {
            self.build.set(ty, register, value);
        }
        self.build.end_loop(&open);
    }

    /// The places in memory of a local that has a value, or of a property.
    fn places_of(&self, frame: &Frame, root: Root) -> Vec<u32> {
        let found = match root {
            Root::Local(id) => match &frame.locals[id.index()] {
                Some(Binding::Memory(base)) => Some((*base, frame.lengths[id.index()])),
                _ => None,
            },
            Root::Property(property) => self.element.map(|element| {
                let ty = &self.universe.elements[element.index()].properties[property as usize].ty;
                let column = self.column_of(element, property);
                (self.own[&column], scalar_count(self.universe, ty))
            }),
        };
        found.map_or_else(Vec::new, |(start, count)| (start..start + count).collect())
    }
}

/// What the assignments of a body change.
fn assigned(statements: &[Statement], roots: &mut BTreeSet<Root>) {
    for statement in statements {
        match statement {
            Statement::Assign(place, _) => drop(roots.insert(root(place))),
            Statement::If(_, then, otherwise) => {
                assigned(then, roots);
                assigned(otherwise, roots);
            }
            Statement::ForEach { body, .. } => assigned(body, roots),
            Statement::Let(..) | Statement::Return(_) => {}
        }
    }
}

fn root(place: &Expr) -> Root {
    match &place.kind {
        ExprKind::Local(id) => Root::Local(*id),
        ExprKind::Field(of, property) if of.kind == ExprKind::SelfRow => Root::Property(*property),
        ExprKind::Field(of, _) | ExprKind::Index(of, _) => root(of),
        _ => unreachable!("only places are assigned to"),
    }
}
