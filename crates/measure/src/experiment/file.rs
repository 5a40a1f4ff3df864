//! Reads and checks the text of an experiment.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::{Problem, nearest};
use hemiola_model::expression::{Expression, ExpressionError};
use hemiola_model::file::{constant_of, input};
use hemiola_model::uncertain::Distribution;
use hemiola_probe::Load;
use hemiola_quantity::{Dimension, Unit, Units};
use hemiola_scenario::document::{
    self, At, Declared, Entry, FormulaText, Named, Shape, Table, Word,
};
use hemiola_scenario::{sections, words};
use hemiola_units::{Policy, Priority, Span};

use super::{Accuracy, Case, Experiment, Origin, OwnInput, Second};
use crate::command::{Subject, Template, Written, subjects};
use crate::derive;

/// The most cases of one experiment.
const CASES_MAX: usize = 16;
const INPUTS_MAX: usize = 64;

/// The keys of an experiment's file.
pub static TABLE: &Table = ExperimentKeys::TABLE;

sections! {
    /// The whole document.
    struct ExperimentKeys<'s> = "an experiment" {
        must title: &'s str, Shape::Text, "One line.";
        must need: &'s str, Shape::Text, "Step 1: the decision that depends on the result.";
        must quantity: QuantityKeys<'s>, Shape::One(QuantityKeys::TABLE), "Step 2: the measured quantity.";
        must accuracy: AccuracyKeys<'s>, Shape::One(AccuracyKeys::TABLE),
            "Step 3: the accuracy that the decision needs.";
        must circumstances: CircumstancesKeys<'s>, Shape::One(CircumstancesKeys::TABLE),
            "Step 4A: the load and the processor of the measurement.";
        may inputs: Named<'s, InputKeys<'s>>, Shape::Named(InputKeys::TABLE, INPUTS_MAX),
            "Step 4B: inputs of the expectations besides figures of merit.";
        must set_up: SetUpKeys<'s>, Shape::One(SetUpKeys::TABLE), "Step 4C: the measurement procedure.";
        must case: Vec<CaseKeys<'s>>, Shape::Many(CaseKeys::TABLE, CASES_MAX),
            "Steps 4B and 5 to 7: a figure, its expected value, and a second method.";
    }

    /// `[quantity]`
    struct QuantityKeys<'s> = "the quantity" {
        must definition: &'s str, Shape::Text, "Start and end of the quantity, and what it includes.";
    }

    /// `[accuracy]`
    struct AccuracyKeys<'s> = "the accuracy" {
        may relative: FormulaText, Shape::Formula, "Half the interval at 95 % as a share of the value: \"10 %\".";
        may absolute: FormulaText, Shape::Formula,
            "Instead of relative: half the interval in the figure's unit: \"200 ns\".";
        must within: Span, Shape::Length, "The longest measuring time: \"60s\".";
    }

    /// `[circumstances]`
    struct CircumstancesKeys<'s> = "the circumstances" {
        must load: LoadWord, Shape::Word(LoadWord::WORDS), "The background load of the machine.";
        may cpu: u16, Shape::Whole(0, 65_535), else "the last one", "The processor.";
        may priority: u8 = 80, Shape::Whole(0, 99), "FIFO priority; 0 for an ordinary thread.";
        may peer: &'s str, Shape::Text,
            "The other host of figures of a link, where `hemiola measure link --serve` runs.";
    }

    /// `[inputs.NAME]`
    struct InputKeys<'s> = "an input" {
        may value: FormulaText, Shape::Formula, else "the middle of low and high", "The best single value.";
        may low: FormulaText, Shape::Formula, "The lower end of the range.";
        may high: FormulaText, Shape::Formula, "The upper end of the range.";
        must because: &'s str, Shape::Text, "The origin of the value and the range.";
    }

    /// `[set_up]`
    struct SetUpKeys<'s> = "the set-up" {
        must description: &'s str, Shape::Text, "The steps of the measurement, and the overhead subtracted.";
        may readings: u32 = 100, Shape::Whole(5, 100_000), "Readings in a block.";
        may blocks: u32 = 10, Shape::Whole(5, 10_000), "The fewest blocks.";
    }

    /// `[[case]]`
    struct CaseKeys<'s> = "a case" {
        must name: &'s str, Shape::Name, "The name of the case.";
        may figure: &'s str, Shape::Text, else "one of these four is required", "The measured figure of merit.";
        may command: &'s str, Shape::Text,
            "Instead: a program and its arguments, run in the experiment's folder; the quantity is its time.";
        may readings: ReadingsKeys<'s>, Shape::One(ReadingsKeys::TABLE),
            "Instead: readings that another program wrote into a file.";
        may jobs: JobsKeys<'s>, Shape::One(JobsKeys::TABLE),
            "Instead: jobs in a recording, such as the calls of a function between two marks.";
        // Not `must`: `Reader::expectation` reports its absence with a longer hint.
        may expectation: FormulaText, Shape::Formula, else "required",
            "The expected value: a formula over figures of merit and inputs.";
        must because: &'s str, Shape::Text, "The model behind the expectation, in words.";
        may second: SecondKeys<'s>, Shape::One(SecondKeys::TABLE), "Another method for the same quantity.";
    }

    /// `[case.readings]`
    struct ReadingsKeys<'s> = "the readings" {
        must file: &'s str, Shape::Text,
            "A CSV file, from the folder of the experiment. With several columns it needs a heading.";
        may column: &'s str, Shape::Text, else "the first", "The heading of the column with the readings.";
        may unit: UnitWord = UnitWord::Nanoseconds, Shape::Word(UnitWord::WORDS), "The unit of the readings.";
    }

    /// `[case.jobs]`
    struct JobsKeys<'s> = "the jobs" {
        must recording: &'s str, Shape::Text, "A recording with marks, from the folder of the experiment.";
        must task: &'s str, Shape::Text,
            "The task that the program marks; the quantity is the time from a job's release to its finish.";
    }

    /// `[case.second]`
    struct SecondKeys<'s> = "the second method" {
        must value: FormulaText, Shape::Formula, "Another figure, or a formula.";
        must near: FormulaText, Shape::Formula,
            "The largest difference between both methods that counts as agreement, as a share of the measured \
             value: \"30 %\".";
        must because: &'s str, Shape::Text, "Why both methods should agree.";
    }
}

words! {
    /// Loads of the machine.
    enum LoadWord { Idle "idle", BusyNeighbour "busy_neighbour", CachePolluter "cache_polluter" }
}

words! {
    /// Units of readings in files.
    enum UnitWord {
        Nanoseconds "ns", Microseconds "us", Milliseconds "ms", Seconds "s",
        Bytes "B", BytesPerSecond "B/s", PerSecond "1/s",
    }
}

impl UnitWord {
    /// The unit of figures, and how many of it this unit is.
    const fn base(self) -> (&'static str, f64) {
        match self {
            Self::Nanoseconds => ("ns", 1.0),
            Self::Microseconds => ("ns", 1e3),
            Self::Milliseconds => ("ns", 1e6),
            Self::Seconds => ("ns", 1e9),
            Self::Bytes => ("B", 1.0),
            Self::BytesPerSecond => ("B/s", 1.0),
            Self::PerSecond => ("1/s", 1.0),
        }
    }
}

/// The known figures by name, with their units as files write them.
pub type Known = BTreeMap<String, &'static str>;

/// Reads an experiment.
///
/// # Errors
/// All problems of the text, such as an expectation that is missing or has no range.
pub fn read(source: &str, known: &Known) -> Result<Experiment, Vec<Problem>> {
    let read = document::read(source, TABLE, |root| {
        let mut reader = Reader { known, inputs: Vec::new(), problems: Vec::new() };
        let experiment = reader.experiment(&ExperimentKeys::from_section(root));
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
    fn experiment(&mut self, root: &ExperimentKeys<'_>) -> Option<Experiment> {
        for (name, keys) in root.inputs.items() {
            self.input(name, keys);
        }
        let written = root.case.items();
        if root.case.is_array && written.is_empty() {
            let problem = Problem::new(root.case.key_at.clone(), "there is no case to measure");
            self.problems.push(problem);
        }
        self.names_differ(written);
        let cases: Vec<Option<Case>> = written.iter().map(|keys| self.case(keys)).collect();
        let accuracy = root.accuracy.get().and_then(|keys| {
            let units: Vec<_> = cases.iter().flatten().map(|case| case.unit).collect();
            self.accuracy(keys, &units)
        });
        let (circumstances, set_up) = (root.circumstances.get()?, root.set_up.get()?);
        Some(Experiment {
            title: root.title.text(),
            need: root.need.text(),
            definition: root.quantity.get()?.definition.text(),
            accuracy: accuracy?,
            within: *root.accuracy.get()?.within.get()?,
            load: match circumstances.load.get()? {
                LoadWord::Idle => Load::Idle,
                LoadWord::BusyNeighbour => Load::BusyNeighbour,
                LoadWord::CachePolluter => Load::CachePolluter,
            },
            cpu: circumstances.cpu.get().copied(),
            scheduling: match Priority::try_from(circumstances.priority.value()) {
                Ok(priority) => Policy::Fifo { priority },
                Err(_) => Policy::Other { nice: 0 },
            },
            peer: circumstances.peer.get().map(|peer| (*peer).to_owned()),
            inputs: std::mem::take(&mut self.inputs),
            set_up: set_up.description.text(),
            readings: set_up.readings.value(),
            blocks: set_up.blocks.value(),
            cases: cases.into_iter().collect::<Option<_>>()?,
        })
    }

    fn input(&mut self, name: &At<&str>, keys: &InputKeys<'_>) {
        let mut wrong = |message: String, hint: &str| {
            self.problems.push(Problem::new(name.at.clone(), message).hint(hint));
        };
        if self.known.contains_key(name.value) {
            let message = format!("`{}` is already a figure of merit", name.value);
            wrong(message, "choose another name");
        }
        match input(name.value, [&keys.value, &keys.low, &keys.high], None, Units::built_in()) {
            Ok(Some(input)) => self.inputs.push(OwnInput { because: keys.because.text(), input }),
            Ok(None) => {
                let message = format!("{} has no value", name.value);
                wrong(message, "write low and high, or an exact value");
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// Reports names that two cases have: a case of one's own is a figure under its name.
    fn names_differ(&mut self, cases: &[CaseKeys<'_>]) {
        for (index, keys) in cases.iter().enumerate() {
            let is_known = |name: &&str| cases[..index].iter().any(|c| c.name.get() == Some(name));
            if let Some(name) = keys.name.get().filter(|name| is_known(name)) {
                let message = format!("two cases are called \"{name}\"");
                self.problems.push(Problem::new(keys.name.at().clone(), message));
            }
        }
    }

    fn case(&mut self, keys: &CaseKeys<'_>) -> Option<Case> {
        let name = keys.name.text();
        let origin = self.origin(keys, &name);
        let measured = origin.as_ref().map(|(_, figure, unit)| (figure.as_str(), *unit));
        let expectation = self.expectation(keys, &name, measured);
        let second = match keys.second.get() {
            Some(second) => Some(self.second(second, measured)?),
            None => None,
        };
        let (origin, kind, unit) = origin?;
        let figure = match &origin {
            Origin::Probe => kind,
            _ => format!("{kind}.{name}"),
        };
        Some(Case {
            name,
            figure,
            origin,
            unit,
            expectation: expectation?,
            because: keys.because.text(),
            second,
        })
    }

    /// Returns the origin of a case's readings, with the figure's name or the first word of it, and the unit.
    fn origin(
        &mut self,
        keys: &CaseKeys<'_>,
        case: &str,
    ) -> Option<(Origin, String, &'static str)> {
        let CaseKeys { figure, command, readings, jobs, .. } = keys;
        let present = [figure.is_present, command.is_present, readings.is_present, jobs.is_present];
        if present.into_iter().filter(|is_present| *is_present).count() != 1 {
            const HINT: &str = "figure = \"clock.read\", or command = \"gzip --keep --force file\"";
            let message = format!(
                "the case \"{case}\" needs one of \"figure\", \"command\", \"readings\" and \"jobs\""
            );
            self.problems.push(Problem::new(keys.section.at.clone(), message).hint(HINT));
            return None;
        }
        if let Some(figure) = &figure.stated {
            return Some((Origin::Probe, figure.value.to_owned(), self.unit(figure)?));
        }
        if let Some(text) = &command.stated {
            return Some((Origin::Command(self.command(text)?), "command".into(), "ns"));
        }
        if let Some(keys) = readings.get() {
            let (unit, scale) = keys.unit.value().base();
            let column = keys.column.get().map(|column| (*column).to_owned());
            let origin = Origin::Readings { file: keys.file.text(), column, scale };
            return Some((origin, "readings".into(), unit));
        }
        let keys = jobs.get()?;
        let origin = Origin::Jobs { recording: keys.recording.text(), task: keys.task.text() };
        Some((origin, "jobs".into(), "ns"))
    }

    fn command(&mut self, text: &At<&str>) -> Option<Subject> {
        let template = Template::from(Written::Text(text.value.to_owned()));
        match subjects(&[template], &[], None) {
            Ok(subjects) => subjects.into_iter().next(),
            Err(error) => {
                let hint = "a text for a shell is written as sh -c '…'";
                self.problems.push(Problem::new(text.at.clone(), error.to_string()).hint(hint));
                None
            }
        }
    }

    /// Returns the expectation. It is required because a result can only be judged against one.
    fn expectation(
        &mut self,
        keys: &CaseKeys<'_>,
        case: &str,
        measured: Option<(&str, &'static str)>,
    ) -> Option<Expression> {
        const HINT: &str = "write down what you expect before you measure: \
                            expectation = \"n * processor.instruction\", \
                            a formula over figures of merit and inputs with low and high";
        let entry = &keys.expectation;
        let Some(written) = entry.get().filter(|formula| !formula.text.trim().is_empty()) else {
            let how = if entry.is_present { "empty" } else { "missing" };
            let message = format!("the expectation of the case \"{case}\" is {how}");
            self.problems.push(Problem::new(entry.key_at.clone(), message).hint(HINT));
            return None;
        };
        let expression = self.formula(written, measured)?;
        let ranged = |name: &str| {
            self.known.contains_key(name)
                || self.inputs.iter().any(|own| {
                    own.input.name == name && own.input.distribution != Distribution::Exact
                })
        };
        if !expression.names().any(|(name, _)| ranged(name)) {
            let message = format!("the expectation of the case \"{case}\" has no range");
            let problem = Problem::new(written.at.clone(), message).label("a single number");
            self.problems.push(problem.hint(
                "a result can only be judged against a range: use an input with low and high, or a figure of merit",
            ));
            return None;
        }
        Some(expression)
    }

    fn second(
        &mut self,
        keys: &SecondKeys<'_>,
        measured: Option<(&str, &'static str)>,
    ) -> Option<Second> {
        let expression = keys.value.get().and_then(|written| self.formula(written, measured));
        let near = self.share(&keys.near);
        Some(Second { expression: expression?, near: near?, because: keys.because.text() })
    }

    /// Parses a formula over figures and inputs. It must have the dimension of the measured figure, given by its name
    /// and its unit, and must not depend on that figure.
    fn formula(
        &mut self,
        written: &FormulaText,
        measured: Option<(&str, &'static str)>,
    ) -> Option<Expression> {
        let place = |at: Range<usize>| written.at.start + at.start..written.at.start + at.end;
        let mut refused = |error: ExpressionError| {
            self.problems.push(Problem::new(place(error.at()), error.to_string()));
        };
        let expression = Expression::parse(&written.text).map_err(&mut refused).ok()?;
        let mut dimensions: BTreeMap<&str, Dimension> =
            self.known.iter().map(|(name, unit)| (name.as_str(), dimension(unit))).collect();
        for own in &self.inputs {
            dimensions.insert(&own.input.name, own.input.nominal.dimension);
        }
        let found =
            expression.dimension(&dimensions, Units::built_in()).map_err(&mut refused).ok()?;
        let (figure, unit) = measured?;
        if let Some((name, at)) = expression.names().find(|(name, _)| derive::depends(name, figure))
        {
            let message = match name == figure {
                true => format!("the measured figure `{figure}` cannot predict itself"),
                false => format!("`{name}` is derived from `{figure}`, which it would predict"),
            };
            let problem = Problem::new(place(at), message);
            self.problems.push(problem.hint(
                "use other figures and inputs; `hemiola measure compare` compares a figure with an earlier measurement",
            ));
            return None;
        }
        let wanted = dimension(unit);
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

    fn accuracy(&mut self, keys: &AccuracyKeys<'_>, units: &[&'static str]) -> Option<Accuracy> {
        if keys.relative.is_present == keys.absolute.is_present {
            let message = "the accuracy needs either \"relative\" or \"absolute\"";
            let problem = Problem::new(keys.section.at.clone(), message);
            self.problems.push(problem.hint("relative = \"10 %\", or absolute = \"200 ns\""));
            return None;
        }
        if keys.relative.is_present {
            return self.share(&keys.relative).map(Accuracy::Relative);
        }
        let At { value: absolute, at } =
            constant_of(&keys.absolute, Units::built_in(), &mut self.problems)?;
        let unfit = units.iter().map(|unit| dimension(unit)).find(|own| *own != absolute.dimension);
        let message = match unfit {
            _ if absolute.value <= 0.0 => "the accuracy must be above 0".to_owned(),
            Some(own) => format!(
                "units do not fit: the accuracy is {}, but a figure is {own}",
                absolute.dimension
            ),
            None => return Some(Accuracy::Absolute(absolute)),
        };
        self.problems.push(Problem::new(at, message));
        None
    }

    /// A share above 0: `"10 %"`.
    fn share(&mut self, entry: &Entry<FormulaText>) -> Option<f64> {
        let At { value: share, at } = constant_of(entry, Units::built_in(), &mut self.problems)?;
        if share.dimension != Dimension::NONE || share.value <= 0.0 {
            let message = format!("\"{}\" must be a share above 0", entry.key);
            self.problems.push(Problem::new(at, message).hint("write it as \"10 %\" or 0.1"));
            return None;
        }
        Some(share.value)
    }
}

/// The dimension of a figure's unit.
pub(super) fn dimension(unit: &str) -> Dimension {
    unit.parse::<Unit>().map_or(Dimension::NONE, |unit| unit.dimension())
}
