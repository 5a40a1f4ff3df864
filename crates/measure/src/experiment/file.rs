//! The text of an experiment: what may be written, and what it means.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::{Problem, nearest};
use hemiola_model::expression::{Expression, ExpressionError};
use hemiola_model::quantity::{Dimension, Quantity, Unit};
use hemiola_model::uncertain::{Distribution, Input};
use hemiola_probe::Load;
use hemiola_scenario::document::{self, At, Section, Shape, Table, may, must};
use hemiola_units::{Policy, Priority};

use super::{Accuracy, Case, Experiment, OwnInput, Second};
use crate::derive;

/// More are several experiments.
const CASES_MAX: usize = 16;
const INPUTS_MAX: usize = 64;

static EXPERIMENT: Table = Table {
    noun: "an experiment",
    keys: &[
        must("title", Shape::Text, "One line."),
        must("need", Shape::Text, "What is to be decided with the result."),
        must("quantity", Shape::One(&QUANTITY), "What exactly is measured."),
        must("accuracy", Shape::One(&ACCURACY), "How accurate the result must be for the need."),
        must(
            "circumstances",
            Shape::One(&CIRCUMSTANCES),
            "What else the machine does, and where it is measured.",
        ),
        may(
            "inputs",
            Shape::Named(&INPUT, INPUTS_MAX),
            "What the expectations stand on besides figures of merit.",
        ),
        must("set_up", Shape::One(&SET_UP), "How it is measured."),
        must(
            "case",
            Shape::Many(&CASE, CASES_MAX),
            "A figure, what is expected of it, and a second way to it.",
        ),
    ],
};

static QUANTITY: Table = Table {
    noun: "the quantity",
    keys: &[must("definition", Shape::Text, "From where to where, what counts and what does not.")],
};

static ACCURACY: Table = Table {
    noun: "the accuracy",
    keys: &[
        may(
            "relative",
            Shape::Formula,
            "Half the interval at 95 % as a share of the value: \"10 %\".",
        ),
        may("absolute", Shape::Formula, "Or in the figure's unit: \"200 ns\"."),
        must("within", Shape::Length, "How long measuring may take: \"60s\"."),
    ],
};

static CIRCUMSTANCES: Table = Table {
    noun: "the circumstances",
    keys: &[
        must(
            "load",
            Shape::Word(&["idle", "busy_neighbour", "cache_polluter"]),
            "What else the machine does.",
        ),
        may("cpu", Shape::Whole(0, 65_535), "The processor; the last one unless said."),
        may(
            "priority",
            Shape::Whole(0, 99),
            "Of FIFO scheduling; 0 for an ordinary thread. 80 unless said.",
        ),
    ],
};

static INPUT: Table = Table {
    noun: "an input",
    keys: &[
        may(
            "value",
            Shape::Formula,
            "The best single value; the middle of low and high unless said.",
        ),
        may("low", Shape::Formula, "The least it may be."),
        may("high", Shape::Formula, "The most."),
        must("because", Shape::Text, "Where the value and the range come from."),
    ],
};

static SET_UP: Table = Table {
    noun: "the set-up",
    keys: &[
        must("description", Shape::Text, "Who does what, and what is subtracted."),
        may("readings", Shape::Whole(5, 100_000), "Readings in a block: 100 unless said."),
        may("blocks", Shape::Whole(5, 10_000), "The fewest blocks: 10 unless said."),
    ],
};

static CASE: Table = Table {
    noun: "a case",
    keys: &[
        must("name", Shape::Name, "What it is called."),
        must("figure", Shape::Text, "The figure of merit that is measured."),
        // Not `must`: its absence deserves a sentence of its own.
        may(
            "expectation",
            Shape::Formula,
            "What is expected: a formula over figures of merit and inputs.",
        ),
        must("because", Shape::Text, "The model behind the expectation, in words."),
        may("second", Shape::One(&SECOND), "Another way to the same quantity."),
    ],
};

static SECOND: Table = Table {
    noun: "the second method",
    keys: &[
        must("value", Shape::Formula, "Another figure, or a formula."),
        must("near", Shape::Formula, "How near it must come, as a share: \"30 %\"."),
        must("because", Shape::Text, "Why it should give the same."),
    ],
};

/// The figures there are, by name, with their units as files write them.
pub type Known = BTreeMap<String, &'static str>;

/// An experiment from its text.
///
/// # Errors
/// Everything that is wrong with it, above all an expectation that is missing or has no range.
pub fn read(source: &str, known: &Known) -> Result<Experiment, Vec<Problem>> {
    let read = document::read(source, &EXPERIMENT, |root| {
        let mut reader = Reader { known, inputs: Vec::new(), problems: Vec::new() };
        let experiment = reader.experiment(root);
        (experiment, reader.problems)
    })?;
    // Whatever is missing has been complained about.
    read.ok_or_else(|| vec![Problem::new(None, "the experiment is not complete")])
}

struct Reader<'k> {
    known: &'k Known,
    inputs: Vec<OwnInput>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn experiment(&mut self, root: &Section<'_>) -> Option<Experiment> {
        for (name, section) in root.named("inputs") {
            if self.known.contains_key(name.value) {
                let message = format!("`{}` is a figure of merit already", name.value);
                self.problems
                    .push(Problem::new(name.at.clone(), message).hint("choose another name"));
            }
            if let Some(input) = self.input(&name, &section) {
                self.inputs.push(input);
            }
        }
        let sections = root.sections("case");
        if root.has("case") && root.is_array("case") && sections.is_empty() {
            self.problems.push(Problem::new(root.key_at("case"), "there is no case to measure"));
        }
        let cases: Vec<Option<Case>> = sections.iter().map(|section| self.case(section)).collect();
        let accuracy = root.section("accuracy").and_then(|section| {
            let units = cases.iter().flatten().map(|case| case.unit).collect::<Vec<_>>();
            self.accuracy(&section, &units)
        });
        let circumstances = root.section("circumstances");
        let set_up = root.section("set_up")?;
        let priority = circumstances.as_ref()?.whole("priority").map_or(80, |p| p.value);
        Some(Experiment {
            title: text(root, "title")?,
            need: text(root, "need")?,
            definition: text(&root.section("quantity")?, "definition")?,
            accuracy: accuracy?,
            within: root.section("accuracy")?.length("within")?.value,
            load: match circumstances.as_ref()?.text("load")?.value {
                "busy_neighbour" => Load::BusyNeighbour,
                "cache_polluter" => Load::CachePolluter,
                _ => Load::Idle,
            },
            cpu: circumstances.as_ref()?.whole("cpu").map(|cpu| cpu.value),
            scheduling: match Priority::try_from(priority) {
                Ok(priority) => Policy::Fifo { priority },
                Err(_) => Policy::Other { nice: 0 },
            },
            inputs: std::mem::take(&mut self.inputs),
            set_up: text(&set_up, "description")?,
            readings: set_up.whole("readings").map_or(100, |count| count.value),
            blocks: set_up.whole("blocks").map_or(10, |count| count.value),
            cases: cases.into_iter().collect::<Option<_>>()?,
        })
    }

    fn input(&mut self, name: &At<&str>, section: &Section<'_>) -> Option<OwnInput> {
        let [value, low, high] = ["value", "low", "high"].map(|key| self.quantity(section, key));
        let mut wrong = |at: Range<usize>, message: &str, hint: &str| {
            let message = format!("the input \"{}\" {message}", name.value);
            self.problems.push(Problem::new(at, message).hint(hint));
            None
        };
        let (nominal, distribution) = match (&value, low, high) {
            (_, Some(low), Some(high)) => {
                if low.value.dimension != high.value.dimension {
                    return wrong(high.at, "has ends in units that do not fit", "");
                }
                if low.value.value >= high.value.value {
                    return wrong(high.at, "ends before it begins", "low must be below high");
                }
                let middle = Quantity {
                    value: (low.value.value + high.value.value) / 2.0,
                    dimension: low.value.dimension,
                };
                let nominal = value.as_ref().map_or(middle, |value| value.value);
                let inside = (low.value.value..=high.value.value).contains(&nominal.value);
                if nominal.dimension != middle.dimension || !inside {
                    let at = value.as_ref().map_or(low.at, |value| value.at.clone());
                    return wrong(at, "has a value outside its range", "");
                }
                let (low, high) = (low.value.value, high.value.value);
                (nominal, Distribution::Uniform { low, high })
            }
            (Some(value), None, None) => (value.value, Distribution::Exact),
            (None, None, None) => {
                let has = ["value", "low", "high"].into_iter().any(|key| section.has(key));
                if !has {
                    return wrong(
                        name.at.clone(),
                        "says nothing",
                        "give low and high, or a value that is exact",
                    );
                }
                return None;
            }
            _ => {
                let hint = "give low and high, or neither where the value is exact";
                return wrong(name.at.clone(), "has one end only", hint);
            }
        };
        Some(OwnInput {
            because: text(section, "because").unwrap_or_default(),
            input: Input::exact(name.value, nominal).varying(distribution),
        })
    }

    fn case(&mut self, section: &Section<'_>) -> Option<Case> {
        let name = text(section, "name").unwrap_or_default();
        let figure = section.text("figure")?;
        let unit = self.unit(&figure);
        let expectation = self.expectation(section, &name, unit);
        let second = match section.section("second") {
            Some(second) => Some(self.second(&second, unit)?),
            None => None,
        };
        Some(Case {
            name,
            figure: figure.value.to_owned(),
            unit: unit?,
            expectation: expectation?,
            because: text(section, "because")?,
            second,
        })
    }

    /// What the paper insists on: who has no expectation cannot judge the result.
    fn expectation(
        &mut self,
        section: &Section<'_>,
        case: &str,
        unit: Option<&'static str>,
    ) -> Option<Expression> {
        const HINT: &str = "write down what you expect before you measure: \
                            expectation = \"n * processor.instruction\", \
                            a formula over figures of merit and inputs with low and high";
        let written = section.formula("expectation");
        let Some(written) = written.filter(|formula| !formula.value.trim().is_empty()) else {
            let (at, how) = match section.has("expectation") {
                true => (section.key_at("expectation"), "empty"),
                false => (section.at.clone(), "missing"),
            };
            let message = format!("the expectation of the case \"{case}\" is {how}");
            self.problems.push(Problem::new(at, message).hint(HINT));
            return None;
        };
        let expression = self.formula(&written, unit)?;
        let ranged = |name: &str| {
            self.known.contains_key(name)
                || self.inputs.iter().any(|own| {
                    own.input.name == name && own.input.distribution != Distribution::Exact
                })
        };
        if !expression.names().any(|(name, _)| ranged(name)) {
            let message = format!("the expectation of the case \"{case}\" has no range");
            let problem = Problem::new(written.at, message).label("a single number");
            self.problems.push(problem.hint(
                "without a range nobody can tell whether a result is inside it: use an input with low and high, or a \
                 figure of merit",
            ));
            return None;
        }
        Some(expression)
    }

    fn second(&mut self, section: &Section<'_>, unit: Option<&'static str>) -> Option<Second> {
        let value = section.formula("value");
        let expression = value.and_then(|written| self.formula(&written, unit));
        let near = self.share(section, "near");
        Some(Second { expression: expression?, near: near?, because: text(section, "because")? })
    }

    /// A formula over what is known, of the figure's dimension.
    fn formula(&mut self, written: &At<String>, unit: Option<&'static str>) -> Option<Expression> {
        let place = |at: Range<usize>| written.at.start + at.start..written.at.start + at.end;
        let mut refused = |error: ExpressionError| {
            self.problems.push(Problem::new(place(error.at()), error.to_string()));
        };
        let expression = Expression::parse(&written.value).map_err(&mut refused).ok()?;
        let mut dimensions: BTreeMap<&str, Dimension> =
            self.known.iter().map(|(name, unit)| (name.as_str(), dimension(unit))).collect();
        for own in &self.inputs {
            dimensions.insert(&own.input.name, own.input.nominal.dimension);
        }
        let found = expression.dimension(&dimensions).map_err(&mut refused).ok()?;
        let wanted = dimension(unit?);
        if found != wanted {
            let message =
                format!("units do not fit: the formula gives {found}, and the figure is {wanted}");
            self.problems.push(Problem::new(written.at.clone(), message));
            return None;
        }
        Some(expression)
    }

    /// The unit of a figure that is known.
    fn unit(&mut self, figure: &At<&str>) -> Option<&'static str> {
        if derive::is_derived(figure.value) {
            let message = format!(
                "`{}` is derived from others and cannot be measured by itself",
                figure.value
            );
            let hint = "measure a size of the staircase, such as memory.latency.64KiB";
            self.problems.push(Problem::new(figure.at.clone(), message).hint(hint));
            return None;
        }
        let unit = self.known.get(figure.value).copied();
        if unit.is_none() {
            let message = format!("no figure is called `{}`", figure.value.escape_debug());
            let near = nearest(figure.value, self.known.keys().map(String::as_str));
            let hint = near.map_or("docs/guide/measure.md lists the figures".into(), |near| {
                format!("did you mean `{near}`?")
            });
            self.problems.push(Problem::new(figure.at.clone(), message).hint(hint));
        }
        unit
    }

    fn accuracy(&mut self, section: &Section<'_>, units: &[&'static str]) -> Option<Accuracy> {
        match (section.has("relative"), section.has("absolute")) {
            (true, false) => Some(Accuracy::Relative(self.share(section, "relative")?)),
            (false, true) => {
                let absolute = self.quantity(section, "absolute")?;
                if absolute.value.value <= 0.0 {
                    let message = "an accuracy of nothing cannot be reached";
                    self.problems.push(Problem::new(absolute.at, message).hint("give more than 0"));
                    return None;
                }
                if let Some(unit) = units.iter().find(|u| dimension(u) != absolute.value.dimension)
                {
                    let message = format!(
                        "units do not fit: the accuracy is {}, and a figure is {}",
                        absolute.value.dimension,
                        dimension(unit)
                    );
                    self.problems.push(Problem::new(absolute.at, message));
                    return None;
                }
                Some(Accuracy::Absolute(absolute.value))
            }
            _ => {
                let message = "the accuracy needs either \"relative\" or \"absolute\"";
                let problem = Problem::new(section.at.clone(), message);
                self.problems.push(problem.hint("relative = \"10 %\", or absolute = \"200 ns\""));
                None
            }
        }
    }

    /// A share above 0: `"10 %"`.
    fn share(&mut self, section: &Section<'_>, key: &str) -> Option<f64> {
        let share = self.quantity(section, key)?;
        if share.value.dimension != Dimension::NONE || share.value.value <= 0.0 {
            let message = format!("\"{key}\" is a share above 0");
            self.problems.push(Problem::new(share.at, message).hint("as \"10 %\" or 0.1"));
            return None;
        }
        Some(share.value.value)
    }

    fn quantity(&mut self, section: &Section<'_>, key: &str) -> Option<At<Quantity>> {
        let written = section.formula(key)?;
        match written.value.parse() {
            Ok(value) => Some(At { value, at: written.at }),
            Err(error) => {
                let error: hemiola_model::quantity::QuantityError = error;
                self.problems.push(Problem::new(written.at, format!("{key}: {error}")));
                None
            }
        }
    }
}

fn text(section: &Section<'_>, key: &str) -> Option<String> {
    Some(section.text(key)?.value.to_owned())
}

/// What a unit of a figure counts.
pub(super) fn dimension(unit: &str) -> Dimension {
    unit.parse::<Unit>().map_or(Dimension::NONE, |unit| unit.dimension())
}
