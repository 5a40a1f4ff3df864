//! Anonymous memory, file mappings, and words shared with the kernel: mmap(2), madvise(2).

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use hemiola_units::Bytes;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Returns the size of an ordinary page.
#[must_use]
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The size of the pages of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's default (`/sys/kernel/mm/transparent_hugepage/enabled`).
    Unasked,
    /// Ordinary pages only (`MADV_NOHUGEPAGE`).
    Ordinary,
    /// Transparent huge pages where they fit (`MADV_HUGEPAGE`).
    Huge,
}

/// Private memory, all zero. No page is present before it is touched, unless the process locks future memory:
/// [`lock_all`](super::memory::lock_all).
#[derive(Debug)]
pub struct Anonymous(Range);

impl Anonymous {
    /// Maps `len` bytes, rounded up to whole pages.
    ///
    /// # Errors
    /// `EINVAL` if `len` is zero, or if huge pages are requested and the kernel was built without them; `ENOMEM`.
    pub fn map(len: usize, pages: Pages) -> io::Result<Self> {
        let len = len.checked_next_multiple_of(page_size()).unwrap_or(usize::MAX);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE) }?;
        let mapping = Self(Range::new(base, len));
        let advice = match pages {
            Pages::Unasked => return Ok(mapping),
            Pages::Ordinary => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: both kinds of advice change how the range is backed, not its contents.
        match unsafe { madvise(base, len, advice) } {
            // A kernel without huge pages does not know this advice, and uses ordinary pages.
            Err(Errno::INVAL) if pages == Pages::Ordinary => Ok(mapping),
            outcome => Ok(outcome.map(|()| mapping)?),
        }
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable, zeroed by the kernel, alive as long as `self`, not shared, and changed
        // only through `&mut self`.
        unsafe { std::slice::from_raw_parts(self.0.base.as_ptr(), self.0.len) }
    }

    /// Returns its bytes, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; writable, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.base.as_ptr(), self.0.len) }
    }

    /// Returns its bytes as 64-bit words, mutable.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `bytes_mut`; a mapping starts and ends at a page, so it is aligned and a multiple of eight
        // bytes, and every bit pattern is a valid word.
        unsafe { std::slice::from_raw_parts_mut(self.0.base.as_ptr().cast(), self.0.len / 8) }
    }

    /// Returns how much of it is backed by transparent huge pages now: `AnonHugePages` in `/proc/self/smaps`
    /// (proc(5)), which includes neighbours that the kernel has merged with it.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn huge(&self) -> io::Result<Bytes> {
        let address = self.0.base.as_ptr() as usize;
        let smaps = std::fs::read_to_string("/proc/self/smaps")?;
        let mut inside = false;
        for line in smaps.lines() {
            if let Some(range) = range_of(line) {
                inside = range.contains(&address);
            } else if inside && let Some(size) = line.strip_prefix("AnonHugePages:") {
                let kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
                return Ok(Bytes((kib << 10).min(self.0.len as u64)));
            }
        }
        Err(io::Error::other("/proc/self/smaps does not have AnonHugePages of a mapping"))
    }
}

/// Returns the addresses in a line such as `7f1c2000-7f1c4000 rw-p …`; `None` for other lines.
fn range_of(line: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

/// The beginning of a file, mapped for reading.
#[derive(Debug)]
pub struct FileView(Range);

impl FileView {
    /// Maps the first `len` bytes of `fd`; no page is present before it is touched. If the file becomes shorter,
    /// touching the missing part ends the process with `SIGBUS`.
    ///
    /// # Errors
    /// `EINVAL` if `len` is zero; `EACCES` if `fd` cannot be read; `ENODEV` if it cannot be mapped.
    pub fn map(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }?;
        Ok(Self(Range::new(base, len)))
    }

    /// Reads the byte at `offset`, which loads its page.
    ///
    /// # Panics
    /// If `offset` is outside the view.
    #[inline]
    pub fn touch(&self, offset: usize) -> u8 {
        assert!(offset < self.0.len, "byte {offset} is outside the view");
        // SAFETY: inside the mapping, alive as long as `self`. Other processes may write the file meanwhile, so it is
        // only read as an atomic; a relaxed load is an ordinary load and writes nothing.
        let byte = unsafe { AtomicU8::from_ptr(self.0.base.add(offset).as_ptr()) };
        byte.load(Ordering::Relaxed)
    }
}

/// Words that the kernel and this process both read and write: a map of bpf(2), or the buffer of perf_event_open(2).
#[derive(Debug)]
pub struct SharedWords(Range);

impl SharedWords {
    /// Maps the first `len` bytes of `fd`, for reading and writing.
    ///
    /// # Errors
    /// `EINVAL` if `len` is zero or not what the kernel object requires; `EPERM` beyond a limit on locked memory;
    /// `EACCES`, `ENOMEM`.
    pub fn map(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }?;
        Ok(Self(Range::new(base, len)))
    }

    /// Returns all whole words. The kernel may change them at any time; each is read and written by itself.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is readable, writable, alive as long as `self` and starts at a page; every bit pattern
        // is a valid word, and the kernel may change an atomic. Kernel objects do not shrink, so the end stays mapped.
        unsafe { std::slice::from_raw_parts(self.0.base.as_ptr().cast(), self.0.len / 8) }
    }
}

/// A mapped range, unmapped on drop.
#[derive(Debug)]
struct Range {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: this is an address and a length; the type that holds it controls access.
unsafe impl Send for Range {}
// SAFETY: as for Send.
unsafe impl Sync for Range {}

impl Range {
    fn new(base: *mut std::ffi::c_void, len: usize) -> Self {
        let base = NonNull::new(base.cast()).expect("the kernel never maps page zero unasked");
        Self { base, len }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: `base` and `len` are those of the mmap call and are unmapped nowhere else; every reference into the
        // range borrows the value that holds this one. A failure would leak the mapping.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;
    use crate::sys::usage::thread_faults;

    #[test]
    fn new_memory_is_zero_and_present_once_touched() {
        let pages = 64;
        let mut mapping = Anonymous::map(pages * page_size(), Pages::Ordinary).unwrap();
        let before = thread_faults();
        for page in mapping.bytes_mut().chunks_mut(page_size()) {
            page[0] += 1;
        }
        assert!(thread_faults() >= before + pages as u64);
        assert_eq!(mapping.bytes()[..2], [1, 0]);
        assert_eq!(mapping.words_mut()[page_size() / 8], 1);
        assert_eq!(mapping.huge().unwrap(), Bytes(0));
    }

    #[test]
    fn huge_pages_are_counted_where_the_kernel_has_them() {
        match Anonymous::map(8 << 20, Pages::Huge) {
            Ok(mut mapping) => {
                mapping.bytes_mut().fill(1);
                // The kernel may have none left, so only its answer is checked.
                assert!(mapping.huge().unwrap() <= Bytes(8 << 20));
            }
            Err(error) => println!("skipped: needs transparent huge pages: {error}"),
        }
        assert!(Anonymous::map(0, Pages::Unasked).is_err());
    }

    #[test]
    fn a_view_shows_the_file() {
        let fd = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(fd);
        file.write_all(b"hemiola").unwrap();
        let view = FileView::map(file.as_fd(), 7).unwrap();
        assert_eq!((view.touch(0), view.touch(6)), (b'h', b'a'));
        assert!(std::panic::catch_unwind(|| view.touch(7)).is_err());
    }
}
