//! A body that is being written: its own bytes, and long data, which become pieces of it and are not copied.

use std::ops::{Deref, DerefMut};

use hemiola_hla::body::{Body, EXACT_LEN, LONG_LEN};
use hemiola_hla::data::Data;
use hemiola_wire::{put_bytes, put_head, put_len};

/// A body that is being written. It is used as the list of its own bytes.
#[derive(Debug, Default)]
pub(crate) struct Out {
    own: Vec<u8>,
    /// Long data, and how many own bytes precede each.
    shared: Vec<(usize, Data)>,
    shared_len: usize,
}

impl Deref for Out {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.own
    }
}

impl DerefMut for Out {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }
}

impl Out {
    pub(crate) fn with_capacity(len: usize) -> Self {
        Self { own: Vec::with_capacity(len), ..Self::default() }
    }

    /// Appends a field that holds data.
    #[inline]
    pub(crate) fn put_data(&mut self, field: u32, data: &Data) {
        if data.len() < LONG_LEN {
            return put_bytes(self, field, data);
        }
        put_head(self, field, data.len());
        self.shared.push((self.own.len(), data.clone()));
        self.shared_len += data.len();
    }

    pub(crate) fn finish(self) -> Body {
        let Self { mut own, shared, .. } = self;
        if own.len() >= EXACT_LEN {
            own.shrink_to_fit();
        }
        let mut own = Data::from(own);
        if shared.is_empty() {
            return own.into();
        }
        let (mut pieces, mut begin) = (Vec::with_capacity(2 * shared.len() + 1), 0);
        for (at, data) in shared {
            pieces.extend([own.split_to(at - begin), data]);
            begin = at;
        }
        pieces.push(own);
        Body::from_pieces(pieces)
    }
}

/// Appends a field that holds a message, which `content` writes in place.
#[inline]
pub(crate) fn put_message(out: &mut Out, field: u32, content: impl FnOnce(&mut Out)) {
    let (shared, shared_len) = (out.shared.len(), out.shared_len);
    put_head(out, field, 0);
    let begin = out.own.len();
    content(out);
    let len = out.own.len() - begin + out.shared_len - shared_len;
    let moved = put_len(&mut out.own, begin, len);
    out.shared[shared..].iter_mut().for_each(|(at, _)| *at += moved);
}
