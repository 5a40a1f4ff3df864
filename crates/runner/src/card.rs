//! The emulated converter card: two registers in shared memory between the plant and whoever does I/O.
//!
//! The plant keeps the newest codes of both A/D channels in the *input register*; the I/O code puts the
//! D/A code into the *output register*. Neither waits for the other, as with a real card. A conversion
//! takes the time the scenario says, spent spinning on the processor as the driver of such a card does.

use std::os::fd::OwnedFd;

use hemiola_plant::{Code, Wiring};
use hemiola_rt::clock::FastClock;
use hemiola_rt::shared::{Access, LatestReader, LatestWriter, Segment, SegmentError};
use hemiola_units::Span;

/// What the plant shows: both converter codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// Position channel.
    pub(crate) position: Code,
    /// Angle channel.
    pub(crate) angle: Code,
}

/// Bytes of either register.
pub(crate) const REGISTER_SIZE: usize = 8;

impl Inputs {
    pub(crate) fn to_bytes(self) -> [u8; REGISTER_SIZE] {
        let mut bytes = [0; REGISTER_SIZE];
        bytes[..2].copy_from_slice(&self.position.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.angle.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; REGISTER_SIZE]) -> Self {
        let code = |at: usize| Code::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self { position: code(0), angle: code(2) }
    }
}

fn reader(fd: OwnedFd) -> Result<LatestReader, SegmentError> {
    LatestReader::attach(Segment::from_fd(fd, Access::ReadOnly)?)
}

fn writer(fd: OwnedFd) -> Result<LatestWriter, SegmentError> {
    LatestWriter::attach(Segment::from_fd(fd, Access::ReadWrite)?)
}

/// The I/O side of the card.
#[derive(Debug)]
pub(crate) struct Card {
    inputs: LatestReader,
    outputs: LatestWriter,
    wiring: Wiring,
    conversion_time: Span,
    clock: FastClock,
    last: Inputs,
}

impl Card {
    /// Takes over the registers' descriptors.
    pub(crate) fn open(
        inputs: OwnedFd,
        outputs: OwnedFd,
        conversion_time: Span,
        clock: FastClock,
    ) -> Result<Self, String> {
        let fault = |e: &dyn std::fmt::Display| format!("the card's registers: {e}");
        let wiring = Wiring::default();
        // Until the plant has shown something the card reads 0 V on both channels.
        let zero = Inputs { position: wiring.position.code(0.0), angle: wiring.angle.code(0.0) };
        Ok(Self {
            inputs: reader(inputs).map_err(|e| fault(&e))?,
            outputs: writer(outputs).map_err(|e| fault(&e))?,
            wiring,
            conversion_time,
            clock,
            last: zero,
        })
    }

    /// Two A/D conversions: cart position in m, rod angle in rad.
    pub(crate) fn read(&mut self) -> (f64, f64) {
        let mut bytes = [0; REGISTER_SIZE];
        if let Ok(Some(_)) = self.inputs.read(&mut bytes) {
            self.last = Inputs::from_bytes(bytes);
        }
        self.convert();
        self.convert();
        (self.wiring.position(self.last.position), self.wiring.angle(self.last.angle))
    }

    /// Brings the registers into the caches, reading and writing nothing.
    pub(crate) fn warm_up(&self) {
        let mut bytes = [0; REGISTER_SIZE];
        let _ = std::hint::black_box(self.inputs.peek(&mut bytes));
        std::hint::black_box(self.outputs.published());
    }

    /// One D/A conversion; gives the volts that really leave the converter.
    pub(crate) fn write(&mut self, volts: f64) -> f64 {
        let code = self.wiring.output_code(volts);
        self.convert();
        let mut bytes = [0; REGISTER_SIZE];
        bytes[..2].copy_from_slice(&code.to_le_bytes());
        // The plant polls at its own rate: waking it would be a system call for nothing.
        self.outputs.publish_quiet(&bytes).expect("a register is as long as its message");
        self.wiring.output_volts(code)
    }

    fn convert(&self) {
        if self.conversion_time.is_positive() {
            self.clock.spin_for(self.conversion_time);
        }
    }
}

/// The plant's side of the card.
#[derive(Debug)]
pub(crate) struct PlantSide {
    inputs: LatestWriter,
    outputs: LatestReader,
    code: Code,
}

impl PlantSide {
    /// Takes over the registers' descriptors; the output register starts at `code`.
    pub(crate) fn open(inputs: OwnedFd, outputs: OwnedFd, code: Code) -> Result<Self, String> {
        let fault = |e: &dyn std::fmt::Display| format!("the card's registers: {e}");
        Ok(Self {
            inputs: writer(inputs).map_err(|e| fault(&e))?,
            outputs: reader(outputs).map_err(|e| fault(&e))?,
            code,
        })
    }

    pub(crate) fn show(&mut self, inputs: Inputs) {
        self.inputs
            .publish_quiet(&inputs.to_bytes())
            .expect("a register is as long as its message");
    }

    /// The newest D/A code.
    pub(crate) fn output(&mut self) -> Code {
        let mut bytes = [0; REGISTER_SIZE];
        if let Ok(Some(_)) = self.outputs.read(&mut bytes) {
            self.code = Code::from_le_bytes([bytes[0], bytes[1]]);
        }
        self.code
    }
}
