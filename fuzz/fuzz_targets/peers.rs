//! A peer that sends what it likes, to either side of a session.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_fedpro::fuzzing::peers(bytes));
