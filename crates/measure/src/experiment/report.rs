//! The report of an experiment: its seven steps as tables, a page and JSON.

use hemiola_quantity::Quantity;
use hemiola_report::charts::{Effect, Group, Ranged, SideBySide, Tornado};
use hemiola_report::conditions::machine_conditions;
use hemiola_report::page::Figure as Drawn;
use hemiola_report::page::{Card, Page, Tone};
use hemiola_report::plot::Scale;
use hemiola_report::table::Table;
use hemiola_report::terminal;
use hemiola_report::text::{count, date, percent, ratio};
use hemiola_trace::result::Conditions;
use hemiola_units::Policy;
use serde::Serialize;

use super::outcome::{CaseOutcome, Reach, SecondOutcome};
use super::verdict::{Cause, ExpectationVerdict, Range};
use super::{Accuracy, Case, Experiment, Origin, Outcome};
use crate::activity::Meanwhile;
use crate::summary::{FORMAT, SummaryFigure};
use crate::survey::suffix;
use crate::text::{interval, value, wait};

/// An experiment with its outcome.
#[derive(Clone, Debug)]
pub struct Report {
    /// The experiment.
    pub experiment: Experiment,
    /// Its outcome.
    pub outcome: Outcome,
    /// The start of the measurement, seconds since 1970 UTC.
    pub started_unix_s: u64,
    /// The conditions of the measurement.
    pub conditions: Conditions,
    /// The work of others meanwhile.
    pub meanwhile: Meanwhile,
    /// Problems of the recordings with readings of cases, a sentence each: nobody knows what the missing part would
    /// have shown.
    pub damage: Vec<String>,
}

/// The schema of an experiment's `summary.json`.
#[derive(Serialize)]
struct JsonReport<'r> {
    format: u32,
    kind: &'static str,
    title: &'r str,
    need: &'r str,
    definition: &'r str,
    started_unix_s: u64,
    conditions: &'r Conditions,
    load: hemiola_probe::Load,
    meanwhile: &'r Meanwhile,
    cases: &'r [CaseOutcome],
    figures: Vec<SummaryFigure>,
    notes: Vec<String>,
}

impl Report {
    /// The report in the seven steps, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let conditions = self.conditions();
        terminal::document(&self.experiment.title, &self.tables(), &self.problems(), &conditions)
    }

    /// The report for other programs; `docs/reference/machine.md` documents every key.
    ///
    /// # Panics
    /// Never: all types have a JSON form.
    #[must_use]
    pub fn json(&self) -> String {
        let load = suffix(self.experiment.load);
        let figure = |figure: &hemiola_model::machine::Figure| {
            let mut figure = SummaryFigure::from(figure);
            figure.name += load;
            figure
        };
        let data = JsonReport {
            format: FORMAT,
            kind: "experiment",
            title: &self.experiment.title,
            need: &self.experiment.need,
            definition: &self.experiment.definition,
            started_unix_s: self.started_unix_s,
            conditions: &self.conditions,
            load: self.experiment.load,
            meanwhile: &self.meanwhile,
            cases: &self.outcome.cases,
            figures: self.outcome.figures.iter().map(figure).collect(),
            notes: self.notes(),
        };
        hemiola_report::json::pretty(&data)
    }

    /// The cases whose measured value is not known to be inside the expected range, and the damage of recordings, a
    /// sentence each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let is_inside = |outcome: &CaseOutcome| outcome.verdict == ExpectationVerdict::Inside;
        let others = self.pairs().filter(|(_, outcome)| !is_inside(outcome));
        let words = |(case, outcome): (&Case, &CaseOutcome)| {
            format!("{}: {}", outcome.name, verdict_words(case, outcome))
        };
        others.map(words).chain(self.damage.iter().cloned()).collect()
    }

    /// The page.
    pub fn page(&self) -> String {
        Page {
            title: self.experiment.title.clone(),
            started: date(self.started_unix_s),
            subtitle: self.conditions.command_line.clone(),
            cards: self.outcome.cases.iter().map(card).collect(),
            problems: self.problems(),
            figures: self.drawings(),
            tables: self.tables(),
            conditions: self.conditions(),
        }
        .render()
    }

    /// Warnings: disagreements of the propagation methods, a busy machine, then the notes.
    fn problems(&self) -> Vec<String> {
        let warnings = self.pairs().flat_map(|(case, outcome)| {
            let name = &case.name;
            outcome.warnings.iter().map(move |text| format!("the expectation of {name}: {text}"))
        });
        warnings.chain(self.meanwhile.disturbance()).chain(self.notes()).collect()
    }

    /// Restrictions of the results: damaged recordings, an accuracy that was not reached, a case that is not decided,
    /// then the probes' notes.
    fn notes(&self) -> Vec<String> {
        let cases = self.pairs().flat_map(|(case, outcome)| {
            let is_rough = !matches!(outcome.accuracy, Reach::Reached { .. });
            let is_undecided = matches!(outcome.verdict, ExpectationVerdict::Undecided { .. });
            let rough = is_rough.then(|| accuracy_words(case, outcome));
            let undecided = is_undecided.then(|| verdict_words(case, outcome));
            rough.into_iter().chain(undecided).map(|text| format!("{}: {text}", case.name))
        });
        self.damage.iter().cloned().chain(cases).chain(self.outcome.notes.iter().cloned()).collect()
    }

    fn conditions(&self) -> Vec<(String, String)> {
        let mut conditions = machine_conditions(&self.conditions);
        conditions.push(("Our own load".into(), self.experiment.load.to_string()));
        conditions.push(("Others meanwhile".into(), self.meanwhile.words()));
        conditions
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.steps(), self.results(), self.inputs()];
        for (case, outcome) in self.pairs() {
            tables.push(causes(case, outcome));
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn pairs(&self) -> impl Iterator<Item = (&Case, &CaseOutcome)> {
        self.experiment.cases.iter().zip(&self.outcome.cases)
    }

    /// The seven steps in words.
    fn steps(&self) -> Table {
        let experiment = &self.experiment;
        let accuracy = match experiment.accuracy {
            Accuracy::Relative(share) => format!("± {} of the value", percent(share)),
            Accuracy::Absolute(quantity) => format!("± {quantity}"),
        };
        let scheduling = match experiment.scheduling {
            Policy::Other { .. } => "an ordinary thread".into(),
            policy => format!("{policy}, if granted"),
        };
        let mut rows = vec![
            ["1 Need".to_owned(), experiment.need.clone()],
            ["2 Quantity".into(), experiment.definition.clone()],
            [
                "3 Required accuracy".into(),
                format!("{accuracy} at 95 %, in at most {}", experiment.within),
            ],
            ["4A Circumstances".into(), format!("our own load: {}; {scheduling}", experiment.load)],
        ];
        if let Some(peer) = &experiment.peer {
            rows.push(["4A Circumstances, link".into(), format!("with {peer}")]);
        }
        for (case, outcome) in self.pairs().filter(|(case, _)| case.origin != Origin::Probe) {
            let name = format!("4A Circumstances, {}", case.name);
            rows.push([name, outcome.measured.circumstances.clone()]);
        }
        for (case, outcome) in self.pairs() {
            let range = outcome.expected;
            rows.push([
                format!("4B Expectation, {}", case.name),
                format!(
                    "{} = {}, within {}: {}",
                    case.expectation.text(),
                    value(range.value, case.unit),
                    interval(range.low, range.high, case.unit),
                    case.because
                ),
            ]);
        }
        rows.push(["4C Set-up".into(), experiment.set_up.clone()]);
        for (case, outcome) in self.pairs() {
            rows.push([format!("5 Accuracy, {}", case.name), accuracy_words(case, outcome)]);
        }
        for (case, outcome) in self.pairs() {
            rows.push([format!("6 Measured, {}", case.name), verdict_words(case, outcome)]);
        }
        for (case, outcome) in self.pairs() {
            let words = match (&case.second, &outcome.second) {
                (Some(second), Some(found)) => {
                    second_words(case.unit, second.expression.text(), &second.because, found)
                }
                _ => "no second method: only the expectation supports this value".into(),
            };
            rows.push([format!("7 Sanity check, {}", case.name), words]);
        }
        let rows = rows.into_iter().map(Vec::from).collect();
        Table::new("The seven steps", ["Step", "What"], rows).with_prose(&[1])
    }

    fn results(&self) -> Table {
        let row = |(case, outcome): (&Case, &CaseOutcome)| {
            let (measured, expected) = (&outcome.measured, outcome.expected);
            let show = |number: f64| value(number, case.unit);
            vec![
                case.name.clone(),
                show(measured.range.value),
                format!("± {}", show(measured.stochastic)),
                format!("± {}", show(measured.systematic)),
                show(measured.overhead),
                interval(expected.low, expected.high, case.unit),
                match outcome.verdict {
                    ExpectationVerdict::Inside => "inside".into(),
                    ExpectationVerdict::Undecided { .. } => "undecided".into(),
                    ExpectationVerdict::Outside { factor, .. } => factor
                        .map_or("outside".into(), |factor| format!("outside, {}", ratio(factor))),
                },
                outcome.second.as_ref().map_or("–".into(), |second| show(second.range.value)),
                count(measured.samples),
            ]
        };
        Table::new(
            "Measured and expected",
            [
                "Case", "Measured", "Stochastic", "Systematic", "Subtracted", "Expected", "Verdict",
                "Second method", "Readings",
            ],
            self.pairs().map(row).collect(),
        )
        .with_note(
            "Measured: the median of all readings. Stochastic: half its 95 % interval, which shrinks with more blocks. \
             Systematic: the uncertainty of the subtracted overhead, common to all readings; it does not shrink. \
             Expected: the whole of a stated range, or the middle 95 % if more than one input varies.",
        )
    }

    fn inputs(&self) -> Table {
        let own = self.experiment.inputs.iter().map(|own| {
            let shown = |number: f64| {
                Quantity { value: number, dimension: own.input.nominal.dimension }.to_string()
            };
            let range = match own.input.distribution {
                hemiola_model::uncertain::Distribution::Uniform { low, high } => {
                    format!("{} … {}", shown(low), shown(high))
                }
                _ => "exact".into(),
            };
            vec![own.input.name.clone(), own.input.nominal.to_string(), range, own.because.clone()]
        });
        let formulas = self.experiment.cases.iter().flat_map(|case| {
            std::iter::once(&case.expectation).chain(case.second.as_ref().map(|s| &s.expression))
        });
        let named: Vec<&str> = formulas.flat_map(|f| f.names()).map(|(name, _)| name).collect();
        let used =
            self.outcome.figures.iter().filter(|figure| named.contains(&figure.name.as_str()));
        let figures = used.map(|figure| {
            vec![
                figure.name.clone(),
                value(figure.value, &figure.unit),
                interval(figure.low, figure.high, &figure.unit),
                format!("measured: {}", figure.circumstances),
            ]
        });
        Table::new(
            "Inputs of the expectations",
            ["Input", "Value", "Range", "Source"],
            own.chain(figures).collect(),
        )
        .with_prose(&[3])
    }

    fn drawings(&self) -> Vec<Drawn> {
        let mut drawings = Vec::new();
        let ranged =
            |range: Range| Ranged { value: range.value, ends: Some([range.low, range.high]) };
        for unit in ["ns", "B/s", "1/s", "B"] {
            let show = |number: f64| value(number, unit);
            let groups: Vec<Group> = self
                .pairs()
                .filter(|(case, _)| case.unit == unit)
                .map(|(case, outcome)| Group {
                    name: case.name.clone(),
                    values: vec![
                        Some(ranged(outcome.expected)),
                        Some(ranged(outcome.measured.range)),
                        outcome.second.as_ref().map(|second| ranged(second.range)),
                    ],
                })
                .collect();
            if !groups.is_empty() {
                let svg = SideBySide {
                    description: "Expected, measured and by the second method, with their intervals",
                    columns: ["expected", "measured", "second method"].map(Into::into).into(),
                    groups,
                    scale: Scale::Linear,
                    show: &show,
                };
                drawings.push(Drawn {
                    title: "Expected and measured".into(),
                    caption: "Bars with their 95 % intervals, or the whole of a stated range."
                        .into(),
                    svg: vec![svg.draw()],
                });
            }
        }
        for (case, outcome) in self.pairs() {
            let effect = |cause: &Cause| Effect {
                name: cause.input.clone(),
                at_low: cause.at_low,
                at_high: cause.at_high,
            };
            let show = |number: f64| value(number, case.unit);
            let tornado = Tornado {
                description: "How far each input moves the expectation over its range",
                nominal: outcome.expected.value,
                effects: outcome.causes.iter().map(effect).collect(),
                show: &show,
            };
            drawings.push(Drawn {
                title: format!("Sensitivity of the expectation: {}", case.name),
                caption: "Each input alone at the ends of its 95 % range.".into(),
                svg: vec![tornado.draw()],
            });
        }
        drawings
    }
}

fn card(outcome: &CaseOutcome) -> Card {
    let unit = &outcome.unit;
    let (note, tone) = match outcome.verdict {
        ExpectationVerdict::Inside => ("inside the expected range", Tone::Good),
        ExpectationVerdict::Undecided { .. } => ("undecided", Tone::Plain),
        ExpectationVerdict::Outside { .. } => ("outside the expected range", Tone::Bad),
    };
    let expected = interval(outcome.expected.low, outcome.expected.high, unit);
    let measured = value(outcome.measured.range.value, unit);
    Card::new(outcome.name.clone(), measured, format!("{note}, {expected}"), tone)
}

fn accuracy_words(case: &Case, outcome: &CaseOutcome) -> String {
    let show = |number: f64| value(number, case.unit);
    let measured = &outcome.measured;
    let parts = format!(
        "± {} stochastic ({} blocks, {} readings) and ± {} systematic, from subtracting {}",
        show(measured.stochastic),
        measured.blocks,
        count(measured.samples),
        show(measured.systematic),
        show(measured.overhead),
    );
    match outcome.accuracy {
        Reach::Reached { needed } => format!("{parts}: better than the ± {} needed", show(needed)),
        Reach::Systematic { needed } => format!(
            "{parts}. The ± {} needed cannot be reached: the systematic part alone is larger and does not shrink with \
             more readings. Improve the calibration, use a longer batch, or require less accuracy",
            show(needed)
        ),
        Reach::TimeLimit { needed, blocks, seconds } => format!(
            "{parts}. The ± {} needed was not reached in the time limit. At this noise it takes about {} blocks, and the \
             whole experiment {}: allow that under \"within\", or reduce the noise",
            show(needed),
            count(blocks),
            wait(seconds)
        ),
        Reach::TooFew { needed, readings } => format!(
            "{parts}. The ± {} needed was not reached. At this noise it takes about {} readings, or more if there are two kinds of them: \
             record more",
            show(needed),
            count(readings)
        ),
    }
}

fn verdict_words(case: &Case, outcome: &CaseOutcome) -> String {
    let measured = value(outcome.measured.range.value, case.unit);
    let expected = interval(outcome.expected.low, outcome.expected.high, case.unit);
    let side = |above: bool| if above { "above" } else { "below" };
    match outcome.verdict {
        ExpectationVerdict::Inside => format!("{measured}: inside the expected range, {expected}"),
        ExpectationVerdict::Undecided { below, above } => {
            let sides = if below && above { "below and above" } else { side(above) };
            let own = interval(outcome.measured.range.low, outcome.measured.range.high, case.unit);
            format!(
                "{measured}: undecided, its interval, {own}, reaches {sides} the expected range, {expected}"
            )
        }
        ExpectationVerdict::Outside { above, factor, factor_to_expected } => {
            let by = factor.map_or(String::new(), |factor| format!(" by {}", ratio(factor)));
            let whole = factor_to_expected.map_or(String::new(), |factor| {
                format!(
                    " ({} the {} expected)",
                    ratio(factor),
                    value(outcome.expected.value, case.unit)
                )
            });
            let cause = match outcome.causes.iter().find(|cause| cause.possible) {
                Some(cause) => format!("candidate: {}", cause_words(cause)),
                None => format!(
                    "no single input explains it within its range, so something is missing in the model{}",
                    nearest(&outcome.causes).map_or(String::new(), |cause| {
                        format!("; nearest is {}", cause_words(cause))
                    })
                ),
            };
            format!("{measured}: outside, {} {expected}{by}{whole}; {cause}", side(above))
        }
    }
}

fn second_words(unit: &str, text: &str, because: &str, second: &SecondOutcome) -> String {
    let found = value(second.range.value, unit);
    let near = percent(second.near);
    let verdict = if second.agrees {
        format!("agrees within {near}")
    } else {
        format!("disagrees: {} the measured value, more than {near} apart", ratio(second.ratio))
    };
    format!(
        "{text} gives {found} ({}): {verdict}. {because}",
        interval(second.range.low, second.range.high, unit)
    )
}

/// The cause with the factor nearest to 1.
fn nearest(causes: &[Cause]) -> Option<&Cause> {
    let distance = |cause: &&Cause| cause.factor.map_or(f64::INFINITY, |factor| factor.ln().abs());
    causes
        .iter()
        .filter(|cause| cause.factor.is_some())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn cause_words(cause: &Cause) -> String {
    match cause.factor {
        None => format!("{} alone cannot explain it", cause.input),
        Some(factor) => {
            let range = if cause.possible { "within its range" } else { "outside its range" };
            format!("{} being {} the assumed value, {range}", cause.input, ratio(factor))
        }
    }
}

/// The inputs of the expectation by contribution, each with the factor that would explain the difference.
fn causes(case: &Case, outcome: &CaseOutcome) -> Table {
    let row = |cause: &Cause| {
        vec![
            cause.input.clone(),
            value((cause.at_high - cause.at_low).abs(), case.unit),
            cause.factor.map_or("never".into(), ratio),
            if cause.possible { "yes" } else { "no" }.into(),
        ]
    };
    let Range { low, high, .. } = outcome.expected;
    let differs = !(low..=high).contains(&outcome.measured.range.value);
    let rows = if differs { outcome.causes.iter().map(row).collect() } else { Vec::new() };
    Table::new(
        format!("Candidate causes of the difference: {}", case.name),
        ["Input", "Moves the expectation by", "Would have to be", "Possible"],
        rows,
    )
    .with_note("Each alone, the others as assumed. Possible: within its stated or measured range.")
}
