//! A federate's model of itself, which checks every callback.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Callback, EncodedTime, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType,
};
use hemiola_rti::SessionId;

use super::regions::{Extent, Own};
use crate::world::Fed;

/// The model of one federate.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) fed: Fed,
    pub(super) time: i64,
    /// Whether the last grant ended the time step.
    pub(super) ended: bool,
    pub(super) lookahead: Option<i64>,
    pub(super) constrained: bool,
    /// Whether it waits to become time-constrained.
    pub(super) pending: bool,
    /// Whether it waits to become time-regulating.
    pub(super) enabling: bool,
    pub(super) asynchronous: bool,
    pub(super) advance: Option<Asked>,
    pub(super) interactions: BTreeSet<InteractionClassHandle>,
    /// Its subscriptions: the numbers of the attributes, by class.
    pub(super) classes: BTreeMap<ObjectClassHandle, BTreeSet<u32>>,
    pub(super) known: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// Its publications by class.
    pub(super) published: BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>,
    /// The attributes it owns, by its callbacks.
    pub(super) owned: BTreeSet<(ObjectInstanceHandle, AttributeHandle)>,
    /// Its regions.
    pub(super) own: Own,
    /// The time stamp of the last message since the last request.
    last_stamp: i64,
    /// The number of the last message in receive order.
    last_unordered: u64,
    pub(super) synchronized: BTreeSet<String>,
    /// Whether it has subscribed to more since its request. It may then have passed messages it did not want before.
    pub(super) wants_more: bool,
    /// Whether it has had unfinished jobs since its last request. A message that it would stop at may then have become
    /// obsolete before its grant.
    pub(super) had_jobs: bool,
    /// Whether messages are being released to it: all, or those in receive order.
    pub(super) releasing: Option<bool>,
    /// Number of message parts it received though it did not want them at sending, and the other way round.
    pub(super) gained: u64,
    pub(super) lost: u64,
}

/// A pending request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) service: Asks,
    pub(super) until: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Asks {
    Tar,
    Tara,
    Nmr,
    Nmra,
    Fqr,
}

/// A message that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) sender: FederateHandle,
    pub(super) stamp: Option<i64>,
    pub(super) retraction: Option<MessageRetractionHandle>,
    pub(super) retracted: bool,
    pub(super) subject: Option<ObjectInstanceHandle>,
    /// Whether it deleted its subject, and the class the sender knew the subject as.
    pub(super) deletes: Option<ObjectClassHandle>,
    /// The attributes of the subject that the sender owned then.
    pub(super) owned: BTreeSet<AttributeHandle>,
    /// The parts that each federate must still receive, by the numbers of the attributes.
    pub(super) missing: BTreeMap<FederateHandle, BTreeSet<u32>>,
    /// Of these, the federates that decide at delivery which parts they want.
    pub(super) undecided: BTreeMap<FederateHandle, BTreeSet<u32>>,
    /// The parts that these wanted at sending.
    pub(super) wanted_then: BTreeMap<FederateHandle, BTreeSet<u32>>,
    /// The classes it can be received as, if it is an interaction.
    pub(super) classes: Vec<InteractionClassHandle>,
    /// The regions with which each part was sent.
    pub(super) extents: BTreeMap<u32, Extent>,
    /// The parts sent in time stamp order, which can be retracted.
    pub(super) ordering: BTreeSet<u32>,
    /// The federates that were time-constrained at sending: they receive these parts in time stamp order.
    pub(super) constrained: BTreeSet<FederateHandle>,
    /// The federates that received these parts.
    pub(super) reached: BTreeSet<FederateHandle>,
    /// The federates that must be asked to undo it.
    pub(super) to_undo: BTreeSet<FederateHandle>,
    /// The federates that had unfinished jobs at sending. The present job of such a federate may end without it.
    pub(super) amid_jobs: BTreeSet<FederateHandle>,
    /// The same, also after that job.
    pub(super) was_amid_jobs: BTreeSet<FederateHandle>,
}

/// Messages by the numbers in their tags.
pub(super) type Messages = BTreeMap<u64, Sent>;

/// The part of a message without attributes.
pub(super) const WHOLE: u32 = 0;

fn number_of(tag: &Data) -> u64 {
    u64::from_be_bytes(tag[..].try_into().expect("tags are numbers"))
}

fn value(time: EncodedTime) -> i64 {
    i64::from_be_bytes(time.bytes())
}

impl Peer {
    pub(super) fn new(session: SessionId, handle: FederateHandle) -> Self {
        Self {
            fed: Fed { session, handle },
            time: 0,
            ended: false,
            lookahead: None,
            constrained: false,
            pending: false,
            enabling: false,
            asynchronous: false,
            advance: None,
            interactions: BTreeSet::new(),
            classes: BTreeMap::new(),
            known: BTreeMap::new(),
            published: BTreeMap::new(),
            owned: BTreeSet::new(),
            own: Own::default(),
            last_stamp: 0,
            last_unordered: 0,
            synchronized: BTreeSet::new(),
            wants_more: false,
            releasing: None,
            had_jobs: false,
            gained: 0,
            lost: 0,
        }
    }

    /// Checks a callback and updates the model.
    pub(super) fn callback(&mut self, callback: &Callback, messages: &mut Messages) {
        use Callback as C;
        match callback {
            C::DiscoverObjectInstance { object_instance, object_class, .. } => {
                assert!(self.subscribes(*object_class), "a class it does not want");
                let before = self.known.insert(*object_instance, *object_class);
                assert_eq!(before, None, "discovered twice");
                self.wants_more = true;
            }
            C::ReflectAttributeValues {
                object_instance,
                attribute_values,
                user_supplied_tag,
                ..
            } => {
                let parts = attribute_values.iter().map(|(one, _)| one.number());
                self.knows(*object_instance);
                self.got(messages, user_supplied_tag, parts, None);
            }
            C::ReflectAttributeValuesWithTime {
                object_instance,
                attribute_values,
                user_supplied_tag,
                time,
                received_order_type,
                ..
            } => {
                let parts = attribute_values.iter().map(|(one, _)| one.number());
                self.knows(*object_instance);
                self.got(
                    messages,
                    user_supplied_tag,
                    parts,
                    Some((value(*time), *received_order_type)),
                );
            }
            C::ReceiveInteraction { user_supplied_tag, .. } => {
                self.got(messages, user_supplied_tag, [WHOLE], None);
            }
            C::ReceiveInteractionWithTime {
                user_supplied_tag, time, received_order_type, ..
            } => {
                let stamp = Some((value(*time), *received_order_type));
                self.got(messages, user_supplied_tag, [WHOLE], stamp);
            }
            C::RemoveObjectInstance { object_instance, user_supplied_tag, .. } => {
                if !user_supplied_tag.is_empty() {
                    self.got(messages, user_supplied_tag, [WHOLE], None);
                }
                self.forget(*object_instance, messages);
            }
            C::RemoveObjectInstanceWithTime {
                object_instance,
                user_supplied_tag,
                time,
                received_order_type,
                ..
            } => {
                let stamp = Some((value(*time), *received_order_type));
                self.got(messages, user_supplied_tag, [WHOLE], stamp);
                self.forget(*object_instance, messages);
            }
            C::AttributeOwnershipAcquisitionNotification {
                object_instance,
                secured_attributes,
                ..
            } => {
                let published = &self.published[&self.known[object_instance]];
                for attribute in secured_attributes {
                    assert!(published.contains(attribute), "an owner publishes its attributes");
                    let is_new = self.owned.insert((*object_instance, *attribute));
                    assert!(is_new, "acquired twice");
                }
            }
            C::RequestRetraction { retraction } => {
                let sent = messages.values_mut().find(|one| one.retraction == Some(*retraction));
                let asked = sent.expect("it was sent").to_undo.remove(&self.fed.handle);
                assert!(asked, "a message to undo was received");
            }
            C::TimeRegulationEnabled { time } => {
                assert!(self.enabling && value(*time) >= self.time);
                self.enabling = false;
                let time = value(*time);
                self.decide(messages, false, |one, part| {
                    one.ordering.contains(&part) && one.stamp.is_some_and(|stamp| stamp < time)
                });
                self.arrive(time);
            }
            C::TimeConstrainedEnabled { time } => {
                assert!(self.pending && value(*time) == self.time);
                (self.pending, self.constrained, self.ended) = (false, true, false);
            }
            C::TimeAdvanceGrant { time } => self.granted(value(*time), messages),
            C::FlushQueueGrant { time, .. } => {
                assert_eq!(self.advance.map(|asked| asked.service), Some(Asks::Fqr));
                let me = self.fed.handle;
                self.decide(messages, false, |one, part| {
                    one.ordering.contains(&part) && !one.amid_jobs.contains(&me)
                });
                self.arrive(value(*time));
            }
            C::AnnounceSynchronizationPoint { synchronization_point_label: label, .. } => {
                assert!(self.synchronized.insert(label.clone()), "announced twice");
            }
            C::FederationSynchronized { synchronization_point_label: label, .. } => {
                assert!(self.synchronized.remove(label), "it was not announced");
            }
            _ => {}
        }
    }

    fn knows(&self, instance: ObjectInstanceHandle) {
        assert!(self.known.contains_key(&instance), "no callback about an unknown instance");
    }

    /// Forgets an instance: messages about it no longer reach this federate.
    pub(super) fn forget(&mut self, instance: ObjectInstanceHandle, messages: &mut Messages) {
        assert!(self.known.remove(&instance).is_some());
        self.owned.retain(|(other, _)| *other != instance);
        self.own.keep(&self.owned);
        // Unless it discovers the instance again.
        let about = |one: &&mut Sent| {
            one.subject == Some(instance) && !one.undecided.contains_key(&self.fed.handle)
        };
        for sent in messages.values_mut().filter(about) {
            sent.missing.remove(&self.fed.handle);
        }
    }

    /// Returns whether receive-order messages are held until the next advance request.
    pub(super) fn holds(&self) -> bool {
        self.constrained && !self.asynchronous && self.advance.is_none()
    }

    /// Returns the parts of a message that it wants now.
    fn wanted(&self, sent: &Sent) -> BTreeSet<u32> {
        match sent.subject {
            Some(subject) => {
                let class = self.known.get(&subject);
                class.map(|class| self.receives(*class, &sent.extents)).unwrap_or_default()
            }
            None => self.receives_interaction(&sent.classes, &sent.extents[&WHOLE]),
        }
    }

    /// These parts could have been delivered: parts that have not arrived never will, and the federate must not have
    /// wanted them. With `maybe`, it may have wanted them, but only after it had passed the message.
    pub(super) fn decide(
        &mut self,
        messages: &mut Messages,
        maybe: bool,
        is_over: impl Fn(&Sent, u32) -> bool,
    ) {
        let me = self.fed.handle;
        for sent in messages.values_mut() {
            let undecided = sent.undecided.get(&me).into_iter().flatten().copied();
            let over: BTreeSet<u32> = undecided.filter(|part| is_over(sent, *part)).collect();
            let kept =
                maybe || sent.was_amid_jobs.contains(&me) || over.is_disjoint(&self.wanted(sent));
            assert!(kept, "{me} should have received {sent:?}");
            for part in over {
                sent.undecided.get_mut(&me).unwrap().remove(&part);
                sent.missing.get_mut(&me).unwrap().remove(&part);
                self.lost += u64::from(sent.wanted_then[&me].contains(&part));
            }
        }
    }

    /// Checks that these parts were due, arrive in order and are not late.
    fn got(
        &mut self,
        messages: &mut Messages,
        tag: &Data,
        parts: impl IntoIterator<Item = u32>,
        stamp: Option<(i64, OrderType)>,
    ) {
        let number = number_of(tag);
        let me = self.fed.handle;
        let sent = messages.get_mut(&number).expect("it was sent");
        let wanted = self.wanted(sent);
        assert_eq!(stamp.map(|(time, _)| time), sent.stamp);
        let Some(missing) = sent.missing.get_mut(&me) else {
            panic!("{number} is not for {me}: {sent:?}");
        };
        for part in parts {
            assert!(missing.remove(&part), "{part} of {number} is a duplicate or has no receiver");
            if sent.undecided.get_mut(&me).is_some_and(|parts| parts.remove(&part)) {
                assert!(wanted.contains(&part), "{part} of {number} is no longer wanted");
                self.gained += u64::from(!sent.wanted_then[&me].contains(&part));
            }
            if sent.ordering.contains(&part) {
                assert!(!sent.retracted, "a retracted message");
                sent.reached.insert(me);
            }
        }
        match stamp {
            Some((time, OrderType::TimeStamp)) if self.constrained => {
                assert!(
                    self.advance.is_some() || self.enabling,
                    "held until the next advance request"
                );
                assert!(
                    if self.ended { time > self.time } else { time >= self.time },
                    "in its past"
                );
                assert!(time >= self.last_stamp, "out of order");
                self.last_stamp = time;
            }
            Some((_, OrderType::TimeStamp)) => {
                panic!("time stamp order for an unconstrained federate")
            }
            // Messages that were queued arrive in time stamp order when the constraint ends.
            Some(_) if !self.constrained && sent.constrained.contains(&me) => {}
            _ => {
                assert!(!self.holds(), "held until the next advance request");
                assert!(number >= self.last_unordered, "out of sending order");
                self.last_unordered = number;
            }
        }
    }

    /// Checks that the grant matches the request and that no earlier message is missing.
    fn granted(&mut self, time: i64, messages: &mut Messages) {
        let Asked { service, until } = self.advance.expect("a grant follows a request");
        match service {
            Asks::Tar | Asks::Tara => assert_eq!(time, until),
            Asks::Nmr | Asks::Nmra => assert!(time <= until && time >= self.time),
            Asks::Fqr => panic!("a flush has its own grant"),
        }
        if time < until {
            assert!(self.last_stamp == time || self.had_jobs, "earlier only for a message");
        }
        let past = self.wants_more && matches!(service, Asks::Nmr | Asks::Nmra);
        let me = self.fed.handle;
        self.decide(messages, past, |one, part| {
            let is_amid = one.amid_jobs.contains(&me);
            let is_due = |stamp| stamp < time || (stamp == time && !is_amid);
            one.ordering.contains(&part) && one.stamp.is_some_and(is_due)
        });
        for sent in messages.values() {
            let due = sent.stamp.is_some_and(|stamp| stamp <= time);
            let missing = sent.missing.get(&self.fed.handle).into_iter().flatten();
            let is_in_time = sent.stamp == Some(time) && sent.amid_jobs.contains(&self.fed.handle);
            let late = due
                && !is_in_time
                && sent.constrained.contains(&self.fed.handle)
                && missing.into_iter().any(|part| sent.ordering.contains(part));
            assert!(!late, "a message was to come before: {sent:?}");
        }
        self.arrive(time);
        self.ended = matches!(service, Asks::Tar | Asks::Nmr) || self.ended;
    }

    fn arrive(&mut self, time: i64) {
        assert!(time >= self.time);
        // A finished time step stays finished, whatever is requested for the same time again.
        self.ended &= time == self.time;
        self.time = time;
        self.last_stamp = 0;
        self.advance = None;
    }
}
