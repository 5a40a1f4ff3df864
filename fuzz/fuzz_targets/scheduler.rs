//! Arbitrary events of a scheduler, through the whole analysis.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_analyze::fuzzing::scheduler(bytes));
