//! The requests to a universe that runs, and the answers.

use hemiola_trace::result::{ModuleRun, MonitorRun};
use hemiola_units::Span;
use hemiola_world::{ManageRequest, Phase, Request, SliceRequest};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::{Sources, TooLong};
use serde::{Deserialize, Serialize};

use super::{Protocol, numbers};

/// The control of a universe.
#[derive(Debug)]
pub struct Universes;

impl Protocol for Universes {
    type Request = UniverseRequest;
    type Answer = UniverseAnswer;
    const PREFIX: &'static str = "hemiola-universe/";
    const THING: &'static str = "universe";
    const EXAMPLE: &'static str = "hemiola run examples/12-flockers";
    // A thousand elements with ten properties each take a tenth.
    const REQUEST_LEN_MAX: usize = 4 << 20;

    fn refused(reason: String) -> UniverseAnswer {
        UniverseAnswer::Refused(reason)
    }
}

/// A request to a universe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UniverseRequest {
    /// Show how it is.
    Status,
    /// Show its definition from the element of this number on.
    Describe(u32),
    /// Copy some columns of some rows.
    Sample(SampleRequest),
    /// Show what would become of it with these texts.
    Plan(Vec<SourceText>),
    /// Redefine it by these texts.
    Apply(Vec<SourceText>),
    /// Return to the definition before the last redefinition.
    RollBack,
    /// Tell a manager of rows, births and deaths, until it closes the connection.
    Manage(Manage),
}

/// What a manager asks for; see [`ManageRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manage {
    /// Its name, for people; at most 64 bytes are shown.
    pub name: String,
    /// The rows that it wants, as `--monitor` says it.
    pub monitor: String,
    /// Bytes of its queue.
    #[serde(default)]
    pub queue: Option<u64>,
    /// Whether it is told of each step, also of one in which nothing else is told.
    #[serde(default)]
    pub every_step: bool,
}

/// A manager has begun; the descriptor of its queue comes with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Managed {
    /// The version of the messages.
    pub version: u16,
    /// The number of its monitor.
    pub monitor: u32,
    /// Bytes of the longest message.
    pub message: u64,
    /// The step after which it begins.
    pub step: u64,
}

/// A text of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// The name that problems show.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A slice of a sample; the same as a [`SliceRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRequest {
    /// The number of the definition that `element` and `columns` belong to.
    pub definition: u64,
    /// The number of the element.
    pub element: u32,
    /// The numbers of the columns.
    pub columns: Vec<u32>,
    /// The first of the rows to choose, in strides from the first row.
    pub first: u64,
    /// Rows to choose; none asks how many rows there are.
    pub count: u32,
    /// One row is chosen of each so many rows.
    pub stride: u32,
}

/// The answer of a universe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UniverseAnswer {
    /// How it is.
    Status(UniverseStatus),
    /// A part of its definition.
    Definition(DefinitionPart),
    /// The rows.
    Sample(SampleRows),
    /// There are no rows, because the universe was redefined since the definition of the request.
    Redefined,
    /// Done, or possible; the text says what.
    Done(String),
    /// Refused; the text says why and what to do.
    Refused(String),
    /// The texts have problems: all of them, with their lines.
    Unsound(String),
    /// A manager has begun.
    Managed(Managed),
    /// A manager has ended; the text says why. The connection ends with it.
    Ended(String),
}

/// How a universe is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UniverseStatus {
    /// Its name.
    pub universe: String,
    /// The number of its definition: redefinitions and returns so far.
    pub definition: u64,
    /// Steps made.
    pub step: u64,
    /// The time that they took.
    pub pace: Pace,
    /// All entities.
    pub entities: u64,
    /// Elements that have entities.
    pub elements: Vec<ElementRow>,
    /// Monitors that have not ended.
    pub monitors: Vec<MonitorRun>,
    /// Bytes of the columns that each of these monitors is sent of a row.
    pub row_lens: Vec<u64>,
    /// Modules of users.
    #[serde(default)]
    pub modules: Vec<ModuleRun>,
    /// The last redefinition or return.
    pub last: Option<LastRow>,
}

/// The time that steps took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The period of the scenario; absent if steps follow each other as fast as possible.
    pub period: Option<Span>,
    /// From the first release.
    pub elapsed: Span,
    /// Steps that ended behind their deadline.
    pub late: u64,
    /// Releases without a step.
    pub skipped: u64,
    /// The time in each phase, over all steps, in the order of [`Phase::ALL`].
    pub phases: [Span; Phase::ALL.len()],
}

/// A part of the definition of a universe that runs, short enough for an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionPart {
    /// The name of the universe.
    pub universe: String,
    /// The number of the definition.
    pub definition: u64,
    /// The constants; only in the part from element 0 on.
    pub constants: Vec<String>,
    /// The functions of no element; only in the part from element 0 on.
    pub functions: Vec<String>,
    /// The elements.
    pub elements: Vec<ElementPart>,
    /// Constants, functions, properties and columns that are left out, because there are too many.
    pub left_out: u64,
    /// The element from which on the next part is; `None` if this is the last one.
    pub next: Option<u32>,
}

/// An element of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementPart {
    /// Its number.
    pub number: u32,
    /// Its name, with those of the elements around it.
    pub name: String,
    /// The element that it is derived from.
    pub base: Option<String>,
    /// Its entities, without those of derived elements.
    pub entities: u64,
    /// Bytes of a row in columns.
    pub row_len: u64,
    /// Its properties with their types and defaults.
    pub properties: Vec<String>,
    /// Its functions, updates, predictions and constraints.
    pub functions: Vec<String>,
    /// Columns of numbers and truth values.
    pub columns: Vec<ColumnPart>,
}

/// A column of an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPart {
    /// Its number.
    pub number: u32,
    /// Its name, such as `position[0]`.
    pub name: String,
    /// Its type with its SI unit.
    pub ty: String,
}

/// Some columns of some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRows {
    /// The step after which they were copied.
    pub step: u64,
    /// The time that the next step waited for it.
    pub waited: Span,
    /// Rows of the element.
    pub rows: u64,
    /// Rows that were chosen.
    pub chosen: u32,
    /// The chosen rows of the first column, then those of the others. A truth value is 0 or 1.
    #[serde(with = "numbers")]
    pub values: Vec<f64>,
}

/// An element of a universe that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementRow {
    /// Its name.
    pub element: String,
    /// Its entities, without those of derived elements.
    pub entities: u64,
}

/// The last redefinition or return of a universe that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRow {
    /// The step before it.
    pub step: u64,
    /// The texts of the new definition, or how the universe returned.
    pub what: String,
    /// Why it cannot be undone, if that is known without a look at each row.
    pub no_way_back: Option<String>,
}

impl TryFrom<UniverseRequest> for Request {
    type Error = TooLong;

    fn try_from(request: UniverseRequest) -> Result<Self, TooLong> {
        Ok(match request {
            UniverseRequest::Status => Self::Status,
            UniverseRequest::Describe(from) => Self::Describe(ElementId(from)),
            UniverseRequest::Sample(sample) => {
                let SampleRequest { definition, element, columns, first, count, stride } = sample;
                let element = ElementId(element);
                Self::Sample(SliceRequest { definition, element, columns, first, count, stride })
            }
            UniverseRequest::Plan(texts) => Self::Plan(sources(texts)?),
            UniverseRequest::Apply(texts) => Self::Apply(sources(texts)?),
            UniverseRequest::RollBack => Self::RollBack,
            UniverseRequest::Manage(Manage { name: _, monitor, queue, every_step }) => {
                Self::Manage(ManageRequest { monitor, queue_len: queue, every_step })
            }
        })
    }
}

fn sources(texts: Vec<SourceText>) -> Result<Sources, TooLong> {
    let mut sources = Sources::default();
    for SourceText { name, text } in texts {
        sources.add(name, text)?;
    }
    Ok(sources)
}
