//! Whatever is called, the kernel answers once, as the standard has it, and its invariants hold.

use hemiola_rti::fuzzing;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_sequence_of_calls_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        fuzzing::calls(&bytes);
    }
}
