//! A world as it starts: a universe in texts, populations, monitors, births and deaths.
//!
//! Populations and the others are short texts, those of a command line or a scenario:
//!
//! ```text
//! population   ELEMENT:COUNT:PROPERTY=VALUE:PROPERTY=LOW..HIGH
//! monitor      ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)
//! birth        ELEMENT:CONSTRAINT(ARGUMENTS):PROPERTY=LOW..HIGH:PROPERTY+=LOW..HIGH
//! death        ELEMENT:CONSTRAINT(ARGUMENTS)
//! ```
//!
//! Their values are expressions of the language, which its checker evaluates.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use hemiola_units::Random;
use hemiola_world_lang::definition::{Definition, ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::{Problem, Sources, TooLong, check, value_text};
use thiserror::Error;

use crate::birth::{Draw, Effect, between, has_sum};
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
    /// The text and the populations have more entities than the universe may have.
    #[error(
        "its text and its populations have {count} entities, but it may have {at_most}; populate fewer, or allow \
         more with entities_max"
    )]
    TooMany {
        /// How many they have.
        count: u64,
        /// How many there may be.
        at_most: usize,
    },
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
    /// Births.
    Birth,
    /// Deaths.
    Death,
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
            Self::Birth => {
                "ELEMENT:CONSTRAINT(ARGUMENTS):PROPERTY=LOW..HIGH:PROPERTY+=LOW..HIGH, such as \
                 'sheep:grown(60<s>):age=0<s>'"
            }
            Self::Death => "ELEMENT:CONSTRAINT(ARGUMENTS), such as 'wolf:starved()'",
        }
    }

    fn wrong(self, text: &str, reason: String) -> SetupError {
        SetupError::Text { part: self, text: abridged(text), reason }
    }
}

impl fmt::Display for SetupPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Population => "population",
            Self::Monitor => "monitor",
            Self::Birth => "birth",
            Self::Death => "death",
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

/// The short texts of a world as it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetupTexts<'t> {
    /// Populations.
    pub populate: &'t [String],
    /// Monitors.
    pub monitor: &'t [String],
    /// Births.
    pub birth: &'t [String],
    /// Deaths.
    pub death: &'t [String],
}

impl SetupTexts<'_> {
    /// The names of the monitors of [`Setup::read`], in the order of their numbers: births and deaths are monitors with
    /// an [`Effect`].
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let births = self.birth.iter().map(|text| format!("birth {text}"));
        let deaths = self.death.iter().map(|text| format!("death {text}"));
        self.monitor.iter().cloned().chain(births).chain(deaths).collect()
    }
}

/// A checked world with its monitors, and the populations that it starts with.
#[derive(Debug)]
pub struct Setup {
    world: World,
    populations: Vec<Population>,
}

impl Setup {
    /// The universe.
    #[must_use]
    pub fn universe(&self) -> &Universe {
        self.world.universe()
    }

    /// Reads the texts of one universe, and the short texts. Monitors, births and deaths get the numbers from 0 in this
    /// order.
    ///
    /// # Errors
    /// If a text is wrong; see [`SetupError`].
    pub fn read(sources: &Sources, texts: &SetupTexts<'_>) -> Result<Self, SetupError> {
        let universe = universe(sources)?;
        let mut world = World::new(universe)?;
        let populations = read_populations(sources, world.universe(), texts.populate)?;
        let interests = interests(sources, world.universe(), texts)?;
        for (id, interest) in (0..).map(MonitorId).zip(interests) {
            world.submit(Change::Register(id, interest))?;
        }
        Ok(Self { world, populations })
    }

    /// Checks that the universe starts with at most `entities_max` entities.
    ///
    /// # Errors
    /// If there would be more.
    pub fn fits(&self, entities_max: usize) -> Result<(), SetupError> {
        let populated = self.populations.iter().map(|population| population.count as u64);
        let count = self.world.entities_to_come as u64 + populated.sum::<u64>();
        if count > entities_max as u64 {
            return Err(SetupError::TooMany { count, at_most: entities_max });
        }
        Ok(())
    }

    /// The world with its populations. Random values are drawn with the generator of this seed. Births happen up to
    /// `entities_max` entities.
    ///
    /// # Errors
    /// If there would be too many entities.
    pub fn start(self, seed: u64, entities_max: usize) -> Result<World, SetupError> {
        self.fits(entities_max)?;
        let Self { world, populations } = self;
        let mut world = world.with_births(seed, entities_max);
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

/// Expressions that the checker of the language evaluates.
#[derive(Default)]
struct Expressions {
    all: Vec<Expression>,
    /// The short texts that they stand in.
    texts: Vec<(SetupPart, String)>,
}

struct Expression {
    /// The type that it must have.
    ty: String,
    text: String,
    /// The short text that it stands in.
    of: usize,
}

impl Expressions {
    /// The expressions added from now on stand in this text.
    fn begin(&mut self, part: SetupPart, text: &str) {
        self.texts.push((part, text.to_owned()));
    }

    /// Adds one and returns its number.
    fn add(&mut self, universe: &Universe, ty: &Type, text: &str) -> usize {
        let (ty, text) = (universe.type_text(ty), text.trim().to_owned());
        self.all.push(Expression { ty, text, of: self.texts.len().saturating_sub(1) });
        self.all.len() - 1
    }

    /// A part of a universe with these lines and each expression as a constant, and where the constants end in it.
    fn written(&self, universe: &Universe, lines: &str) -> (String, Vec<usize>) {
        let mut text = format!("universe {} {{\n{lines}", universe.name);
        let mut ends = Vec::with_capacity(self.all.len());
        for (at, Expression { ty, text: value, .. }) in self.all.iter().enumerate() {
            text += &format!("constant {} : {ty} = {value};\n", name(at));
            ends.push(text.len());
        }
        (text + "}\n", ends)
    }

    /// The error of the short text whose expression is wrong, in place of one about the text of [`Self::written`].
    fn attributed(&self, error: SetupError, ends: &[usize]) -> SetupError {
        let SetupError::Problems { problems, sources } = &error else { return error };
        let Some(problem) = problems.first() else { return error };
        let (file, bytes) = sources.locate(problem.span());
        if file.name != WRITTEN || self.all.is_empty() {
            return error;
        }
        let at = ends.partition_point(|end| *end <= bytes.start).min(self.all.len() - 1);
        let Expression { text: value, of, .. } = &self.all[at];
        let (part, text) = &self.texts[*of];
        let message = problem.message.replace(&format!("`{}`", name(at)), "it");
        let value = abridged(value);
        let reason = match problem.hint.as_str() {
            // The text around it ends each value so.
            _ if message.contains("`;`") => format!("`{value}` is not one value"),
            "" => format!("the value `{value}`: {message}"),
            hint => format!("the value `{value}`: {message}; {hint}"),
        };
        part.wrong(text, reason)
    }

    /// Their values. The checker sees them as constants of the universe, so they may name its constants and need units.
    fn values(&self, sources: &Sources, universe: &Universe) -> Result<Vec<Value>, SetupError> {
        if self.all.is_empty() {
            return Ok(Vec::new());
        }
        let (text, ends) = self.written(universe, "");
        let mut all = sources.clone();
        all.add(WRITTEN, text)?;
        self.found(&checked(&all).map_err(|error| self.attributed(error, &ends))?)
    }

    /// Their values in a universe that runs, whose texts are not at hand: they may name its constants, but not those
    /// of its elements.
    fn values_in(&self, universe: &Universe) -> Result<Vec<Value>, SetupError> {
        if self.all.is_empty() {
            return Ok(Vec::new());
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = self.all.iter().flat_map(|one| one.text.split(|c| !is_word(c)));
        let words: BTreeSet<&str> = words.by_ref().collect();
        let named = universe.constants.iter().filter(|one| words.contains(&*one.name));
        let named = named.map(|one| (&one.name, &one.ty, literal(universe, &one.ty, &one.value)));
        let lines: String = named
            .map(|(name, ty, value)| {
                format!("constant {name} : {} = {value};\n", universe.type_text(ty))
            })
            .collect();
        let (text, ends) = self.written(universe, &lines);
        let definition = checked(&Sources::of(WRITTEN, text)?);
        self.found(&definition.map_err(|error| self.attributed(error, &ends))?)
    }

    /// Their values among the constants of the one universe of a definition.
    fn found(&self, definition: &Definition) -> Result<Vec<Value>, SetupError> {
        // A text with a brace too many can begin another universe.
        let [universe] = &definition.universes[..] else {
            let is_meant = |one: &&Expression| one.text.contains('}');
            let of = self.all.iter().find(is_meant).map_or(0, |one| one.of);
            let (part, text) = &self.texts[of];
            return Err(part.wrong(text, "its braces are no part of a value".to_owned()));
        };
        let value = |at: usize| universe.constants.iter().find(|one| one.name == name(at));
        Ok((0..self.all.len()).filter_map(|at| Some(value(at)?.value.clone())).collect())
    }
}

/// The name of the text that has the expressions as constants.
const WRITTEN: &str = "populations and monitors";

/// The beginning of a long text.
fn abridged(text: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let end = text.floor_char_boundary(SHOWN_MAX);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// The name of the constant of an expression.
fn name(at: usize) -> String {
    format!("value_of_setup_{at}")
}

/// A value as the language writes it, with units.
fn literal(universe: &Universe, ty: &Type, value: &Value) -> String {
    match (ty, value) {
        (Type::Real(..), value) => {
            let ty = universe.type_text(ty);
            format!("{}{}", value_text(value), ty.find('<').map_or("", |at| &ty[at..]))
        }
        (Type::Array(of, _) | Type::List(of, _), Value::Items(items)) => {
            let items: Vec<String> = items.iter().map(|item| literal(universe, of, item)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => value_text(value),
    }
}

/// The interest of a monitor in a universe that runs, from its text.
pub(crate) fn interest_of(universe: &Universe, text: &str) -> Result<Interest, SetupError> {
    let mut expressions = Expressions::default();
    expressions.begin(SetupPart::Monitor, text);
    let written = monitor(universe, text, &mut expressions);
    let written = written.map_err(|reason| SetupPart::Monitor.wrong(text, reason))?;
    Ok(written.interest(&expressions.values_in(universe)?))
}

/// `ELEMENT:COUNT:PROPERTY=VALUE:PROPERTY=LOW..HIGH…`
#[derive(Debug)]
struct Population {
    element: ElementId,
    count: usize,
    /// The properties that it states.
    ranges: Vec<(usize, Draw)>,
}

impl Population {
    fn submit(&self, world: &mut World, random: &mut Random) -> Result<(), Refused> {
        let properties = &world.universe().elements[self.element.index()].properties;
        let defaults: Vec<Value> =
            properties.iter().map(|property| property.default.clone()).collect();
        for _ in 0..self.count {
            let mut row = defaults.clone();
            for (property, draw) in &self.ranges {
                row[*property] = between(&draw.low, &draw.high, random);
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
        ranges: written.ranges.iter().map(|range| (range.property, range.draw(&values))).collect(),
    };
    Ok(written.into_iter().map(read).collect())
}

/// A population whose values are numbers of expressions.
struct Written {
    element: ElementId,
    count: usize,
    ranges: Vec<WrittenRange>,
}

/// A range of a property whose bounds are numbers of expressions.
struct WrittenRange {
    property: usize,
    low: usize,
    high: usize,
    is_added: bool,
}

impl WrittenRange {
    fn draw(&self, values: &[Value]) -> Draw {
        let (low, high) = (values[self.low].clone(), values[self.high].clone());
        Draw { low, high, is_added: self.is_added }
    }
}

fn population(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<Written, SetupError> {
    let wrong = |reason: String| SetupPart::Population.wrong(text, reason);
    expressions.begin(SetupPart::Population, text);
    let mut parts = items(text, ':').into_iter();
    let element = element(universe, parts.next().unwrap_or_default()).map_err(wrong)?;
    let count = parts.next().unwrap_or_default().trim();
    let counted = count.parse().ok().filter(|count| (1..=ENTITIES_MAX).contains(count));
    let count = counted.ok_or_else(|| {
        wrong(format!("\"{count}\" is not a number of entities from 1 to {ENTITIES_MAX}"))
    })?;
    let mut ranges = Vec::new();
    for part in parts {
        let range = range(universe, element, part, expressions).map_err(wrong)?;
        if range.is_added {
            return Err(wrong(format!("\"{part}\": only births have `+=`")));
        }
        ranges.push(range);
    }
    Ok(Written { element, count, ranges })
}

/// `PROPERTY=VALUE`, `PROPERTY=LOW..HIGH`, or one of them with `+=`
fn range(
    universe: &Universe,
    element: ElementId,
    part: &str,
    expressions: &mut Expressions,
) -> Result<WrittenRange, String> {
    let Some((name, range)) = part.split_once('=') else {
        return Err(format!("\"{part}\" is not PROPERTY=VALUE or PROPERTY=LOW..HIGH"));
    };
    let (name, is_added) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    let at = property(universe, element, name)?;
    let ty = &universe.elements[element.index()].properties[at].ty;
    let refused = |what: &str| Err(format!("`{}` {what}", universe.type_text(ty)));
    if is_added && !has_sum(ty) {
        return refused("cannot be added; `+=` is for reals and arrays of them");
    }
    let (low, high) = match range.split_once("..") {
        Some(_) if !has_range(ty) => return refused("has no range; write one value"),
        Some((low, high)) => {
            (expressions.add(universe, ty, low), expressions.add(universe, ty, high))
        }
        None => {
            let value = expressions.add(universe, ty, range);
            (value, value)
        }
    };
    Ok(WrittenRange { property: at, low, high, is_added })
}

fn has_range(ty: &Type) -> bool {
    match ty {
        Type::Integer | Type::Real(..) => true,
        Type::Array(of, _) => has_range(of),
        _ => false,
    }
}

/// The interests of monitors, births and deaths, in this order.
fn interests(
    sources: &Sources,
    universe: &Universe,
    texts: &SetupTexts<'_>,
) -> Result<Vec<Interest>, SetupError> {
    let mut expressions = Expressions::default();
    let mut written = Vec::new();
    let parts = [
        (SetupPart::Monitor, texts.monitor),
        (SetupPart::Birth, texts.birth),
        (SetupPart::Death, texts.death),
    ];
    for (part, text) in parts.iter().flat_map(|(part, texts)| texts.iter().map(|one| (*part, one)))
    {
        expressions.begin(part, text);
        let interest = match part {
            SetupPart::Monitor => monitor(universe, text, &mut expressions),
            _ => rule(universe, part, text, &mut expressions),
        };
        written.push(interest.map_err(|reason| part.wrong(text, reason))?);
    }
    let values = expressions.values(sources, universe)?;
    Ok(written.into_iter().map(|written| written.interest(&values)).collect())
}

/// An interest whose values are numbers of expressions.
struct WrittenInterest {
    element: ElementId,
    properties: Vec<u32>,
    call: Option<Call>,
    effect: WrittenEffect,
}

enum WrittenEffect {
    None,
    Birth(Vec<WrittenRange>),
    Death,
}

/// A constraint, and the numbers of its arguments.
struct Call {
    constraint: FunctionId,
    arguments: Range<usize>,
}

impl WrittenInterest {
    fn interest(self, values: &[Value]) -> Interest {
        let Self { element, properties, call, effect } = self;
        let effect = match effect {
            WrittenEffect::None => Effect::None,
            WrittenEffect::Birth(ranges) => {
                Effect::Birth(ranges.iter().map(|range| range.draw(values)).collect())
            }
            WrittenEffect::Death => Effect::Death,
        };
        let constraint = call.map(|call| (call.constraint, values[call.arguments].to_vec()));
        Interest { element, properties, constraint, effect }
    }
}

/// `ELEMENT`, `ELEMENT:PROPERTIES` or `ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)`
fn monitor(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<WrittenInterest, String> {
    let mut parts = text.splitn(3, ':');
    let element = element(universe, parts.next().unwrap_or_default())?;
    let all = 0..universe.elements[element.index()].properties.len();
    let chosen: Vec<usize> = match parts.next().map(str::trim) {
        None | Some("") => all.collect(),
        Some(names) => names
            .split(',')
            .map(|name| property(universe, element, name))
            .collect::<Result<_, _>>()?,
    };
    let properties = chosen.into_iter().map(|at| at as u32).collect();
    let call = parts.next().map(|text| call(universe, element, text, expressions)).transpose()?;
    Ok(WrittenInterest { element, properties, call, effect: WrittenEffect::None })
}

/// `ELEMENT:CONSTRAINT(ARGUMENTS)`, and for births the properties of the newborn.
fn rule(
    universe: &Universe,
    part: SetupPart,
    text: &str,
    expressions: &mut Expressions,
) -> Result<WrittenInterest, String> {
    let mut parts = items(text, ':').into_iter();
    let element = element(universe, parts.next().unwrap_or_default())?;
    let call = call(universe, element, parts.next().unwrap_or_default(), expressions)?;
    let stated = parts.map(|part| range(universe, element, part, expressions));
    let stated = stated.collect::<Result<Vec<_>, _>>()?;
    let properties = stated.iter().map(|range| range.property as u32).collect();
    let effect = match part {
        SetupPart::Death if stated.is_empty() => WrittenEffect::Death,
        SetupPart::Death => return Err("a death states no properties".to_owned()),
        _ => WrittenEffect::Birth(stated),
    };
    Ok(WrittenInterest { element, properties, call: Some(call), effect })
}

/// `CONSTRAINT(ARGUMENTS)`
fn call(
    universe: &Universe,
    element: ElementId,
    text: &str,
    expressions: &mut Expressions,
) -> Result<Call, String> {
    let (constraint, arguments) = constraint(universe, element, text)?;
    let function = &universe.functions[constraint.index()];
    let parameters = &function.locals[..function.parameter_count as usize];
    if parameters.len() != arguments.len() {
        let names: Vec<String> = parameters
            .iter()
            .map(|parameter| format!("{} : {}", parameter.name, universe.type_text(&parameter.ty)))
            .collect();
        return Err(format!(
            "`{}` has {} arguments, not {}: {}",
            function.name,
            parameters.len(),
            arguments.len(),
            names.join(", ")
        ));
    }
    let first = expressions.all.len();
    for (parameter, argument) in parameters.iter().zip(&arguments) {
        expressions.add(universe, &parameter.ty, argument);
    }
    Ok(Call { constraint, arguments: first..first + arguments.len() })
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
    Ok((*id, items(arguments, ',')))
}

/// The parts of a text between separators that are in no bracket and in no string.
fn items(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut items) = (0, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ if c == separator && !quoted && depth == 0 => {
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
    fn parts_end_at_separators_outside_of_brackets_and_strings() {
        assert_eq!(
            items("[1, 2], max(3, 4), \"a, (b\"", ','),
            ["[1, 2]", " max(3, 4)", " \"a, (b\""]
        );
        assert_eq!(items("1", ','), ["1"]);
        assert_eq!(items(" ", ','), [""; 0]);
    }
}
