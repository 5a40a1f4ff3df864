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

impl Columns for Datatype {
    fn merge(&mut self, other: &Self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        let c = &mut clashes;
        match (self, other) {
            // The interpretation of the bits is prose.
            (
                Self::Basic { size, endian, .. },
                Self::Basic { size: size2, endian: endian2, .. },
            ) => {
                column(c, "size", size, size2);
                column(c, "endian", endian, endian2);
            }
            (
                Self::Simple { representation, units, resolution, accuracy },
                Self::Simple {
                    representation: representation2,
                    units: units2,
                    resolution: resolution2,
                    accuracy: accuracy2,
                },
            ) => {
                column(c, "representation", representation, representation2);
                column(c, "units", units, units2);
                column(c, "resolution", resolution, resolution2);
                column(c, "accuracy", accuracy, accuracy2);
            }
            (
                Self::Reference { representation, class, attribute },
                Self::Reference {
                    representation: representation2,
                    class: class2,
                    attribute: attribute2,
                },
            ) => {
                column(c, "representation", representation, representation2);
                column(c, "referenceClass", class, class2);
                column(c, "referencedAttribute", attribute, attribute2);
            }
            (
                Self::Enumerated { representation, enumerators },
                Self::Enumerated { representation: representation2, enumerators: enumerators2 },
            ) => {
                column(c, "representation", representation, representation2);
                // Any module may add enumerators.
                let mut new: BTreeMap<&str, &Enumerator> =
                    enumerators2.iter().map(|two| (two.name.as_str(), two)).collect();
                for one in enumerators.iter() {
                    if let Some(two) = new.remove(one.name.as_str())
                        && one.values != two.values
                    {
                        let (first, second) = (one.values.join(", "), two.values.join(", "));
                        c.push(clash("enumerator", &format!("{} ({first}; {second})", one.name)));
                    }
                }
                let new = enumerators2.iter().filter(|two| new.contains_key(two.name.as_str()));
                enumerators.extend(new.cloned());
            }
            (
                Self::Array { datatype, cardinality, encoding },
                Self::Array { datatype: datatype2, cardinality: cardinality2, encoding: encoding2 },
            ) => {
                column(c, "dataType", datatype, datatype2);
                column(c, "encoding", encoding, encoding2);
                if cardinality.is_empty() {
                    cardinality.clone_from(cardinality2);
                } else if !cardinality2.is_empty() && cardinality != cardinality2 {
                    c.push(clash("cardinality", ""));
                }
            }
            (
                Self::FixedRecord { encoding, include, fields },
                Self::FixedRecord { encoding: encoding2, include: include2, fields: fields2 },
            ) => {
                column(c, "encoding", encoding, encoding2);
                column(c, "include", include, include2);
                if fields.is_empty() {
                    fields.clone_from(fields2);
                } else if !fields2.is_empty() && fields != fields2 {
                    let differ = fields.iter().zip(fields2).find(|(one, two)| one != two);
                    c.push(clash("field", differ.map_or("", |(one, _)| &one.name)));
                }
            }
            (
                Self::VariantRecord { discriminant, datatype, alternatives, encoding },
                Self::VariantRecord {
                    discriminant: discriminant2,
                    datatype: datatype2,
                    alternatives: alternatives2,
                    encoding: encoding2,
                },
            ) => {
                column(c, "discriminant", discriminant, discriminant2);
                column(c, "dataType", datatype, datatype2);
                column(c, "encoding", encoding, encoding2);
                let extendable = encoding.as_deref() == Some(EXTENDABLE);
                if alternatives.is_empty() {
                    alternatives.clone_from(alternatives2);
                    return clashes;
                }
                if !extendable && !alternatives2.is_empty() && alternatives != alternatives2 {
                    c.push(clash("alternative", ""));
                    return clashes;
                }
                // Two alternatives are the same if an enumerator chooses both.
                let mut by_enumerator: BTreeMap<&str, (usize, &Alternative)> = BTreeMap::new();
                let mut new = Vec::new();
                for (at, one) in alternatives.iter().enumerate() {
                    for name in &one.enumerators {
                        by_enumerator.entry(name).or_insert((at, one));
                    }
                }
                for two in alternatives2 {
                    let chosen = two.enumerators.iter();
                    let same = chosen.filter_map(|name| by_enumerator.get(name.as_str()));
                    match same.min_by_key(|(at, _)| *at) {
                        Some((_, one)) if *one == two => {}
                        Some(_) => c.push(clash("alternative", &two.enumerators.join(", "))),
                        None => {
                            for name in &two.enumerators {
                                by_enumerator.insert(name, (alternatives.len() + new.len(), two));
                            }
                            new.push(two.clone());
                        }
                    }
                }
                alternatives.extend(new);
            }
            (one, two) => {
                let part = format!("{}, {}", one.kind(), two.kind());
                c.push(clash("kind", &part));
            }
        }
        clashes
    }
}
