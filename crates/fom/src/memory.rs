//! Estimates of the memory that modules and models take, so that they can be limited before memory runs out.
//!
//! The estimates follow from sizes and numbers of entries only, so they are the same on every run.
//! `tests/allocation.rs` compares them with an allocator that counts.

use std::collections::BTreeMap;
use std::mem::{size_of, size_of_val};
use std::sync::Arc;

use crate::mim;
use crate::model::{Attribute, InteractionClass, Model, Named, ObjectClass, Parameter};
use crate::module::{self, Alternative, Datatype, Entry, Enumerator, Field, Module, Reference};

/// Bytes of a node of a parsed XML document. The parser reserves one for each `<`.
const NODE_LEN: usize = 80;
/// Bytes of an attribute of a parsed XML document. The parser reserves one for each `=`.
const ATTRIBUTE_LEN: usize = 72;

/// Returns the memory of the XML document that this text is parsed into, in bytes.
pub(crate) fn document(text: &str) -> usize {
    let (mut nodes, mut attributes) = (0, 0);
    for byte in text.bytes() {
        nodes += usize::from(byte == b'<');
        attributes += usize::from(byte == b'=');
    }
    nodes * NODE_LEN + attributes * ATTRIBUTE_LEN
}

/// Returns the most memory that reading a module takes besides its text, in bytes. With the document, of this length,
/// there is the module that is made from it, whose lists grow by doubling; and an archive's text is there twice.
pub(crate) const fn reading(text: &str, document: usize) -> usize {
    text.len() + 3 * document
}

/// Returns the most memory that reading modules of this length of text can take besides the text, in bytes. It is that
/// of text in which each byte begins an element, so text that is no XML is within it, too.
#[must_use]
pub const fn memory_while_reading_max(text_len: usize) -> usize {
    const { assert!(ATTRIBUTE_LEN <= NODE_LEN, "no byte takes more than one that begins an element") };
    text_len.saturating_mul(1 + 3 * NODE_LEN)
}

/// Returns the most memory that merging new modules with a model takes, in bytes: the new modules, the tables of all
/// modules, and the model that is made from them.
#[must_use]
pub fn memory_while_merging<'m>(
    new: impl Iterator<Item = &'m Arc<Module>>,
    before: Option<&Model>,
) -> usize {
    const LEAST: usize = 256 << 10;
    let known = before.map_or(&[][..], |model| model.modules());
    let known = known.iter().filter(|module| !mim::is_standard(module));
    let known: usize = known.map(|one| module(one)).sum();
    let new: usize = new.map(|one| module(one)).sum();
    LEAST + new + (known + new) / 4 * 7
}

/// Bytes that an allocation of this length takes.
const fn block(len: usize) -> usize {
    const HEADER_LEN: usize = 8;
    const ALIGNMENT: usize = 16;
    if len == 0 { 0 } else { (len + HEADER_LEN).next_multiple_of(ALIGNMENT) }
}

fn list<T>(count: usize) -> usize {
    block(count * size_of::<T>())
}

fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    texts.into_iter().map(|text| block(text.len())).sum()
}

/// Bytes of the nodes of a map that was filled in the order of its keys.
fn map<K, V>(count: usize) -> usize {
    const NODE_CAPACITY: usize = 11;
    let nodes = match count {
        0 => 0,
        1..=NODE_CAPACITY => 1,
        // A node that overflows leaves about half of its entries behind.
        more => more.div_ceil(6),
    };
    nodes * block(NODE_CAPACITY * (size_of::<K>() + size_of::<V>()) + 2 * size_of::<usize>())
}

fn entry<T>(entry: &Entry<T>) -> usize {
    size_of::<Entry<T>>() + inside(entry)
}

/// Bytes that an entry refers to.
fn inside<T>(entry: &Entry<T>) -> usize {
    let strings = [&entry.name, &entry.semantics];
    let columns = list::<(&str, crate::problem::Span)>(entry.columns.len());
    texts(strings) + columns + list::<String>(entry.notes.len()) + texts(&entry.notes)
}

fn entries<T>(table: &[Entry<T>], value: impl Fn(&T) -> usize) -> usize {
    table.iter().map(|one| entry(one) + value(&one.value)).sum()
}

fn datatype(datatype: &Datatype) -> usize {
    let names = |names: &[&Option<String>]| texts(names.iter().copied().flatten());
    match datatype {
        Datatype::Basic { interpretation, encoding, .. } => names(&[interpretation, encoding]),
        Datatype::Simple { representation, units, resolution, accuracy } => {
            names(&[representation, units, resolution, accuracy])
        }
        Datatype::Reference { representation, class, attribute } => {
            names(&[representation, class, attribute])
        }
        Datatype::Enumerated { representation, enumerators } => {
            let one = |one: &Enumerator| {
                let strings = texts(&one.values) + block(one.name.len());
                size_of::<Enumerator>() + list::<String>(one.values.len()) + strings
            };
            names(&[representation]) + enumerators.iter().map(one).sum::<usize>()
        }
        Datatype::Array { datatype, cardinality, encoding } => {
            names(&[datatype, encoding]) + block(size_of_val(&cardinality[..]))
        }
        Datatype::FixedRecord { encoding, include, fields } => {
            let one =
                |one: &Field| size_of::<Field>() + block(one.name.len()) + names(&[&one.datatype]);
            names(&[encoding, include]) + fields.iter().map(one).sum::<usize>()
        }
        Datatype::VariantRecord { discriminant, datatype, alternatives, encoding } => {
            let one = |one: &Alternative| {
                let chosen = list::<String>(one.enumerators.len()) + texts(&one.enumerators);
                let name = block(one.name.len());
                size_of::<Alternative>() + chosen + name + names(&[&one.datatype])
            };
            let parts = alternatives.iter().map(one).sum::<usize>();
            names(&[discriminant, datatype, encoding]) + parts
        }
    }
}

/// Gives back the memory that the lists of a module have reserved for more entries: often three quarters.
pub(crate) fn shrink(module: &mut Module) {
    for class in &mut module.object_classes {
        class.attributes.shrink_to_fit();
        class.directed_interactions.shrink_to_fit();
    }
    module.interaction_classes.iter_mut().for_each(|class| class.parameters.shrink_to_fit());
    for entry in &mut module.datatypes {
        match &mut entry.value {
            Datatype::Enumerated { enumerators, .. } => {
                enumerators.shrink_to_fit();
                enumerators.iter_mut().for_each(|one| one.values.shrink_to_fit());
            }
            Datatype::FixedRecord { fields, .. } => fields.shrink_to_fit(),
            Datatype::VariantRecord { alternatives, .. } => {
                alternatives.shrink_to_fit();
                alternatives.iter_mut().for_each(|one| one.enumerators.shrink_to_fit());
            }
            _ => {}
        }
    }
    module.object_classes.shrink_to_fit();
    module.interaction_classes.shrink_to_fit();
    module.dimensions.shrink_to_fit();
    module.datatypes.shrink_to_fit();
    module.notes.shrink_to_fit();
    module.references.shrink_to_fit();
}

/// Returns the memory of a module with its text, in bytes.
pub(crate) fn module(module: &Module) -> usize {
    let name = |name: &Option<String>| texts(name);
    let object_classes: usize = (module.object_classes.iter())
        .map(|class| {
            let attributes = entries(&class.attributes, |one| {
                let names = [&one.datatype, &one.update_condition, &one.transportation];
                let dimensions = list::<String>(one.dimensions.len()) + texts(&one.dimensions);
                texts(names.into_iter().flatten()) + dimensions
            });
            let directed = entries(&class.directed_interactions, |_| 0);
            let dimensions = texts(&class.entry.value.dimensions);
            size_of_val(class) + inside(&class.entry) + dimensions + attributes + directed
        })
        .sum();
    let interaction_classes: usize = (module.interaction_classes.iter())
        .map(|class| {
            let parameters = entries(&class.parameters, |one| name(&one.datatype));
            let columns = &class.entry.value;
            let names = name(&columns.transportation) + texts(&columns.dimensions);
            size_of_val(class) + inside(&class.entry) + names + parameters
        })
        .sum();
    let small = entries(&module.dimensions, |one| {
        texts([&one.datatype, &one.normalization, &one.default].into_iter().flatten())
    }) + entries(&module.time, |one| name(&one.datatype))
        + entries(&module.tags, |one| name(&one.datatype))
        + entries(&module.synchronization_points, |one| name(&one.datatype))
        + entries(&module.transportations, |_| 0)
        + entries(&module.switches, |_| 0)
        + entries(&module.update_rates, |_| 0)
        + entries(&module.notes, |one| block(one.text.len()));
    let references =
        module.references.iter().map(|one| size_of::<Reference>() + block(one.name.len()));
    let identification = module.source.text.len() / 16;
    block(module.source.text.len())
        + object_classes
        + interaction_classes
        + small
        + entries(&module.datatypes, datatype)
        + references.sum::<usize>()
        + identification.min(1 << 10)
}

/// Returns the least memory that a model takes for the classes of a module, besides the module, in bytes. Classes that
/// the model `before` has take nothing more.
pub(crate) fn least_merged(module: &Module, before: Option<&Model>) -> usize {
    let object_classes = module.object_classes.iter().filter(|class| {
        let name = &class.entry.name;
        let is_known = || before.is_some_and(|model| model.object_class_named(name).is_some());
        !class.is_reference && !is_known()
    });
    let interaction_classes = module.interaction_classes.iter().filter(|class| {
        let name = &class.entry.name;
        let is_known = || before.is_some_and(|model| model.interaction_class_named(name).is_some());
        !class.is_reference && !is_known()
    });
    let object_class = |class: &module::ObjectClass| {
        let members = class.attributes.iter().map(|one| &one.name);
        size_of::<ObjectClass>() + class_of::<Attribute>(&class.entry.name, members)
    };
    let interaction_class = |class: &module::InteractionClass| {
        let members = class.parameters.iter().map(|one| &one.name);
        size_of::<InteractionClass>() + class_of::<Parameter>(&class.entry.name, members)
    };
    object_classes.map(object_class).sum::<usize>()
        + interaction_classes.map(interaction_class).sum::<usize>()
}

/// Bytes of a class in a model besides itself: of its name and its own members of this kind.
fn class_of<'m, M>(name: &str, members: impl ExactSizeIterator<Item = &'m String>) -> usize {
    let count = members.len();
    let tables = map::<String, u64>(count) + size_of::<BTreeMap<String, u64>>();
    // The name of a member is in two tables.
    block(name.len()) + tables + count * size_of::<M>() + 2 * texts(members)
}

/// Returns the memory of a model with its modules, in bytes. All models share the standard modules.
pub(crate) fn model(model: &Model) -> usize {
    let own = model.modules.iter().filter(|module| !mim::is_standard(module));
    let modules = own.map(|one| module(one));
    let object_classes =
        model.object_classes.iter().zip(&model.attribute_names).map(|(class, names)| {
            let lists = block(size_of_val(&class.children[..]))
                + block(size_of_val(&class.attributes[..]))
                + block(size_of_val(&class.dimensions[..]))
                + block(size_of_val(&class.directed_interactions[..]));
            let own = texts(names.keys()) + map::<String, u64>(names.len()) + size_of_val(names);
            size_of_val(class)
                + block(class.name.len())
                + block(class.semantics.len())
                + lists
                + own
        });
    let interaction_classes =
        model.interaction_classes.iter().zip(&model.parameter_names).map(|(class, names)| {
            let lists = block(size_of_val(&class.children[..]))
                + block(size_of_val(&class.parameters[..]))
                + block(size_of_val(&class.dimensions[..]));
            let own = texts(names.keys()) + map::<String, u64>(names.len()) + size_of_val(names);
            let texts = block(class.name.len()) + block(class.semantics.len());
            size_of_val(class) + texts + lists + own
        });
    let attributes = model.attributes.iter().map(|one| {
        let names = texts([&one.datatype, &one.update_condition].into_iter().flatten());
        size_of_val(one) + block(one.name.len()) + names + block(one.semantics.len())
    });
    let parameters = model
        .parameters
        .iter()
        .map(|one| size_of_val(one) + texts([&one.name, &one.semantics]) + texts(&one.datatype));
    let dimensions = model.dimensions.iter().map(|one| {
        let names = texts([&one.datatype, &one.normalization, &one.default].into_iter().flatten());
        size_of_val(one) + 2 * block(one.name.len()) + names
    });
    let datatypes = model
        .datatypes
        .iter()
        .map(|(name, one)| block(name.len()) + block(one.semantics.len()) + datatype(&one.value));
    let maps = block(size_of_val(&model.object_class_names[..]))
        + block(size_of_val(&model.interaction_class_names[..]))
        + map::<String, u64>(model.dimensions.len())
        + map::<String, Named<Datatype>>(model.datatypes.len());
    modules.sum::<usize>()
        + object_classes.sum::<usize>()
        + interaction_classes.sum::<usize>()
        + attributes.sum::<usize>()
        + parameters.sum::<usize>()
        + dimensions.sum::<usize>()
        + datatypes.sum::<usize>()
        + maps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_takes_more_to_read_than_one_that_begins_an_element_with_each_byte() {
        let memory = |text: &str| reading(text, document(text));
        let len = 1000;
        assert_eq!(memory(&"<".repeat(len)), memory_while_reading_max(len));
        for text in ["=".repeat(len), "<=".repeat(len / 2), "a".repeat(len)] {
            assert!(memory(&text) < memory_while_reading_max(len), "{text}");
        }
    }
}
