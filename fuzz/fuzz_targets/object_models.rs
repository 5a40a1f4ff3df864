//! Object model modules: XML and ZIP.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_fom::fuzzing::modules(bytes));
