//! The memory shared with the recorder: mapped once, then accessed word by word as atomics.
#![expect(
    unsafe_code,
    reason = "without dependencies there is no safe wrapper of mmap; unsafe code is in this file only"
)]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const _: () =
    assert!(cfg!(all(target_os = "linux", target_endian = "little")), "Linux, little-endian");

/// The environment variable with the paths of the memory.
const VARIABLE: &CStr = c"HEMIOLA_TRACE";
/// The longest path, in bytes.
const PATH_LEN_MAX: usize = 63;

// Offsets, as drawn in `crates/rt/src/shared/layout.md` of Hemiola.
const HEADER: [u32; 3] = [0x314D_4548, 1, 4];
const SLOT_SIZE_AT: usize = 12;
const CAPACITY_AT: usize = 20;
const REFUSED_TASKS_AT: usize = 64;
const REFUSED_CALLS_AT: usize = 68;
const SLOTS_AT: usize = 192;

const OWNER_AT: usize = 0;
const STATE_AT: usize = 4;
const PID_AT: usize = 8;
const TID_AT: usize = 12;
const PERIOD_AT: usize = 16;
const DEADLINE_AT: usize = 24;
const NAME_AT: usize = 32;
const PUBLISHED_AT: usize = 64;
const NAMES_AT: usize = 68;
const LOST_AT: usize = 72;
const NAMELESS_AT: usize = 80;
const CONSUMED_AT: usize = 128;
const MARK_NAMES_AT: usize = 192;
const ENTRIES_AT: usize = 1216;
const ENTRY_SIZE: usize = 32;

const CALL_LEN: usize = 64;
const CALLS_MAX: usize = 64;
const CALL_AT: usize = 8;
const CALL_WHAT_AT: usize = 16;
const CALL_PID_AT: usize = 20;
const CALL_TEXT_AT: usize = 24;

const IN_USE: u32 = 1;
const GIVEN_BACK: u32 = 2;

/// `struct sockaddr_un`.
#[repr(C)]
struct SocketAddress {
    family: u16,
    path: [u8; SOCKET_LEN_MAX + 1],
}

/// The longest path of a socket, in bytes (unix(7)).
const SOCKET_LEN_MAX: usize = 107;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanos: i64,
}

const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const SEEK_END: c_int = 2;
const F_DUPFD_CLOEXEC: c_int = 1030;
const F_GET_SEALS: c_int = 1034;
const F_SEAL_SHRINK: c_int = 2;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const CLOCK_MONOTONIC: c_int = 1;
const AF_UNIX: u16 = 1;
const SOCK_STREAM_CLOEXEC: c_int = 1 | O_CLOEXEC;
const MSG_NOSIGNAL: c_int = 0x4000;
const SOL_SOCKET: c_int = 1;
const SO_RCVTIMEO: c_int = 20;
const PAGE: usize = 4096;

// Every C library on Linux has these; the numbers above are the same on all its 64-bit processors.
unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn lseek(fd: c_int, offset: c_long, whence: c_int) -> c_long;
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn getpid() -> c_int;
    fn gettid() -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(fd: c_int, address: *const SocketAddress, len: u32) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const Timespec, len: u32) -> c_int;
    fn send(fd: c_int, bytes: *const c_void, len: usize, flags: c_int) -> isize;
    fn recv(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int) -> isize;
}

/// Nanoseconds on `CLOCK_MONOTONIC`.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let mut time = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: the kernel writes one `timespec`, which on 64-bit Linux is two 64-bit words.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanos as u64
}

/// Sends a line to the Unix socket at `place`, a path or `fd:N` for an open descriptor, and returns whether the answer
/// is "ok". Waits for it for at most five seconds.
pub(crate) fn ask(place: &str, line: &[u8]) -> bool {
    let number = place.strip_prefix("fd:");
    let fd = match number {
        Some(number) => number.parse().ok().filter(|number| *number >= 0),
        None => connected(place),
    };
    let Some(fd) = fd else { return false };
    // `struct timeval` differs in its second word only, which is 0.
    let limit = Timespec { seconds: 5, nanos: 0 };
    // SAFETY: each pointer is to a local variable that lives during the call, with its length; a refused option only
    // means a longer wait.
    let sent = unsafe {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &raw const limit, size_of::<Timespec>() as u32);
        send(fd, line.as_ptr().cast(), line.len(), MSG_NOSIGNAL) == line.len() as isize
    };
    let answered = sent && is_ok(fd);
    if number.is_none() {
        // SAFETY: `fd` was connected above and belongs to this function only.
        unsafe { close(fd) };
    }
    answered
}

/// Connects to the Unix socket at `path`.
fn connected(path: &str) -> Option<c_int> {
    let mut address = SocketAddress { family: AF_UNIX, path: [0; SOCKET_LEN_MAX + 1] };
    address.path[..SOCKET_LEN_MAX].get_mut(..path.len())?.copy_from_slice(path.as_bytes());
    // SAFETY: socket(2) takes three numbers.
    let fd = unsafe { socket(AF_UNIX.into(), SOCK_STREAM_CLOEXEC, 0) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the pointer is to a local variable that lives during the call, with its length.
    if unsafe { connect(fd, &raw const address, size_of::<SocketAddress>() as u32) } == 0 {
        return Some(fd);
    }
    // SAFETY: `fd` belongs to this function only.
    unsafe { close(fd) };
    None
}

/// Reads a line, and nothing behind it. Returns whether it is "ok".
fn is_ok(fd: c_int) -> bool {
    let mut matches = 0;
    loop {
        let mut byte = 0_u8;
        // SAFETY: the pointer is to a local variable of one byte that lives during the call.
        if unsafe { recv(fd, (&raw mut byte).cast(), 1, 0) } != 1 {
            return false;
        }
        if b"ok\n".get(matches) == Some(&byte) {
            matches += 1;
        } else {
            // Another answer, which is read to its end.
            matches = usize::MAX;
        }
        if byte == b'\n' {
            return matches == 3;
        }
    }
}

/// The recorder's memory, mapped for as long as the process lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board {
    base: NonNull<u8>,
    slot_size: usize,
    slots: usize,
}

/// The value of `BASE` when there is nothing to map: an address that no mapping has.
const NOBODY: *mut u8 = core::ptr::without_provenance_mut(1);
static BASE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
/// The sizes that were checked for the mapping at `BASE`: slot size below, slots above. They are kept here because
/// every program that is recorded can write the header in the mapping. Set before `BASE`, once.
static SIZES: AtomicU64 = AtomicU64::new(0);

/// The recorder's memory, searched for at the first call; `None` when nothing records this process.
#[inline]
pub(crate) fn board() -> Option<Board> {
    // SYNC POINT with the exchange in `find`: the mapping and `SIZES` are complete.
    let base = BASE.load(Ordering::Acquire);
    if base == NOBODY {
        return None;
    }
    match NonNull::new(base) {
        Some(base) => Some(Board::new(base, SIZES.load(Ordering::Relaxed))),
        None => find(),
    }
}

/// Searches for the memory. When several threads search at the same time, the first to finish decides.
#[cold]
fn find() -> Option<Board> {
    // SAFETY: the argument is a C string; the result is null or a C string. As for every getenv, the program must not
    // change its environment meanwhile (environ(7)).
    let value = unsafe { secure_getenv(VARIABLE.as_ptr()) };
    let found = if value.is_null() {
        None
    } else {
        // SAFETY: as above.
        let paths = unsafe { CStr::from_ptr(value) }.to_bytes();
        paths.split(|byte| *byte == b':').find_map(map)
    };
    // Another thread may have found other sizes if the header changed in between. The first sizes stay, and this
    // mapping counts only if it is long enough for them.
    let found = found.and_then(|(board, len)| {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let sizes = match SIZES.compare_exchange(0, board.sizes(), order.0, order.1) {
            Ok(_) => board.sizes(),
            Err(first) => first,
        };
        let board = Board::new(board.base, sizes);
        if board.fits(len) {
            return Some((board, len));
        }
        // SAFETY: mapped above by this thread and known to no other.
        unsafe { munmap(board.base.as_ptr().cast(), len) };
        None
    });
    let base = found.map_or(NOBODY, |(board, _)| board.base.as_ptr());
    let order = (Ordering::AcqRel, Ordering::Acquire);
    match BASE.compare_exchange(core::ptr::null_mut(), base, order.0, order.1) {
        Ok(_) => found.map(|(board, _)| board),
        Err(_) => {
            if let Some((board, len)) = found {
                // SAFETY: mapped above by this thread and known to no other.
                unsafe { munmap(board.base.as_ptr().cast(), len) };
            }
            board()
        }
    }
}

/// Maps the memory at `path` if it is valid.
fn map(path: &[u8]) -> Option<(Board, usize)> {
    let mut name = [0_u8; PATH_LEN_MAX + 1];
    if path.is_empty() || path.len() > PATH_LEN_MAX {
        return None;
    }
    name[..path.len()].copy_from_slice(path);
    // SAFETY: `name` ends with a zero, because it is longer than any path copied there.
    let mut fd = unsafe { open(name.as_ptr().cast(), O_RDWR | O_CLOEXEC) };
    if fd < 0 {
        // A program that has become another user may not open the memory, but still has the descriptor.
        let number = inherited(path)?;
        // SAFETY: it takes and returns integers.
        fd = unsafe { fcntl(number, F_DUPFD_CLOEXEC, 0) };
    }
    if fd < 0 {
        return None;
    }
    // SAFETY: both take and return integers.
    let (seals, len) = unsafe { (fcntl(fd, F_GET_SEALS), lseek(fd, 0, SEEK_END)) };
    let len = usize::try_from(len).unwrap_or(0);
    // Memory that could shrink would end the program with SIGBUS.
    let base = if seals >= 0 && seals & F_SEAL_SHRINK != 0 && len >= SLOTS_AT {
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        unsafe { mmap(core::ptr::null_mut(), len, PROT_READ_WRITE, MAP_SHARED, fd, 0) }
    } else {
        core::ptr::null_mut()
    };
    // SAFETY: `fd` belongs to this function only; the mapping does not need it.
    unsafe { close(fd) };
    let base = NonNull::new(base.cast::<u8>()).filter(|base| base.as_ptr().addr() != usize::MAX)?;
    // SAFETY: the header is inside the mapping, which is at least that long.
    let word = |at| unsafe { u32_at(base.add(at)) }.load(Ordering::Relaxed);
    let (slot_size, slots) = (word(SLOT_SIZE_AT) as usize, word(CAPACITY_AT) as usize);
    let board = Board { base, slot_size, slots };
    if [word(0), word(4), word(8)] == HEADER && board.fits(len) {
        return Some((board, len));
    }
    // SAFETY: mapped above and known to no other thread.
    unsafe { munmap(base.as_ptr().cast(), len) };
    None
}

/// Returns the number of the inherited descriptor that `path` names.
fn inherited(path: &[u8]) -> Option<c_int> {
    let number = core::str::from_utf8(path.strip_prefix(b"/proc/self/fd/")?).ok()?;
    number.parse().ok().filter(|number| *number >= 0)
}

/// Returns the word at an address.
///
/// # Safety
/// `at` must point to four aligned bytes of a shared mapping that exists for `'a`, and every access to them in this
/// process must go through this function.
unsafe fn u32_at<'a>(at: NonNull<u8>) -> &'a AtomicU32 {
    // SAFETY: guaranteed by the caller.
    unsafe { AtomicU32::from_ptr(at.as_ptr().cast()) }
}

impl Board {
    /// Creates the board at `base` with sizes from [`Self::sizes`].
    const fn new(base: NonNull<u8>, sizes: u64) -> Self {
        Self { base, slot_size: (sizes as u32) as usize, slots: (sizes >> 32) as usize }
    }

    /// Returns both sizes in one word; each came from a 32-bit word of the header.
    const fn sizes(self) -> u64 {
        self.slot_size as u64 | (self.slots as u64) << 32
    }

    /// Whether the sizes are sound and the slots lie within a mapping of `len` bytes.
    fn fits(self, len: usize) -> bool {
        self.slot_size.is_multiple_of(64)
            && self.slot_size >= ENTRIES_AT + ENTRY_SIZE
            && self.slots > 0
            && self.slot_size.checked_mul(self.slots).is_some_and(|size| size <= len - SLOTS_AT)
    }

    /// Returns the 32-bit word at byte `offset`, which must be a multiple of 4 inside the mapping.
    #[inline]
    fn u32(&self, offset: usize) -> &'static AtomicU32 {
        // SAFETY: the mapping is never unmapped and accessed only through atomics, and the offsets used are below
        // `SLOTS_AT + slots * slot_size`, which `fits` has checked to be inside.
        unsafe { u32_at(self.base.add(offset)) }
    }

    /// Returns the 64-bit word at byte `offset`, which must be a multiple of 8 inside the mapping.
    #[inline]
    fn u64(&self, offset: usize) -> &'static AtomicU64 {
        // SAFETY: as in `u32`; no word is accessed in both widths.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).as_ptr().cast()) }
    }

    /// Claims a free lane for a task of the calling thread.
    pub(crate) fn claim(self, name: &str, period_ns: u64, deadline_ns: u64) -> Option<Claimed> {
        let (pid, tid) = ids();
        let lane = (1..self.slots).map(|slot| SLOTS_AT + slot * self.slot_size).find(|lane| {
            let owner = self.u32(lane + OWNER_AT);
            // SYNC POINT with the recorder's release when it frees the lane.
            owner.compare_exchange(0, tid, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let Some(lane) = lane else {
            self.u32(REFUSED_TASKS_AT).fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.u32(lane + PID_AT).store(pid, Ordering::Relaxed);
        self.u32(lane + TID_AT).store(tid, Ordering::Relaxed);
        self.u64(lane + PERIOD_AT).store(period_ns, Ordering::Relaxed);
        self.u64(lane + DEADLINE_AT).store(deadline_ns, Ordering::Relaxed);
        self.text::<4>(lane + NAME_AT, name);
        // Make the pages present here rather than during a job.
        (ENTRIES_AT..self.slot_size).step_by(PAGE).chain([self.slot_size - 8]).for_each(|at| {
            self.u64(lane + at).fetch_or(0, Ordering::Relaxed);
        });
        // SYNC POINT with the recorder's acquire: the description above is complete.
        self.u32(lane + STATE_AT).store(IN_USE, Ordering::Release);
        let fit = (self.slot_size - ENTRIES_AT) / ENTRY_SIZE;
        Some(Claimed {
            board: self,
            lane,
            capacity: 1 << fit.min(1 << 31).ilog2(),
            published: self.u32(lane + PUBLISHED_AT).load(Ordering::Relaxed),
            consumed: self.u32(lane + CONSUMED_AT).load(Ordering::Acquire),
            placed: false,
        })
    }

    /// Makes a call in a free place.
    pub(crate) fn call(self, at: u64, what: u32, text: &str) {
        let (pid, tid) = ids();
        let places = (self.slot_size / CALL_LEN).min(CALLS_MAX);
        let place = (0..places).map(|place| SLOTS_AT + place * CALL_LEN).find(|place| {
            let owner = self.u32(place + OWNER_AT);
            owner.compare_exchange(0, tid, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let Some(place) = place else {
            self.u32(REFUSED_CALLS_AT).fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.u64(place + CALL_AT).store(at, Ordering::Relaxed);
        self.u32(place + CALL_WHAT_AT).store(what, Ordering::Relaxed);
        self.u32(place + CALL_PID_AT).store(pid, Ordering::Relaxed);
        self.text::<5>(place + CALL_TEXT_AT, text);
        // SYNC POINT with the recorder's acquire.
        self.u32(place + STATE_AT).store(1, Ordering::Release);
    }

    /// Writes text into `WORDS` words, filled with zeros, or cut off at a character boundary.
    fn text<const WORDS: usize>(&self, offset: usize, text: &str) {
        let cut = text.floor_char_boundary(WORDS * 8);
        let mut bytes = text.as_bytes()[..cut].iter().copied();
        for word in 0..WORDS {
            let eight = core::array::from_fn(|_| bytes.next().unwrap_or(0));
            self.u64(offset + 8 * word).store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
    }
}

/// Returns the ids of the calling process and thread.
fn ids() -> (u32, u32) {
    // SAFETY: both take nothing and cannot fail (getpid(2), gettid(2)).
    let (pid, tid) = unsafe { (getpid(), gettid()) };
    (pid.cast_unsigned(), tid.cast_unsigned())
}

/// The writing end of a lane that a task has claimed.
#[derive(Debug)]
pub(crate) struct Claimed {
    board: Board,
    /// The offset of the lane.
    lane: usize,
    capacity: u32,
    published: u32,
    /// The recorder's count as last read: its cache line is fetched only when the lane seems full.
    consumed: u32,
    /// Whether the thread that marks is stored in the lane.
    placed: bool,
}

// SAFETY: this is an address in a mapping that is never removed, accessed through atomics; any thread may use it.
unsafe impl Send for Claimed {}
// SAFETY: as for Send; writing needs `&mut self`.
unsafe impl Sync for Claimed {}

impl Claimed {
    /// Appends an entry, or counts it as lost if the lane is full.
    #[inline]
    pub(crate) fn push(&mut self, entry: [u64; 4]) {
        if !self.placed {
            self.placed = true;
            self.board.u32(self.lane + TID_AT).store(ids().1, Ordering::Relaxed);
        }
        if self.published.wrapping_sub(self.consumed) >= self.capacity {
            // SYNC POINT with the recorder's release: the places before it are free.
            self.consumed = self.board.u32(self.lane + CONSUMED_AT).load(Ordering::Acquire);
            if self.published.wrapping_sub(self.consumed) >= self.capacity {
                return self.count(LOST_AT);
            }
        }
        let number = self.published.wrapping_add(1);
        let place = (number & (self.capacity - 1)) as usize;
        let at = self.lane + ENTRIES_AT + place * ENTRY_SIZE;
        for (index, word) in entry.into_iter().enumerate() {
            self.board.u64(at + 8 * index).store(word, Ordering::Relaxed);
        }
        // SYNC POINT with the recorder's acquire: a recorder that sees the count sees the entry.
        self.board.u32(self.lane + PUBLISHED_AT).store(number, Ordering::Release);
        self.published = number;
    }

    /// Counts an entry that is dropped because all names of marks are in use.
    #[cold]
    pub(crate) fn drop_nameless(&self) {
        self.count(NAMELESS_AT);
    }

    /// Adds one to a count that only this end writes.
    fn count(&self, at: usize) {
        let count = self.board.u64(self.lane + at);
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Sets the name of mark `index`, which must be the next one.
    pub(crate) fn name(&self, index: usize, name: &str) {
        assert!(index < crate::MARK_NAMES_MAX);
        self.board.text::<4>(self.lane + MARK_NAMES_AT + index * 32, name);
        // SYNC POINT with the recorder's acquire: the name is complete.
        self.board.u32(self.lane + NAMES_AT).store(index as u32 + 1, Ordering::Release);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // After a fork, the child has a copy of its parent's lane.
        if self.board.u32(self.lane + PID_AT).load(Ordering::Relaxed) == ids().0 {
            // SYNC POINT with the recorder's acquire: nothing more is added.
            self.board.u32(self.lane + STATE_AT).store(GIVEN_BACK, Ordering::Release);
        }
    }
}
