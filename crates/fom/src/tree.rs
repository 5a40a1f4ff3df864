//! A model as text for people: classes as trees, data types by kind, everything else in lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hemiola_hla::{InteractionClassHandle, ObjectClassHandle};

use crate::mim;
use crate::model::{Model, cardinality_text};
use crate::module::{Datatype, Entry, Module, Setting};
use crate::word::Sharing;

/// How much of a model to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The declarations of the modules, without those of the standard modules.
    Modules,
    /// Everything.
    All,
}

/// Returns the model as text. Inherited attributes and parameters are shown where they are declared.
#[must_use]
pub fn tree(model: &Model, contents: Contents) -> String {
    let mut tree = Tree { model, declared: Declared::of(model, contents), text: String::new() };
    tree.write().expect("a String takes all text");
    tree.text
}

/// The names that the modules to be shown declare.
struct Declared<'m> {
    object_classes: BTreeSet<&'m str>,
    /// Class and attribute.
    attributes: BTreeSet<(&'m str, &'m str)>,
    interaction_classes: BTreeSet<&'m str>,
    /// Class and parameter.
    parameters: BTreeSet<(&'m str, &'m str)>,
    datatypes: BTreeSet<&'m str>,
    dimensions: BTreeSet<&'m str>,
    transportations: BTreeSet<&'m str>,
}

fn names<'m, T: 'm>(
    entries: impl IntoIterator<Item = &'m Entry<T>>,
) -> impl Iterator<Item = &'m str> {
    entries.into_iter().map(|entry| entry.name.as_str())
}

impl<'m> Declared<'m> {
    fn of(model: &'m Model, contents: Contents) -> Self {
        let modules: Vec<&'m Module> = model
            .modules()
            .iter()
            .map(|module| &**module)
            .filter(|module| contents == Contents::All || !mim::is_standard(module))
            .collect();
        let objects = || modules.iter().flat_map(|module| &module.object_classes);
        let interactions = || modules.iter().flat_map(|module| &module.interaction_classes);
        Self {
            object_classes: names(objects().map(|class| &class.entry)).collect(),
            attributes: objects()
                .flat_map(|class| names(&class.attributes).map(|name| (&*class.entry.name, name)))
                .collect(),
            interaction_classes: names(interactions().map(|class| &class.entry)).collect(),
            parameters: interactions()
                .flat_map(|class| names(&class.parameters).map(|name| (&*class.entry.name, name)))
                .collect(),
            datatypes: names(modules.iter().flat_map(|module| &module.datatypes)).collect(),
            dimensions: names(modules.iter().flat_map(|module| &module.dimensions)).collect(),
            transportations: names(modules.iter().flat_map(|module| &module.transportations))
                .collect(),
        }
    }
}

struct Tree<'m> {
    model: &'m Model,
    declared: Declared<'m>,
    text: String,
}

impl Tree<'_> {
    fn write(&mut self) -> std::fmt::Result {
        self.modules()?;
        if self.declared.object_classes.iter().any(|name| name.contains('.')) {
            writeln!(self.text, "\nobject classes")?;
            self.object_class(ObjectClassHandle::of_index(0), "", "")?;
        }
        if self.declared.interaction_classes.iter().any(|name| name.contains('.')) {
            writeln!(self.text, "\ninteraction classes")?;
            self.interaction_class(InteractionClassHandle::of_index(0), "", "")?;
        }
        self.datatypes()?;
        self.lists()
    }

    fn modules(&mut self) -> std::fmt::Result {
        writeln!(self.text, "modules")?;
        for module in self.model.modules() {
            if mim::is_standard(module)
                && self.declared.object_classes.contains("HLAobjectRoot.HLAmanager")
                || !mim::is_standard(module)
            {
                let identification = &module.identification;
                let title = [identification.name.as_str(), identification.version.as_str()];
                let title = title.join(" ");
                let edition = module.edition.name();
                writeln!(self.text, "  {}  {edition}  {}", module.name(), title.trim())?;
            }
        }
        Ok(())
    }

    /// Writes a class, its attributes and the classes below it. `first` precedes its name, `rest` the lines below.
    fn object_class(
        &mut self,
        handle: ObjectClassHandle,
        first: &str,
        rest: &str,
    ) -> std::fmt::Result {
        let model = self.model;
        let Some(class) = model.object_class(handle) else { return Ok(()) };
        let name = last(&class.name);
        let dimensions = class.dimensions.iter().filter_map(|one| model.dimension(*one));
        let dimensions: Vec<&str> = dimensions.map(|one| one.name.as_str()).collect();
        writeln!(self.text, "  {first}{name}{}{}", sharing(class.sharing), bracketed(&dimensions))?;
        let children: Vec<ObjectClassHandle> = class
            .children
            .iter()
            .copied()
            .filter(|child| {
                let child = model.object_class(*child);
                child
                    .is_some_and(|child| self.declared.object_classes.contains(child.name.as_str()))
            })
            .collect();
        let stem = if children.is_empty() { "  " } else { "│ " };
        for attribute in &class.attributes {
            let Some(attribute) = model.attribute(*attribute) else { continue };
            let is_declared = self.declared.attributes.contains(&(&*class.name, &*attribute.name));
            if attribute.class != handle || !is_declared {
                continue;
            }
            let transportation = model.transportation(attribute.transportation);
            let transportation = transportation.map_or("", |kind| kind.name.as_str());
            let datatype = attribute.datatype.as_deref().unwrap_or("NA");
            let Named { name, order } = Named::of(&attribute.name, attribute.order);
            writeln!(self.text, "  {rest}{stem}  {name}: {datatype}, {transportation}, {order}")?;
        }
        for (interaction, sharing) in &class.directed_interactions {
            let inherited = class.parent.and_then(|parent| model.object_class(parent));
            if inherited.is_some_and(|parent| {
                let inherited = &parent.directed_interactions;
                inherited.binary_search_by_key(interaction, |(class, _)| *class).is_ok()
            }) {
                continue;
            }
            let Some(interaction) = model.interaction_class(*interaction) else { continue };
            let (name, sharing) = (&interaction.name, sharing.name());
            writeln!(self.text, "  {rest}{stem}  ← {name}, {sharing}")?;
        }
        for (at, child) in children.iter().enumerate() {
            let (first, more) =
                if at + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.object_class(*child, &format!("{rest}{first}"), &format!("{rest}{more}"))?;
        }
        Ok(())
    }

    fn interaction_class(
        &mut self,
        handle: InteractionClassHandle,
        first: &str,
        rest: &str,
    ) -> std::fmt::Result {
        let model = self.model;
        let Some(class) = model.interaction_class(handle) else { return Ok(()) };
        let dimensions = class.dimensions.iter().filter_map(|one| model.dimension(*one));
        let dimensions: Vec<&str> = dimensions.map(|one| one.name.as_str()).collect();
        let transportation = model.transportation(class.transportation);
        let transportation = transportation.map_or("", |kind| kind.name.as_str());
        let Named { name, order } = Named::of(last(&class.name), class.order);
        let how = format!(", {transportation}, {order}");
        let how = if handle.index() == Some(0) { String::new() } else { how };
        let (sharing, dimensions) = (sharing(class.sharing), bracketed(&dimensions));
        writeln!(self.text, "  {first}{name}{sharing}{how}{dimensions}")?;
        let children: Vec<InteractionClassHandle> = class
            .children
            .iter()
            .copied()
            .filter(|child| {
                let child = model.interaction_class(*child);
                child.is_some_and(|child| {
                    self.declared.interaction_classes.contains(child.name.as_str())
                })
            })
            .collect();
        let stem = if children.is_empty() { "  " } else { "│ " };
        for parameter in &class.parameters {
            let Some(parameter) = model.parameter(*parameter) else { continue };
            let is_declared = self.declared.parameters.contains(&(&*class.name, &*parameter.name));
            if parameter.class == handle && is_declared {
                let datatype = parameter.datatype.as_deref().unwrap_or("NA");
                writeln!(self.text, "  {rest}{stem}  {}: {datatype}", parameter.name)?;
            }
        }
        for (at, child) in children.iter().enumerate() {
            let (first, more) =
                if at + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.interaction_class(*child, &format!("{rest}{first}"), &format!("{rest}{more}"))?;
        }
        Ok(())
    }

    fn datatypes(&mut self) -> std::fmt::Result {
        let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, datatype) in self.model.datatypes() {
            if self.declared.datatypes.contains(name.as_str()) {
                let line = format!("{name}{}", summary(&datatype.value));
                kinds.entry(datatype.value.kind()).or_default().push(line);
            }
        }
        for (kind, lines) in kinds {
            writeln!(self.text, "\n{kind}s ({})", lines.len())?;
            for line in lines {
                writeln!(self.text, "  {line}")?;
            }
        }
        Ok(())
    }

    fn lists(&mut self) -> std::fmt::Result {
        let model = self.model;
        let dimensions =
            model.dimensions().iter().filter(|one| self.declared.dimensions.contains(&*one.name));
        let dimensions = dimensions.map(|one| match one.upper_bound {
            Some(bound) => format!("{}: 0 to {bound}", one.name),
            None => format!("{}: upper bound set by the RTI", one.name),
        });
        let kinds = model.transportations().iter();
        let kinds = kinds.filter(|kind| self.declared.transportations.contains(&*kind.name));
        let kinds = kinds.map(|kind| {
            format!("{}: {}", kind.name, if kind.reliable { "reliable" } else { "best effort" })
        });
        let rates = model.update_rates().iter().map(|(name, rate)| format!("{name}: {rate} Hz"));
        let points = model.synchronization_points().iter().map(|(label, point)| {
            let capability = point.value.capability.map_or("", |capability| capability.name());
            let datatype = point.value.datatype.as_deref().unwrap_or("NA");
            format!("{label}: {datatype}, {capability}")
        });
        let tags = model.tags.iter().filter_map(|(name, datatype)| {
            datatype.as_ref().map(|datatype| format!("{name}: {datatype}"))
        });
        let time = model.time.iter().filter_map(|(name, datatype)| {
            datatype.as_ref().map(|datatype| format!("{name}: {datatype}"))
        });
        let switches = model.switches.iter().map(|(switch, setting)| match setting {
            Setting::Enabled(true) => format!("{switch}: on"),
            Setting::Enabled(false) => format!("{switch}: off"),
            Setting::Directive(action) => format!("{switch}: {action}"),
        });
        let lists: [(&str, Vec<String>); 7] = [
            ("dimensions", dimensions.collect()),
            ("transportations", kinds.collect()),
            ("update rates", rates.collect()),
            ("synchronization points", points.collect()),
            ("tags", tags.collect()),
            ("time", time.collect()),
            ("switches", switches.collect()),
        ];
        for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            writeln!(self.text, "\n{title}")?;
            for line in lines {
                writeln!(self.text, "  {line}")?;
            }
        }
        Ok(())
    }
}

/// A name and an order, as written.
struct Named<'n> {
    name: &'n str,
    order: &'static str,
}

impl<'n> Named<'n> {
    fn of(name: &'n str, order: hemiola_hla::OrderType) -> Self {
        Self { name, order: order.name() }
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn sharing(sharing: Option<Sharing>) -> String {
    sharing.map(|sharing| format!("  {}", sharing.name())).unwrap_or_default()
}

fn bracketed(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("  [{}]", names.join(", ")) }
}

/// Returns a short description of a data type.
fn summary(datatype: &Datatype) -> String {
    let or = |name: &Option<String>| name.clone().unwrap_or_else(|| "NA".to_owned());
    match datatype {
        Datatype::Basic { size, .. } => {
            size.map(|size| format!(": {size} bits")).unwrap_or_default()
        }
        Datatype::Simple { representation, units, .. } => {
            let units = units.as_deref().filter(|units| *units != "NA");
            let units = units.map(|units| format!(", in {units}")).unwrap_or_default();
            format!(": {}{units}", or(representation))
        }
        Datatype::Reference { class, attribute, .. } => {
            format!(": {} of {}", or(attribute), or(class))
        }
        Datatype::Enumerated { representation, enumerators } => {
            format!(": {} enumerators as {}", enumerators.len(), or(representation))
        }
        Datatype::Array { datatype, cardinality, .. } => {
            format!(": {} of {}", cardinality_text(cardinality), or(datatype))
        }
        Datatype::FixedRecord { fields, .. } => {
            let fields: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            format!(": {}", fields.join(", "))
        }
        Datatype::VariantRecord { datatype, alternatives, .. } => {
            format!(": {} alternatives by {}", alternatives.len(), or(datatype))
        }
    }
}
