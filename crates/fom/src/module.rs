//! One module as it is written: every table of the object model template, with where each entry stands.
//!
//! A column that is not written is `None`, and so is one that says `NA` where a name is expected. What an
//! entry refers to by name need not be in its module: [`Reference`]s are looked up after merging.

use std::sync::Arc;

use hemiola_hla::{OrderType, ResignAction, Switch};

use crate::problem::{Place, Source, Span};
use crate::word::{Capability, Endian, Ownership, Sharing, UpdateType};

/// Which edition of IEEE 1516.2 a module is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// IEEE 1516.2-2010, HLA Evolved.
    E2010,
    /// IEEE 1516.2-2025, HLA 4.
    E2025,
}

impl Edition {
    /// `1516-2010` or `1516-2025`.
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
    /// Its text.
    pub source: Arc<Source>,
    /// The edition its namespace names.
    pub edition: Edition,
    /// What it says about itself.
    pub identification: Identification,
    /// Its object classes with the whole path as name, each after its parent.
    pub object_classes: Vec<ObjectClass>,
    /// Its interaction classes with the whole path as name, each after its parent.
    pub interaction_classes: Vec<InteractionClass>,
    /// Its dimensions.
    pub dimensions: Vec<Entry<Dimension>>,
    /// How it represents time: `timeStamp` and `lookahead`.
    pub time: Vec<Entry<Datatyped>>,
    /// What user-supplied tags hold, by the names of the template: `updateReflectTag` …
    pub tags: Vec<Entry<Datatyped>>,
    /// Its synchronization points.
    pub synchronization_points: Vec<Entry<SynchronizationPoint>>,
    /// Its kinds of transportation.
    pub transportations: Vec<Entry<Transportation>>,
    /// The switches it sets.
    pub switches: Vec<Entry<Position>>,
    /// Its update rates.
    pub update_rates: Vec<Entry<UpdateRate>>,
    /// Its data types of all kinds.
    pub datatypes: Vec<Entry<Datatype>>,
    /// Its notes.
    pub notes: Vec<Entry<Note>>,
    /// Everything it refers to by name.
    pub references: Vec<Reference>,
}

impl Module {
    /// A piece of this module.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place { source: Arc::clone(&self.source), span }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<T> {
    /// What it is called.
    pub name: String,
    /// Where its name stands, or the entry if it has none.
    pub span: Span,
    /// Where each of its columns stands, by the name of the element.
    pub columns: Vec<(&'static str, Span)>,
    /// What it says.
    pub value: T,
    /// Its meaning in prose; may be empty.
    pub semantics: String,
    /// The labels of notes on it or on one of its columns.
    pub notes: Vec<String>,
}

impl<T> Entry<T> {
    /// Where a column stands; the name if it is not written.
    #[must_use]
    pub fn span_of(&self, column: &str) -> Span {
        let found = self.columns.iter().find(|(name, _)| *name == column);
        found.map_or(self.span, |(_, span)| *span)
    }

    /// Is this column written?
    #[must_use]
    pub fn says(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| *name == column)
    }
}

/// What a module says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// Its name.
    pub name: String,
    /// `FOM`, `SOM`, `MIM`.
    pub kind: String,
    /// Its version.
    pub version: String,
    /// When it was changed last.
    pub modification_date: String,
    /// Its security classification.
    pub security_classification: String,
    /// To whom it may be released.
    pub release_restrictions: Vec<String>,
    /// What it was made for.
    pub purpose: String,
    /// In which field.
    pub application_domain: String,
    /// What it describes.
    pub description: String,
    /// What it is not fit for.
    pub use_limitation: String,
    /// Where it was used.
    pub use_history: Vec<String>,
    /// Keywords, each with the taxonomy it is from.
    pub keywords: Vec<(String, String)>,
    /// Whom to ask.
    pub contacts: Vec<Contact>,
    /// What else belongs to it: kind and identification. `Dependency` names a module that it needs.
    pub references: Vec<(String, String)>,
    /// Whatever else.
    pub other: String,
    /// Whose it is.
    pub copyright: String,
    /// A picture: its address or data, and the text in its place.
    pub glyph: Option<(String, String)>,
}

/// Whom to ask about a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// In which role.
    pub kind: String,
    /// The name.
    pub name: String,
    /// Where they work.
    pub organization: String,
    /// Telephone numbers.
    pub telephones: Vec<String>,
    /// Electronic mail.
    pub emails: Vec<String>,
}

/// An object class of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectClass {
    /// The class itself; its name is the whole path.
    pub entry: Entry<ObjectClassColumns>,
    /// Does it only name a class that others define, to put classes below it?
    pub is_reference: bool,
    /// The attributes it declares.
    pub attributes: Vec<Entry<Attribute>>,
    /// The interactions that may be directed at its instances.
    pub directed_interactions: Vec<Entry<DirectedInteraction>>,
}

/// The columns of an object class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectClassColumns {
    /// Who may publish and subscribe.
    pub sharing: Option<Sharing>,
    /// Its dimensions (2025).
    pub dimensions: Vec<String>,
}

/// The columns of an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// The data type of its values.
    pub datatype: Option<String>,
    /// When its owner updates it.
    pub update_type: Option<UpdateType>,
    /// Under which condition, or how often.
    pub update_condition: Option<String>,
    /// Has it always a value? (2025)
    pub value_required: Option<bool>,
    /// May its ownership change?
    pub ownership: Option<Ownership>,
    /// Who may publish and subscribe.
    pub sharing: Option<Sharing>,
    /// Its dimensions (2010).
    pub dimensions: Vec<String>,
    /// How updates are sent.
    pub transportation: Option<String>,
    /// In which order.
    pub order: Option<OrderType>,
}

/// The columns of an interaction directed at instances of a class (2025).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectedInteraction {
    /// Who may publish and subscribe.
    pub sharing: Option<Sharing>,
}

/// An interaction class of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractionClass {
    /// The class itself; its name is the whole path.
    pub entry: Entry<InteractionClassColumns>,
    /// Does it only name a class that others define, to put classes below it?
    pub is_reference: bool,
    /// The parameters it declares.
    pub parameters: Vec<Entry<Parameter>>,
}

/// The columns of an interaction class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InteractionClassColumns {
    /// Who may publish and subscribe.
    pub sharing: Option<Sharing>,
    /// Its dimensions.
    pub dimensions: Vec<String>,
    /// How interactions are sent.
    pub transportation: Option<String>,
    /// In which order.
    pub order: Option<OrderType>,
}

/// The columns of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// The data type of its values.
    pub datatype: Option<String>,
}

/// The columns of a dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// What it measures.
    pub datatype: Option<String>,
    /// The point after its last; `None` if the RTI says.
    pub upper_bound: Option<u32>,
    /// How values become points, in prose.
    pub normalization: Option<String>,
    /// Which part of it is meant where no region says: in prose, or `Excluded`.
    pub default: Option<String>,
}

/// What only has a data type: times and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datatyped {
    /// The data type.
    pub datatype: Option<String>,
}

/// The columns of a synchronization point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynchronizationPoint {
    /// What its tag holds.
    pub datatype: Option<String>,
    /// What federates may do with it.
    pub capability: Option<Capability>,
}

/// The columns of a kind of transportation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transportation {
    /// Does everything arrive?
    pub reliable: Option<bool>,
}

/// How a switch is set; the entry's name is that of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which switch.
    pub switch: Switch,
    /// Its setting.
    pub setting: Setting,
}

/// A setting of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// On or off.
    Enabled(bool),
    /// Of the automatic resign action.
    Directive(ResignAction),
}

/// The columns of an update rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateRate {
    /// Updates a second.
    pub rate: Option<f64>,
}

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What it says.
    pub text: String,
}

/// A data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// A basic data representation.
    Basic {
        /// In bits.
        size: Option<u32>,
        /// What the bits mean, in prose.
        interpretation: Option<String>,
        /// Which end comes first.
        endian: Option<Endian>,
        /// How it is encoded, in prose.
        encoding: Option<String>,
    },
    /// A quantity.
    Simple {
        /// The basic data representation.
        representation: Option<String>,
        /// In which unit.
        units: Option<String>,
        /// How fine.
        resolution: Option<String>,
        /// How true.
        accuracy: Option<String>,
    },
    /// The value of an attribute that tells instances apart (2025).
    Reference {
        /// The data type of that attribute.
        representation: Option<String>,
        /// The object class.
        class: Option<String>,
        /// Its attribute.
        attribute: Option<String>,
    },
    /// One of some names.
    Enumerated {
        /// The basic data representation.
        representation: Option<String>,
        /// The names and their values, in the order they are written.
        enumerators: Vec<Enumerator>,
    },
    /// Elements of one data type.
    Array {
        /// That of the elements.
        datatype: Option<String>,
        /// How many there are, for each dimension of the array.
        cardinality: Vec<Cardinality>,
        /// `HLAfixedArray`, `HLAvariableArray`, or one's own.
        encoding: Option<String>,
    },
    /// Fields of different data types.
    FixedRecord {
        /// `HLAfixedRecord`, or one's own.
        encoding: Option<String>,
        /// The record whose fields come first (2025).
        include: Option<String>,
        /// The fields in their order.
        fields: Vec<Field>,
    },
    /// A discriminant and the alternative it chooses.
    VariantRecord {
        /// What the discriminant is called.
        discriminant: Option<String>,
        /// Its enumerated data type.
        datatype: Option<String>,
        /// The alternatives in the order they are written.
        alternatives: Vec<Alternative>,
        /// `HLAvariantRecord`, `HLAextendableVariantRecord`, or one's own.
        encoding: Option<String>,
    },
}

impl Datatype {
    /// Which kind it is, as people say it.
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
    /// Its values as written: one, or several that mean the same.
    pub values: Vec<String>,
}

/// How many elements an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// Any number.
    Dynamic,
    /// So many.
    Exactly(u32),
    /// From so many to so many.
    Between(u32, u32),
}

/// A field of a fixed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is called.
    pub name: String,
    /// Its data type.
    pub datatype: Option<String>,
}

/// An alternative of a variant record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The enumerators that choose it, as written: names, ranges `[A..B]`, `HLAother`.
    pub enumerators: Vec<String>,
    /// What it is called; empty if it holds nothing.
    pub name: String,
    /// Its data type; `None` if it holds nothing.
    pub datatype: Option<String>,
}

/// What a name refers to.
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
    /// A kind of transportation.
    Transportation,
    /// A dimension.
    Dimension,
    /// An object class, by its whole path or without the root.
    ObjectClass,
    /// An interaction class, by its whole path or without the root.
    InteractionClass,
    /// A note, by its label.
    Note,
}

impl Target {
    /// What it is, as people say it.
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

/// A name that stands for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What it has to be.
    pub target: Target,
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}
