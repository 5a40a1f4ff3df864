//! The emulated converter card: two registers in shared memory between the plant and the I/O code.
//!
//! The plant keeps the newest codes of both A/D channels in the *input register*; the I/O code puts the
//! D/A code into the *output register*. Neither waits for the other, as with a real card. A conversion
//! takes the time the scenario says and spins on the processor meanwhile, as the driver of such a card does.

use std::os::fd::{AsRawFd, BorrowedFd};

use serde::{Deserialize, Serialize};

use hemiola_plant::{Code, Wiring};
use hemiola_rt::clock::FastClock;
use hemiola_rt::shared::{Access, LatestReader, LatestWriter, Segment};
use hemiola_rt::sys::descriptor::duplicate;
use hemiola_units::Span;

use crate::spec::NodeSpec;

/// The registers as inherited descriptors, each of them read-only for the side that only reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Registers {
    /// The input register.
    pub(crate) inputs: i32,
    /// The output register.
    pub(crate) outputs: i32,
}

impl Registers {
    pub(crate) fn of([inputs, outputs]: [BorrowedFd<'_>; 2]) -> Self {
        Self { inputs: inputs.as_raw_fd(), outputs: outputs.as_raw_fd() }
    }
}

/// The plant's output: the codes of both A/D converters.
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

fn segment(fd: i32, access: Access) -> Result<Segment, String> {
    let fd = duplicate(fd).map_err(fault)?;
    Segment::from_fd(fd, access).map_err(fault)
}

fn reader(fd: i32) -> Result<LatestReader, String> {
    LatestReader::attach(segment(fd, Access::ReadOnly)?).map_err(fault)
}

fn writer(fd: i32) -> Result<LatestWriter, String> {
    LatestWriter::attach(segment(fd, Access::ReadWrite)?).map_err(fault)
}

fn fault(error: impl std::fmt::Display) -> String {
    format!("the card's registers: {error}")
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
    /// Opens the registers that the process inherited.
    pub(crate) fn open(spec: &NodeSpec) -> Result<Self, String> {
        let registers: Registers = spec.facts()?;
        let wiring = spec.run.wiring();
        // Until the plant has written its first codes, the card reads 0 V on both channels.
        let zero = Inputs { position: wiring.position.code(0.0), angle: wiring.angle.code(0.0) };
        Ok(Self {
            inputs: reader(registers.inputs)?,
            outputs: writer(registers.outputs)?,
            wiring,
            conversion_time: spec.run.card.conversion_time,
            clock: spec.run.calibration.into(),
            last: zero,
        })
    }

    /// Two A/D conversions: cart position in m, rod angle in rad, or both measured states of another plant.
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

    /// One D/A conversion. Returns the volts that really leave the converter.
    pub(crate) fn write(&mut self, volts: f64) -> f64 {
        let code = self.wiring.output.code(volts);
        self.convert();
        let mut bytes = [0; REGISTER_SIZE];
        bytes[..2].copy_from_slice(&code.to_le_bytes());
        // The plant polls at its own rate: waking it up would waste a system call.
        self.outputs.publish_quiet(&bytes).expect("a register is as long as its message");
        self.wiring.output.volts(code)
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
    /// Opens the registers that the process inherited; the output register starts at `code`.
    pub(crate) fn open(spec: &NodeSpec, code: Code) -> Result<Self, String> {
        let registers: Registers = spec.facts()?;
        Ok(Self { inputs: writer(registers.inputs)?, outputs: reader(registers.outputs)?, code })
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
