//! POSIX message queues by descriptor: mq_overview(7).
//!
//! A queue is opened a second time and unlinked right after its creation, so it leaves no name behind and exists as
//! long as a descriptor of it. On Linux a queue's descriptor is a file descriptor: it is inherited, and poll(2)
//! reports when there is a message.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A queue as two descriptors, both closed on exec.
#[derive(Debug)]
pub struct Ends {
    /// For sending, and for removing messages to make room: never blocks (`O_NONBLOCK`).
    pub sender: OwnedFd,
    /// For receiving: [`wait_receive`] blocks on it, [`receive`] does not.
    pub receiver: OwnedFd,
}

/// Creates a queue for `length` messages of up to `message_size` bytes. `name` starts with a slash and is used only
/// for a moment.
///
/// # Errors
/// `EEXIST` if the name is taken; `EINVAL` if a size is zero or beyond `fs.mqueue.msg_max` or `fs.mqueue.msgsize_max`;
/// `EMFILE` beyond `RLIMIT_MSGQUEUE`; `ENOSPC` beyond `fs.mqueue.queues_max`; `ENOSYS` if the kernel has no queues.
///
/// Source: mq_open(3), mq_unlink(3).
pub fn create(name: &str, length: u32, message_size: usize) -> io::Result<Ends> {
    let name = CString::new(name)?;
    // SAFETY: mq_attr consists of integers, for which zero is valid.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = libc::c_long::from(i32::try_from(length).unwrap_or(i32::MAX));
    attributes.mq_msgsize = libc::c_long::try_from(message_size).unwrap_or(libc::c_long::MAX);
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mode: libc::mode_t = 0o600;
    // SAFETY: `name` is a terminated string and `attributes` a filled structure; both outlive the call, which with
    // O_CREAT reads exactly these two further arguments.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    let sender = unsafe { OwnedFd::from_raw_fd(queue) };
    // SAFETY: `name` is a terminated string that outlives the call, which without O_CREAT reads no further argument.
    let queue = unsafe { libc::mq_open(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let error = io::Error::last_os_error();
    unlink(&name)?;
    if queue < 0 {
        return Err(error);
    }
    // SAFETY: the kernel has just created this one too.
    let receiver = unsafe { OwnedFd::from_raw_fd(queue) };
    Ok(Ends { sender, receiver })
}

/// Removes the name of a queue; open queues continue to exist.
///
/// # Errors
/// `ENOENT` if there is none; `EACCES` if it belongs to another user.
///
/// Source: mq_unlink(3).
pub fn remove(name: &str) -> io::Result<()> {
    unlink(&CString::new(name)?)
}

fn unlink(name: &CString) -> io::Result<()> {
    // SAFETY: `name` is a terminated string that outlives the call.
    check(unsafe { libc::mq_unlink(name.as_ptr()) }).map(drop)
}

/// Appends `message`. All messages have the same priority, so they stay in order.
///
/// # Errors
/// `WouldBlock` if the queue is full; `EMSGSIZE` if the message is too long; `EBADF` if `queue` is not a queue.
///
/// Source: mq_send(3).
pub fn send(queue: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live slice, which the call only reads.
    let done =
        unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(done).map(drop)
}

/// Takes the oldest message into the front of `buffer` and returns its length; never blocks.
///
/// # Errors
/// `WouldBlock` if the queue is empty; `EMSGSIZE` if `buffer` is shorter than the queue's message size; `EBADF` if
/// `queue` is not a queue.
///
/// Source: mq_timedreceive(3). With a time in the past it does not wait, and the kernel sets no timer.
pub fn receive(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let past = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: pointer and length are those of a live slice, borrowed mutably; the priority may be null; the time
    // outlives the call.
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

/// Takes the oldest message like [`receive`], after waiting for one without limit: one system call instead of poll(2)
/// and a receive. A signal does not end the wait.
///
/// # Errors
/// Like [`receive`]; `WouldBlock` only on a non-blocking descriptor.
///
/// Source: mq_receive(3).
pub fn wait_receive(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    super::retry(|| receive_blocking(queue, buffer))
}

fn receive_blocking(queue: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a live slice, borrowed mutably; the priority may be null.
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
        // The other descriptor is of the same queue, and only `wait_receive` blocks on it.
        assert_eq!(
            receive(receiver.as_fd(), &mut buffer).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        send(queue, b"four").unwrap();
        assert_eq!(wait_receive(receiver.as_fd(), &mut buffer).unwrap(), 4);
        // The name was removed at once.
        assert_eq!(remove(&name).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
