//! Managers: processes that are told of rows, births and deaths, each through a queue in memory that it shares.
//!
//! A manager may be slow, dead or hostile, and hurts nobody. [`Managers`] looks at each queue before a step and states
//! the room of its monitor ([`World::give_room`]), writes what the world tells as messages, and ends a manager whose
//! queue is damaged or whose monitor has ended with a definition. It never waits, and no answer of a queue is trusted
//! beyond the number of its free places.
//!
//! ```text
//!   before_step ──▶ step ──▶ after_step          the rest between two steps:
//!   room of each    tell     step is complete,   History::carry_out ──▶ enlist, dismiss
//!   manager                  wake-ups
//! ```

use std::collections::{BTreeMap, VecDeque};

use hemiola_world_lang::definition::Universe;
use thiserror::Error;

use crate::message::{MessageFormat, MessageKind, set_step, write_deaths, write_step};
use crate::monitor::{Interest, MonitorCounts, MonitorId};
use crate::room::Room;
use crate::setup::{SetupError, interest_of};
use crate::step::Output;
use crate::world::{Refused, World};

/// Managers of a universe at the same time.
pub const MANAGERS_MAX: usize = 32;
/// Managers of a run, because the run records each of them.
pub const MANAGERS_OF_RUN_MAX: usize = 1024;
/// Bytes of the queues of all managers of a universe.
pub const QUEUES_LEN_MAX: u64 = 64 << 20;
/// Bytes of a queue, unless a manager asks for another length.
pub const QUEUE_LEN: u64 = 1 << 20;
/// Bytes of a queue at most.
pub const QUEUE_LEN_MAX: u64 = 16 << 20;
/// Columns that a manager is sent at most.
pub const COLUMNS_MAX: usize = 256;
/// Messages that a queue holds at least.
pub(crate) const MESSAGES_MIN: u64 = 32;
/// The longest text of a monitor, and of the name of a manager.
pub(crate) const TEXT_LEN_MAX: usize = 4096;
/// The monitors of managers have numbers from here on; those of the setup are below.
pub(crate) const FIRST_MANAGER: u32 = 1 << 16;

/// The sending end of a manager's queue. No call may wait.
pub trait Outbox {
    /// Messages for which there is room now.
    ///
    /// # Errors
    /// Why the queue cannot be used any more: the manager has written where only this end may.
    fn room(&mut self) -> Result<u32, String>;

    /// Sends a message; there is room for it.
    fn send(&mut self, message: &[u8]);

    /// Wakes the manager if it waits for messages.
    fn wake(&mut self);
}

/// What a manager asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManageRequest {
    /// The rows that it wants, in the form of [`SetupPart::Monitor`](crate::SetupPart::Monitor).
    pub monitor: String,
    /// Bytes of its queue, of which one message takes some thousand; [`QUEUE_LEN`] if it does not say.
    pub queue_len: Option<u64>,
    /// See [`Enlistment::every_step`].
    pub every_step: bool,
}

/// Why a manager is refused.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum EnlistError {
    /// There are too many.
    #[error("the universe has {MANAGERS_MAX} managers, the most that are possible; end one first")]
    TooMany,
    /// There were too many.
    #[error("the run has had {MANAGERS_OF_RUN_MAX} managers, the most that are possible")]
    TooManyOfRun,
    /// The text is longer than any may be.
    #[error("the text of the monitor has {0} bytes; at most {TEXT_LEN_MAX} are possible")]
    TooLong(usize),
    /// The text of the monitor is wrong.
    #[error(transparent)]
    Monitor(#[from] SetupError),
    /// It would be sent too many columns.
    #[error(
        "the monitor is sent {0} columns; at most {COLUMNS_MAX} are possible: name the properties that you need"
    )]
    Columns(usize),
    /// The length of the queue is not possible.
    #[error("a queue has 1 to {QUEUE_LEN_MAX} bytes, not {0}")]
    QueueLen(u64),
    /// The queues would be too long together.
    #[error(
        "the queues of all managers have {QUEUES_LEN_MAX} bytes at most, and {left} are left; this one needs {needed}"
    )]
    NoMemory {
        /// Bytes that are left.
        left: u64,
        /// Bytes of the queue.
        needed: u64,
    },
    /// The universe was redefined meanwhile.
    #[error("the universe was redefined meanwhile; register again")]
    Redefined,
    /// The world refused.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The managers as the desk counts them: those that it has admitted, with the bytes of their queues.
#[derive(Debug, Default)]
pub(crate) struct Admissions {
    admitted: BTreeMap<MonitorId, u64>,
    of_run: u32,
}

impl Admissions {
    pub(crate) fn admit(
        &mut self,
        universe: &Universe,
        request: &ManageRequest,
    ) -> Result<Enlistment, EnlistError> {
        if self.admitted.len() >= MANAGERS_MAX {
            return Err(EnlistError::TooMany);
        }
        if self.of_run as usize >= MANAGERS_OF_RUN_MAX {
            return Err(EnlistError::TooManyOfRun);
        }
        if request.monitor.len() > TEXT_LEN_MAX {
            return Err(EnlistError::TooLong(request.monitor.len()));
        }
        let len = request.queue_len.unwrap_or(QUEUE_LEN);
        if !(1..=QUEUE_LEN_MAX).contains(&len) {
            return Err(EnlistError::QueueLen(len));
        }
        let interest = interest_of(universe, &request.monitor)?;
        let format = MessageFormat::of(universe, &interest);
        if format.columns() > COLUMNS_MAX {
            return Err(EnlistError::Columns(format.columns()));
        }
        let place = (format.len_max() as u64 + 8).next_multiple_of(64);
        // The queue has a power of two of places.
        let messages = (len / place).max(MESSAGES_MIN);
        let messages =
            if messages.is_power_of_two() { messages } else { messages.next_power_of_two() / 2 };
        let (needed, taken) = (messages * place, self.admitted.values().sum::<u64>());
        let left = QUEUES_LEN_MAX.saturating_sub(taken);
        if needed > left {
            return Err(EnlistError::NoMemory { left, needed });
        }
        let id = MonitorId(FIRST_MANAGER + self.of_run);
        self.of_run += 1;
        self.admitted.insert(id, needed);
        let (messages, every_step) = (messages as u32, request.every_step);
        Ok(Enlistment { id, interest, format, messages, every_step })
    }

    pub(crate) fn is_admitted(&self, id: MonitorId) -> bool {
        self.admitted.contains_key(&id)
    }

    /// A manager has ended, and its queue is gone.
    pub(crate) fn release(&mut self, id: MonitorId) {
        self.admitted.remove(&id);
    }
}

/// A request for a manager, checked with the present definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Enlistment {
    /// The number of its monitor.
    pub id: MonitorId,
    /// The rows that it wants.
    pub interest: Interest,
    /// How it is told.
    pub format: MessageFormat,
    /// Messages that its queue holds.
    pub messages: u32,
    /// Whether it is told of each step, also of one in which nothing else is told.
    pub every_step: bool,
}

/// Why a manager ended, other than by its own will.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndReason {
    /// A redefinition ended its view.
    #[error(
        "the universe was redefined after step {0}, and the monitor ended with it: the new definition does not have its \
         element, its properties with the same types, or its constraint with the same parameters"
    )]
    Redefined(u64),
    /// Its queue is damaged.
    #[error(
        "the queue is damaged: {0}; only the count of what was read may be written by a manager"
    )]
    Damaged(String),
}

/// A manager that ended.
#[derive(Debug)]
pub struct Farewell<O> {
    /// The number of its monitor.
    pub id: MonitorId,
    /// Why it ended; none if it was dismissed.
    pub reason: Option<EndReason>,
    /// What became of its rows, if its monitor ended with it.
    pub counts: Option<MonitorCounts>,
    /// Its queue.
    pub outbox: O,
}

#[derive(Debug)]
struct Member<O> {
    format: MessageFormat,
    every_step: bool,
    outbox: O,
    /// Messages for which there is room still.
    room: u32,
    /// The definition whose elements it was told, and messages about those of the present one that it is owed.
    definition: Option<u64>,
    elements: VecDeque<Vec<u8>>,
    /// Whether it was sent anything since it was told of a complete step.
    is_told: bool,
    /// The births, rows and deaths that the last such message left.
    left: u64,
}

/// The managers of a universe.
#[derive(Debug)]
pub struct Managers<O> {
    members: BTreeMap<MonitorId, Member<O>>,
    farewells: Vec<Farewell<O>>,
    message: Vec<u8>,
}

impl<O> Default for Managers<O> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), farewells: Vec::new(), message: Vec::new() }
    }
}

impl<O: Outbox> Managers<O> {
    /// A manager begins whose monitor the world has accepted ([`World::attach_monitor`]).
    pub fn enlist(&mut self, world: &World, enlistment: &Enlistment, mut outbox: O) {
        let Enlistment { id, ref format, every_step, .. } = *enlistment;
        self.message.reserve(format.len_max());
        outbox.send(&format.columns_message(world.steps()));
        let format = format.clone();
        let member = Member {
            format,
            every_step,
            outbox,
            room: 0,
            definition: None,
            elements: VecDeque::new(),
            is_told: false,
            left: 0,
        };
        self.members.insert(id, member);
    }

    /// A manager ends whose monitor has ended ([`World::detach_monitor`]).
    pub fn dismiss(&mut self, id: MonitorId) {
        if let Some(member) = self.members.remove(&id) {
            let outbox = member.outbox;
            self.farewells.push(Farewell { id, reason: None, counts: None, outbox });
        }
    }

    /// Managers that ended since the last call. To drop a queue takes time, which no step need wait for.
    pub fn take_farewells(&mut self) -> Vec<Farewell<O>> {
        std::mem::take(&mut self.farewells)
    }

    /// What became of the rows of a manager that ended and is not [taken](Self::take_farewells) yet.
    #[must_use]
    pub fn counts_of_ended(&self, id: MonitorId) -> Option<MonitorCounts> {
        self.farewells.iter().find(|farewell| farewell.id == id)?.counts
    }

    /// How many managers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Looks at each queue, and states the room of each monitor for the next step.
    pub fn before_step(&mut self, world: &mut World) {
        if self.members.is_empty() && world.attached().next().is_none() {
            return;
        }
        // A return brings back monitors that a redefinition had ended; their managers are gone.
        let revived: Vec<MonitorId> =
            world.attached().filter(|id| !self.members.contains_key(id)).collect();
        for id in revived {
            world.detach_monitor(id);
        }
        let mut ended = Vec::new();
        for (id, member) in &mut self.members {
            if world.owed(*id).is_none() {
                ended.push((*id, EndReason::Redefined(world.steps())));
                continue;
            }
            match member.outbox.room() {
                Ok(room) => {
                    // One place stays for the message that a step is complete.
                    member.room = room.saturating_sub(1);
                    member.tell_elements(world, *id);
                    let messages = if member.elements.is_empty() { member.room } else { 0 };
                    world.give_room(*id, Room { messages, rows: member.format.rows_max() });
                }
                Err(damage) => ended.push((*id, EndReason::Damaged(damage))),
            }
        }
        for (id, reason) in ended {
            let counts = world.detach_monitor(id);
            if let Some(Member { outbox, .. }) = self.members.remove(&id) {
                self.farewells.push(Farewell { id, reason: Some(reason), counts, outbox });
            }
        }
    }

    /// Writes what a step tells a manager. `step` is the number of that step.
    ///
    /// # Panics
    /// If the world tells more than there was room for.
    pub fn tell(&mut self, step: u64, output: Output<'_>) {
        let (monitor, kind, element, rows) = match output {
            Output::Rows { monitor, element, entities, columns, texts } => {
                (monitor, MessageKind::Rows, element, (entities, columns, texts))
            }
            Output::Births { monitor, element, entities, columns, texts } => {
                (monitor, MessageKind::Births, element, (entities, columns, texts))
            }
            Output::Deaths { monitor, entities } => {
                let Some(member) = self.members.get_mut(&monitor) else { return };
                for entities in entities.chunks(member.format.rows_max() as usize) {
                    write_deaths(&mut self.message, step, entities);
                    member.send(&self.message);
                }
                return;
            }
            Output::Born { .. } | Output::Died { .. } | Output::Fault { .. } => return,
        };
        let Some(member) = self.members.get_mut(&monitor) else { return };
        let most = member.format.rows_max() as usize;
        for first in (0..rows.0.len()).step_by(most) {
            let range = first..rows.0.len().min(first + most);
            member.format.write_rows(&mut self.message, (kind, step, element), rows, range);
            member.send(&self.message);
        }
    }

    /// Says that the step is complete, and wakes the managers that were told anything.
    pub fn after_step(&mut self, world: &World) {
        for (id, member) in &mut self.members {
            let Some(owed) = world.owed(*id) else { continue };
            let left = owed.births + owed.rows + owed.deaths + owed.held;
            // Rows that were held may not be wanted any more: then nothing but this completes the picture.
            let is_other = (left == 0) != (member.left == 0);
            if !member.is_told && !member.every_step && !is_other {
                continue;
            }
            if member.outbox.room().is_ok_and(|room| room > 0) {
                write_step(&mut self.message, world.steps(), left);
                member.outbox.send(&self.message);
                (member.left, member.is_told) = (left, false);
            }
            member.outbox.wake();
        }
    }
}

impl<O: Outbox> Member<O> {
    fn send(&mut self, message: &[u8]) {
        self.room = self.room.checked_sub(1).expect("the world tells what there is room for");
        self.outbox.send(message);
        self.is_told = true;
    }

    /// Tells the names of the elements of a definition that is new to it, as far as there is room.
    fn tell_elements(&mut self, world: &World, id: MonitorId) {
        let definition = world.definition();
        if self.definition != Some(definition) {
            self.definition = Some(definition);
            let Some(base) = world.watched_element(id) else { return };
            let messages = self.format.elements_messages(world.universe(), base, definition);
            self.elements = messages.into();
        }
        while self.room > 0
            && let Some(mut message) = self.elements.pop_front()
        {
            // It may have waited for room.
            set_step(&mut message, world.steps());
            self.send(&message);
        }
    }
}
