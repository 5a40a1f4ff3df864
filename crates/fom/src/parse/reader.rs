//! What all tables have in common: rows with columns, words, names, and problems with them.

use std::sync::Arc;

use roxmltree::Node;

use crate::limits::{FULL_NAMES_LEN_MAX, PROBLEMS_MAX};
use crate::module::{Entry, Reference, Target};
use crate::problem::{Kind, Place, Problem, Source, Span};
use crate::word::nearest;

/// Reads the rows of one module and collects what is wrong and what they refer to.
pub(super) struct Reader {
    source: Arc<Source>,
    namespace: Option<String>,
    problems: Vec<Problem>,
    references: Vec<Reference>,
    /// The length of the full names that classes and their members may still have.
    full_names_left: usize,
}

/// An element whose children are columns with text, and perhaps further elements.
pub(super) struct Row<'d> {
    node: Node<'d, 'd>,
    /// Columns that say something.
    columns: Vec<Column>,
    /// The other elements, in their order.
    pub(super) inner: Vec<Node<'d, 'd>>,
    notes: Vec<String>,
}

struct Column {
    name: &'static str,
    text: String,
    span: Span,
}

impl Reader {
    pub(super) fn new(source: Arc<Source>, namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        let (problems, references) = (Vec::new(), Vec::new());
        Self { source, namespace, problems, references, full_names_left: FULL_NAMES_LEN_MAX }
    }

    /// Counts the full names of a class and its members against the limit. Returns `false`, and reports it once, if they
    /// exceed it.
    pub(super) fn take_full_names<T>(&mut self, class: &Entry<T>, members: usize) -> bool {
        let len = class.name.len().saturating_mul(1 + members);
        if let Some(left) = self.full_names_left.checked_sub(len) {
            self.full_names_left = left;
            return true;
        }
        if std::mem::take(&mut self.full_names_left) > 0 {
            let message = format!(
                "the full names of all classes are longer than {} MiB",
                FULL_NAMES_LEN_MAX >> 20
            );
            self.problem(Kind::Invalid, class.span, message, "use shorter names");
        }
        false
    }

    pub(super) fn done(self) -> (Vec<Reference>, Vec<Problem>) {
        (self.references, self.problems)
    }

    /// Notes a problem at a place.
    pub(super) fn problem(&mut self, kind: Kind, span: Span, message: String, hint: &str) {
        if self.problems.len() < PROBLEMS_MAX {
            let place = Place { source: Arc::clone(&self.source), span };
            self.problems.push(Problem::new(kind, message).at(place, "").hint(hint));
        }
    }

    /// The elements inside another one. Those of other namespaces are anybody's own extensions and passed
    /// over. Of ours, those that look like a slip of the pen are problems; others may come from
    /// an edition that is not known here.
    pub(super) fn children<'d>(
        &mut self,
        node: Node<'d, 'd>,
        allowed: &[&str],
    ) -> Vec<Node<'d, 'd>> {
        let mut found = Vec::new();
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if child.tag_name().namespace() != self.namespace.as_deref() {
                continue;
            }
            if allowed.contains(&name) {
                found.push(child);
                continue;
            }
            let parent = node.tag_name().name();
            if let Some(near) = nearest(name, allowed.iter().copied()) {
                let message = format!("<{name}> has no place in <{parent}>");
                let hint = format!("did you mean <{near}>?");
                self.problem(Kind::Invalid, tag(child), message, &hint);
            } else {
                let message = format!("<{name}> in <{parent}> is not understood, and left out");
                self.problem(Kind::Doubtful, tag(child), message, "");
            }
        }
        found
    }

    /// An element as a row: `columns` hold text and stand once, `inner` may be anything.
    pub(super) fn row<'d>(
        &mut self,
        node: Node<'d, 'd>,
        columns: &'static [&'static str],
        inner: &[&str],
    ) -> Row<'d> {
        let allowed: Vec<&str> = columns.iter().chain(inner).copied().collect();
        let mut row = Row { node, columns: Vec::new(), inner: Vec::new(), notes: Vec::new() };
        row.take_notes(self, node);
        let mut seen: Vec<&str> = Vec::new();
        for child in self.children(node, &allowed) {
            let Some(name) = columns.iter().find(|name| **name == child.tag_name().name()) else {
                row.inner.push(child);
                continue;
            };
            row.take_notes(self, child);
            if seen.contains(name) {
                let message = format!("<{name}> stands twice in <{}>", node.tag_name().name());
                self.problem(Kind::Invalid, tag(child), message, "");
                continue;
            }
            seen.push(name);
            let text = text(child);
            if !text.is_empty() {
                row.columns.push(Column { name, text, span: text_span(&self.source, child) });
            }
        }
        row
    }

    /// One text of an element that holds nothing else, with its place; empty ones are `None`.
    pub(super) fn text(&self, node: Node<'_, '_>) -> Option<(String, Span)> {
        let text = text(node);
        (!text.is_empty()).then(|| (text, text_span(&self.source, node)))
    }

    /// A column as one of some words. Writing small for capital letters is doubtful; what is none of them is
    /// a problem.
    pub(super) fn word<T>(
        &mut self,
        row: &Row<'_>,
        column: &str,
        names: &[&str],
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let Column { text, span, .. } = row.column(column)?;
        if let Some(word) = from_name(text) {
            return Some(word);
        }
        let near = names.iter().find(|name| name.eq_ignore_ascii_case(text));
        if let Some(word) = near.and_then(|name| from_name(name)) {
            let message = format!("{text} is written {}", near.expect("it was just found"));
            self.problem(Kind::Doubtful, *span, message, "");
            return Some(word);
        }
        let message = format!("{text} is no {column}");
        self.problem(Kind::Invalid, *span, message, &format!("one of: {}", names.join(", ")));
        None
    }

    /// A column as yes or no.
    pub(super) fn truth(&mut self, row: &Row<'_>, column: &str) -> Option<bool> {
        const NAMES: &[&str] = &["true", "false", "1", "0", "Yes", "No"];
        self.word(row, column, NAMES, |text| match text {
            "true" | "1" | "Yes" => Some(true),
            "false" | "0" | "No" => Some(false),
            _ => None,
        })
    }

    /// A column as a number.
    pub(super) fn number<T: std::str::FromStr>(
        &mut self,
        row: &Row<'_>,
        column: &str,
        what: &str,
    ) -> Option<T> {
        let Column { text, span, .. } = row.column(column)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.problem(Kind::Invalid, *span, format!("{text} is no {what}"), "");
        }
        number
    }

    /// A column as the name of something else. `NA` is none.
    pub(super) fn reference(
        &mut self,
        row: &Row<'_>,
        column: &str,
        target: Target,
    ) -> Option<String> {
        let Column { text, span, .. } = row.column(column)?;
        self.refer(target, text.clone(), *span)
    }

    /// Notes that a name refers to something else. `NA` does not.
    pub(super) fn refer(&mut self, target: Target, name: String, span: Span) -> Option<String> {
        if ["NA", "N/A", "na"].contains(&name.as_str()) {
            return None;
        }
        self.references.push(Reference { target, name: name.clone(), span });
        Some(name)
    }

    /// The names of dimensions in a `<dimensions>`.
    pub(super) fn dimensions(&mut self, row: &Row<'_>) -> Vec<String> {
        let lists: Vec<_> =
            row.inner.iter().filter(|node| node.tag_name().name() == "dimensions").collect();
        let mut names = Vec::new();
        for list in lists {
            for node in self.children(*list, &["dimension"]) {
                if let Some((text, span)) = self.text(node) {
                    names.extend(self.refer(Target::Dimension, text, span));
                }
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// The row as an entry, called what its column `name` says. `None`, and a problem, without a sound name.
    pub(super) fn entry<T>(&mut self, row: &Row<'_>, name: &str, value: T) -> Option<Entry<T>> {
        let element = row.node.tag_name().name();
        let Some(Column { text, span, .. }) = row.column(name) else {
            self.problem(
                Kind::Invalid,
                tag(row.node),
                format!("a <{element}> without a <{name}>"),
                "",
            );
            return None;
        };
        if name == "name" && text.contains(|c: char| c == '.' || c.is_whitespace()) {
            let message = format!("the name {text:?} has a full stop or a space in it");
            self.problem(Kind::Invalid, *span, message, "letters, digits, - and _ make names");
            return None;
        }
        Some(row.called(text.clone(), *span, value))
    }
}

impl<'d> Row<'d> {
    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The elements of this name that are no columns.
    pub(super) fn all(&self, name: &str) -> Vec<Node<'d, 'd>> {
        self.inner.iter().filter(|node| node.tag_name().name() == name).copied().collect()
    }

    /// The text of a column, if it says something.
    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.column(column).map(|column| column.text.clone())
    }

    /// Where a column stands; the row's tag if it does not.
    pub(super) fn span(&self, column: &str) -> Span {
        self.column(column).map_or_else(|| tag(self.node), |column| column.span)
    }

    /// Does it say nothing but its name?
    pub(super) fn is_only_a_name(&self) -> bool {
        self.columns.iter().all(|column| column.name == "name")
    }

    /// The row as an entry of this name.
    pub(super) fn called<T>(&self, name: String, span: Span, value: T) -> Entry<T> {
        Entry {
            name,
            span,
            columns: self.columns.iter().map(|column| (column.name, column.span)).collect(),
            value,
            semantics: self.text("semantics").unwrap_or_default(),
            notes: self.notes.clone(),
        }
    }

    /// The labels of notes on an element: `noteReferences` in 2025, `notes` in 2010.
    fn take_notes(&mut self, reader: &mut Reader, node: Node<'_, '_>) {
        for attribute in node.attributes() {
            if !["noteReferences", "notes"].contains(&attribute.name()) {
                continue;
            }
            let span = Span::from(attribute.range_value());
            for label in attribute.value().split_whitespace() {
                self.notes.extend(reader.refer(Target::Note, label.to_owned(), span));
            }
        }
    }
}

/// The beginning of an element: its tag without attributes.
pub(super) fn tag(node: Node<'_, '_>) -> Span {
    let start = node.range().start;
    (start..start + 1 + node.tag_name().name().len()).into()
}

/// The text of an element, without space around it.
fn text(node: Node<'_, '_>) -> String {
    let parts: Vec<&str> = node.children().filter_map(|child| child.text()).collect();
    // Comments are children too, and have text.
    if node.children().any(|child| child.is_comment()) {
        let parts: String =
            node.children().filter(Node::is_text).filter_map(|child| child.text()).collect();
        return parts.trim().to_owned();
    }
    parts.concat().trim().to_owned()
}

/// Where the text of an element stands, without space around it.
fn text_span(source: &Source, node: Node<'_, '_>) -> Span {
    let mut ranges = node.children().filter(Node::is_text).map(|child| child.range());
    let Some(first) = ranges.next() else { return tag(node) };
    let end = ranges.next_back().map_or(first.end, |last| last.end);
    let piece = &source.text[first.start..end];
    let start = first.start + (piece.len() - piece.trim_start().len());
    (start..start + piece.trim().len()).into()
}
