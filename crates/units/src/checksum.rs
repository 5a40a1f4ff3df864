//! A checksum of files.

/// A checksum of bytes that may arrive in pieces: FNV-1a with 64 bits (Fowler, Noll and Vo).
///
/// It finds every change of a single byte. It guards against errors, not against malice.
///
/// ```
/// use hemiola_units::Checksum;
///
/// let mut sum = Checksum::new();
/// sum.add(b"foo");
/// sum.add(b"bar");
/// assert_eq!(sum, Checksum::of(b"foobar"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u64);

impl Checksum {
    /// The checksum of no bytes.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::new();
        sum.add(bytes);
        sum
    }

    /// Goes on with more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The number that a file stores.
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_matches_the_published_vectors() {
        assert_eq!(Checksum::of(b"").value(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Checksum::of(b"a").value(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Checksum::of(b"foobar").value(), 0x8594_4171_f739_67e8);
    }
}
