//! Tables of a prediction and its measurement; the terminal and the page show the same ones.

use hemiola_report::table::Table;
use hemiola_report::text::{duration, ratio};

use super::{ComparedPart, ComparedPrediction, PredictionVerdict, TaskResponse};

/// The text for a missing figure.
const NONE: &str = "–";

/// All tables except empty ones.
#[must_use]
pub fn tables(held: &[ComparedPrediction], responses: &[TaskResponse]) -> Vec<Table> {
    let mut tables = vec![cycles(held)];
    tables.extend(held.iter().map(parts));
    tables.push(bounds(responses));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn cycles(held: &[ComparedPrediction]) -> Table {
    let row = |held: &ComparedPrediction| {
        let range = held.prediction.cycle;
        vec![
            held.prediction.variant.clone(),
            duration(range.expected),
            format!("{} … {}", duration(range.low), duration(range.high)),
            duration(held.measured_ns),
            ratio(held.ratio),
            verdict(held.verdict).into(),
            unexplained(held),
        ]
    };
    let heads = [
        "Program",
        "Predicted",
        "Range",
        "Measured",
        "Ratio",
        "Verdict",
        "Largest unexplained part",
    ];
    Table::new("Predicted and measured cycle", heads, held.iter().map(row).collect())
        .with_prose(&[5, 6])
        .with_note(
            "Predicted from the machine's figures and the plan, without using the run. Measured: the median cycle. Good: \
             within 30 % of the measured value. In range: further off, but within the predicted range.",
        )
}

fn verdict(verdict: PredictionVerdict) -> &'static str {
    match verdict {
        PredictionVerdict::Within => "good",
        PredictionVerdict::InRange => "in range",
        PredictionVerdict::Outside => "outside",
    }
}

/// `"hand-overs down: 4.1 µs less"`.
fn unexplained(held: &ComparedPrediction) -> String {
    held.parts.first().map_or_else(String::new, |part| {
        let direction = if part.unexplained_ns < 0.0 { "less" } else { "more" };
        format!("{}: {} {direction}", part.kind.title(), duration(part.unexplained_ns.abs()))
    })
}

fn parts(held: &ComparedPrediction) -> Table {
    let row = |part: &ComparedPart| {
        let predicted = part.predicted.as_ref();
        let range = predicted.map(|part| part.time);
        vec![
            part.kind.title(),
            range.map_or(NONE.into(), |range| duration(range.expected)),
            range.map_or(NONE.into(), |range| {
                format!("{} … {}", duration(range.low), duration(range.high))
            }),
            duration(part.measured_ns),
            signed(part.unexplained_ns),
            predicted.map_or("not predicted".into(), |part| part.formula.clone()),
        ]
    };
    let heads = ["Part", "Predicted", "Range", "Measured", "Unexplained", "By"];
    let title = format!("Where the cycle of {} goes", held.prediction.variant);
    Table::new(title, heads, held.parts.iter().map(row).collect()).with_prose(&[5]).with_note(
        "Measured: means, which add up to the mean cycle. The largest unexplained difference comes first.",
    )
}

fn signed(nanos: f64) -> String {
    let sign = if nanos < 0.0 { "−" } else { "+" };
    format!("{sign}{}", duration(nanos.abs()))
}

fn bounds(responses: &[TaskResponse]) -> Table {
    let row = |response: &TaskResponse| {
        let show = |span: hemiola_units::Span| duration(span.nanos() as f64);
        let verdict = match response.bound {
            Some(bound) if bound <= response.deadline => "in time",
            Some(_) => "may be late",
            None => "unbounded: too much work",
        };
        vec![
            response.variant.clone(),
            response.task.clone(),
            response.bound.map_or(NONE.into(), show),
            response.seen_max.map_or(NONE.into(), show),
            show(response.deadline),
            verdict.into(),
        ]
    };
    let heads = ["Program", "Task", "Bound", "Longest measured", "Deadline", "Verdict"];
    Table::new("Response times", heads, responses.iter().map(row).collect())
        .with_prose(&[1, 5])
        .with_note(
            "Bound: exact response-time analysis of the real-time tasks of one processor, with two switches per job. \
             Time taken by the hypervisor or by interrupts is not included.",
        )
}
