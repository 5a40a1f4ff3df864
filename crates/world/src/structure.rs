//! What the rows of an element take, computed from the types of its properties alone.

use std::ops::RangeInclusive;
use std::sync::Arc;

use hemiola_world_code::{list_counts, scalar_count};
use hemiola_world_lang::definition::{ElementId, Type, Universe, Width};

/// Bytes of an entity's number in its table, and of its strikes.
const BESIDE: [u64; 2] = [8, 4];

/// The directory is a B-tree of the standard library. Numbers only ascend, so the last node of a level fills up to 11
/// entries. The next entry splits it: 6 entries stay, one goes to the level above, and a new node starts with 5.
const ENTRIES_PER_SPLIT: u64 = 7;
const ENTRIES_AFTER_SPLIT: u64 = 5;
/// A leaf has 11 numbers of 8 bytes, 11 places of 16 bytes, and 16 bytes of its own. A node above has 12 pointers more.
const LEAF_LEN: u64 = 11 * (8 + 16) + 16;
const NODE_LEN: u64 = LEAF_LEN + 12 * 8;

/// One scalar of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Boolean,
    Integer,
    /// How many items a list has, at most so many.
    Count(u32),
    Single,
    Double,
    /// A text with at most so many bytes.
    Text(u32),
}

impl Field {
    /// Bytes in a column.
    const fn column_len(self) -> u64 {
        match self {
            Self::Boolean => 1,
            Self::Integer | Self::Count(_) | Self::Single => 4,
            Self::Double | Self::Text(_) => 8,
        }
    }

    /// The fewest and the most bytes in a packed row. A text has one byte for its length.
    const fn packed_len(self) -> [u64; 2] {
        match self {
            Self::Text(most) => [1, 1 + most as u64],
            fixed => [fixed.column_len(); 2],
        }
    }
}

/// The structure of the rows of an element. It says what rows take without looking at one, and how they are packed
/// ([`World::pack`](crate::World::pack)).
#[derive(Clone, Debug)]
pub struct Structure {
    pub(crate) universe: Arc<Universe>,
    pub(crate) element: ElementId,
    pub(crate) fields: Vec<Field>,
}

/// Memory that the entities of an element take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The columns of their properties.
    pub columns: u64,
    /// Their numbers and strikes, which stand beside the columns.
    pub beside: u64,
    /// The directory, which knows the row of each number. Its length depends on how the standard library builds a
    /// `BTreeMap`, and is estimated.
    pub directory: u64,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.columns + self.beside + self.directory
    }
}

impl Structure {
    /// The structure of the rows of an element; `None` if the universe has no such element.
    #[must_use]
    pub fn of(universe: &Arc<Universe>, element: ElementId) -> Option<Self> {
        universe.elements.get(element.index())?;
        let leaves = universe.leaves(element);
        let mut fields: Vec<Field> = leaves.iter().map(|leaf| field(&leaf.ty)).collect();
        let ty = Type::Element(element);
        debug_assert_eq!(fields.len(), scalar_count(universe, &ty) as usize);
        for (at, most) in list_counts(universe, &ty) {
            fields[at as usize] = Field::Count(most);
        }
        Some(Self { universe: Arc::clone(universe), element, fields })
    }

    /// The element.
    #[must_use]
    pub const fn element(&self) -> ElementId {
        self.element
    }

    /// How many columns its rows have.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.fields.len()
    }

    /// Bytes of a row in columns. A text counts as its number: equal texts are stored once.
    #[must_use]
    pub fn row_len(&self) -> u64 {
        self.fields.iter().map(|field| field.column_len()).sum()
    }

    /// The fewest and the most bytes of a packed row. They differ only if the row has texts.
    #[must_use]
    pub fn packed_len(&self) -> RangeInclusive<u64> {
        let lengths = self.fields.iter().map(|field| field.packed_len());
        let [least, most] = lengths.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
        least..=most
    }

    /// The memory of so many entities that were constructed one after the other. Columns grow by doubling, so up to
    /// half of theirs is room for more rows.
    #[must_use]
    pub fn memory(&self, entities: u64) -> Memory {
        let columns = self.fields.iter().map(|field| grown(entities, field.column_len())).sum();
        let beside = BESIDE.iter().map(|len| grown(entities, *len)).sum();
        Memory { columns, beside, directory: directory(entities) }
    }
}

fn field(leaf: &Type) -> Field {
    match leaf {
        Type::Boolean => Field::Boolean,
        Type::Integer => Field::Integer,
        Type::Real(Width::Single, _) => Field::Single,
        Type::Real(Width::Double, _) => Field::Double,
        Type::String(most) => Field::Text(*most),
        Type::Array(..) | Type::List(..) | Type::Element(_) => {
            unreachable!("a leaf is a scalar")
        }
    }
}

/// Bytes of a vector after so many calls of `push`.
fn grown(items: u64, item_len: u64) -> u64 {
    let first = if item_len == 1 { 8 } else { 4 };
    if items == 0 { 0 } else { items.next_power_of_two().max(first) * item_len }
}

fn directory(entities: u64) -> u64 {
    let (mut entries, mut node_len, mut bytes) = (entities, LEAF_LEN, 0);
    while entries > 0 {
        let splits = entries.saturating_sub(ENTRIES_AFTER_SPLIT) / ENTRIES_PER_SPLIT;
        bytes += (1 + splits) * node_len;
        (entries, node_len) = (splits, NODE_LEN);
    }
    bytes
}
