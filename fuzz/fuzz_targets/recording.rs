//! Recordings of any format: Perfetto, trace.dat, perf.data.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hemiola_trace::fuzzing::recording(bytes));
