//! A world as it starts: a universe in texts, populations and monitors.
//!
//! Populations and monitors are short texts, those of a command line or a scenario:
//!
//! ```text
//! population   ELEMENT:COUNT:PROPERTY=VALUE:PROPERTY=LOW..HIGH
//! monitor      ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)
//! ```
//!
//! Their values are expressions of the language, which its checker evaluates.

use std::fmt;

use hemiola_units::Random;
use hemiola_world_lang::definition::{Definition, ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::{Problem, Sources, TooLong, check};
use thiserror::Error;

use crate::monitor::{Interest, MonitorId};
use crate::world::{Change, ENTITIES_MAX, Refused, World, WorldError};

/// Why a world cannot start.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The texts are no definition, or values of populations and monitors are no expressions of the right type.
    #[error("{}", first(problems, sources))]
    Problems {
        /// At least one.
        problems: Vec<Problem>,
        /// The texts that they stand in.
        sources: Sources,
    },
    /// A world has one universe.
    #[error("the texts define {0} universes; name the texts of one universe")]
    Universes(usize),
    /// The universe cannot run.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The text of a population or a monitor is wrong.
    #[error("{part} '{text}': {reason}; the form is {}", part.form())]
    Text {
        /// What the text is.
        part: SetupPart,
        /// The text.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The texts, with the values of populations and monitors, are too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The world refuses an entity or a monitor.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// What a text of a [`Setup`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupPart {
    /// Entities that are created.
    Population,
    /// A monitor.
    Monitor,
}

impl SetupPart {
    /// The form of such a text, with an example.
    #[must_use]
    pub const fn form(self) -> &'static str {
        match self {
            Self::Population => {
                "ELEMENT:COUNT:PROPERTY=LOW..HIGH, such as 'bird:1000:position=[0,0]..[1<km>,1<km>]'"
            }
            Self::Monitor => {
                "ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS), such as 'bird:position:near([0,0], [1<km>,1<km>])'"
            }
        }
    }

    fn wrong(self, text: &str, reason: String) -> SetupError {
        SetupError::Text { part: self, text: text.to_owned(), reason }
    }
}

impl fmt::Display for SetupPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Population => "population",
            Self::Monitor => "monitor",
        })
    }
}

/// The first problem in one line, with its place, and how many others there are.
fn first(problems: &[Problem], sources: &Sources) -> String {
    let Some(problem) = problems.first() else { return "the texts have problems".to_owned() };
    let (file, _) = sources.locate(problem.span());
    let start = sources.positions(problem.span()).start;
    let (line, column) = (start.line + 1, start.character + 1);
    let others = match problems.len() {
        1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    format!("{}:{line}:{column}: {}{others}", file.name, problem.message)
}

/// A checked world with its monitors, and the populations that it starts with.
#[derive(Debug)]
pub struct Setup {
    world: World,
    populations: Vec<Population>,
}

impl Setup {
    /// Reads the texts of one universe, and those of populations and monitors. The monitors get the numbers from 0 in
    /// their order.
    ///
    /// # Errors
    /// If a text is wrong; see [`SetupError`].
    pub fn read(
        sources: &Sources,
        populations: &[String],
        monitors: &[String],
    ) -> Result<Self, SetupError> {
        let universe = universe(sources)?;
        let mut world = World::new(universe)?;
        let populations = read_populations(sources, world.universe(), populations)?;
        for (id, interest) in
            (0..).map(MonitorId).zip(interests(sources, world.universe(), monitors)?)
        {
            world.submit(Change::Register(id, interest))?;
        }
        Ok(Self { world, populations })
    }

    /// The world with its populations. Random values are drawn with the generator of this seed.
    ///
    /// # Errors
    /// If there would be too many entities.
    pub fn start(self, seed: u64) -> Result<World, SetupError> {
        let Self { mut world, populations } = self;
        let mut random = Random::from_seed(seed);
        for population in populations {
            population.submit(&mut world, &mut random)?;
        }
        world.apply(&mut |_| {});
        Ok(world)
    }
}

fn universe(sources: &Sources) -> Result<Universe, SetupError> {
    let definition = checked(sources)?;
    let universes = <[Universe; 1]>::try_from(definition.universes);
    let [universe] = universes.map_err(|universes| SetupError::Universes(universes.len()))?;
    Ok(universe)
}

fn checked(sources: &Sources) -> Result<Definition, SetupError> {
    check(sources, None)
        .map_err(|problems| SetupError::Problems { problems, sources: sources.clone() })
}

/// Expressions that the checker of the language evaluates, each with the type that it must have.
#[derive(Default)]
struct Expressions(Vec<(String, String)>);

impl Expressions {
    /// Adds one and returns its number.
    fn add(&mut self, universe: &Universe, ty: &Type, text: &str) -> usize {
        self.0.push((universe.type_text(ty), text.trim().to_owned()));
        self.0.len() - 1
    }

    /// Their values. The checker sees them as constants of the universe, so they may name its constants and need units.
    fn values(&self, sources: &Sources, universe: &Universe) -> Result<Vec<Value>, SetupError> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let name = |at: usize| format!("value_of_setup_{at}");
        let constants = self.0.iter().enumerate();
        let lines: String = constants
            .map(|(at, (ty, text))| format!("constant {} : {ty} = {text};\n", name(at)))
            .collect();
        let mut all = sources.clone();
        let text = format!("universe {} {{\n{lines}}}\n", universe.name);
        all.add("populations and monitors", text)?;
        let definition = checked(&all)?;
        let constants = &definition.universes[0].constants;
        let value = |at: usize| constants.iter().find(|constant| constant.name == name(at));
        Ok((0..self.0.len()).filter_map(|at| Some(value(at)?.value.clone())).collect())
    }
}

/// `ELEMENT:COUNT:PROPERTY=VALUE:PROPERTY=LOW..HIGH…`
#[derive(Debug)]
struct Population {
    element: ElementId,
    count: usize,
    /// The properties that it states, with the least and the greatest value.
    ranges: Vec<(usize, Value, Value)>,
}

impl Population {
    fn submit(&self, world: &mut World, random: &mut Random) -> Result<(), Refused> {
        let properties = &world.universe().elements[self.element.index()].properties;
        let defaults: Vec<Value> =
            properties.iter().map(|property| property.default.clone()).collect();
        for _ in 0..self.count {
            let mut row = defaults.clone();
            for (property, low, high) in &self.ranges {
                row[*property] = between(low, high, random);
            }
            world.submit(Change::Construct(self.element, Value::Row(row)))?;
        }
        Ok(())
    }
}

fn read_populations(
    sources: &Sources,
    universe: &Universe,
    texts: &[String],
) -> Result<Vec<Population>, SetupError> {
    let mut expressions = Expressions::default();
    let written = texts.iter().map(|text| population(universe, text, &mut expressions));
    let written = written.collect::<Result<Vec<_>, _>>()?;
    let values = expressions.values(sources, universe)?;
    let read = |written: Written| Population {
        element: written.element,
        count: written.count,
        ranges: written
            .ranges
            .into_iter()
            .map(|(property, low, high)| (property, values[low].clone(), values[high].clone()))
            .collect(),
    };
    Ok(written.into_iter().map(read).collect())
}

/// A population whose values are numbers of expressions.
struct Written {
    element: ElementId,
    count: usize,
    ranges: Vec<(usize, usize, usize)>,
}

fn population(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<Written, SetupError> {
    let wrong = |reason: String| SetupPart::Population.wrong(text, reason);
    let mut parts = text.split(':');
    let element = element(universe, parts.next().unwrap_or_default()).map_err(wrong)?;
    let count = parts.next().unwrap_or_default().trim();
    let counted = count.parse().ok().filter(|count| (1..=ENTITIES_MAX).contains(count));
    let count = counted.ok_or_else(|| {
        wrong(format!("\"{count}\" is not a number of entities from 1 to {ENTITIES_MAX}"))
    })?;
    let mut ranges = Vec::new();
    for part in parts {
        let Some((name, range)) = part.split_once('=') else {
            return Err(wrong(format!("\"{part}\" is not PROPERTY=VALUE or PROPERTY=LOW..HIGH")));
        };
        let at = property(universe, element, name).map_err(wrong)?;
        let ty = &universe.elements[element.index()].properties[at].ty;
        let (low, high) = match range.split_once("..") {
            Some(_) if !has_range(ty) => {
                let ty = universe.type_text(ty);
                return Err(wrong(format!("`{ty}` has no range; write one value")));
            }
            Some((low, high)) => {
                (expressions.add(universe, ty, low), expressions.add(universe, ty, high))
            }
            None => {
                let value = expressions.add(universe, ty, range);
                (value, value)
            }
        };
        ranges.push((at, low, high));
    }
    Ok(Written { element, count, ranges })
}

fn has_range(ty: &Type) -> bool {
    match ty {
        Type::Integer | Type::Real(..) => true,
        Type::Array(of, _) => has_range(of),
        _ => false,
    }
}

/// A random value, item by item; equal bounds give that value.
fn between(low: &Value, high: &Value, random: &mut Random) -> Value {
    match (low, high) {
        (Value::Integer(low), Value::Integer(high)) => {
            let (low, high) = (i64::from(*low.min(high)), i64::from(*low.max(high)));
            Value::Integer((low + random.below((high - low + 1) as u64) as i64) as i32)
        }
        (Value::Single(low), Value::Single(high)) => {
            Value::Single(random.between(f64::from(*low), f64::from(*high)) as f32)
        }
        (Value::Double(low), Value::Double(high)) => Value::Double(random.between(*low, *high)),
        (Value::Items(low), Value::Items(high)) => Value::Items(
            low.iter().zip(high).map(|(low, high)| between(low, high, random)).collect(),
        ),
        (value, _) => value.clone(),
    }
}

/// The interests of monitors, each `ELEMENT`, `ELEMENT:PROPERTIES` or `ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)`.
fn interests(
    sources: &Sources,
    universe: &Universe,
    texts: &[String],
) -> Result<Vec<Interest>, SetupError> {
    let mut expressions = Expressions::default();
    let parsed = texts.iter().map(|text| interest(universe, text, &mut expressions));
    let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
    let mut values = expressions.values(sources, universe)?.into_iter();
    let mut complete = |(mut interest, arguments): (Interest, usize)| {
        if let Some((_, constraint)) = &mut interest.constraint {
            constraint.extend(values.by_ref().take(arguments));
        }
        interest
    };
    Ok(parsed.into_iter().map(&mut complete).collect())
}

/// An interest whose arguments are still missing, and how many of the expressions are its arguments.
fn interest(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<(Interest, usize), SetupError> {
    let wrong = |reason: String| SetupPart::Monitor.wrong(text, reason);
    let mut parts = text.splitn(3, ':');
    let element = element(universe, parts.next().unwrap_or_default()).map_err(wrong)?;
    let all = 0..universe.elements[element.index()].properties.len();
    let chosen = match parts.next().map(str::trim) {
        None | Some("") => Ok(all.collect()),
        Some(names) => names.split(',').map(|name| property(universe, element, name)).collect(),
    };
    let chosen: Vec<usize> = chosen.map_err(wrong)?;
    let properties = chosen.into_iter().map(|at| at as u32).collect();
    let Some(call) = parts.next() else {
        return Ok((Interest { element, properties, constraint: None }, 0));
    };
    let (constraint, arguments) = constraint(universe, element, call).map_err(wrong)?;
    let function = &universe.functions[constraint.index()];
    let parameters = &function.locals[..function.parameter_count as usize];
    if parameters.len() != arguments.len() {
        let names: Vec<String> = parameters
            .iter()
            .map(|parameter| format!("{} : {}", parameter.name, universe.type_text(&parameter.ty)))
            .collect();
        return Err(wrong(format!(
            "`{}` has {} arguments, not {}: {}",
            function.name,
            parameters.len(),
            arguments.len(),
            names.join(", ")
        )));
    }
    for (parameter, argument) in parameters.iter().zip(&arguments) {
        expressions.add(universe, &parameter.ty, argument);
    }
    let constraint = Some((constraint, Vec::new()));
    Ok((Interest { element, properties, constraint }, arguments.len()))
}

/// The constraint and the texts of its arguments.
fn constraint<'t>(
    universe: &Universe,
    element: ElementId,
    call: &'t str,
) -> Result<(FunctionId, Vec<&'t str>), String> {
    let call = call.trim();
    let split = call.strip_suffix(')').and_then(|call| call.split_once('('));
    let Some((name, arguments)) = split else {
        return Err(format!("\"{call}\" is not CONSTRAINT(ARGUMENTS)"));
    };
    let data = &universe.elements[element.index()];
    let named = |id: &&FunctionId| {
        let full = &universe.functions[id.index()].name;
        full.rsplit('.').next() == Some(name.trim())
    };
    let id = data.constraints.iter().find(named);
    let id = id.ok_or_else(|| format!("`{}` has no constraint `{}`", data.name, name.trim()))?;
    Ok((*id, items(arguments)))
}

/// The parts of a text between commas that are in no bracket and in no string.
fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut items) = (0, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        items.push(&text[start..]);
    }
    items
}

fn element(universe: &Universe, name: &str) -> Result<ElementId, String> {
    let found = universe.element_named(name.trim());
    found.ok_or_else(|| format!("no element is named `{}`", name.trim()))
}

fn property(universe: &Universe, element: ElementId, name: &str) -> Result<usize, String> {
    let data = &universe.elements[element.index()];
    let found = data.properties.iter().position(|property| property.name == name.trim());
    found.ok_or_else(|| format!("`{}` has no property `{}`", data.name, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_at_commas_outside_of_brackets_and_strings() {
        assert_eq!(items("[1, 2], max(3, 4), \"a, (b\""), ["[1, 2]", " max(3, 4)", " \"a, (b\""]);
        assert_eq!(items("1"), ["1"]);
        assert_eq!(items(" "), [""; 0]);
    }

    #[test]
    fn random_values_lie_in_their_range() {
        let mut random = Random::from_seed(1);
        let (low, high) = (Value::Integer(2), Value::Integer(-1));
        let drawn: std::collections::BTreeSet<i32> = (0..100)
            .map(|_| match between(&low, &high, &mut random) {
                Value::Integer(number) => number,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
        let one = Value::Items(vec![Value::Double(3.5)]);
        assert_eq!(between(&one, &one, &mut random), one);
    }
}
