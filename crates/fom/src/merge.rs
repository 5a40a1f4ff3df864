//! Merges modules into one model. The result does not depend on the order in which they are given.
//!
//! The modules are sorted: the standard ones first, then by name and text. Then all declarations of the same name are
//! merged. `docs/guide/fom.md` describes the rules.

mod columns;
mod lookup;
mod number;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_hla::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, OrderType,
    ParameterHandle, TransportationTypeHandle,
};

use crate::limits::INHERITED_MAX;
use crate::memory;
use crate::mim;
use crate::model::{
    Attribute, Dimension, InteractionClass, Model, Named, ObjectClass, Parameter, Transportation,
    below,
};
use crate::module::{self, Edition, Module};
use crate::parse::{INTERACTION_ROOT, OBJECT_ROOT};
use crate::problem::{Problem, ProblemKind, Source};
use crate::word::{Ownership, Sharing};
use number::numbered;
use table::{Report, Said, Table, merged};

/// The modules that a model contains besides those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The standard management module of 2025, which every federation has; and the names that only 2010 defines, if a
    /// module of 2010 is among those given.
    Standard,
    /// None. For inspecting a management module.
    Nothing,
}

/// Merges modules into a model, and returns the problems with them. The model is valid only if no problem is fatal.
///
/// `before` is the model of a running federation that the modules extend: its handles do not change, and its modules
/// are merged with the others.
#[must_use]
pub fn merge_with_problems(
    modules: &[Arc<Module>],
    base: Base,
    before: Option<&Model>,
) -> (Model, Vec<Problem>) {
    let modules = in_order(modules, base, before);
    let mut report = Report::of(&modules);
    let mut model = Model::default();
    let empty = Model::default();
    let before = before.unwrap_or(&empty);
    small_tables(&modules, before, &mut model, &mut report);
    let dimensions = object_classes(&modules, before, &mut model, &mut report);
    attributes(&modules, before, dimensions, &mut model, &mut report);
    let dimensions = interaction_classes(&modules, before, &mut model, &mut report);
    parameters(&modules, before, dimensions, &mut model, &mut report);
    directed_interactions(&modules, &mut model, &mut report);
    lookup::references_are_defined(&modules, &model, &mut report);
    lookup::check_datatypes(&modules, &model, &mut report);
    model.text_len = modules.iter().map(|module| module.source.text.len()).sum();
    model.modules = modules;
    model.memory = memory::model(&model);
    (model, report.problems())
}

/// Merges modules with the standard management module. Returns the model and the problems with it that are
/// not fatal.
///
/// # Errors
/// All problems with the modules, if one of them is fatal; [`exception`](crate::exception) maps them to the exception
/// of the standard.
pub fn merge(
    modules: &[Arc<Module>],
    before: Option<&Model>,
) -> Result<(Model, Vec<Problem>), Vec<Problem>> {
    merge_unless(modules, before, Problem::is_fatal)
}

/// The same for modules that may be a part of a model: names that no module defines are not fatal, because modules that
/// come later may define them. Until then, an undefined class has no attributes or parameters of its own.
///
/// # Errors
/// The same, without regard to undefined names.
pub fn merge_partial(
    modules: &[Arc<Module>],
    before: Option<&Model>,
) -> Result<(Model, Vec<Problem>), Vec<Problem>> {
    let is_fatal = |one: &Problem| one.is_fatal() && one.kind != ProblemKind::Incomplete;
    merge_unless(modules, before, is_fatal)
}

fn merge_unless(
    modules: &[Arc<Module>],
    before: Option<&Model>,
    is_fatal: impl Fn(&Problem) -> bool,
) -> Result<(Model, Vec<Problem>), Vec<Problem>> {
    let (model, problems) = merge_with_problems(modules, Base::Standard, before);
    if problems.iter().any(is_fatal) { Err(problems) } else { Ok((model, problems)) }
}

/// Returns all modules, each once: the standard ones, then the others by name and text.
fn in_order(modules: &[Arc<Module>], base: Base, before: Option<&Model>) -> Vec<Arc<Module>> {
    let standard = |module: &Arc<Module>| mim::is_standard(module);
    let given = modules.iter().chain(before.map(Model::modules).unwrap_or_default());
    let mut others: Vec<Arc<Module>> = given.filter(|module| !standard(module)).cloned().collect();
    others.sort_by(|one, other| one.source.cmp(&other.source));
    others.dedup_by(|one, other| one.source == other.source);
    let mut all = Vec::new();
    if base == Base::Standard {
        all.push(mim::standard());
        if others.iter().any(|module| module.edition == Edition::E2010) {
            all.push(mim::names_of_2010());
        }
    }
    all.extend(others);
    all
}

fn small_tables(modules: &[Arc<Module>], before: &Model, model: &mut Model, report: &mut Report) {
    let datatypes = Table::of(modules, |module| &module.datatypes);
    model.datatypes = named(&datatypes, "data type", report);

    let points = Table::of(modules, |module| &module.synchronization_points);
    model.synchronization_points = named(&points, "synchronization point", report);

    let tags = Table::of(modules, |module| &module.tags);
    let tags = merged(&tags, "tag", report);
    model.tags = tags.map(|(name, said)| (name.to_owned(), said.datatype)).collect();

    let time = Table::of(modules, |module| &module.time);
    let time = merged(&time, "time", report);
    model.time = time.map(|(name, said)| (name.to_owned(), said.datatype)).collect();

    let rates = Table::of(modules, |module| &module.update_rates);
    model.update_rates = merged(&rates, "update rate", report)
        .filter_map(|(name, said)| Some((name.to_owned(), said.rate?)))
        .collect();

    switches(modules, before, model, report);

    let kinds = Table::of(modules, |module| &module.transportations);
    let mut kinds: BTreeMap<&str, module::Transportation> =
        merged(&kinds, "transportation", report).collect();
    // Clients identify these two by number.
    let first = ["HLAreliable", "HLAbestEffort"];
    for (name, reliable) in first.into_iter().zip([true, false]) {
        kinds.entry(name).or_default().reliable.get_or_insert(reliable);
    }
    let old = before.transportations.iter().map(|kind| kind.name.as_str());
    let old = first.into_iter().chain(old.skip(2)).collect();
    model.transportations = numbered(old, kinds.keys().copied())
        .into_iter()
        .map(|name| Transportation {
            name: name.to_owned(),
            reliable: kinds[name].reliable.unwrap_or(true),
        })
        .collect();
    let names = model.transportations.iter().enumerate();
    model.transportation_names = names
        .map(|(at, kind)| (kind.name.clone(), TransportationTypeHandle::of_index(at)))
        .collect();

    let dimensions = Table::of(modules, |module| &module.dimensions);
    let dimensions: BTreeMap<&str, module::Dimension> =
        merged(&dimensions, "dimension", report).collect();
    let old = before.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    model.dimensions = numbered(old, dimensions.keys().copied())
        .into_iter()
        .map(|name| {
            let module::Dimension { datatype, upper_bound, normalization, default } =
                dimensions[name].clone();
            Dimension { name: name.to_owned(), datatype, upper_bound, normalization, default }
        })
        .collect();
    let names = model.dimensions.iter().enumerate();
    model.dimension_names = names
        .map(|(at, dimension)| (dimension.name.clone(), DimensionHandle::of_index(at)))
        .collect();
}

/// Merges the switches. They are set when a federation is created; different settings of later modules are ignored.
fn switches(modules: &[Arc<Module>], before: &Model, model: &mut Model, report: &mut Report) {
    if before.modules.is_empty() {
        // The settings of a management module apply where no other module sets the switch.
        let (mims, others): (Vec<Arc<Module>>, Vec<Arc<Module>>) =
            modules.iter().cloned().partition(|module| module.identification.kind == "MIM");
        for modules in [mims, others] {
            let table = Table::of(&modules, |module| &module.switches);
            let positions = merged(&table, "switch", report);
            let settings = positions.map(|(_, position)| (position.switch, position.setting));
            model.switches.extend(settings);
        }
        return;
    }
    model.switches.clone_from(&before.switches);
    let old: BTreeSet<&Source> = before.modules.iter().map(|module| &*module.source).collect();
    let is_new = |module: &&Arc<Module>| !old.contains(&*module.source);
    for module in modules.iter().filter(is_new) {
        for entry in &module.switches {
            let module::SwitchSetting { switch, setting } = entry.value;
            if setting != model.setting(switch) {
                let message =
                    format!("the switch {switch} of a running federation cannot be changed");
                let problem = Problem::new(ProblemKind::Doubtful, message);
                report.add(problem.at(module.place(entry.span_of("name")), "ignored"));
            }
        }
    }
}

/// Merges a table, and adds the description of each entry.
fn named<T: columns::Columns>(
    table: &Table<'_, T>,
    what: &str,
    report: &mut Report,
) -> BTreeMap<String, Named<T>> {
    merged(table, what, report)
        .map(|(name, value)| (name.to_owned(), Named { value, semantics: table.semantics(name) }))
        .collect()
}

/// Returns the handles of the dimensions that a class names. Undefined ones are reported elsewhere.
fn dimension_handles(model: &Model, names: &[String]) -> Vec<DimensionHandle> {
    names.iter().filter_map(|name| model.dimension_named(name)).collect()
}

fn transportation(model: &Model, name: Option<&str>) -> TransportationTypeHandle {
    name.and_then(|name| model.transportation_named(name))
        .unwrap_or(TransportationTypeHandle::RELIABLE)
}

/// Returns the class names in the order of their handles, and each with its index, by name.
fn class_numbers<'n>(
    old: Vec<&'n str>,
    names: impl Iterator<Item = &'n str>,
    root: &'n str,
) -> (Vec<&'n str>, Vec<(&'n str, usize)>) {
    let mut names: Vec<&str> = names.chain([root]).collect();
    names.sort_unstable();
    names.dedup();
    let order = numbered(old, names.into_iter());
    let places = by_name(order.iter().copied());
    (order, places)
}

/// Returns names with their positions, by name.
fn by_name<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, usize)> {
    let mut places: Vec<(&str, usize)> = names.zip(0..).collect();
    places.sort_unstable();
    places
}

/// Returns the index of the parent of a class; `None` for the root.
fn parent_of(name: &str, places: &[(&str, usize)]) -> Option<usize> {
    let (parent, _) = name.rsplit_once('.')?;
    let at = places.binary_search_by(|(name, _)| (*name).cmp(parent));
    Some(places[at.expect("a module names all parents of a class")].1)
}

/// Merges the object classes. Returns the dimensions of each. Its tables are gone before members are merged, because
/// there may be hundreds of thousands of classes.
fn object_classes(
    modules: &[Arc<Module>],
    before: &Model,
    model: &mut Model,
    report: &mut Report,
) -> Vec<Vec<DimensionHandle>> {
    let classes: Table<'_, module::ObjectClassColumns> =
        Table::gathered(modules, |module| module.object_classes.iter().map(|class| &class.entry));
    let columns: BTreeMap<&str, module::ObjectClassColumns> =
        merged(&classes, "object class", report).collect();
    let old = before.object_classes.iter().map(|class| class.name.as_str()).collect();
    let (order, places) = class_numbers(old, columns.keys().copied(), OBJECT_ROOT);
    let mut dimensions = Vec::with_capacity(order.len());
    model.object_classes.reserve_exact(order.len());
    for (at, name) in order.into_iter().enumerate() {
        let place = parent_of(name, &places);
        if let Some(place) = place {
            let parent: &mut ObjectClass = &mut model.object_classes[place];
            parent.children.push(ObjectClassHandle::of_index(at));
        }
        let columns = columns.get(name);
        let names = columns.map_or(&[][..], |columns| &columns.dimensions[..]);
        dimensions.push(dimension_handles(model, names));
        model.object_classes.push(ObjectClass {
            name: name.to_owned(),
            parent: place.map(ObjectClassHandle::of_index),
            sharing: columns.and_then(|columns| columns.sharing),
            semantics: classes.semantics(name),
            ..ObjectClass::default()
        });
    }
    let names = model.object_classes.iter().map(|class| below(&class.name, OBJECT_ROOT));
    let names = by_name(names).into_iter();
    model.object_class_names = names.map(|(_, at)| ObjectClassHandle::of_index(at)).collect();
    let defined = modules.iter().flat_map(|module| &module.object_classes);
    let defined: BTreeSet<&str> = defined
        .filter(|class| !class.is_reference)
        .map(|class| class.entry.name.as_str())
        .collect();
    lookup::classes_are_defined(&classes, &defined, "object class", report);
    dimensions
}

/// Merges the attributes, and adds to each class the attributes and dimensions that it inherits.
fn attributes(
    modules: &[Arc<Module>],
    before: &Model,
    mut dimensions: Vec<Vec<DimensionHandle>>,
    model: &mut Model,
    report: &mut Report,
) {
    let table: Table<'_, module::Attribute> = Table::members(modules, '.', |module| {
        module.object_classes.iter().map(|class| (class.entry.name.as_str(), &class.attributes[..]))
    });
    let mut values: BTreeMap<&str, module::Attribute> =
        merged(&table, "attribute", report).collect();
    let old = before.attributes.iter().map(|attribute| {
        let class = &before.object_classes[attribute.class.index().unwrap_or(0)];
        format!("{}.{}", class.name, attribute.name)
    });
    let old: Vec<String> = old.collect();
    let old = old.iter().map(String::as_str).collect();
    let mut own = vec![Vec::new(); model.object_classes.len()];
    model.attribute_names = vec![BTreeMap::new(); model.object_classes.len()];
    for (at, path) in numbered(old, values.keys().copied()).into_iter().enumerate() {
        let value = values.remove(path).unwrap_or_default();
        let (class, name) = path.rsplit_once('.').unwrap_or((OBJECT_ROOT, path));
        let class = model.object_class_named(class).and_then(ObjectClassHandle::index);
        let class = class.unwrap_or(0);
        let handle = AttributeHandle::of_index(at);
        own[class].push(handle);
        model.attribute_names[class].insert(name.to_owned(), handle);
        dimensions[class].extend(dimension_handles(model, &value.dimensions));
        model.attributes.push(Attribute {
            name: name.to_owned(),
            class: ObjectClassHandle::of_index(class),
            transportation: transportation(model, value.transportation.as_deref()),
            datatype: value.datatype,
            update_type: value.update_type,
            update_condition: value.update_condition,
            value_required: value.value_required.unwrap_or(false),
            ownership: value.ownership.unwrap_or(Ownership::DivestAcquire),
            sharing: value.sharing,
            order: value.order.unwrap_or(OrderType::Receive),
            semantics: table.semantics(path),
        });
    }
    let parents: Vec<Option<usize>> =
        model.object_classes.iter().map(|class| class.parent?.index()).collect();
    let class_name = |at: usize| model.object_classes[at].name.clone();
    let names = &model.attribute_names;
    lookup::members_are_declared_once(&table, names, &parents, class_name, "attribute", report);
    let attributes = inherit(own, &parents, |attribute| *attribute, "attribute", report);
    let dimensions = inherit(dimensions, &parents, |dimension| *dimension, "dimension", report);
    let available = attributes.into_iter().zip(dimensions);
    for (class, available) in model.object_classes.iter_mut().zip(available) {
        (class.attributes, class.dimensions) = available;
    }
}

/// Adds to the own members of each class those of its parent. Returns the available members of each class by handle.
///
/// Where a class and its parent both have a member with the same key, that of the class counts.
fn inherit<T: Copy, K: Ord>(
    own: Vec<Vec<T>>,
    parents: &[Option<usize>],
    key: impl Fn(&T) -> K,
    what: &str,
    report: &mut Report,
) -> Vec<Vec<T>> {
    let mut available: Vec<Vec<T>> = Vec::with_capacity(own.len());
    let (mut inherited_len, mut is_too_many) = (0, false);
    for (mut members, parent) in own.into_iter().zip(parents) {
        // The index of a parent is lower than those of its children, so its members are complete.
        let inherited = parent.map_or(&[][..], |parent| &available[parent]);
        inherited_len += inherited.len();
        if inherited_len <= INHERITED_MAX {
            members.extend(inherited);
        } else if !std::mem::replace(&mut is_too_many, true) {
            let message = format!("classes inherit more than {INHERITED_MAX} {what}s altogether");
            report.add(Problem::new(ProblemKind::Invalid, message));
        }
        members.sort_by_key(&key);
        members.dedup_by_key(|member| key(member));
        available.push(members);
    }
    available
}

/// Merges the interaction classes. Returns the dimensions of each.
fn interaction_classes(
    modules: &[Arc<Module>],
    before: &Model,
    model: &mut Model,
    report: &mut Report,
) -> Vec<Vec<DimensionHandle>> {
    let classes: Table<'_, module::InteractionClassColumns> = Table::gathered(modules, |module| {
        module.interaction_classes.iter().map(|class| &class.entry)
    });
    let columns: BTreeMap<&str, module::InteractionClassColumns> =
        merged(&classes, "interaction class", report).collect();
    let old = before.interaction_classes.iter().map(|class| class.name.as_str()).collect();
    let (order, places) = class_numbers(old, columns.keys().copied(), INTERACTION_ROOT);
    let mut dimensions = Vec::with_capacity(order.len());
    model.interaction_classes.reserve_exact(order.len());
    for (at, name) in order.into_iter().enumerate() {
        let place = parent_of(name, &places);
        if let Some(place) = place {
            let parent: &mut InteractionClass = &mut model.interaction_classes[place];
            parent.children.push(InteractionClassHandle::of_index(at));
        }
        let columns = columns.get(name).cloned().unwrap_or_default();
        dimensions.push(dimension_handles(model, &columns.dimensions));
        model.interaction_classes.push(InteractionClass {
            name: name.to_owned(),
            parent: place.map(InteractionClassHandle::of_index),
            children: Vec::new(),
            sharing: columns.sharing,
            parameters: Vec::new(),
            dimensions: Vec::new(),
            transportation: transportation(model, columns.transportation.as_deref()),
            order: columns.order.unwrap_or(OrderType::Receive),
            semantics: classes.semantics(name),
        });
    }
    let defined = modules.iter().flat_map(|module| &module.interaction_classes);
    let defined: BTreeSet<&str> = defined
        .filter(|class| !class.is_reference)
        .map(|class| class.entry.name.as_str())
        .collect();
    let names = model.interaction_classes.iter().map(|class| below(&class.name, INTERACTION_ROOT));
    let names = by_name(names).into_iter();
    model.interaction_class_names =
        names.map(|(_, at)| InteractionClassHandle::of_index(at)).collect();
    lookup::classes_are_defined(&classes, &defined, "interaction class", report);
    dimensions
}

/// Merges the parameters, and adds to each class the parameters and dimensions that it inherits.
fn parameters(
    modules: &[Arc<Module>],
    before: &Model,
    dimensions: Vec<Vec<DimensionHandle>>,
    model: &mut Model,
    report: &mut Report,
) {
    let table: Table<'_, module::Parameter> = Table::members(modules, '.', |module| {
        let classes = module.interaction_classes.iter();
        classes.map(|class| (class.entry.name.as_str(), &class.parameters[..]))
    });
    let mut values: BTreeMap<&str, module::Parameter> =
        merged(&table, "parameter", report).collect();
    let old = before.parameters.iter().map(|parameter| {
        let class = &before.interaction_classes[parameter.class.index().unwrap_or(0)];
        format!("{}.{}", class.name, parameter.name)
    });
    let old: Vec<String> = old.collect();
    let old = old.iter().map(String::as_str).collect();
    let mut own = vec![Vec::new(); model.interaction_classes.len()];
    model.parameter_names = vec![BTreeMap::new(); model.interaction_classes.len()];
    for (at, path) in numbered(old, values.keys().copied()).into_iter().enumerate() {
        let value = values.remove(path).unwrap_or_default();
        let (class, name) = path.rsplit_once('.').unwrap_or((INTERACTION_ROOT, path));
        let class = model.interaction_class_named(class).and_then(InteractionClassHandle::index);
        let class = class.unwrap_or(0);
        let handle = ParameterHandle::of_index(at);
        own[class].push(handle);
        model.parameter_names[class].insert(name.to_owned(), handle);
        model.parameters.push(Parameter {
            name: name.to_owned(),
            class: InteractionClassHandle::of_index(class),
            datatype: value.datatype,
            semantics: table.semantics(path),
        });
    }
    let parents: Vec<Option<usize>> =
        model.interaction_classes.iter().map(|class| class.parent?.index()).collect();
    let class_name = |at: usize| model.interaction_classes[at].name.clone();
    let names = &model.parameter_names;
    lookup::members_are_declared_once(&table, names, &parents, class_name, "parameter", report);
    let parameters = inherit(own, &parents, |parameter| *parameter, "parameter", report);
    let dimensions = inherit(dimensions, &parents, |dimension| *dimension, "dimension", report);
    let available = parameters.into_iter().zip(dimensions);
    for (class, available) in model.interaction_classes.iter_mut().zip(available) {
        (class.parameters, class.dimensions) = available;
    }
}

/// Merges the interactions directed at instances of each class, own and inherited.
fn directed_interactions(modules: &[Arc<Module>], model: &mut Model, report: &mut Report) {
    let table: Table<'_, module::DirectedInteraction> = Table::members(modules, ' ', |module| {
        let classes = module.object_classes.iter();
        classes.map(|class| (class.entry.name.as_str(), &class.directed_interactions[..]))
    });
    let mut own = vec![Vec::new(); model.object_classes.len()];
    for (path, value) in merged(&table, "directed interaction", report) {
        // The names of the object class and of the interaction class, separated by a space.
        let Some((class, interaction)) = path.split_once(' ') else { continue };
        let class = model.object_class_named(class).and_then(ObjectClassHandle::index);
        if let (Some(class), Some(handle)) = (class, model.interaction_class_named(interaction)) {
            own[class].push((handle, value.sharing.unwrap_or(Sharing::Neither)));
        }
    }
    let parents: Vec<Option<usize>> =
        model.object_classes.iter().map(|class| class.parent?.index()).collect();
    let available = inherit(own, &parents, |(class, _)| *class, "directed interaction", report);
    for (class, available) in model.object_classes.iter_mut().zip(available) {
        class.directed_interactions = available;
    }
}

/// Returns a problem with the two places at which modules contradict each other.
fn contradiction<T>(
    kind: ProblemKind,
    message: String,
    one: &Said<'_, T>,
    two: &Said<'_, T>,
    column: &str,
) -> Problem {
    Problem::new(kind, message)
        .at(two.module.place(two.entry.span_of(column)), "this")
        .at(one.module.place(one.entry.span_of(column)), "contradicts this")
}
