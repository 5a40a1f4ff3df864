//! The table of a federation's federates. A federate that leaves makes room for another, but its handle is never given
//! again.

use std::collections::BTreeSet;

use hemiola_hla::FederateHandle;

use crate::image::{Reader, Stored, Taken, Writer};

/// The difference between the handles that one place of the table gives, and the greatest number of places.
const ROUND: usize = 1 << 16;

/// Federates by handle.
#[derive(Debug)]
pub(crate) struct Members<T> {
    places: Vec<Place<T>>,
    /// Places without a federate.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Place<T> {
    /// The handle of its federate, or the handle that the next one will get.
    handle: FederateHandle,
    federate: Option<Box<T>>,
}

/// Returns the place of a federate in a table of all federates.
pub(crate) fn place(handle: FederateHandle) -> usize {
    handle.index().expect("a federate has a valid handle") % ROUND
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Members<T> {
    pub(crate) fn get(&self, handle: FederateHandle) -> Option<&T> {
        let place = self.places.get(handle.index()? % ROUND)?;
        if place.handle == handle { place.federate.as_deref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, handle: FederateHandle) -> Option<&mut T> {
        let place = self.places.get_mut(handle.index()? % ROUND)?;
        if place.handle == handle { place.federate.as_deref_mut() } else { None }
    }

    /// Returns the federate at a place, and its handle.
    pub(crate) fn at(&self, place: usize) -> Option<(FederateHandle, &T)> {
        let place = self.places.get(place)?;
        Some((place.handle, place.federate.as_deref()?))
    }

    /// Returns whether a federate, present or not, has or had this handle.
    pub(crate) fn has_given(&self, handle: FederateHandle) -> bool {
        let place = handle.index().and_then(|index| self.places.get(index % ROUND));
        place.is_some_and(|place| {
            handle < place.handle || handle == place.handle && place.federate.is_some()
        })
    }

    /// Returns the handle that the next federate will get.
    pub(crate) fn next(&self) -> FederateHandle {
        match self.free.last() {
            Some(place) => self.places[*place].handle,
            None => FederateHandle::of_index(self.places.len()),
        }
    }

    pub(crate) fn insert(&mut self, federate: T) -> FederateHandle {
        let (handle, federate) = (self.next(), Some(Box::new(federate)));
        match self.free.pop() {
            Some(place) => self.places[place].federate = federate,
            None => {
                assert!(self.places.len() < ROUND, "a federation has a limit of federates");
                self.places.push(Place { handle, federate });
            }
        }
        handle
    }

    /// Writes which handles are given, without the federates.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.places.iter().map(|place| place.handle).collect::<Vec<_>>().put(to);
        self.free.iter().map(|place| *place as u32).collect::<Vec<_>>().put(to);
    }

    /// Reads the same. [`fill`](Self::fill) adds the federates.
    pub(crate) fn take(from: &mut Reader) -> Taken<Self> {
        const WRONG: &str = "the table of federates is invalid";
        let handles: Vec<FederateHandle> = Stored::take(from)?;
        let free: Vec<u32> = Stored::take(from)?;
        let is_at = |(at, handle): (usize, &FederateHandle)| {
            handle.index().is_some_and(|index| index % ROUND == at)
        };
        let distinct: BTreeSet<&u32> = free.iter().collect();
        if handles.len() > ROUND
            || !handles.iter().enumerate().all(is_at)
            || distinct.len() != free.len()
            || distinct.last().is_some_and(|last| **last as usize >= handles.len())
        {
            return Err(WRONG);
        }
        let places = handles.into_iter().map(|handle| Place { handle, federate: None }).collect();
        Ok(Self { places, free: free.into_iter().map(|place| place as usize).collect() })
    }

    /// Puts a federate into its place, which is empty and not to be given to another. Returns whether there is one.
    pub(crate) fn fill(&mut self, handle: FederateHandle, federate: T) -> bool {
        let Some(at) = handle.index().map(|index| index % ROUND) else { return false };
        let Some(place) = self.places.get_mut(at) else { return false };
        if place.handle != handle || place.federate.is_some() || self.free.contains(&at) {
            return false;
        }
        place.federate = Some(Box::new(federate));
        true
    }

    pub(crate) fn remove(&mut self, handle: FederateHandle) -> Option<Box<T>> {
        self.get(handle)?;
        let index = place(handle);
        let place = &mut self.places[index];
        let next = handle.index().map(|index| FederateHandle::of_index(index + ROUND));
        // A place that has given its last handle stays empty.
        if let Some(next) = next.filter(|next| *next != FederateHandle::INVALID) {
            place.handle = next;
            self.free.push(index);
        }
        place.federate.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_federate_that_leaves_makes_room_and_its_handle_is_not_given_again() {
        let mut members = Members::default();
        let stays = members.insert(0);
        let mut given = BTreeSet::from([stays]);
        for number in 1..10_000 {
            let next = members.next();
            assert!(!members.has_given(next));
            let handle = members.insert(number);
            assert_eq!(handle, next);
            assert!(given.insert(handle), "{handle:?} is given twice");
            assert_eq!(members.get(handle), Some(&number));
            assert_eq!(members.at(place(handle)), Some((handle, &number)));
            assert_eq!(members.remove(handle).as_deref(), Some(&number));
            assert!(members.get(handle).is_none() && members.get_mut(handle).is_none());
            assert!(members.has_given(handle) && members.remove(handle).is_none());
        }
        assert_eq!(members.places.len(), 2);
        assert_eq!(members.get(stays), Some(&0));
        assert!(!members.has_given(FederateHandle::INVALID));
    }

    #[test]
    fn a_place_that_has_given_its_last_handle_is_not_used_again() {
        let last = FederateHandle::of_index(u32::MAX as usize - 1);
        let mut members = Members {
            places: vec![Place { handle: last, federate: Some(Box::new(1)) }],
            free: vec![],
        };
        // The place of this handle is the first only here.
        assert_eq!(place(last), ROUND - 2);
        members
            .places
            .resize_with(ROUND - 1, || Place { handle: last, federate: Some(Box::new(1)) });
        assert_eq!(members.remove(last).as_deref(), Some(&1));
        assert!(members.free.is_empty());
    }
}
