//! Keeps memory present: mlockall(2), and touching stack before it is needed.

use std::hint::black_box;
use std::io;
use std::num::NonZeroU8;

use hemiola_units::Bytes;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};

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
    let field = |name: &str| status_field(&status, name);
    let missing = || io::Error::other("/proc/self/status lacks VmLck or VmSize");
    field("VmLck:").zip(field("VmSize:")).ok_or_else(missing)
}

/// A limit of the system on the memory of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Its name: `RLIMIT_AS`, `RLIMIT_DATA`, or the file of a control group.
    pub name: String,
    /// The limit.
    pub limit: Bytes,
    /// What the process uses of it.
    pub used: Bytes,
}

/// Returns the limits of the system on the memory of this process, if there are any: `RLIMIT_AS` and `RLIMIT_DATA`
/// (getrlimit(2)), and `memory.max` of its control group and those above (cgroups(7), version 2).
///
/// # Errors
/// If `/proc` cannot be read.
pub fn limits() -> io::Result<Vec<MemoryLimit>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let used = |field: &str| status_field(&status, field).unwrap_or(Bytes(0));
    let of_process =
        [(Resource::As, "RLIMIT_AS", "VmSize:"), (Resource::Data, "RLIMIT_DATA", "VmData:")];
    let of_process = of_process.into_iter().filter_map(|(resource, name, field)| {
        let limit = Bytes(getrlimit(resource).current?);
        Some(MemoryLimit { name: name.into(), limit, used: used(field) })
    });
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = group_files(&groups).into_iter().filter_map(|file| {
        let limit = Bytes(std::fs::read_to_string(&file).ok()?.trim().parse().ok()?);
        Some(MemoryLimit { name: file, limit, used: used("VmRSS:") })
    });
    Ok(of_process.chain(of_groups).collect())
}

/// The files with the limits of a process's control group and of those above it, given `/proc/self/cgroup`.
fn group_files(groups: &str) -> Vec<String> {
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let paths = std::iter::successors(Some(path.trim_end_matches('/')), |path| {
        path.rsplit_once('/').map(|(above, _)| above)
    });
    paths.map(|path| format!("/sys/fs/cgroup{path}/memory.max")).collect()
}

fn status_field(status: &str, name: &str) -> Option<Bytes> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes(kib << 10))
}

/// Gives freed memory back to the system.
///
/// Source: malloc_trim(3).
pub fn give_back() {
    // SAFETY: it takes a number and touches only the allocator's own memory.
    unsafe { libc::malloc_trim(0) };
}

/// Lets all threads share this many arenas of the C library's allocator. Each but the first reserves 64 MiB of address
/// space and keeps what was freed in it.
///
/// Source: mallopt(3), `M_ARENA_MAX`.
pub fn limit_arenas(count: NonZeroU8) {
    // SAFETY: it takes two numbers and touches only the allocator's own memory.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, count.get().into()) };
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
    fn the_limits_of_all_control_groups_above_count() {
        let files = group_files("1:name=systemd:/x\n0::/user.slice/user-1000.slice\n");
        let expected = [
            "/sys/fs/cgroup/user.slice/user-1000.slice/memory.max",
            "/sys/fs/cgroup/user.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(files, expected);
        assert_eq!(group_files("0::/\n"), ["/sys/fs/cgroup/memory.max"]);
        assert_eq!(group_files(""), [""; 0]);
    }

    #[test]
    fn freed_memory_is_given_back() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            status_field(&status, "VmRSS:").unwrap().0
        };
        let mut pieces: Vec<Vec<u8>> = (0..64_000).map(|_| vec![1; 1000]).collect();
        let last = pieces.pop();
        let full = resident();
        drop(pieces);
        give_back();
        assert!(resident() + (48 << 20) < full, "{} of {full} bytes are left", resident());
        drop(last);
    }

    #[test]
    fn locked_and_mapped_bytes_are_read() {
        let (locked, mapped) = locked_and_mapped().unwrap();
        assert!(locked < mapped && mapped > Bytes(1 << 20));
    }
}
