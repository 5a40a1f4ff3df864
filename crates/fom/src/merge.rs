//! Modules to one model, whatever their order.
//!
//! Modules are first put in an order of their own: the standard ones, then by name and text. Then all that they
//! say about the same name is united. `docs/guide/fom.md` has the rules in words.

mod lookup;
mod number;
mod table;
mod unite;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_hla::{
    DimensionHandle, InteractionClassHandle, ObjectClassHandle, OrderType, TransportationTypeHandle,
};

use crate::mim;
use crate::model::{
    Attribute, Dimension, InteractionClass, Model, Named, ObjectClass, Parameter, Transportation,
    below,
};
use crate::module::{self, Edition, Module};
use crate::parse::{INTERACTION_ROOT, OBJECT_ROOT};
use crate::problem::{Kind, Problem};
use crate::word::{Ownership, Sharing};
use number::numbered;
use table::{Report, Said, Table, united};

/// What a model stands on besides the modules given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The standard management module of 2025, which every federation has; with the names that 2010 alone had,
    /// if a module of 2010 is among the others.
    Standard,
    /// Nothing: only what the modules say. For looking at a management module.
    Nothing,
}

/// Unites modules, and gives what is wrong with them; the model is sound only if that is nothing, or
/// doubtful at most.
///
/// `before` is the model of a running federation that the modules join: its handles stay, and its modules
/// count among the others.
#[must_use]
pub fn unite(modules: &[Arc<Module>], base: Base, before: Option<&Model>) -> (Model, Vec<Problem>) {
    let modules = in_order(modules, base, before);
    let mut report = Report::default();
    let mut model = Model::default();
    let empty = Model::default();
    let before = before.unwrap_or(&empty);
    small_tables(&modules, before, &mut model, &mut report);
    object_classes(&modules, before, &mut model, &mut report);
    interaction_classes(&modules, before, &mut model, &mut report);
    directed_interactions(&modules, &mut model, &mut report);
    lookup::references_lead_somewhere(&modules, &model, &mut report);
    lookup::datatypes_are_sound(&modules, &model, &mut report);
    model.modules = modules;
    (model, report.problems())
}

/// The model of these modules upon the standard management module, and what is doubtful about it.
///
/// # Errors
/// Everything that is wrong with the modules together; [`exception`](crate::exception) says what a federate gets.
pub fn merge(
    modules: &[Arc<Module>],
    before: Option<&Model>,
) -> Result<(Model, Vec<Problem>), Vec<Problem>> {
    let (model, problems) = unite(modules, Base::Standard, before);
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok((model, problems)) }
}

/// All modules, each once: the standard ones, then by name and text.
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
    model.tags = united(&tags, "tag", report).map(|(name, said)| (name, said.datatype)).collect();

    let time = Table::of(modules, |module| &module.time);
    model.time = united(&time, "time", report).map(|(name, said)| (name, said.datatype)).collect();

    let rates = Table::of(modules, |module| &module.update_rates);
    model.update_rates = united(&rates, "update rate", report)
        .filter_map(|(name, said)| Some((name, said.rate?)))
        .collect();

    switches(modules, before, model, report);

    let kinds = Table::of(modules, |module| &module.transportations);
    let mut kinds: BTreeMap<String, module::Transportation> =
        united(&kinds, "transportation", report).collect();
    // Clients know these two by number.
    let first = ["HLAreliable", "HLAbestEffort"].map(str::to_owned);
    for (name, reliable) in first.iter().zip([true, false]) {
        kinds.entry(name.clone()).or_default().reliable.get_or_insert(reliable);
    }
    let old = before.transportations.iter().map(|kind| kind.name.clone());
    let old: Vec<String> = first.into_iter().chain(old.skip(2)).collect();
    model.transportations = numbered(old, kinds.keys().cloned())
        .into_iter()
        .map(|name| Transportation { reliable: kinds[&name].reliable.unwrap_or(true), name })
        .collect();

    let dimensions = Table::of(modules, |module| &module.dimensions);
    let dimensions: BTreeMap<String, module::Dimension> =
        united(&dimensions, "dimension", report).collect();
    let old = before.dimensions.iter().map(|dimension| dimension.name.clone()).collect();
    model.dimensions = numbered(old, dimensions.keys().cloned())
        .into_iter()
        .map(|name| {
            let module::Dimension { datatype, upper_bound, normalization, default } =
                dimensions[&name].clone();
            Dimension { name, datatype, upper_bound, normalization, default }
        })
        .collect();
}

/// Switches are set when a federation begins: what a module that joins it later says otherwise is ignored.
fn switches(modules: &[Arc<Module>], before: &Model, model: &mut Model, report: &mut Report) {
    if before.modules.is_empty() {
        // What a management module sets holds where no other module says something.
        let (mims, others): (Vec<Arc<Module>>, Vec<Arc<Module>>) =
            modules.iter().cloned().partition(|module| module.identification.kind == "MIM");
        for modules in [mims, others] {
            let table = Table::of(&modules, |module| &module.switches);
            let positions = united(&table, "switch", report);
            let settings = positions.map(|(_, position)| (position.switch, position.setting));
            model.switches.extend(settings);
        }
        return;
    }
    model.switches.clone_from(&before.switches);
    let is_new =
        |module: &&Arc<Module>| before.modules.iter().all(|one| one.source != module.source);
    for module in modules.iter().filter(is_new) {
        for entry in &module.switches {
            let module::Position { switch, setting } = entry.value;
            if setting != model.setting(switch) {
                let message = format!("the switch {switch} of a running federation stays as it is");
                let problem = Problem::new(Kind::Doubtful, message);
                report.add(problem.at(module.place(entry.span_of("name")), "ignored"));
            }
        }
    }
}

/// A table whose model is what was said, with prose.
fn named<T: unite::Columns>(
    table: &Table<'_, T>,
    what: &str,
    report: &mut Report,
) -> BTreeMap<String, Named<T>> {
    let values: Vec<(String, T)> = united(table, what, report).collect();
    values
        .into_iter()
        .map(|(name, value)| {
            let semantics = table.semantics(&name);
            (name, Named { value, semantics })
        })
        .collect()
}

/// The handles of dimensions that a class names; those that are not defined are reported elsewhere.
fn dimension_handles(model: &Model, names: &[String]) -> BTreeSet<DimensionHandle> {
    names.iter().filter_map(|name| model.dimension_named(name)).collect()
}

fn transportation(model: &Model, name: Option<&str>) -> TransportationTypeHandle {
    name.and_then(|name| model.transportation_named(name))
        .unwrap_or(TransportationTypeHandle::RELIABLE)
}

/// Class names in the order of their handles, with the place of each.
fn class_numbers(
    old: Vec<String>,
    names: impl Iterator<Item = String>,
    root: &str,
) -> (Vec<String>, BTreeMap<String, usize>) {
    let mut names: BTreeSet<String> = names.collect();
    names.insert(root.to_owned());
    let order = numbered(old, names.into_iter());
    let places = order.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
    (order, places)
}

fn parent_name(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(parent, _)| parent)
}

fn object_classes(modules: &[Arc<Module>], before: &Model, model: &mut Model, report: &mut Report) {
    let classes: Table<'_, module::ObjectClassColumns> =
        Table::gathered(modules, |module| module.object_classes.iter().map(|class| &class.entry));
    let columns: BTreeMap<String, module::ObjectClassColumns> =
        united(&classes, "object class", report).collect();
    let old = before.object_classes.iter().map(|class| class.name.clone()).collect();
    let (order, places) = class_numbers(old, columns.keys().cloned(), OBJECT_ROOT);
    for (at, name) in order.iter().enumerate() {
        let handle = ObjectClassHandle::of_index(at);
        let place = parent_name(name).map(|parent| places[parent]);
        let parent = place.map(ObjectClassHandle::of_index);
        if let Some(place) = place {
            let parent: &mut ObjectClass = &mut model.object_classes[place];
            parent.children.push(handle);
        }
        model.object_class_names.insert(below(name, OBJECT_ROOT).to_owned(), handle);
        model.object_classes.push(ObjectClass {
            name: name.clone(),
            parent,
            sharing: columns.get(name).and_then(|columns| columns.sharing),
            semantics: classes.semantics(name),
            ..ObjectClass::default()
        });
    }
    let defined = modules.iter().flat_map(|module| &module.object_classes);
    let defined: BTreeSet<&str> = defined
        .filter(|class| !class.is_reference)
        .map(|class| class.entry.name.as_str())
        .collect();
    lookup::classes_are_defined(&classes, &defined, "object class", modules, report);
    attributes(modules, before, &columns, &places, model, report);
}

/// Attributes, and what classes inherit of them and of dimensions.
fn attributes(
    modules: &[Arc<Module>],
    before: &Model,
    columns: &BTreeMap<String, module::ObjectClassColumns>,
    places: &BTreeMap<String, usize>,
    model: &mut Model,
    report: &mut Report,
) {
    let table: Table<'_, module::Attribute> = Table::members(modules, '.', |module| {
        module.object_classes.iter().map(|class| (class.entry.name.as_str(), &class.attributes[..]))
    });
    lookup::members_are_declared_once(&table, "attribute", report);
    let mut values: BTreeMap<String, module::Attribute> =
        united(&table, "attribute", report).collect();
    let old = before.attributes.iter().map(|attribute| {
        let class = &before.object_classes[attribute.class.index().unwrap_or(0)];
        format!("{}.{}", class.name, attribute.name)
    });
    let mut dimensions: Vec<BTreeSet<DimensionHandle>> = model
        .object_classes
        .iter()
        .map(|class| columns.get(&class.name).map(|columns| &columns.dimensions[..]))
        .map(|names| dimension_handles(model, names.unwrap_or_default()))
        .collect();
    let mut own = vec![BTreeSet::new(); model.object_classes.len()];
    for (at, path) in numbered(old.collect(), values.keys().cloned()).into_iter().enumerate() {
        let value = values.remove(&path).unwrap_or_default();
        let (class, name) = path.rsplit_once('.').unwrap_or((OBJECT_ROOT, &path));
        let class = places.get(class).copied().unwrap_or(0);
        own[class].insert(hemiola_hla::AttributeHandle::of_index(at));
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
            semantics: table.semantics(&path),
        });
    }
    // A parent's place is before its children's, so it already has what it inherits itself.
    for at in 0..model.object_classes.len() {
        if let Some(parent) = model.object_classes[at].parent.and_then(ObjectClassHandle::index) {
            let (inherited, more) = (own[parent].clone(), dimensions[parent].clone());
            own[at].extend(inherited);
            dimensions[at].extend(more);
        }
        model.object_classes[at].attributes = own[at].iter().copied().collect();
        model.object_classes[at].dimensions = dimensions[at].iter().copied().collect();
    }
}

fn interaction_classes(
    modules: &[Arc<Module>],
    before: &Model,
    model: &mut Model,
    report: &mut Report,
) {
    let classes: Table<'_, module::InteractionClassColumns> = Table::gathered(modules, |module| {
        module.interaction_classes.iter().map(|class| &class.entry)
    });
    let columns: BTreeMap<String, module::InteractionClassColumns> =
        united(&classes, "interaction class", report).collect();
    let old = before.interaction_classes.iter().map(|class| class.name.clone()).collect();
    let (order, places) = class_numbers(old, columns.keys().cloned(), INTERACTION_ROOT);
    for (at, name) in order.iter().enumerate() {
        let handle = InteractionClassHandle::of_index(at);
        let place = parent_name(name).map(|parent| places[parent]);
        if let Some(place) = place {
            let parent: &mut InteractionClass = &mut model.interaction_classes[place];
            parent.children.push(handle);
        }
        let columns = columns.get(name).cloned().unwrap_or_default();
        model.interaction_class_names.insert(below(name, INTERACTION_ROOT).to_owned(), handle);
        let mut dimensions = dimension_handles(model, &columns.dimensions);
        if let Some(place) = place {
            dimensions.extend(&model.interaction_classes[place].dimensions);
        }
        model.interaction_classes.push(InteractionClass {
            name: name.clone(),
            parent: place.map(InteractionClassHandle::of_index),
            children: Vec::new(),
            sharing: columns.sharing,
            parameters: Vec::new(),
            dimensions: dimensions.into_iter().collect(),
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
    lookup::classes_are_defined(&classes, &defined, "interaction class", modules, report);
    parameters(modules, before, &places, model, report);
}

fn parameters(
    modules: &[Arc<Module>],
    before: &Model,
    places: &BTreeMap<String, usize>,
    model: &mut Model,
    report: &mut Report,
) {
    let table: Table<'_, module::Parameter> = Table::members(modules, '.', |module| {
        let classes = module.interaction_classes.iter();
        classes.map(|class| (class.entry.name.as_str(), &class.parameters[..]))
    });
    lookup::members_are_declared_once(&table, "parameter", report);
    let mut values: BTreeMap<String, module::Parameter> =
        united(&table, "parameter", report).collect();
    let old = before.parameters.iter().map(|parameter| {
        let class = &before.interaction_classes[parameter.class.index().unwrap_or(0)];
        format!("{}.{}", class.name, parameter.name)
    });
    let mut own = vec![BTreeSet::new(); model.interaction_classes.len()];
    for (at, path) in numbered(old.collect(), values.keys().cloned()).into_iter().enumerate() {
        let value = values.remove(&path).unwrap_or_default();
        let (class, name) = path.rsplit_once('.').unwrap_or((INTERACTION_ROOT, &path));
        let class = places.get(class).copied().unwrap_or(0);
        own[class].insert(hemiola_hla::ParameterHandle::of_index(at));
        model.parameters.push(Parameter {
            name: name.to_owned(),
            class: InteractionClassHandle::of_index(class),
            datatype: value.datatype,
            semantics: table.semantics(&path),
        });
    }
    for at in 0..model.interaction_classes.len() {
        let parent = model.interaction_classes[at].parent;
        if let Some(parent) = parent.and_then(InteractionClassHandle::index) {
            let inherited = own[parent].clone();
            own[at].extend(inherited);
        }
        model.interaction_classes[at].parameters = own[at].iter().copied().collect();
    }
}

/// The interactions directed at instances of each class, own and inherited.
fn directed_interactions(modules: &[Arc<Module>], model: &mut Model, report: &mut Report) {
    let table: Table<'_, module::DirectedInteraction> = Table::members(modules, ' ', |module| {
        let classes = module.object_classes.iter();
        classes.map(|class| (class.entry.name.as_str(), &class.directed_interactions[..]))
    });
    let said: BTreeMap<String, module::DirectedInteraction> =
        united(&table, "directed interaction", report).collect();
    // The path is that of the object class and, behind a space, that of the interaction class.
    for at in 0..model.object_classes.len() {
        let mut all: BTreeMap<InteractionClassHandle, Sharing> = BTreeMap::new();
        if let Some(parent) = model.object_classes[at].parent.and_then(ObjectClassHandle::index) {
            all.extend(model.object_classes[parent].directed_interactions.iter().copied());
        }
        for (path, value) in &said {
            let Some((class, interaction)) = path.split_once(' ') else { continue };
            if class == model.object_classes[at].name
                && let Some(handle) = model.interaction_class_named(interaction)
            {
                all.insert(handle, value.sharing.unwrap_or(Sharing::Neither));
            }
        }
        model.object_classes[at].directed_interactions = all.into_iter().collect();
    }
}

/// A problem with two places where modules contradict each other.
fn contradiction<T>(
    kind: Kind,
    message: String,
    one: &Said<'_, T>,
    two: &Said<'_, T>,
    column: &str,
) -> Problem {
    Problem::new(kind, message)
        .at(two.module.place(two.entry.span_of(column)), "this")
        .at(one.module.place(one.entry.span_of(column)), "contradicts this")
}
