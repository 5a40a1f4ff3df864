//! The sweeps of a model as comma-separated values: a figure or a cost over another figure, such as the time.

use std::fmt::Write as _;

use hemiola_report::csv::quoted;

use crate::summary::{ChainSummary, Summary, SweepCost};

const HEADS: &str = "chain,sweep,figure,value,cost,unit,mean,low,high,kept_with\n";

/// The values of all sweeps, one line for each chain, value and cost, with a heading. The cost `time` is in
/// nanoseconds, others are in their own unit, and values of the figure in base units: seconds, bytes. `low` to `high`
/// are the middle 95 %, `kept_with` is the share of samples that keep the deadline or the limit; cells of what is not
/// known are empty.
/// `None` if the model has no sweep.
#[must_use]
pub fn csv(summary: &Summary) -> Option<String> {
    let mut text = HEADS.to_owned();
    for chain in &summary.chains {
        for sweep in &chain.sweeps {
            rows(chain, sweep, &mut text);
        }
    }
    (text.len() > HEADS.len()).then_some(text)
}

fn rows(chain: &ChainSummary, sweep: &SweepCost, text: &mut String) {
    let head = [&chain.name, &sweep.title, &sweep.figure].map(|cell| quoted(cell)).join(",");
    let mut row = |value: f64,
                   cost: &str,
                   unit: &str,
                   [mean, low, high, kept]: [Option<f64>; 4]| {
        let cell = |number: Option<f64>| {
            number.filter(|number| number.is_finite()).map(|n| n.to_string()).unwrap_or_default()
        };
        let (cost, unit) = (quoted(cost), quoted(unit));
        let numbers = [mean, low, high, kept].map(cell).join(",");
        writeln!(text, "{head},{value},{cost},{unit},{numbers}").expect("a text takes all");
    };
    for step in &sweep.steps {
        if chain.takes_time() {
            let cost = &step.cost.cost;
            let kept = step.cost.deadline.as_ref().map(|margin| margin.probability.value);
            let numbers = [Some(cost.mean_ns), Some(cost.low_ns), Some(cost.high_ns), kept];
            row(step.value, "time", "ns", numbers);
        }
        for other in &step.cost.costs {
            let of = &other.expected;
            let kept = other.limit.as_ref().map(|limit| limit.probability.value);
            let numbers = [Some(of.mean), Some(of.low), Some(of.high), kept];
            row(step.value, &other.name, &other.unit, numbers);
        }
    }
}
