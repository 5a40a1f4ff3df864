//! A definition as text for people: components with their types in SI units, sizes, bounds and what they use.

use std::fmt::Write;

use crate::definition::{Definition, Element, ElementId, Function, FunctionKind, Universe, Value};

/// Every universe with its components.
#[must_use]
pub fn show(definition: &Definition) -> String {
    let mut text = String::new();
    for universe in &definition.universes {
        // Writing to a String does not fail.
        let _ = show_universe(&mut text, universe);
    }
    text
}

fn show_universe(text: &mut String, universe: &Universe) -> std::fmt::Result {
    writeln!(text, "universe {}", universe.name)?;
    for constant in &universe.constants {
        let ty = universe.type_text(&constant.ty);
        writeln!(text, "  constant {} : {ty} = {}", constant.name, value_text(&constant.value))?;
    }
    for (id, element) in (0..).zip(&universe.elements) {
        show_element(text, universe, ElementId(id), element)?;
    }
    for function in universe.functions.iter().filter(|function| function.element.is_none()) {
        writeln!(text, "  {}", function_text(universe, function))?;
    }
    for entity in &universe.entities {
        let element = &universe.elements[entity.element.index()].name;
        writeln!(text, "  entity {} : {element}", entity.name)?;
    }
    Ok(())
}

fn show_element(
    text: &mut String,
    universe: &Universe,
    id: ElementId,
    element: &Element,
) -> std::fmt::Result {
    let base = element
        .base
        .map(|base| format!(" : {}", universe.elements[base.index()].name))
        .unwrap_or_default();
    let (columns, bytes) = (element.leaf_count, element.row_len);
    writeln!(
        text,
        "  element {}{base}  {columns} columns, {bytes} bytes per entity",
        element.name
    )?;
    for (at, property) in (0..).zip(&element.properties) {
        let ty = universe.type_text(&property.ty);
        let indexed = match &element.index {
            Some(index) if index.property == at => format!(" indexed by {}", index.cell),
            _ => String::new(),
        };
        let from = &universe.elements[property.declared_by.index()].name;
        let from =
            if property.declared_by == id { String::new() } else { format!("  from {from}") };
        let default = value_text(&property.default);
        writeln!(text, "    property {} : {ty}{indexed} = {default}{from}", property.name)?;
    }
    for function in universe.functions.iter().filter(|function| function.element == Some(id)) {
        writeln!(text, "    {}", function_text(universe, function))?;
    }
    for converter in &element.converters {
        let back = if converter.back { " back" } else { "" };
        writeln!(text, "    converter{back} {}", converter.name)?;
    }
    Ok(())
}

/// A function with its parameters, the bound of its cost, and what it reads and writes, in one line.
#[must_use]
pub fn function_text(universe: &Universe, function: &Function) -> String {
    let name = function.name.rsplit('.').next().unwrap_or(&function.name);
    let parameters: Vec<String> = function.locals[..function.parameter_count as usize]
        .iter()
        .map(|local| format!("{} : {}", local.name, universe.type_text(&local.ty)))
        .collect();
    let head = match function.kind {
        FunctionKind::Function => format!("function {name}"),
        FunctionKind::Constraint => format!("constraint {name}"),
        FunctionKind::Update | FunctionKind::Predict => name.to_owned(),
    };
    let result = match (&function.result, function.kind) {
        (Some(ty), FunctionKind::Function) => format!(" : {}", universe.type_text(ty)),
        _ => String::new(),
    };
    let mut text =
        format!("{head}({}){result}  at most {} operations", parameters.join(", "), function.cost);
    if let Some(element) = function.element {
        let names = |of: &mut dyn Iterator<Item = u32>| {
            let properties = &universe.elements[element.index()].properties;
            of.map(|at| properties[at as usize].name.as_str()).collect::<Vec<_>>().join(", ")
        };
        for (verb, set) in [("reads", &function.reads), ("writes", &function.writes)] {
            if !set.is_empty() {
                text += &format!(", {verb} {}", names(&mut set.iter().copied()));
            }
        }
    }
    let others: Vec<String> = function
        .reads_others
        .iter()
        .map(|(element, property)| {
            let element = &universe.elements[element.index()];
            format!("{}.{}", element.name, element.properties[*property as usize].name)
        })
        .collect();
    if !others.is_empty() {
        text += &format!(", reads of other rows {}", others.join(", "));
    }
    text
}

/// A value as the language writes it, in SI units; of a long one the first items.
#[must_use]
pub fn value_text(value: &Value) -> String {
    const MOST: usize = 8;
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Single(value) => format!("{value:?}"),
        Value::Double(value) => format!("{value:?}"),
        Value::String(text) => format!("{text:?}"),
        Value::Items(items) | Value::Row(items) => {
            let mut parts: Vec<String> = items.iter().take(MOST).map(value_text).collect();
            if items.len() > MOST {
                parts.push("…".into());
            }
            let list = parts.join(", ");
            if matches!(value, Value::Row(_)) { format!("({list})") } else { format!("[{list}]") }
        }
    }
}
