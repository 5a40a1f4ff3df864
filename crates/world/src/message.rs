//! What a manager is told, as bytes: the messages of its queue, version 1.
//!
#![doc = include_str!("message.md")]

use hemiola_world_code::Column;
use hemiola_world_lang::definition::{ElementId, Leaf, Type, Universe, Width};

use crate::monitor::Interest;
use crate::world::{EntityId, columns};

/// The version of the messages.
pub const MESSAGE_VERSION: u16 = 1;
/// Bytes before the body of a message.
pub(crate) const HEADER_LEN: usize = 40;
/// Bytes of a message at most, unless a few rows need more. With its place in the queue, it takes 8 KiB.
const MESSAGE_LEN: usize = (8 << 10) - 64;
/// Rows that fit into each message.
const ROWS_MIN: usize = 4;

/// What a message tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum MessageKind {
    /// The columns of births and rows.
    Columns = 1,
    /// Elements with their names.
    Elements = 2,
    /// Entities that are new to the manager.
    Births = 3,
    /// Rows.
    Rows = 4,
    /// Entities that ended.
    Deaths = 5,
    /// A step is complete.
    Step = 6,
}

/// A column of births and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: String,
    number: u8,
    /// Bytes of a value.
    width: usize,
}

/// How the rows of a monitor become messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFormat {
    places: Vec<Place>,
    /// Bytes of a message at most.
    len: usize,
    /// Entities of a message at most.
    rows: u32,
}

impl MessageFormat {
    /// That of the columns that an interest in a definition chooses.
    #[must_use]
    pub fn of(universe: &Universe, interest: &Interest) -> Self {
        let leaves = universe.leaves(interest.element);
        let chosen = interest.properties.iter();
        let chosen = chosen.flat_map(|at| columns(universe, interest.element, *at));
        let places: Vec<Place> = chosen.map(|at| place(&leaves[at as usize])).collect();
        let names: usize =
            places.iter().map(|place| 8 + place.path.len().next_multiple_of(8)).sum();
        let fixed = HEADER_LEN + 8 * places.len();
        let row = 8 + places.iter().map(|place| place.width).sum::<usize>();
        let len = MESSAGE_LEN.max(HEADER_LEN + names).max(fixed + ROWS_MIN * row);
        let len = len.next_multiple_of(8);
        let rows = ((len - fixed) / row) as u32;
        Self { places, len, rows }
    }

    /// Bytes of a message at most.
    #[must_use]
    pub const fn len_max(&self) -> usize {
        self.len
    }

    /// Entities of a message at most.
    #[must_use]
    pub const fn rows_max(&self) -> u32 {
        self.rows
    }

    /// Columns of births and rows.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.places.len()
    }

    /// The message that names the columns.
    #[must_use]
    pub fn columns_message(&self, step: u64) -> Vec<u8> {
        let mut message = Vec::new();
        begin(&mut message, MessageKind::Columns, self.places.len(), step);
        for Place { path, number, width } in &self.places {
            message.extend([*number, 0]);
            message.extend((*width as u16).to_le_bytes());
            put_name(&mut message, path);
        }
        message
    }

    /// Messages that name elements of a definition; each gets its step when it is sent.
    pub(crate) fn elements_messages(
        &self,
        universe: &Universe,
        base: ElementId,
        definition: u64,
    ) -> Vec<Vec<u8>> {
        let ids = (0..universe.elements.len() as u32).map(ElementId);
        let mut messages: Vec<Vec<u8>> = Vec::new();
        let mut count = 0;
        for id in ids.filter(|id| universe.is_a(*id, base)) {
            let name = cut(&universe.elements[id.index()].name);
            let fits = |message: &Vec<u8>| message.len() + 16 + name.len() <= self.len;
            if !messages.last().is_some_and(fits) {
                let mut message = Vec::new();
                begin(&mut message, MessageKind::Elements, 0, 0);
                message[24..32].copy_from_slice(&definition.to_le_bytes());
                messages.push(message);
                count = 0;
            }
            let Some(message) = messages.last_mut() else { continue };
            message.extend(id.0.to_le_bytes());
            put_name(message, name);
            count += 1_u32;
            message[4..8].copy_from_slice(&count.to_le_bytes());
        }
        messages
    }

    /// Writes births or rows into a message: some of the entities, at most [`Self::rows_max`].
    pub(crate) fn write_rows(
        &self,
        message: &mut Vec<u8>,
        (kind, step, element): (MessageKind, u64, ElementId),
        (entities, columns, texts): (&[EntityId], &[Column], &[String]),
        range: std::ops::Range<usize>,
    ) {
        begin(message, kind, range.len(), step);
        message[16..20].copy_from_slice(&element.0.to_le_bytes());
        entities[range.clone()].iter().for_each(|id| message.extend(id.0.to_le_bytes()));
        for (column, place) in columns.iter().zip(&self.places) {
            match column {
                Column::Boolean(values) => {
                    message.extend(values[range.clone()].iter().map(|value| u8::from(*value)));
                }
                Column::Integer(values) => put(message, &values[range.clone()], i32::to_le_bytes),
                Column::Single(values) => put(message, &values[range.clone()], f32::to_le_bytes),
                Column::Double(values) => put(message, &values[range.clone()], f64::to_le_bytes),
                Column::Text(values) => {
                    for number in &values[range.clone()] {
                        put_text(message, &texts[*number as usize], place.width);
                    }
                }
            }
            pad(message);
        }
    }
}

/// The longest name that is told; a longer one is cut.
const NAME_LEN_MAX: usize = 1024;

/// Writes that entities ended.
pub(crate) fn write_deaths(message: &mut Vec<u8>, step: u64, entities: &[EntityId]) {
    begin(message, MessageKind::Deaths, entities.len(), step);
    entities.iter().for_each(|id| message.extend(id.0.to_le_bytes()));
}

/// Writes that a step is complete, and how many births, rows and deaths the manager still has to be told of it.
pub(crate) fn write_step(message: &mut Vec<u8>, step: u64, left: u64) {
    begin(message, MessageKind::Step, 0, step);
    message[32..40].copy_from_slice(&left.to_le_bytes());
}

/// The number of steps made before a message is sent.
pub(crate) fn set_step(message: &mut [u8], step: u64) {
    message[8..16].copy_from_slice(&step.to_le_bytes());
}

fn begin(message: &mut Vec<u8>, kind: MessageKind, count: usize, step: u64) {
    message.clear();
    message.resize(HEADER_LEN, 0);
    message[..2].copy_from_slice(&(kind as u16).to_le_bytes());
    message[2..4].copy_from_slice(&MESSAGE_VERSION.to_le_bytes());
    message[4..8].copy_from_slice(&(count as u32).to_le_bytes());
    set_step(message, step);
}

fn put<T: Copy, const N: usize>(message: &mut Vec<u8>, values: &[T], bytes: fn(T) -> [u8; N]) {
    values.iter().for_each(|value| message.extend(bytes(*value)));
}

fn put_text(message: &mut Vec<u8>, text: &str, width: usize) {
    let end = message.len() + width;
    let text = &text.as_bytes()[..text.len().min(width - 1)];
    message.push(text.len() as u8);
    message.extend(text);
    message.resize(end, 0);
}

/// The length of a name and the name, to the next multiple of 8.
fn put_name(message: &mut Vec<u8>, name: &str) {
    message.extend((name.len() as u16).to_le_bytes());
    message.extend([0, 0]);
    message.extend(name.as_bytes());
    pad(message);
}

fn pad(message: &mut Vec<u8>) {
    message.resize(message.len().next_multiple_of(8), 0);
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_LEN_MAX)]
}

fn place(leaf: &Leaf) -> Place {
    let (number, width) = match &leaf.ty {
        Type::Boolean => (1, 1),
        Type::Integer => (2, 4),
        Type::Real(Width::Single, _) => (3, 4),
        Type::Real(Width::Double, _) => (4, 8),
        Type::String(len) => (5, 1 + *len as usize),
        Type::Array(..) | Type::List(..) | Type::Element(_) => {
            unreachable!("a leaf is no composition")
        }
    };
    Place { path: cut(&leaf.path).to_owned(), number, width }
}
