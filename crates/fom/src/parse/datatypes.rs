//! The seven tables of data types.

use roxmltree::Node;

use super::reader::{Reader, Row};
use crate::module::{Alternative, Cardinality, Datatype, Entry, Enumerator, Field, Target};
use crate::problem::{ProblemKind, Span};
use crate::word::Endian;

type ReadDatatype = fn(&mut Reader, Node<'_, '_>) -> Option<Entry<Datatype>>;

/// The tables, their elements, and the functions that read them.
const TABLES: [(&str, &[&str], ReadDatatype); 7] = [
    ("basicDataRepresentations", &["basicData"], basic),
    ("simpleDataTypes", &["simpleData"], simple),
    ("referenceDataTypes", &["referenceDataType", "referenceData"], reference),
    ("enumeratedDataTypes", &["enumeratedData"], enumerated),
    ("arrayDataTypes", &["arrayData"], array),
    ("fixedRecordDataTypes", &["fixedRecordData"], fixed_record),
    ("variantRecordDataTypes", &["variantRecordData"], variant_record),
];

pub(super) fn read(reader: &mut Reader, tables: Node<'_, '_>) -> Vec<Entry<Datatype>> {
    let names = TABLES.map(|(table, ..)| table);
    let mut found = Vec::new();
    for table in reader.children(tables, &names) {
        let name = table.tag_name().name();
        let Some((_, elements, read)) = TABLES.iter().find(|(table, ..)| *table == name) else {
            continue;
        };
        for node in reader.children(table, elements) {
            found.extend(read(reader, node));
        }
    }
    found
}

fn basic(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    const COLUMNS: &[&str] = &["name", "size", "interpretation", "endian", "encoding", "semantics"];
    let row = reader.row(node, COLUMNS, &[]);
    reader.require(&row, &["size"]);
    let value = Datatype::Basic {
        size: reader.number(&row, "size", "number of bits"),
        interpretation: row.text("interpretation"),
        endian: reader.word(&row, "endian", Endian::NAMES, Endian::from_name),
        encoding: row.text("encoding"),
    };
    reader.entry(&row, "name", value)
}

fn simple(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    const COLUMNS: &[&str] =
        &["name", "representation", "units", "resolution", "accuracy", "semantics"];
    let row = reader.row(node, COLUMNS, &[]);
    reader.require(&row, &["representation"]);
    let value = Datatype::Simple {
        representation: reader.reference(&row, "representation", Target::Representation),
        units: row.text("units"),
        resolution: row.text("resolution"),
        accuracy: row.text("accuracy"),
    };
    reader.entry(&row, "name", value)
}

fn reference(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    const COLUMNS: &[&str] =
        &["name", "representation", "referenceClass", "referencedAttribute", "semantics"];
    let row = reader.row(node, COLUMNS, &[]);
    reader.require(&row, &["representation", "referenceClass", "referencedAttribute"]);
    let value = Datatype::Reference {
        representation: reader.reference(&row, "representation", Target::Datatype),
        class: reader.reference(&row, "referenceClass", Target::ObjectClass),
        attribute: row.text("referencedAttribute"),
    };
    reader.entry(&row, "name", value)
}

fn enumerated(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    let row = reader.row(node, &["name", "representation", "semantics"], &["enumerator"]);
    reader.require(&row, &["representation"]);
    let representation = reader.reference(&row, "representation", Target::Representation);
    let nodes = row.all("enumerator");
    if nodes.is_empty() {
        reader.lacks(&row, "enumerator");
    }
    let enumerators = nodes.into_iter().filter_map(|node| enumerator(reader, node)).collect();
    reader.entry(&row, "name", Datatype::Enumerated { representation, enumerators })
}

fn enumerator(reader: &mut Reader, node: Node<'_, '_>) -> Option<Enumerator> {
    let row = reader.row(node, &["name", "semantics"], &["value"]);
    let values: Vec<(String, Span)> =
        row.all("value").into_iter().filter_map(|node| reader.text(node)).collect();
    let entry = reader.entry(&row, "name", ())?;
    if values.is_empty() {
        let message = format!("the enumerator {} has no value", entry.name);
        reader.problem(ProblemKind::Invalid, entry.span, message, "");
    }
    for (value, span) in values.iter().filter(|(value, _)| value.parse::<i128>().is_err()) {
        let message = format!("the value {value} of the enumerator {} is not a number", entry.name);
        reader.problem(ProblemKind::Irregular, *span, message, "give a whole number");
    }
    let values = values.into_iter().map(|(value, _)| value).collect();
    Some(Enumerator { name: entry.name, values })
}

fn array(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    const COLUMNS: &[&str] = &["name", "dataType", "cardinality", "encoding", "semantics"];
    let row = reader.row(node, COLUMNS, &[]);
    reader.require(&row, &["dataType", "cardinality"]);
    let value = Datatype::Array {
        datatype: reader.reference(&row, "dataType", Target::Datatype),
        cardinality: cardinality(reader, &row),
        encoding: row.text("encoding"),
    };
    reader.entry(&row, "name", value)
}

/// Reads the number of elements in each dimension of the array: `Dynamic`, `3` or `[1..4]`, separated by commas.
fn cardinality(reader: &mut Reader, row: &Row<'_>) -> Vec<Cardinality> {
    let Some(text) = row.text("cardinality") else { return Vec::new() };
    let one = |part: &str| {
        if part.eq_ignore_ascii_case("dynamic") {
            return Some(Cardinality::Dynamic);
        }
        let Some(range) = between(part, '[', ']').or_else(|| between(part, '(', ')')) else {
            return part.parse().ok().map(Cardinality::Exactly);
        };
        let (least, most) = range.split_once("..")?;
        let (least, most) = (least.trim().parse().ok()?, most.trim().parse().ok()?);
        (least <= most).then_some(Cardinality::Between(least, most))
    };
    let parts: Option<Vec<Cardinality>> = text.split(',').map(|part| one(part.trim())).collect();
    if parts.is_some() && text.contains('(') {
        let message = format!("the range {text} is in round brackets");
        let hint = format!("write {}", text.replace('(', "[").replace(')', "]"));
        reader.problem(ProblemKind::Irregular, row.span("cardinality"), message, &hint);
    }
    parts.unwrap_or_else(|| {
        let message = format!("{text} is not a number of elements");
        let hint = "give Dynamic, a number, a range such as [1..4], or several separated by commas";
        reader.problem(ProblemKind::Invalid, row.span("cardinality"), message, hint);
        Vec::new()
    })
}

/// Returns the text between two brackets.
fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

fn fixed_record(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    let row = reader.row(node, &["name", "include", "encoding", "semantics"], &["field"]);
    let include = reader.reference(&row, "include", Target::FixedRecord);
    let nodes = row.all("field");
    let fields = nodes.into_iter().filter_map(|node| field(reader, node)).collect();
    let value = Datatype::FixedRecord { encoding: row.text("encoding"), include, fields };
    reader.entry(&row, "name", value)
}

fn field(reader: &mut Reader, node: Node<'_, '_>) -> Option<Field> {
    let row = reader.row(node, &["name", "dataType", "semantics"], &[]);
    reader.require(&row, &["dataType"]);
    let datatype = reader.reference(&row, "dataType", Target::Datatype);
    reader.entry(&row, "name", ()).map(|entry| Field { name: entry.name, datatype })
}

fn variant_record(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Datatype>> {
    const COLUMNS: &[&str] = &["name", "discriminant", "dataType", "encoding", "semantics"];
    let row = reader.row(node, COLUMNS, &["alternative"]);
    reader.require(&row, &["discriminant", "dataType"]);
    let datatype = reader.reference(&row, "dataType", Target::Discriminant);
    let nodes = row.all("alternative");
    let alternatives = nodes.into_iter().filter_map(|node| alternative(reader, node)).collect();
    let value = Datatype::VariantRecord {
        discriminant: row.text("discriminant"),
        datatype,
        alternatives,
        encoding: row.text("encoding"),
    };
    reader.entry(&row, "name", value)
}

/// Reads an alternative. Without a name and a data type it holds nothing.
fn alternative(reader: &mut Reader, node: Node<'_, '_>) -> Option<Alternative> {
    let row = reader.row(node, &["enumerator", "name", "dataType", "semantics"], &[]);
    let Some(enumerators) = row.text("enumerator") else {
        let message = "<alternative> has no <enumerator>".to_owned();
        reader.problem(ProblemKind::Invalid, row.span("enumerator"), message, "");
        return None;
    };
    Some(Alternative {
        enumerators: enumerators.split(',').map(|part| part.trim().to_owned()).collect(),
        name: row.text("name").filter(|name| name != "NA").unwrap_or_default(),
        datatype: reader.reference(&row, "dataType", Target::Datatype),
    })
}
