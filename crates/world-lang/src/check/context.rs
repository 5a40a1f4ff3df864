//! What an expression may use where it stands, and what it has used.

use std::collections::{BTreeMap, BTreeSet};

use super::scope::{SUGGESTIONS_MAX, ScopeId};
use crate::definition::{
    Component, ElementId, Expr, ExprKind, FunctionId, FunctionKind, Local, LocalId, Type,
};

/// What the expression belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Constant,
    Converter,
    Function(FunctionKind),
}

/// Around and behind an expression.
pub(super) struct Context {
    pub(super) scope: ScopeId,
    pub(super) place: Place,
    /// The element of `self`.
    pub(super) element: Option<ElementId>,
    /// In a converter: the properties of the definition that it converts from.
    pub(super) foreign: BTreeMap<String, (u32, Type)>,
    pub(super) locals: Vec<Local>,
    pub(super) mutable: Vec<bool>,
    /// The names in sight, the innermost last.
    names: Vec<String>,
    /// What each name stands for, the innermost last.
    meanings: BTreeMap<String, Vec<LocalId>>,
    pub(super) reads: BTreeSet<u32>,
    /// The last property that was added to `reads`.
    pub(super) newest_read: Option<u32>,
    pub(super) writes: BTreeSet<u32>,
    pub(super) reads_others: BTreeSet<(ElementId, u32)>,
    pub(super) calls: BTreeSet<FunctionId>,
    pub(super) uses: BTreeSet<Component>,
    /// Whether it looks for neighbours.
    pub(super) searches: bool,
}

impl Context {
    pub(super) fn new(scope: ScopeId, place: Place, element: Option<ElementId>) -> Self {
        Self {
            scope,
            place,
            element,
            foreign: BTreeMap::new(),
            locals: Vec::new(),
            mutable: Vec::new(),
            names: Vec::new(),
            meanings: BTreeMap::new(),
            newest_read: None,
            reads: BTreeSet::new(),
            writes: BTreeSet::new(),
            reads_others: BTreeSet::new(),
            calls: BTreeSet::new(),
            uses: BTreeSet::new(),
            searches: false,
        }
    }

    pub(super) fn constant(scope: ScopeId) -> Self {
        Self::new(scope, Place::Constant, None)
    }

    pub(super) fn local(&mut self, name: &str, ty: Type, mutable: bool) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: name.to_owned(), ty });
        self.mutable.push(mutable);
        self.bind(name, id);
        id
    }

    fn bind(&mut self, name: &str, id: LocalId) {
        self.names.push(name.to_owned());
        self.meanings.entry(name.to_owned()).or_default().push(id);
    }

    /// Makes a name known whose value is wrong, so that its uses are not reported too.
    pub(super) fn bind_wrong(&mut self, name: &str) {
        self.bind(name, LocalId(u32::MAX));
    }

    pub(super) fn find(&self, name: &str) -> Option<LocalId> {
        self.meanings.get(name).and_then(|ids| ids.last()).copied()
    }

    /// The number of names in sight, for [`forget`](Self::forget).
    pub(super) fn mark(&self) -> usize {
        self.names.len()
    }

    /// Leaves the block in which the names after the mark were declared.
    pub(super) fn forget(&mut self, mark: usize) {
        for name in self.names.drain(mark..) {
            self.meanings.get_mut(&name).map(Vec::pop);
        }
    }

    /// Names in sight, for suggestions.
    pub(super) fn visible(&self) -> impl Iterator<Item = &str> {
        self.names.iter().rev().take(SUGGESTIONS_MAX).map(String::as_str)
    }

    /// Notes that a property of a row is read.
    pub(super) fn read(&mut self, row: &Expr, element: ElementId, property: u32) {
        self.uses.insert(Component::Property(element, property));
        match row.kind {
            ExprKind::SelfRow if self.reads.insert(property) => self.newest_read = Some(property),
            ExprKind::LastSent | ExprKind::Local(_) => {
                self.reads_others.insert((element, property));
            }
            _ => {}
        }
    }
}
