//! Tests with known and with arbitrary bytes.

use proptest::prelude::*;

use super::*;
use crate::{EncodedTime, FederateHandle, LogicalTime, ObjectInstanceHandle};

fn check<T: Element + PartialEq + std::fmt::Debug>(value: &T, bytes: &[u8]) {
    assert_eq!(encode(value), bytes, "{value:?}");
    assert_eq!(decode::<T>(bytes).as_ref(), Ok(value));
}

#[test]
fn basic_types_stand_as_their_names_say() {
    check(&HLAinteger16BE(258), &[1, 2]);
    check(&HLAinteger16LE(258), &[2, 1]);
    check(&HLAinteger32BE(-2), &[0xFF, 0xFF, 0xFF, 0xFE]);
    check(&HLAunsignedInteger64LE(1), &[1, 0, 0, 0, 0, 0, 0, 0]);
    check(&HLAfloat64BE(1.0), &[0x3F, 0xF0, 0, 0, 0, 0, 0, 0]);
    check(&HLAfloat32LE(1.0), &[0, 0, 0x80, 0x3F]);
    check(&HLAunicodeChar(0x20AC), &[0x20, 0xAC]);
    check(&HLAoctet(7), &[7]);
    check(&HLAboolean(true), &[0, 0, 0, 1]);
    assert_eq!(
        decode::<HLAboolean>(&[0, 0, 0, 2]),
        Err(DecodeError::Value { at: 0, datatype: "HLAboolean" })
    );
}

#[test]
fn text_counts_units() {
    let password = [0, 0, 0, 6, 0, 0x70, 0, 0xE4, 0, 0x73, 0, 0x73, 0, 0x77, 0, 0x64];
    check(&HLAunicodeString::from("pässwd"), &password);
    // A character above U+FFFF takes two units.
    check(&HLAunicodeString::from("😀"), &[0, 0, 0, 2, 0xD8, 0x3D, 0xDE, 0]);
    assert!(decode::<HLAunicodeString>(&[0, 0, 0, 1, 0xD8, 0x3D]).is_err());
    check(&HLAASCIIstring::new("ab").unwrap(), &[0, 0, 0, 2, b'a', b'b']);
    assert_eq!(HLAASCIIstring::new("ä"), None);
    assert!(decode::<HLAASCIIstring>(&[0, 0, 0, 1, 0xE4]).is_err());
}

#[test]
fn padding_stands_between_parts_and_not_behind_the_last() {
    let record = HLAfixedRecord((HLAoctet(1), HLAinteger32BE(2), HLAoctet(3)));
    check(&record, &[1, 0, 0, 0, 0, 0, 0, 2, 3]);
    let records = HLAvariableArray(vec![record, record]);
    let one = [1, 0, 0, 0, 0, 0, 0, 2, 3];
    check(&records, &[&[0, 0, 0, 2][..], &one, &[0, 0, 0], &one].concat());
    // The count takes four bytes; the elements begin at byte eight.
    let numbers = HLAvariableArray(vec![HLAfloat64BE(0.0)]);
    check(&numbers, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    check(&HLAvariableArray::<HLAfloat64BE>::default(), &[0; 4]);
    check(&HLAfixedArray([HLAoctet(1), HLAoctet(2)]), &[1, 2]);
    check(&HLAtoken, &[]);
    check(&HLAopaqueData(vec![9]), &[0, 0, 0, 1, 9]);
}

#[test]
fn padding_may_hold_anything() {
    let record = HLAfixedRecord((HLAoctet(1), HLAinteger32BE(2)));
    assert_eq!(decode(&[1, 7, 7, 7, 0, 0, 0, 2]), Ok(record));
}

#[test]
fn a_handle_in_data_is_an_array_of_its_bytes() {
    check(&FederateHandle::new(5), &[0, 0, 0, 4, 0, 0, 0, 5]);
    check(&ObjectInstanceHandle::new(5), &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(decode(&[0, 0, 0, 1, 5]), Ok(FederateHandle::INVALID));
    let time = EncodedTime::from(LogicalTime::integer(3).unwrap());
    check(&HLAlogicalTime(time), &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3]);
}

#[test]
fn errors_say_where() {
    type Pair = HLAfixedRecord<(HLAoctet, HLAinteger32BE)>;
    let short = DecodeError::TooShort { at: 4, needed: 4, left: 2 };
    assert_eq!(decode::<Pair>(&[1, 0, 0, 0, 0, 0]), Err(short));
    assert_eq!(decode::<HLAoctet>(&[1, 2]), Err(DecodeError::TooLong { more: 1 }));
    type Numbers = HLAvariableArray<HLAinteger32BE>;
    for count in [-1, 2, i32::MAX] {
        let bytes = [count.to_be_bytes(), [0; 4]].concat();
        assert_eq!(decode::<Numbers>(&bytes), Err(DecodeError::Count { at: 0, count }));
    }
}

#[test]
fn elements_of_no_bytes_are_bounded_too() {
    type Tokens = HLAvariableArray<HLAtoken>;
    assert_eq!(decode::<Tokens>(&[0, 0, 0, 3]).unwrap().0.len(), 3);
    assert!(decode::<Tokens>(&i32::MAX.to_be_bytes()).is_err());
    assert!(decode::<HLAfixedArray<HLAinteger32BE, 1_000>>(&[0; 8]).is_err());
}

/// Alternatives with different boundaries.
#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Small(HLAoctet),
    Great(HLAfloat64BE),
    Text(HLAunicodeString),
}

impl Alternatives<HLAoctet> for Choice {
    const BOUNDARY: usize = 8;

    fn discriminant(&self) -> HLAoctet {
        HLAoctet(match self {
            Self::Small(_) => 1,
            Self::Great(_) => 2,
            Self::Text(_) => 3,
        })
    }

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Small(value) => to.put(value),
            Self::Great(value) => to.put(value),
            Self::Text(value) => to.put(value),
        }
    }

    fn read(choice: &HLAoctet, from: &mut Reader<'_>) -> Option<Result<Self, DecodeError>> {
        match choice.0 {
            1 => Some(from.get().map(Self::Small)),
            2 => Some(from.get().map(Self::Great)),
            3 => Some(from.get().map(Self::Text)),
            _ => None,
        }
    }
}

type Plain = HLAvariantRecord<HLAoctet, Choice>;
type Extendable = HLAextendableVariantRecord<HLAoctet, Choice>;

#[test]
fn an_alternative_stands_at_the_greatest_boundary_of_all() {
    check(&Plain::Known(Choice::Small(HLAoctet(9))), &[1, 0, 0, 0, 0, 0, 0, 0, 9]);
    check(&Plain::None(HLAoctet(77)), &[77]);
    assert!(decode::<Plain>(&[1]).is_err());
    assert!(decode::<Plain>(&[1, 0, 0, 0]).is_err());
}

#[test]
fn an_alternative_that_is_not_known_can_be_passed() {
    let known = Extendable::Known(Choice::Small(HLAoctet(9)));
    check(&known, &[1, 0, 0, 0, 0, 0, 0, 1, 9]);
    let unknown = Extendable::Unknown(HLAoctet(77), vec![1, 2, 3]);
    check(&unknown, &[77, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]);
    check(&Extendable::Unknown(HLAoctet(77), vec![]), &[77, 0, 0, 0, 0, 0, 0, 0]);
    let wrong = DecodeError::Length { at: 8, said: 2, is: 1 };
    assert_eq!(decode::<Extendable>(&[1, 0, 0, 0, 0, 0, 0, 2, 9, 9]), Err(wrong));
    // The next value in the same message is found.
    let pair = HLAfixedRecord((unknown, HLAoctet(5)));
    assert_eq!(decode(&encode(&pair)), Ok(pair));
}

#[test]
fn an_alternative_does_not_reach_beyond_its_length() {
    // Eight bytes follow, of which the alternative may use four.
    let bytes = [&[2, 0, 0, 0, 0, 0, 0, 4][..], &[0; 8]].concat();
    assert!(matches!(decode::<Extendable>(&bytes), Err(DecodeError::TooShort { .. })));
}

type Deep = HLAfixedRecord<(
    HLAoctet,
    HLAvariableArray<HLAfixedRecord<(HLAinteger16BE, HLAunicodeString, Extendable)>>,
    HLAfixedArray<HLAfloat32LE, 3>,
    Plain,
    HLAopaqueData,
    FederateHandle,
    HLAvariableArray<HLAtoken>,
)>;

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        any::<u8>().prop_map(|value| Choice::Small(HLAoctet(value))),
        (-1e9..1e9_f64).prop_map(|value| Choice::Great(HLAfloat64BE(value))),
        any::<String>().prop_map(|text| Choice::Text(HLAunicodeString(text))),
    ]
}

fn extendable() -> impl Strategy<Value = Extendable> {
    let unknown = (4..=255_u8, any::<Vec<u8>>());
    prop_oneof![
        choice().prop_map(Extendable::Known),
        unknown.prop_map(|(choice, bytes)| Extendable::Unknown(HLAoctet(choice), bytes)),
    ]
}

fn deep() -> impl Strategy<Value = Deep> {
    let part = (any::<i16>(), any::<String>(), extendable()).prop_map(|(number, text, choice)| {
        HLAfixedRecord((HLAinteger16BE(number), HLAunicodeString(text), choice))
    });
    let parts = proptest::collection::vec(part, 0..5);
    let plain = prop_oneof![
        choice().prop_map(Plain::Known),
        (4..=255_u8).prop_map(|choice| Plain::None(HLAoctet(choice))),
    ];
    let tokens = 0..9_usize;
    (any::<u8>(), parts, -1e9..1e9_f32, plain, any::<Vec<u8>>(), any::<u32>(), tokens).prop_map(
        |(octet, parts, float, plain, data, handle, tokens)| {
            HLAfixedRecord((
                HLAoctet(octet),
                HLAvariableArray(parts),
                HLAfixedArray([HLAfloat32LE(float); 3]),
                plain,
                HLAopaqueData(data),
                FederateHandle::new(handle),
                HLAvariableArray(vec![HLAtoken; tokens]),
            ))
        },
    )
}

proptest! {
    #[test]
    fn values_come_back(value in deep()) {
        prop_assert_eq!(decode::<Deep>(&encode(&value)), Ok(value));
    }

    #[test]
    fn every_piece_of_a_value_is_refused(value in deep(), at in any::<prop::sample::Index>()) {
        let bytes = encode(&value);
        let piece = &bytes[..at.index(bytes.len())];
        prop_assert!(decode::<Deep>(piece).is_err());
    }

    #[test]
    fn any_bytes_decode_to_a_value_or_an_error(bytes in any::<Vec<u8>>()) {
        if let Ok(value) = decode::<Deep>(&bytes) {
            // A decoded value can be encoded again.
            let again = encode(&value);
            prop_assert_eq!(encode(&decode::<Deep>(&again).unwrap()), again);
        }
        let _ = decode::<HLAvariableArray<HLAunicodeString>>(&bytes);
    }

    #[test]
    fn damaged_values_decode_to_a_value_or_an_error(
        value in deep(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = encode(&value);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode::<Deep>(&bytes);
    }
}
