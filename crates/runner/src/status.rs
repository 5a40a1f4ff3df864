//! The messages between runner and decision module while the loop runs: requests one way, replies and the state of
//! every unit the other way. They are little-endian and of fixed size, because the decision module must neither
//! allocate nor parse text.

use hemiola_simplex::{Fault, Request, Role, SLOTS, UnitSet, UnitState, UnitView};
use hemiola_units::Span;

/// Bytes of a [`Status`].
pub(crate) const STATUS_SIZE: usize = 40 + SLOTS * SlotStatus::SIZE;
/// Bytes of an [`Ask`].
pub(crate) const REQUEST_SIZE: usize = 24 + 4 * SLOTS;
/// Bytes of a [`Reply`].
pub(crate) const REPLY_SIZE: usize = 8 + REFUSAL_LEN;
/// Bytes of a refusal's sentence; a longer one is cut.
const REFUSAL_LEN: usize = 184;
/// Requests and replies that may be queued; few are at a time, the rest is spare.
pub(crate) const REQUESTS_MAX: u32 = 32;

/// The decision module as of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    pub(crate) cycle: u64,
    /// The newest request that it takes into account.
    pub(crate) served: u32,
    /// The source of the command, as in [`hemiola_trace::event::source`].
    pub(crate) commanding: u16,
    /// Changes of that source so far.
    pub(crate) switches: u64,
    /// The Lyapunov value of the estimate.
    pub(crate) v: f64,
    pub(crate) slots: [SlotStatus; SLOTS],
}

/// One slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotStatus {
    /// State code as in `simplex::unit`; 0 for an empty slot.
    pub(crate) state: u16,
    /// Code of the last fault of the unit; 0 for none.
    pub(crate) last_fault: u16,
    pub(crate) generation: u32,
    pub(crate) strikes: u32,
    /// Acceptable answers in a row.
    pub(crate) clean: u32,
    pub(crate) answers: u64,
    pub(crate) faults: u64,
}

/// A request of the runner to the decision module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) id: u32,
    pub(crate) request: Request,
    /// Process id of an added unit, whose priority follows from its state; 0 where it does not matter.
    pub(crate) pid: u32,
    /// The real-time priority that an added unit wants; 0 for none.
    pub(crate) priority: u8,
}

/// Whether a request was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) id: u32,
    /// The refusal as text up to the first zero; all zero when the request was carried out.
    pub(crate) refusal: [u8; REFUSAL_LEN],
}

impl Default for Reply {
    fn default() -> Self {
        Self { id: 0, refusal: [0; REFUSAL_LEN] }
    }
}

/// Reads little-endian numbers one after the other.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Writes little-endian numbers one after the other.
struct Filler<'b>(&'b mut [u8]);

impl Filler<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (head, tail) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.0 = tail;
    }
}

impl SlotStatus {
    const SIZE: usize = 32;

    pub(crate) fn of(unit: &UnitView) -> Self {
        Self {
            state: unit.state.code(),
            last_fault: unit.last_fault.map_or(0, Fault::code),
            generation: unit.generation,
            strikes: unit.strikes,
            clean: unit.clean,
            answers: unit.answers,
            faults: unit.faults,
        }
    }

    /// The unit; `None` for an empty slot.
    pub(crate) fn view(&self) -> Option<UnitView> {
        Some(UnitView {
            generation: self.generation,
            state: UnitState::from_code(self.state)?,
            strikes: self.strikes,
            clean: self.clean,
            answers: self.answers,
            faults: self.faults,
            last_fault: Fault::from_code(self.last_fault),
        })
    }
}

impl Status {
    pub(crate) fn to_bytes(self) -> [u8; STATUS_SIZE] {
        let mut bytes = [0; STATUS_SIZE];
        let mut filler = Filler(&mut bytes);
        filler.put(&self.cycle.to_le_bytes());
        filler.put(&self.switches.to_le_bytes());
        filler.put(&self.v.to_le_bytes());
        filler.put(&u64::from(self.commanding).to_le_bytes());
        filler.put(&u64::from(self.served).to_le_bytes());
        for slot in self.slots {
            filler.put(&slot.state.to_le_bytes());
            filler.put(&slot.last_fault.to_le_bytes());
            filler.put(&slot.generation.to_le_bytes());
            filler.put(&slot.strikes.to_le_bytes());
            filler.put(&slot.clean.to_le_bytes());
            filler.put(&slot.answers.to_le_bytes());
            filler.put(&slot.faults.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let mut status = Self {
            cycle: fields.u64()?,
            switches: fields.u64()?,
            v: f64::from_bits(fields.u64()?),
            commanding: fields.u64()? as u16,
            served: fields.u64()? as u32,
            slots: [SlotStatus::default(); SLOTS],
        };
        for slot in &mut status.slots {
            *slot = SlotStatus {
                state: fields.u16()?,
                last_fault: fields.u16()?,
                generation: fields.u32()?,
                strikes: fields.u32()?,
                clean: fields.u32()?,
                answers: fields.u64()?,
                faults: fields.u64()?,
            };
        }
        Some(status)
    }
}

impl Ask {
    pub(crate) fn to_bytes(self) -> [u8; REQUEST_SIZE] {
        let what = match self.request {
            Request::Add { role: Role::Shadow, .. } => 1,
            Request::Add { role: Role::Active, .. } => 2,
            Request::Promote { .. } => 3,
            Request::Remove { .. } => 4,
            Request::Exited { .. } => 5,
            Request::Resume => 6,
        };
        let mut bytes = [0; REQUEST_SIZE];
        let mut filler = Filler(&mut bytes);
        let budget = match self.request {
            Request::Add { budget, .. } => budget,
            _ => Span::ZERO,
        };
        filler.put(&budget.nanos().to_le_bytes());
        let head = [self.id, what, self.pid, self.priority.into()];
        for number in head.into_iter().chain(self.units().0) {
            filler.put(&number.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let budget = Span::from_nanos(fields.u64()? as i64);
        let (id, what, pid) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let priority = fields.u32()? as u8;
        let mut units = UnitSet::default();
        for generation in &mut units.0 {
            *generation = fields.u32()?;
        }
        let only = || units.iter().next();
        let request = match what {
            1 => Request::Add { unit: only()?, role: Role::Shadow, budget },
            2 => Request::Add { unit: only()?, role: Role::Active, budget },
            3 => Request::Promote { unit: only()? },
            4 => Request::Remove { units },
            5 => Request::Exited { unit: only()? },
            6 => Request::Resume,
            _ => return None,
        };
        Some(Self { id, request, pid, priority })
    }

    /// The units that the request names.
    pub(crate) fn units(&self) -> UnitSet {
        match self.request {
            Request::Add { unit, .. } | Request::Promote { unit } | Request::Exited { unit } => {
                unit.into()
            }
            Request::Remove { units } => units,
            Request::Resume => UnitSet::default(),
        }
    }
}

impl Reply {
    pub(crate) fn to_bytes(self) -> [u8; REPLY_SIZE] {
        let mut bytes = [0; REPLY_SIZE];
        let mut filler = Filler(&mut bytes);
        filler.put(&u64::from(self.id).to_le_bytes());
        filler.put(&self.refusal);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        Some(Self { id: fields.u64()? as u32, refusal: fields.take()? })
    }

    /// The text of a refusal; `None` when the request was carried out.
    pub(crate) fn refused(&self) -> Option<String> {
        let text = self.refusal.split(|byte| *byte == 0).next().unwrap_or_default();
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use hemiola_simplex::UnitId;

    use super::*;

    #[test]
    fn messages_are_the_same_after_encoding_and_decoding() {
        let mut status = Status {
            cycle: 7,
            served: 5,
            commanding: 18,
            switches: 3,
            v: 0.5,
            ..Status::default()
        };
        status.slots[2] = SlotStatus {
            state: 3,
            last_fault: 4,
            generation: 9,
            strikes: 1,
            clean: 8,
            answers: 100,
            faults: 2,
        };
        assert_eq!(Status::from_bytes(&status.to_bytes()), Some(status));
        assert_eq!(SlotStatus::of(&status.slots[2].view().unwrap()), status.slots[2]);
        assert_eq!(status.slots[1].view(), None);
        let unit = UnitId { slot: 2, generation: 9 };
        let others = [unit, UnitId { slot: 7, generation: 4 }];
        for request in [
            Request::Add { unit, role: Role::Shadow, budget: Span::from_micros(500) },
            Request::Add { unit, role: Role::Active, budget: Span::from_micros(500) },
            Request::Promote { unit },
            Request::Remove { units: others.into_iter().collect() },
            Request::Exited { unit },
            Request::Resume,
        ] {
            let ask = Ask { id: 1, request, pid: 4711, priority: 70 };
            assert_eq!(Ask::from_bytes(&ask.to_bytes()), Some(ask));
        }
        let mut reply = Reply { id: 1, ..Reply::default() };
        assert_eq!(reply.refused(), None);
        reply.refusal[..4].copy_from_slice(b"why?");
        assert_eq!(Reply::from_bytes(&reply.to_bytes()), Some(reply));
        assert_eq!(reply.refused().as_deref(), Some("why?"));
    }

    #[test]
    fn short_messages_are_rejected() {
        assert_eq!(Status::from_bytes(&[0; STATUS_SIZE - 1]), None);
        assert_eq!(Ask::from_bytes(&[0; 3]), None);
        assert_eq!(Reply::from_bytes(&[]), None);
    }
}
