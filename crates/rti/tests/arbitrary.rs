//! Arbitrary calls: each has one reply that the standard allows, and the invariants hold.

use hemiola_rti::fuzzing;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_sequence_of_calls_has_one_reply_each(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        fuzzing::calls(&bytes);
    }

    #[test]
    fn no_image_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzzing::image(&bytes);
    }
}
