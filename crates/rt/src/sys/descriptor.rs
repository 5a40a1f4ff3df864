//! Descriptors known by number alone: inherited ones, and those inside a library.
#![expect(
    unsafe_code,
    reason = "the standard library takes a bare number only on the caller's word"
)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A descriptor of our own, closed on exec, for what `number` refers to now. The original stays open
/// and whose it was.
///
/// # Errors
/// `EBADF` when nothing is open under `number`; `EMFILE` when no descriptor is left.
///
/// Source: fcntl(2), `F_DUPFD_CLOEXEC`.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_DUPFD_CLOEXEC takes and returns integers and touches no memory of ours; it
    // leaves `number` as it is, so no other owner is disturbed whoever that may be.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made `copy`, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Closes what is open under `number` when this process executes another program.
///
/// # Errors
/// `EBADF` when nothing is open under it.
///
/// Source: fcntl(2), `F_SETFD`.
pub fn close_on_exec(number: i32) -> io::Result<()> {
    // SAFETY: fcntl with F_SETFD takes and returns integers and touches no memory of ours; the descriptor stays open
    // and whose it was.
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
    fn a_descriptor_can_be_kept_from_other_programs() {
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
