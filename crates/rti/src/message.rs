//! Messages on their way: made once, delivered to each receiver in the order it is entitled to.

use std::sync::Arc;

use hemiola_hla::data::{AttributeValues, Data, ParameterValues};
use hemiola_hla::{
    Callback, FederateHandle, InteractionClassHandle, LogicalTime, MessageRetractionHandle,
    ObjectInstanceHandle, OrderType, TransportationTypeHandle,
};

use crate::backlog::{Content, Waiting};
use crate::federation::Federation;
use crate::notice::Notice;
use crate::services::object;
use crate::time::Sent;

/// What a message says.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Reflect {
        instance: ObjectInstanceHandle,
        values: AttributeValues,
    },
    Interaction {
        class: InteractionClassHandle,
        values: ParameterValues,
    },
    Directed {
        class: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        values: ParameterValues,
    },
    Remove {
        instance: ObjectInstanceHandle,
    },
}

/// A message and how it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) body: Body,
    pub(crate) tag: Data,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) producer: FederateHandle,
    pub(crate) stamp: Stamp,
}

/// The time of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// It has none.
    None,
    /// It has one that only says something.
    Told(LogicalTime),
    /// It has one that orders it, and can be taken back.
    Ordering(LogicalTime, MessageRetractionHandle),
}

impl Stamp {
    const fn retraction(self) -> Option<MessageRetractionHandle> {
        match self {
            Self::Ordering(_, retraction) => Some(retraction),
            Self::None | Self::Told(_) => None,
        }
    }
}

impl Message {
    /// The same message with another body.
    pub(crate) fn with(&self, body: Body) -> Self {
        let Self { tag, transportation, producer, stamp, .. } = self;
        let (tag, transportation, producer) = (tag.clone(), *transportation, *producer);
        Self { body, tag, transportation, producer, stamp: *stamp }
    }

    /// As a federate is told of it that gets it in this order.
    fn callback(&self, received: OrderType) -> Callback {
        let Self { body, tag, transportation, producer, stamp } = self;
        let (user_supplied_tag, transportation_type, producing_federate) =
            (tag.clone(), *transportation, *producer);
        let sent_regions = None;
        let (time, sent) = match stamp {
            Stamp::None => return self.without_time(),
            Stamp::Told(time) => ((*time).into(), OrderType::Receive),
            Stamp::Ordering(time, _) => ((*time).into(), OrderType::TimeStamp),
        };
        let (sent_order_type, received_order_type) = (sent, received);
        let retraction = stamp.retraction();
        match body.clone() {
            Body::Reflect { instance: object_instance, values: attribute_values } => {
                Callback::ReflectAttributeValuesWithTime {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                    time,
                    sent_order_type,
                    received_order_type,
                    retraction,
                }
            }
            Body::Interaction { class: interaction_class, values: parameter_values } => {
                Callback::ReceiveInteractionWithTime {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                    time,
                    sent_order_type,
                    received_order_type,
                    retraction,
                }
            }
            Body::Directed { class, instance, values } => {
                Callback::ReceiveDirectedInteractionWithTime {
                    interaction_class: class,
                    object_instance: instance,
                    parameter_values: values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    time,
                    sent_order_type,
                    received_order_type,
                    retraction,
                }
            }
            Body::Remove { instance: object_instance } => Callback::RemoveObjectInstanceWithTime {
                object_instance,
                user_supplied_tag,
                producing_federate,
                time,
                sent_order_type,
                received_order_type,
                retraction,
            },
        }
    }

    fn without_time(&self) -> Callback {
        let Self { body, tag, transportation, producer, .. } = self;
        let (user_supplied_tag, transportation_type, producing_federate) =
            (tag.clone(), *transportation, *producer);
        let sent_regions = None;
        match body.clone() {
            Body::Reflect { instance: object_instance, values: attribute_values } => {
                Callback::ReflectAttributeValues {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                }
            }
            Body::Interaction { class: interaction_class, values: parameter_values } => {
                Callback::ReceiveInteraction {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                }
            }
            Body::Directed { class, instance, values } => Callback::ReceiveDirectedInteraction {
                interaction_class: class,
                object_instance: instance,
                parameter_values: values,
                user_supplied_tag,
                transportation_type,
                producing_federate,
            },
            Body::Remove { instance: object_instance } => Callback::RemoveObjectInstance {
                object_instance,
                user_supplied_tag,
                producing_federate,
            },
        }
    }

    /// How many bytes it keeps while it waits, about: those of the values, and a little for each and for itself.
    fn len(&self) -> usize {
        const OVERHEAD: usize = 64;
        let of_values = match &self.body {
            Body::Reflect { values, .. } => {
                values.iter().map(|(_, value)| value.len() + OVERHEAD).sum()
            }
            Body::Interaction { values, .. } | Body::Directed { values, .. } => {
                values.iter().map(|(_, value)| value.len() + OVERHEAD).sum()
            }
            Body::Remove { .. } => 0,
        };
        of_values + self.tag.len() + 4 * OVERHEAD
    }

    /// The instance that has to be known to who gets it.
    const fn subject(&self) -> Option<ObjectInstanceHandle> {
        match &self.body {
            Body::Interaction { .. } => None,
            Body::Reflect { instance, .. }
            | Body::Directed { instance, .. }
            | Body::Remove { instance } => Some(*instance),
        }
    }
}

/// Sends a message to these federates: to those that are time-constrained by its time stamp, if it has one that orders,
/// and to the others as it comes.
pub(crate) fn dispatch(
    federation: &mut Federation,
    message: &Message,
    receivers: &[FederateHandle],
) {
    let subject = message.subject();
    let removes = matches!(message.body, Body::Remove { .. });
    let retraction = message.stamp.retraction();
    federation.sequence += 1;
    let sequence = federation.sequence;
    // One notice for all who get it in the same order.
    let (mut ordered, mut unordered): (Option<Arc<Notice>>, Option<Arc<Notice>>) = (None, None);
    let len = message.len();
    for receiver in receivers {
        let time = ordering_for(federation, *receiver, message.stamp);
        let notice = match time {
            Some(_) => ordered.get_or_insert_with(|| {
                Arc::new(Notice::new(message.callback(OrderType::TimeStamp)))
            }),
            None => unordered
                .get_or_insert_with(|| Arc::new(Notice::new(message.callback(OrderType::Receive)))),
        };
        let content = Content::Decided(Arc::clone(notice));
        let waiting = Waiting { content, len, sequence, subject, removes, retraction };
        pass_on(federation, *receiver, time, waiting);
    }
}

/// Sends a message to all others, where the federation looks at subscriptions when messages are delivered. Gives those
/// that have it now or may get it.
pub(crate) fn dispatch_undecided(
    federation: &mut Federation,
    message: Message,
) -> Vec<FederateHandle> {
    federation.sequence += 1;
    let (sequence, len) = (federation.sequence, message.len());
    let (stamp, retraction) = (message.stamp, message.stamp.retraction());
    let mut others: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    others.retain(|one| *one != message.producer);
    let message = Arc::new(message);
    others.retain(|receiver| {
        let time = ordering_for(federation, *receiver, stamp);
        let order = if time.is_some() { OrderType::TimeStamp } else { OrderType::Receive };
        let content = Content::Undecided(Arc::clone(&message), order);
        // What it is about is looked at with the rest.
        let (subject, removes) = (None, false);
        let waiting = Waiting { content, len, sequence, subject, removes, retraction };
        pass_on(federation, *receiver, time, waiting)
    });
    others
}

/// The time by which a message is ordered for a federate, if it is.
fn ordering_for(
    federation: &Federation,
    receiver: FederateHandle,
    stamp: Stamp,
) -> Option<LogicalTime> {
    match stamp {
        Stamp::Ordering(time, _) if federation.federate(receiver).time.constrained => Some(time),
        _ => None,
    }
}

/// Gives a federate a message, or keeps it until it may have it. `false` if it never gets it.
fn pass_on(
    federation: &mut Federation,
    receiver: FederateHandle,
    time: Option<LogicalTime>,
    waiting: Waiting,
) -> bool {
    if time.is_none() && !federation.federate(receiver).time.holds() {
        return deliver(federation, receiver, waiting);
    }
    let limits = federation.limits;
    let state = &mut federation.federate_mut(receiver).time;
    let backlog = &mut state.backlog;
    let too_much = backlog.len() + waiting.len > limits.undelivered_len;
    if too_much || backlog.count() >= limits.undelivered {
        federation.overflowed.insert(receiver);
        return false;
    }
    match time {
        Some(time) => {
            backlog.push_ordered(time, waiting);
            // A message may be what a federate waits for.
            federation.time_changed |=
                state.advance().is_some_and(|advance| advance.service.stops_at_messages());
        }
        None => backlog.push_held(waiting),
    }
    true
}

/// Is a message still for a federate? Not if it is about an instance that the federate does not know any more, or has
/// come to know again since.
pub(crate) fn is_for(federation: &Federation, to: FederateHandle, message: &Waiting) -> bool {
    let Some(subject) = message.subject else { return true };
    let known = federation.instances.get(&subject).and_then(|one| one.known_as(to));
    let since = federation.federate(to).known_since.get(&subject);
    known.is_some() && since.is_none_or(|since| message.sequence > *since)
}

/// Drops the first messages that wait for a federate, as long as they are not for it any more: nobody is to stop
/// at them.
pub(crate) fn drop_stale(federation: &mut Federation, to: FederateHandle) {
    drop_unwanted(federation, to, |_| false);
}

/// The same, and of the messages that nothing is decided about, those that `is_due` is true of and that it does not
/// want.
pub(crate) fn drop_unwanted(
    federation: &mut Federation,
    to: FederateHandle,
    is_due: impl Fn(LogicalTime) -> bool,
) {
    while let Some((time, head)) = federation.federate(to).time.backlog.first() {
        let is_kept = match &head.content {
            Content::Decided(_) => is_for(federation, to, head),
            Content::Undecided(message, _) => {
                !is_due(time) || object::is_wanted(federation, to, &message.body)
            }
        };
        if is_kept {
            break;
        }
        let dropped = federation.federate_mut(to).time.backlog.pop_if(|_| true);
        federation.time_changed = true;
        unreached(federation, to, dropped.and_then(|message| message.retraction));
    }
}

/// Notes that a message did not reach a federate: if it is taken back, there is nothing to undo.
fn unreached(
    federation: &mut Federation,
    to: FederateHandle,
    retraction: Option<MessageRetractionHandle>,
) {
    let Some((sender, number)) = retraction.map(sender_and_number) else { return };
    if federation.joined_federate(sender).is_some() {
        let sent = &mut federation.federate_mut(sender).time.sent;
        if let Some(sent) = sent.get_mut(&number) {
            // It may still get, or have got, another part.
            if let Some(at) = sent.receivers.iter().position(|one| *one == to) {
                sent.receivers.remove(at);
            }
        }
    }
}

/// Gives a federate a message that it may have now, if it is still for it. Was it?
pub(crate) fn deliver(federation: &mut Federation, to: FederateHandle, message: Waiting) -> bool {
    let Waiting { content, subject, removes, retraction, .. } = &message;
    let notice = match content {
        Content::Decided(notice) if is_for(federation, to, &message) => Some(Arc::clone(notice)),
        Content::Decided(_) => None,
        Content::Undecided(message, order) => {
            let wanted = object::evaluate(federation, to, message);
            wanted.map(|message| Arc::new(Notice::new(message.callback(*order))))
        }
    };
    let Some(notice) = notice else {
        unreached(federation, to, *retraction);
        return false;
    };
    federation.send(to, notice);
    if let Some(instance) = subject.filter(|_| *removes) {
        object::forget(federation, to, instance);
    }
    true
}

/// Gives a federate a message that had to come in the order of its time, and does not any more.
pub(crate) fn deliver_unordered(federation: &mut Federation, to: FederateHandle, message: Waiting) {
    use Callback as C;
    let notice = match &message.content {
        Content::Decided(notice) => notice,
        Content::Undecided(whole, _) => {
            let content = Content::Undecided(Arc::clone(whole), OrderType::Receive);
            deliver(federation, to, Waiting { content, ..message });
            return;
        }
    };
    let mut callback = notice.callback().clone();
    if let C::ReflectAttributeValuesWithTime { received_order_type, .. }
    | C::ReceiveInteractionWithTime { received_order_type, .. }
    | C::ReceiveDirectedInteractionWithTime { received_order_type, .. }
    | C::RemoveObjectInstanceWithTime { received_order_type, .. } = &mut callback
    {
        *received_order_type = OrderType::Receive;
    }
    let content = Content::Decided(Arc::new(Notice::new(callback)));
    deliver(federation, to, Waiting { content, ..message });
}

/// A new handle to take a message of a federate back with.
pub(crate) fn next_retraction(
    federation: &mut Federation,
    sender: FederateHandle,
) -> MessageRetractionHandle {
    let state = &mut federation.federate_mut(sender).time;
    // The second half tells a federate's messages apart, also after it has begun from 1 again.
    state.sent_count = state.sent_count.checked_add(1).unwrap_or(1);
    MessageRetractionHandle::new(u64::from(sender.number()) << 32 | u64::from(state.sent_count))
}

/// Who sent a message, and which of its messages it is, by the two halves of the handle.
pub(crate) fn sender_and_number(retraction: MessageRetractionHandle) -> (FederateHandle, u32) {
    let half = |bits: u64| u32::try_from(bits).expect("half of eight bytes");
    let number = retraction.number();
    (FederateHandle::new(half(number >> 32)), half(number & u64::from(u32::MAX)))
}

/// Remembers who gets a message, so that it can be taken back. `first` is the first of its places among the messages of
/// the federation; the last is the newest.
pub(crate) fn remember(
    federation: &mut Federation,
    sender: FederateHandle,
    stamp: Stamp,
    first: u64,
    receivers: Vec<FederateHandle>,
    deletes: Option<ObjectInstanceHandle>,
) {
    let Stamp::Ordering(time, retraction) = stamp else { return };
    let sent = Sent { time, sequence: (first, federation.sequence), receivers, deletes };
    let (_, number) = sender_and_number(retraction);
    let limit = federation.limits.retractable;
    let state = &mut federation.federate_mut(sender).time;
    state.sent.insert(number, sent);
    let oldest = if state.sent.len() > limit { state.sent.pop_first() } else { None };
    if let Some((_, Sent { deletes: Some(instance), .. })) = oldest {
        object::deletion_is_final(federation, instance);
    }
}
