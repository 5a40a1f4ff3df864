//! POSIX message queues by descriptor: mq_overview(7).
//!
//! A queue is unlinked as soon as it is made and opened a second time, so it has no name that could be
//! left behind; it lives as long as a descriptor of it. On Linux a queue's descriptor is a file
//! descriptor: it is inherited, and poll(2) tells when there is a message.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A queue as two descriptors, both closed on exec.
#[derive(Debug)]
pub struct Ends {
    /// For sending, and for taking out what is in the way: never blocks (`O_NONBLOCK`).
    pub sender: OwnedFd,
    /// For receiving: [`wait_receive`] blocks on it, [`receive`] does not.
    pub receiver: OwnedFd,
}

/// A new queue for `length` messages of up to `message_size` bytes. `name` starts with a slash and is
/// taken for a moment only.
///
/// # Errors
/// `EEXIST` when the name is taken; `EINVAL` when a size is zero or beyond `fs.mqueue.msg_max` and
/// `fs.mqueue.msgsize_max`; `EMFILE` beyond `RLIMIT_MSGQUEUE`; `ENOSPC` beyond
/// `fs.mqueue.queues_max`; `ENOSYS` when the kernel has no queues.
///
/// Source: mq_open(3), mq_unlink(3).
pub fn create(name: &str, length: u32, message_size: usize) -> io::Result<Ends> {
    let name = CString::new(name)?;
    // SAFETY: mq_attr is plain integers, for which zero is a value.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = libc::c_long::from(i32::try_from(length).unwrap_or(i32::MAX));
    attributes.mq_msgsize = libc::c_long::try_from(message_size).unwrap_or(libc::c_long::MAX);
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mode: libc::mode_t = 0o600;
    // SAFETY: name is a terminated string and attributes a filled structure, both outliving the call,
    // which with O_CREAT reads exactly these two further arguments.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor, and nobody else knows of it.
    let sender = unsafe { OwnedFd::from_raw_fd(queue) };
    // SAFETY: name is a terminated string that outlives the call, which without O_CREAT reads no more.
    let queue = unsafe { libc::mq_open(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let error = io::Error::last_os_error();
    unlink(&name)?;
    if queue < 0 {
        return Err(error);
    }
    // SAFETY: the kernel has just made this one too.
    let receiver = unsafe { OwnedFd::from_raw_fd(queue) };
    Ok(Ends { sender, receiver })
}

/// Removes the name of a queue; queues that are open live on.
///
/// # Errors
/// `ENOENT` when there is none; `EACCES` when it is another user's.
///
/// Source: mq_unlink(3).
pub fn remove(name: &str) -> io::Result<()> {
    unlink(&CString::new(name)?)
}

fn unlink(name: &CString) -> io::Result<()> {
    // SAFETY: name is a terminated string that outlives the call.
    check(unsafe { libc::mq_unlink(name.as_ptr()) }).map(drop)
}

/// Appends `message`, all at the same priority, so in order.
///
/// # Errors
/// `WouldBlock` when the queue is full; `EMSGSIZE` when the message is too long; `EBADF` when `queue`
/// is none.
///
/// Source: mq_send(3).
pub fn send(queue: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are of one live slice, which the call only reads.
    let done =
        unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(done).map(drop)
}

/// Takes the oldest message into the front of `buffer` and returns its length; never blocks.
///
/// # Errors
/// `WouldBlock` when the queue is empty; `EMSGSIZE` when `buffer` is shorter than the queue's message
/// size; `EBADF` when `queue` is none.
///
/// Source: mq_timedreceive(3): a time in the past is no wait at all, and the kernel sets no timer for it.
pub fn receive(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let past = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: pointer and length are of one live slice, borrowed for writing; the priority may be null;
    // the time outlives the call.
    let length = unsafe {
        libc::mq_timedreceive(
            queue.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            std::ptr::null_mut(),
            &raw const past,
        )
    };
    usize::try_from(length).map_err(|_| match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::TimedOut => io::ErrorKind::WouldBlock.into(),
        error => error,
    })
}

/// Takes the oldest message as [`receive`] does, after waiting for one as long as it takes: one system
/// call where poll(2) and a receive are two. A signal does not end the wait.
///
/// # Errors
/// As [`receive`]; `WouldBlock` only on a descriptor that never blocks.
///
/// Source: mq_receive(3).
pub fn wait_receive(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    super::retry(|| receive_blocking(queue, buffer))
}

fn receive_blocking(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are of one live slice, borrowed for writing; the priority may be null.
    let length = unsafe {
        libc::mq_receive(
            queue.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            std::ptr::null_mut(),
        )
    };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

fn check(done: libc::c_int) -> io::Result<libc::c_int> {
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn messages_pass_in_order_and_neither_end_blocks() {
        let name = format!("/hemiola-test-{}", std::process::id());
        let Ends { sender, receiver } = create(&name, 2, 8).unwrap();
        let queue = sender.as_fd();
        let mut buffer = [0; 8];
        assert_eq!(receive(queue, &mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        send(queue, b"one").unwrap();
        send(queue, b"").unwrap();
        assert_eq!(send(queue, b"three").unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(receive(queue, &mut buffer).unwrap(), 3);
        assert_eq!(&buffer[..3], b"one");
        assert_eq!(receive(queue, &mut buffer).unwrap(), 0);
        let too_long = send(queue, &[0; 9]).unwrap_err();
        assert_eq!(too_long.raw_os_error(), Some(libc::EMSGSIZE));
        // The other descriptor is of the same queue, and blocks only when asked to.
        assert_eq!(
            receive(receiver.as_fd(), &mut buffer).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        send(queue, b"four").unwrap();
        assert_eq!(wait_receive(receiver.as_fd(), &mut buffer).unwrap(), 4);
        // The name was given up at once.
        assert_eq!(remove(&name).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
