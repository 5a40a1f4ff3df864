//! What is said of a prediction and its measurement: the same tables for a terminal and a page.

use hemiola_report::table::Table;
use hemiola_report::text::{duration, ratio};

use super::{Held, HeldPart, Response, Verdict};

/// Stands where there is no figure.
const NONE: &str = "–";

/// All tables; those without rows are left out.
#[must_use]
pub fn tables(held: &[Held], responses: &[Response]) -> Vec<Table> {
    let mut tables = vec![cycles(held)];
    tables.extend(held.iter().map(parts));
    tables.push(bounds(responses));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn cycles(held: &[Held]) -> Table {
    let row = |held: &Held| {
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
    let heads =
        ["Program", "Predicted", "Range", "Measured", "Ratio", "Verdict", "Unexplained most"];
    Table::new("Predicted and measured cycle", heads, held.iter().map(row).collect())
        .with_prose(&[5, 6])
        .with_note(
            "Predicted from the machine's figures and the plan before the run is looked at; measured: the \
             median cycle. Good is within 30 % of the measured value; in range: farther off, and the range \
             holds it.",
        )
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Within => "good",
        Verdict::InRange => "in range",
        Verdict::Outside => "outside",
    }
}

/// `"hand-overs down: 4.1 µs less"`.
fn unexplained(held: &Held) -> String {
    held.parts.first().map_or_else(String::new, |part| {
        let way = if part.unexplained_ns < 0.0 { "less" } else { "more" };
        format!("{}: {} {way}", part.kind.title(), duration(part.unexplained_ns.abs()))
    })
}

fn parts(held: &Held) -> Table {
    let row = |part: &HeldPart| {
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
            predicted.map_or("not foreseen".into(), |part| part.formula.clone()),
        ]
    };
    let heads = ["Part", "Predicted", "Range", "Measured", "Unexplained", "By"];
    let title = format!("Where the cycle of {} goes", held.prediction.variant);
    Table::new(title, heads, held.parts.iter().map(row).collect()).with_prose(&[5]).with_note(
        "Measured: means, which add up to the mean cycle. The part that explains least stands first.",
    )
}

fn signed(nanos: f64) -> String {
    let sign = if nanos < 0.0 { "−" } else { "+" };
    format!("{sign}{}", duration(nanos.abs()))
}

fn bounds(responses: &[Response]) -> Table {
    let row = |response: &Response| {
        let show = |span: hemiola_units::Span| duration(span.nanos() as f64);
        let verdict = match response.bound {
            Some(bound) if bound <= response.deadline => "in time",
            Some(_) => "may be late",
            None => "no bound: too much work",
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
    let heads = ["Program", "Task", "Bound", "Greatest seen", "Deadline", "Verdict"];
    Table::new("Response times", heads, responses.iter().map(row).collect())
        .with_prose(&[1, 5])
        .with_note(
            "Bound: exact response-time analysis of the real-time tasks of one processor, with two \
             switches a job. What the hypervisor or an interrupt takes is not in it.",
        )
}
