//! The steps from one definition to another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hemiola_world_lang::definition::{
    Constant, ElementId, Function, FunctionKind, Property, Universe, Value,
};
use hemiola_world_lang::value_text;

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
    /// It has another type, value, default, spatial index, base or body.
    Replace,
    /// It is removed.
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

impl<'u> Steps<'u> {
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
            let Some(old) = origin.map(|id| &before.elements[id.index()]) else {
                self.note(Change::Insert, "element", &*new.name, String::new());
                continue;
            };
            if old.name != new.name {
                self.note(Change::Rename, "element", &*old.name, format!(" to {}", new.name));
            }
            if new.base.map(|base| self.former.elements[base.index()]) != old.base.map(Some) {
                let was = old.base.map(|base| &*before.elements[base.index()].name);
                let is = new.base.map(|base| &*after.elements[base.index()].name);
                let detail = format!(", {}", instead("derived from", was, is));
                self.note(Change::Replace, "element", &*new.name, detail);
            }
        }
        let kept: BTreeSet<ElementId> = self.former.elements.iter().copied().flatten().collect();
        for (id, old) in (0..).map(ElementId).zip(&before.elements) {
            if !kept.contains(&id) {
                self.note(Change::Delete, "element", &*old.name, String::new());
            }
        }
    }

    fn properties(&mut self, id: ElementId, forward: &Conversion) {
        let Some(origin) = &forward.elements[id.index()] else { return };
        let old = &self.before.elements[origin.element.index()];
        let known: BTreeMap<&str, u32> =
            old.properties.iter().map(|old| &*old.name).zip(0..).collect();
        let names = &self.former.properties[id.index()];
        for ((at, source), name) in (0..).zip(&origin.properties).zip(names) {
            match name.and_then(|name| known.get(name)) {
                None => self.new_property((id, at), source),
                Some(was) => self.property((origin.element, *was), (id, at), source),
            }
        }
        let kept: BTreeSet<&str> = names.iter().copied().flatten().collect();
        let gone = old.properties.iter().filter(|old| !kept.contains(&*old.name));
        for gone in gone.filter(|gone| gone.declared_by == origin.element) {
            let name = format!("{}.{}", self.after.elements[id.index()].name, gone.name);
            self.note(Change::Delete, "property", name, String::new());
        }
    }

    fn new_property(&mut self, (id, at): (ElementId, u32), source: &Source) {
        if self.is_told_by_base(id, at) {
            return;
        }
        let (name, property) = self.property_after(id, at);
        let detail = format!(" : {}, {}", self.after.type_text(&property.ty), word_of(source));
        self.note(Change::Insert, "property", name, detail);
    }

    /// A property that both definitions have.
    fn property(&mut self, from: (ElementId, u32), (id, at): (ElementId, u32), source: &Source) {
        let old = property(self.before, from);
        let (name, new) = self.property_after(id, at);
        let mut other = Vec::new();
        if !self.is_told_by_base(id, at) {
            if old.name != new.name {
                let was = format!("{}.{}", self.after.elements[id.index()].name, old.name);
                self.note(Change::Rename, "property", was, format!(" to {name}"));
            }
            other.extend(self.other_type(old, new, source));
            other.extend(other_cell(cell(self.before, from), cell(self.after, (id, at))));
        }
        let is_told =
            has_default_of_base(self.before, from) && has_default_of_base(self.after, (id, at));
        if !is_told && !is_same_default(&old.default, &new.default) {
            let [was, is] = [old, new].map(|property| value_text(&property.default));
            other.push(instead("default", Some(&was), Some(&is)));
        }
        if !other.is_empty() {
            self.note(Change::Replace, "property", name, format!(" : {}", other.join(", ")));
        }
    }

    /// Whether the element that this one is derived from has the same property with the same origin.
    fn is_told_by_base(&self, id: ElementId, at: u32) -> bool {
        let names = |id: ElementId| self.former.properties[id.index()].get(at as usize);
        let base = self.after.elements[id.index()].base;
        base.is_some_and(|base| names(base) == names(id))
    }

    fn property_after(&self, id: ElementId, at: u32) -> (String, &'u Property) {
        let found = property(self.after, (id, at));
        (format!("{}.{}", self.after.elements[id.index()].name, found.name), found)
    }

    fn other_type(&self, old: &Property, new: &Property, source: &Source) -> Option<String> {
        let (was, is) = (self.before.type_text(&old.ty), self.after.type_text(&new.ty));
        let is_other = was != is || matches!(source, Source::Converter(_));
        is_other.then(|| format!("{was} to {is}, {}", word_of(source)))
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

fn property(universe: &Universe, (id, at): (ElementId, u32)) -> &Property {
    &universe.elements[id.index()].properties[at as usize]
}

/// The edge of a cell, in the SI unit of the property, if it is the position of its element.
fn cell(universe: &Universe, (id, at): (ElementId, u32)) -> Option<f64> {
    let index = universe.elements[id.index()].index.as_ref();
    index.filter(|index| index.property == at).map(|index| index.cell)
}

fn other_cell(was: Option<f64>, is: Option<f64>) -> Option<String> {
    let [old, new] = [was, is].map(|cell| cell.map(|cell| value_text(&Value::Double(cell))));
    (was != is).then(|| instead("indexed by", old.as_deref(), new.as_deref()))
}

/// Whether a property is inherited with its default.
fn has_default_of_base(universe: &Universe, (id, at): (ElementId, u32)) -> bool {
    let base = universe.elements[id.index()].base;
    let inherited =
        base.and_then(|base| universe.elements[base.index()].properties.get(at as usize));
    inherited.is_some_and(|base| base.default.same_bits(&property(universe, (id, at)).default))
}

/// Numbers of different types are the same if they are equal in the type with fewer bits.
fn is_same_default(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Items(old), Value::Items(new)) | (Value::Row(old), Value::Row(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|(old, new)| is_same_default(old, new))
        }
        (Value::Single(narrow), Value::Double(wide))
        | (Value::Double(wide), Value::Single(narrow)) => {
            narrow.to_bits() == (*wide as f32).to_bits()
        }
        (Value::Integer(whole), Value::Double(real))
        | (Value::Double(real), Value::Integer(whole)) => {
            f64::from(*whole).to_bits() == real.to_bits()
        }
        _ => old.same_bits(new),
    }
}

/// The present value and the former one, of which one may not exist.
fn instead(word: &str, was: Option<&str>, is: Option<&str>) -> String {
    match (was, is) {
        (Some(was), Some(is)) => format!("{word} {is} instead of {was}"),
        (None, Some(is)) => format!("{word} {is}"),
        (was, None) => format!("no longer {word} {}", was.unwrap_or_default()),
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
