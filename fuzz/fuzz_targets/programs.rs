//! Functions of random worlds as linear code and as WebAssembly modules.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_world_code::fuzzing::compiled(bytes));
