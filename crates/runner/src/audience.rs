//! The units that read the sensors, as the I/O process knows them: each has a segment of its own, so that no unit can
//! write, wake or move anything that another one waits for.

use serde::{Deserialize, Serialize};

use hemiola_bus::{Handle, Receiver, Sender, open_receiver, open_sender};
use hemiola_simplex::SLOTS;

/// Bytes of a message that says which slots have a unit: a bit for each.
pub(crate) const SEATS_SIZE: usize = 1;
const _: () = assert!(SLOTS <= 8 * SEATS_SIZE);

/// The channels to the units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lines {
    /// The sensors of the unit in each slot.
    pub(crate) sensors: Vec<Handle>,
    /// Which slots have a unit, from the runner.
    pub(crate) seats: Handle,
}

/// Where the sensors go beside the decision module.
pub(crate) struct Audience {
    sensors: Vec<Box<dyn Sender>>,
    seats: Box<dyn Receiver>,
    seated: u8,
}

impl Audience {
    pub(crate) fn open(lines: &Lines) -> Result<Self, String> {
        let sensors = lines.sensors.iter().map(open_sender).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            sensors: sensors.map_err(|error| format!("the sensors of a unit: {error}"))?,
            seats: open_receiver(&lines.seats).map_err(|error| format!("the seats: {error}"))?,
            seated: 0,
        })
    }

    /// Publishes the sensors to every unit and wakes it.
    pub(crate) fn publish(&mut self, message: &[u8]) {
        let mut buffer = [0; SEATS_SIZE];
        if let Ok(Some(&[seated])) = self.seats.receive(&mut buffer) {
            self.seated = seated;
        }
        for (slot, sensors) in self.sensors.iter_mut().enumerate() {
            if self.seated & 1 << slot != 0 {
                // A latest value takes every message of its size.
                let _ = sensors.send(message);
            }
        }
    }
}
