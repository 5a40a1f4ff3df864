//! Frames of the Federate Protocol.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_fedpro::fuzzing::frames(bytes));
