//! The kernel's own event buffers: perf_event_open(2).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::mapping::{SharedWords, page_size};

const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
/// An event that never occurs and only carries the additional records.
const SOFTWARE_DUMMY: u64 = 9;

const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_RAW: u64 = 1 << 10;

const FORMAT_LOST: u64 = 1 << 4;

const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const COMM: u64 = 1 << 9;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;

/// Offsets of head and tail in the first page of a buffer, in words.
const DATA_HEAD: usize = 128;
const DATA_TAIL: usize = 129;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// A tracepoint, by its number in tracefs: a record of type 9 with its fields.
    Tracepoint(u64),
    /// No event of its own; `switches` and `names` add records.
    Nothing,
}

/// The events to record. Every record ends with process and thread (two 32-bit words) and the time on CLOCK_MONOTONIC,
/// except records of tracepoints, which begin with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The kind of event.
    pub source: EventSource,
    /// A record of every switch: type 14, or 15 when a whole processor is watched.
    pub switches: bool,
    /// A record of every new name, start and end of a thread: types 3, 7 and 4.
    pub names: bool,
    /// Include future children.
    pub inherit: bool,
    /// Include what the kernel does, which needs the privilege.
    pub kernel: bool,
}

/// `struct perf_event_attr` as of its fifth version, 112 bytes.
#[repr(C)]
#[derive(Default)]
struct KernelAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// Opens an event, not yet enabled, of thread `tid` or of all threads, on one processor.
///
/// # Errors
/// `EACCES` or `EPERM` without the privilege; `ESRCH` if there is no such thread; `ENODEV` if the processor is not
/// online; `ENOENT` if the kernel has no such tracepoint; `EMFILE`.
pub fn open(attributes: &Attributes, tid: Option<u32>, cpu: u16) -> io::Result<OwnedFd> {
    let flag = |on, flag| if on { flag } else { 0 };
    let (kind, config, raw) = match attributes.source {
        EventSource::Tracepoint(id) => (TYPE_TRACEPOINT, id, SAMPLE_RAW),
        EventSource::Nothing => (TYPE_SOFTWARE, SOFTWARE_DUMMY, 0),
    };
    let mut kernel = KernelAttributes {
        kind,
        size: size_of::<KernelAttributes>() as u32,
        config,
        sample_period: 1,
        sample_type: SAMPLE_TID | SAMPLE_TIME | raw,
        read_format: FORMAT_LOST,
        flags: DISABLED
            | WATERMARK
            | SAMPLE_ID_ALL
            | USE_CLOCKID
            | flag(attributes.inherit, INHERIT)
            | flag(!attributes.kernel, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)
            | flag(attributes.names, COMM | TASK)
            | flag(attributes.switches, CONTEXT_SWITCH),
        // As late as possible: the reader polls and never waits for a wake-up.
        wakeup_watermark: u32::MAX,
        clockid: libc::CLOCK_MONOTONIC,
        ..KernelAttributes::default()
    };
    match open_kernel(&kernel, tid, cpu) {
        // Kernels before 6.0 do not count losses per event.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            kernel.read_format = 0;
            open_kernel(&kernel, tid, cpu)
        }
        answer => answer,
    }
}

fn open_kernel(kernel: &KernelAttributes, tid: Option<u32>, cpu: u16) -> io::Result<OwnedFd> {
    const FD_CLOEXEC: libc::c_ulong = 1 << 3;
    const NO_GROUP: i32 = -1;
    let tid = tid.map_or(-1, |tid| i32::try_from(tid).unwrap_or(i32::MAX));
    let cpu = i32::from(cpu);
    let kernel = std::ptr::from_ref(kernel);
    // SAFETY: the structure is filled, states its size, contains no address and outlives the call.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, kernel, tid, cpu, NO_GROUP, FD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Returns how many records of the event were lost for lack of room; `None` where the kernel does not count them.
///
/// # Errors
/// None known for an event.
pub fn lost(event: BorrowedFd<'_>) -> io::Result<Option<u64>> {
    let mut answer = [0_u8; 16];
    let len = rustix::io::read(event, &mut answer)?;
    let lost = answer.last_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    Ok(lost.filter(|_| len == answer.len()))
}

/// Enables the event.
///
/// # Errors
/// None known for an event.
pub fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    control(event, IOC_ENABLE, 0)
}

/// Disables the event.
///
/// # Errors
/// None known for an event.
pub fn disable(event: BorrowedFd<'_>) -> io::Result<()> {
    control(event, IOC_DISABLE, 0)
}

/// Redirects the records of `event` to the buffer of `to`, which must be mapped and of the same processor.
///
/// # Errors
/// `EINVAL` if it is not.
pub fn redirect(event: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    control(event, IOC_SET_OUTPUT, to.as_raw_fd())
}

fn control(event: BorrowedFd<'_>, request: libc::c_ulong, argument: i32) -> io::Result<()> {
    // SAFETY: the requests here take a number or a descriptor and no address.
    let answer = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The buffer of an event, and of the events redirected to it.
#[derive(Debug)]
pub struct Buffer {
    mapping: SharedWords,
    tail: u64,
    record: Vec<u64>,
}

impl Buffer {
    /// Maps a buffer of `len` bytes, which must be a power of two and whole pages.
    ///
    /// # Errors
    /// `EPERM` beyond `perf_event_mlock_kb` and `RLIMIT_MEMLOCK` without `CAP_IPC_LOCK`; `ENOMEM`, `EINVAL`.
    pub fn map(event: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let mapping = SharedWords::map(event, page_size() + len)?;
        Ok(Self { mapping, tail: 0, record: Vec::new() })
    }

    /// Passes the records that are there now to `each`, as whole words in the kernel's layout, and frees their space.
    ///
    /// The first word contains type (32 bits), flags (16) and length in bytes (16).
    pub fn take(&mut self, mut each: impl FnMut(&[u64])) {
        let words = self.mapping.words();
        let data = &words[page_size() / 8..];
        // Pairs with the kernel's release of the records.
        let head = words[DATA_HEAD].load(Ordering::Acquire);
        let word = |at: u64| data[(at / 8) as usize & (data.len() - 1)].load(Ordering::Relaxed);
        while self.tail < head {
            let header = word(self.tail);
            // A record is at least a header; the kernel writes no shorter one.
            let len = (u64::from(header_len(header))).max(8).min(head - self.tail);
            self.record.clear();
            self.record.extend((0..len / 8).map(|index| word(self.tail + index * 8)));
            each(&self.record);
            self.tail += len;
        }
        // Pairs with the kernel's read of it before it overwrites the space.
        words[DATA_TAIL].store(self.tail, Ordering::Release);
    }
}

/// Returns the length of the record that begins with this word.
const fn header_len(word: u64) -> u16 {
    let bytes = word.to_ne_bytes();
    u16::from_ne_bytes([bytes[6], bytes[7]])
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::sys::cpu;

    #[test]
    fn switches_of_the_calling_thread_are_recorded() {
        let names = Attributes {
            source: EventSource::Nothing,
            switches: true,
            names: false,
            inherit: false,
            kernel: false,
        };
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut buffers = Vec::new();
        for cpu in cpu::online().iter() {
            let event = match open(&names, Some(tid), cpu) {
                Err(error) => {
                    return println!("skipped: needs kernel.perf_event_paranoid <= 2: {error}");
                }
                Ok(event) => event,
            };
            let buffer = Buffer::map(event.as_fd(), 16 * page_size()).unwrap();
            enable(event.as_fd()).unwrap();
            buffers.push((event, buffer));
        }
        for _ in 0..10 {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        let mut switches = 0;
        for (event, buffer) in &mut buffers {
            disable(event.as_fd()).unwrap();
            buffer.take(|record| switches += u32::from(record[0] as u32 == 14));
        }
        // Ten switches out and ten in.
        assert!(switches >= 20, "{switches}");
    }
}
