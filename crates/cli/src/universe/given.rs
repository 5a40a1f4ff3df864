//! The populations and monitors of a command line, whose values are expressions of the language.

use hemiola_units::Random;
use hemiola_world::{Change, ENTITIES_MAX, Interest, MonitorId, World};
use hemiola_world_lang::definition::{ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::{Sources, check};

use super::refused;
use crate::diagnostics::Failure;

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
    fn values(&self, sources: &Sources, universe: &Universe) -> Result<Vec<Value>, Failure> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let name = |at: usize| format!("command_line_value_{at}");
        let constants = self.0.iter().enumerate();
        let lines: String = constants
            .map(|(at, (ty, text))| format!("constant {} : {ty} = {text};\n", name(at)))
            .collect();
        let mut all = Sources::default();
        let text = format!("universe {} {{\n{lines}}}\n", universe.name);
        for (file, text) in sources
            .files()
            .iter()
            .map(|file| (file.name.clone(), file.text.clone()))
            .chain([("command line".to_owned(), text)])
        {
            all.add(file, text).map_err(Failure::failed)?;
        }
        let definition = check(&all, None).map_err(|problems| refused(&problems, &all))?;
        let constants = &definition.universes[0].constants;
        let value = |at: usize| constants.iter().find(|constant| constant.name == name(at));
        Ok((0..self.0.len()).filter_map(|at| Some(value(at)?.value.clone())).collect())
    }
}

/// `ELEMENT:COUNT:PROPERTY=VALUE:PROPERTY=LOW..HIGH…`
struct Population {
    element: ElementId,
    count: usize,
    /// Property, and the numbers of the expressions of its least and its greatest value.
    ranges: Vec<(usize, usize, usize)>,
}

/// Submits the entities of the populations.
pub(super) fn populate(
    world: &mut World,
    sources: &Sources,
    texts: &[String],
    seed: u64,
) -> Result<(), Failure> {
    let mut expressions = Expressions::default();
    let parsed = texts.iter().map(|text| population(world.universe(), text, &mut expressions));
    let populations = parsed.collect::<Result<Vec<_>, _>>()?;
    let values = expressions.values(sources, world.universe())?;
    let mut random = Random::from_seed(seed);
    for Population { element, count, ranges } in populations {
        let properties = &world.universe().elements[element.index()].properties;
        let defaults: Vec<Value> =
            properties.iter().map(|property| property.default.clone()).collect();
        for _ in 0..count {
            let mut row = defaults.clone();
            for (property, low, high) in &ranges {
                row[*property] = between(&values[*low], &values[*high], &mut random);
            }
            let change = Change::Construct(element, Value::Row(row));
            world.submit(change).map_err(Failure::failed)?;
        }
    }
    Ok(())
}

fn population(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<Population, Failure> {
    let wrong = |reason: String| wrong("--populate", text, &reason);
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
    Ok(Population { element, count, ranges })
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

/// Submits the monitors, each `ELEMENT`, `ELEMENT:PROPERTIES` or `ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)`.
pub(super) fn monitor(
    world: &mut World,
    sources: &Sources,
    texts: &[String],
) -> Result<(), Failure> {
    let mut expressions = Expressions::default();
    let parsed = texts.iter().map(|text| interest(world.universe(), text, &mut expressions));
    let interests = parsed.collect::<Result<Vec<_>, _>>()?;
    let mut values = expressions.values(sources, world.universe())?.into_iter();
    for (id, (mut interest, arguments)) in (0..).map(MonitorId).zip(interests) {
        if let Some((_, constraint)) = &mut interest.constraint {
            constraint.extend(values.by_ref().take(arguments));
        }
        world.submit(Change::Register(id, interest)).map_err(Failure::failed)?;
    }
    Ok(())
}

/// An interest whose arguments are still missing, and how many of the expressions are its arguments.
fn interest(
    universe: &Universe,
    text: &str,
    expressions: &mut Expressions,
) -> Result<(Interest, usize), Failure> {
    let wrong = |reason: String| wrong("--monitor", text, &reason);
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

fn wrong(option: &str, text: &str, reason: &str) -> Failure {
    let form = match option {
        "--populate" => {
            "ELEMENT:COUNT:PROPERTY=LOW..HIGH, such as 'bird:1000:position=[0,0]..[1<km>,1<km>]'"
        }
        _ => {
            "ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS), such as 'bird:position:near([0,0], [1<km>,1<km>])'"
        }
    };
    Failure::bad_input(format!("error: {option} '{text}': {reason}\nhint: the form is {form}"))
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
