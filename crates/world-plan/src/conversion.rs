//! How rows of one definition become rows of another one.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_world_lang::definition::{Converter, Element, ElementId, Property, Type, Universe};

use crate::scalars::scalars;

/// How rows of one definition become rows of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// By element of the definition that rows get: where they come from. `None` if no rows become rows of the element.
    pub elements: Vec<Option<Origin>>,
    /// Elements of the other definition whose rows would end: there must be none.
    pub ended: Vec<ElementId>,
    /// Properties without a value. The conversion is possible if there are none.
    pub missing: Vec<Missing>,
}

/// Where the rows of an element come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The element of the other definition.
    pub element: ElementId,
    /// By property.
    pub properties: Vec<Source>,
}

/// Where the value of a property comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A property of the other definition, of a type that loses nothing ([`scalars`]).
    Property(u32),
    /// A converter.
    Converter(Converter),
    /// The default of the property.
    Default,
    /// Nowhere; it is among [`Conversion::missing`].
    Missing,
}

/// A property without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The element and the property, such as `body.mass`; the element alone if none of its rows has an origin.
    pub property: String,
    /// The reason, in a sentence without a full stop.
    pub reason: String,
    /// A converter to write into the element of the new definition; empty if none can help. A `…` in it stands for a
    /// value that only the author of the text knows.
    pub stub: String,
}

/// What the components of a new definition were before it.
pub(crate) struct Former<'u> {
    /// By element: the element of the definition before that its `was` names, or that has its name.
    pub(crate) elements: Vec<Option<ElementId>>,
    /// By element and property: the name before, which its `was` says, or its own. `None` if the `was` of another
    /// property says that name: then this one is new.
    pub(crate) properties: Vec<Vec<Option<&'u str>>>,
}

impl<'u> Former<'u> {
    pub(crate) fn of(before: &Universe, after: &'u Universe) -> Self {
        let names = after.elements.iter().map(|element| former_names(&element.properties));
        Self { elements: origins(before, after), properties: names.collect() }
    }
}

fn former_names(properties: &[Property]) -> Vec<Option<&str>> {
    let claimed: BTreeSet<&str> = properties.iter().filter_map(|one| one.was.as_deref()).collect();
    let own = properties.iter().map(|one| (!claimed.contains(&*one.name)).then_some(&*one.name));
    properties.iter().zip(own).map(|(one, own)| one.was.as_deref().or(own)).collect()
}

fn origins(before: &Universe, after: &Universe) -> Vec<Option<ElementId>> {
    let known: BTreeMap<&str, ElementId> = names(before).collect();
    // By full name in `after`: the full name in `before`. An inner element stands behind the outer one.
    let mut former: BTreeMap<&str, String> = BTreeMap::new();
    for element in &after.elements {
        let (outer, own) = match element.name.rsplit_once('.') {
            Some((outer, own)) => (Some(outer), own),
            None => (None, &*element.name),
        };
        let own = element.was.as_deref().unwrap_or(own);
        let outer = outer.map(|outer| former.get(outer).map_or(outer, |name| name));
        let name = outer.map_or_else(|| own.to_owned(), |outer| format!("{outer}.{own}"));
        former.insert(&element.name, name);
    }
    let origin = |element: &Element| known.get(&*former[&*element.name]).copied();
    after.elements.iter().map(origin).collect()
}

fn names(universe: &Universe) -> impl Iterator<Item = (&str, ElementId)> {
    universe.elements.iter().map(|element| &*element.name).zip((0..).map(ElementId))
}

/// From `before` to `after`.
pub(crate) fn forward(before: &Universe, after: &Universe, former: &Former<'_>) -> Conversion {
    let (mut missing, mut elements) = (Vec::new(), Vec::new());
    let mut used = BTreeSet::new();
    for (to, origin) in (0..).map(ElementId).zip(&former.elements) {
        elements.push(match *origin {
            None => None,
            Some(from) if !used.insert(from) => {
                missing.push(twice(before, after, from, to));
                None
            }
            Some(from) => {
                let properties = sources((before, from), (after, to), former, &mut missing);
                Some(Origin { element: from, properties })
            }
        });
    }
    Conversion { elements, ended: ended(before, &used), missing }
}

/// The sources of the properties of an element of the new definition.
fn sources(
    (before, from): (&Universe, ElementId),
    (after, to): (&Universe, ElementId),
    former: &Former<'_>,
    missing: &mut Vec<Missing>,
) -> Vec<Source> {
    let old = &before.elements[from.index()];
    let known: BTreeMap<&str, u32> =
        old.properties.iter().map(|property| &*property.name).zip(0..).collect();
    let mut sources = Vec::new();
    let properties = after.elements[to.index()].properties.iter();
    for ((at, property), name) in (0..).zip(properties).zip(&former.properties[to.index()]) {
        if let Some(converter) = converter(before, after, former, (to, from), at) {
            sources.push(Source::Converter(converter.clone()));
            continue;
        }
        let Some(number) = name.and_then(|name| known.get(name)) else {
            sources.push(match property.was {
                Some(_) => {
                    missing.push(unknown(after, to, property, &old.name));
                    Source::Missing
                }
                None => Source::Default,
            });
            continue;
        };
        let types = ((before, &old.properties[*number as usize].ty), (after, &property.ty));
        sources.push(match scalars(types.0, types.1) {
            Some(_) => Source::Property(*number),
            None => {
                missing.push(changed(types.0, types.1, to, property));
                Source::Missing
            }
        });
    }
    sources
}

/// From `after` back to `before`, with the converters back of `after`.
pub(crate) fn back(before: &Universe, after: &Universe, former: &Former<'_>) -> Conversion {
    let mut successors: BTreeMap<ElementId, ElementId> = BTreeMap::new();
    for (to, origin) in (0..).map(ElementId).zip(&former.elements) {
        if let Some(from) = origin {
            successors.entry(*from).or_insert(to);
        }
    }
    let (mut missing, mut elements) = (Vec::new(), Vec::new());
    for id in (0..before.elements.len() as u32).map(ElementId) {
        elements.push(successors.get(&id).map(|from| {
            let properties = sources_back((before, id), (after, *from), former, &mut missing);
            Origin { element: *from, properties }
        }));
    }
    let used = successors.into_values().collect();
    Conversion { elements, ended: ended(after, &used), missing }
}

/// The sources of the properties of an element of the former definition.
fn sources_back(
    (before, id): (&Universe, ElementId),
    (after, from): (&Universe, ElementId),
    former: &Former<'_>,
    missing: &mut Vec<Missing>,
) -> Vec<Source> {
    let mut successors: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let new = &after.elements[from.index()].properties;
    for (number, name) in (0..).zip(&former.properties[from.index()]) {
        if let Some(name) = name {
            successors.entry(name).or_default().push(number);
        }
    }
    let old = &before.elements[id.index()];
    let mut sources = Vec::new();
    for (at, property) in (0..).zip(&old.properties) {
        if let Some(converter) = converter_back(before, after, former, (from, id), at) {
            sources.push(Source::Converter(converter.clone()));
            continue;
        }
        let mut candidates = successors.get(&*property.name).into_iter().flatten();
        let is_kept = |number: &&u32| {
            let ty = &new[**number as usize].ty;
            scalars((after, ty), (before, &property.ty)).is_some()
        };
        sources.push(candidates.find(is_kept).map_or_else(
            || {
                missing.push(Missing {
                    property: format!("{}.{}", old.name, property.name),
                    reason: "no property of the new definition leads back to it".to_owned(),
                    stub: stub("converter back", property, "…"),
                });
                Source::Missing
            },
            |number| Source::Property(*number),
        ));
    }
    sources
}

/// The elements of a definition whose rows go nowhere.
fn ended(universe: &Universe, used: &BTreeSet<ElementId>) -> Vec<ElementId> {
    let all = (0..universe.elements.len() as u32).map(ElementId);
    all.filter(|id| !used.contains(id)).collect()
}

/// The converter of a property, of the element or of one that it is derived from, if that reads rows of this origin.
fn converter<'u>(
    before: &Universe,
    after: &'u Universe,
    former: &Former<'_>,
    (to, from): (ElementId, ElementId),
    property: u32,
) -> Option<&'u Converter> {
    let gives = |converter: &&Converter| !converter.back && converter.property == property;
    lineage(after, to).find_map(|id| {
        let converter = after.elements[id.index()].converters.iter().find(gives)?;
        before.is_a(from, former.elements[id.index()]?).then_some(converter)
    })
}

/// The same for a property of `before`: the converter reads rows of `from`, an element of `after`.
fn converter_back<'u>(
    before: &Universe,
    after: &'u Universe,
    former: &Former<'_>,
    (from, to): (ElementId, ElementId),
    property: u32,
) -> Option<&'u Converter> {
    let gives = |converter: &&Converter| converter.back && converter.property == property;
    lineage(after, from).find_map(|id| {
        let converter = after.elements[id.index()].converters.iter().find(gives)?;
        before.is_a(to, former.elements[id.index()]?).then_some(converter)
    })
}

/// An element and those that it is derived from.
fn lineage(universe: &Universe, element: ElementId) -> impl Iterator<Item = ElementId> {
    std::iter::successors(Some(element), |id| universe.elements[id.index()].base)
}

fn twice(before: &Universe, after: &Universe, from: ElementId, to: ElementId) -> Missing {
    let from = &before.elements[from.index()].name;
    Missing {
        property: after.elements[to.index()].name.clone(),
        reason: format!("the rows of `{from}` go to another element already"),
        stub: String::new(),
    }
}

fn unknown(after: &Universe, to: ElementId, property: &Property, old: &str) -> Missing {
    let was = property.was.as_deref().unwrap_or_default();
    Missing {
        property: format!("{}.{}", after.elements[to.index()].name, property.name),
        reason: format!("`{old}` of the definition before has no property `{was}`"),
        stub: String::new(),
    }
}

fn changed(
    from: (&Universe, &Type),
    to: (&Universe, &Type),
    element: ElementId,
    property: &Property,
) -> Missing {
    let (was, is) = (from.0.type_text(from.1), to.0.type_text(to.1));
    let name = property.was.as_ref().unwrap_or(&property.name);
    Missing {
        property: format!("{}.{}", to.0.elements[element.index()].name, property.name),
        reason: format!("`{was}` does not become `{is}` by itself"),
        stub: stub("converter", property, &converted(from.1, to.1, name)),
    }
}

/// The value as a number of the other type, if the language can convert it; else a place for one.
fn converted(from: &Type, to: &Type, name: &str) -> String {
    let function = match (from.number(), to.number()) {
        (Some(Type::Real(_, from)), Some(Type::Integer)) if from.si_unit().is_empty() => "integer",
        (Some(Type::Real(_, from)), Some(Type::Real(_, to))) if from == to => "real32",
        (Some(Type::Integer), Some(Type::Real(_, to))) if to.si_unit().is_empty() => "real32",
        _ => return "…".to_owned(),
    };
    if from.same_shape(to) { format!("{function}({name})") } else { "…".to_owned() }
}

/// A converter gives no rows.
fn stub(word: &str, property: &Property, value: &str) -> String {
    if property.ty.holds_row() {
        return String::new();
    }
    format!("{word} {} = {value};", property.name)
}
