//! The checksum of each packet, and the record that closes a file.
//!
//! Our writer ends each packet with a field of its own that contains the CRC-32 of the bytes before it, and the file
//! with a packet that contains the number of all packets before it. Other readers skip both fields:
//!
//! ```text
//! FD 7F · u32, little-endian    field 2047, fixed32: CRC-32 (IEEE 802.3) of the packet before this field
//! F0 7F · varint                field 2046: the number of packets before this one
//! ```
//!
//! Files without any checksum are of other programs, or older: all that they contain is believed.

use hemiola_wire::put_number;

use crate::error::ReadError;

/// The field that contains the checksum.
pub(crate) const CHECKSUM: u32 = 2047;
/// The field that closes a file.
pub(crate) const CLOSING: u32 = 2046;

/// The tag of the checksum: field 2047 of the wire type fixed32.
const TAG: [u8; 2] = [0xFD, 0x7F];

/// The length of the field with the checksum.
pub(super) const SEAL_LEN: usize = TAG.len() + 4;

/// Appends the checksum of the packet that begins at this index of the buffer.
pub(super) fn seal(buffer: &mut Vec<u8>, start: usize) {
    let sum = crc32fast::hash(&buffer[start..]);
    buffer.extend(TAG);
    buffer.extend(sum.to_le_bytes());
}

/// Appends the contents of the packet that closes a file of so many packets.
pub(super) fn put_closing(packet: &mut Vec<u8>, packets: u64) {
    put_number(packet, CLOSING, packets);
}

/// Whether a packet is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Soundness {
    Sound,
    /// It differs from its checksum.
    Damaged,
    /// It has no checksum.
    Unsealed,
}

/// Compares a packet with its checksum.
pub(crate) fn soundness(packet: &[u8]) -> Soundness {
    let Some((content, seal)) = packet.split_last_chunk::<SEAL_LEN>() else {
        return Soundness::Unsealed;
    };
    let [a, b, sum @ ..] = *seal;
    match [a, b] == TAG {
        false => Soundness::Unsealed,
        true if crc32fast::hash(content) == u32::from_le_bytes(sum) => Soundness::Sound,
        true => Soundness::Damaged,
    }
}

/// What the packets of a file say of its soundness, in their order.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    /// Whether a packet with its checksum was seen: then every packet must have one.
    sealed: bool,
    packets: u64,
    /// The offset of the first packet before the first with a checksum.
    unsealed: Option<u64>,
    /// The number of packets that the last one states, if it closes the file.
    closing: Option<u64>,
}

impl Seals {
    /// Whether the file has checksums.
    pub(crate) const fn sealed(&self) -> bool {
        self.sealed
    }

    /// Takes the next packet. An error means that it must be left out.
    pub(crate) fn packet(&mut self, packet: &[u8], offset: u64) -> Result<(), ReadError> {
        self.closing = None;
        let soundness = soundness(packet);
        self.sealed |= soundness == Soundness::Sound;
        match soundness {
            Soundness::Sound => {}
            Soundness::Unsealed if !self.sealed => _ = self.unsealed.get_or_insert(offset),
            _ => return Err(ReadError::Checksum { offset: offset as usize }),
        }
        self.packets += 1;
        Ok(())
    }

    /// The packet just taken closes the file after so many packets.
    pub(crate) const fn closes(&mut self, packets: u64) {
        self.closing = Some(packets);
    }

    /// Returns the problem of the file as a whole, if there is one. `damaged` tells whether an error was reported
    /// already, and `size` is the size of the file.
    pub(crate) fn end(self, damaged: bool, size: u64) -> Option<ReadError> {
        let offset = size as usize;
        match (self.sealed, self.unsealed, self.closing) {
            (false, ..) => None,
            (true, Some(offset), _) => Some(ReadError::Checksum { offset: offset as usize }),
            (true, None, None) => Some(ReadError::Unfinished),
            (true, None, Some(packets)) if packets + 1 != self.packets && !damaged => {
                let reason = format!("the file has {} packets of {}", self.packets, packets + 1);
                Some(ReadError::Malformed { offset, reason })
            }
            (true, None, Some(_)) => None,
        }
    }
}
