//! Messages by write(2) and read(2): pipes and connected sockets.

use std::fs::File;
use std::io::{self, Read, Write};

use super::Link;

pub(super) struct Bytes {
    pub(super) out: File,
    pub(super) back: File,
}

impl Link for Bytes {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        // A datagram takes one call; a longer message may take several if a stream is full.
        self.out.write_all(message)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.back.read_exact(message)
    }
}
