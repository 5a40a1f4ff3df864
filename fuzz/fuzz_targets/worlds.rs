//! Definitions of worlds: texts, and bytes from the network.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    hemiola_world_lang::fuzzing::definition(bytes);
    hemiola_world_lang::fuzzing::from_wire(bytes);
});
