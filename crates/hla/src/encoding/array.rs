//! Arrays of fixed or variable size.

use super::{DecodeError, Element, Reader, Writer, greatest};

/// A fixed number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HLAfixedArray<T, const N: usize>(pub [T; N]);

impl<T: Element, const N: usize> Element for HLAfixedArray<T, N> {
    const BOUNDARY: usize = T::BOUNDARY;
    const LEN_MIN: usize = T::LEN_MIN.saturating_mul(N);

    fn write(&self, to: &mut Writer) {
        for element in &self.0 {
            to.put(element);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // It allocates only after checking that the bytes suffice.
        if from.left() < Self::LEN_MIN {
            let (at, left) = (from.at(), from.left());
            return Err(DecodeError::TooShort { at, needed: Self::LEN_MIN, left });
        }
        let elements: Result<Vec<T>, DecodeError> = (0..N).map(|_| from.get()).collect();
        let Ok(elements) = elements?.try_into() else { unreachable!("N elements were read") };
        Ok(Self(elements))
    }
}

/// The element count as `HLAinteger32BE`, then each element at its boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HLAvariableArray<T>(pub Vec<T>);

impl<T> Default for HLAvariableArray<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Element> Element for HLAvariableArray<T> {
    const BOUNDARY: usize = greatest(&[4, T::BOUNDARY]);
    const LEN_MIN: usize = 4;

    fn write(&self, to: &mut Writer) {
        to.put_count(self.0.len());
        for element in &self.0 {
            to.put(element);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.get_count(T::LEN_MIN)?;
        (0..count).map(|_| from.get()).collect::<Result<_, _>>().map(Self)
    }
}

/// An array of bytes that only federates interpret, after their count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HLAopaqueData(pub Vec<u8>);

impl Element for HLAopaqueData {
    const BOUNDARY: usize = 4;
    const LEN_MIN: usize = 4;

    fn write(&self, to: &mut Writer) {
        to.put_count(self.0.len());
        to.put_bytes(&self.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let len = from.get_count(1)?;
        from.get_bytes(len).map(|bytes| Self(bytes.to_vec()))
    }
}

/// An empty array of bytes: the value of the privilege to delete, which is owned but has no content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HLAtoken;

impl Element for HLAtoken {
    const BOUNDARY: usize = 1;
    const LEN_MIN: usize = 0;

    fn write(&self, _to: &mut Writer) {}

    fn read(_from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}
