//! Messages by bare iceoryx2.

use std::io;

use hemiola_bus::pubsub::Bare;

use super::{Link, spin};

/// What iceoryx2 itself takes for the length of a buffer when nobody says.
const BUFFER_MIN: usize = 2;

pub(super) struct Publication {
    bare: Bare,
    waiting: Waiting,
}

enum Waiting {
    /// For each message its wake: a ping-pong.
    Each,
    /// Only when there is no message; a wake may stand for many.
    Empty,
    /// Never.
    Spin,
}

impl Publication {
    pub(super) fn open(
        run: &str,
        out: (&str, usize),
        back: (&str, usize),
        ahead: u32,
        polled: bool,
    ) -> io::Result<Self> {
        let bare = Bare::open(run, out, back, (ahead as usize).max(BUFFER_MIN))?;
        let waiting = match (polled, ahead) {
            (true, _) => Waiting::Spin,
            (false, 1) => Waiting::Each,
            (false, _) => Waiting::Empty,
        };
        Ok(Self { bare, waiting })
    }
}

impl Link for Publication {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.bare.send(message)?;
        match self.waiting {
            Waiting::Spin => Ok(()),
            Waiting::Each | Waiting::Empty => self.bare.wake(),
        }
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        match self.waiting {
            Waiting::Spin => spin(|| Ok(self.bare.receive(message)?.is_some())),
            Waiting::Each => loop {
                self.bare.wait()?;
                if self.bare.receive(message)?.is_some() {
                    return Ok(());
                }
            },
            Waiting::Empty => loop {
                if self.bare.receive(message)?.is_some() {
                    return Ok(());
                }
                self.bare.wait()?;
            },
        }
    }
}
