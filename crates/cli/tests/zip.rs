//! ZIP archives as attackers make them.

use miniz_oxide::deflate::compress_to_vec;

/// Returns an archive with this many entries, each of which unpacks to `content`.
pub(crate) fn archive(entries: u32, content: &[u8]) -> Vec<u8> {
    let (packed, sum) = (compress_to_vec(content, 6), rawzip::crc32(content));
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for number in 0..entries {
        let name = format!("{number:04}.xml");
        let head = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
        let sizes = [sum, packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let names = [name.len() as u16, 0].map(u16::to_le_bytes).concat();
        let at = (bytes.len() as u32).to_le_bytes();
        directory.extend([b"PK\x01\x02\x14\0", &head[..], &sizes, &names, &[0; 10], &at].concat());
        directory.extend(name.as_bytes());
        bytes.extend([b"PK\x03\x04", &head[..], &sizes, &names, name.as_bytes(), &packed].concat());
    }
    let count = (entries as u16).to_le_bytes();
    let end = [directory.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    [&bytes[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &end, &[0, 0]].concat()
}
