//! The requests to a universe that runs, and the answers.

use hemiola_trace::result::MonitorRun;
use hemiola_units::Span;
use hemiola_world::Request;
use hemiola_world_lang::{Sources, TooLong};
use serde::{Deserialize, Serialize};

use super::Protocol;

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
    /// Show what would become of it with these texts.
    Plan(Vec<SourceText>),
    /// Redefine it by these texts.
    Apply(Vec<SourceText>),
    /// Return to the definition before the last redefinition.
    RollBack,
}

/// A text of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// The name that problems show.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The answer of a universe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UniverseAnswer {
    /// How it is.
    Status(UniverseStatus),
    /// Done, or possible; the text says what.
    Done(String),
    /// Refused; the text says why and what to do.
    Refused(String),
    /// The texts have problems: all of them, with their lines.
    Unsound(String),
}

/// How a universe is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UniverseStatus {
    /// Its name.
    pub universe: String,
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
            UniverseRequest::Plan(texts) => Self::Plan(sources(texts)?),
            UniverseRequest::Apply(texts) => Self::Apply(sources(texts)?),
            UniverseRequest::RollBack => Self::RollBack,
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
