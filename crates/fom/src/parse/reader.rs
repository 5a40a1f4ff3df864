//! Reads what all tables have in common: rows with columns, enumerated values, names, and problems with them.

use std::sync::Arc;

use hemiola_diagnostic::nearest;
use roxmltree::Node;

use crate::limits::{FULL_NAMES_LEN_MAX, PROBLEMS_MAX};
use crate::module::{Entry, Reference, Target};
use crate::problem::{Place, Problem, ProblemKind, Source, Span};
use crate::word::INFORMATIVE;

/// Reads the rows of one module and collects their problems and references.
pub(super) struct Reader {
    source: Arc<Source>,
    namespace: Option<String>,
    problems: Vec<Problem>,
    /// Whether one of the problems is fatal.
    is_rejected: bool,
    references: Vec<Reference>,
    /// The first column that is written as an XML attribute, its place, and the number of such columns.
    attributes: Option<(Span, &'static str, usize)>,
    /// The length of the full names that classes and their members may still have.
    full_names_left: usize,
}

/// An element whose children are columns with text, and possibly further elements.
pub(super) struct Row<'d> {
    node: Node<'d, 'd>,
    /// The columns that are not empty.
    columns: Vec<Column>,
    /// The other elements, in order.
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
        Self {
            source,
            namespace,
            problems: Vec::new(),
            is_rejected: false,
            references: Vec::new(),
            attributes: None,
            full_names_left: FULL_NAMES_LEN_MAX,
        }
    }

    /// Counts the full names of a class and its members against the limit. Returns `false`, and reports it once, if
    /// they exceed it.
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
            self.problem(ProblemKind::Invalid, class.span, message, "use shorter names");
        }
        false
    }

    pub(super) fn finish(mut self) -> (Vec<Reference>, Vec<Problem>) {
        if let Some((span, name, count)) = self.attributes {
            let message = match count {
                1 => format!("this {name} is an XML attribute"),
                _ => format!("this {name} and {} more columns are XML attributes", count - 1),
            };
            let hint = format!("write it as an element: <{name}>…</{name}>");
            self.problem(ProblemKind::Irregular, span, message, &hint);
        }
        (self.references, self.problems)
    }

    /// Adds a problem at a place. The first fatal one is added even if there are too many others, because it decides
    /// whether the module is rejected.
    pub(super) fn problem(&mut self, kind: ProblemKind, span: Span, message: String, hint: &str) {
        let decides = kind.exception().is_some() && !std::mem::replace(&mut self.is_rejected, true);
        if decides || self.problems.len() < PROBLEMS_MAX {
            let place = Place { source: Arc::clone(&self.source), span };
            self.problems.push(Problem::new(kind, message).at(place, "").hint(hint));
        }
    }

    /// Returns the elements inside another element. Elements of other namespaces are extensions and skipped. An unknown
    /// element that looks like a misspelling is an error; any other may belong to a later edition and is a warning.
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
            // Looking for what was meant takes time, and is of no use when enough has been reported.
            if self.is_rejected && self.problems.len() >= PROBLEMS_MAX {
                continue;
            }
            let parent = node.tag_name().name();
            if let Some(near) = nearest(name, allowed.iter().copied()) {
                let message = format!("<{name}> is not allowed in <{parent}>");
                let hint = format!("did you mean <{near}>?");
                self.problem(ProblemKind::Invalid, tag(child), message, &hint);
            } else {
                let message = format!("<{name}> in <{parent}> is unknown and ignored");
                self.problem(ProblemKind::Doubtful, tag(child), message, "");
            }
        }
        found
    }

    /// Reads an element as a row. Each element of `columns` holds text and occurs once; `inner` lists the other
    /// elements.
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
                let message = format!("<{name}> occurs twice in <{}>", node.tag_name().name());
                self.problem(ProblemKind::Invalid, tag(child), message, "");
                continue;
            }
            seen.push(name);
            let text = text(child);
            if !text.is_empty() {
                row.columns.push(Column { name, text, span: text_span(&self.source, child) });
            }
        }
        self.take_attributes(node, columns, &mut row);
        self.refuse_attributes(node, inner);
        row
    }

    /// Takes the columns that are written as XML attributes, as the edition of 2000 had them.
    fn take_attributes(&mut self, node: Node<'_, '_>, columns: &[&'static str], row: &mut Row<'_>) {
        for attribute in node.attributes() {
            let (text, span) = (attribute.value().trim(), Span::from(attribute.range_value()));
            let name = columns.iter().find(|name| **name == attribute.name());
            if let Some(name) = name.filter(|name| row.column(name).is_none() && !text.is_empty()) {
                row.columns.push(Column { name, text: text.to_owned(), span });
                self.attributes.get_or_insert((span, *name, 0)).2 += 1;
            }
        }
    }

    /// Reports lists that are written as XML attributes, which are not read.
    fn refuse_attributes(&mut self, node: Node<'_, '_>, lists: &[&str]) {
        for attribute in node.attributes().filter(|attribute| lists.contains(&attribute.name())) {
            if !["", "NA"].contains(&attribute.value().trim()) {
                let name = attribute.name();
                let message =
                    format!("the {name} of <{}> are an XML attribute", node.tag_name().name());
                let hint = format!("write them as elements in <{name}>");
                let span = attribute.range_value().into();
                self.problem(ProblemKind::Invalid, span, message, &hint);
            }
        }
    }

    /// Reports each of these columns that the row lacks and that a federation does not need.
    pub(super) fn require(&mut self, row: &Row<'_>, columns: &[&str]) {
        for column in columns.iter().filter(|column| row.column(column).is_none()) {
            self.lacks(row, column);
        }
    }

    /// Reports that the row lacks an element that a federation does not need.
    pub(super) fn lacks(&mut self, row: &Row<'_>, element: &str) {
        let of = row.text("name").map(|name| format!(" {name}")).unwrap_or_default();
        let message = format!("<{}>{of} has no <{element}>", row.node.tag_name().name());
        self.problem(ProblemKind::Irregular, row.span("name"), message, "");
    }

    /// Returns the text of an element and its place; `None` if it is empty.
    pub(super) fn text(&self, node: Node<'_, '_>) -> Option<(String, Span)> {
        let text = text(node);
        (!text.is_empty()).then(|| (text, text_span(&self.source, node)))
    }

    /// Reads a column with an enumerated value. Wrong case is a warning; an undefined value is an error, which is fatal
    /// where the RTI acts upon the column.
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
            let name = near.expect("it was just found");
            let message = format!("{text} should be written {name}");
            self.problem(ProblemKind::Doubtful, *span, message, "");
            return Some(word);
        }
        let message = format!("{text} is not a valid {column}");
        let is_informative = INFORMATIVE.contains(&column);
        let kind = if is_informative { ProblemKind::Irregular } else { ProblemKind::Invalid };
        self.problem(kind, *span, message, &format!("one of: {}", names.join(", ")));
        None
    }

    /// Reads a Boolean column.
    pub(super) fn truth(&mut self, row: &Row<'_>, column: &str) -> Option<bool> {
        const NAMES: &[&str] = &["true", "false", "1", "0", "Yes", "No"];
        self.word(row, column, NAMES, |text| match text {
            "true" | "1" | "Yes" => Some(true),
            "false" | "0" | "No" => Some(false),
            _ => None,
        })
    }

    /// Reads a column with a number.
    pub(super) fn number<T: std::str::FromStr>(
        &mut self,
        row: &Row<'_>,
        column: &str,
        what: &str,
    ) -> Option<T> {
        let Column { text, span, .. } = row.column(column)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.problem(ProblemKind::Invalid, *span, format!("{text} is not a {what}"), "");
        }
        number
    }

    /// Reads a column with the name of something else; `None` for `NA`.
    pub(super) fn reference(
        &mut self,
        row: &Row<'_>,
        column: &str,
        target: Target,
    ) -> Option<String> {
        let Column { text, span, .. } = row.column(column)?;
        self.refer(target, text.clone(), *span)
    }

    /// Adds a reference by name; `None` for `NA`.
    pub(super) fn refer(&mut self, target: Target, name: String, span: Span) -> Option<String> {
        if ["NA", "N/A", "na"].contains(&name.as_str()) {
            return None;
        }
        self.references.push(Reference { target, name: name.clone(), span });
        Some(name)
    }

    /// Returns the names of dimensions in a `<dimensions>`.
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

    /// Returns the row as an entry with the name in its column `name`. Reports a missing or invalid name.
    pub(super) fn entry<T>(&mut self, row: &Row<'_>, name: &str, value: T) -> Option<Entry<T>> {
        let element = row.node.tag_name().name();
        let Some(Column { text, span, .. }) = row.column(name) else {
            self.problem(
                ProblemKind::Invalid,
                tag(row.node),
                format!("<{element}> has no <{name}>"),
                "",
            );
            return None;
        };
        if name == "name" && text.contains(|c: char| c == '.' || c.is_whitespace()) {
            let message = format!("the name {text:?} contains a full stop or a space");
            self.problem(ProblemKind::Invalid, *span, message, "use letters, digits, - and _");
            return None;
        }
        Some(row.named(text.clone(), *span, value))
    }
}

impl<'d> Row<'d> {
    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the elements with this name that are not columns.
    pub(super) fn all(&self, name: &str) -> Vec<Node<'d, 'd>> {
        self.inner.iter().filter(|node| node.tag_name().name() == name).copied().collect()
    }

    /// Returns the text of a column, if it is not empty.
    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.column(column).map(|column| column.text.clone())
    }

    /// Returns the place of a column, or of the row's tag if the column is missing.
    pub(super) fn span(&self, column: &str) -> Span {
        self.column(column).map_or_else(|| tag(self.node), |column| column.span)
    }

    /// Whether the row has no column but its name.
    pub(super) fn is_only_a_name(&self) -> bool {
        self.columns.iter().all(|column| column.name == "name")
    }

    /// Returns the row as an entry with this name.
    pub(super) fn named<T>(&self, name: String, span: Span, value: T) -> Entry<T> {
        Entry {
            name,
            span,
            columns: self.columns.iter().map(|column| (column.name, column.span)).collect(),
            value,
            semantics: self.text("semantics").unwrap_or_default(),
            notes: self.notes.clone(),
        }
    }

    /// Takes the labels of notes on an element: `noteReferences` in 2025, `notes` in 2010.
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

/// Returns the place of an element's tag, without attributes.
pub(super) fn tag(node: Node<'_, '_>) -> Span {
    let start = node.range().start;
    (start..start + 1 + node.tag_name().name().len()).into()
}

/// Returns the text of an element, trimmed.
fn text(node: Node<'_, '_>) -> String {
    let parts: Vec<&str> = node.children().filter_map(|child| child.text()).collect();
    // Comments are children with text, too.
    if node.children().any(|child| child.is_comment()) {
        let parts: String =
            node.children().filter(Node::is_text).filter_map(|child| child.text()).collect();
        return parts.trim().to_owned();
    }
    parts.concat().trim().to_owned()
}

/// Returns the place of an element's text, trimmed.
fn text_span(source: &Source, node: Node<'_, '_>) -> Span {
    let mut ranges = node.children().filter(Node::is_text).map(|child| child.range());
    let Some(first) = ranges.next() else { return tag(node) };
    let end = ranges.next_back().map_or(first.end, |last| last.end);
    let piece = &source.text[first.start..end];
    let start = first.start + (piece.len() - piece.trim_start().len());
    (start..start + piece.trim().len()).into()
}
