//! Descriptors known only by number: inherited ones, and those inside a library.
#![expect(
    unsafe_code,
    reason = "the standard library takes a bare number only on the caller's word"
)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Returns a new descriptor, closed on exec, for the file open under `number`. The original stays open and keeps its
/// owner.
///
/// # Errors
/// `EBADF` if nothing is open under `number`; `EMFILE` if no descriptor is left.
///
/// Source: fcntl(2), `F_DUPFD_CLOEXEC`.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_DUPFD_CLOEXEC takes and returns integers and touches no memory of this process. It leaves
    // `number` open, so its owner is not affected.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created `copy`, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Marks the file open under `number` to be closed when this process executes another program.
///
/// # Errors
/// `EBADF` if nothing is open under `number`.
///
/// Source: fcntl(2), `F_SETFD`.
pub fn close_on_exec(number: i32) -> io::Result<()> {
    // SAFETY: fcntl with F_SETFD takes and returns integers and touches no memory of this process. The descriptor
    // stays open and keeps its owner.
    match unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_copy_outlives_the_original() {
        let (reader, writer) = std::io::pipe().unwrap();
        let copy = duplicate(writer.as_raw_fd()).unwrap();
        drop(writer);
        rustix::io::write(copy, b"x").unwrap();
        assert_eq!(rustix::io::read(reader, &mut [0; 2]), Ok(1));
    }

    #[test]
    fn a_descriptor_can_be_closed_on_exec() {
        let (reader, _writer) = std::io::pipe().unwrap();
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
        close_on_exec(reader.as_raw_fd()).unwrap();
        assert_eq!(rustix::io::fcntl_getfd(&reader), Ok(rustix::io::FdFlags::CLOEXEC));
    }

    #[test]
    fn a_number_without_a_descriptor_is_refused() {
        for number in [-1, 1 << 20] {
            assert_eq!(close_on_exec(number).unwrap_err().raw_os_error(), Some(libc::EBADF));
            assert_eq!(duplicate(number).unwrap_err().raw_os_error(), Some(libc::EBADF));
        }
    }
}
