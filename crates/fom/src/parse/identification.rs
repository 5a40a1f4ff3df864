//! The identification table of a module.

use roxmltree::Node;

use super::reader::{Reader, Row};
use crate::module::{Contact, Identification};

pub(super) fn read(reader: &mut Reader, table: Node<'_, '_>) -> Identification {
    const COLUMNS: &[&str] = &[
        "name",
        "type",
        "version",
        "modificationDate",
        "securityClassification",
        "purpose",
        "applicationDomain",
        "description",
        "useLimitation",
        "other",
        "copyright",
    ];
    const INNER: &[&str] =
        &["releaseRestriction", "useHistory", "keyword", "poc", "reference", "glyph"];
    let row = reader.row(table, COLUMNS, INNER);
    let text = |column| row.text(column).unwrap_or_default();
    Identification {
        name: text("name"),
        kind: text("type"),
        version: text("version"),
        modification_date: text("modificationDate"),
        security_classification: text("securityClassification"),
        release_restrictions: texts(reader, &row, "releaseRestriction"),
        purpose: text("purpose"),
        application_domain: text("applicationDomain"),
        description: text("description"),
        use_limitation: text("useLimitation"),
        use_history: texts(reader, &row, "useHistory"),
        keywords: pairs(reader, &row, "keyword", &["taxonomy", "keywordValue"]),
        contacts: row.all("poc").into_iter().map(|node| contact(reader, node)).collect(),
        references: pairs(reader, &row, "reference", &["type", "identification"]),
        other: text("other"),
        copyright: text("copyright"),
        glyph: row.all("glyph").first().map(|node| {
            let of = |name| node.attribute(name).unwrap_or_default().to_owned();
            let inside = reader.text(*node).map(|(text, _)| text);
            (inside.unwrap_or_else(|| of("href")), of("alt"))
        }),
    }
}

fn texts(reader: &Reader, row: &Row<'_>, element: &str) -> Vec<String> {
    row.all(element)
        .into_iter()
        .filter_map(|node| reader.text(node).map(|(text, _)| text))
        .collect()
}

fn pairs(
    reader: &mut Reader,
    row: &Row<'_>,
    element: &str,
    columns: &'static [&'static str; 2],
) -> Vec<(String, String)> {
    let read = |node| {
        let row = reader.row(node, columns, &[]);
        let text = |column: &str| row.text(column).unwrap_or_default();
        (text(columns[0]), text(columns[1]))
    };
    row.all(element).into_iter().map(read).collect()
}

fn contact(reader: &mut Reader, node: Node<'_, '_>) -> Contact {
    let row = reader.row(node, &["pocType", "pocName", "pocOrg"], &["pocTelephone", "pocEmail"]);
    let text = |column| row.text(column).unwrap_or_default();
    Contact {
        kind: text("pocType"),
        name: text("pocName"),
        organization: text("pocOrg"),
        telephones: texts(reader, &row, "pocTelephone"),
        emails: texts(reader, &row, "pocEmail"),
    }
}
