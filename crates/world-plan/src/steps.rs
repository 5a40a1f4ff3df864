//! The steps from one definition to another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hemiola_world_lang::definition::{
    Constant, ElementId, Function, FunctionKind, Property, Universe,
};

use crate::conversion::{Conversion, Former, Source, back, forward};
use crate::same::Same;

/// How a universe becomes another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The changes: renames, then insertions in an order in which each component stands after those it needs, then
    /// replacements, then deletions in the opposite order. They are applied together.
    pub steps: Vec<Step>,
    /// Rows of the definition before become rows of the new one.
    pub forward: Conversion,
    /// Rows of the new definition become rows of the one before, for a return after steps were made.
    pub back: Conversion,
}

/// One change of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happens to it.
    pub change: Change,
    /// Its kind: `element`, `property`, `constant`, or the kind of a function.
    pub kind: &'static str,
    /// Its name with those of the elements around it, as it is before the step.
    pub name: String,
    /// What else is to be said: the new name, the type and where the values come from; may be empty.
    pub detail: String,
}

/// What happens to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It gets another name.
    Rename,
    /// It is new.
    Insert,
    /// It has another type, value or body.
    Replace,
    /// It is no more.
    Delete,
}

impl Plan {
    /// The plan from one definition to another one. The texts of `after` were checked with `before`, which its
    /// converters read.
    #[must_use]
    pub fn of(before: &Universe, after: &Universe) -> Self {
        let former = Former::of(before, after);
        let forward = forward(before, after, &former);
        let back = back(before, after, &former);
        let mut steps = Steps { before, after, former: &former, found: Vec::new() };
        steps.constants();
        steps.elements();
        for at in 0..after.elements.len() {
            steps.properties(ElementId(at as u32), &forward);
        }
        steps.functions();
        let (mut steps, mut deletions): (Vec<Step>, Vec<Step>) =
            steps.found.into_iter().partition(|step| step.change != Change::Delete);
        steps.sort_by_key(|step| step.change);
        deletions.reverse();
        steps.append(&mut deletions);
        Self { steps, forward, back }
    }
}

struct Steps<'u> {
    before: &'u Universe,
    after: &'u Universe,
    former: &'u Former<'u>,
    found: Vec<Step>,
}

impl Steps<'_> {
    fn note(
        &mut self,
        change: Change,
        kind: &'static str,
        name: impl Into<String>,
        detail: String,
    ) {
        self.found.push(Step { change, kind, name: name.into(), detail });
    }

    fn constants(&mut self) {
        let (before, after) = (self.before, self.after);
        let known: BTreeMap<&str, &Constant> =
            before.constants.iter().map(|old| (&*old.name, old)).collect();
        let kept: BTreeSet<&str> = after.constants.iter().map(|new| &*new.name).collect();
        for new in &after.constants {
            let ty = after.type_text(&new.ty);
            match known.get(&*new.name) {
                None => self.note(Change::Insert, "constant", &*new.name, format!(" : {ty}")),
                Some(old)
                    if before.type_text(&old.ty) != ty || !old.value.same_bits(&new.value) =>
                {
                    self.note(Change::Replace, "constant", &*new.name, format!(" : {ty}"));
                }
                Some(_) => {}
            }
        }
        for old in before.constants.iter().filter(|old| !kept.contains(&*old.name)) {
            self.note(Change::Delete, "constant", &*old.name, String::new());
        }
    }

    fn elements(&mut self) {
        let (before, after) = (self.before, self.after);
        for (new, origin) in after.elements.iter().zip(&self.former.elements) {
            match origin.map(|id| &before.elements[id.index()].name) {
                None => self.note(Change::Insert, "element", &*new.name, String::new()),
                Some(old) if *old != new.name => {
                    self.note(Change::Rename, "element", &**old, format!(" to {}", new.name));
                }
                Some(_) => {}
            }
        }
        let kept: BTreeSet<ElementId> = self.former.elements.iter().copied().flatten().collect();
        for (id, old) in (0..).map(ElementId).zip(&before.elements) {
            if !kept.contains(&id) {
                self.note(Change::Delete, "element", &*old.name, String::new());
            }
        }
    }

    /// The properties of an element. What its base says of them is told there.
    fn properties(&mut self, id: ElementId, forward: &Conversion) {
        let (before, after) = (self.before, self.after);
        let element = &after.elements[id.index()];
        let Some(origin) = &forward.elements[id.index()] else { return };
        let old = &before.elements[origin.element.index()];
        let known: BTreeMap<&str, &Property> =
            old.properties.iter().map(|old| (&*old.name, old)).collect();
        let names = &self.former.properties[id.index()];
        let told = element.base.map_or(&[][..], |base| &self.former.properties[base.index()]);
        let sources = element.properties.iter().zip(&origin.properties);
        for (at, (property, source)) in sources.enumerate() {
            if told.get(at) == Some(&names[at]) {
                continue;
            }
            let ty = after.type_text(&property.ty);
            let name = format!("{}.{}", element.name, property.name);
            let Some(known) = names[at].and_then(|was| known.get(was)) else {
                self.note(Change::Insert, "property", name, format!(" : {ty}, {}", word_of(source)));
                continue;
            };
            if known.name != property.name {
                let was = format!("{}.{}", element.name, known.name);
                self.note(Change::Rename, "property", was, format!(" to {name}"));
            }
            let known = before.type_text(&known.ty);
            if known != ty || matches!(source, Source::Converter(_)) {
                let detail = format!(" : {known} to {ty}, {}", word_of(source));
                self.note(Change::Replace, "property", name, detail);
            }
        }
        let kept: BTreeSet<&str> = names.iter().copied().flatten().collect();
        let gone = old.properties.iter().filter(|old| !kept.contains(&*old.name));
        for gone in gone.filter(|gone| gone.declared_by == origin.element) {
            let name = format!("{}.{}", element.name, gone.name);
            self.note(Change::Delete, "property", name, String::new());
        }
    }

    fn functions(&mut self) {
        let (before, after) = (self.before, self.after);
        let same = Same { before, after, former: self.former };
        let names: Vec<String> = after.functions.iter().map(|new| same.name_before(new)).collect();
        let known: BTreeMap<&str, &Function> =
            before.functions.iter().map(|old| (&*old.name, old)).collect();
        let kept: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        for (new, name) in after.functions.iter().zip(&names) {
            let change = match known.get(&**name) {
                None => Change::Insert,
                Some(old) if !same.function(old, new) => Change::Replace,
                Some(_) => continue,
            };
            self.note(change, word(new.kind), &*new.name, String::new());
        }
        for old in before.functions.iter().filter(|old| !kept.contains(&*old.name)) {
            self.note(Change::Delete, word(old.kind), &*old.name, String::new());
        }
    }
}

const fn word_of(source: &Source) -> &'static str {
    match source {
        Source::Property(_) => "kept",
        Source::Converter(_) => "converted",
        Source::Default => "with its default",
        Source::Missing => "without a value",
    }
}

const fn word(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Function => "function",
        FunctionKind::Update => "update",
        FunctionKind::Constraint => "constraint",
        FunctionKind::Predict => "prediction",
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change {
            Change::Rename => "rename",
            Change::Insert => "insert",
            Change::Replace => "replace",
            Change::Delete => "delete",
        };
        write!(f, "{change} {} {}{}", self.kind, self.name, self.detail)
    }
}
