//! Constants, properties with their defaults and spatial indices, converters and entities.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_diagnostic::did_you_mean;

use super::collect::{chain, element_path};
use super::context::{Context, Place};
use super::order::order;
use super::scope::{SUGGESTIONS_MAX, ScopeId};
use super::{Checked, Checker, Reported};
use crate::definition::{
    Constant, ConstantId, Converter, Element, ElementId, Entity, Property, SpatialIndex, Type,
    Value, Width,
};
use crate::evaluate;
use crate::limits::{LEAVES_MAX, NESTING_MAX, POSITION_LEN_MAX};
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{self, ExprKind, Item, Name, TypeKind};

impl Checker<'_> {
    pub(super) fn constants(&mut self) {
        let count = self.drafts.constants.len();
        self.drafts.constant_ids = vec![None; count];
        let needs: Vec<Vec<usize>> = (0..count).map(|draft| self.needed_constants(draft)).collect();
        let (sorted, cycle) = order(&needs);
        if let Some(cycle) = cycle {
            let names: Vec<&str> = cycle
                .iter()
                .chain(&cycle[..1])
                .map(|at| self.drafts.constants[*at].name.as_str())
                .collect();
            let message = format!("constant `{}` needs itself: {}", names[0], chain(&names));
            let span = self.drafts.constants[cycle[0]].syntax.name.span;
            self.problems.push(
                Problem::new(span, message).hint("give one of them a value without the others"),
            );
            return;
        }
        for draft in sorted {
            if let Ok(constant) = self.constant(draft) {
                let id = ConstantId(self.universe.constants.len() as u32);
                self.universe.constants.push(constant);
                self.drafts.constant_ids[draft] = Some(id);
            }
        }
    }

    fn needed_constants(&self, draft: usize) -> Vec<usize> {
        let (syntax, scope) =
            (self.drafts.constants[draft].syntax, self.drafts.constants[draft].scope);
        let mut found = BTreeSet::new();
        self.constants_used(scope, &syntax.value, &mut found);
        let mut ty = syntax.ty.as_ref();
        while let Some(TypeKind::Array(of, length) | TypeKind::List(of, length)) =
            ty.map(|ty| &ty.kind)
        {
            self.constants_used(scope, length, &mut found);
            ty = Some(of);
        }
        found.into_iter().collect()
    }

    fn constant(&mut self, draft: usize) -> Checked<Constant> {
        let (syntax, scope) =
            (self.drafts.constants[draft].syntax, self.drafts.constants[draft].scope);
        let mut uses = BTreeSet::new();
        if let Some(ty) = &syntax.ty
            && element_path(ty).is_some()
        {
            let problem = Problem::new(ty.span, "a constant cannot be an element");
            return self.report(problem.hint("declare an entity"));
        }
        let ty = match &syntax.ty {
            Some(ty) => Some(self.ty(scope, ty, &mut uses)?),
            None => None,
        };
        let (ty, value) = self.constant_value(scope, &syntax.value, ty.as_ref(), &mut uses)?;
        let name = self.drafts.constants[draft].name.clone();
        Ok(Constant { name, ty, value: value.canonical(), uses, span: syntax.name.span })
    }

    pub(super) fn elements(&mut self) {
        let mut drafts: Vec<usize> = (0..self.drafts.elements.len()).collect();
        drafts.sort_by_key(|draft| self.element_id(*draft));
        for draft in drafts {
            self.element(draft);
        }
    }

    fn element(&mut self, draft: usize) {
        let (syntax, scope) = (self.drafts.elements[draft].syntax, draft + 1);
        let id = self.element_id(draft);
        let base = self.drafts.elements[draft].base.map(|base| self.element_id(base));
        let mut element = Element {
            name: self.drafts.elements[draft].name.clone(),
            base,
            was: syntax.was.as_ref().map(|was| was.text.clone()),
            properties: Vec::new(),
            leaf_count: 0,
            row_len: 0,
            index: None,
            update: None,
            predict: None,
            constraints: Vec::new(),
            converters: Vec::new(),
            span: syntax.name.span,
        };
        let mut fields = BTreeMap::new();
        if let Some(base) = base {
            let base = &self.universe.elements[base.index()];
            let left = self.properties_left.checked_sub(base.properties.len());
            let values_left = self.values_left.checked_sub(base.leaf_count.into());
            let (Some(left), Some(values_left)) = (left, values_left) else {
                let _: Checked<()> = self.too_many_properties(element.span);
                self.push_element(element, fields);
                return;
            };
            (self.properties_left, self.values_left) = (left, values_left);
            element.properties.clone_from(&base.properties);
            element.index.clone_from(&base.index);
            fields.clone_from(&self.fields[element.base.expect("it has one").index()]);
        }
        for item in &syntax.items {
            if let Item::Property(property) = item {
                let known = self.property_of(id, scope, property, &mut element);
                fields.insert(property.name.text.clone(), known.ok());
            }
        }
        let sizes = element.properties.iter().map(|property| self.universe.size(&property.ty));
        let (leaves, bytes) = sizes.fold((0_u64, 0_u64), |sum, size| {
            (sum.0.saturating_add(size.0), sum.1.saturating_add(size.1))
        });
        if leaves > LEAVES_MAX {
            let message = format!(
                "a row of `{}` has {leaves} scalars; {LEAVES_MAX} are the most",
                element.name
            );
            self.problems.push(Problem::new(element.span, message).hint("make its arrays shorter"));
        }
        (element.leaf_count, element.row_len) = (leaves.min(LEAVES_MAX) as u32, bytes);
        self.push_element(element, fields);
        let mut row = self.defaults(id);
        for item in &syntax.items {
            if let Item::Value(value) = item {
                // The problem is recorded, and the other values are checked.
                let _: Checked<()> = self.set(id, scope, value, &mut row);
            }
        }
        let properties = &mut self.universe.elements[id.index()].properties;
        properties.iter_mut().zip(row).for_each(|(property, value)| property.default = value);
    }

    fn push_element(&mut self, element: Element, fields: BTreeMap<String, Option<u32>>) {
        // A base may be nested more deeply than its own text shows.
        let inherited = element.base.map_or(0, |base| self.heights[base.index()]);
        self.heights.resize(self.universe.elements.len() + 1, 0);
        let height = &mut self.heights[self.universe.elements.len()];
        *height = inherited.max(*height);
        self.universe.elements.push(element);
        self.fields.push(fields);
    }

    fn defaults(&self, element: ElementId) -> Vec<Value> {
        let properties = &self.universe.elements[element.index()].properties;
        properties.iter().map(|property| property.default.clone()).collect()
    }

    /// Adds a property to its element and returns its index.
    fn property_of(
        &mut self,
        id: ElementId,
        scope: ScopeId,
        syntax: &syntax::Property,
        element: &mut Element,
    ) -> Checked<u32> {
        let mut uses = BTreeSet::new();
        let ty = self
            .ty(scope, &syntax.ty, &mut uses)
            .and_then(|ty| self.shallow(id, ty, syntax.name.span));
        let default = match (&ty, &syntax.default) {
            (Ok(ty), Some(default)) => {
                self.constant_value(scope, default, Some(ty), &mut uses).map(|(_, value)| value)
            }
            (Ok(ty), None) => {
                let value = evaluate::zero(&self.universe, ty);
                self.take_values(&value, syntax.name.span).map(|()| value)
            }
            (Err(reported), _) => Err(*reported),
        };
        let ty = ty?;
        let at = element.properties.len() as u32;
        element.properties.push(Property {
            name: syntax.name.text.clone(),
            default: default.unwrap_or(Value::Boolean(false)).canonical(),
            was: syntax.was.as_ref().map(|was| was.text.clone()),
            declared_by: id,
            uses,
            span: syntax.name.span,
            ty,
        });
        if let Some(cell) = &syntax.cell {
            let index = self.spatial_index(scope, at, cell, element)?;
            element.index = Some(index);
        }
        Ok(at)
    }

    /// The type, if the elements in it are not nested too deeply.
    fn shallow(&mut self, id: ElementId, ty: Type, span: Span) -> Checked<Type> {
        self.heights.resize(id.index() + 1, 0);
        let Some(inner) = element_in(&ty) else { return Ok(ty) };
        let height = self.heights[inner.index()] + 1;
        if height > NESTING_MAX {
            let message = format!("more than {NESTING_MAX} elements contain each other");
            return self.report(
                Problem::new(span, message).hint("let one of them be an entity of its own"),
            );
        }
        self.heights[id.index()] = self.heights[id.index()].max(height);
        Ok(ty)
    }

    fn spatial_index(
        &mut self,
        scope: ScopeId,
        property: u32,
        cell: &syntax::Expr,
        element: &Element,
    ) -> Checked<SpatialIndex> {
        let position = &element.properties[property as usize];
        if let Some(first) = &element.index {
            let first = element.properties[first.property as usize].span;
            let problem = Problem::new(position.span, "an element has one spatial index")
                .also(first, "the first one")
                .hint("remove one of them");
            return self.report(problem);
        }
        let dimension = match &position.ty {
            Type::Real(_, dimension) => Some(*dimension),
            Type::Array(of, length) if *length <= POSITION_LEN_MAX => match **of {
                Type::Real(_, dimension) => Some(dimension),
                _ => None,
            },
            _ => None,
        };
        let Some(dimension) = dimension else {
            let message = format!("{} is not a position", self.universe.type_text(&position.ty));
            let hint = "a position is a real, or an array of two or three reals";
            return self.report(Problem::new(position.span, message).hint(hint));
        };
        let ty = Type::Real(Width::Double, dimension);
        let (_, value) = self.constant_value(scope, cell, Some(&ty), &mut BTreeSet::new())?;
        match value.number() {
            Some(cell) if cell.is_finite() && cell > 0.0 => Ok(SpatialIndex { property, cell }),
            _ => {
                let problem = Problem::new(cell.span, "the edge of a cell must be above 0");
                self.report(problem.hint("the usual radius of a search is a good edge"))
            }
        }
    }

    /// Sets a part of a row to a constant value.
    fn set(
        &mut self,
        element: ElementId,
        scope: ScopeId,
        value: &syntax::Value,
        row: &mut [Value],
    ) -> Checked<()> {
        let place = self.part(element, scope, &value.target)?;
        let (_, new) =
            self.constant_value(scope, &value.value, Some(&place.1), &mut BTreeSet::new())?;
        let mut at = row.get_mut(place.0[0] as usize).ok_or(Reported)?;
        for step in &place.0[1..] {
            let (Value::Items(parts) | Value::Row(parts)) = at else { return Err(Reported) };
            let length = parts.len();
            let Some(part) = parts.get_mut(*step as usize) else {
                let message = format!("item {step} of {length}");
                let problem = Problem::new(value.target.span, message);
                return self.report(problem.hint("the list has fewer items; set the whole list"));
            };
            at = part;
        }
        *at = new.canonical();
        Ok(())
    }

    /// The steps from a row to a part of it, and its type.
    fn part(
        &mut self,
        element: ElementId,
        scope: ScopeId,
        target: &syntax::Expr,
    ) -> Checked<(Vec<u32>, Type)> {
        match &target.kind {
            ExprKind::Name(text) => {
                self.step(element, &Name { text: text.clone(), span: target.span })
            }
            ExprKind::Field(of, name) if matches!(of.kind, ExprKind::SelfRow) => {
                self.step(element, name)
            }
            ExprKind::Field(of, name) => {
                let (mut steps, ty) = self.part(element, scope, of)?;
                let Type::Element(inner) = ty else {
                    let message =
                        format!("{} has no property `{}`", self.universe.type_text(&ty), name.text);
                    return self.report(Problem::new(name.span, message));
                };
                let (more, ty) = self.step(inner, name)?;
                steps.extend(more);
                Ok((steps, ty))
            }
            ExprKind::Index(of, index) => {
                let (mut steps, ty) = self.part(element, scope, of)?;
                let (Type::Array(item, length) | Type::List(item, length)) = ty else {
                    let message = format!("{} has no items", self.universe.type_text(&ty));
                    return self.report(Problem::new(of.span, message));
                };
                let at = self.whole(scope, index, &mut BTreeSet::new())?;
                let Some(at) = u32::try_from(at).ok().filter(|at| *at < length) else {
                    let message = format!("item {at} of {length}");
                    let hint = format!("items count from 0 to {}", length - 1);
                    return self.report(Problem::new(index.span, message).hint(hint));
                };
                steps.push(at);
                Ok((steps, *item))
            }
            _ => {
                let problem = Problem::new(target.span, "this is not a property");
                self.report(problem.hint("write `property = value;`"))
            }
        }
    }

    fn step(&mut self, element: ElementId, name: &Name) -> Checked<(Vec<u32>, Type)> {
        self.known_property(element, name).map(|(at, ty)| (vec![at], ty))
    }

    /// Returns the index and the type of an element's property. Reports a name that the element does not have.
    pub(super) fn known_property(
        &mut self,
        element: ElementId,
        name: &Name,
    ) -> Checked<(u32, Type)> {
        let fields = &self.fields[element.index()];
        let Some(found) = fields.get(&name.text) else {
            if self.is_incomplete(element) {
                return Err(Reported);
            }
            let hint =
                did_you_mean(&name.text, fields.keys().take(SUGGESTIONS_MAX).map(String::as_str))
                    .unwrap_or_default();
            let element = &self.universe.elements[element.index()];
            let message = format!("element `{}` has no property `{}`", element.name, name.text);
            let span = element.span;
            return self
                .report(Problem::new(name.span, message).also(span, "this element").hint(hint));
        };
        let at = found.ok_or(Reported)?;
        Ok((at, self.universe.elements[element.index()].properties[at as usize].ty.clone()))
    }

    pub(super) fn entities(&mut self) {
        let mut names: BTreeMap<&str, crate::source::Span> = BTreeMap::new();
        for syntax in self.drafts.entities.clone() {
            if let Some(first) = names.insert(&syntax.name.text, syntax.name.span) {
                let problem = Problem::new(
                    syntax.name.span,
                    format!("`{}` is defined twice", syntax.name.text),
                )
                .label("here again")
                .also(first, "first here")
                .hint("rename one of them");
                self.problems.push(problem);
            }
            let Some(draft) = self.scopes.element(0, &syntax.element, self.problems) else {
                continue;
            };
            let id = self.element_id(draft);
            let mut row = self.defaults(id);
            for item in &syntax.items {
                if let Item::Value(value) = item {
                    // The problem is recorded, and the other values are checked.
                    let _: Checked<()> = self.set(id, 0, value, &mut row);
                }
            }
            let whole = Value::Row(row);
            if self.take_values(&whole, syntax.name.span).is_err() {
                return;
            }
            let Value::Row(row) = whole else { unreachable!("it was one") };
            let name = syntax.name.text.clone();
            self.universe.entities.push(Entity { name, element: id, row, span: syntax.name.span });
        }
    }

    pub(super) fn converters(&mut self) {
        let known: BTreeMap<&str, ElementId> = self.before.map_or_else(BTreeMap::new, |before| {
            (0..)
                .zip(&before.elements)
                .map(|(id, element)| (element.name.as_str(), ElementId(id)))
                .collect()
        });
        for draft in 0..self.drafts.elements.len() {
            let syntax = self.drafts.elements[draft].syntax;
            for item in &syntax.items {
                let Item::Converter(converter) = item else { continue };
                let old = known.get(&*self.name_before(draft)).copied();
                if let Ok(converter) = self.converter(draft, old, converter) {
                    let id = self.element_id(draft);
                    self.universe.elements[id.index()].converters.push(converter);
                }
            }
        }
    }

    /// The full name that an element had in the definition before.
    fn name_before(&self, draft: usize) -> String {
        let mut names = Vec::new();
        let mut scope = draft + 1;
        while scope > 0 {
            let draft = &self.drafts.elements[scope - 1];
            let name = draft.syntax.was.as_ref().unwrap_or(&draft.syntax.name);
            names.push(name.text.as_str());
            scope = draft.outer;
        }
        names.reverse();
        names.join(".")
    }

    fn converter(
        &mut self,
        draft: usize,
        old: Option<ElementId>,
        syntax: &syntax::Converter,
    ) -> Checked<Converter> {
        let target = &syntax.target;
        let (Some(before), Some(old)) = (self.before, old) else {
            let message = "a converter needs the definition before, which has no such element";
            return self.report(
                Problem::new(target.span, message).hint("give the former text too: --after FILE"),
            );
        };
        let new = &self.universe.elements[self.element_id(draft).index()];
        let old = &before.elements[old.index()];
        let (from, to) = if syntax.back { (new, old) } else { (old, new) };
        let Some(property) = to.properties.iter().position(|property| property.name == target.text)
        else {
            let names =
                to.properties.iter().take(SUGGESTIONS_MAX).map(|property| property.name.as_str());
            let hint = did_you_mean(&target.text, names).unwrap_or_default();
            let which = if syntax.back { "of the definition before " } else { "" };
            let message = format!("element `{}` {which}has no property `{}`", to.name, target.text);
            return self.report(Problem::new(target.span, message).hint(hint));
        };
        let wanted = to.properties[property].ty.clone();
        if wanted.holds_row() {
            let problem =
                Problem::new(target.span, "a converter gives a value to numbers, not to rows");
            return self.report(problem.hint("convert the properties of the inner element"));
        }
        let mut cx = Context::new(draft + 1, Place::Converter, None);
        cx.foreign = (0..)
            .zip(&from.properties)
            .filter(|(_, property)| !property.ty.holds_row())
            .map(|(at, property)| (property.name.clone(), (at, property.ty.clone())))
            .collect();
        let value = self.expression(&mut cx, &syntax.value)?;
        let value = self.coerce(value, &wanted)?;
        Ok(Converter {
            back: syntax.back,
            property: property as u32,
            name: target.text.clone(),
            value,
        })
    }
}

/// The element whose rows are in a type.
fn element_in(ty: &Type) -> Option<ElementId> {
    match ty {
        Type::Element(id) => Some(*id),
        Type::Array(of, _) | Type::List(of, _) => element_in(of),
        _ => None,
    }
}
