//! All components of a universe by name, and the order of its elements.

use super::order::order;
use super::scope::{Meaning, ScopeId};
use super::{Checked, Checker, Reported};
use crate::definition::{ConstantId, ElementId, FunctionId};
use crate::limits::BASES_MAX;
use crate::problem::Problem;
use crate::syntax::{Constant, Element, Entity, Function, FunctionKind, Item, Type, TypeKind};

/// The components as written, in the order of the texts.
#[derive(Default)]
pub(super) struct Drafts<'c> {
    pub(super) elements: Vec<ElementDraft<'c>>,
    pub(super) constants: Vec<Draft<&'c Constant>>,
    pub(super) functions: Vec<Draft<&'c Function>>,
    pub(super) entities: Vec<&'c Entity>,
    pub(super) element_ids: Vec<ElementId>,
    /// Of each element: its draft.
    pub(super) drafts_by_id: Vec<usize>,
    /// `None` until the constant is known, or if it is wrong.
    pub(super) constant_ids: Vec<Option<ConstantId>>,
    pub(super) function_ids: Vec<FunctionId>,
}

pub(super) struct ElementDraft<'c> {
    pub(super) syntax: &'c Element,
    pub(super) name: String,
    /// The scope around it; its own is its index + 1.
    pub(super) outer: ScopeId,
    pub(super) base: Option<usize>,
    pub(super) functions: Vec<usize>,
}

/// A component and the scope that it is in.
pub(super) struct Draft<T> {
    pub(super) syntax: T,
    pub(super) name: String,
    pub(super) scope: ScopeId,
}

impl<'c> Checker<'c> {
    /// Collects components. `prefix` is the name of the scope with a dot.
    pub(super) fn collect(&mut self, scope: ScopeId, prefix: &str, items: &[&'c Item]) {
        for &item in items {
            match item {
                Item::Element(element) => self.collect_element(scope, prefix, element),
                Item::Property(property) => {
                    self.scopes.define(scope, &property.name, Meaning::Property, self.problems);
                }
                Item::Constant(constant) => {
                    let meaning = Meaning::Constant(self.drafts.constants.len());
                    self.scopes.define(scope, &constant.name, meaning, self.problems);
                    let name = format!("{prefix}{}", constant.name.text);
                    self.drafts.constants.push(Draft { syntax: constant, name, scope });
                }
                Item::Function(function) => self.collect_function(scope, prefix, function),
                Item::Entity(entity) => self.drafts.entities.push(entity),
                Item::Value(_) | Item::Converter(_) => {}
            }
        }
    }

    fn collect_element(&mut self, outer: ScopeId, prefix: &str, syntax: &'c Element) {
        let draft = self.drafts.elements.len();
        self.scopes.define(outer, &syntax.name, Meaning::Element(draft), self.problems);
        let scope = self.scopes.inside(outer);
        debug_assert_eq!(scope, draft + 1);
        let name = format!("{prefix}{}", syntax.name.text);
        let inner = format!("{name}.");
        self.drafts.elements.push(ElementDraft {
            syntax,
            name,
            outer,
            base: None,
            functions: Vec::new(),
        });
        let items: Vec<&Item> = syntax.items.iter().collect();
        self.collect(scope, &inner, &items);
    }

    fn collect_function(&mut self, scope: ScopeId, prefix: &str, syntax: &'c Function) {
        let draft = self.drafts.functions.len();
        self.scopes.define(scope, &syntax.name, Meaning::Function(draft), self.problems);
        let name = format!("{prefix}{}", syntax.name.text);
        self.drafts.functions.push(Draft { syntax, name, scope });
        if scope > 0 {
            self.drafts.elements[scope - 1].functions.push(draft);
        }
    }

    pub(super) fn resolve_bases(&mut self) -> Checked<()> {
        let count = self.drafts.elements.len();
        for draft in 0..count {
            let ElementDraft { syntax, outer, .. } = &self.drafts.elements[draft];
            let (outer, Some(path)) = (*outer, &syntax.base) else { continue };
            let base = self.scopes.element(outer, path, self.problems);
            if base.is_none() {
                self.scopes.set_incomplete(draft + 1);
            }
            self.drafts.elements[draft].base = base;
        }
        let needs: Vec<Vec<usize>> =
            self.drafts.elements.iter().map(|draft| draft.base.into_iter().collect()).collect();
        let (sorted, cycle) = order(&needs);
        if let Some(cycle) = cycle {
            return self.element_cycle(&cycle, "is derived from");
        }
        let mut depth = vec![0_usize; count];
        for draft in sorted {
            let Some(base) = needs[draft].first() else { continue };
            depth[draft] = depth[*base] + 1;
            self.scopes.set_base(draft + 1, base + 1);
            if depth[draft] > BASES_MAX {
                let span = self.drafts.elements[draft].syntax.name.span;
                let message = format!("more than {BASES_MAX} elements are derived from each other");
                return self.report(Problem::new(span, message).hint("derive from an earlier one"));
            }
        }
        self.refuse_hiding()
    }

    /// An element may replace the update and the prediction of its base, and nothing else.
    fn refuse_hiding(&mut self) -> Checked<()> {
        for at in 0..self.drafts.elements.len() {
            let syntax = self.drafts.elements[at].syntax;
            for item in &syntax.items {
                let name = match item {
                    Item::Element(item) => &item.name,
                    Item::Property(item) => &item.name,
                    Item::Constant(item) => &item.name,
                    Item::Function(item)
                        if matches!(
                            item.kind,
                            FunctionKind::Function | FunctionKind::Constraint
                        ) =>
                    {
                        &item.name
                    }
                    _ => continue,
                };
                if let Some((_, first)) = self.scopes.inherited(at + 1, &name.text) {
                    let message = format!("`{}` is inherited already", name.text);
                    let problem = Problem::new(name.span, message).also(first, "from here");
                    let hint = match item {
                        Item::Property(_) => {
                            format!("write `{} = …;` to change its default", name.text)
                        }
                        _ => "give it another name".into(),
                    };
                    self.problems.push(problem.hint(hint));
                }
            }
        }
        Ok(())
    }

    /// Numbers the elements: each after its base and what it contains.
    pub(super) fn order_elements(&mut self) -> Checked<()> {
        let mut needs = Vec::new();
        for at in 0..self.drafts.elements.len() {
            let draft = &self.drafts.elements[at];
            let (syntax, mut all) = (draft.syntax, Vec::from_iter(draft.base));
            for item in &syntax.items {
                let Item::Property(property) = item else { continue };
                let Some(path) = element_path(&property.ty) else { continue };
                // An unknown name is reported when the type is checked.
                let mut ignored = crate::problem::Problems::default();
                all.extend(self.scopes.element(at + 1, path, &mut ignored));
            }
            needs.push(all);
        }
        let (sorted, cycle) = order(&needs);
        if let Some(cycle) = cycle {
            return self.element_cycle(&cycle, "needs");
        }
        let mut ids = vec![ElementId(0); sorted.len()];
        for (id, draft) in (0..).zip(&sorted) {
            ids[*draft] = ElementId(id);
        }
        self.drafts.element_ids = ids;
        self.drafts.drafts_by_id = sorted;
        Ok(())
    }

    fn element_cycle(&mut self, cycle: &[usize], verb: &str) -> Checked<()> {
        let names: Vec<&str> = cycle
            .iter()
            .chain(&cycle[..1])
            .map(|at| self.drafts.elements[*at].name.as_str())
            .collect();
        let message = format!("element `{}` {verb} itself: {}", names[0], chain(&names));
        let span = self.drafts.elements[cycle[0]].syntax.name.span;
        self.problems.push(Problem::new(span, message).hint("remove one of these steps"));
        Err(Reported)
    }
}

/// Names in a row; of many only the first and last ones.
pub(super) fn chain(names: &[&str]) -> String {
    const MOST: usize = 8;
    if names.len() <= MOST {
        return names.join(" → ");
    }
    format!("{} → … → {}", names[..MOST - 1].join(" → "), names[names.len() - 1])
}

/// The element that a type names.
pub(super) fn element_path(ty: &Type) -> Option<&crate::syntax::Path> {
    match &ty.kind {
        TypeKind::Element(path) => Some(path),
        TypeKind::Array(of, _) | TypeKind::List(of, _) => element_path(of),
        _ => None,
    }
}
