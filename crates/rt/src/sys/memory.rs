//! Keeps memory present: mlockall(2), and touching stack before it is needed.

use std::hint::black_box;
use std::io;

use hemiola_units::Bytes;
use rustix::mm::{MlockAllFlags, mlockall};

/// Bytes of stack touched at a time. The kernel's guard gap is 1 MiB, so no piece can skip it.
const PIECE: usize = 64 << 10;
/// Stack left free below the touched part, for the touching code itself.
const MARGIN: usize = 2 * PIECE;

/// Locks all memory of this process, present and future.
///
/// Afterwards every mapping and every growth of the stack counts against `RLIMIT_MEMLOCK`, and fails beyond it,
/// unless the process has `CAP_IPC_LOCK`.
///
/// # Errors
/// `EPERM`, `ENOMEM` or `EAGAIN`, all of which mean that the limit was exceeded.
///
/// Source: mlockall(2).
pub fn lock_all() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Returns the locked and the mapped bytes of this process: `VmLck` and `VmSize` in `/proc/self/status` (proc(5)).
///
/// # Errors
/// If `/proc` cannot be read.
pub fn locked_and_mapped() -> io::Result<(Bytes, Bytes)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(Bytes(kib << 10))
    };
    let missing = || io::Error::other("/proc/self/status lacks VmLck or VmSize");
    field("VmLck:").zip(field("VmSize:")).ok_or_else(missing)
}

/// Returns how many bytes [`prefault_stack`] can touch in the calling thread.
///
/// Source: pthread_getattr_np(3), which uses `RLIMIT_STACK` for the first thread.
#[must_use]
pub fn stack_left() -> usize {
    let here = 0u8;
    // SAFETY: an all-zero attribute object is only storage that the next call fills.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: all three calls get valid storage; the object is destroyed once, and only after the call that filled it
    // succeeded.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
    }
    let left = (&raw const here as usize).saturating_sub(lowest as usize).min(size);
    left.saturating_sub(MARGIN)
}

/// Touches `len` bytes of stack below the caller, so that a later call of that depth causes no page fault.
///
/// # Panics
/// If that is more than [`stack_left`].
pub fn prefault_stack(len: usize) {
    assert!(len <= stack_left(), "{len} bytes exceed the stack that is left");
    if len > 0 {
        touch(len);
    }
}

#[inline(never)]
fn touch(len: usize) {
    // Zeroing touches each page; `black_box` keeps the compiler from removing it.
    let mut piece = [0u8; PIECE];
    black_box(&mut piece);
    if len > PIECE {
        touch(len - PIECE);
    }
    black_box(&piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_the_stack_that_is_left_can_be_touched() {
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let touched = thread.spawn(|| {
            // An unoptimized frame is slightly larger than its piece.
            let len = stack_left() / 10 * 9;
            prefault_stack(len);
            len
        });
        assert!(touched.unwrap().join().unwrap() > 1 << 19);
    }

    #[test]
    fn locked_and_mapped_bytes_are_read() {
        let (locked, mapped) = locked_and_mapped().unwrap();
        assert!(locked < mapped && mapped > Bytes(1 << 20));
    }
}
