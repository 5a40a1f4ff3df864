//! Arbitrary calls of federates, with the kernel's invariants after each.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_rti::fuzzing::calls(bytes));
