//! The replacement for a shared mapping under loom: one loom atomic for each word of the layout.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::atomic::{AtomicU32, AtomicU64, Ordering};
use super::layout::{
    AWAKE_AT, CONSUMED_AT, ENTRY_SIZE, LENGTH_IN_SLOT, LOST_AT, Layout, NUMBER_IN_SLOT,
    PAYLOAD_IN_SLOT, PUBLISHED_AT, SegmentKind,
};

/// Ordinary memory with the methods of the mapping. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Memory(Arc<Words>);

#[derive(Debug, Default)]
struct Words {
    narrow: BTreeMap<usize, AtomicU32>,
    wide: BTreeMap<usize, AtomicU64>,
}

impl Memory {
    pub(super) fn plain(layout: &Layout) -> Self {
        let mut words = Words::default();
        let mut narrow = vec![PUBLISHED_AT, CONSUMED_AT, AWAKE_AT];
        let mut wide = vec![LOST_AT];
        for number in 0..layout.slot_count {
            let slot = layout.slot(number);
            if layout.kind == SegmentKind::Log {
                wide.extend((0..ENTRY_SIZE).step_by(8).map(|at| slot + at));
            } else {
                narrow.extend([slot + LENGTH_IN_SLOT, slot + NUMBER_IN_SLOT]);
                wide.extend(
                    (0..layout.slot_size as usize).step_by(8).map(|at| slot + PAYLOAD_IN_SLOT + at),
                );
            }
        }
        words.narrow.extend(narrow.into_iter().map(|at| (at, AtomicU32::new(0))));
        words.wide.extend(wide.into_iter().map(|at| (at, AtomicU64::new(0))));
        Self(Arc::new(words))
    }

    pub(super) fn u32(&self, offset: usize) -> &AtomicU32 {
        &self.0.narrow[&offset]
    }

    pub(super) fn u64(&self, offset: usize) -> &AtomicU64 {
        &self.0.wide[&offset]
    }

    /// Memory of 64-bit words only, at these offsets.
    pub(super) fn wide(offsets: impl Iterator<Item = usize>) -> Self {
        let wide = offsets.map(|at| (at, AtomicU64::new(0))).collect();
        Self(Arc::new(Words { narrow: BTreeMap::new(), wide }))
    }

    pub(super) fn store_words(&self, offset: usize, words: &[[u8; 8]]) {
        for (at, word) in (offset..).step_by(8).zip(words) {
            self.u64(at).store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }

    pub(super) fn load_words(&self, offset: usize, words: &mut [[u8; 8]]) {
        for (at, word) in (offset..).step_by(8).zip(words) {
            *word = self.u64(at).load(Ordering::Relaxed).to_le_bytes();
        }
    }
}

/// The replacement for an eventfd watched edge-triggered.
#[derive(Clone, Debug)]
pub(super) struct Bell(Arc<loom::sync::Notify>);

impl Bell {
    pub(super) fn new() -> Self {
        Self(Arc::new(loom::sync::Notify::new()))
    }

    pub(super) fn ring(&self) {
        self.0.notify();
    }

    pub(super) fn wait(&self) {
        self.0.wait();
    }
}
