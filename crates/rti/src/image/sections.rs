//! The sections of an image: which tables it contains, in which order, and how an entry of each is written and read.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use hemiola_hla::{
    AttributeHandle, FederateHandle, LogicalTime, ObjectClassHandle, ObjectInstanceHandle,
};
use hemiola_units::Instant;

use super::{Reader, Stored, Taken, Writer};
use crate::backlog::QueuedMessage;
use crate::federate::{Federate, Rate};
use crate::federation::{Federation, NameUse};
use crate::instance::Instance;
use crate::memory::Charge;
use crate::mom::{self, RTI};
use crate::services::federation::SynchronizationPoint;
use crate::services::ownership::Negotiation;
use crate::time::Sent;

/// Writes the entry behind a key. Returns whether there is one.
type Put = fn(&Federation, FederateHandle, &mut Key, &mut Writer) -> bool;
/// Reads an entry.
type Take = fn(&mut Federation, FederateHandle, &mut Reader) -> Taken<()>;

/// A table of the federation, or one of each federate.
struct Section {
    is_of_federates: bool,
    put: Put,
    take: Take,
}

const fn of_federation(put: Put, take: Take) -> Section {
    Section { is_of_federates: false, put, take }
}

const fn of_federates(put: Put, take: Take) -> Section {
    Section { is_of_federates: true, put, take }
}

/// In this order, so that an entry refers only to what comes before it.
const SECTIONS: &[Section] = &[
    of_federation(put_counters, take_counters),
    of_federation(put_federate, take_federate),
    of_federation(put_mom, take_mom),
    of_federates(put_member, take_member),
    of_federation(put_instance, take_instance),
    of_federation(put_name, take_name),
    of_federation(put_negotiation, take_negotiation),
    of_federation(put_region, take_region),
    of_federation(put_association, take_association),
    of_federation(put_subscriptions, take_subscriptions),
    of_federation(put_point, take_point),
    of_federates(put_known_since, take_known_since),
    of_federates(put_reflected, take_reflected),
    of_federates(put_postponed, take_postponed),
    of_federates(put_scope, take_scope),
    of_federates(put_updates, take_updates),
    of_federates(put_ordered, take_ordered),
    of_federates(put_held, take_held),
    of_federates(put_sent, take_sent),
];

/// The key of the last entry of a section; its type is that of the section's table.
#[derive(Debug, Default)]
struct Key(Option<Box<dyn Any + Send>>);

impl Key {
    fn get<K: Clone + 'static>(&self) -> Option<K> {
        self.0.as_ref().map(|key| key.downcast_ref::<K>().expect("a section has one table").clone())
    }

    fn set<K: Send + 'static>(&mut self, key: K) {
        self.0 = Some(Box::new(key));
    }

    /// The entry of a table behind this key.
    fn next<'t, K: Ord + Clone + Send + 'static, V>(
        &mut self,
        table: &'t BTreeMap<K, V>,
    ) -> Option<(&'t K, &'t V)> {
        let last = self.get::<K>();
        let from = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let (key, value) = table.range::<K, _>((from, Bound::Unbounded)).next()?;
        self.set(key.clone());
        Some((key, value))
    }

    /// Writes the entry of a table behind this key. Returns whether there is one.
    fn put<K: Ord + Clone + Send + Stored + 'static, V>(
        &mut self,
        table: &BTreeMap<K, V>,
        to: &mut Writer,
        put: impl FnOnce(&V, &mut Writer),
    ) -> bool {
        let Some((key, value)) = self.next(table) else { return false };
        key.put(to);
        put(value, to);
        true
    }

    /// The first call for a section that has one entry.
    fn is_first(&mut self) -> bool {
        let is_first = self.0.is_none();
        self.set(());
        is_first
    }
}

/// The place of the next entry, for both directions.
#[derive(Debug)]
pub(super) struct Cursor {
    section: usize,
    /// The federate whose tables have their turn.
    federate: Option<FederateHandle>,
    key: Key,
}

impl Cursor {
    pub(super) fn new(federation: &Federation) -> Self {
        let mut cursor = Self { section: 0, federate: None, key: Key::default() };
        cursor.begin(federation);
        cursor
    }

    /// Writes the next entry, or the end of a section. Returns `false` at the end of all.
    pub(super) fn put(&mut self, federation: &Federation, to: &mut Writer) -> bool {
        let Some(section) = SECTIONS.get(self.section) else { return false };
        let whose = self.federate.unwrap_or(FederateHandle::INVALID);
        let at = to.len();
        true.put(to);
        if !(section.put)(federation, whose, &mut self.key, to) {
            to.truncate(at);
            false.put(to);
            self.go_on(federation);
        }
        true
    }

    /// Reads the next entry, or the end of a section. Returns `false` at the end of all.
    pub(super) fn take(&mut self, into: &mut Federation, from: &mut Reader) -> Taken<bool> {
        let Some(section) = SECTIONS.get(self.section) else { return Ok(false) };
        if bool::take(from)? {
            (section.take)(into, self.federate.unwrap_or(FederateHandle::INVALID), from)?;
        } else {
            self.go_on(into);
        }
        Ok(true)
    }

    /// Goes on to the next federate, or the next section.
    fn go_on(&mut self, federation: &Federation) {
        self.key = Key::default();
        self.federate = self.federate.and_then(|last| next_federate(federation, Some(last)));
        if self.federate.is_none() {
            self.section += 1;
            self.begin(federation);
        }
    }

    /// Begins a section with its first federate, if it is one of the federates' tables.
    fn begin(&mut self, federation: &Federation) {
        while SECTIONS.get(self.section).is_some_and(|section| section.is_of_federates) {
            self.federate = next_federate(federation, None);
            if self.federate.is_some() {
                return;
            }
            self.section += 1;
        }
    }
}

/// The federate after another one; the last is the RTI, if it is a federate.
fn next_federate(federation: &Federation, last: Option<FederateHandle>) -> Option<FederateHandle> {
    let from = last.map_or(Bound::Unbounded, Bound::Excluded);
    let next = federation.joined().range((from, Bound::Unbounded)).next().copied();
    let rti = federation.mom.is_some() && last != Some(RTI);
    next.or(rti.then_some(RTI))
}

/// Reads the key of an entry that a table does not have yet.
fn take_key<K: Ord + Stored, V>(table: &BTreeMap<K, V>, from: &mut Reader) -> Taken<K> {
    let key = K::take(from)?;
    if table.last_key_value().is_some_and(|(last, _)| *last >= key) {
        return Err("the entries of a table are not in order");
    }
    Ok(key)
}

// Checks of what an entry refers to.

fn is_federate(federation: &Federation, handle: FederateHandle) -> Taken<()> {
    let is_rti = handle == RTI && federation.mom.is_some();
    if is_rti || federation.joined().contains(&handle) {
        Ok(())
    } else {
        Err("a federate is not joined")
    }
}

fn is_class(federation: &Federation, class: ObjectClassHandle) -> Taken<()> {
    federation.model.object_class(class).map(drop).ok_or("an object class does not exist")
}

fn is_attribute(
    federation: &Federation,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
) -> Taken<()> {
    let exists = federation.model.has_attribute(class, attribute);
    if exists { Ok(()) } else { Err("a class does not have an attribute") }
}

/// The federate knows the instance.
fn knows(
    federation: &Federation,
    federate: FederateHandle,
    instance: ObjectInstanceHandle,
) -> Taken<&Instance> {
    let found = federation.instances.get(&instance).ok_or("an instance does not exist")?;
    found.known_as(federate).map(|_| found).ok_or("a federate does not know an instance")
}

// The federation.

fn put_counters(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    let is_first = key.is_first();
    if is_first {
        federation.put_members(to);
        federation.instance_count.put(to);
        federation.sequence.put(to);
        federation.regions.created().put(to);
    }
    is_first
}

/// More messages than a federation ever sends, and few enough to go on counting.
const SENT_MAX: u64 = u64::MAX / 2;

fn take_counters(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    into.take_members(from)?;
    into.instance_count = Stored::take(from)?;
    into.sequence = Stored::take(from)?;
    if into.sequence > SENT_MAX {
        return Err("more messages were sent than can be");
    }
    into.regions.set_created(Stored::take(from)?);
    Ok(())
}

fn put_federate(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    let from = key.get::<FederateHandle>().map_or(Bound::Unbounded, Bound::Excluded);
    let next = federation.joined().range((from, Bound::Unbounded)).next();
    let Some(handle) = next.copied() else { return false };
    key.set(handle);
    handle.put(to);
    federation.federate(handle).put(to);
    true
}

fn take_federate(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let handle = Stored::take(from)?;
    let federate = Federate::take(from, &into.account)?;
    is_declared(into, &federate)?;
    into.fill(handle, federate)
}

/// Its declarations are about classes that exist.
fn is_declared(federation: &Federation, federate: &Federate) -> Taken<()> {
    const EMPTY: &str = "a declaration is empty";
    let Federate { published, subscribed, .. } = federate;
    for (class, attributes) in &published.classes {
        attributes.first().ok_or(EMPTY)?;
        attributes.iter().try_for_each(|one| is_attribute(federation, *class, *one))?;
    }
    for (class, attributes) in &subscribed.classes {
        attributes.first_key_value().ok_or(EMPTY)?;
        attributes.keys().try_for_each(|one| is_attribute(federation, *class, *one))?;
    }
    let directed = published.directed.iter().map(|(class, set)| (class, set.len()));
    let wanted = subscribed.directed.iter().map(|(class, set)| (class, set.len()));
    for (class, len) in directed.chain(wanted) {
        is_class(federation, *class)?;
        if len == 0 {
            return Err(EMPTY);
        }
    }
    let sent = published.interactions.iter().chain(published.directed.values().flatten());
    let received = subscribed.directed.values().flat_map(BTreeMap::keys);
    let mut all = sent.chain(subscribed.interactions.keys()).chain(received);
    if all.any(|class| federation.model.interaction_class(*class).is_none()) {
        return Err("an interaction class does not exist");
    }
    Ok(())
}

fn put_mom(federation: &Federation, _: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    let is_managed = federation.mom.is_some() && key.is_first();
    if is_managed {
        mom::put(federation, to);
    }
    is_managed
}

fn take_mom(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let mom = mom::take(from, &into.account)?;
    if into.mom.replace(mom).is_some() {
        return Err("the management object model occurs twice");
    }
    is_declared(into, into.federate(RTI))
}

fn put_member(federation: &Federation, of: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    key.is_first() && mom::put_member(federation, of, to)
}

fn take_member(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let mom = into.mom.as_mut().ok_or("there is no management object model")?;
    mom::take_member(mom, of, from)
}

// Instances, names and ownership.

fn put_instance(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(&federation.instances, to, Instance::put)
}

fn take_instance(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let handle: ObjectInstanceHandle = take_key(&into.instances, from)?;
    let instance = Instance::take(from, &into.account)?;
    if handle.number() == 0 || handle > into.last_instance() {
        return Err("an instance was never registered");
    }
    is_class(into, instance.class)?;
    for known in instance.known_by() {
        is_federate(into, known.federate)?;
        if !into.model.is_object_class(instance.class, known.class) {
            return Err("an instance is known as a class that it does not have");
        }
    }
    instance.deleted_locally_by().iter().try_for_each(|one| is_federate(into, *one))?;
    for attribute in &instance.attributes {
        is_attribute(into, instance.class, attribute.handle)?;
        if attribute.owner != FederateHandle::INVALID
            && instance.known_as(attribute.owner).is_none()
        {
            return Err("an owner does not know its instance");
        }
    }
    into.restore_instance(handle, instance)
}

/// Names that are looked at in one step.
const NAMES: usize = 64;

fn put_name(federation: &Federation, _: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    let mut reserved: Vec<(String, FederateHandle)> = Vec::new();
    let mut looked_at = 0;
    while looked_at < NAMES
        && let Some((name, name_use)) = key.next(&federation.names)
    {
        looked_at += 1;
        // The names of instances come with these.
        if let NameUse::Reserved(by) = name_use {
            reserved.push((name.clone(), *by));
        }
    }
    reserved.put(to);
    looked_at > 0
}

fn take_name(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let reserved: Vec<(String, FederateHandle)> = Stored::take(from)?;
    for (name, by) in reserved {
        is_federate(into, by)?;
        if into.names.insert(name, NameUse::Reserved(by)).is_some() {
            return Err("a name is used twice");
        }
    }
    Ok(())
}

fn put_negotiation(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(&federation.negotiations, to, Negotiation::put)
}

fn take_negotiation(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let subject: (ObjectInstanceHandle, AttributeHandle) = take_key(&into.negotiations, from)?;
    let negotiation = Negotiation::take(from, &into.account)?;
    for seeker in negotiation.seekers() {
        knows(into, seeker, subject.0)?;
    }
    let instance = into.instances.get(&subject.0).ok_or("an instance does not exist")?;
    if instance.owner(subject.1) == FederateHandle::INVALID {
        return Err("an attribute without an owner is negotiated");
    }
    into.negotiations.insert(subject, negotiation);
    Ok(())
}

// Regions.

fn put_region(federation: &Federation, _: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    key.put(federation.regions.table(), to, |region, to| region.put(to))
}

fn take_region(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let handle = Stored::take(from)?;
    let account = Arc::clone(&into.account);
    let federate = into.regions.take_region(handle, from, &account)?;
    is_federate(into, federate)
}

fn put_association(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(federation.regions.associations(), to, |regions, to| regions.put(to))
}

fn take_association(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let key: (_, _, FederateHandle) = take_key(into.regions.associations(), from)?;
    knows(into, key.2, key.0)?;
    into.regions.take_association(key, from)
}

fn put_subscriptions(
    federation: &Federation,
    _: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(federation.regions.subscriptions(), to, |subscriptions, to| subscriptions.put(to))
}

fn take_subscriptions(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let federate = take_key(into.regions.subscriptions(), from)?;
    is_federate(into, federate)?;
    let (classes, interactions) = into.regions.take_subscriptions(federate, from)?;
    for class in classes {
        is_class(into, class)?;
        into.class_subscribers.entry(class).or_default().insert(federate);
    }
    for class in interactions {
        into.model.interaction_class(class).ok_or("an interaction class does not exist")?;
        into.interaction_subscribers.entry(class).or_default().insert(federate);
    }
    Ok(())
}

// Synchronization points.

fn put_point(federation: &Federation, _: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    key.put(&federation.points, to, SynchronizationPoint::put)
}

fn take_point(into: &mut Federation, _: FederateHandle, from: &mut Reader) -> Taken<()> {
    let label: String = take_key(&into.points, from)?;
    let point = SynchronizationPoint::take(&label, from, &into.account)?;
    point.members().try_for_each(|member| is_federate(into, member))?;
    into.points.insert(label, point);
    Ok(())
}

// The large tables of a federate.

fn put_known_since(
    federation: &Federation,
    of: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(&federation.federate(of).known_since, to, |since, to| since.put(to))
}

fn take_known_since(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let entry: (ObjectInstanceHandle, u64) = Stored::take(from)?;
    into.federate_mut(of).known_since.insert(entry.0, entry.1);
    Ok(())
}

fn put_reflected(
    federation: &Federation,
    of: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(&federation.federate(of).last_reflected, to, |at, to| at.put(to))
}

fn take_reflected(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let entry: ((ObjectInstanceHandle, AttributeHandle), Instant) = Stored::take(from)?;
    into.federate_mut(of).last_reflected.insert(entry.0, entry.1);
    Ok(())
}

fn put_postponed(
    federation: &Federation,
    of: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(federation.federate(of).postponed.entries(), to, |entry, to| entry.put(to))
}

fn take_postponed(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let subject: (ObjectInstanceHandle, AttributeHandle) = Stored::take(from)?;
    knows(into, of, subject.0)?;
    let due = into.federate_mut(of).postponed.take(subject, from)?;
    into.postponed.insert((due, of, subject.0));
    Ok(())
}

fn put_scope(federation: &Federation, of: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    key.put(&federation.federate(of).advised.scope, to, |attributes, to| attributes.put(to))
}

fn take_scope(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let entry: (ObjectInstanceHandle, BTreeSet<AttributeHandle>) = Stored::take(from)?;
    into.federate_mut(of).advised.scope.insert(entry.0, entry.1);
    Ok(())
}

fn put_updates(
    federation: &Federation,
    of: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    key.put(&federation.federate(of).advised.updates, to, |attributes, to| attributes.put(to))
}

fn take_updates(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let entry: (ObjectInstanceHandle, BTreeMap<AttributeHandle, Option<Rate>>) =
        Stored::take(from)?;
    into.federate_mut(of).advised.updates.insert(entry.0, entry.1);
    Ok(())
}

/// Reads a queued message, for the queue in time stamp order or the other one.
fn take_message(into: &Federation, from: &mut Reader, is_ordered: bool) -> Taken<QueuedMessage> {
    let message = QueuedMessage::take(from, &into.account, is_ordered)?;
    if message.sequence > into.sequence {
        return Err("a queued message is newer than the newest of all");
    }
    Ok(message)
}

fn put_ordered(
    federation: &Federation,
    of: FederateHandle,
    key: &mut Key,
    to: &mut Writer,
) -> bool {
    let backlog = &federation.federate(of).time.backlog;
    let Some((time, message)) = backlog.ordered_behind(key.get()) else { return false };
    key.set((time, message.sequence));
    time.put(to);
    message.put(to);
    true
}

fn take_ordered(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let time = LogicalTime::take(from)?;
    let message = take_message(into, from, true)?;
    let state = &mut into.federate_mut(of).time;
    if !state.constrained {
        return Err("a federate that is not time-constrained has messages in time stamp order");
    }
    if !state.backlog.may_follow(Some(time), &message) {
        return Err("messages of one time are not in sending order");
    }
    state.backlog.push_ordered(time, message);
    Ok(())
}

fn put_held(federation: &Federation, of: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    let backlog = &federation.federate(of).time.backlog;
    let Some(message) = backlog.held_behind(key.get()) else { return false };
    key.set(message.sequence);
    message.put(to);
    true
}

fn take_held(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let message = take_message(into, from, false)?;
    let backlog = &mut into.federate_mut(of).time.backlog;
    if !backlog.may_follow(None, &message) {
        return Err("messages in receive order are not in sending order");
    }
    backlog.push_held(message);
    Ok(())
}

fn put_sent(federation: &Federation, of: FederateHandle, key: &mut Key, to: &mut Writer) -> bool {
    key.put(&federation.federate(of).time.sent, to, |sent, to| {
        let Sent { time, sequence, receivers, deletes, charge: _ } = sent;
        (*time, *sequence).put(to);
        receivers.put(to);
        deletes.put(to);
    })
}

fn take_sent(into: &mut Federation, of: FederateHandle, from: &mut Reader) -> Taken<()> {
    let number = u32::take(from)?;
    let (time, sequence): (LogicalTime, (u64, u64)) = Stored::take(from)?;
    // A message without receivers may have no parts: then its last one precedes its first one.
    let (first, last) = sequence;
    if last > into.sequence || first > last + 1 {
        return Err("a message was never sent");
    }
    let receivers: Vec<FederateHandle> = Stored::take(from)?;
    let deletes = Stored::take(from)?;
    let charge = Charge::new(&into.account, Sent::len(&receivers));
    let sent = Sent { time, sequence, receivers, deletes, charge };
    into.federate_mut(of).time.sent.insert(number, sent);
    Ok(())
}
