//! The object model of a federation: all modules as one, in tables indexed by handle.
//!
//! Handles are places in these tables. Within one set of modules, names are numbered in alphabetical order,
//! so the order of the modules does not matter. Modules that are added later get the handles behind
//! those given out, which stay as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, OrderType,
    ParameterHandle, ResignAction, Switch, TransportationTypeHandle,
};

use crate::module::{
    Alternative, Cardinality, Datatype, Enumerator, Field, Module, Setting, SynchronizationPoint,
};
use crate::parse::{INTERACTION_ROOT, OBJECT_ROOT};
use crate::word::{Ownership, Sharing, UpdateType};

/// An object model. It exists only if its modules are sound and agree; built by [`crate::merge`].
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
    /// Data types of tags and times; without one if the model says none.
    pub(crate) tags: BTreeMap<String, Option<String>>,
    pub(crate) time: BTreeMap<String, Option<String>>,
    pub(crate) switches: BTreeMap<Switch, Setting>,
    pub(crate) object_class_names: BTreeMap<String, ObjectClassHandle>,
    pub(crate) interaction_class_names: BTreeMap<String, InteractionClassHandle>,
    pub(crate) dimension_names: BTreeMap<String, DimensionHandle>,
    pub(crate) transportation_names: BTreeMap<String, TransportationTypeHandle>,
    /// For each object class, the attributes that it declares itself.
    pub(crate) attribute_names: Vec<BTreeMap<String, AttributeHandle>>,
    /// For each interaction class, the parameters that it declares itself.
    pub(crate) parameter_names: Vec<BTreeMap<String, ParameterHandle>>,
}

/// A value and what it means in prose.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// The value.
    pub value: T,
    /// Its meaning; may be empty.
    pub semantics: String,
}

/// An object class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectClass {
    /// Its whole path, from `HLAobjectRoot`.
    pub name: String,
    /// The class above it; `None` for the root. Its handle is less than this one's.
    pub parent: Option<ObjectClassHandle>,
    /// The classes right below it, by handle.
    pub children: Vec<ObjectClassHandle>,
    /// Who publishes and subscribes.
    pub sharing: Option<Sharing>,
    /// All available attributes, own and inherited, by handle.
    pub attributes: Vec<AttributeHandle>,
    /// All available dimensions, own and inherited, by handle. A dimension that 2010 puts on an attribute is one
    /// of the class that declares the attribute.
    pub dimensions: Vec<DimensionHandle>,
    /// The interactions that may be directed at instances, own and inherited, by handle.
    pub directed_interactions: Vec<(InteractionClassHandle, Sharing)>,
    /// Its meaning; may be empty.
    pub semantics: String,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// What it is called.
    pub name: String,
    /// The class that declares it.
    pub class: ObjectClassHandle,
    /// The data type of its values; `None` if the model says none.
    pub datatype: Option<String>,
    /// When its owner updates it.
    pub update_type: Option<UpdateType>,
    /// Under which condition, or how often.
    pub update_condition: Option<String>,
    /// Has it always a value? False if the model does not say.
    pub value_required: bool,
    /// May its ownership change? If the model does not say, yes.
    pub ownership: Ownership,
    /// Who publishes and subscribes.
    pub sharing: Option<Sharing>,
    /// How updates are sent; `HLAreliable` if the model does not say.
    pub transportation: TransportationTypeHandle,
    /// In which order; `Receive` if the model does not say.
    pub order: OrderType,
    /// Its meaning; may be empty.
    pub semantics: String,
}

/// An interaction class.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractionClass {
    /// Its whole path, from `HLAinteractionRoot`.
    pub name: String,
    /// The class above it; `None` for the root. Its handle is less than this one's.
    pub parent: Option<InteractionClassHandle>,
    /// The classes right below it, by handle.
    pub children: Vec<InteractionClassHandle>,
    /// Who publishes and subscribes.
    pub sharing: Option<Sharing>,
    /// All available parameters, own and inherited, by handle.
    pub parameters: Vec<ParameterHandle>,
    /// All available dimensions, own and inherited, by handle.
    pub dimensions: Vec<DimensionHandle>,
    /// How interactions are sent; `HLAreliable` if the model does not say.
    pub transportation: TransportationTypeHandle,
    /// In which order; `Receive` if the model does not say.
    pub order: OrderType,
    /// Its meaning; may be empty.
    pub semantics: String,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is called.
    pub name: String,
    /// The class that declares it.
    pub class: InteractionClassHandle,
    /// The data type of its values; `None` if the model says none.
    pub datatype: Option<String>,
    /// Its meaning; may be empty.
    pub semantics: String,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// What it is called.
    pub name: String,
    /// What it measures.
    pub datatype: Option<String>,
    /// The point after its last; `None` if the RTI says.
    pub upper_bound: Option<u32>,
    /// How values become points, in prose.
    pub normalization: Option<String>,
    /// Which part is meant where no region says: prose, or `Excluded`.
    pub default: Option<String>,
}

/// A kind of transportation.
#[derive(Clone, Debug, PartialEq)]
pub struct Transportation {
    /// What it is called.
    pub name: String,
    /// Does everything arrive? True if the model does not say.
    pub reliable: bool,
}

impl Model {
    /// Its modules, the standard ones first, then by name.
    #[must_use]
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// All object classes; the place in this table is the handle's.
    #[must_use]
    pub fn object_classes(&self) -> &[ObjectClass] {
        &self.object_classes
    }

    /// An object class.
    #[must_use]
    pub fn object_class(&self, handle: ObjectClassHandle) -> Option<&ObjectClass> {
        self.object_classes.get(handle.index()?)
    }

    /// The object class of this name: its whole path, or without `HLAobjectRoot.`
    #[must_use]
    pub fn object_class_named(&self, name: &str) -> Option<ObjectClassHandle> {
        self.object_class_names.get(below(name, OBJECT_ROOT)).copied()
    }

    /// Is a class another one, or below it?
    #[must_use]
    pub fn is_object_class(&self, class: ObjectClassHandle, other: ObjectClassHandle) -> bool {
        let parent = |class: &ObjectClassHandle| self.object_class(*class)?.parent;
        std::iter::successors(Some(class), parent).any(|class| class == other)
    }

    /// All attributes; the place in this table is the handle's.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// An attribute.
    #[must_use]
    pub fn attribute(&self, handle: AttributeHandle) -> Option<&Attribute> {
        self.attributes.get(handle.index()?)
    }

    /// The available attribute of this name of a class.
    #[must_use]
    pub fn attribute_named(&self, class: ObjectClassHandle, name: &str) -> Option<AttributeHandle> {
        let parent = |class: &ObjectClassHandle| self.object_class(*class)?.parent;
        std::iter::successors(Some(class), parent)
            .find_map(|class| self.attribute_names.get(class.index()?)?.get(name).copied())
    }

    /// Is an attribute available in a class?
    #[must_use]
    pub fn has_attribute(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        self.object_class(class)
            .is_some_and(|class| class.attributes.binary_search(&attribute).is_ok())
    }

    /// All interaction classes; the place in this table is the handle's.
    #[must_use]
    pub fn interaction_classes(&self) -> &[InteractionClass] {
        &self.interaction_classes
    }

    /// An interaction class.
    #[must_use]
    pub fn interaction_class(&self, handle: InteractionClassHandle) -> Option<&InteractionClass> {
        self.interaction_classes.get(handle.index()?)
    }

    /// The interaction class of this name: its whole path, or without `HLAinteractionRoot.`
    #[must_use]
    pub fn interaction_class_named(&self, name: &str) -> Option<InteractionClassHandle> {
        self.interaction_class_names.get(below(name, INTERACTION_ROOT)).copied()
    }

    /// Is a class another one, or below it?
    #[must_use]
    pub fn is_interaction_class(
        &self,
        class: InteractionClassHandle,
        other: InteractionClassHandle,
    ) -> bool {
        let parent = |class: &InteractionClassHandle| self.interaction_class(*class)?.parent;
        std::iter::successors(Some(class), parent).any(|class| class == other)
    }

    /// All parameters; the place in this table is the handle's.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// A parameter.
    #[must_use]
    pub fn parameter(&self, handle: ParameterHandle) -> Option<&Parameter> {
        self.parameters.get(handle.index()?)
    }

    /// The available parameter of this name of a class.
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

    /// Is a parameter available in a class?
    #[must_use]
    pub fn has_parameter(&self, class: InteractionClassHandle, parameter: ParameterHandle) -> bool {
        self.interaction_class(class)
            .is_some_and(|class| class.parameters.binary_search(&parameter).is_ok())
    }

    /// All dimensions; the place in this table is the handle's.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// A dimension.
    #[must_use]
    pub fn dimension(&self, handle: DimensionHandle) -> Option<&Dimension> {
        self.dimensions.get(handle.index()?)
    }

    /// The dimension of this name.
    #[must_use]
    pub fn dimension_named(&self, name: &str) -> Option<DimensionHandle> {
        self.dimension_names.get(name).copied()
    }

    /// All kinds of transportation; the place in this table is the handle's.
    #[must_use]
    pub fn transportations(&self) -> &[Transportation] {
        &self.transportations
    }

    /// A kind of transportation.
    #[must_use]
    pub fn transportation(&self, handle: TransportationTypeHandle) -> Option<&Transportation> {
        self.transportations.get(handle.index()?)
    }

    /// The kind of transportation of this name.
    #[must_use]
    pub fn transportation_named(&self, name: &str) -> Option<TransportationTypeHandle> {
        self.transportation_names.get(name).copied()
    }

    /// The update rates by name, in updates a second.
    #[must_use]
    pub fn update_rates(&self) -> &BTreeMap<String, f64> {
        &self.update_rates
    }

    /// The data types by name.
    #[must_use]
    pub fn datatypes(&self) -> &BTreeMap<String, Named<Datatype>> {
        &self.datatypes
    }

    /// The data type of this name.
    #[must_use]
    pub fn datatype(&self, name: &str) -> Option<&Datatype> {
        self.datatypes.get(name).map(|named| &named.value)
    }

    /// The synchronization points by label.
    #[must_use]
    pub fn synchronization_points(&self) -> &BTreeMap<String, Named<SynchronizationPoint>> {
        &self.synchronization_points
    }

    /// The data type of a user-supplied tag, by the name of its element.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name)?.as_deref()
    }

    /// The data types of `timeStamp` and `lookahead`, if the model says any.
    #[must_use]
    pub fn time(&self) -> [Option<&str>; 2] {
        ["timeStamp", "lookahead"].map(|name| self.time.get(name)?.as_deref())
    }

    /// How a module sets a switch; `None` if none does.
    #[must_use]
    pub fn said(&self, switch: Switch) -> Option<Setting> {
        self.switches.get(&switch).copied()
    }

    /// How a switch is set: off, or `NoAction`, if the model does not say.
    #[must_use]
    pub fn setting(&self, switch: Switch) -> Setting {
        self.said(switch).unwrap_or(match switch {
            Switch::AutomaticResignAction => Setting::Directive(ResignAction::NoAction),
            _ => Setting::Enabled(false),
        })
    }

    /// Is this switch on? The directive is not asked here.
    #[must_use]
    pub fn is_enabled(&self, switch: Switch) -> bool {
        self.setting(switch) == Setting::Enabled(true)
    }

    /// The directive a lost federate resigns with.
    #[must_use]
    pub fn automatic_resign_action(&self) -> ResignAction {
        match self.setting(Switch::AutomaticResignAction) {
            Setting::Directive(action) => action,
            Setting::Enabled(_) => ResignAction::NoAction,
        }
    }

    /// Checks what must be true of every model; tests call it.
    ///
    /// # Panics
    /// Something is not.
    pub fn check_invariants(&self) {
        for (at, class) in self.object_classes.iter().enumerate() {
            let handle = ObjectClassHandle::of_index(at);
            assert_eq!(self.object_class_named(&class.name), Some(handle), "{class:?}");
            assert_eq!(class.parent.is_none(), class.name == OBJECT_ROOT, "{class:?}");
            assert!(class.attributes.is_sorted() && class.dimensions.is_sorted(), "{class:?}");
            let Some(parent) = class.parent else { continue };
            assert!(parent < handle, "{class:?}");
            let parent = self.object_class(parent).expect("a parent is a class");
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
            let parent = self.interaction_class(parent).expect("a parent is a class");
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

/// The name of a class without the root's in front, which both forms of it have in common.
pub(crate) fn below<'n>(name: &'n str, root: &str) -> &'n str {
    name.strip_prefix(root).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}

/// The names that a data type is made of.
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

/// An enumerated data type's enumerators; none for others.
pub(crate) fn enumerators(datatype: &Datatype) -> &[Enumerator] {
    match datatype {
        Datatype::Enumerated { enumerators, .. } => enumerators,
        _ => &[],
    }
}

/// How many elements, as it is written.
#[must_use]
pub fn cardinality_text(cardinality: &[Cardinality]) -> String {
    let one = |cardinality: &Cardinality| match cardinality {
        Cardinality::Dynamic => "Dynamic".to_owned(),
        Cardinality::Exactly(count) => count.to_string(),
        Cardinality::Between(least, most) => format!("[{least}..{most}]"),
    };
    cardinality.iter().map(one).collect::<Vec<String>>().join(",")
}
