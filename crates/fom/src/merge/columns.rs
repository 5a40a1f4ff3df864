//! How the declarations of two modules for the same name are merged, or clash.
//!
//! A missing column is filled in from the other module; a column that both have must be equal. Prose is not compared.

use std::collections::BTreeMap;

use crate::module::{
    Alternative, Attribute, Datatype, DatatypeColumns, Dimension, DirectedInteraction, Enumerator,
    InteractionClassColumns, Note, ObjectClassColumns, Parameter, SwitchSetting,
    SynchronizationPoint, Transportation, UpdateRate,
};

/// The encoding of variant records to which other modules may add alternatives.
pub(crate) const EXTENDABLE: &str = "HLAextendableVariantRecord";

/// A column in which two modules contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    /// The name of the column's element.
    pub(super) column: &'static str,
    /// The part of the column that clashes; empty for a column without parts.
    pub(super) part: String,
}

/// The columns of an entry.
pub(super) trait Columns: Clone {
    /// Merges the columns of another module for the same name, and returns those that clash; they stay unchanged.
    fn merge(&mut self, other: &Self) -> Vec<Clash>;
}

/// Fills in a missing column, or notes a clash.
fn column<T: PartialEq + Clone>(
    clashes: &mut Vec<Clash>,
    name: &'static str,
    mine: &mut Option<T>,
    other: &Option<T>,
) {
    match (&mine, other) {
        (None, _) => mine.clone_from(other),
        (Some(one), Some(two)) if one != two => {
            clashes.push(Clash { column: name, part: String::new() });
        }
        _ => {}
    }
}

fn add_names(mine: &mut Vec<String>, other: &[String]) {
    mine.extend_from_slice(other);
    mine.sort();
    mine.dedup();
}

macro_rules! columns {
    ($($name:ident { $($field:ident $element:literal,)* } $(names $($list:ident)*)?;)*) => {$(
        impl Columns for $name {
            fn merge(&mut self, other: &Self) -> Vec<Clash> {
                #[allow(unused_mut, reason = "some entries have no column that can clash")]
                let mut clashes = Vec::new();
                $(column(&mut clashes, $element, &mut self.$field, &other.$field);)*
                $($(add_names(&mut self.$list, &other.$list);)*)?
                clashes
            }
        }
    )*};
}

columns! {
    // Another module may add dimensions to a class.
    ObjectClassColumns { sharing "sharing", } names dimensions;
    InteractionClassColumns {
        sharing "sharing",
        transportation "transportation",
        order "order",
    } names dimensions;
    Attribute {
        datatype "dataType",
        update_type "updateType",
        value_required "valueRequired",
        ownership "ownership",
        sharing "sharing",
        transportation "transportation",
        order "order",
    } names dimensions;
    Parameter { datatype "dataType", };
    DirectedInteraction { sharing "sharing", };
    Dimension { datatype "dataType", upper_bound "upperBound", };
    DatatypeColumns { datatype "dataType", };
    SynchronizationPoint { datatype "dataType", capability "capability", };
    Transportation { reliable "reliable", };
    UpdateRate { rate "rate", };
}

impl Columns for Note {
    fn merge(&mut self, _other: &Self) -> Vec<Clash> {
        // Labels of notes are local to their module.
        Vec::new()
    }
}

impl Columns for SwitchSetting {
    fn merge(&mut self, other: &Self) -> Vec<Clash> {
        if self == other { Vec::new() } else { vec![clash("isEnabled", "")] }
    }
}

fn clash(column: &'static str, part: &str) -> Clash {
    Clash { column, part: part.to_owned() }
}

/// Merges the columns of two data types of the same kind that are only filled in.
macro_rules! filled_in {
    ($clashes:ident, $mine:ident, $other:ident: $($kind:ident { $($field:ident $element:literal,)* })*) => {$($(
        if let (Datatype::$kind { $field: mine, .. }, Datatype::$kind { $field: other, .. }) = (&mut *$mine, $other) {
            column($clashes, $element, mine, other);
        }
    )*)*};
}

impl Columns for Datatype {
    fn merge(&mut self, other: &Self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        let c = &mut clashes;
        filled_in! {
            c, self, other:
            // The interpretation of the bits is prose.
            Basic { size "size", endian "endian", }
            Simple {
                representation "representation", units "units", resolution "resolution", accuracy "accuracy",
            }
            Reference {
                representation "representation", class "referenceClass", attribute "referencedAttribute",
            }
            Enumerated { representation "representation", }
            Array { datatype "dataType", encoding "encoding", }
            FixedRecord { encoding "encoding", include "include", }
            VariantRecord { discriminant "discriminant", datatype "dataType", encoding "encoding", }
        }
        match (self, other) {
            (
                Self::Enumerated { enumerators: mine, .. },
                Self::Enumerated { enumerators: other, .. },
            ) => merge_enumerators(c, mine, other),
            (Self::Array { cardinality: mine, .. }, Self::Array { cardinality: other, .. }) => {
                fill_list(c, "cardinality", mine, other, |_| "");
            }
            (Self::FixedRecord { fields: mine, .. }, Self::FixedRecord { fields: other, .. }) => {
                fill_list(c, "field", mine, other, |field| &field.name);
            }
            (
                Self::VariantRecord { alternatives: mine, encoding, .. },
                Self::VariantRecord { alternatives: other, .. },
            ) => {
                if encoding.as_deref() == Some(EXTENDABLE) && !mine.is_empty() {
                    merge_alternatives(c, mine, other);
                } else {
                    fill_list(c, "alternative", mine, other, |_| "");
                }
            }
            (one, two) if one.kind() != two.kind() => {
                c.push(clash("kind", &format!("{}, {}", one.kind(), two.kind())));
            }
            _ => {}
        }
        clashes
    }
}

/// Fills in an empty list, or notes a clash. `part` names the first element that differs.
fn fill_list<T: PartialEq + Clone>(
    clashes: &mut Vec<Clash>,
    column: &'static str,
    mine: &mut Vec<T>,
    other: &[T],
    part: impl Fn(&T) -> &str,
) {
    if mine.is_empty() {
        mine.extend_from_slice(other);
    } else if !other.is_empty() && mine != other {
        let differ = mine.iter().zip(other).find(|(one, two)| one != two);
        clashes.push(clash(column, differ.map_or("", |(one, _)| part(one))));
    }
}

/// Adds enumerators: any module may.
fn merge_enumerators(clashes: &mut Vec<Clash>, mine: &mut Vec<Enumerator>, other: &[Enumerator]) {
    let mut new: BTreeMap<&str, &Enumerator> =
        other.iter().map(|two| (two.name.as_str(), two)).collect();
    for one in mine.iter() {
        if let Some(two) = new.remove(one.name.as_str())
            && one.values != two.values
        {
            let (first, second) = (one.values.join(", "), two.values.join(", "));
            clashes.push(clash("enumerator", &format!("{} ({first}; {second})", one.name)));
        }
    }
    mine.extend(other.iter().filter(|two| new.contains_key(two.name.as_str())).cloned());
}

/// Adds alternatives. Two are the same if an enumerator chooses both.
fn merge_alternatives(
    clashes: &mut Vec<Clash>,
    mine: &mut Vec<Alternative>,
    other: &[Alternative],
) {
    let mut by_enumerator: BTreeMap<&str, (usize, &Alternative)> = BTreeMap::new();
    let mut new = Vec::new();
    for (at, one) in mine.iter().enumerate() {
        for name in &one.enumerators {
            by_enumerator.entry(name).or_insert((at, one));
        }
    }
    for two in other {
        let same = two.enumerators.iter().filter_map(|name| by_enumerator.get(name.as_str()));
        match same.min_by_key(|(at, _)| *at) {
            Some((_, one)) if *one == two => {}
            Some(_) => clashes.push(clash("alternative", &two.enumerators.join(", "))),
            None => {
                for name in &two.enumerators {
                    by_enumerator.insert(name, (mine.len() + new.len(), two));
                }
                new.push(two.clone());
            }
        }
    }
    mine.extend(new);
}
