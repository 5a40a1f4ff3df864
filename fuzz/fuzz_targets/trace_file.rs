//! Traces of our own, entry by entry.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_trace::fuzzing::trace_file(bytes));
