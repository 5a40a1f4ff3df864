//! An oracle for encodings: whether bytes are a value of a data type, as the object model defines it.

use hemiola_fom::Model;
use hemiola_fom::module::{Cardinality, Datatype};

/// Checks that bytes are exactly one value of this data type (IEEE 1516.2, encoding of data types).
pub(super) fn check(model: &Model, datatype: &str, bytes: &[u8]) {
    let end = walk(model, datatype, bytes, 0);
    assert_eq!(end, bytes.len(), "{datatype}: {bytes:?}");
}

/// Returns the number of bytes to whose multiples a value is aligned.
fn boundary(model: &Model, datatype: &str) -> usize {
    let name = |name: &Option<String>| name.clone().expect("the standard module is complete");
    match model.datatype(datatype).unwrap_or_else(|| panic!("{datatype}")) {
        Datatype::Basic { size, .. } => size.unwrap() as usize / 8,
        Datatype::Simple { representation, .. }
        | Datatype::Reference { representation, .. }
        | Datatype::Enumerated { representation, .. } => boundary(model, &name(representation)),
        Datatype::Array { datatype, encoding, .. } => {
            let element = boundary(model, &name(datatype));
            if encoding.as_deref() == Some("HLAvariableArray") { element.max(4) } else { element }
        }
        Datatype::FixedRecord { fields, .. } => {
            let of_fields = fields.iter().map(|one| boundary(model, &name(&one.datatype)));
            of_fields.max().unwrap_or(1)
        }
        Datatype::VariantRecord { .. } => unreachable!("the standard module has none"),
    }
}

/// Returns where a value ends that begins at `at` or after its padding.
fn walk(model: &Model, datatype: &str, bytes: &[u8], at: usize) -> usize {
    let at = at.next_multiple_of(boundary(model, datatype));
    let name = |name: &Option<String>| name.clone().expect("the standard module is complete");
    match model.datatype(datatype).unwrap() {
        Datatype::Basic { size, .. } => {
            let end = at + size.unwrap() as usize / 8;
            assert!(end <= bytes.len(), "{datatype} at {at} of {bytes:?}");
            end
        }
        Datatype::Simple { representation, .. } | Datatype::Reference { representation, .. } => {
            walk(model, &name(representation), bytes, at)
        }
        Datatype::Enumerated { representation, enumerators } => {
            let end = walk(model, &name(representation), bytes, at);
            let value =
                bytes[at..end].iter().fold(0_i64, |value, byte| value << 8 | i64::from(*byte));
            let values = enumerators.iter().flat_map(|one| &one.values);
            let mut values = values.map(|value| value.parse::<i64>().unwrap());
            assert!(values.any(|one| one == value), "{datatype} has no value {value}");
            end
        }
        Datatype::Array { datatype, cardinality, encoding } => {
            let (count, mut end) = if encoding.as_deref() == Some("HLAvariableArray") {
                let count = bytes[at..at + 4].try_into().map(u32::from_be_bytes).unwrap();
                (count as usize, at + 4)
            } else {
                let [Cardinality::Exactly(count)] = cardinality[..] else {
                    panic!("{cardinality:?}")
                };
                (count as usize, at)
            };
            for _ in 0..count {
                end = walk(model, &name(datatype), bytes, end);
            }
            end
        }
        Datatype::FixedRecord { fields, .. } => {
            fields.iter().fold(at, |end, one| walk(model, &name(&one.datatype), bytes, end))
        }
        Datatype::VariantRecord { .. } => unreachable!("the standard module has none"),
    }
}
