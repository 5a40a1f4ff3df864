//! Archives of clients, damaged archives and hostile archives.

use hemiola_hla::data::FomModule;
use miniz_oxide::deflate::compress_to_vec;
use proptest::prelude::*;

use super::*;

/// Opens an archive that a federate sends.
fn sent(bytes: Vec<u8>) -> Result<(crate::Modules, Vec<Problem>), Vec<Problem>> {
    crate::open(
        &FomModule::Compressed(bytes.into()),
        &crate::Known::default(),
        crate::MemoryMax::NONE,
    )
}

/// An entry of an archive: its name and content, the length that the directory claims, and whether it is deflated.
type Claim<'e> = (&'e str, &'e [u8], usize, bool);

/// Returns an archive of deflated entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let entries = entries.iter().map(|(name, content)| (*name, *content, content.len(), true));
    claiming(&entries.collect::<Vec<Claim<'_>>>())
}

/// Returns an archive like that of a streaming writer: the lengths and the checksum follow each entry and are in the
/// directory, not in front.
fn claiming(entries: &[Claim<'_>]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, claim, is_deflated) in entries {
        let packed = if *is_deflated { compress_to_vec(content, 6) } else { content.to_vec() };
        let method = if *is_deflated { 8 } else { 0 };
        let (at, len) = (bytes.len() as u32, packed.len() as u32);
        // Version 2.0, lengths behind the entry, the method, no time.
        let head = [&[20, 0, 8, 0, method, 0, 0, 0, 0, 0][..]].concat();
        let sizes = [rawzip::crc32(content), len, *claim as u32].map(u32::to_le_bytes).concat();
        let name_len = [(name.len() as u16).to_le_bytes(), [0, 0]].concat();
        bytes.extend([b"PK\x03\x04", &head[..], &[0; 12], &name_len, name.as_bytes()].concat());
        bytes.extend([&packed[..], b"PK\x07\x08", &sizes].concat());
        directory.extend([b"PK\x01\x02\x14\0", &head[..], &sizes, &name_len].concat());
        directory.extend([&[0; 10][..], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let (len, at) = (directory.len() as u32, bytes.len() as u32);
    let end = [len.to_le_bytes(), at.to_le_bytes()].concat();
    [&bytes[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &end, &[0, 0]].concat()
}

fn refusal(bytes: &[u8]) -> String {
    let problems = open(bytes, "a.zip").unwrap_err();
    assert!(problems.iter().all(|problem| problem.kind == ProblemKind::Unreadable));
    problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("\n")
}

#[test]
fn archive_of_a_streaming_writer_is_read() {
    let bytes = archive(&[("Car.xml", b"<a/>"), ("sub/Boat.xml", b"<b/>")]);
    assert!(is_archive(&bytes));
    let found = open(&bytes, "a.zip").unwrap();
    let found: Vec<(&str, &[u8])> =
        found.iter().map(|entry| (entry.name.as_str(), &entry.content[..])).collect();
    assert_eq!(found, [("Car.xml", &b"<a/>"[..]), ("sub/Boat.xml", b"<b/>")]);
}

#[test]
fn compressed_module_has_the_name_of_its_entry() {
    let module = b"<objectModel xmlns='http://standards.ieee.org/IEEE1516-2010'/>";
    let bytes = archive(&[("Car.xml", module), ("Boat.xml", b"<boat/>")]);
    let problems = sent(bytes).unwrap_err();
    let (place, _) = &problems[0].places[0];
    assert_eq!((problems.len(), place.name()), (1, "Boat.xml:1:1".to_owned()));
    let bytes = archive(&[("Car.xml", module)]);
    let (modules, _) = sent(bytes).unwrap();
    assert_eq!((modules.len(), modules[0].name()), (1, "Car.xml"));
}

#[test]
fn entry_that_unpacks_to_too_much_is_rejected_by_name() {
    let bomb = vec![b' '; MODULE_LEN_MAX + 1];
    let bytes = archive(&[("small.xml", b"<a/>"), ("bomb.xml", &bomb)]);
    assert!(bytes.len() < MODULE_LEN_MAX / 500);
    assert!(refusal(&bytes).contains("bomb.xml: unpacks to more than"));
}

#[test]
fn entries_that_together_unpack_to_too_much_are_rejected() {
    let content = vec![b' '; MODULE_LEN_MAX - 1];
    let bytes = archive(&[("a", &content), ("b", &content), ("c", &content)]);
    assert!(refusal(&bytes).contains("c: unpacks to more than"));
}

#[test]
fn entry_of_another_length_than_it_claims_is_rejected() {
    for is_deflated in [true, false] {
        for claim in [MODULE_LEN_MAX, 5, 3, 0] {
            let bytes = claiming(&[("a.xml", b"<a/>", claim, is_deflated)]);
            let text = refusal(&bytes);
            assert!(text.contains(&format!("and the directory says {claim}")), "{text}");
        }
        let honest = claiming(&[("a.xml", b"<a/>", 4, is_deflated)]);
        assert_eq!(open(&honest, "a.zip").unwrap()[0].content.capacity(), 4);
    }
}

#[test]
fn claims_are_added_up_before_anything_is_unpacked() {
    let entry: Claim<'_> = ("a.xml", b"<a/>", MODULE_LEN_MAX, true);
    let text = refusal(&claiming(&[entry; 3]));
    assert!(text.contains("a.xml: unpacks to more than 0 bytes"), "{text}");
}

#[test]
fn too_many_entries_are_rejected() {
    let entries = vec![("x", &b""[..]); ENTRIES_MAX + 1];
    assert!(refusal(&archive(&entries)).contains("more than 1024 entries"));
}

#[test]
fn damaged_archives_are_rejected() {
    let bytes = archive(&[("Car.xml", b"<some><text/></some>")]);
    assert!(refusal(&bytes[..bytes.len() - 1]).contains("not a ZIP archive"));
    assert!(refusal(b"PK\x03\x04").contains("not a ZIP archive"));
    assert!(refusal(&archive(&[])).contains("empty"));
    // In the packed bytes: the checksum or the decompressor notices.
    let mut broken = bytes.clone();
    broken[40] ^= 0xFF;
    assert!(refusal(&broken).contains("Car.xml: "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_and_cut_archives_do_not_panic(
        content in any::<Vec<u8>>(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = archive(&[("a.xml", &content), ("b.xml", b"<b/>")]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = open(&bytes, "a.zip");
        let _ = open(&bytes[..at], "a.zip");
    }
}
