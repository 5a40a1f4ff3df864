//! `hemiola universe view`: serves the page that shows a universe that runs, on this machine only.
//!
//! The page asks this server, and the server asks the universe through its control socket, as `hemiola universe status`
//! does. It changes nothing: a new definition is planned and never applied. A sample of rows is binary, little-endian:
//!
//! ```text
//! u32             bytes of the head, a multiple of 8 less 4
//! head            JSON, filled up with spaces
//! per column      chosen × f64
//! ```

mod histogram;
mod sample;

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use hemiola_runner::control::universe::{
    Pace, SourceText, UniverseAnswer, UniverseRequest, UniverseStatus, Universes,
};
use hemiola_runner::control::{ControlError, Protocol, ask, chosen, running};
use hemiola_units::Span;
use hemiola_world::Phase;
use serde::Deserialize;
use serde_json::{Value, json};

use self::sample::{Sample, SampleOf};
use crate::args::UniverseView;
use crate::diagnostics::Failure;
use crate::view;
use crate::view::answer::{Refusal, answer, beside};
use crate::view::server::{Sends, Server};

/// How long a universe that gave no answer may keep its socket before it counts as running.
const CLOSING_MAX: Duration = Duration::from_secs(1);
/// Columns of one sample.
const COLUMNS_MAX: usize = 64;
/// Rows of a drawing of points.
const POINTS_MAX: u64 = 100_000;
/// Rows of which histograms are made.
const HISTOGRAM_ROWS_MAX: u64 = 10_000;
/// Elements that the tree shows.
const ELEMENTS_MAX: usize = 1000;

pub(crate) fn view(args: &UniverseView) -> Result<ExitCode, Failure> {
    let name = chosen::<Universes>(args.chosen.run.as_deref()).map_err(Failure::failed)?;
    let seen = Seen { name };
    // Report a universe that does not answer before the page opens.
    seen.status().map_err(|Refusal(_, reason)| Failure::failed(reason))?;
    let server = Server::bind(args.page.port, Sends::Texts).map_err(Failure::failed)?;
    view::serve(server, "universe.html", None, answers(Arc::new(seen)), args.page.no_open)
        .map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn answers(seen: Arc<Seen>) -> Router {
    // The universe refuses a longer request.
    let texts = DefaultBodyLimit::max(Universes::REQUEST_LEN_MAX);
    let api = Router::new()
        .route("/status", answer(status))
        .route("/definition", answer(definition))
        .route("/sample", answer(points))
        .route("/histograms", answer(histograms))
        .route("/plan", post(plan).layer(texts));
    Router::new().nest("/{token}/api", api).with_state(seen)
}

/// The universe that the page shows.
struct Seen {
    name: String,
}

/// Selects nothing.
#[derive(Deserialize)]
struct Nothing {}

/// Selects columns of an element.
#[derive(Deserialize)]
struct Columns {
    definition: u64,
    element: u32,
    /// Comma-separated numbers.
    columns: String,
}

impl Seen {
    fn ask(&self, request: &UniverseRequest) -> Result<UniverseAnswer, Refusal> {
        let answer = ask::<Universes>(Some(&self.name), request);
        match answer.map_err(|error| self.unanswered(&error))? {
            UniverseAnswer::Refused(reason) => Err(Refusal(StatusCode::BAD_REQUEST, reason)),
            UniverseAnswer::Redefined => {
                let reason = "the universe was redefined meanwhile".to_owned();
                Err(Refusal(StatusCode::CONFLICT, reason))
            }
            answer => Ok(answer),
        }
    }

    /// Tells the end of the universe from a failure.
    fn unanswered(&self, error: &ControlError) -> Refusal {
        let is_there = || running::<Universes>().is_ok_and(|names| names.contains(&self.name));
        // The sockets of a process that is killed close one after the other.
        let limit = Instant::now() + CLOSING_MAX;
        while is_there() && Instant::now() < limit {
            thread::sleep(Duration::from_millis(5));
        }
        if is_there() {
            Refusal(StatusCode::SERVICE_UNAVAILABLE, format!("the universe: {error}"))
        } else {
            Refusal(StatusCode::GONE, format!("the universe {} has ended", self.name))
        }
    }

    fn status(&self) -> Result<UniverseStatus, Refusal> {
        match self.ask(&UniverseRequest::Status)? {
            UniverseAnswer::Status(status) => Ok(status),
            _ => Err(unexpected()),
        }
    }
}

fn unexpected() -> Refusal {
    let reason = "the universe gives the answer to another request".to_owned();
    Refusal(StatusCode::INTERNAL_SERVER_ERROR, reason)
}

fn status(seen: &Seen, _: Nothing) -> Result<Json<Value>, Refusal> {
    let status = seen.status()?;
    let Pace { period, elapsed, late, skipped, phases } = status.pace;
    let pace = json!({
        "period": period.map(Span::nanos),
        "elapsed": elapsed.nanos(),
        "late": late,
        "skipped": skipped,
        "phases": phases.map(Span::nanos),
    });
    let phase_names = Phase::ALL.map(Phase::name);
    Ok(Json(json!({
        "name": seen.name, "phase_names": phase_names, "pace": pace, "status": status,
    })))
}

/// The definition, put together from its parts.
fn definition(seen: &Seen, _: Nothing) -> Result<Json<Value>, Refusal> {
    let part = |from| match seen.ask(&UniverseRequest::Describe(from))? {
        UniverseAnswer::Definition(part) => Ok(part),
        _ => Err(unexpected()),
    };
    let mut whole = part(0)?;
    while let Some(from) = whole.next.filter(|_| whole.elements.len() < ELEMENTS_MAX) {
        let next = part(from)?;
        if next.definition != whole.definition {
            let reason = "the universe was redefined meanwhile".to_owned();
            return Err(Refusal(StatusCode::CONFLICT, reason));
        }
        whole.elements.extend(next.elements);
        whole.left_out += next.left_out;
        whole.next = next.next;
    }
    Ok(Json(json!(whole)))
}

impl Columns {
    fn numbers(&self) -> Result<Vec<u32>, Refusal> {
        let refused = |reason: &str| Refusal(StatusCode::BAD_REQUEST, reason.to_owned());
        let words = self.columns.split(',').filter(|word| !word.is_empty());
        let numbers: Result<Vec<u32>, _> = words.map(str::parse).collect();
        let numbers = numbers.map_err(|_| refused("`columns` must be comma-separated numbers"))?;
        if (1..=COLUMNS_MAX).contains(&numbers.len()) {
            Ok(numbers)
        } else {
            Err(refused(&format!("a sample has 1 to {COLUMNS_MAX} columns")))
        }
    }

    fn sample(&self, seen: &Seen, rows_max: u64) -> Result<Sample, Refusal> {
        let columns = self.numbers()?;
        let of = SampleOf { definition: self.definition, element: self.element, columns };
        of.take(rows_max, |request| match seen.ask(&UniverseRequest::Sample(request))? {
            UniverseAnswer::Sample(rows) => Ok(rows),
            _ => Err(unexpected()),
        })
    }
}

/// Rows to be drawn as points.
fn points(seen: &Seen, columns: Columns) -> Result<Response, Refusal> {
    let sample = columns.sample(seen, POINTS_MAX)?;
    let mut head = sample.head().to_string();
    // The numbers begin at a multiple of their length.
    while !(head.len() + 4).is_multiple_of(8) {
        head.push(' ');
    }
    let numbers = sample.columns.iter().flatten().flat_map(|value| value.to_le_bytes());
    let mut bytes = (head.len() as u32).to_le_bytes().to_vec();
    bytes.extend(head.into_bytes());
    bytes.extend(numbers);
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// A histogram of each column, as SVG.
fn histograms(seen: &Seen, columns: Columns) -> Result<Json<Value>, Refusal> {
    let sample = columns.sample(seen, HISTOGRAM_ROWS_MAX)?;
    let drawings: Vec<String> =
        sample.columns.iter().map(|values| histogram::draw(values)).collect();
    Ok(Json(json!({ "sample": sample.head(), "histograms": drawings })))
}

/// The plan of a redefinition, by the same code as `hemiola universe plan`.
async fn plan(
    State(seen): State<Arc<Seen>>,
    Json(texts): Json<Vec<SourceText>>,
) -> Result<Json<Value>, Refusal> {
    beside(move || {
        let answer = ask::<Universes>(Some(&seen.name), &UniverseRequest::Plan(texts));
        let (outcome, text) = match answer.map_err(|error| seen.unanswered(&error))? {
            UniverseAnswer::Done(text) => ("possible", text),
            UniverseAnswer::Refused(text) => ("refused", text),
            UniverseAnswer::Unsound(text) => ("unsound", text),
            _ => return Err(unexpected()),
        };
        Ok(Json(json!({ "outcome": outcome, "text": text })))
    })
    .await
}
