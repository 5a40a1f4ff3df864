//! Runs the bodies of the fuzz targets under proptest, on stable Rust.

use hemiola_fedpro::fuzzing;
use proptest::prelude::*;

/// Generates bytes that often look like frames.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![0..8_u32, 9..13_u32, 19..25_u32, any::<u32>()];
    let number = prop_oneof![0..4_u32, Just(0x8000_0000), any::<u32>()];
    let session = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let frame = (kind, number.clone(), session, number.clone(), number, payload()).prop_map(
        |(kind, number, session, received, first, payload)| {
            let payload = [&first.to_be_bytes()[..], &payload].concat();
            let len = 24 + payload.len() as u32;
            [
                &len.to_be_bytes()[..],
                &number.to_be_bytes(),
                &session.to_be_bytes(),
                &received.to_be_bytes(),
                &kind.to_be_bytes(),
                &payload,
            ]
            .concat()
        },
    );
    proptest::collection::vec(frame, 0..5).prop_map(|frames| frames.concat())
}

/// Generates bytes that often look like messages.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let field = (0..20_u8, 0..6_u8, proptest::collection::vec(any::<u8>(), 0..12)).prop_map(
        |(number, kind, content)| {
            let mut bytes = vec![number << 3 | kind];
            if kind == 2 {
                bytes.push(content.len() as u8);
            }
            bytes.extend(content);
            bytes
        },
    );
    let fields = proptest::collection::vec(field, 0..6).prop_map(|fields| fields.concat());
    // The key of the case, which may take two bytes.
    (1..180_u32, fields).prop_map(|(case, fields)| {
        let key = case << 3 | 2;
        let mut bytes =
            if key < 128 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] };
        bytes.push(fields.len() as u8 & 0x7F);
        bytes.extend(fields);
        bytes
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_give_the_same_frames_in_parts(bytes in prop_oneof![framed(), any::<Vec<u8>>()]) {
        fuzzing::frames(&bytes);
    }

    #[test]
    fn arbitrary_bodies_are_decoded_or_rejected(bytes in prop_oneof![payload(), any::<Vec<u8>>()]) {
        fuzzing::bodies(&bytes);
    }

    #[test]
    fn arbitrary_bytes_do_not_break_an_invariant_of_a_session(bytes in prop_oneof![framed(), any::<Vec<u8>>()]) {
        fuzzing::peers(&bytes);
    }

    #[test]
    fn arbitrary_faults_lose_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        fuzzing::sessions(&bytes);
    }
}
