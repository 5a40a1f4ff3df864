//! The comparison of a prediction with a measured run.

use hemiola_analyze::cycles::segments::Segment;
use hemiola_analyze::cycles::summary::{Summary, VariantSummary};
use hemiola_report::text::duration;
use hemiola_units::{Policy, Profile};
use serde::Serialize;

use super::{Part, PartKind, Prediction, Range};

/// A prediction is good if it differs by at most this share of the measured value.
pub const WITHIN: f64 = 0.3;

/// A prediction with the measured times.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedPrediction {
    /// The prediction.
    pub prediction: Prediction,
    /// The measured median cycle, ns.
    pub measured_ns: f64,
    /// The 95 % interval of the median, if there were enough cycles.
    pub interval_ns: Option<[i64; 2]>,
    /// Measured over predicted.
    pub ratio: f64,
    /// The quality of the prediction.
    pub verdict: PredictionVerdict,
    /// The parts, the largest unexplained difference first.
    pub parts: Vec<ComparedPart>,
}

/// The quality of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionVerdict {
    /// Within ± 30 % of the measured value.
    Within,
    /// Further off, but the measured value is in the predicted range.
    InRange,
    /// Further off, and outside the range.
    Outside,
}

/// One part of a cycle, predicted and measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedPart {
    /// The prediction; `None` if the part was measured but not predicted.
    pub predicted: Option<Part>,
    /// The kind of time.
    pub kind: PartKind,
    /// Its mean in a cycle, ns; 0 if it was predicted but never measured.
    pub measured_ns: f64,
    /// Measured minus predicted, ns.
    pub unexplained_ns: f64,
}

/// Compares each prediction with the program of the same name in `summary`. Programs without a measured cycle are
/// left out.
#[must_use]
pub fn compare(predictions: Vec<Prediction>, summary: &Summary) -> Vec<ComparedPrediction> {
    let compared = |prediction: Prediction| {
        let variant = summary.variants.iter().find(|variant| variant.name == prediction.variant)?;
        let cycle = variant.combined.cycle_ns?;
        let measured_ns = cycle.spread.p50 as f64;
        let range = prediction.cycle;
        let verdict = if (range.expected - measured_ns).abs() <= WITHIN * measured_ns {
            PredictionVerdict::Within
        } else if (range.low..=range.high).contains(&measured_ns) {
            PredictionVerdict::InRange
        } else {
            PredictionVerdict::Outside
        };
        Some(ComparedPrediction {
            measured_ns,
            interval_ns: variant.combined.p50_interval_ns,
            ratio: measured_ns / range.expected,
            verdict,
            parts: parts(&prediction, variant),
            prediction,
        })
    };
    predictions.into_iter().filter_map(compared).collect()
}

/// The programs whose measured cycle is outside the prediction, a sentence each.
#[must_use]
pub fn failures(compared: &[ComparedPrediction]) -> Vec<String> {
    let outside = compared.iter().filter(|one| one.verdict == PredictionVerdict::Outside);
    outside
        .map(|one| {
            let Range { low, high, .. } = one.prediction.cycle;
            format!(
                "{}: the measured cycle of {} is outside the predicted {} … {}",
                one.prediction.variant,
                duration(one.measured_ns),
                duration(low),
                duration(high)
            )
        })
        .collect()
}

/// Predicted and measured parts side by side.
fn parts(prediction: &Prediction, variant: &VariantSummary) -> Vec<ComparedPart> {
    let mut parts: Vec<ComparedPart> = prediction
        .parts
        .iter()
        .map(|part| ComparedPart {
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
            None => parts.push(ComparedPart {
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

/// The kind of a segment. Between processes of equal priority it counts as down, because neither preempts.
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
