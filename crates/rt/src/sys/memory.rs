//! Keeping memory present: mlockall(2), and stack touched before it is needed.

use std::hint::black_box;
use std::io;

use hemiola_units::Bytes;
use rustix::mm::{MlockAllFlags, mlockall};

/// How much stack is touched at a time; the kernel's guard gap is 1 MiB, so no piece can leap it.
const PIECE: usize = 64 << 10;
/// Stack left free below what is touched, for whoever touches it.
const MARGIN: usize = 2 * PIECE;

/// Locks all memory of this process, present and future.
///
/// Afterwards every mapping and every growth of the stack counts against `RLIMIT_MEMLOCK`, and fails
/// beyond it, unless the process has `CAP_IPC_LOCK`.
///
/// # Errors
/// `EPERM`, `ENOMEM` or `EAGAIN`, all meaning the limit.
///
/// Source: mlockall(2).
pub fn lock_all() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Locked and mapped bytes of this process: `VmLck` and `VmSize` of `/proc/self/status` (proc(5)).
///
/// # Errors
/// When `/proc` cannot be read.
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

/// How many bytes [`prefault_stack`] can touch in the calling thread.
///
/// Source: pthread_getattr_np(3), which for the first thread takes `RLIMIT_STACK`.
#[must_use]
pub fn stack_left() -> usize {
    let here = 0u8;
    // SAFETY: an all-zero attribute object is only storage, which the next call fills.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: all three get valid storage of their own; the object is destroyed once, and only after the
    // call that filled it succeeded.
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

/// Touches `len` bytes of stack below the caller, so that a later call as deep causes no page fault.
///
/// # Panics
/// When that is more than [`stack_left`].
pub fn prefault_stack(len: usize) {
    assert!(len <= stack_left(), "{len} bytes of stack are not there");
    if len > 0 {
        touch(len);
    }
}

#[inline(never)]
fn touch(len: usize) {
    // Zeroing touches each page; the compiler must believe that somebody looks.
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
            // An unoptimized frame is somewhat larger than its piece.
            let len = stack_left() / 10 * 9;
            prefault_stack(len);
            len
        });
        assert!(touched.unwrap().join().unwrap() > 1 << 19);
    }

    #[test]
    fn the_kernel_says_what_is_mapped() {
        let (locked, mapped) = locked_and_mapped().unwrap();
        assert!(locked < mapped && mapped > Bytes(1 << 20));
    }
}
