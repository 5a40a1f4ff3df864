//! Programs and maps in the kernel: bpf(2).
//!
//! An object exists as long as a descriptor of it, or an object that uses it: a program keeps its maps alive, an
//! attachment its program. Nothing is pinned, so a process that dies leaves nothing behind.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: u32 = 0;
const PROG_LOAD: u32 = 5;
const OBJ_GET_INFO_BY_FD: u32 = 15;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const LINK_CREATE: u32 = 28;
const ITER_CREATE: u32 = 33;

const MAP_TYPE_ARRAY: u32 = 2;
const F_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_TRACING: u32 = 26;
const TRACE_RAW_TP: u32 = 23;
const TRACE_ITER: u32 = 28;

/// The longest message of the verifier about a refused program.
const LOG_LEN: usize = 64 << 10;

/// Where a program of type `TRACING` is attached: the kind of place, and the BTF type id of its definition in the
/// kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A tracepoint: the type definition `btf_trace_NAME`.
    Tracepoint(u32),
    /// An iterator: the function `bpf_iter_NAME`.
    Iterator(u32),
}

/// Why the kernel refused a program.
#[derive(Debug)]
pub struct LoadError {
    /// The kernel's answer.
    pub error: io::Error,
    /// The verifier's message, if requested. Its last line gives the reason.
    pub log: String,
}

/// Creates an array of `entries` values of `value_size` bytes, all zero, which can be mapped into memory.
///
/// # Errors
/// `EPERM` without `CAP_BPF`; `ENOMEM`; `E2BIG` if a value is 2 GiB or larger.
pub fn create_array(name: &CStr, value_size: u32, entries: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        map_type: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        map_flags: u32,
        inner_map_fd: u32,
        numa_node: u32,
        map_name: [u8; 16],
    }
    let mut attributes = Attributes {
        map_type: MAP_TYPE_ARRAY,
        key_size: 4,
        value_size,
        max_entries: entries,
        map_flags: F_MMAPABLE,
        inner_map_fd: 0,
        numa_node: 0,
        map_name: object_name(name),
    };
    // SAFETY: the structure is a prefix of the kernel's for this command and contains no address.
    let fd = unsafe { bpf(MAP_CREATE, &mut attributes) }?;
    // SAFETY: this command returns a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Loads a program of type `TRACING`: `code` is in the kernel's instruction encoding.
///
/// `license` decides which kernel functions the program may call. With `explain`, a refusal includes the verifier's
/// message.
///
/// # Errors
/// `EPERM` without `CAP_BPF` and `CAP_PERFMON`; `EACCES` or `EINVAL` if the verifier refuses it.
pub fn load(
    name: &CStr,
    code: &[u64],
    license: &CStr,
    place: Place,
    explain: bool,
) -> Result<OwnedFd, LoadError> {
    #[repr(C)]
    struct Attributes {
        prog_type: u32,
        insn_cnt: u32,
        insns: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log_buf: u64,
        kern_version: u32,
        prog_flags: u32,
        prog_name: [u8; 16],
        prog_ifindex: u32,
        expected_attach_type: u32,
        prog_btf_fd: u32,
        func_info_rec_size: u32,
        func_info: u64,
        func_info_cnt: u32,
        line_info_rec_size: u32,
        line_info: u64,
        line_info_cnt: u32,
        attach_btf_id: u32,
        attach_prog_fd: u32,
        pad: u32,
    }
    let (expected_attach_type, attach_btf_id) = match place {
        Place::Tracepoint(id) => (TRACE_RAW_TP, id),
        Place::Iterator(id) => (TRACE_ITER, id),
    };
    let mut log = vec![0_u8; if explain { LOG_LEN } else { 0 }];
    let mut attributes = Attributes {
        prog_type: PROG_TYPE_TRACING,
        insn_cnt: code.len() as u32,
        insns: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: explain.into(),
        log_size: log.len() as u32,
        log_buf: if explain { log.as_mut_ptr() as u64 } else { 0 },
        kern_version: 0,
        prog_flags: 0,
        prog_name: object_name(name),
        prog_ifindex: 0,
        expected_attach_type,
        prog_btf_fd: 0,
        func_info_rec_size: 0,
        func_info: 0,
        func_info_cnt: 0,
        line_info_rec_size: 0,
        line_info: 0,
        line_info_cnt: 0,
        attach_btf_id,
        attach_prog_fd: 0,
        pad: 0,
    };
    // SAFETY: the structure is a prefix of the kernel's for this command. Its addresses are those of `code` with its
    // length, of a terminated string, and of `log` with its length, all of which outlive the call.
    match unsafe { bpf(PROG_LOAD, &mut attributes) } {
        // SAFETY: this command returns a new descriptor that nothing else owns.
        Ok(fd) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        Err(error) => {
            let said = log.split(|byte| *byte == 0).next().unwrap_or_default();
            Err(LoadError { error, log: String::from_utf8_lossy(said).into_owned() })
        }
    }
}

/// Attaches a program to its tracepoint, for the lifetime of the descriptor.
///
/// # Errors
/// `EPERM`, `ENOMEM`, `E2BIG` beyond the number of programs that one tracepoint allows.
pub fn attach(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        name: u64,
        prog_fd: u32,
        pad: u32,
    }
    let mut attributes = Attributes { name: 0, prog_fd: program.as_raw_fd() as u32, pad: 0 };
    // SAFETY: the structure is a prefix of the kernel's for this command; a null name means the program's own place.
    let fd = unsafe { bpf(RAW_TRACEPOINT_OPEN, &mut attributes) }?;
    // SAFETY: this command returns a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns a file with the output of the iterator `program`, which can be read once.
///
/// # Errors
/// `EPERM`, `ENOMEM`.
pub fn iterate(program: BorrowedFd<'_>) -> io::Result<File> {
    #[repr(C)]
    struct Link {
        prog_fd: u32,
        target_fd: u32,
        attach_type: u32,
        flags: u32,
    }
    #[repr(C)]
    struct Iterate {
        link_fd: u32,
        flags: u32,
    }
    let prog_fd = program.as_raw_fd() as u32;
    let mut link = Link { prog_fd, target_fd: 0, attach_type: TRACE_ITER, flags: 0 };
    // SAFETY: the structure is a prefix of the kernel's for this command and contains no address.
    let fd = unsafe { bpf(LINK_CREATE, &mut link) }?;
    // SAFETY: this command returns a new descriptor that nothing else owns.
    let link = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut attributes = Iterate { link_fd: link.as_raw_fd() as u32, flags: 0 };
    // SAFETY: as above.
    let fd = unsafe { bpf(ITER_CREATE, &mut attributes) }?;
    // SAFETY: as above.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Returns how often the program was skipped because it was already running on that processor.
///
/// # Errors
/// `EINVAL` on kernels before 5.12, which do not count it.
pub fn recursion_misses(program: BorrowedFd<'_>) -> io::Result<u64> {
    /// The index of this field in `struct bpf_prog_info`, in words.
    const RECURSION_MISSES: usize = 26;
    #[repr(C)]
    struct Attributes {
        bpf_fd: u32,
        info_len: u32,
        info: u64,
    }
    let mut info = [0_u64; RECURSION_MISSES + 1];
    let mut attributes = Attributes {
        bpf_fd: program.as_raw_fd() as u32,
        info_len: size_of_val(&info) as u32,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: the structure is a prefix of the kernel's for this command. Its address is that of `info` with its
    // length, which outlives the call; all other addresses in `info` are zero with lengths of zero.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut attributes) }?;
    match attributes.info_len as usize >= size_of_val(&info) {
        true => Ok(info[RECURSION_MISSES]),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

/// # Safety
/// `attributes` must be a prefix of the kernel's structure for `command`, and every address in it must be valid.
unsafe fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: guaranteed by the caller; the size is that of the structure.
    let answer = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
}

/// Returns a name in the kernel's form: at most 15 bytes and a zero.
fn object_name(name: &CStr) -> [u8; 16] {
    let mut field = [0; 16];
    let len = name.to_bytes().len().min(15);
    field[..len].copy_from_slice(&name.to_bytes()[..len]);
    field
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::sys::mapping::SharedWords;

    #[test]
    fn two_mappings_of_a_map_share_their_words() {
        let map = match create_array(c"test", 4096, 2) {
            Err(error) => return println!("skipped: needs CAP_BPF: {error}"),
            Ok(map) => map,
        };
        let one = SharedWords::map(map.as_fd(), 8192).unwrap();
        let other = SharedWords::map(map.as_fd(), 8192).unwrap();
        one.words()[512].store(7, Ordering::Relaxed);
        assert_eq!(other.words()[512].load(Ordering::Relaxed), 7);
        assert!(SharedWords::map(map.as_fd(), 1 << 20).is_err());
    }

    #[test]
    fn the_verifier_gives_its_reason() {
        // A lone `exit`, which sets no result.
        let refused = load(c"test", &[0x95], c"Dual MIT/GPL", Place::Tracepoint(0), true);
        let refused = refused.expect_err("it names no tracepoint");
        if refused.error.kind() == ErrorKind::PermissionDenied {
            return println!("skipped: needs CAP_BPF and CAP_PERFMON");
        }
        assert_eq!(refused.error.kind(), ErrorKind::InvalidInput, "{refused:?}");
    }
}
