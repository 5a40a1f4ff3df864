//! Reads and checks the text of an experiment.

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

/// The most cases of one experiment.
const CASES_MAX: usize = 16;
const INPUTS_MAX: usize = 64;

static EXPERIMENT: Table = Table {
    noun: "an experiment",
    keys: &[
        must("title", Shape::Text, "One line."),
        must("need", Shape::Text, "The decision that depends on the result."),
        must("quantity", Shape::One(&QUANTITY), "The measured quantity."),
        must("accuracy", Shape::One(&ACCURACY), "The accuracy that the decision needs."),
        must(
            "circumstances",
            Shape::One(&CIRCUMSTANCES),
            "The load and the processor of the measurement.",
        ),
        may(
            "inputs",
            Shape::Named(&INPUT, INPUTS_MAX),
            "Inputs of the expectations besides figures of merit.",
        ),
        must("set_up", Shape::One(&SET_UP), "The measurement procedure."),
        must(
            "case",
            Shape::Many(&CASE, CASES_MAX),
            "A figure, its expected value, and a second method.",
        ),
    ],
};

static QUANTITY: Table = Table {
    noun: "the quantity",
    keys: &[must(
        "definition",
        Shape::Text,
        "Start and end of the quantity, and what it includes.",
    )],
};

static ACCURACY: Table = Table {
    noun: "the accuracy",
    keys: &[
        may(
            "relative",
            Shape::Formula,
            "Half the interval at 95 % as a share of the value: \"10 %\".",
        ),
        may("absolute", Shape::Formula, "Half the interval in the figure's unit: \"200 ns\"."),
        must("within", Shape::Length, "The longest measuring time: \"60s\"."),
    ],
};

static CIRCUMSTANCES: Table = Table {
    noun: "the circumstances",
    keys: &[
        must(
            "load",
            Shape::Word(&["idle", "busy_neighbour", "cache_polluter"]),
            "The background load of the machine.",
        ),
        may("cpu", Shape::Whole(0, 65_535), "The processor; default the last one."),
        may(
            "priority",
            Shape::Whole(0, 99),
            "FIFO priority; 0 for an ordinary thread; default 80.",
        ),
    ],
};

static INPUT: Table = Table {
    noun: "an input",
    keys: &[
        may("value", Shape::Formula, "The best single value; default the middle of low and high."),
        may("low", Shape::Formula, "The lower end of the range."),
        may("high", Shape::Formula, "The upper end of the range."),
        must("because", Shape::Text, "The origin of the value and the range."),
    ],
};

static SET_UP: Table = Table {
    noun: "the set-up",
    keys: &[
        must(
            "description",
            Shape::Text,
            "The steps of the measurement, and the overhead subtracted.",
        ),
        may("readings", Shape::Whole(5, 100_000), "Readings in a block; default 100."),
        may("blocks", Shape::Whole(5, 10_000), "The fewest blocks; default 10."),
    ],
};

static CASE: Table = Table {
    noun: "a case",
    keys: &[
        must("name", Shape::Name, "The name of the case."),
        must("figure", Shape::Text, "The measured figure of merit."),
        // Not `must`: `Reader::expectation` reports its absence with a longer hint.
        may(
            "expectation",
            Shape::Formula,
            "The expected value: a formula over figures of merit and inputs.",
        ),
        must("because", Shape::Text, "The model behind the expectation, in words."),
        may("second", Shape::One(&SECOND), "Another method for the same quantity."),
    ],
};

static SECOND: Table = Table {
    noun: "the second method",
    keys: &[
        must("value", Shape::Formula, "Another figure, or a formula."),
        must("near", Shape::Formula, "The largest difference, as a share: \"30 %\"."),
        must("because", Shape::Text, "Why both methods should agree."),
    ],
};

/// The known figures by name, with their units as files write them.
pub type Known = BTreeMap<String, &'static str>;

/// Reads an experiment.
///
/// # Errors
/// All problems of the text, such as an expectation that is missing or has no range.
pub fn read(source: &str, known: &Known) -> Result<Experiment, Vec<Problem>> {
    let read = document::read(source, &EXPERIMENT, |root| {
        let mut reader = Reader { known, inputs: Vec::new(), problems: Vec::new() };
        let experiment = reader.experiment(root);
        (experiment, reader.problems)
    })?;
    // `Reader` or the check of the shape has reported each missing part.
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
                let message = format!("`{}` is already a figure of merit", name.value);
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
                    return wrong(high.at, "has low and high in units that do not fit", "");
                }
                if low.value.value >= high.value.value {
                    return wrong(high.at, "has an empty range", "low must be below high");
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
                        "has no value",
                        "write low and high, or an exact value",
                    );
                }
                return None;
            }
            _ => {
                let hint = "write both low and high, or neither if the value is exact";
                return wrong(name.at.clone(), "has only one end of its range", hint);
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

    /// Returns the expectation. It is required because a result can only be judged against one.
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
                "a result can only be judged against a range: use an input with low and high, or a figure of merit",
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

    /// Parses a formula over figures and inputs, of the figure's dimension.
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
                format!("units do not fit: the formula gives {found}, but the figure is {wanted}");
            self.problems.push(Problem::new(written.at.clone(), message));
            return None;
        }
        Some(expression)
    }

    /// The unit of a figure. Reports an unknown figure.
    fn unit(&mut self, figure: &At<&str>) -> Option<&'static str> {
        if derive::is_derived(figure.value) {
            let message = format!(
                "`{}` is derived from other figures and cannot be measured directly",
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
                    let message = "the accuracy must be above 0";
                    self.problems.push(Problem::new(absolute.at, message));
                    return None;
                }
                if let Some(unit) = units.iter().find(|u| dimension(u) != absolute.value.dimension)
                {
                    let message = format!(
                        "units do not fit: the accuracy is {}, but a figure is {}",
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
            let message = format!("\"{key}\" must be a share above 0");
            self.problems.push(Problem::new(share.at, message).hint("write it as \"10 %\" or 0.1"));
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

/// The dimension of a figure's unit.
pub(super) fn dimension(unit: &str) -> Dimension {
    unit.parse::<Unit>().map_or(Dimension::NONE, |unit| unit.dimension())
}
