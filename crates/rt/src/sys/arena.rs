//! An arena: blocks of memory whose addresses are offsets from one base.
//!
//! An offset of 32 bits names any byte of an arena of 4 GiB, as an address does in the linear memory of a WebAssembly
//! module. So a module can work on columns in an arena where they are.
//!
//! ```text
//! base                                              base + size           + guard
//!  │ block │ nothing │ block      │ nothing …            │ nothing            │
//! ```
//!
//! The addresses are reserved at once. Pages exist only in blocks: every other access is a fault (SIGSEGV).

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::mapping::page_size;

/// Bytes behind the end of each block that can be read, so that vectors may begin within the last item.
const SLACK: usize = 64;

/// Reserved addresses, of which blocks are in use.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    size: usize,
    guard: usize,
    /// The unused ranges: offset and length, both in whole pages. No two of them touch.
    unused: Mutex<BTreeMap<usize, usize>>,
}

// SAFETY: the arena itself accesses no byte of its range; it maps and unmaps pages, and the list of these has a lock.
unsafe impl Send for Arena {}
// SAFETY: as for Send.
unsafe impl Sync for Arena {}

/// A block of an [`Arena`], whose bytes are zero at first. Its pages go when it is dropped.
#[derive(Debug)]
pub struct Block {
    arena: Arc<Arena>,
    offset: usize,
    /// Bytes that its user asked for.
    len: usize,
    /// With slack, in whole pages.
    mapped: usize,
}

/// Numbers, for which every pattern of bits is a value.
pub trait Plain: sealed::Sealed + Copy {}

mod sealed {
    /// Only numbers are plain.
    pub trait Sealed {}
}

macro_rules! plain {
    ($($type:ident)*) => {$(
        impl sealed::Sealed for $type {}
        impl Plain for $type {}
    )*};
}
plain!(u8 i32 u64 f32 f64);

impl Arena {
    /// Reserves so many bytes, rounded up to whole pages, and `guard` bytes behind them that never have a page.
    ///
    /// # Errors
    /// `ENOMEM` or `EAGAIN` beyond a limit of address space or of locked memory.
    pub fn reserve(size: usize, guard: usize) -> io::Result<Arc<Self>> {
        let size = whole_pages(size);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (at, len) = (std::ptr::null_mut(), size.saturating_add(guard));
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        let base = unsafe { mmap_anonymous(at, len, ProtFlags::empty(), flags) }?;
        let base = NonNull::new(base.cast()).expect("the kernel never maps page zero unasked");
        let unused = Mutex::new(BTreeMap::from([(0, size)]));
        Ok(Arc::new(Self { base, size, guard, unused }))
    }

    /// Takes a block of so many bytes.
    ///
    /// # Errors
    /// `ENOMEM` if no unused range is as long, or the system has no memory left.
    pub fn take(self: &Arc<Self>, len: usize) -> io::Result<Block> {
        let mapped = whole_pages(len.saturating_add(SLACK));
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = unused.iter().find(|(_, free)| **free >= mapped);
        let (offset, free) =
            fits.map(|(at, free)| (*at, *free)).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the range is unused, so nothing refers to it.
        unsafe { mprotect(self.at(offset).cast(), mapped, flags) }?;
        unused.remove(&offset);
        if free > mapped {
            unused.insert(offset + mapped, free - mapped);
        }
        Ok(Block { arena: Arc::clone(self), offset, len, mapped })
    }

    /// The address of its first byte.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Bytes behind it that never have a page.
    #[must_use]
    pub const fn guard(&self) -> usize {
        self.guard
    }

    /// The offset of an address that lies in it.
    #[must_use]
    pub fn offset(&self, address: usize) -> Option<usize> {
        address.checked_sub(self.base.as_ptr() as usize).filter(|offset| *offset < self.size)
    }

    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: callers name offsets within the reserved range.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// Takes the pages of a block back. Where the kernel refuses, the range is never used again.
    fn give_back(&self, offset: usize, mapped: usize) {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        let at: *mut c_void = self.at(offset).cast();
        // SAFETY: the range belongs to a block that is dropped. A new mapping drops the pages, also locked ones.
        if unsafe { mmap_anonymous(at, mapped, ProtFlags::empty(), flags) }.is_err() {
            return;
        }
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut start, mut len) = (offset, mapped);
        if let Some(next) = unused.remove(&(start + len)) {
            len += next;
        }
        let before = unused.range(..start).next_back().map(|(at, len)| (*at, *len));
        if let Some((at, before)) = before.filter(|(at, len)| at + len == start) {
            (start, len) = (at, before + len);
        }
        unused.insert(start, len);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mmap call; every block holds the arena, so there is none any more. A
        // failure would leak the addresses.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size + self.guard) };
    }
}

impl Block {
    /// Where it begins, from the base of its arena.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Its bytes as numbers; those at the end that are no whole number are left out.
    #[must_use]
    pub fn items<T: Plain>(&self) -> &[T] {
        let (at, count) = (self.arena.at(self.offset).cast(), self.len / size_of::<T>());
        // SAFETY: the pages are mapped as long as the block exists, are written only by who borrows the block for
        // writing, and begin at a page, so numbers are aligned; every pattern of bits is a number.
        unsafe { std::slice::from_raw_parts(at, count) }
    }

    /// As [`Self::items`], for writing.
    pub fn items_mut<T: Plain>(&mut self) -> &mut [T] {
        let (at, count) = (self.arena.at(self.offset).cast(), self.len / size_of::<T>());
        // SAFETY: as in `items`; the block is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(at, count) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.arena.give_back(self.offset, self.mapped);
    }
}

fn whole_pages(len: usize) -> usize {
    len.checked_next_multiple_of(page_size()).unwrap_or(usize::MAX - (page_size() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zero_and_apart() {
        let arena = Arena::reserve(1 << 20, 1 << 16).unwrap();
        let mut blocks: Vec<Block> = [1, 4_096, 70_000].map(|len| arena.take(len).unwrap()).into();
        for (number, block) in (1..).zip(&mut blocks) {
            assert!(block.items::<u64>().iter().all(|word| *word == 0));
            block.items_mut::<u8>().fill(number);
        }
        for (number, block) in (1..).zip(&blocks) {
            assert!(block.items::<u8>().iter().all(|byte| *byte == number));
            let address = block.items::<u8>().as_ptr() as usize;
            assert_eq!(arena.offset(address), Some(block.offset()));
        }
        assert_eq!(blocks[2].items::<f64>().len(), 70_000 / 8);
        assert_eq!(arena.offset(&raw const blocks as usize), None);
    }

    #[test]
    fn a_block_that_is_dropped_leaves_its_place_and_no_bytes() {
        let page = page_size();
        let arena = Arena::reserve(8 * page, page).unwrap();
        let take = |pages: usize| arena.take(pages * page - SLACK);
        let mut all: Vec<Option<Block>> = (0..8).map(|_| take(1).ok()).collect();
        assert!(all.iter().all(Option::is_some));
        assert_eq!(take(1).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        all[3].as_mut().unwrap().items_mut::<u8>().fill(9);
        // The ranges of neighbours become one, in whatever order they are left.
        for order in [[2, 3, 4], [4, 3, 2], [2, 4, 3]] {
            order.iter().for_each(|at| all[*at] = None);
            assert!(take(4).is_err());
            let three = take(3).unwrap();
            assert_eq!(three.offset(), 2 * page);
            assert!(three.items::<u8>().iter().all(|byte| *byte == 0));
            drop(three);
            (2..5).for_each(|at| all[at] = take(1).ok());
        }
        drop(all);
        assert_eq!(take(8).unwrap().offset(), 0);
    }

    #[test]
    fn sizes_beyond_the_addresses_are_refused() {
        assert!(Arena::reserve(usize::MAX, 0).is_err());
        let arena = Arena::reserve(1, 0).unwrap();
        for len in [page_size(), usize::MAX - SLACK, usize::MAX] {
            assert_eq!(arena.take(len).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        }
        assert!(arena.take(0).unwrap().items::<u64>().is_empty());
    }
}
