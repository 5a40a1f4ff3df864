//! How two things that modules say about the same name become one, or clash.
//!
//! What is not said is filled in by who says it; what both say has to be the same. Prose is not compared.

use crate::module::{
    Attribute, Datatype, Datatyped, Dimension, DirectedInteraction, InteractionClassColumns, Note,
    ObjectClassColumns, Parameter, Position, SynchronizationPoint, Transportation, UpdateRate,
};

/// The encoding of variant records that other modules may add alternatives to.
pub(crate) const EXTENDABLE: &str = "HLAextendableVariantRecord";

/// A column in which two modules contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    /// The name of its element.
    pub(super) column: &'static str,
    /// Which part of it, if it has parts.
    pub(super) part: String,
}

/// The columns of an entry.
pub(super) trait Columns: Clone {
    /// Takes over what another module says about the same name, and gives the columns in which it says something
    /// else; there, this one stays as it is.
    fn unite(&mut self, other: &Self) -> Vec<Clash>;
}

/// Fills a column in, or notes the clash.
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
            fn unite(&mut self, other: &Self) -> Vec<Clash> {
                #[allow(unused_mut, reason = "some have no column that can clash")]
                let mut clashes = Vec::new();
                $(column(&mut clashes, $element, &mut self.$field, &other.$field);)*
                $($(add_names(&mut self.$list, &other.$list);)*)?
                clashes
            }
        }
    )*};
}

columns! {
    // A class may get further dimensions from another module.
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
    Datatyped { datatype "dataType", };
    SynchronizationPoint { datatype "dataType", capability "capability", };
    Transportation { reliable "reliable", };
    UpdateRate { rate "rate", };
}

impl Columns for Note {
    fn unite(&mut self, _other: &Self) -> Vec<Clash> {
        // Labels are a module's own.
        Vec::new()
    }
}

impl Columns for Position {
    fn unite(&mut self, other: &Self) -> Vec<Clash> {
        if self == other { Vec::new() } else { vec![clash("isEnabled", "")] }
    }
}

fn clash(column: &'static str, part: &str) -> Clash {
    Clash { column, part: part.to_owned() }
}

impl Columns for Datatype {
    fn unite(&mut self, other: &Self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        let c = &mut clashes;
        match (self, other) {
            // How the bits are to be read is prose.
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
                // Further enumerators may come from any module.
                for two in enumerators2 {
                    match enumerators.iter().find(|one| one.name == two.name) {
                        None => enumerators.push(two.clone()),
                        Some(one) if one.values != two.values => {
                            let (one, other) = (one.values.join(", "), two.values.join(", "));
                            c.push(clash("enumerator", &format!("{} ({one}; {other})", two.name)));
                        }
                        Some(_) => {}
                    }
                }
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
                for two in alternatives2 {
                    // Alternatives are told apart by what chooses them.
                    let chosen = |name: &String| two.enumerators.contains(name);
                    match alternatives.iter().find(|one| one.enumerators.iter().any(chosen)) {
                        Some(one) if one == two => {}
                        None => alternatives.push(two.clone()),
                        Some(_) => c.push(clash("alternative", &two.enumerators.join(", "))),
                    }
                }
            }
            (one, two) => {
                let part = format!("{}, {}", one.kind(), two.kind());
                c.push(clash("kind", &part));
            }
        }
        clashes
    }
}
