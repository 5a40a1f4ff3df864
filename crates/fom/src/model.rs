//! The object model of a federation: all modules merged, in tables indexed by handle.
//!
//! Handles are indices of these tables. Within one set of modules, names are numbered in alphabetical order, so the
//! order of the modules does not matter. The entries of modules that are added later get the next handles; existing
//! handles do not change.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::data::RangeBounds;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, OrderType,
    ParameterHandle, ResignAction, Switch, TransportationTypeHandle,
};

use crate::module::{
    Alternative, Cardinality, Datatype, Enumerator, Field, Module, Setting, SynchronizationPoint,
};
use crate::parse::{INTERACTION_ROOT, OBJECT_ROOT};
use crate::word::{Ownership, Sharing, UpdateType};

/// An object model. [`crate::merge`] builds it from modules that are valid and agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub(crate) modules: Vec<Arc<Module>>,
    pub(crate) object_classes: Vec<ObjectClass>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) interaction_classes: Vec<InteractionClass>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) transportations: Vec<Transportation>,
    pub(crate) update_rates: BTreeMap<String, f64>,
    pub(crate) datatypes: BTreeMap<String, Named<Datatype>>,
    pub(crate) synchronization_points: BTreeMap<String, Named<SynchronizationPoint>>,
    /// The data types of tags and times, if any.
    pub(crate) tags: BTreeMap<String, Option<String>>,
    pub(crate) time: BTreeMap<String, Option<String>>,
    pub(crate) switches: BTreeMap<Switch, Setting>,
    /// The classes by their names without the root in front.
    pub(crate) object_class_names: Vec<ObjectClassHandle>,
    pub(crate) interaction_class_names: Vec<InteractionClassHandle>,
    pub(crate) dimension_names: BTreeMap<String, DimensionHandle>,
    pub(crate) transportation_names: BTreeMap<String, TransportationTypeHandle>,
    /// For each object class, the attributes that it declares itself.
    pub(crate) attribute_names: Vec<BTreeMap<String, AttributeHandle>>,
    /// For each interaction class, the parameters that it declares itself.
    pub(crate) parameter_names: Vec<BTreeMap<String, ParameterHandle>>,
    /// The sizes, in bytes.
    pub(crate) text_len: usize,
    pub(crate) memory: usize,
}

/// A value and its description.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// The value.
    pub value: T,
    /// The description; may be empty.
    pub semantics: String,
}

/// An object class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectClass {
    /// The full name, from `HLAobjectRoot`.
    pub name: String,
    /// The parent class; `None` for the root. Its handle is lower than that of this class.
    pub parent: Option<ObjectClassHandle>,
    /// The direct subclasses, by handle.
    pub children: Vec<ObjectClassHandle>,
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// All available attributes, own and inherited, by handle.
    pub attributes: Vec<AttributeHandle>,
    /// All available dimensions, own and inherited, by handle. A dimension of an attribute (2010) belongs to the class
    /// that declares the attribute.
    pub dimensions: Vec<DimensionHandle>,
    /// The interactions that may be directed at instances, own and inherited, by handle.
    pub directed_interactions: Vec<(InteractionClassHandle, Sharing)>,
    /// The description; may be empty.
    pub semantics: String,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The class that declares it.
    pub class: ObjectClassHandle,
    /// The data type of the values, if the model names one.
    pub datatype: Option<String>,
    /// When the owner updates the attribute.
    pub update_type: Option<UpdateType>,
    /// The condition for updates, or their rate.
    pub update_condition: Option<String>,
    /// Whether the attribute always has a value; false by default.
    pub value_required: bool,
    /// How ownership may change; in both directions by default.
    pub ownership: Ownership,
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// The transportation of updates; `HLAreliable` by default.
    pub transportation: TransportationTypeHandle,
    /// The order; `Receive` by default.
    pub order: OrderType,
    /// The description; may be empty.
    pub semantics: String,
}

/// An interaction class.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractionClass {
    /// The full name, from `HLAinteractionRoot`.
    pub name: String,
    /// The parent class; `None` for the root. Its handle is lower than that of this class.
    pub parent: Option<InteractionClassHandle>,
    /// The direct subclasses, by handle.
    pub children: Vec<InteractionClassHandle>,
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// All available parameters, own and inherited, by handle.
    pub parameters: Vec<ParameterHandle>,
    /// All available dimensions, own and inherited, by handle.
    pub dimensions: Vec<DimensionHandle>,
    /// The transportation of interactions; `HLAreliable` by default.
    pub transportation: TransportationTypeHandle,
    /// The order; `Receive` by default.
    pub order: OrderType,
    /// The description; may be empty.
    pub semantics: String,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The class that declares it.
    pub class: InteractionClassHandle,
    /// The data type of the values, if the model names one.
    pub datatype: Option<String>,
    /// The description; may be empty.
    pub semantics: String,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The name.
    pub name: String,
    /// The data type of the values that the dimension represents.
    pub datatype: Option<String>,
    /// The first point beyond the dimension; `None` if the RTI sets it.
    pub upper_bound: Option<u32>,
    /// How values are mapped to points, in prose.
    pub normalization: Option<String>,
    /// The default range where no region is given: prose, or `Excluded`.
    pub default: Option<String>,
}

impl Dimension {
    /// Returns the range that a region has where it leaves the dimension out (IEEE 1516.2, "value when unspecified"),
    /// limited by the upper bound. `None` if the dimension is then excluded, or if the text is no range such as
    /// `[0..5)`, `[0..4]` or `3`.
    #[must_use]
    pub fn default_range(&self) -> Option<RangeBounds> {
        let text = self.default.as_deref()?.trim();
        let is_closed = text.ends_with(']');
        let inner = text.trim_start_matches('[').trim_end_matches([')', ']']);
        let (lower, upper) = match inner.split_once("..") {
            Some((lower, upper)) => (lower.trim().parse().ok()?, upper.trim().parse().ok()?),
            None => {
                let point: u32 = inner.trim().parse().ok()?;
                (point, point.checked_add(u32::from(!is_closed))?)
            }
        };
        let upper = if is_closed { u32::checked_add(upper, 1)? } else { upper };
        let upper = upper.min(self.upper_bound.unwrap_or(u32::MAX));
        (lower < upper).then_some(RangeBounds { lower, upper })
    }
}

/// A transportation type.
#[derive(Clone, Debug, PartialEq)]
pub struct Transportation {
    /// The name.
    pub name: String,
    /// Whether delivery is reliable; true by default.
    pub reliable: bool,
}

impl Model {
    /// Returns the modules, the standard ones first, then by name.
    #[must_use]
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// Returns the length of the text of all modules, in bytes.
    #[must_use]
    pub const fn text_len(&self) -> usize {
        self.text_len
    }

    /// Returns an estimate of the memory that the model takes with its modules, in bytes.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.memory
    }

    /// Returns all object classes; a handle is an index of this table.
    #[must_use]
    pub fn object_classes(&self) -> &[ObjectClass] {
        &self.object_classes
    }

    /// Returns the object class with this handle.
    #[must_use]
    pub fn object_class(&self, handle: ObjectClassHandle) -> Option<&ObjectClass> {
        self.object_classes.get(handle.index()?)
    }

    /// Returns the object class with this full name, with or without `HLAobjectRoot.`
    #[must_use]
    pub fn object_class_named(&self, name: &str) -> Option<ObjectClassHandle> {
        let name = below(name, OBJECT_ROOT);
        let order = |one: &ObjectClassHandle| {
            let class = self.object_class(*one);
            class.map_or("", |class| below(&class.name, OBJECT_ROOT)).cmp(name)
        };
        let at = self.object_class_names.binary_search_by(order).ok()?;
        Some(self.object_class_names[at])
    }

    /// Whether a class is `other` or a subclass of it.
    #[must_use]
    pub fn is_object_class(&self, class: ObjectClassHandle, other: ObjectClassHandle) -> bool {
        let parent = |class: &ObjectClassHandle| self.object_class(*class)?.parent;
        std::iter::successors(Some(class), parent).any(|class| class == other)
    }

    /// Returns all attributes; a handle is an index of this table.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Returns the attribute with this handle.
    #[must_use]
    pub fn attribute(&self, handle: AttributeHandle) -> Option<&Attribute> {
        self.attributes.get(handle.index()?)
    }

    /// Returns the available attribute of a class with this name.
    #[must_use]
    pub fn attribute_named(&self, class: ObjectClassHandle, name: &str) -> Option<AttributeHandle> {
        let parent = |class: &ObjectClassHandle| self.object_class(*class)?.parent;
        std::iter::successors(Some(class), parent)
            .find_map(|class| self.attribute_names.get(class.index()?)?.get(name).copied())
    }

    /// Whether an attribute is available in a class.
    #[must_use]
    pub fn has_attribute(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        self.object_class(class)
            .is_some_and(|class| class.attributes.binary_search(&attribute).is_ok())
    }

    /// Returns all interaction classes; a handle is an index of this table.
    #[must_use]
    pub fn interaction_classes(&self) -> &[InteractionClass] {
        &self.interaction_classes
    }

    /// Returns the interaction class with this handle.
    #[must_use]
    pub fn interaction_class(&self, handle: InteractionClassHandle) -> Option<&InteractionClass> {
        self.interaction_classes.get(handle.index()?)
    }

    /// Returns the interaction class with this full name, with or without `HLAinteractionRoot.`
    #[must_use]
    pub fn interaction_class_named(&self, name: &str) -> Option<InteractionClassHandle> {
        let name = below(name, INTERACTION_ROOT);
        let order = |one: &InteractionClassHandle| {
            let class = self.interaction_class(*one);
            class.map_or("", |class| below(&class.name, INTERACTION_ROOT)).cmp(name)
        };
        let at = self.interaction_class_names.binary_search_by(order).ok()?;
        Some(self.interaction_class_names[at])
    }

    /// Whether a class is `other` or a subclass of it.
    #[must_use]
    pub fn is_interaction_class(
        &self,
        class: InteractionClassHandle,
        other: InteractionClassHandle,
    ) -> bool {
        let parent = |class: &InteractionClassHandle| self.interaction_class(*class)?.parent;
        std::iter::successors(Some(class), parent).any(|class| class == other)
    }

    /// Returns all parameters; a handle is an index of this table.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the parameter with this handle.
    #[must_use]
    pub fn parameter(&self, handle: ParameterHandle) -> Option<&Parameter> {
        self.parameters.get(handle.index()?)
    }

    /// Returns the available parameter of a class with this name.
    #[must_use]
    pub fn parameter_named(
        &self,
        class: InteractionClassHandle,
        name: &str,
    ) -> Option<ParameterHandle> {
        let parent = |class: &InteractionClassHandle| self.interaction_class(*class)?.parent;
        std::iter::successors(Some(class), parent)
            .find_map(|class| self.parameter_names.get(class.index()?)?.get(name).copied())
    }

    /// Whether a parameter is available in a class.
    #[must_use]
    pub fn has_parameter(&self, class: InteractionClassHandle, parameter: ParameterHandle) -> bool {
        self.interaction_class(class)
            .is_some_and(|class| class.parameters.binary_search(&parameter).is_ok())
    }

    /// Returns all dimensions; a handle is an index of this table.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns the dimension with this handle.
    #[must_use]
    pub fn dimension(&self, handle: DimensionHandle) -> Option<&Dimension> {
        self.dimensions.get(handle.index()?)
    }

    /// Returns the dimension with this name.
    #[must_use]
    pub fn dimension_named(&self, name: &str) -> Option<DimensionHandle> {
        self.dimension_names.get(name).copied()
    }

    /// Returns all transportation types; a handle is an index of this table.
    #[must_use]
    pub fn transportations(&self) -> &[Transportation] {
        &self.transportations
    }

    /// Returns the transportation type with this handle.
    #[must_use]
    pub fn transportation(&self, handle: TransportationTypeHandle) -> Option<&Transportation> {
        self.transportations.get(handle.index()?)
    }

    /// Returns the transportation type with this name.
    #[must_use]
    pub fn transportation_named(&self, name: &str) -> Option<TransportationTypeHandle> {
        self.transportation_names.get(name).copied()
    }

    /// Returns the update rates by name, in updates per second.
    #[must_use]
    pub fn update_rates(&self) -> &BTreeMap<String, f64> {
        &self.update_rates
    }

    /// Returns the data types by name.
    #[must_use]
    pub fn datatypes(&self) -> &BTreeMap<String, Named<Datatype>> {
        &self.datatypes
    }

    /// Returns the data type with this name.
    #[must_use]
    pub fn datatype(&self, name: &str) -> Option<&Datatype> {
        self.datatypes.get(name).map(|named| &named.value)
    }

    /// Returns the synchronization points by label.
    #[must_use]
    pub fn synchronization_points(&self) -> &BTreeMap<String, Named<SynchronizationPoint>> {
        &self.synchronization_points
    }

    /// Returns the data type of a user-supplied tag, by the name of its element.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name)?.as_deref()
    }

    /// Returns the data types of `timeStamp` and `lookahead`, if the model names them.
    #[must_use]
    pub fn time(&self) -> [Option<&str>; 2] {
        ["timeStamp", "lookahead"].map(|name| self.time.get(name)?.as_deref())
    }

    /// Returns the setting of a switch in the modules; `None` if no module sets it.
    #[must_use]
    pub fn declared_setting(&self, switch: Switch) -> Option<Setting> {
        self.switches.get(&switch).copied()
    }

    /// Returns the setting of a switch: off, or `NoAction`, if no module sets it.
    #[must_use]
    pub fn setting(&self, switch: Switch) -> Setting {
        self.declared_setting(switch).unwrap_or(match switch {
            Switch::AutomaticResignAction => Setting::Directive(ResignAction::NoAction),
            _ => Setting::Enabled(false),
        })
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_enabled(&self, switch: Switch) -> bool {
        self.setting(switch) == Setting::Enabled(true)
    }

    /// Returns the directive with which a lost federate resigns.
    #[must_use]
    pub fn automatic_resign_action(&self) -> ResignAction {
        match self.setting(Switch::AutomaticResignAction) {
            Setting::Directive(action) => action,
            Setting::Enabled(_) => ResignAction::NoAction,
        }
    }

    /// Checks the invariants of every model, for tests.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub fn check_invariants(&self) {
        for (at, class) in self.object_classes.iter().enumerate() {
            let handle = ObjectClassHandle::of_index(at);
            assert_eq!(self.object_class_named(&class.name), Some(handle), "{class:?}");
            assert_eq!(class.parent.is_none(), class.name == OBJECT_ROOT, "{class:?}");
            assert!(class.attributes.is_sorted() && class.dimensions.is_sorted(), "{class:?}");
            let Some(parent) = class.parent else { continue };
            assert!(parent < handle, "{class:?}");
            let parent = self.object_class(parent).expect("the parent exists");
            assert!(parent.children.binary_search(&handle).is_ok(), "{class:?}");
            let mut inherited = parent.attributes.iter();
            assert!(
                inherited.all(|attribute| class.attributes.binary_search(attribute).is_ok()),
                "{class:?}"
            );
        }
        for (at, class) in self.interaction_classes.iter().enumerate() {
            let handle = InteractionClassHandle::of_index(at);
            assert_eq!(self.interaction_class_named(&class.name), Some(handle), "{class:?}");
            assert_eq!(class.parent.is_none(), class.name == INTERACTION_ROOT, "{class:?}");
            assert!(class.parameters.is_sorted() && class.dimensions.is_sorted(), "{class:?}");
            assert!(self.transportation(class.transportation).is_some(), "{class:?}");
            let Some(parent) = class.parent else { continue };
            assert!(parent < handle, "{class:?}");
            let parent = self.interaction_class(parent).expect("the parent exists");
            assert!(parent.children.binary_search(&handle).is_ok(), "{class:?}");
        }
        for (at, attribute) in self.attributes.iter().enumerate() {
            let handle = AttributeHandle::of_index(at);
            assert!(self.has_attribute(attribute.class, handle), "{attribute:?}");
            assert!(self.transportation(attribute.transportation).is_some(), "{attribute:?}");
        }
        for (at, parameter) in self.parameters.iter().enumerate() {
            let handle = ParameterHandle::of_index(at);
            assert!(self.has_parameter(parameter.class, handle), "{parameter:?}");
        }
    }
}

/// Returns the name of a class without the root in front.
pub(crate) fn below<'n>(name: &'n str, root: &str) -> &'n str {
    name.strip_prefix(root).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}

/// Returns the names of the data types that a data type consists of.
pub(crate) fn parts(datatype: &Datatype) -> Vec<&str> {
    match datatype {
        Datatype::Basic { .. } => Vec::new(),
        Datatype::Simple { representation, .. }
        | Datatype::Reference { representation, .. }
        | Datatype::Enumerated { representation, .. } => {
            representation.as_deref().into_iter().collect()
        }
        Datatype::Array { datatype, .. } => datatype.as_deref().into_iter().collect(),
        Datatype::FixedRecord { include, fields, .. } => {
            let fields = fields.iter().filter_map(|field: &Field| field.datatype.as_deref());
            include.as_deref().into_iter().chain(fields).collect()
        }
        Datatype::VariantRecord { datatype, alternatives, .. } => {
            let parts =
                alternatives.iter().filter_map(|part: &Alternative| part.datatype.as_deref());
            datatype.as_deref().into_iter().chain(parts).collect()
        }
    }
}

/// Returns the enumerators of an enumerated data type; none for other types.
pub(crate) fn enumerators(datatype: &Datatype) -> &[Enumerator] {
    match datatype {
        Datatype::Enumerated { enumerators, .. } => enumerators,
        _ => &[],
    }
}

/// Returns the cardinality of an array as written in modules.
#[must_use]
pub fn cardinality_text(cardinality: &[Cardinality]) -> String {
    let one = |cardinality: &Cardinality| match cardinality {
        Cardinality::Dynamic => "Dynamic".to_owned(),
        Cardinality::Exactly(count) => count.to_string(),
        Cardinality::Between(least, most) => format!("[{least}..{most}]"),
    };
    cardinality.iter().map(one).collect::<Vec<String>>().join(",")
}
