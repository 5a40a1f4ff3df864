//! Messages by POSIX queues.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hemiola_rt::sys::mqueue;

use super::Link;

pub(super) struct Queue {
    pub(super) out: OwnedFd,
    pub(super) back: OwnedFd,
}

impl Link for Queue {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        mqueue::send(self.out.as_fd(), message)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        mqueue::wait_receive(self.back.as_fd(), message).map(drop)
    }
}
