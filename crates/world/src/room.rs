//! Monitors whose reader may be slow: they are told as much as there is room for, and the rest later.
//!
//! The room of such a monitor is a number of messages of so many entities each ([`Room`]); its owner states it before
//! each step. A row for which there is no room is not noted as sent, so the constraint judges it again in the next
//! step, against what the reader really has: a newer value takes the place of one that was never sent, and nothing is
//! queued. A monitor without any room rests: its constraint is not evaluated. Births and deaths are never left out.
//! They are owed until there is room for them, and told before rows:
//!
//! ```text
//!             told as born                     redefined: rows changed
//!  Unknown ────────────────▶ Known ─────────────────────────────────────▶ Due
//!     │ dies: nothing          │ dies: a death is owed    ◀── told as a row ┘│ dies: a death is owed
//! ```
//!
//! Debts are bounded by the entities: one byte for each row, and a number for each death of a known entity. No
//! entity becomes known while deaths wait.

use hemiola_world_code::{Column, Constraint};
use hemiola_world_lang::definition::ElementId;

use crate::birth::Effect;
use crate::monitor::{Interest, MonitorCounts, MonitorId};
use crate::step::Output;
use crate::world::{EntityId, Refused, World};

/// Births and owed rows that a monitor with room is told in a step at most. A new monitor of many entities would delay
/// a step if it were told of all of them at once.
pub const NEWS_MAX: usize = 4096;

/// As much as a monitor can be told until more is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Messages. An output for `n` entities takes `n` divided by `rows` of them, rounded up.
    pub messages: u32,
    /// Entities that a message has at most.
    pub rows: u32,
}

/// What a monitor with room is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// Entities that it does not know yet.
    pub births: u64,
    /// Rows that it is sent whatever the constraint says, because a redefinition changed them.
    pub rows: u64,
    /// Deaths of entities that it knows.
    pub deaths: u64,
    /// Rows of the last step for which there was no room.
    pub held: u64,
}

impl Owed {
    /// Whether it has been told everything.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// What the reader of a monitor knows of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knows {
    /// Nothing.
    Unknown,
    /// The entity, and its values as they were last sent.
    Known,
    /// The entity, but not the values that a redefinition gave it.
    Due,
}

/// What the reader of a monitor knows of the rows of a table; empty for a monitor without a room that ends.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    rows: Vec<Knows>,
    unknown: usize,
    due: usize,
    /// The row behind the last one for which there was room: the next step begins with it, so no row waits for ever.
    from: u32,
    /// The same for what is owed.
    owed_from: usize,
}

impl Standing {
    fn unknown(rows: usize) -> Self {
        Self { rows: vec![Knows::Unknown; rows], unknown: rows, ..Self::default() }
    }

    /// A new entity.
    pub(crate) fn push(&mut self) {
        self.rows.push(Knows::Unknown);
        self.unknown += 1;
    }

    /// Returns whether the reader knows the entity that is removed.
    pub(crate) fn swap_remove(&mut self, row: usize) -> bool {
        let knows = self.rows.swap_remove(row);
        self.unknown -= usize::from(knows == Knows::Unknown);
        self.due -= usize::from(knows == Knows::Due);
        knows != Knows::Unknown
    }

    /// All rows changed.
    pub(crate) fn owe_all(&mut self) {
        let known = self.rows.iter_mut().filter(|knows| **knows == Knows::Known);
        for knows in known {
            *knows = Knows::Due;
            self.due += 1;
        }
    }

    /// Moves at most `most` rows of which the reader knows this much into `chosen`, and notes them as told.
    fn take(&mut self, knows: Knows, most: usize, chosen: &mut Vec<u32>) {
        chosen.clear();
        let count = match knows {
            Knows::Unknown => &mut self.unknown,
            Knows::Due => &mut self.due,
            Knows::Known => return,
        };
        let most = most.min(*count);
        let len = self.rows.len();
        let first = if self.owed_from < len { self.owed_from } else { 0 };
        for row in (first..len).chain(0..first) {
            if chosen.len() == most {
                break;
            }
            if self.rows[row] == knows {
                self.rows[row] = Knows::Known;
                chosen.push(row as u32);
            }
        }
        *count -= chosen.len();
        self.owed_from = chosen.last().map_or(first, |row| *row as usize + 1);
    }
}

/// The room of a monitor, and what it is owed.
#[derive(Debug, Default)]
pub(crate) struct Paced {
    room: Room,
    /// Deaths, the oldest first.
    deaths: Vec<EntityId>,
    /// Births and owed rows that it may still be told in this step.
    news: usize,
    /// Tables with rows for which the constraint is still to be evaluated in this step.
    tables: u32,
    /// No constraint is evaluated in this step.
    rests: bool,
    /// Rows of this step for which there was no room.
    held: u64,
    // Memory for what is told.
    rows: Vec<u32>,
    entities: Vec<EntityId>,
    columns: Vec<Column>,
}

impl Paced {
    pub(crate) fn owe_death(&mut self, entity: EntityId) {
        self.deaths.push(entity);
    }

    const fn entities_left(&self) -> usize {
        self.room.messages as usize * self.room.rows as usize
    }

    const fn spend(&mut self, entities: usize) {
        self.room.messages -= (entities as u32).div_ceil(self.room.rows);
    }

    /// Of the rows of a table for which the constraint holds, keeps those that can be sent, and returns how many are
    /// held back. Each table has its share of the room.
    pub(crate) fn keep_what_fits(&mut self, standing: &mut Standing, rows: &mut Vec<u32>) -> u64 {
        let all = rows.len();
        if standing.unknown + standing.due > 0 {
            rows.retain(|row| standing.rows[*row as usize] == Knows::Known);
        }
        let share = (self.room.messages / self.tables.max(1)).max(1).min(self.room.messages);
        let most = share as usize * self.room.rows as usize;
        self.tables = self.tables.saturating_sub(1);
        if rows.len() > most {
            let first = rows.partition_point(|row| *row < standing.from);
            rows.rotate_left(first);
            rows.truncate(most);
            standing.from = rows.last().map_or(0, |row| row + 1);
        }
        if !rows.is_empty() {
            self.spend(rows.len());
        }
        let held = (all - rows.len()) as u64;
        self.held += held;
        held
    }

    /// Gathers entities and columns of the chosen rows of a table.
    fn gather(&mut self, ids: &[EntityId], own: &[Column], columns: &[u32]) {
        self.entities.clear();
        self.entities.extend(self.rows.iter().map(|row| ids[*row as usize]));
        for (at, column) in columns.iter().enumerate() {
            let from = &own[*column as usize];
            if self.columns.len() <= at {
                self.columns.push(Column::new(from.ty()));
            }
            self.columns[at].clear();
            self.columns[at].gather(from, &self.rows);
        }
    }
}

impl crate::monitor::Monitor {
    /// Whether its constraint is not evaluated in this step.
    pub(crate) fn rests(&self) -> bool {
        self.paced.as_ref().is_some_and(|paced| paced.rests)
    }
}

impl World {
    /// Registers a monitor whose room ends, at once. It has no room until [`Self::give_room`], and is told of births
    /// and deaths by [`Output::Births`] and [`Output::Deaths`]. It goes on over redefinitions as others do.
    ///
    /// # Errors
    /// Those of [`Self::submit`]; such a monitor has no effect.
    pub fn attach_monitor(&mut self, id: MonitorId, interest: Interest) -> Result<(), Refused> {
        if interest.effect != Effect::None {
            let element = self.universe.elements.get(interest.element.index());
            let name = element.map_or(String::new(), |element| element.name.clone());
            return Err(Refused::WrongEffect(name));
        }
        let mut monitor = self.accept_monitor(id, interest)?;
        let read = monitor.constraint(&self.constraints).map_or(&[][..], Constraint::last_sent);
        for (element, watched) in &mut monitor.watched {
            let table = &self.tables[element.index()];
            let columns = read.iter().map(|column| table.columns[*column as usize].clone());
            watched.last_sent = if table.len() == 0 { Vec::new() } else { columns.collect() };
            watched.standing = Standing::unknown(table.len());
        }
        monitor.paced = Some(Paced::default());
        self.monitors.insert(id, monitor);
        // Monitors are a part of what a redefinition returns to.
        self.version += 1;
        self.note_collected();
        Ok(())
    }

    /// Ends a monitor at once, and returns what became of its rows; `None` if there is no such monitor.
    pub fn detach_monitor(&mut self, id: MonitorId) -> Option<MonitorCounts> {
        let monitor = self.monitors.remove(&id)?;
        self.monitors_to_come.remove(&id);
        self.version += 1;
        self.note_collected();
        Some(monitor.counts)
    }

    /// States the room of a monitor for the next step; without effect for a monitor whose room does not end.
    pub fn give_room(&mut self, id: MonitorId, room: Room) {
        let paced = self.monitors.get_mut(&id).and_then(|monitor| monitor.paced.as_mut());
        if let Some(paced) = paced {
            let messages = if room.rows == 0 { 0 } else { room.messages };
            (paced.room, paced.news, paced.held) = (Room { messages, ..room }, NEWS_MAX, 0);
        }
    }

    /// What a monitor is owed; `None` if there is no such monitor, or its room does not end.
    #[must_use]
    pub fn owed(&self, id: MonitorId) -> Option<Owed> {
        let monitor = self.monitors.get(&id)?;
        let paced = monitor.paced.as_ref()?;
        let sum = |of: &dyn Fn(&Standing) -> usize| {
            monitor.watched.values().map(|watched| of(&watched.standing) as u64).sum()
        };
        Some(Owed {
            births: sum(&|standing| standing.unknown),
            rows: sum(&|standing| standing.due),
            deaths: paced.deaths.len() as u64,
            held: paced.held,
        })
    }

    /// The element that a monitor watches, with those derived from it.
    #[must_use]
    pub fn watched_element(&self, id: MonitorId) -> Option<ElementId> {
        self.monitors.get(&id).map(|monitor| monitor.interest.element)
    }

    /// The monitors whose room ends.
    pub fn attached(&self) -> impl Iterator<Item = MonitorId> {
        let attached = self.monitors.iter().filter(|(_, monitor)| monitor.paced.is_some());
        attached.map(|(id, _)| *id)
    }

    /// Tells monitors of deaths, births and owed rows, as far as there is room.
    pub(crate) fn tell_what_is_owed(&mut self, out: &mut dyn FnMut(Output<'_>)) {
        for (id, monitor) in &mut self.monitors {
            let Some(paced) = &mut monitor.paced else { continue };
            let deaths = paced.deaths.len().min(paced.entities_left());
            if deaths > 0 {
                out(Output::Deaths { monitor: *id, entities: &paced.deaths[..deaths] });
                paced.spend(deaths);
                paced.deaths.drain(..deaths);
            }
            if !paced.deaths.is_empty() {
                continue;
            }
            let read = monitor.interest.constraint.as_ref();
            let read = read.map_or(&[][..], |(of, _)| self.constraints[of].last_sent());
            for (element, watched) in &mut monitor.watched {
                let table = &self.tables[element.index()];
                for knows in [Knows::Unknown, Knows::Due] {
                    let most = paced.news.min(paced.entities_left());
                    watched.standing.take(knows, most, &mut paced.rows);
                    if paced.rows.is_empty() {
                        continue;
                    }
                    paced.spend(paced.rows.len());
                    paced.news -= paced.rows.len();
                    for (to, column) in watched.last_sent.iter_mut().zip(read) {
                        to.copy_rows(&table.columns[*column as usize], &paced.rows);
                    }
                    paced.gather(&table.ids, &table.columns, &monitor.columns);
                    let columns = &paced.columns[..monitor.columns.len()];
                    let (entities, texts) = (&paced.entities[..], self.texts.all());
                    let (monitor_id, element) = (*id, *element);
                    out(if knows == Knows::Unknown {
                        Output::Births { monitor: monitor_id, element, entities, columns, texts }
                    } else {
                        monitor.counts.sent += entities.len() as u64;
                        Output::Rows { monitor: monitor_id, element, entities, columns, texts }
                    });
                }
            }
        }
    }

    /// Decides which monitors rest in this step: those that could not send a row of each of their tables.
    pub(crate) fn note_room(&mut self) {
        for monitor in self.monitors.values_mut() {
            let Some(paced) = &mut monitor.paced else { continue };
            let tables = monitor.watched.keys().map(|id: &ElementId| self.tables[id.index()].len());
            let (mut rows, mut count) = (0, 0);
            for len in tables.filter(|len| *len > 0) {
                rows += len as u64;
                count += 1;
            }
            paced.tables = count;
            paced.rests = paced.room.messages < count.clamp(1, TABLES_AT_ONCE_MAX);
            if paced.rests {
                paced.held += rows;
                monitor.counts.held += rows;
            }
        }
    }
}

/// A monitor with room for so many messages does not rest, however many tables it watches.
const TABLES_AT_ONCE_MAX: u32 = 8;
