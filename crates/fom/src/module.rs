//! One module as written: every table of the object model template, with the place of each entry.
//!
//! A missing column is `None`, and so is `NA` where a name is expected. An entry may refer to names of other modules:
//! [`Reference`]s are resolved after merging.

use std::sync::Arc;

use hemiola_hla::{OrderType, ResignAction, Switch};

use crate::memory;
use crate::mim;
use crate::model::Model;
use crate::problem::{Place, Source, Span};
use crate::word::{Capability, Endian, Ownership, Sharing, UpdateType};

/// The edition of IEEE 1516.2 in which a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// IEEE 1516.2-2010, HLA Evolved.
    E2010,
    /// IEEE 1516.2-2025, HLA 4.
    E2025,
}

impl Edition {
    /// Returns `1516-2010` or `1516-2025`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2010 => "1516-2010",
            Self::E2025 => "1516-2025",
        }
    }
}

/// A module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The text of the module.
    pub source: Arc<Source>,
    /// The edition that its namespace names.
    pub edition: Edition,
    /// The identification table.
    pub identification: Identification,
    /// The object classes under their full names, each after its parent.
    pub object_classes: Vec<ObjectClass>,
    /// The interaction classes under their full names, each after its parent.
    pub interaction_classes: Vec<InteractionClass>,
    /// The dimensions.
    pub dimensions: Vec<Entry<Dimension>>,
    /// The representation of time: `timeStamp` and `lookahead`.
    pub time: Vec<Entry<DatatypeColumns>>,
    /// The data types of user-supplied tags, by the names of the template: `updateReflectTag` …
    pub tags: Vec<Entry<DatatypeColumns>>,
    /// The synchronization points.
    pub synchronization_points: Vec<Entry<SynchronizationPoint>>,
    /// The transportation types.
    pub transportations: Vec<Entry<Transportation>>,
    /// The settings of switches.
    pub switches: Vec<Entry<SwitchSetting>>,
    /// The update rates.
    pub update_rates: Vec<Entry<UpdateRate>>,
    /// The data types of all kinds.
    pub datatypes: Vec<Entry<Datatype>>,
    /// The notes.
    pub notes: Vec<Entry<Note>>,
    /// All references by name.
    pub references: Vec<Reference>,
}

impl Module {
    /// Returns a place in this module.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place { source: Arc::clone(&self.source), span }
    }

    /// Whether this is a standard management module, which every object model has.
    #[must_use]
    pub fn is_standard(&self) -> bool {
        mim::is_standard(self)
    }

    /// Returns an estimate of the memory that the module takes with its text, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        memory::module(self)
    }

    /// Returns the least memory that a model takes for the classes of the module when it is merged, besides the module,
    /// in bytes. Classes that the model `before` has take nothing more.
    #[must_use]
    pub fn memory_merged(&self, before: Option<&Model>) -> usize {
        memory::least_merged(self, before)
    }

    /// Returns the name of the module.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<T> {
    /// The name.
    pub name: String,
    /// The place of its name, or of the entry if it has no name.
    pub span: Span,
    /// The place of each column, by the name of the element.
    pub columns: Vec<(&'static str, Span)>,
    /// The columns.
    pub value: T,
    /// The description; may be empty.
    pub semantics: String,
    /// The labels of notes on the entry or on one of its columns.
    pub notes: Vec<String>,
}

impl<T> Entry<T> {
    /// Returns the place of a column, or of the name if the column is missing.
    pub fn span_of(&self, column: &str) -> Span {
        let found = self.columns.iter().find(|(name, _)| *name == column);
        found.map_or(self.span, |(_, span)| *span)
    }

    /// Whether the entry has this column.
    pub fn says(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| *name == column)
    }
}

/// The identification table of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// The name of the module.
    pub name: String,
    /// `FOM`, `SOM`, `MIM`.
    pub kind: String,
    /// The version.
    pub version: String,
    /// The date of the last change.
    pub modification_date: String,
    /// The security classification.
    pub security_classification: String,
    /// Restrictions on the release of the module.
    pub release_restrictions: Vec<String>,
    /// The purpose.
    pub purpose: String,
    /// The application domain.
    pub application_domain: String,
    /// The description.
    pub description: String,
    /// Limitations of use.
    pub use_limitation: String,
    /// The history of use.
    pub use_history: Vec<String>,
    /// Keywords: the taxonomy and the keyword.
    pub keywords: Vec<(String, String)>,
    /// Points of contact.
    pub contacts: Vec<Contact>,
    /// References to other documents and modules: type and identification. `Dependency` names a required module.
    pub references: Vec<(String, String)>,
    /// Other information.
    pub other: String,
    /// The copyright.
    pub copyright: String,
    /// A picture: its URL or data, and its alternative text.
    pub glyph: Option<(String, String)>,
}

/// A point of contact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The role.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The organization.
    pub organization: String,
    /// Telephone numbers.
    pub telephones: Vec<String>,
    /// E-mail addresses.
    pub emails: Vec<String>,
}

/// An object class of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectClass {
    /// The class itself, under its full name.
    pub entry: Entry<ObjectClassColumns>,
    /// Whether the module only names a class of another module, to put classes below it.
    pub is_reference: bool,
    /// The attributes that the class declares.
    pub attributes: Vec<Entry<Attribute>>,
    /// The interactions that may be directed at instances of the class.
    pub directed_interactions: Vec<Entry<DirectedInteraction>>,
}

/// The columns of an object class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectClassColumns {
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// The dimensions (2025).
    pub dimensions: Vec<String>,
}

/// The columns of an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// The data type of the values.
    pub datatype: Option<String>,
    /// When the owner updates the attribute.
    pub update_type: Option<UpdateType>,
    /// The condition for updates, or their rate.
    pub update_condition: Option<String>,
    /// Whether the attribute always has a value (2025).
    pub value_required: Option<bool>,
    /// How ownership may change.
    pub ownership: Option<Ownership>,
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// The dimensions (2010).
    pub dimensions: Vec<String>,
    /// The transportation of updates.
    pub transportation: Option<String>,
    /// The order of messages.
    pub order: Option<OrderType>,
}

/// The columns of an interaction directed at instances of a class (2025).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectedInteraction {
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
}

/// An interaction class of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractionClass {
    /// The class itself, under its full name.
    pub entry: Entry<InteractionClassColumns>,
    /// Whether the module only names a class of another module, to put classes below it.
    pub is_reference: bool,
    /// The parameters that the class declares.
    pub parameters: Vec<Entry<Parameter>>,
}

/// The columns of an interaction class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InteractionClassColumns {
    /// Whether federates publish or subscribe.
    pub sharing: Option<Sharing>,
    /// The dimensions.
    pub dimensions: Vec<String>,
    /// The transportation of interactions.
    pub transportation: Option<String>,
    /// The order of messages.
    pub order: Option<OrderType>,
}

/// The columns of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// The data type of the values.
    pub datatype: Option<String>,
}

/// The columns of a dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// The data type of the values that the dimension represents.
    pub datatype: Option<String>,
    /// The first point beyond the dimension; `None` if the RTI sets it.
    pub upper_bound: Option<u32>,
    /// How values are mapped to points, in prose.
    pub normalization: Option<String>,
    /// The default range where no region is given: prose, or `Excluded`.
    pub default: Option<String>,
}

/// The columns of times and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatatypeColumns {
    /// The data type.
    pub datatype: Option<String>,
}

/// The columns of a synchronization point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynchronizationPoint {
    /// The data type of its tag.
    pub datatype: Option<String>,
    /// How federates may use it.
    pub capability: Option<Capability>,
}

/// The columns of a transportation type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transportation {
    /// Whether delivery is reliable.
    pub reliable: Option<bool>,
}

/// A switch and its setting. The name of the entry is that of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSetting {
    /// The switch.
    pub switch: Switch,
    /// The setting.
    pub setting: Setting,
}

/// The setting of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// On or off.
    Enabled(bool),
    /// The directive of the automatic resign action.
    Directive(ResignAction),
}

/// The columns of an update rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateRate {
    /// Updates per second.
    pub rate: Option<f64>,
}

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The text.
    pub text: String,
}

/// A data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// A basic data representation.
    Basic {
        /// The size in bits.
        size: Option<u32>,
        /// The meaning of the bits, in prose.
        interpretation: Option<String>,
        /// The byte order.
        endian: Option<Endian>,
        /// The encoding, in prose.
        encoding: Option<String>,
    },
    /// A quantity.
    Simple {
        /// The basic data representation.
        representation: Option<String>,
        /// The unit.
        units: Option<String>,
        /// The resolution.
        resolution: Option<String>,
        /// The accuracy.
        accuracy: Option<String>,
    },
    /// The value of an attribute that identifies an instance (2025).
    Reference {
        /// The data type of that attribute.
        representation: Option<String>,
        /// The object class.
        class: Option<String>,
        /// Its attribute.
        attribute: Option<String>,
    },
    /// One of a set of names.
    Enumerated {
        /// The basic data representation.
        representation: Option<String>,
        /// The names and their values, in the order of the module.
        enumerators: Vec<Enumerator>,
    },
    /// Elements of one data type.
    Array {
        /// The data type of the elements.
        datatype: Option<String>,
        /// The number of elements, for each dimension of the array.
        cardinality: Vec<Cardinality>,
        /// `HLAfixedArray`, `HLAvariableArray`, or a custom encoding.
        encoding: Option<String>,
    },
    /// Fields of different data types.
    FixedRecord {
        /// `HLAfixedRecord`, or a custom encoding.
        encoding: Option<String>,
        /// The record whose fields come first (2025).
        include: Option<String>,
        /// The fields in their order.
        fields: Vec<Field>,
    },
    /// A discriminant and the alternative it chooses.
    VariantRecord {
        /// The name of the discriminant.
        discriminant: Option<String>,
        /// The enumerated data type of the discriminant.
        datatype: Option<String>,
        /// The alternatives in the order of the module.
        alternatives: Vec<Alternative>,
        /// `HLAvariantRecord`, `HLAextendableVariantRecord`, or a custom encoding.
        encoding: Option<String>,
    },
}

impl Datatype {
    /// Returns the kind of data type, for messages.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Basic { .. } => "basic data representation",
            Self::Simple { .. } => "simple data type",
            Self::Reference { .. } => "reference data type",
            Self::Enumerated { .. } => "enumerated data type",
            Self::Array { .. } => "array data type",
            Self::FixedRecord { .. } => "fixed record data type",
            Self::VariantRecord { .. } => "variant record data type",
        }
    }
}

/// A name of an enumerated data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// The values as written. Several values may mean the same.
    pub values: Vec<String>,
}

/// The number of elements of an array in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// Any number.
    Dynamic,
    /// A fixed number.
    Exactly(u32),
    /// A number within a range, both ends included.
    Between(u32, u32),
}

/// A field of a fixed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The data type.
    pub datatype: Option<String>,
}

/// An alternative of a variant record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The enumerators that choose it, as written: names, ranges `[A..B]`, `HLAother`.
    pub enumerators: Vec<String>,
    /// The name; empty if the alternative holds nothing.
    pub name: String,
    /// The data type; `None` if the alternative holds nothing.
    pub datatype: Option<String>,
}

/// The kind of thing that a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A data type of any kind.
    Datatype,
    /// A basic data representation.
    Representation,
    /// An enumerated data type.
    Discriminant,
    /// A fixed record.
    FixedRecord,
    /// A transportation type.
    Transportation,
    /// A dimension.
    Dimension,
    /// An object class, by its full name or without the root.
    ObjectClass,
    /// An interaction class, by its full name or without the root.
    InteractionClass,
    /// A note, by its label.
    Note,
}

impl Target {
    /// Returns the kind of thing, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datatype => "data type",
            Self::Representation => "basic data representation",
            Self::Discriminant => "enumerated data type",
            Self::FixedRecord => "fixed record",
            Self::Transportation => "transportation",
            Self::Dimension => "dimension",
            Self::ObjectClass => "object class",
            Self::InteractionClass => "interaction class",
            Self::Note => "note",
        }
    }
}

/// A reference by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The kind of thing that the name must have.
    pub target: Target,
    /// The name.
    pub name: String,
    /// The place of the name.
    pub span: Span,
}
