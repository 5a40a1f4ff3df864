//! Messages: created once, and delivered to each receiver in the order that applies to it.

use std::sync::Arc;

use hemiola_hla::body::LONG_LEN;
use hemiola_hla::data::{AttributeValues, ConveyedRegion, Data, ParameterValues};
use hemiola_hla::{
    AttributeHandle, Callback, FederateHandle, InteractionClassHandle, LogicalTime,
    MessageRetractionHandle, ObjectInstanceHandle, OrderType, TransportationTypeHandle,
};

use crate::backlog::{Content, Parcel, QueuedMessage};
use crate::federate::Federate;
use crate::federation::Federation;
use crate::group::Groups;
use crate::image::{Reader, SharedContent, Stored, Taken, Writer, stored};
use crate::job::{DONE, Step, Task};
use crate::memory::{Charge, ParcelMemory, can_hold};
use crate::mom;
use crate::notice::Notice;
use crate::regions::Extent;
use crate::services::object;
use crate::time::{Sent, TimeState};

/// The content of a message.
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

/// A message with its sending options.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) body: Body,
    pub(crate) tag: Data,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) producer: FederateHandle,
    pub(crate) stamp: Stamp,
    /// The regions with which it is sent.
    pub(crate) extent: Extent,
}

/// The time stamp of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// No time stamp.
    None,
    /// A time stamp that does not order the message.
    Informative(LogicalTime),
    /// A time stamp that orders the message and makes it retractable.
    Ordering(LogicalTime, MessageRetractionHandle),
}

impl Stamp {
    /// Returns the stamp of a message that `sender` sends with this time and order, with a new retraction handle if the
    /// time stamp orders it.
    pub(crate) fn new(
        federation: &mut Federation,
        sender: FederateHandle,
        time: Option<LogicalTime>,
        order: OrderType,
    ) -> Self {
        let Some(time) = time else { return Self::None };
        let state = &mut federation.federate_mut(sender).time;
        if order == OrderType::TimeStamp && state.known_regulation().is_some() {
            Self::Ordering(time, next_retraction(sender, state))
        } else {
            Self::Informative(time)
        }
    }

    /// Returns this stamp for a part that is sent in receive order.
    pub(crate) const fn unordered(self) -> Self {
        match self {
            Self::Ordering(time, _) => Self::Informative(time),
            other => other,
        }
    }

    pub(crate) const fn retraction(self) -> Option<MessageRetractionHandle> {
        match self {
            Self::Ordering(_, retraction) => Some(retraction),
            Self::None | Self::Informative(_) => None,
        }
    }
}

impl Message {
    /// Returns the same message with another body.
    pub(crate) fn with(&self, body: Body) -> Self {
        let Self { tag, transportation, producer, stamp, extent, .. } = self;
        let (tag, transportation, producer) = (tag.clone(), *transportation, *producer);
        Self { body, tag, transportation, producer, stamp: *stamp, extent: extent.clone() }
    }

    /// Returns an update with those attributes only that are selected.
    pub(crate) fn part(&self, is_selected: impl Fn(&AttributeHandle) -> bool) -> Self {
        let Body::Reflect { instance, values } = &self.body else { return self.clone() };
        let values = values.iter().filter(|(one, _)| is_selected(one)).cloned().collect();
        self.with(Body::Reflect { instance: *instance, values })
    }

    /// Returns the same message with values and a tag that share their memory with nothing else. The values of a
    /// message without a time stamp may share it with others that arrived together, which the account does not know;
    /// [long ones](crate::Input::Called) do not.
    pub(crate) fn detached(&self) -> Self {
        fn copy(data: &Data) -> Data {
            if data.len() >= LONG_LEN { data.clone() } else { Data::copy_from_slice(data) }
        }
        fn copies<H: Copy>(values: &[(H, Data)]) -> Vec<(H, Data)> {
            values.iter().map(|(one, value)| (*one, copy(value))).collect()
        }
        let body = match &self.body {
            Body::Reflect { instance, values } => {
                Body::Reflect { instance: *instance, values: copies(values) }
            }
            Body::Interaction { class, values } => {
                Body::Interaction { class: *class, values: copies(values) }
            }
            Body::Directed { class, instance, values } => {
                Body::Directed { class: *class, instance: *instance, values: copies(values) }
            }
            Body::Remove { instance } => Body::Remove { instance: *instance },
        };
        Self { tag: copy(&self.tag), ..self.with(body) }
    }

    /// Reads a message that an image keeps once for all that share it. Returns its number, too.
    pub(crate) fn take_shared(from: &mut Reader) -> Taken<(Arc<Self>, usize)> {
        let message =
            |from: &mut Reader| Self::take(from).map(|one| SharedContent::Message(Arc::new(one)));
        match from.take_shared(message)? {
            (SharedContent::Message(message), number) => Ok((message, number)),
            _ => Err("a message is no message"),
        }
    }

    /// Returns the message as a callback that federates share which receive it in this way.
    fn notice(self, way: Way) -> Arc<Notice> {
        let message = if way.is_held() { self.detached() } else { self };
        Arc::new(Notice::new(message.callback(way.order, way.conveys_regions)))
    }

    /// Returns the callback for a federate that receives the message in this order, with or without the regions.
    fn callback(self, received: OrderType, conveys_regions: bool) -> Callback {
        let sent_regions = conveys_regions.then(|| self.extent.conveyed());
        let (time, sent) = match self.stamp {
            Stamp::None => return self.without_time(sent_regions),
            Stamp::Informative(time) => (time.into(), OrderType::Receive),
            Stamp::Ordering(time, _) => (time.into(), OrderType::TimeStamp),
        };
        let (sent_order_type, received_order_type) = (sent, received);
        let retraction = self.stamp.retraction();
        let Self { body, tag: user_supplied_tag, transportation, producer, .. } = self;
        let (transportation_type, producing_federate) = (transportation, mom::shown(producer));
        match body {
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

    fn without_time(self, sent_regions: Option<Vec<ConveyedRegion>>) -> Callback {
        let Self { body, tag: user_supplied_tag, transportation, producer, .. } = self;
        let (transportation_type, producing_federate) = (transportation, mom::shown(producer));
        match body {
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

    /// Returns the approximate number of bytes it occupies while queued: values, tag and an overhead for each.
    pub(crate) fn len(&self) -> usize {
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
        of_values + self.tag.len() + self.extent.len() + 4 * OVERHEAD
    }

    /// Returns the instance that a receiver must know.
    pub(crate) const fn subject(&self) -> Option<ObjectInstanceHandle> {
        match &self.body {
            Body::Interaction { .. } => None,
            Body::Reflect { instance, .. }
            | Body::Directed { instance, .. }
            | Body::Remove { instance } => Some(*instance),
        }
    }

    /// Returns the instance that its receivers no longer know.
    const fn removed(&self) -> Option<ObjectInstanceHandle> {
        match &self.body {
            Body::Remove { instance } => Some(*instance),
            _ => None,
        }
    }
}

stored!(Message { body, tag, transportation, producer, stamp, extent });
stored!(enum Body {
    0 Reflect { instance, values },
    1 Interaction { class, values },
    2 Directed { class, instance, values },
    3 Remove { instance },
});

impl Stored for Stamp {
    fn put(&self, to: &mut Writer) {
        let (time, retraction) = match *self {
            Self::None => (None, None),
            Self::Informative(time) => (Some(time), None),
            Self::Ordering(time, retraction) => (Some(time), Some(retraction)),
        };
        (time, retraction).put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let stamp: (Option<LogicalTime>, Option<MessageRetractionHandle>) = Stored::take(from)?;
        match stamp {
            (None, None) => Ok(Self::None),
            (Some(time), None) => Ok(Self::Informative(time)),
            (Some(time), Some(retraction)) => Ok(Self::Ordering(time, retraction)),
            (None, Some(_)) => Err("a message without a time can be retracted"),
        }
    }
}

/// How a federate receives a message. Those that receive it in the same way share one notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    order: OrderType,
    is_queued: bool,
    conveys_regions: bool,
}

impl Way {
    /// The way in which the RTI receives messages.
    const RTI: Self = Self { order: OrderType::Receive, is_queued: false, conveys_regions: false };

    /// Returns the way of a message with this stamp to a federate; `None` if the federate is leaving. A
    /// time-constrained receiver gets the message in time stamp order if the stamp orders it; other receivers get it in
    /// receive order.
    fn of(federation: &Federation, receiver: FederateHandle, stamp: Stamp) -> Option<Self> {
        let federate = federation.federate(receiver);
        if !federate.is_staying() {
            return (receiver == mom::RTI).then_some(Self::RTI);
        }
        let conveys_regions = federate.conveys_regions;
        Some(if is_ordered(federate, stamp) {
            Self { order: OrderType::TimeStamp, is_queued: true, conveys_regions }
        } else {
            Self { order: OrderType::Receive, is_queued: must_queue(federate), conveys_regions }
        })
    }

    /// Returns the time that orders the message for the federate, if any.
    fn time(self, stamp: Stamp) -> Option<LogicalTime> {
        match stamp {
            Stamp::Ordering(time, _) if self.order == OrderType::TimeStamp => Some(time),
            _ => None,
        }
    }

    /// Whether the message is queued in receive order.
    fn is_held(self) -> bool {
        self.is_queued && self.order == OrderType::Receive
    }
}

/// Sends a message whose subscriptions have been evaluated.
pub(crate) fn dispatch(
    federation: &mut Federation,
    message: Message,
    receivers: &[FederateHandle],
) {
    federation.sequence += 1;
    let way_of = |one: &FederateHandle| Way::of(federation, *one, message.stamp);
    let Some((first, others)) = receivers.split_first() else { return };
    let way = way_of(first);
    // Almost always, and then the message itself becomes the notice.
    if others.iter().all(|other| way_of(other) == way) {
        return send_alike(federation, message, way, receivers);
    }
    let ways: Groups<_, _> = receivers.iter().map(|one| (way_of(one), *one)).collect();
    for (way, receivers) in ways {
        send_alike(federation, message.clone(), way, &receivers);
    }
}

/// Sends the newest message to federates that receive it in the same way.
fn send_alike(
    federation: &mut Federation,
    message: Message,
    way: Option<Way>,
    receivers: &[FederateHandle],
) {
    let Some(way) = way else { return };
    if way.is_queued {
        let (time, parcel) = (way.time(message.stamp), evaluated_parcel(federation, message, way));
        for receiver in receivers {
            queue(federation, *receiver, time, &parcel);
        }
        return;
    }
    let removed = message.removed();
    // Updates were counted when their receivers were found.
    let is_update = matches!(message.body, Body::Reflect { .. });
    let notice = message.notice(way);
    for receiver in receivers {
        if !is_update {
            count_received(federation, *receiver, &notice);
        }
        hand_over(federation, *receiver, Arc::clone(&notice), removed);
    }
}

/// Returns the newest message for the queues of federates that receive it in this way.
fn evaluated_parcel(federation: &Federation, message: Message, way: Way) -> Arc<Parcel> {
    let (len, retraction) = (message.len(), message.stamp.retraction());
    let (subject, removes) = (message.subject(), message.removed().is_some());
    let memory = memory_of(federation, message.producer, way, len);
    let (content, sequence) = (Content::Evaluated(message.notice(way)), federation.sequence);
    Arc::new(Parcel { content, len, sequence, subject, removes, retraction, memory })
}

/// Returns the memory of a message for queues. A sender chooses a time in the future, and pays; a receiver holds
/// messages back until it advances, and the federation pays.
fn memory_of(
    federation: &Federation,
    producer: FederateHandle,
    way: Way,
    len: usize,
) -> ParcelMemory {
    let payer = match way.order {
        OrderType::TimeStamp => &federation.federate(producer).account,
        OrderType::Receive => &federation.account,
    };
    ParcelMemory::new(payer, len.max(federation.allowance.room.call_len + Parcel::OVERHEAD))
}

/// Sends a message to all other federates, which evaluate their subscriptions at delivery. Returns the federates that
/// received it or still may.
pub(crate) fn dispatch_unevaluated(
    federation: &mut Federation,
    message: Message,
) -> Vec<FederateHandle> {
    federation.sequence += 1;
    let stamp = message.stamp;
    let mut others: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    let producer = message.producer;
    others.retain(|one| *one != producer && federation.federate(*one).is_staying());
    if federation.mom.is_some() && producer != mom::RTI {
        let wanted = object::evaluate(federation, mom::RTI, &message);
        let notice = wanted.map(|message| message.notice(Way::RTI));
        notice.into_iter().for_each(|notice| federation.send_notice(mom::RTI, notice));
    }
    let is_held = stamp == Stamp::None
        && others.iter().any(|receiver| must_queue(federation.federate(*receiver)));
    let message = Arc::new(if is_held { message.detached() } else { message });
    let (mut ordered, mut held) = (None, None);
    others.retain(|receiver| {
        let Some(way) = Way::of(federation, *receiver, stamp) else { return false };
        if !way.is_queued {
            let notice = evaluated(federation, *receiver, &message, way.order);
            return receive(federation, *receiver, notice, (stamp.retraction(), None));
        }
        let parcel = if way.order == OrderType::TimeStamp { &mut ordered } else { &mut held };
        let parcel = parcel.get_or_insert_with(|| unevaluated_parcel(federation, &message, way));
        queue(federation, *receiver, way.time(stamp), parcel)
    });
    others
}

/// Returns the newest message for the queues of federates that receive it in this way and evaluate their subscriptions
/// at delivery.
fn unevaluated_parcel(federation: &Federation, message: &Arc<Message>, way: Way) -> Arc<Parcel> {
    let (len, retraction) = (message.len(), message.stamp.retraction());
    let memory = memory_of(federation, message.producer, way, len);
    let content = Content::Unevaluated(Arc::clone(message), way.order);
    // The subject is checked with the subscriptions at delivery.
    let (sequence, subject, removes) = (federation.sequence, None, false);
    Arc::new(Parcel { content, len, sequence, subject, removes, retraction, memory })
}

/// Whether a federate receives messages with this stamp in time stamp order.
const fn is_ordered(receiver: &Federate, stamp: Stamp) -> bool {
    matches!(stamp, Stamp::Ordering(..)) && receiver.time.constrained
}

/// Whether a federate receives messages with this stamp when they are sent.
pub(crate) fn is_received_now(receiver: &Federate, stamp: Stamp) -> bool {
    receiver.is_staying() && !is_ordered(receiver, stamp) && !must_queue(receiver)
}

/// Counts a message that is no update for its receiver.
fn count_received(federation: &mut Federation, to: FederateHandle, notice: &Notice) {
    federation.federate_mut(to).count(|counts| counts.received(notice.callback()));
}

/// Counts a reflection of a federation that nobody manages: beside the entry of the federate that receives it.
pub(crate) fn count_reflection(
    federation: &mut Federation,
    to: FederateHandle,
    instance: ObjectInstanceHandle,
    kind: TransportationTypeHandle,
) {
    if federation.mom.is_some() {
        return;
    }
    if let Ok((_, known)) = federation.knower(to, instance)
        && !known.traffic.reflections.count(kind)
    {
        let class = known.class;
        federation.federate_mut(to).count(|counts| counts.reflection(instance, class, kind));
    }
}

/// Returns whether messages in receive order are queued for a federate: because it holds them, or because earlier ones
/// are still being delivered.
fn must_queue(receiver: &Federate) -> bool {
    let time = &receiver.time;
    time.holds() || time.backlog.has_held()
}

/// Queues a message until the federate may receive it. Returns `false` if that exceeds the limits.
fn queue(
    federation: &mut Federation,
    receiver: FederateHandle,
    time: Option<LogicalTime>,
    parcel: &Arc<Parcel>,
) -> bool {
    let (len_max, count_max) = (federation.limits.undelivered_len, federation.limits.undelivered);
    if time.is_none() && !can_hold(federation, parcel.len) {
        federation.overflowed.insert(receiver);
        return false;
    }
    let federate = federation.federate_mut(receiver);
    let backlog = &mut federate.time.backlog;
    if backlog.len() + parcel.len > len_max || backlog.count() >= count_max {
        federation.overflowed.insert(receiver);
        return false;
    }
    let parcel = Arc::clone(parcel);
    match time {
        Some(time) => {
            backlog.push_ordered(time, QueuedMessage::ordered(parcel));
            // The federate may be waiting for this message.
            let advance = federate.time.advance();
            if advance.is_some_and(|advance| advance.service.stops_at_messages()) {
                federation.schedule.mark_changed(receiver);
                federation.time_changed = true;
            }
        }
        None => backlog.push_held(QueuedMessage::held(parcel, &federate.account)),
    }
    true
}

/// Returns whether a message is still deliverable: the federate knows its instance and has not rediscovered it since.
pub(crate) fn is_deliverable(federation: &Federation, to: FederateHandle, parcel: &Parcel) -> bool {
    // Almost always: it knew the instance when the message was sent, and has forgotten none since.
    parcel.sequence > federation.federate(to).forgot_at || is_known_since(federation, to, parcel)
}

/// The same, looked up.
pub(crate) fn is_known_since(federation: &Federation, to: FederateHandle, parcel: &Parcel) -> bool {
    let Some(subject) = parcel.subject else { return true };
    let known = federation.instances.get(&subject).and_then(|one| one.known_as(to));
    let since = federation.federate(to).known_since.get(&subject);
    known.is_some() && since.is_none_or(|since| parcel.sequence > *since)
}

/// Drops messages from the front of a federate's queue that are no longer deliverable, so that no advance stops at
/// them.
pub(crate) fn drop_stale(federation: &mut Federation, to: FederateHandle) {
    drop_unwanted(federation, to, None);
}

/// Like [`drop_stale`], and also drops messages up to the time `due` that the federate does not subscribe to.
pub(crate) fn drop_unwanted(
    federation: &mut Federation,
    to: FederateHandle,
    due: Option<LogicalTime>,
) {
    if federation.federate(to).is_staying() && is_head_unwanted(federation, to, due) {
        federation.start(to, Task::DropUnwanted { due });
    }
}

/// Drops the first queued message, unless it is wanted.
pub(crate) fn drop_step(
    federation: &mut Federation,
    to: FederateHandle,
    due: Option<LogicalTime>,
) -> Step {
    if !is_head_unwanted(federation, to, due) {
        return DONE;
    }
    let dropped = federation.time_mut(to).backlog.pop_if(|_| true);
    federation.time_changed = true;
    note_unreached(federation, to, dropped.and_then(|message| message.retraction));
    Step::Continue(())
}

/// Returns whether the first queued message will not be delivered.
fn is_head_unwanted(federation: &Federation, to: FederateHandle, due: Option<LogicalTime>) -> bool {
    let Some((time, head)) = federation.federate(to).time.backlog.first() else { return false };
    match &head.content {
        Content::Evaluated(_) => !is_deliverable(federation, to, head),
        Content::Unevaluated(message, _) => {
            let is_due = due.is_some_and(|due| time <= due);
            is_due && !object::is_wanted(federation, to, message)
        }
    }
}

/// Notes that a message did not reach a federate. A retraction then has nothing to undo there.
fn note_unreached(
    federation: &mut Federation,
    to: FederateHandle,
    retraction: Option<MessageRetractionHandle>,
) {
    let Some((sender, number)) = retraction.map(sender_and_number) else { return };
    if federation.joined_federate(sender).is_some() {
        let sent = &mut federation.federate_mut(sender).time.sent;
        if let Some(sent) = sent.get_mut(&number) {
            // Another part of the message may reach it, or have reached it.
            if let Some(at) = sent.receivers.iter().position(|one| *one == to) {
                sent.receivers.remove(at);
            }
        }
    }
}

/// Delivers a message that the federate may receive now, if it is still deliverable.
pub(crate) fn deliver(federation: &mut Federation, to: FederateHandle, message: &QueuedMessage) {
    let notice = match &message.content {
        Content::Evaluated(notice) if is_deliverable(federation, to, message) => {
            message.encoded();
            Some(Arc::clone(notice))
        }
        Content::Evaluated(_) => None,
        Content::Unevaluated(whole, order) => evaluated(federation, to, whole, *order),
    };
    receive(federation, to, notice, (message.retraction, message.removed()));
}

/// Evaluates the subscriptions of a federate that may receive a message now, in this order.
fn evaluated(
    federation: &mut Federation,
    to: FederateHandle,
    message: &Message,
    order: OrderType,
) -> Option<Arc<Notice>> {
    let wanted = object::evaluate(federation, to, message)?;
    let conveys_regions = federation.federate(to).conveys_regions;
    Some(wanted.notice(Way { order, is_queued: false, conveys_regions }))
}

/// A federate receives a message that may be retractable, or remove an instance for it; `None` if the message is no
/// longer for it. Returns whether it is.
#[inline]
fn receive(
    federation: &mut Federation,
    to: FederateHandle,
    notice: Option<Arc<Notice>>,
    (retraction, removed): (Option<MessageRetractionHandle>, Option<ObjectInstanceHandle>),
) -> bool {
    let Some(notice) = notice else {
        note_unreached(federation, to, retraction);
        return false;
    };
    match notice.reflection() {
        Some((instance, kind)) => count_reflection(federation, to, instance, kind),
        None => count_received(federation, to, &notice),
    }
    hand_over(federation, to, notice, removed);
    true
}

/// Sends a notice; a federate that receives the removal of an instance no longer knows it.
#[inline]
fn hand_over(
    federation: &mut Federation,
    to: FederateHandle,
    notice: Arc<Notice>,
    removed: Option<ObjectInstanceHandle>,
) {
    federation.send_notice(to, notice);
    if let Some(instance) = removed {
        object::forget(federation, to, instance);
    }
}

/// Delivers a message that was queued by time stamp to a federate that is no longer constrained, in receive order.
pub(crate) fn deliver_unordered(
    federation: &mut Federation,
    to: FederateHandle,
    message: &QueuedMessage,
) {
    let notice = match &message.content {
        Content::Evaluated(notice) => is_deliverable(federation, to, message)
            .then(|| Arc::new(Notice::new(in_receive_order(notice.callback().clone())))),
        Content::Unevaluated(whole, _) => evaluated(federation, to, whole, OrderType::Receive),
    };
    receive(federation, to, notice, (message.retraction, message.removed()));
}

/// Returns the callback for a message with a time stamp as a federate receives it that is not constrained.
fn in_receive_order(mut callback: Callback) -> Callback {
    use Callback as C;
    if let C::ReflectAttributeValuesWithTime { received_order_type, .. }
    | C::ReceiveInteractionWithTime { received_order_type, .. }
    | C::ReceiveDirectedInteractionWithTime { received_order_type, .. }
    | C::RemoveObjectInstanceWithTime { received_order_type, .. } = &mut callback
    {
        *received_order_type = OrderType::Receive;
    }
    callback
}

/// Returns a new retraction handle for a message of this federate.
fn next_retraction(sender: FederateHandle, state: &mut TimeState) -> MessageRetractionHandle {
    // The lower half distinguishes the federate's messages; after an overflow it restarts at 1.
    state.sent_count = state.sent_count.checked_add(1).unwrap_or(1);
    MessageRetractionHandle::new(u64::from(sender.number()) << 32 | u64::from(state.sent_count))
}

/// Returns the sender and the number of its message, from the two halves of the handle.
pub(crate) fn sender_and_number(retraction: MessageRetractionHandle) -> (FederateHandle, u32) {
    let half = |bits: u64| u32::try_from(bits).expect("half of eight bytes");
    let number = retraction.number();
    (FederateHandle::new(half(number >> 32)), half(number & u64::from(u32::MAX)))
}

/// Stores the receivers of a message for a retraction. `first` is the sequence number of its first part; the newest
/// message is its last.
pub(crate) fn store_for_retraction(
    federation: &mut Federation,
    sender: FederateHandle,
    stamp: Stamp,
    first: u64,
    receivers: Vec<FederateHandle>,
    deletes: Option<ObjectInstanceHandle>,
) {
    let Stamp::Ordering(time, retraction) = stamp else { return };
    let charge = Charge::new(&federation.federate(sender).account, Sent::len(&receivers));
    let sequence = (first, federation.sequence);
    let sent = Sent { time, sequence, receivers, deletes, charge };
    let (_, number) = sender_and_number(retraction);
    let limit = federation.limits.retractable;
    let state = &mut federation.federate_mut(sender).time;
    state.sent.insert(number, sent);
    let oldest = if state.sent.len() > limit { state.sent.pop_first() } else { None };
    if let Some((_, Sent { deletes: Some(instance), .. })) = oldest {
        object::deletion_is_final(federation, instance);
    }
}
