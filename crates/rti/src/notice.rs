//! A callback that several federates can share.

use std::sync::OnceLock;

use hemiola_hla::{Callback, Data};

/// A callback that all its receivers share, with a cache for its encoding. It is encoded once, even if some federates
/// receive it much later than others.
#[derive(Debug)]
pub struct Notice {
    callback: Callback,
    encoded: OnceLock<Data>,
}

impl Notice {
    /// Creates a notice of this callback.
    #[must_use]
    pub const fn new(callback: Callback) -> Self {
        Self { callback, encoded: OnceLock::new() }
    }

    /// Returns the callback.
    #[must_use]
    pub const fn callback(&self) -> &Callback {
        &self.callback
    }

    /// Returns the encoded callback. The first caller's `encode` fills the cache, so all callers must encode alike.
    pub fn encoded(&self, encode: impl FnOnce(&Callback) -> Data) -> &Data {
        self.encoded.get_or_init(|| encode(&self.callback))
    }
}

/// Two notices are equal if their callbacks are; the cache does not count.
impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        self.callback == other.callback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_encoded_once() {
        let notice = Notice::new(Callback::FederationSaved);
        assert_eq!(notice.encoded(|_| Data::from_static(b"first")), "first");
        assert_eq!(notice.encoded(|_| panic!("encoded twice")), "first");
    }
}
