//! A segment of shared memory: created without a name and passed on as a descriptor.

use std::io;

use thiserror::Error;

use super::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use super::layout::{Layout, SegmentKind};
#[cfg(not(loom))]
use super::memory::Memory;
#[cfg(loom)]
use super::memory_loom::Memory;

/// Whether a segment may be written through its mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and waiting only; the kernel enforces it.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// Why a segment could not be created or attached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The kernel refused one of the calls; `call` says which.
    #[error("{call} failed for a shared memory segment: {source}")]
    System {
        /// The system call's name.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The requested sizes do not make a segment.
    #[error(
        "a segment cannot have {slot_count} slots of {slot_size} bytes; a slot has 1 byte or more, a log's \
         slot has 32, a latest value at least 2 slots, and the whole at most 1 GiB"
    )]
    Sizes {
        /// Payload bytes asked for.
        slot_size: usize,
        /// Slots asked for.
        slot_count: u32,
    },
    /// The file behind the descriptor could shrink while it is mapped.
    #[error("the descriptor is not a memory file sealed against changing its size")]
    NotSealed,
    /// The header in the memory is not that of a segment.
    #[error("the memory does not hold a segment of this version: {0}")]
    NotASegment(String),
    /// The segment is sound but of another kind.
    #[error("the segment holds a {found:?}, expected a {expected:?}")]
    WrongKind {
        /// The kind needed here.
        expected: SegmentKind,
        /// The kind in the header.
        found: SegmentKind,
    },
    /// This end writes, and the mapping is read-only.
    #[error("the segment is mapped read-only, and this end writes")]
    ReadOnly,
}

/// One mapped segment and its descriptor.
///
/// It has no name in any file system and exists as long as a process has it mapped or open, so a killed process
/// leaves nothing behind. Its size is fixed at creation and sealed.
#[derive(Debug)]
pub struct Segment {
    pub(super) memory: Memory,
    pub(super) layout: Layout,
    access: Access,
    #[cfg(not(loom))]
    fd: std::os::fd::OwnedFd,
}

impl Segment {
    /// Returns the structure in the segment.
    #[must_use]
    pub fn kind(&self) -> SegmentKind {
        self.layout.kind
    }

    /// Returns the payload bytes of a slot, which is the length of the longest message.
    #[must_use]
    pub fn slot_size(&self) -> usize {
        self.layout.slot_size as usize
    }

    /// Returns how many messages a queue or log can hold.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.layout.capacity
    }

    /// Returns how it is mapped.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Checks that the segment can serve as one end of `kind`.
    pub(super) fn expect(self, kind: SegmentKind, access: Access) -> Result<Self, SegmentError> {
        if self.layout.kind != kind {
            return Err(SegmentError::WrongKind { expected: kind, found: self.layout.kind });
        }
        if access == Access::ReadWrite && self.access == Access::ReadOnly {
            return Err(SegmentError::ReadOnly);
        }
        Ok(self)
    }

    #[inline]
    pub(super) fn u32(&self, offset: usize) -> &AtomicU32 {
        self.memory.u32(offset)
    }

    #[inline]
    pub(super) fn u64(&self, offset: usize) -> &AtomicU64 {
        self.memory.u64(offset)
    }

    /// Loads with acquire ordering, as a relaxed load and a fence. An acquire load may be compiled to an instruction
    /// that writes, which would fault in a read-only mapping (`std::sync::atomic`, "Atomic accesses to read-only
    /// memory").
    #[inline]
    pub(super) fn acquire(&self, offset: usize) -> u32 {
        let value = self.u32(offset).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }
}

#[cfg(not(loom))]
mod mapped {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::fs::{Mode, OFlags, fstat, open};
    use rustix::io::pread;

    use super::super::layout::{
        CAPACITY_AT, KIND_AT, MAGIC, MAGIC_AT, PUBLISHED_AT, SLOT_COUNT_AT, SLOT_SIZE_AT, VERSION,
        VERSION_AT,
    };
    use super::super::memory::is_sealed;
    use super::{Access, Layout, Memory, Ordering, Segment, SegmentError, SegmentKind};

    fn system<E: Into<std::io::Error>>(call: &'static str) -> impl FnOnce(E) -> SegmentError {
        move |source| SegmentError::System { call, source: source.into() }
    }

    impl Segment {
        /// Creates a segment of `slot_count` slots of `slot_size` bytes (rounded up to a multiple of 8), all zero,
        /// mapped for writing, with every page present.
        ///
        /// For a queue or log, `slot_count` is its capacity in messages, any number; for a latest value it is
        /// [`LATEST_SLOTS`](crate::shared::LATEST_SLOTS). `label` appears in `/proc/PID/maps` and need not be unique.
        /// The descriptor is closed on exec: see [`clear_cloexec`](crate::sys::process::clear_cloexec).
        ///
        /// # Errors
        /// [`SegmentError::Sizes`], and [`SegmentError::System`] if the kernel has no memory or descriptor left, or
        /// the label is longer than 249 bytes.
        ///
        /// Source: memfd_create(2).
        pub fn create(
            label: &str,
            kind: SegmentKind,
            slot_size: usize,
            slot_count: u32,
        ) -> Result<Self, SegmentError> {
            let sizes = || SegmentError::Sizes { slot_size, slot_count };
            let payload = slot_size.checked_next_multiple_of(8).ok_or_else(sizes)?;
            let payload = u32::try_from(payload).map_err(|_| sizes())?;
            let slots = slot_count.checked_next_power_of_two().ok_or_else(sizes)?;
            let layout = Layout::new(kind, payload, slots, slot_count).ok_or_else(sizes)?;

            let (memory, fd) = Memory::create(label, layout.len)
                .map_err(|(call, source)| SegmentError::System { call, source })?;
            let segment = Self { memory, layout, access: Access::ReadWrite, fd };
            segment.write_header();
            Ok(segment)
        }

        /// Writes the header again, which a process with write access may have destroyed, and empties a latest value:
        /// the next process that attaches must find a sound segment, and nothing that was meant for another. A writer
        /// that is attached continues its own count.
        pub fn renew(&self) {
            self.write_header();
            if self.layout.kind == SegmentKind::Latest {
                self.u32(PUBLISHED_AT).store(0, Ordering::Release);
            }
        }

        fn write_header(&self) {
            let Layout { kind, slot_size, slot_count, capacity, .. } = self.layout;
            for (offset, value) in [
                (MAGIC_AT, MAGIC),
                (VERSION_AT, VERSION),
                (KIND_AT, kind as u32),
                (SLOT_SIZE_AT, slot_size),
                (SLOT_COUNT_AT, slot_count),
                (CAPACITY_AT, capacity),
            ] {
                self.u32(offset).store(value, Ordering::Release);
            }
        }

        /// Checks and maps a segment that another process created.
        ///
        /// # Errors
        /// [`SegmentError::NotSealed`] and [`SegmentError::NotASegment`] for a wrong descriptor;
        /// [`SegmentError::System`], with `EACCES` if `access` is more than the descriptor allows.
        pub fn from_fd(fd: OwnedFd, access: Access) -> Result<Self, SegmentError> {
            if !is_sealed(fd.as_fd()) {
                return Err(SegmentError::NotSealed);
            }
            let not = |what: String| Err(SegmentError::NotASegment(what));
            let size = fstat(&fd).map_err(system("fstat"))?.st_size;
            let mut header = [0; CAPACITY_AT + 4];
            let read = pread(&fd, &mut header, 0).map_err(system("pread"))?;
            if read < header.len() {
                return not(format!("{size} bytes are less than a header"));
            }
            let word = |at| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
            if word(MAGIC_AT) != MAGIC {
                return not(format!("it starts with {:#010x}", word(MAGIC_AT)));
            }
            if word(VERSION_AT) != VERSION {
                return not(format!("its version is {}", word(VERSION_AT)));
            }
            let Some(kind) = SegmentKind::from_number(word(KIND_AT)) else {
                return not(format!("its kind is {}", word(KIND_AT)));
            };
            let sizes = (word(SLOT_SIZE_AT), word(SLOT_COUNT_AT), word(CAPACITY_AT));
            let layout = Layout::new(kind, sizes.0, sizes.1, sizes.2);
            let Some(layout) = layout.filter(|layout| layout.len as i64 <= size) else {
                return not(format!(
                    "slots of {} bytes, {} times, for {} messages do not make {size} bytes",
                    sizes.0, sizes.1, sizes.2
                ));
            };
            let writable = access == Access::ReadWrite;
            let memory = Memory::map(fd.as_fd(), layout.len, writable).map_err(system("mmap"))?;
            Ok(Self { memory, layout, access, fd })
        }

        /// Returns the descriptor, for handing to a child.
        #[must_use]
        pub fn fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }

        /// Returns a new descriptor of the same segment that does not allow writing.
        ///
        /// This guards against errors, not malice: a process of the same user could open the memory
        /// again for writing through `/proc`.
        ///
        /// # Errors
        /// [`SegmentError::System`] if `/proc` is not mounted or no descriptor is left.
        pub fn reopen_read_only(&self) -> Result<OwnedFd, SegmentError> {
            use std::os::fd::AsRawFd;
            let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            open(path, flags, Mode::empty()).map_err(system("open"))
        }

        /// Returns the same segment again, sharing the mapping, for the other end in this process.
        ///
        /// # Errors
        /// [`SegmentError::System`] if no descriptor is left.
        pub fn try_clone(&self) -> Result<Self, SegmentError> {
            let fd = self.fd.try_clone().map_err(system("fcntl(F_DUPFD_CLOEXEC)"))?;
            Ok(Self { memory: self.memory.clone(), layout: self.layout, access: self.access, fd })
        }
    }
}

#[cfg(loom)]
impl Segment {
    pub(super) fn create(
        _label: &str,
        kind: SegmentKind,
        slot_size: usize,
        slot_count: u32,
    ) -> Result<Self, SegmentError> {
        let payload = slot_size as u32;
        let slots = slot_count.next_power_of_two();
        let layout = Layout::new(kind, payload, slots, slot_count)
            .ok_or(SegmentError::Sizes { slot_size, slot_count })?;
        Ok(Self { memory: Memory::plain(&layout), layout, access: Access::ReadWrite })
    }

    pub(super) fn try_clone(&self) -> Result<Self, SegmentError> {
        Ok(Self { memory: self.memory.clone(), layout: self.layout, access: self.access })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    use super::*;
    use crate::shared::{LATEST_SLOTS, LatestWriter};

    fn latest() -> Segment {
        Segment::create("test", SegmentKind::Latest, 20, LATEST_SLOTS).unwrap()
    }

    fn sealed(bytes: &[u8], seals: rustix::fs::SealFlags) -> OwnedFd {
        let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        rustix::io::pwrite(&fd, bytes, 0).unwrap();
        fcntl_add_seals(&fd, seals).unwrap();
        fd
    }

    #[test]
    fn a_reopened_segment_has_the_same_sizes() {
        let segment = Segment::create("test", SegmentKind::Queue, 20, 10).unwrap();
        let fd = segment.reopen_read_only().unwrap();
        let again = Segment::from_fd(fd, Access::ReadOnly).unwrap();
        assert_eq!(again.layout, segment.layout);
        assert_eq!((again.slot_size(), again.capacity()), (24, 10));
    }

    #[test]
    fn bytes_are_at_the_offsets_of_the_drawing() {
        let segment = latest();
        let fd = segment.reopen_read_only().unwrap();
        let mut writer = LatestWriter::attach(segment).unwrap();
        for message in [&b"first"[..], b"the second one"] {
            writer.publish(message).unwrap();
        }
        let mut bytes = [0; 192 + 4 * 64];
        assert_eq!(rustix::io::pread(&fd, &mut bytes, 0).unwrap(), bytes.len());
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(&bytes[..4], b"HEM1");
        assert_eq!([4, 8, 12, 16, 20].map(word), [1, 1, 24, 4, 4]);
        assert_eq!([64, 128].map(word), [2, 0]);
        let second = 192 + 2 * 64;
        assert_eq!([second, second + 4].map(word), [14, 2]);
        assert_eq!(&bytes[second + 8..second + 22], b"the second one");
    }

    #[test]
    fn a_read_only_descriptor_cannot_be_mapped_for_writing() {
        let fd = latest().reopen_read_only().unwrap();
        let error = Segment::from_fd(fd, Access::ReadWrite).unwrap_err();
        assert!(matches!(error, SegmentError::System { call: "mmap", .. }), "{error}");
    }

    #[test]
    fn a_read_only_segment_takes_no_writer() {
        let fd = latest().reopen_read_only().unwrap();
        let segment = Segment::from_fd(fd, Access::ReadOnly).unwrap();
        assert!(matches!(LatestWriter::attach(segment), Err(SegmentError::ReadOnly)));
    }

    #[test]
    fn a_segment_of_another_kind_is_refused() {
        let segment = Segment::create("test", SegmentKind::Log, 32, 8).unwrap();
        let error = LatestWriter::attach(segment).unwrap_err();
        assert_eq!(error.to_string(), "the segment holds a Log, expected a Latest");
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        let fd = sealed(b"HEM1", rustix::fs::SealFlags::GROW);
        let error = Segment::from_fd(fd, Access::ReadWrite).unwrap_err();
        assert!(matches!(error, SegmentError::NotSealed), "{error}");
    }

    #[test]
    fn memory_that_is_not_a_segment_is_refused_with_the_reason() {
        let seals = rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW;
        let header = |words: [u32; 6]| words.map(u32::to_le_bytes).concat();
        for (words, expected) in [
            ([0, 1, 1, 24, 4, 4], "it starts with 0x00000000"),
            ([0x314D_4548, 2, 1, 24, 4, 4], "its version is 2"),
            ([0x314D_4548, 1, 9, 24, 4, 4], "its kind is 9"),
            ([0x314D_4548, 1, 1, 1 << 30, 4, 4], "do not make 4096 bytes"),
            ([0x314D_4548, 1, 1, 24, 3, 3], "do not make 4096 bytes"),
            ([0x314D_4548, 1, 2, 24, 4, 5], "do not make 4096 bytes"),
        ] {
            let fd = sealed(&header(words), seals);
            let error = Segment::from_fd(fd, Access::ReadWrite).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn only_the_segment_is_mapped_of_a_larger_file() {
        let seals = rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW;
        let header = [0x314D_4548, 1, 1, 24, 4, 4].map(u32::to_le_bytes).concat();
        for (words, fits) in [(header, true), (vec![0; 24], false)] {
            let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
            // More than an address space can hold: mapping the whole file would fail.
            ftruncate(&fd, 1 << 60).unwrap();
            rustix::io::pwrite(&fd, &words, 0).unwrap();
            fcntl_add_seals(&fd, seals).unwrap();
            match Segment::from_fd(fd, Access::ReadWrite) {
                Ok(segment) => assert!(fits && segment.layout.len == 192 + 4 * 64),
                Err(error) => {
                    assert!(!fits && matches!(error, SegmentError::NotASegment(_)), "{error}")
                }
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (kind, slot_size, slot_count) in [
            (SegmentKind::Latest, 0, 4),
            (SegmentKind::Latest, 8, 1),
            (SegmentKind::Queue, 8, 0),
            (SegmentKind::Queue, usize::MAX, 1),
            (SegmentKind::Queue, 1 << 20, 1 << 20),
            (SegmentKind::Log, 64, 8),
        ] {
            let error = Segment::create("test", kind, slot_size, slot_count).unwrap_err();
            assert!(matches!(error, SegmentError::Sizes { .. }), "{error}");
        }
    }
}
