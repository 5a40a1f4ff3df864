//! What corresponds in two definitions: types, places and code that a redefinition needs besides rows.
//!
//! It is found once, beside the steps, because names and types are compared as texts and converters are compiled for
//! it. What remains for the time between two steps are numbers.

use std::collections::BTreeMap;

use hemiola_world_code::{CodeError, Program, ScalarType, Texts, compile_converter, scalar_types};
use hemiola_world_lang::definition::{ElementId, Function, FunctionId, Type, Universe};
use hemiola_world_plan::{Conversion, Origin, ScalarSource, Source, scalars};

use crate::world::starts;

/// From one definition to another one.
#[derive(Clone, Debug)]
pub(crate) struct Correspondence {
    /// By element of the definition that rows get.
    pub(crate) elements: Vec<Shape>,
}

/// An element of the definition that rows get.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The types of its columns.
    pub(crate) types: Vec<ScalarType>,
    /// The first column of each property.
    pub(crate) starts: Vec<u32>,
    /// Its part in common with the element whose rows it gets, if there is one.
    pub(crate) shared: Option<Shared>,
}

/// What an element has of the one whose rows it gets.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The types of the columns of that one.
    pub(crate) types: Vec<ScalarType>,
    /// The first column of each property of that one.
    pub(crate) starts: Vec<u32>,
    /// By property: where its scalars come from, if it has the values of a property of that one.
    pub(crate) sources: Vec<Vec<ScalarSource>>,
    /// By property: the number of that property, if the type stays the same, too.
    same: Vec<Option<u32>>,
    /// For a constraint of that one: the constraint of the same name with parameters of the same types.
    constraints: BTreeMap<FunctionId, FunctionId>,
    /// By property: the code of its converter, unless that has texts, whose numbers only the world knows.
    pub(crate) converters: BTreeMap<u32, Result<Program, CodeError>>,
}

impl Correspondence {
    /// The converters are written in the definition `code`.
    pub(crate) fn of(
        before: &Universe,
        after: &Universe,
        conversion: &Conversion,
        code: &Universe,
    ) -> Self {
        let elements = (0..).map(ElementId).zip(&conversion.elements).map(|(id, origin)| Shape {
            types: scalar_types(after, &Type::Element(id)),
            starts: starts(after, id),
            shared: origin.as_ref().map(|origin| Shared::of((before, origin), (after, id), code)),
        });
        Self { elements: elements.collect() }
    }
}

impl Shape {
    /// The columns of a property.
    pub(crate) fn columns(&self, property: u32) -> std::ops::Range<u32> {
        let end = self.starts.get(property as usize + 1).copied();
        self.starts[property as usize]..end.unwrap_or(self.types.len() as u32)
    }
}

impl Shared {
    fn of(
        (before, origin): (&Universe, &Origin),
        (after, id): (&Universe, ElementId),
        code: &Universe,
    ) -> Self {
        let old = &before.elements[origin.element.index()];
        let new = &after.elements[id.index()];
        let (own, first) = (starts(before, origin.element), starts(after, id));
        let (mut sources, mut same, mut converters) = (Vec::new(), Vec::new(), BTreeMap::new());
        for ((at, property), source) in (0..).zip(&new.properties).zip(&origin.properties) {
            let (mut scalar_sources, mut same_as) = (Vec::new(), None);
            match source {
                Source::Property(from) => {
                    let ty = &old.properties[*from as usize].ty;
                    scalar_sources =
                        scalars((before, ty), (after, &property.ty)).unwrap_or_default();
                    let is_same = is_same_type((before, ty), (after, &property.ty));
                    same_as = is_same.then_some(*from);
                }
                Source::Converter(converter) => {
                    let mut texts = Texts::default();
                    let to = (first[at as usize], &property.ty);
                    let program = compile_converter(code, converter, own.clone(), to, &mut texts);
                    if texts.is_empty() {
                        converters.insert(at, program);
                    }
                }
                Source::Default | Source::Missing => {}
            }
            sources.push(scalar_sources);
            same.push(same_as);
        }
        let constraint = |of: &FunctionId| Some((*of, namesake((before, *of), (after, id))?));
        let constraints = old.constraints.iter().filter_map(constraint).collect();
        let types = scalar_types(before, &Type::Element(origin.element));
        Self { types, starts: own, sources, same, constraints, converters }
    }

    /// The number that a property has now, if it keeps its values and its type.
    pub(crate) fn property(&self, old: u32) -> Option<u32> {
        self.same.iter().position(|same| *same == Some(old)).map(|new| new as u32)
    }

    /// Whether a property has the values of another one, of the same type.
    pub(crate) fn stays(&self, old: u32, new: u32) -> bool {
        self.same[new as usize] == Some(old)
    }

    /// The constraint of the same name with parameters of the same types.
    pub(crate) fn constraint(&self, old: FunctionId) -> Option<FunctionId> {
        self.constraints.get(&old).copied()
    }
}

/// The constraint of an element with the name and the types of parameters of another one.
fn namesake(
    (before, id): (&Universe, FunctionId),
    (after, element): (&Universe, ElementId),
) -> Option<FunctionId> {
    let own = |function: &Function| function.name.rsplit('.').next().map(str::to_owned);
    let parameters = |universe: &Universe, function: &Function| -> Vec<String> {
        let parameters = &function.locals[..function.parameter_count as usize];
        parameters.iter().map(|parameter| universe.type_text(&parameter.ty)).collect()
    };
    let old = &before.functions[id.index()];
    let mut same = after.elements[element.index()].constraints.iter().filter(|id| {
        let new = &after.functions[id.index()];
        own(new) == own(old) && parameters(after, new) == parameters(before, old)
    });
    same.next().copied()
}

fn is_same_type(old: (&Universe, &Type), new: (&Universe, &Type)) -> bool {
    old.0.type_text(old.1) == new.0.type_text(new.1)
        && scalar_types(old.0, old.1) == scalar_types(new.0, new.1)
}
