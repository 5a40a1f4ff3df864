//! Truncated, damaged and foreign files cause an error or a gap, never a panic.

use hemiola_trace::sched::What;
use hemiola_trace::{ReadError, Recording, fuzzing};
use proptest::prelude::*;

use crate::recording;

const FILES: [&str; 9] = [
    "hemiola.trace",
    "perf-system.data",
    "perf-switches.data",
    "perf-program.data",
    "trace-cmd-6.dat",
    "trace-cmd-7.dat",
    "trace-cmd-zstd.dat",
    "perf-zstd.data.gz",
    "perf-pipe.data.gz",
];

#[test]
fn truncated_recordings_give_an_error_and_the_part_before_it() {
    for file in FILES {
        let bytes = recording(file);
        let whole = Recording::read(&bytes).0.events().count();
        for cut in (1..bytes.len()).step_by(97) {
            fuzzing::recording(&bytes[..cut]);
            let (read, errors) = Recording::read(&bytes[..cut]);
            let count = read.events().count();
            // Our own file is valid up to the last complete packet; others may end with parts that are not read.
            let valid = file == "hemiola.trace" || count == whole;
            assert!(!errors.is_empty() || valid, "{file} cut at {cut}");
            assert!(count <= whole, "{file} cut at {cut}");
        }
    }
}

#[test]
fn a_perf_data_of_a_big_endian_machine_is_refused_with_the_reason() {
    let mut bytes = recording("perf-system.data");
    bytes[..8].reverse();
    let (read, errors) = Recording::read(&bytes);
    assert_eq!(read.events().count(), 0);
    assert!(
        matches!(&errors[..], [ReadError::Unsupported { what, .. }] if what.contains("big-endian"))
    );
}

#[test]
fn a_trace_dat_of_an_unknown_compressor_is_refused_with_the_remedy() {
    let mut bytes = recording("trace-cmd-7.dat");
    assert_eq!(&bytes[18..22], b"none");
    bytes[18..22].copy_from_slice(b"lzma");
    let (_, errors) = Recording::read(&bytes);
    assert!(
        matches!(&errors[..], [ReadError::Unsupported { what, .. }] if what.contains("trace-cmd convert"))
    );
}

#[test]
fn a_compressed_file_that_is_cut_is_read_up_to_there_and_reported() {
    let packed = recording("perf-zstd.data.gz");
    let (_, errors) = Recording::read(&packed[..packed.len() - 100]);
    assert!(errors[0].to_string().contains("the compressed file is damaged"), "{errors:?}");
}

#[test]
fn a_damaged_page_becomes_a_gap() {
    let mut bytes = recording("trace-cmd-6.dat");
    let whole = Recording::read(&bytes).0.events().count();
    // The last page claims more bytes than it has.
    let page = bytes.len() - 4096;
    bytes[page + 8..page + 12].copy_from_slice(&0x7FF_FFFF_u32.to_le_bytes());
    let (read, errors) = Recording::read(&bytes);
    assert!(matches!(errors[..], [ReadError::Malformed { .. }]), "{errors:?}");
    assert!(read.events().any(|event| event.what == What::Lost(0)));
    assert!(read.events().count() < whole);
}

#[test]
fn text_and_zeros_are_refused() {
    for bytes in [&b"not a recording\n"[..], &[0; 100_000], b"PERFILE2", b"\x17\x08\x44tracing"] {
        fuzzing::recording(bytes);
        assert!(!Recording::read(bytes).1.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damaged_recordings_never_break_the_reader(
        file in 0..FILES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = recording(FILES[file]);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fuzzing::recording(&bytes);
        fuzzing::recording(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn arbitrary_bytes_after_any_header_never_break_the_reader(
        head in 0..4_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let version_7 = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0";
        let heads = [&b""[..], b"PERFILE2", b"\x17\x08\x44tracing6\0", version_7];
        fuzzing::recording(&[heads[head], &bytes].concat());
    }
}
