//! Parses the XML of a module: every table of the data interchange format, reporting all problems at once.

mod classes;
mod datatypes;
mod identification;
mod reader;
mod tables;

pub(crate) use classes::{INTERACTION_ROOT, OBJECT_ROOT};

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use roxmltree::{Document, Node, ParsingOptions};

use crate::limits::{ATTRIBUTES_MAX, MODULE_LEN_MAX, NODES_MAX, PREFIXES_MAX};
use crate::memory;
use crate::module::{Edition, Module};
use crate::problem::{Place, Problem, ProblemKind, Source, Span};
use crate::text;
use reader::Reader;

/// The namespaces of the editions. That of 2010 was published in two places.
const NAMESPACES: [(&str, Edition); 3] = [
    ("http://standards.ieee.org/IEEE1516-2010", Edition::E2010),
    ("http://www.sisostds.org/schemas/IEEE1516-2010", Edition::E2010),
    ("http://standards.ieee.org/IEEE1516-2025", Edition::E2025),
];

/// The tables of an object model.
const TABLES: &[&str] = &[
    "modelIdentification",
    "objects",
    "interactions",
    "dimensions",
    "time",
    "tags",
    "synchronizations",
    "transportations",
    "switches",
    "updateRates",
    "dataTypes",
    "notes",
    // The services that a federate uses do not concern a federation.
    "serviceUtilization",
];

/// Decodes the bytes of a module with this name.
///
/// # Errors
/// There are too many bytes, or they are not text.
pub(crate) fn source(name: &str, bytes: &[u8]) -> Result<Source, Vec<Problem>> {
    let unreadable =
        |what: String| vec![Problem::new(ProblemKind::Unreadable, format!("{name}: {what}"))];
    if bytes.len() > MODULE_LEN_MAX {
        return Err(unreadable(format!("longer than {} MiB", MODULE_LEN_MAX >> 20)));
    }
    let text = text::decode(bytes).map_err(unreadable)?;
    Ok(Source { name: name.to_owned(), text })
}

/// Parses the text of a module. Returns the module and all problems with its tables; entries with errors are left out.
///
/// # Errors
/// The text is not XML, or not an object model of a supported edition.
pub(crate) fn parse(source: Source) -> Result<(Module, Vec<Problem>), Vec<Problem>> {
    let source = Arc::new(source);
    if let Some(at) = crowded_tag(&source.text) {
        let message = format!("an element has more than {ATTRIBUTES_MAX} attributes");
        let place = place(&source, (at..at + 1).into());
        return Err(vec![Problem::new(ProblemKind::Unreadable, message).at(place, "")]);
    }
    if let Some(at) = prefix_too_many(&source.text) {
        let message = format!("more than {PREFIXES_MAX} prefixes are declared for XML namespaces");
        let place = place(&source, (at..at + 1).into());
        return Err(vec![Problem::new(ProblemKind::Unreadable, message).at(place, "")]);
    }
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document_type = document_type(&source.text);
    let plain = document_type.clone().map(|range| without(&source.text, range));
    let text = plain.as_deref().unwrap_or(&source.text);
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let problem =
            Problem::new(ProblemKind::Unreadable, format!("not XML: {}", message(&error)));
        let hint = match error {
            roxmltree::Error::DtdDetected => {
                "remove the document type: modules need neither it nor entities"
            }
            _ => "",
        };
        vec![problem.at(place(&source, position(&source.text, error.pos())), "").hint(hint)]
    })?;
    let root = document.root_element();
    let (edition, without_namespace) = edition(&source, root).map_err(|problem| vec![problem])?;
    let mut reader = Reader::new(Arc::clone(&source), root.tag_name().namespace());
    let mut module = Module {
        source: Arc::clone(&source),
        edition,
        identification: Default::default(),
        object_classes: Vec::new(),
        interaction_classes: Vec::new(),
        dimensions: Vec::new(),
        time: Vec::new(),
        tags: Vec::new(),
        synchronization_points: Vec::new(),
        transportations: Vec::new(),
        switches: Vec::new(),
        update_rates: Vec::new(),
        datatypes: Vec::new(),
        notes: Vec::new(),
        references: Vec::new(),
    };
    tables(&mut reader, root, &mut module);
    let (references, mut problems) = reader.finish();
    problems.extend(without_namespace);
    problems.extend(document_type.map(|range| {
        let what = "the document type is ignored: object models of this edition have none";
        Problem::new(ProblemKind::Irregular, what).at(place(&source, range.into()), "")
    }));
    module.references = references;
    memory::shrink(&mut module);
    Ok((module, problems))
}

/// Returns where the text declares a document type, if it names one only: a declaration that defines entities is left
/// to the XML parser, which rejects it.
fn document_type(text: &str) -> Option<Range<usize>> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    // Only the XML declaration, comments and processing instructions may come before it.
    while let Some((_, end)) =
        [("<?", "?>"), ("<!--", "-->")].iter().find(|(start, _)| rest.starts_with(start))
    {
        rest = rest[rest.find(end)? + end.len()..].trim_start();
    }
    let start = text.len() - rest.len();
    let end = rest.strip_prefix("<!DOCTYPE").and_then(|_| rest.find(['>', '[']))?;
    rest[end..].starts_with('>').then_some(start..start + end + 1)
}

/// Returns the text with spaces in place of a range, so that everything else stays at its place.
fn without(text: &str, range: Range<usize>) -> String {
    let blank: String = text[range.clone()]
        .chars()
        .flat_map(|c| if c == '\n' { vec![c] } else { vec![' '; c.len_utf8()] })
        .collect();
    [&text[..range.start], &blank, &text[range.end..]].concat()
}

/// Returns where the first tag with more than [`ATTRIBUTES_MAX`] attributes begins.
fn crowded_tag(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('<')?;
        let rest = &text[at..];
        let sections = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = sections.iter().find(|(start, _)| rest.starts_with(start)) {
            at += rest.find(end)?;
            continue;
        }
        let (mut end, mut attributes) = (at, 0);
        loop {
            let found = end + text[end..].find(['"', '\'', '>'])?;
            let mark = text.as_bytes()[found];
            if mark == b'>' {
                // Any `<` before is not allowed here; the XML parser reports the first.
                at = found;
                break;
            }
            attributes += 1;
            if attributes > ATTRIBUTES_MAX {
                return Some(at);
            }
            let value = found + 1;
            end = value + 1 + text[value..].find(char::from(mark))?;
        }
    }
}

/// Returns where the text declares the first prefix beyond [`PREFIXES_MAX`] different ones.
fn prefix_too_many(text: &str) -> Option<usize> {
    const DECLARATION: &str = "xmlns:";
    let mut seen = BTreeSet::new();
    let mut declared = text.match_indices(DECLARATION).map(|(at, _)| {
        let name = &text[at + DECLARATION.len()..];
        let end = name.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(name.len());
        (at, &name[..end])
    });
    declared.find(|(_, name)| seen.insert(*name) && seen.len() > PREFIXES_MAX).map(|(at, _)| at)
}

/// Returns the sentence of an XML error, without its position.
fn message(error: &roxmltree::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at ").map_or(text.clone(), |(what, _)| what.to_owned())
}

fn place(source: &Arc<Source>, span: Span) -> Place {
    Place { source: Arc::clone(source), span }
}

/// Returns the empty span at a line and column.
fn position(text: &str, at: roxmltree::TextPos) -> Span {
    let line_start = match at.row {
        0 | 1 => 0,
        row => text.match_indices('\n').nth(row as usize - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let column = (at.col as usize).saturating_sub(1);
    let start =
        text[line_start..].char_indices().nth(column).map_or(text.len(), |(at, _)| line_start + at);
    (start..start).into()
}

/// Elements that only object models of 2025 have.
const ONLY_2025: [&str; 4] =
    ["referenceDataTypes", "directedInteraction", "valueRequired", "include"];

/// Returns the edition of an object model. One without a namespace has that of its elements, which is a problem to
/// report.
fn edition(
    source: &Arc<Source>,
    root: Node<'_, '_>,
) -> Result<(Edition, Option<Problem>), Problem> {
    let start = root.range().start;
    let span = Span::from(start..start + 1 + root.tag_name().name().len());
    let problem = |kind, what: &str, hint: &str| {
        Problem::new(kind, what).at(place(source, span), "").hint(hint)
    };
    let hint = "the namespace of HLA 4 is xmlns=\"http://standards.ieee.org/IEEE1516-2025\"";
    if root.tag_name().name() != "objectModel" {
        let what = "not an object model: the root element is not <objectModel>";
        return Err(problem(ProblemKind::Invalid, what, hint));
    }
    let Some(namespace) = root.tag_name().namespace() else {
        let has_tables = root.children().any(|child| TABLES.contains(&child.tag_name().name()));
        if !has_tables {
            let what = "the object model has no namespace, so its edition is not known";
            return Err(problem(ProblemKind::Invalid, what, hint));
        }
        let is_2025 = root.descendants().any(|node| ONLY_2025.contains(&node.tag_name().name()));
        let edition = if is_2025 { Edition::E2025 } else { Edition::E2010 };
        let what = format!("the object model has no namespace: read as one of {}", edition.name());
        return Ok((edition, Some(problem(ProblemKind::Irregular, &what, hint))));
    };
    match NAMESPACES.iter().find(|(known, _)| *known == namespace) {
        Some((_, edition)) => Ok((*edition, None)),
        None => {
            let what = format!("the namespace {namespace} is not that of a supported edition");
            let hint = "supported are object models of 1516-2010 and 1516-2025";
            Err(problem(ProblemKind::Invalid, &what, hint))
        }
    }
}

fn tables(reader: &mut Reader, root: Node<'_, '_>, module: &mut Module) {
    for table in reader.children(root, TABLES) {
        match table.tag_name().name() {
            "modelIdentification" => module.identification = identification::read(reader, table),
            "objects" => module.object_classes = classes::objects(reader, table),
            "interactions" => module.interaction_classes = classes::interactions(reader, table),
            "dimensions" => module.dimensions = tables::dimensions(reader, table),
            "time" => module.time = tables::time(reader, table),
            "tags" => module.tags = tables::tags(reader, table),
            "synchronizations" => {
                module.synchronization_points = tables::synchronization_points(reader, table);
            }
            "transportations" => module.transportations = tables::transportations(reader, table),
            "switches" => module.switches = tables::switches(reader, table),
            "updateRates" => module.update_rates = tables::update_rates(reader, table),
            "dataTypes" => module.datatypes = datatypes::read(reader, table),
            "notes" => module.notes = tables::notes(reader, table),
            _ => {}
        }
    }
}
