//! Messages by channels of `bus`.

use std::io;

use hemiola_bus::{Receiver, Sender};
use hemiola_units::Instant;

use super::Link;

pub(super) struct Channelled {
    pub(super) sender: Box<dyn Sender>,
    pub(super) receiver: Box<dyn Receiver>,
}

impl Link for Channelled {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.sender.send(message).map_err(io::Error::other)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        loop {
            self.receiver.wait(Instant::MAX).map_err(io::Error::other)?;
            if self.receiver.receive(message).map_err(io::Error::other)?.is_some() {
                return Ok(());
            }
        }
    }
}
