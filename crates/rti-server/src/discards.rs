//! What another thread drops: it holds memory until that has happened, so it counts until then.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hemiola_rti::Retired;

/// The memory of everything that was given away to be dropped, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Discards(Arc<AtomicUsize>);

/// Fields are dropped in this order.
struct Discarded<T> {
    _unneeded: T,
    _charge: Charge,
}

/// Bytes that count until this is dropped.
struct Charge {
    len: usize,
    all: Arc<AtomicUsize>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        // Nothing else is read because of the counter.
        self.all.fetch_sub(self.len, Ordering::Relaxed);
    }
}

impl Discards {
    /// Something that takes this much memory, in bytes.
    pub(crate) fn add(&self, unneeded: impl Any + Send, len: usize) -> Retired {
        self.0.fetch_add(len, Ordering::Relaxed);
        let charge = Charge { len, all: Arc::clone(&self.0) };
        Box::new(Discarded { _unneeded: unneeded, _charge: charge })
    }

    /// The memory of what has not been dropped yet, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_counts_until_what_holds_it_is_dropped() {
        let discards = Discards::default();
        let [first, second] = [3, 4].map(|len| discards.add(vec![0_u8; len], len));
        assert_eq!(discards.memory(), 7);
        drop(first);
        assert_eq!(discards.memory(), 4);
        drop(second);
        assert_eq!(discards.memory(), 0);
    }
}
