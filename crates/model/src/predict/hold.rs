//! A prediction beside what was measured.

use hemiola_analyze::cycles::segments::Segment;
use hemiola_analyze::cycles::summary::{Summary, VariantSummary};
use hemiola_units::{Policy, Profile};
use serde::Serialize;

use super::{Part, PartKind, Prediction};

/// A prediction is good within this share of the measured value.
pub const WITHIN: f64 = 0.3;

/// A prediction and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// What was predicted.
    pub prediction: Prediction,
    /// The median cycle that was measured, ns, and its 95 % interval where there were enough cycles.
    pub measured_ns: f64,
    /// That interval.
    pub interval_ns: Option<[i64; 2]>,
    /// Measured over predicted.
    pub ratio: f64,
    /// What follows.
    pub verdict: Verdict,
    /// Part by part, the one that explains least first.
    pub parts: Vec<HeldPart>,
}

/// How a prediction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within ± 30 % of the measured value.
    Within,
    /// Farther off, but the measured value lies in the predicted range.
    InRange,
    /// Farther off, and outside the range.
    Outside,
}

/// One part of a cycle, predicted and measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldPart {
    /// What was predicted of it; nothing for what was measured and not foreseen.
    pub predicted: Option<Part>,
    /// What it is.
    pub kind: PartKind,
    /// Its mean in a cycle, ns; 0 for what was foreseen and never happened.
    pub measured_ns: f64,
    /// Measured less predicted, ns.
    pub unexplained_ns: f64,
}

/// Puts each prediction beside the program of the same name in `summary`; programs without a measured cycle
/// are left out.
#[must_use]
pub fn hold(predictions: Vec<Prediction>, summary: &Summary) -> Vec<Held> {
    let held = |prediction: Prediction| {
        let variant = summary.variants.iter().find(|variant| variant.name == prediction.variant)?;
        let cycle = variant.combined.cycle_ns?;
        let measured_ns = cycle.spread.p50 as f64;
        let range = prediction.cycle;
        let verdict = if (range.expected - measured_ns).abs() <= WITHIN * measured_ns {
            Verdict::Within
        } else if (range.low..=range.high).contains(&measured_ns) {
            Verdict::InRange
        } else {
            Verdict::Outside
        };
        Some(Held {
            measured_ns,
            interval_ns: variant.combined.p50_interval_ns,
            ratio: measured_ns / range.expected,
            verdict,
            parts: parts(&prediction, variant),
            prediction,
        })
    };
    predictions.into_iter().filter_map(held).collect()
}

/// Predicted and measured parts side by side.
fn parts(prediction: &Prediction, variant: &VariantSummary) -> Vec<HeldPart> {
    let mut parts: Vec<HeldPart> = prediction
        .parts
        .iter()
        .map(|part| HeldPart {
            predicted: Some(part.clone()),
            kind: part.kind.clone(),
            measured_ns: 0.0,
            unexplained_ns: 0.0,
        })
        .collect();
    for segment in &variant.combined.segments {
        let kind = kind(segment, variant);
        match parts.iter_mut().find(|part| part.kind == kind) {
            Some(part) => part.measured_ns += segment.mean_ns,
            None => parts.push(HeldPart {
                predicted: None,
                kind,
                measured_ns: segment.mean_ns,
                unexplained_ns: 0.0,
            }),
        }
    }
    for part in &mut parts {
        let predicted = part.predicted.as_ref().map_or(0.0, |part| part.time.expected);
        part.unexplained_ns = part.measured_ns - predicted;
    }
    parts.sort_by(|a, b| b.unexplained_ns.abs().total_cmp(&a.unexplained_ns.abs()));
    parts
}

/// What a segment is spent on; between processes of one priority it counts as down, because nobody preempts.
fn kind(segment: &Segment, variant: &VariantSummary) -> PartKind {
    if segment.from == segment.to {
        return PartKind::Work(segment.from.clone());
    }
    let priority = |name: &str| {
        let asked = variant.profiles.iter().find(|profile| profile.name == name);
        asked.map_or(0, |profile| priority(&profile.asked))
    };
    if priority(&segment.to) > priority(&segment.from) { PartKind::Up } else { PartKind::Down }
}

fn priority(profile: &Profile) -> u8 {
    match profile.scheduling {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority.get(),
        Policy::Other { .. } => 0,
        Policy::Deadline { .. } => u8::MAX,
    }
}
