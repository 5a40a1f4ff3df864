//! From the tree of a text to the checked definition.
//!
//! The order of the work: names of all components ([`collect`]), bases, constants, properties of each element after its
//! base and what it contains ([`element`]), then functions after those they call ([`function`]), and entities.

mod collect;
mod context;
mod element;
mod expression;
mod function;
mod operator;
mod order;
mod scope;
mod statement;
mod types;

use std::collections::BTreeMap;

use crate::definition::{Definition, ElementId, FunctionId, Type, Universe};
use crate::parse::parse_into;
use crate::problem::{Problem, Problems};
use crate::source::Sources;
use crate::syntax;
use collect::Drafts;
use scope::Scopes;

/// The definition that texts describe. Converters need the definition `before`.
///
/// # Errors
/// All problems in the order of the texts: those of the grammar, or, if there is none, those of the meaning.
pub fn check(sources: &Sources, before: Option<&Definition>) -> Result<Definition, Vec<Problem>> {
    let mut problems = Problems::default();
    let syntax = parse_into(sources, &mut problems);
    if !problems.is_empty() {
        return Err(problems.sorted());
    }
    let mut universes: Vec<(&syntax::Name, Vec<&syntax::Item>)> = Vec::new();
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for part in &syntax.universes {
        let at = *by_name.entry(&part.name.text).or_insert(universes.len());
        if at == universes.len() {
            universes.push((&part.name, Vec::new()));
        }
        universes[at].1.extend(&part.items);
    }
    let mut definition = Definition::default();
    for (name, items) in universes {
        let before =
            before.and_then(|all| all.universes.iter().find(|other| other.name == name.text));
        let mut checker = Checker::new(&name.text, before, &mut problems);
        checker.run(&items);
        definition.universes.push(checker.universe);
    }
    if problems.is_empty() { Ok(definition) } else { Err(problems.sorted()) }
}

/// A problem has been recorded.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Checked<T> = Result<T, Reported>;

struct Checker<'c> {
    universe: Universe,
    before: Option<&'c Universe>,
    problems: &'c mut Problems,
    scopes: Scopes,
    drafts: Drafts<'c>,
    /// Of each element: its properties by name. `None` for one whose type is wrong.
    fields: Vec<BTreeMap<String, Option<u32>>>,
    /// Of each draft of a function: the types of its parameters and its result; `None` if one is wrong.
    signatures: Vec<Option<(Vec<Type>, Type)>>,
    /// Of each function: whether it goes through other rows.
    searches: Vec<bool>,
    /// Of each element: levels of elements within it.
    heights: Vec<usize>,
    /// Operations left for constant expressions.
    constant_cost_left: u64,
    /// Scalars left for values.
    values_left: u64,
    /// Properties left for elements.
    properties_left: usize,
}

impl<'c> Checker<'c> {
    fn new(name: &str, before: Option<&'c Universe>, problems: &'c mut Problems) -> Self {
        Self {
            universe: Universe { name: name.to_owned(), ..Universe::default() },
            before,
            problems,
            scopes: Scopes::new(),
            drafts: Drafts::default(),
            fields: Vec::new(),
            signatures: Vec::new(),
            searches: Vec::new(),
            heights: Vec::new(),
            constant_cost_left: crate::limits::CONSTANT_COST_MAX,
            values_left: crate::limits::VALUES_MAX,
            properties_left: crate::limits::PROPERTIES_MAX,
        }
    }

    fn run(&mut self, items: &[&'c syntax::Item]) {
        self.collect(0, "", items);
        let Ok(()) = self.resolve_bases().and_then(|()| self.order_elements()) else { return };
        self.constants();
        self.elements();
        self.functions();
        self.connect();
        self.converters();
        self.entities();
    }

    /// Records the problem.
    fn report<T>(&mut self, problem: Problem) -> Checked<T> {
        self.problems.push(problem);
        Err(Reported)
    }

    fn element_id(&self, draft: usize) -> ElementId {
        self.drafts.element_ids[draft]
    }

    /// Whether properties of an element may be missing, because a base is unknown.
    fn is_incomplete(&self, element: ElementId) -> bool {
        self.scopes.is_incomplete(self.drafts.drafts_by_id[element.index()] + 1)
    }

    fn function_id(&self, draft: usize) -> FunctionId {
        self.drafts.function_ids[draft]
    }
}
