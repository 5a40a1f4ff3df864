//! The definition of a universe that runs, in parts that are short enough for an answer.

use hemiola_world_lang::definition::{Element, ElementId, Function, Property, Type, Universe};
use hemiola_world_lang::{function_text, value_text};

use crate::control::universe::{ColumnPart, DefinitionPart, ElementPart};

/// No element but the first begins in a part behind so many bytes of text. With the longest element, the part fits into
/// the buffer of a socket, so a client that does not read delays nobody.
const TEXT_LEN_MAX: usize = 32 << 10;
/// Constants, functions and properties of one place that are listed, and columns of one element.
const LISTED_MAX: usize = 64;
/// The longest line. Functions may read hundreds of properties.
const LINE_LEN_MAX: usize = 256;

/// The part of a definition of this number from an element on. `counts` are the entities of that element and of those
/// behind it; the part ends with them.
pub(super) fn part(
    universe: &Universe,
    definition: u64,
    from: ElementId,
    counts: &[u64],
) -> DefinitionPart {
    let mut part =
        DefinitionPart { universe: universe.name.clone(), definition, ..DefinitionPart::default() };
    let mut lines = Lines::default();
    if from.0 == 0 {
        let constants = universe.constants.iter().map(|constant| {
            let ty = universe.type_text(&constant.ty);
            format!("{} : {ty} = {}", constant.name, value_text(&constant.value))
        });
        part.constants = lines.take(constants);
        part.functions = lines.take(functions(universe, None));
    }
    let elements = (0..).zip(&universe.elements).skip(from.index()).zip(counts);
    for ((number, element), entities) in elements {
        if lines.bytes > TEXT_LEN_MAX && !part.elements.is_empty() {
            break;
        }
        part.elements.push(describe(universe, ElementId(number), element, *entities, &mut lines));
    }
    let next = from.0.saturating_add(part.elements.len() as u32);
    part.next = (next > from.0 && (next as usize) < universe.elements.len()).then_some(next);
    part.left_out = lines.left_out;
    part
}

/// Lines that are counted.
#[derive(Default)]
struct Lines {
    bytes: usize,
    left_out: u64,
}

impl Lines {
    /// The first lines of some.
    fn take(&mut self, mut lines: impl Iterator<Item = String>) -> Vec<String> {
        let listed: Vec<String> = lines.by_ref().take(LISTED_MAX).map(shortened).collect();
        self.bytes += listed.iter().map(String::len).sum::<usize>();
        self.left_out += lines.count() as u64;
        listed
    }
}

fn shortened(mut line: String) -> String {
    if line.len() > LINE_LEN_MAX {
        line.truncate(line.floor_char_boundary(LINE_LEN_MAX));
        line.push('…');
    }
    line
}

fn describe(
    universe: &Universe,
    id: ElementId,
    element: &Element,
    entities: u64,
    lines: &mut Lines,
) -> ElementPart {
    let name = |id: ElementId| shortened(universe.elements[id.index()].name.clone());
    let property = |(at, property): (u32, &Property)| {
        let ty = universe.type_text(&property.ty);
        let index = element.index.as_ref().filter(|index| index.property == at);
        let indexed = index.map(|index| format!(" indexed by {}", index.cell)).unwrap_or_default();
        let from = if property.declared_by == id {
            String::new()
        } else {
            format!("  from {}", name(property.declared_by))
        };
        format!("{} : {ty}{indexed} = {}{from}", property.name, value_text(&property.default))
    };
    let leaves = universe.leaves(id);
    let is_number = |ty: &Type| matches!(ty, Type::Boolean | Type::Integer | Type::Real(..));
    let columns = (0..).zip(&leaves).filter(|(_, leaf)| is_number(&leaf.ty));
    let columns: Vec<ColumnPart> = columns
        .clone()
        .take(LISTED_MAX)
        .map(|(number, leaf)| {
            let name = shortened(leaf.path.clone());
            ColumnPart { number, name, ty: universe.type_text(&leaf.ty) }
        })
        .collect();
    lines.bytes += columns.iter().map(|column| column.name.len() + column.ty.len()).sum::<usize>();
    lines.left_out +=
        leaves.iter().filter(|leaf| is_number(&leaf.ty)).count() as u64 - columns.len() as u64;
    ElementPart {
        number: id.0,
        name: name(id),
        base: element.base.map(name),
        entities,
        row_len: element.row_len,
        properties: lines.take((0..).zip(&element.properties).map(property)),
        functions: lines.take(functions(universe, Some(id))),
        columns,
    }
}

/// The functions of an element, or those of none.
fn functions(universe: &Universe, of: Option<ElementId>) -> impl Iterator<Item = String> {
    let functions = universe.functions.iter();
    let of = functions.filter(move |function: &&Function| function.element == of);
    of.map(|function| function_text(universe, function))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use hemiola_world_lang::{Sources, check};

    use super::*;

    fn universe(text: &str) -> Universe {
        check(&Sources::of("u.uml", text).unwrap(), None).unwrap().universes.remove(0)
    }

    /// All parts, as a client asks for them.
    fn parts(universe: &Universe, counted: usize) -> Vec<DefinitionPart> {
        let mut parts = Vec::new();
        let mut next = Some(0);
        while let Some(from) = next {
            let counts: Vec<u64> =
                (u64::from(from)..universe.elements.len() as u64).take(counted).collect();
            let part = part(universe, 3, ElementId(from), &counts);
            next = part.next;
            parts.push(part);
        }
        parts
    }

    #[test]
    fn a_definition_has_its_components_with_types_in_si_units() {
        let universe = universe(
            "universe u {
               constant FAR : real<m> = 2<km>;
               function twice(x : real) : real = x + x;
               element e {
                 property place : real<m>[2] indexed by 10<m> = [1<km>, 0];
                 property name : string = \"<b>\";
                 constraint far() = place[0] > FAR;
               }
               element d : e { property speed : real32<m/s>; property on : boolean; }
             }",
        );
        let [part] = &parts(&universe, 64)[..] else { panic!("one part") };
        assert_eq!((part.definition, part.left_out), (3, 0));
        assert_eq!(part.constants, ["FAR : real<m> = 2000.0"]);
        assert!(part.functions[0].starts_with("function twice(x : real) : real"), "{part:?}");
        let [e, d] = &part.elements[..] else { panic!("two elements") };
        assert_eq!((e.name.as_str(), e.base.as_deref(), e.entities), ("e", None, 0));
        assert_eq!((d.name.as_str(), d.base.as_deref(), d.entities), ("d", Some("e"), 1));
        assert_eq!(e.properties[0], "place : real<m>[2] indexed by 10 = [1000.0, 0.0]");
        assert!(d.properties[0].ends_with("  from e"), "{d:?}");
        assert!(e.functions[0].starts_with("constraint far()"), "{e:?}");
        let columns: Vec<(u32, &str, &str)> =
            d.columns.iter().map(|of| (of.number, of.name.as_str(), of.ty.as_str())).collect();
        // Texts are no numbers.
        let expected = [
            (0, "place[0]", "real<m>"),
            (1, "place[1]", "real<m>"),
            (3, "speed", "real32<m/s>"),
            (4, "on", "boolean"),
        ];
        assert_eq!(columns, expected);
    }

    #[test]
    fn a_huge_definition_comes_in_parts_that_fit_into_the_buffer_of_a_socket() {
        let mut text = String::from("universe u {");
        for element in 0..100 {
            write!(text, "element e{element} {{").unwrap();
            for property in 0..80 {
                let long = "x".repeat(120);
                write!(text, "property p{property}{long} : string = \"{long}\";").unwrap();
            }
            text.push_str("property wide : real[1000]; }");
        }
        text.push('}');
        let universe = universe(&text);
        let parts = parts(&universe, 64);
        let elements: Vec<u32> =
            parts.iter().flat_map(|part| &part.elements).map(|element| element.number).collect();
        assert_eq!(elements, (0..100).collect::<Vec<_>>());
        for part in &parts {
            let len = serde_json::to_string(part).unwrap().len();
            assert!(len < 128 << 10, "{len}");
            assert!(part.left_out > 0);
        }
    }

    #[test]
    fn a_part_behind_the_last_element_is_empty_and_the_last_one() {
        let part = part(&universe("universe u { element e { } }"), 0, ElementId(u32::MAX), &[]);
        assert_eq!((part.elements.len(), part.next), (0, None));
    }
}
