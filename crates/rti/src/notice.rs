//! A callback that may go to many federates.

use std::sync::OnceLock;

use hemiola_hla::{Callback, Data};

/// A callback, kept once for all who get it, with room for its encoding, so that it is encoded once too, even if it
/// is delivered to some federates much later than to others.
#[derive(Debug)]
pub struct Notice {
    callback: Callback,
    encoded: OnceLock<Data>,
}

impl Notice {
    /// A notice of this callback.
    #[must_use]
    pub const fn new(callback: Callback) -> Self {
        Self { callback, encoded: OnceLock::new() }
    }

    /// What it says.
    #[must_use]
    pub const fn callback(&self) -> &Callback {
        &self.callback
    }

    /// Its bytes: those of the first who asked. All who ask have to encode alike.
    pub fn encoded(&self, encode: impl FnOnce(&Callback) -> Data) -> &Data {
        self.encoded.get_or_init(|| encode(&self.callback))
    }
}

/// Notices are the same if they say the same.
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
