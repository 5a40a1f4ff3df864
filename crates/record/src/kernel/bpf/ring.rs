//! A ring between a program in the kernel and its reader: both sides of it.
//!
//! ```text
//!  byte 0     head     slots taken so far                              the kernel adds
//!  byte 8     pending  losses not yet reported                          the kernel adds, the reporter resets it
//!  byte 16    nested   interrupts being served on the processor        the kernel
//!  byte 24    running  the thread that runs on the processor           the kernel
//!  byte 64    tail     slots freed so far                              the reader stores
//!  byte 4096  slots    of 2 or 8 words; word 0, the time, is 0 in a free one
//! ```
//!
//! A program takes a slot with one atomic addition, fills it, and stores the time last, which completes it. An
//! interrupt may therefore come at any point and store events of its own. The reader takes complete slots in order
//! and stops at the first incomplete one. Several processors and interrupts may write one ring; there is one reader.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use super::assembler::Operation::{Add, And, Move, Or, ShiftLeft, Subtract};
use super::assembler::Register::{R0, R1, R2, R3, R7, R8, R9, R10};
use super::assembler::Size::Double;
use super::assembler::{Assembler, Atomic, Function, Label, Register, When};
use super::programs::STACK_KEY;
use super::word::{Kind, SHIFT_FIRST};

const HEAD: i16 = 0;
const PENDING: i16 = 8;
/// Interrupts being served.
pub(super) const NESTED: i16 = 16;
/// The running thread.
pub(super) const RUNNING: i16 = 24;
const TAIL: i16 = 64;
/// The offset of the slots: a page, of which the first two cache lines are used.
const SLOTS: i32 = 4096;

/// Slots never used: several processors or nested interrupts may find the last free slot at the same time, each with
/// a loss to report besides.
const MARGIN: u32 = 64;

/// The size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// A power of two, larger than [`MARGIN`].
    pub(super) slots: u32,
    /// A power of two, at least 2.
    pub(super) slot_words: u32,
}

impl Shape {
    /// Returns its bytes.
    pub(super) const fn bytes(self) -> u32 {
        SLOTS as u32 + self.slots * self.slot_words * 8
    }

    /// `register = ` the offset in the ring of the slot whose number is in `register`.
    fn locate(self, asm: &mut Assembler, register: Register) {
        asm.by(And, register, self.slots as i32 - 1)
            .by(ShiftLeft, register, (self.slot_words * 8).ilog2() as i32)
            .by(Add, register, SLOTS);
    }
}

/// `R8 = ` the ring in `map` whose number is on the stack; if there is none, the program jumps to the label.
pub(super) fn open(asm: &mut Assembler, map: BorrowedFd<'_>) -> Label {
    let none = asm.label();
    asm.map(R1, map)
        .with(Move, R2, R10)
        .by(Add, R2, STACK_KEY.into())
        .call(Function::MapLookupElement)
        .jump(When::Equal, R0, 0, none)
        .with(Move, R8, R0);
    none
}

/// Ends a program: appends R7 with the present time to the ring at R8 and returns. Jumps to `none` return as well.
/// `more` stores further words of the slot at R8. R9 is the time.
///
/// With `report`, earlier losses are appended first as an event of their own; otherwise they remain for the reader.
pub(super) fn append(
    asm: &mut Assembler,
    none: Label,
    shape: Shape,
    report: bool,
    more: impl FnOnce(&mut Assembler),
) {
    let (full, lost, reserve) = (asm.label(), asm.label(), asm.label());
    asm.call(Function::KtimeGetNs)
        .with(Move, R9, R0)
        .load(Double, R1, R8, HEAD)
        .load(Double, R2, R8, TAIL)
        .with(Subtract, R1, R2)
        .jump(When::Greater, R1, (shape.slots - MARGIN) as i32, full);
    if report {
        asm.load(Double, R1, R8, PENDING).jump(When::NotEqual, R1, 0, lost);
    }
    asm.place(reserve).by(Move, R1, 1).atomic(Atomic::Add, R8, HEAD, R1);
    shape.locate(asm, R1);
    asm.with(Add, R8, R1).store(Double, R8, 8, R7);
    more(asm);
    commit(asm, R8);
    asm.place(none).exit(0);

    asm.place(full).by(Move, R1, 1).atomic(Atomic::Add, R8, PENDING, R1).exit(0);

    asm.place(lost);
    if report {
        asm.by(Move, R1, 0)
            .atomic(Atomic::Exchange, R8, PENDING, R1)
            .jump(When::Equal, R1, 0, reserve)
            .by(ShiftLeft, R1, SHIFT_FIRST)
            .by(Or, R1, Kind::Lost as i32)
            .by(Move, R2, 1)
            .atomic(Atomic::Add, R8, HEAD, R2);
        shape.locate(asm, R2);
        asm.with(Move, R3, R8).with(Add, R3, R2).store(Double, R3, 8, R1);
        commit(asm, R3);
        asm.jump(When::Always, R0, 0, reserve);
    }
}

/// Appends `word` with the present time to the ring at R8, if there is room; if not, or if losses are to be reported
/// first, goes to `full`. Several registers are lost, but not R6 to R8.
pub(super) fn append_before(asm: &mut Assembler, word: Register, shape: Shape, full: Label) {
    asm.call(Function::KtimeGetNs)
        .with(Move, R9, R0)
        .load(Double, R1, R8, PENDING)
        .jump(When::NotEqual, R1, 0, full)
        .load(Double, R1, R8, HEAD)
        .load(Double, R2, R8, TAIL)
        .with(Subtract, R1, R2)
        .jump(When::Greater, R1, (shape.slots - MARGIN) as i32, full)
        .by(Move, R2, 1)
        .atomic(Atomic::Add, R8, HEAD, R2);
    shape.locate(asm, R2);
    asm.with(Move, R3, R8).with(Add, R3, R2).store(Double, R3, 8, word);
    commit(asm, R3);
}

/// Stores the time, after everything else in the slot.
fn commit(asm: &mut Assembler, slot: Register) {
    if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        // This architecture keeps the order of stores.
        asm.store(Double, slot, 0, R9);
    } else {
        asm.with(Move, R0, R9).atomic(Atomic::Exchange, slot, 0, R0);
    }
}

/// The reading side.
#[derive(Debug)]
pub(super) struct Reader {
    shape: Shape,
    /// The first word of the ring in the mapping.
    base: usize,
    /// Slots freed.
    tail: u64,
}

impl Reader {
    /// Returns the reader of ring `number` among the rings that follow each other in a mapping.
    pub(super) const fn new(shape: Shape, number: usize) -> Self {
        Self { shape, base: number * (shape.bytes() as usize / 8), tail: 0 }
    }

    /// Passes at most `limit` complete slots to `each` in order, frees them, and returns how many there were.
    pub(super) fn take(
        &mut self,
        words: &[AtomicU64],
        limit: usize,
        mut each: impl FnMut(&[AtomicU64]),
    ) -> usize {
        let slot_words = self.shape.slot_words as usize;
        let slots = &words[self.base + SLOTS as usize / 8..];
        for count in 0..limit.min(self.shape.slots as usize) {
            let slot = (self.tail & u64::from(self.shape.slots - 1)) as usize * slot_words;
            let slot = &slots[slot..slot + slot_words];
            // Pairs with `commit`: a slot with a time is complete.
            if slot[0].load(Ordering::Acquire) == 0 {
                self.give_back(words);
                return count;
            }
            each(slot);
            slot[0].store(0, Ordering::Relaxed);
            self.tail += 1;
        }
        self.give_back(words);
        limit.min(self.shape.slots as usize)
    }

    /// Takes the losses that were not reported in the ring; the caller reports them.
    pub(super) fn take_lost(&self, words: &[AtomicU64]) -> u64 {
        let pending = &words[self.base + PENDING as usize / 8];
        if pending.load(Ordering::Relaxed) == 0 { 0 } else { pending.swap(0, Ordering::Relaxed) }
    }

    fn give_back(&self, words: &[AtomicU64]) {
        // Pairs with the program's load of it: the program refills slots only after they were read and freed. The
        // jump between its load and the addition to `head` keeps its stores after its load.
        words[self.base + TAIL as usize / 8].store(self.tail, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { slots: 128, slot_words: 2 };

    fn memory() -> Vec<AtomicU64> {
        (0..2 * SHAPE.bytes() / 8).map(|_| AtomicU64::new(0)).collect()
    }

    /// Stores a slot as a program does.
    fn put(words: &[AtomicU64], number: usize, head: u64, at: u64, value: u64) {
        let base =
            number * SHAPE.bytes() as usize / 8 + SLOTS as usize / 8 + (head % 128) as usize * 2;
        words[base + 1].store(value, Ordering::Relaxed);
        words[base].store(at, Ordering::Release);
    }

    #[test]
    fn slots_come_in_order_and_stop_at_an_incomplete_one() {
        let words = memory();
        let mut reader = Reader::new(SHAPE, 1);
        let mut take = |limit| {
            let mut seen = Vec::new();
            reader.take(&words, limit, |slot| seen.push(slot[1].load(Ordering::Relaxed)));
            seen
        };
        put(&words, 0, 0, 5, 50);
        assert_eq!(take(9), [0_u64; 0]);
        put(&words, 1, 0, 5, 51);
        put(&words, 1, 2, 7, 53);
        assert_eq!(take(9), [51]);
        put(&words, 1, 1, 6, 52);
        assert_eq!((take(1), take(9), take(9)), (vec![52], vec![53], vec![]));
        // Once around.
        for head in 3..131 {
            put(&words, 1, head, head, head);
        }
        assert_eq!(take(1000), (3..131).collect::<Vec<_>>());
        assert_eq!(words[(SHAPE.bytes() + TAIL as u32) as usize / 8].load(Ordering::Relaxed), 131);
    }
}
