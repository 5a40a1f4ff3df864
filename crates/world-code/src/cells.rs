//! The memory of a column: its own, or that of a room, which an engine reaches too.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Memory for columns that an engine reaches, so that nothing is copied for it. Implementations are shells.
pub trait Room: Debug + Send + Sync {
    /// Memory of so many bytes, all zero; `None` if none is left.
    fn take(&self, bytes: usize) -> Option<Box<dyn Slab>>;
}

/// A piece of a [`Room`] with a fixed length, as items of each type; of types that it does not say, it has none.
pub trait Slab: Debug + Send + Sync {
    /// As whole numbers.
    fn integers(&self) -> &[i32] {
        &[]
    }
    /// As `real32`.
    fn singles(&self) -> &[f32] {
        &[]
    }
    /// As `real`.
    fn doubles(&self) -> &[f64] {
        &[]
    }
    /// As numbers of texts.
    fn texts(&self) -> &[u64] {
        &[]
    }
    /// As whole numbers, for writing.
    fn integers_mut(&mut self) -> &mut [i32] {
        &mut []
    }
    /// As `real32`, for writing.
    fn singles_mut(&mut self) -> &mut [f32] {
        &mut []
    }
    /// As `real`, for writing.
    fn doubles_mut(&mut self) -> &mut [f64] {
        &mut []
    }
    /// As numbers of texts, for writing.
    fn texts_mut(&mut self) -> &mut [u64] {
        &mut []
    }
}

/// The scalars of a column, one for each row.
pub struct Cells<T>(Memory<T>);

enum Memory<T> {
    Own(Vec<T>),
    Lent { slab: Box<dyn Slab>, room: Arc<dyn Room>, len: usize },
}

/// A type of scalars that a room has memory for.
pub trait Cell: Copy + Default + PartialEq + Debug {
    /// All items of a slab.
    fn of(slab: &dyn Slab) -> &[Self];
    /// As [`Self::of`], for writing.
    fn of_mut(slab: &mut dyn Slab) -> &mut [Self];
}

macro_rules! cell {
    ($($type:ty, $read:ident, $write:ident;)*) => {$(
        impl Cell for $type {
            fn of(slab: &dyn Slab) -> &[Self] {
                slab.$read()
            }

            fn of_mut(slab: &mut dyn Slab) -> &mut [Self] {
                slab.$write()
            }
        }
    )*};
}
cell! {
    i32, integers, integers_mut;
    f32, singles, singles_mut;
    f64, doubles, doubles_mut;
    u64, texts, texts_mut;
}

/// Memory for no items.
#[derive(Debug)]
struct Nothing;

impl Slab for Nothing {}

impl<T: Cell> Cells<T> {
    /// So many equal items, in the memory of a room if there is one and it is not full.
    pub(crate) fn filled(item: T, count: usize, room: Option<&Arc<dyn Room>>) -> Self {
        if let Some(mut lent) = room.and_then(|room| lent(room, &[], count)) {
            if let Memory::Lent { slab, len, .. } = &mut lent {
                *len = count;
                T::of_mut(slab.as_mut())[..count].fill(item);
            }
            return Self(lent);
        }
        vec![item; count].into()
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) {
        if let Memory::Own(items) = &mut self.0 {
            return items.push(item);
        }
        self.reserve(1);
        match &mut self.0 {
            Memory::Own(items) => items.push(item),
            Memory::Lent { slab, len, .. } => {
                T::of_mut(slab.as_mut())[*len] = item;
                *len += 1;
            }
        }
    }

    /// Removes an item, puts the last one in its place, and returns it.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn swap_remove(&mut self, at: usize) -> T {
        match &mut self.0 {
            Memory::Own(items) => items.swap_remove(at),
            Memory::Lent { slab, len, .. } => {
                let items = &mut T::of_mut(slab.as_mut())[..*len];
                items.swap(at, *len - 1);
                *len -= 1;
                items[*len]
            }
        }
    }

    /// Becomes a copy; memory is kept.
    pub fn copy_from(&mut self, from: &[T]) {
        match &mut self.0 {
            Memory::Own(items) => {
                items.clear();
                items.extend_from_slice(from);
            }
            Memory::Lent { len, .. } => {
                *len = 0;
                self.reserve(from.len());
                self.fill(from.len(), |items| items.copy_from_slice(from));
            }
        }
    }

    /// Loses all items; memory is kept.
    pub fn clear(&mut self) {
        match &mut self.0 {
            Memory::Own(items) => items.clear(),
            Memory::Lent { len, .. } => *len = 0,
        }
    }

    /// Adds the items at some places of others.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn gather(&mut self, from: &[T], places: &[u32]) {
        self.reserve(places.len());
        match &mut self.0 {
            Memory::Own(items) => items.extend(places.iter().map(|place| from[*place as usize])),
            Memory::Lent { slab, len, .. } => {
                let end = *len + places.len();
                let free = T::of_mut(slab.as_mut())[*len..end].iter_mut();
                free.zip(places).for_each(|(to, at)| *to = from[*at as usize]);
                *len = end;
            }
        }
    }

    /// Moves to memory of a room, unless it is in one already or the room is full.
    pub(crate) fn move_to(&mut self, room: &Arc<dyn Room>) {
        if let Memory::Own(items) = &self.0
            && let Some(lent) = lent(room, items, items.len())
        {
            self.0 = lent;
        }
    }

    /// Has room for more items, perhaps in memory of its own.
    fn reserve(&mut self, more: usize) {
        let Memory::Lent { slab, room, len } = &self.0 else { return };
        let items = T::of(slab.as_ref());
        let needed = len + more;
        if needed > items.len() {
            let items = &items[..*len];
            let larger = lent(room, items, needed.max(2 * *len));
            self.0 = larger.unwrap_or_else(|| Memory::Own(items.to_vec()));
        }
    }

    /// Writes the first items, for which there is room.
    fn fill(&mut self, count: usize, write: impl FnOnce(&mut [T])) {
        match &mut self.0 {
            Memory::Own(items) => {
                items.resize(count, T::default());
                write(items);
            }
            Memory::Lent { slab, len, .. } => {
                write(&mut T::of_mut(slab.as_mut())[..count]);
                *len = count;
            }
        }
    }
}

/// Memory of a room for so many items, of which the first ones are these.
fn lent<T: Cell>(room: &Arc<dyn Room>, items: &[T], count: usize) -> Option<Memory<T>> {
    let mut slab = match count.checked_mul(size_of::<T>())? {
        0 => Box::new(Nothing),
        bytes => room.take(bytes)?,
    };
    T::of_mut(slab.as_mut())[..items.len()].copy_from_slice(items);
    Some(Memory::Lent { slab, room: Arc::clone(room), len: items.len() })
}

impl<T: Cell> Deref for Cells<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Own(items) => items,
            Memory::Lent { slab, len, .. } => &T::of(slab.as_ref())[..*len],
        }
    }
}

impl<T: Cell> DerefMut for Cells<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Own(items) => items,
            Memory::Lent { slab, len, .. } => &mut T::of_mut(slab.as_mut())[..*len],
        }
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self(Memory::Own(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Cells<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Memory::Own(items))
    }
}

/// A copy has memory of its own.
impl<T: Cell> Clone for Cells<T> {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl<T: Cell> PartialEq for Cells<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Cell> Debug for Cells<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hemiola_units::Random;

    use super::*;

    /// A room with memory for so many bytes, counted over all that it gave.
    #[derive(Debug)]
    struct Limited(AtomicUsize);

    #[derive(Debug)]
    struct Numbers(Vec<i32>);

    impl Room for Limited {
        fn take(&self, bytes: usize) -> Option<Box<dyn Slab>> {
            let take = |left: usize| left.checked_sub(bytes);
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
            Some(Box::new(Numbers(vec![0; bytes / 4])))
        }
    }

    impl Slab for Numbers {
        fn integers(&self) -> &[i32] {
            &self.0
        }

        fn integers_mut(&mut self) -> &mut [i32] {
            &mut self.0
        }
    }

    #[test]
    fn cells_are_a_vector_wherever_they_are() {
        let mut stayed = 0;
        for seed in 0..200 {
            let mut random = Random::from_seed(seed);
            let limited = Limited(AtomicUsize::new(random.below(4_000) as usize));
            let room: Arc<dyn Room> = Arc::new(limited);
            let (mut cells, mut vector) = (Cells::<i32>::default(), Vec::new());
            for number in 0..300 {
                let at = (!vector.is_empty()).then(|| random.below(vector.len() as u64) as usize);
                match (random.below(20), at) {
                    (0, _) => cells.move_to(&room),
                    (1, _) => {
                        let other: Vec<i32> = (0..random.below(40) as i32).collect();
                        cells.copy_from(&other);
                        vector = other;
                    }
                    (2, Some(at)) => {
                        let (from, places) = (vector.clone(), [at as u32, 0, at as u32]);
                        if random.below(2) == 0 {
                            cells.clear();
                            vector.clear();
                        }
                        cells.gather(&from, &places);
                        vector.extend([from[at], from[0], from[at]]);
                    }
                    (3..6, Some(at)) => assert_eq!(cells.swap_remove(at), vector.swap_remove(at)),
                    (6..8, Some(at)) => {
                        cells[at] = number;
                        vector[at] = number;
                    }
                    _ => {
                        cells.push(number);
                        vector.push(number);
                    }
                }
                assert_eq!(*cells, *vector, "seed {seed}");
                assert_eq!(cells.clone(), Cells::from(vector.clone()));
            }
            stayed += u32::from(matches!(cells.0, Memory::Lent { .. }));
        }
        assert!((20..180).contains(&stayed), "a room is full at some time: {stayed}");
    }
}
