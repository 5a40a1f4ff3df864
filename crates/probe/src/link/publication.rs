//! Messages by bare iceoryx2.

use std::io;

use hemiola_bus::pubsub::Bare;

use super::{Link, spin};

/// The default buffer length of iceoryx2.
const BUFFER_MIN: usize = 2;

pub(super) struct Publication {
    bare: Bare,
    waiting: Waiting,
}

enum Waiting {
    /// One wake-up per message, for request and answer.
    Each,
    /// Only when there is no message; one wake-up may cover several.
    Empty,
    /// Without wake-ups.
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
