//! Images of federations, changed arbitrarily, that a federate asks to restore.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_rti::fuzzing::image(bytes));
