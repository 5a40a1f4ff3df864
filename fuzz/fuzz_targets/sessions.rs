//! Two sessions over a network that does what the bytes say.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_fedpro::fuzzing::sessions(bytes));
