//! Object models as clients send them: as a file, and as a ZIP archive that was written as a stream.

use super::notation::hex;

/// The chat of an HLA 4 federate: participants with a name, messages to all, and messages to one participant.
pub(super) const HLA_4: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Guest</name><sharing>PublishSubscribe</sharing>
      <directedInteraction>
        <name>HLAinteractionRoot.Talk</name><sharing>PublishSubscribe</sharing>
      </directedInteraction>
      <attribute><name>Name</name><dataType>HLAunicodeString</dataType>
        <sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>Receive</order>
      </attribute>
    </objectClass>
  </objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>
    <interactionClass><name>Talk</name><sharing>PublishSubscribe</sharing>
      <transportation>HLAreliable</transportation><order>Receive</order>
      <parameter><name>Words</name><dataType>HLAunicodeString</dataType></parameter>
    </interactionClass>
  </interactionClass></interactions>
  <switches><automaticResignAction resignAction="CancelThenDeleteThenDivest"/></switches>
</objectModel>"#;

/// The same for HLA Evolved.
pub(super) const EVOLVED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Guest</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Name</name><dataType>HLAunicodeString</dataType>
        <sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>Receive</order>
      </attribute>
    </objectClass>
  </objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>
    <interactionClass><name>Talk</name><sharing>PublishSubscribe</sharing>
      <transportation>HLAreliable</transportation><order>Receive</order>
      <parameter><name>Words</name><dataType>HLAunicodeString</dataType></parameter>
    </interactionClass>
  </interactionClass></interactions>
  <switches><autoProvide isEnabled="false"/>
    <automaticResignAction resignAction="CancelThenDeleteThenDivest"/></switches>
</objectModel>"#;

/// A module as a file with its name, as sent by C++ clients, and by Java clients if it is small.
pub(super) fn as_file(name: &str, text: &str) -> String {
    format!("@1[@1['{name}'] @2[{}]]", hex(text.as_bytes()))
}

/// A module as an archive, as sent by Java clients if the file has more than 1024 bytes.
pub(super) fn as_archive(name: &str, text: &str) -> String {
    format!("@2[{}]", hex(&archive(name, text.as_bytes())))
}

/// A ZIP archive with one entry, written as a stream: lengths and checksum follow the data.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    // Deflate with one stored block.
    let len = u16::try_from(content.len()).expect("a small module");
    let mut deflated = vec![1];
    deflated.extend(len.to_le_bytes());
    deflated.extend((!len).to_le_bytes());
    deflated.extend(content);

    let version_flags_method = [20_u16, 8, 8].map(u16::to_le_bytes).concat();
    let time_and_date = [0_u16, 0x5a21].map(u16::to_le_bytes).concat();
    let sums =
        [crc32(content), deflated.len() as u32, u32::from(len)].map(u32::to_le_bytes).concat();
    let name_len_extra_len = [name.len() as u16, 0].map(u16::to_le_bytes).concat();

    let unknown_sums = [0; 12];
    let local: [&[u8]; 8] = [
        b"PK\x03\x04",
        &version_flags_method,
        &time_and_date,
        &unknown_sums,
        &name_len_extra_len,
        name.as_bytes(),
        &deflated,
        b"PK\x07\x08",
    ];
    let mut zip = [local.concat(), sums.clone()].concat();
    let directory_at = zip.len() as u32;
    let made_by = 20_u16.to_le_bytes();
    // Comment, disk, internal and external attributes, and the offset of the entry.
    let nothing = [0; 14];
    let entry: [&[u8]; 8] = [
        b"PK\x01\x02",
        &made_by,
        &version_flags_method,
        &time_and_date,
        &sums,
        &name_len_extra_len,
        &nothing,
        name.as_bytes(),
    ];
    let entry = entry.concat();
    zip.extend(&entry);
    zip.extend(b"PK\x05\x06");
    zip.extend([0_u16, 0, 1, 1].map(u16::to_le_bytes).concat());
    zip.extend([entry.len() as u32, directory_at].map(u32::to_le_bytes).concat());
    zip.extend([0, 0]);
    zip
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ (0xedb8_8320 * (sum & 1)))
    })
}
