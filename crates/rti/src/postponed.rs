//! The newest values that the update rates of a federate do not allow yet (clause 6.11).

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use hemiola_units::Instant;

use crate::federation::Federation;
use crate::image::{Reader, Stored, Taken, Writer};
use crate::memory::entry_len;
use crate::message::{Body, Message};

/// The values that wait for one federate's rates, at most one for each attribute of an instance.
#[derive(Debug, Default)]
pub(crate) struct Postponed(BTreeMap<(ObjectInstanceHandle, AttributeHandle), Entry>);

/// A value of an update.
#[derive(Debug)]
pub(crate) struct Entry {
    /// When the rate allows it.
    due: Instant,
    /// The values of the update that were kept; they share this. It has memory of its own.
    message: Arc<Message>,
}

impl Entry {
    /// Writes it. Values that share an update share it in the image, too.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.due.put(to);
        to.put_shared(&self.message);
    }
}

impl Postponed {
    /// The memory of a value of this update, with its place in the federation's table. Values that share an update are
    /// charged as if they did not.
    pub(crate) fn entry_len(message: &Message) -> usize {
        entry_len::<(ObjectInstanceHandle, AttributeHandle), Entry>()
            + entry_len::<(Instant, FederateHandle, ObjectInstanceHandle), ()>()
            + message.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps values of an update, each until its time. No older values of these attributes are kept. Returns what must
    /// be charged.
    pub(crate) fn keep(
        &mut self,
        instance: ObjectInstanceHandle,
        dues: &[(AttributeHandle, Instant)],
        message: &Arc<Message>,
    ) -> usize {
        let mut count = 0;
        for (attribute, due) in dues {
            let entry = Entry { due: *due, message: Arc::clone(message) };
            // An update may have an attribute twice.
            count += usize::from(self.0.insert((instance, *attribute), entry).is_none());
        }
        count * Self::entry_len(message)
    }

    /// Drops the value of an attribute. Returns what it was charged.
    pub(crate) fn drop_one(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> usize {
        let dropped = self.0.remove(&(instance, attribute));
        dropped.map_or(0, |entry| Self::entry_len(&entry.message))
    }

    /// Drops the values of an instance. Returns what they were charged.
    pub(crate) fn drop_of(&mut self, instance: ObjectInstanceHandle) -> usize {
        let attributes: Vec<AttributeHandle> = self.of(instance).map(|(one, _)| one).collect();
        attributes.into_iter().map(|one| self.drop_one(instance, one)).sum()
    }

    /// Drops the first value. Returns what it was charged.
    pub(crate) fn take_first(&mut self) -> Option<usize> {
        let (_, entry) = self.0.pop_first()?;
        Some(Self::entry_len(&entry.message))
    }

    /// Takes those values of one update of an instance that are due. Returns the update, its attributes that are due,
    /// and what they were charged.
    pub(crate) fn take_due(
        &mut self,
        instance: ObjectInstanceHandle,
        now: Instant,
    ) -> Option<(Arc<Message>, Vec<AttributeHandle>, usize)> {
        let is_due = |entry: &Entry| entry.due <= now;
        let (_, first) = self.of(instance).find(|(_, entry)| is_due(entry))?;
        let message = Arc::clone(&first.message);
        let is_alike = |entry: &Entry| is_due(entry) && Arc::ptr_eq(&entry.message, &message);
        let alike = self.of(instance).filter(|(_, entry)| is_alike(entry));
        let attributes: Vec<AttributeHandle> = alike.map(|(one, _)| one).collect();
        let len = attributes.iter().map(|one| self.drop_one(instance, *one)).sum();
        Some((message, attributes, len))
    }

    fn of(
        &self,
        instance: ObjectInstanceHandle,
    ) -> impl Iterator<Item = (AttributeHandle, &Entry)> {
        let [first, last] = [0, u32::MAX].map(|number| (instance, AttributeHandle::new(number)));
        self.0.range(first..=last).map(|((_, attribute), entry)| (*attribute, entry))
    }

    /// The values by instance and attribute.
    pub(crate) const fn entries(
        &self,
    ) -> &BTreeMap<(ObjectInstanceHandle, AttributeHandle), Entry> {
        &self.0
    }

    /// Reads a value that an image keeps. Returns when it is due.
    pub(crate) fn take(
        &mut self,
        subject: (ObjectInstanceHandle, AttributeHandle),
        from: &mut Reader,
    ) -> Taken<Instant> {
        let due = Stored::take(from)?;
        let message = Message::take_shared(from)?.0;
        if !matches!(&message.body, Body::Reflect { instance, .. } if *instance == subject.0) {
            return Err("a value that waits is no part of an update");
        }
        self.0.insert(subject, Entry { due, message });
        Ok(due)
    }

    /// What must be charged, counted anew.
    pub(crate) fn counted_len(&self) -> usize {
        self.0.values().map(|entry| Self::entry_len(&entry.message)).sum()
    }
}

/// Whether a rate allows a value by now.
pub(crate) fn is_due(federation: &Federation) -> bool {
    let first = federation.postponed.first().filter(|_| !federation.saving.is_frozen());
    first.is_some_and(|(due, ..)| *due <= federation.now)
}
