//! An encoded message in pieces, so that long data are shared and never copied.

use std::sync::Arc;

use crate::data::Data;

/// Data of this length or longer are shared rather than copied, in bytes.
pub const LONG_LEN: usize = 64 << 10;

/// An encoded body of this length or longer takes no more memory than its bytes, so that all who keep it can share it.
/// A shorter one may take twice its length.
pub const EXACT_LEN: usize = 1 << 10;

/// An encoded message. Nearly always it is one piece. Long data in it are pieces of their own, which share the memory
/// of the message that brought them.
#[derive(Clone, Debug, Default)]
pub struct Body {
    first: Data,
    /// `None` if there is one piece.
    rest: Option<Arc<Rest>>,
}

/// The pieces behind the first one.
#[derive(Debug)]
struct Rest {
    pieces: Vec<Data>,
    /// The length of all pieces, with the first one, in bytes.
    len: usize,
}

impl Body {
    /// Returns the body with these pieces.
    #[must_use]
    pub fn from_pieces(pieces: Vec<Data>) -> Self {
        let len = pieces.iter().map(Data::len).sum();
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default();
        let pieces: Vec<Data> = pieces.collect();
        Self { first, rest: (!pieces.is_empty()).then(|| Arc::new(Rest { pieces, len })) }
    }

    /// Returns its length in bytes.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.rest.as_ref().map_or(self.first.len(), |rest| rest.len)
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the first piece.
    #[must_use]
    pub const fn first(&self) -> &Data {
        &self.first
    }

    /// Returns its pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Data> {
        std::iter::once(&self.first).chain(self.rest.iter().flat_map(|rest| &rest.pieces))
    }

    /// Appends the bytes of a range to `out`.
    ///
    /// # Panics
    /// The range is not within the body.
    #[inline]
    pub fn append(&self, from: usize, until: usize, out: &mut Vec<u8>) {
        match &self.rest {
            None => out.extend_from_slice(&self.first[from..until]),
            Some(_) => self.append_pieces(from, until, out),
        }
    }

    fn append_pieces(&self, from: usize, until: usize, out: &mut Vec<u8>) {
        assert!(from <= until && until <= self.len(), "{from}..{until} is within {}", self.len());
        let mut begin = 0;
        for piece in self.pieces() {
            let within = |at: usize| at.clamp(begin, begin + piece.len()) - begin;
            out.extend_from_slice(&piece[within(from)..within(until)]);
            begin += piece.len();
        }
    }

    /// Returns it as one piece. Several pieces are copied.
    #[must_use]
    pub fn into_data(self) -> Data {
        if self.rest.is_none() {
            return self.first;
        }
        let mut out = Vec::with_capacity(self.len());
        self.append(0, self.len(), &mut out);
        out.into()
    }
}

impl From<Data> for Body {
    #[inline]
    fn from(first: Data) -> Self {
        Self { first, rest: None }
    }
}

/// Two bodies are equal if their bytes are, whatever their pieces.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.pieces().flat_map(|piece| piece.iter()).eq(other.pieces().flatten())
    }
}

impl Eq for Body {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_body_in_pieces_has_the_bytes_of_one_piece(
            pieces in proptest::collection::vec(proptest::collection::vec(0..3_u8, 0..5), 0..5),
            from in 0..30_usize,
            until in 0..30_usize,
        ) {
            let whole = pieces.concat();
            let body = Body::from_pieces(pieces.into_iter().map(Data::from).collect());
            let (from, until) = (from.min(whole.len()), until.min(whole.len()));
            let (from, until) = (from.min(until), from.max(until));
            let mut out = vec![7];
            body.append(from, until, &mut out);
            prop_assert_eq!(&out[1..], &whole[from..until]);
            prop_assert_eq!((body.len(), body.is_empty()), (whole.len(), whole.is_empty()));
            let one = Body::from(Data::from(whole.clone()));
            prop_assert_eq!(&body, &one);
            prop_assert_eq!(body.into_data(), whole);
        }
    }

    #[test]
    fn bodies_with_different_bytes_differ() {
        let body = |pieces: &[&'static [u8]]| {
            Body::from_pieces(pieces.iter().copied().map(Data::from_static).collect())
        };
        assert_ne!(body(&[b"ab", b"c"]), body(&[b"a", b"bd"]));
        assert_ne!(body(&[b"ab", b"c"]), body(&[b"ab"]));
    }
}
