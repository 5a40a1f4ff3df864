//! Single calls that concern very many instances or messages, and very large updates.

use std::time::{Duration, Instant};

use hemiola_federate::hla::{
    Callback, LogicalInterval, LogicalTime, ObjectInstanceHandle, ResignAction,
};
use hemiola_federate::{Bytes, Error, Options};
use hemiola_hla::call::ObjectCall;
use hemiola_units::Span;

use super::super::federation::{Member, waiting};
use super::{Outcome, Target, text};

const FEDERATION: &str = "Many";

/// An error of a federate, or too few callbacks.
type Failure = Box<dyn std::error::Error>;

/// How long a receiver waits for the next callback.
const CALLBACK_MAX: Span = Span::from_millis(5000);

/// Registers 200,000 instances.
fn owner(to: &Target) -> Result<(Member, usize), Error> {
    let mut owner = Member::join(&to.rti, FEDERATION, "Body", Options::default())?;
    owner.federate.publish_object_class_attributes(owner.class, &[owner.value])?;
    let count = to.count(200_000);
    for _ in 0..count {
        owner.federate.post(ObjectCall::RegisterObjectInstance { object_class: owner.class })?;
    }
    owner.federate.query_galt()?;
    Ok((owner, count))
}

/// Evokes callbacks until this many of one kind have arrived; returns how many.
fn receive(
    member: &mut Member,
    count: usize,
    is_one: fn(&Callback) -> bool,
) -> Result<usize, Failure> {
    let mut received = 0;
    while received < count {
        let Some(callback) = member.federate.evoke(CALLBACK_MAX)? else {
            return Err(format!("of {count} callbacks, {received} arrive").into());
        };
        received += usize::from(is_one(&callback));
    }
    Ok(received)
}

fn discovers(callback: &Callback) -> bool {
    matches!(callback, Callback::DiscoverObjectInstance { .. })
}

fn subscriber(to: &Target) -> Result<Member, Error> {
    let options = Options { callbacks_max: Bytes(1 << 30), ..Options::default() };
    Member::join(&to.rti, FEDERATION, "Body", options)
}

/// A federate subscribes to a class with 200,000 instances.
pub(super) fn subscribe(to: &Target) -> Outcome {
    let attack = || -> Result<usize, Failure> {
        let (_owner, count) = owner(to)?;
        let mut subscriber = subscriber(to)?;
        subscriber.subscribe()?;
        receive(&mut subscriber, count, discovers)
    };
    attack().map(|count| format!("{count} discovered")).map_err(text)
}

/// A federate requests the values of a class with 200,000 instances.
pub(super) fn request(to: &Target) -> Outcome {
    let attack = || -> Result<usize, Failure> {
        let (mut owner, count) = owner(to)?;
        let mut other = subscriber(to)?;
        let (class, values) = (other.class, [other.value]);
        // Federates get requests for instances that they know.
        other.subscribe()?;
        receive(&mut other, count, discovers)?;
        other.federate.request_class_attribute_value_update(class, &values, "")?;
        other.federate.confirm()?;
        let provides = |one: &Callback| matches!(one, Callback::ProvideAttributeValueUpdate { .. });
        receive(&mut owner, count, provides)
    };
    attack().map(|count| format!("{count} requested")).map_err(text)
}

/// The owner of 200,000 instances resigns and deletes them, and a subscriber is told of each.
pub(super) fn resign(to: &Target) -> Outcome {
    let attack = || -> Result<usize, Failure> {
        let (mut owner, count) = owner(to)?;
        let mut subscriber = subscriber(to)?;
        subscriber.subscribe()?;
        receive(&mut subscriber, count, discovers)?;
        owner.federate.resign_federation_execution(ResignAction::DeleteObjects)?;
        receive(&mut subscriber, count, removes)
    };
    attack().map(|count| format!("{count} removed")).map_err(text)
}

fn removes(callback: &Callback) -> bool {
    matches!(callback, Callback::RemoveObjectInstance { .. })
}

/// The owner of 200,000 instances ends its session without resigning, and its directive deletes them.
pub(super) fn lost_owner(to: &Target) -> Outcome {
    let attack = || -> Result<usize, Failure> {
        let (mut owner, count) = owner(to)?;
        owner.federate.set_automatic_resign_directive(ResignAction::DeleteObjects)?;
        owner.federate.confirm()?;
        let mut subscriber = subscriber(to)?;
        subscriber.subscribe()?;
        receive(&mut subscriber, count, discovers)?;
        drop(owner);
        receive(&mut subscriber, count, removes)
    };
    attack().map(|count| format!("{count} removed")).map_err(text)
}

/// One grant releases 300,000 messages.
pub(super) fn release(to: &Target) -> Outcome {
    let count = to.count(300_000);
    let attack = || -> Result<usize, Failure> {
        let options = Options { callbacks_max: Bytes(1 << 30), ..Options::default() };
        let mut receiver = Member::join(&to.rti, FEDERATION, "Stamped", options)?;
        receiver.subscribe()?;
        receiver.federate.enable_time_constrained_and_wait()?;
        let mut sender = Member::join(&to.rti, FEDERATION, "Stamped", Options::default())?;
        let object = sender.register()?;
        sender.federate.enable_time_regulation_and_wait(LogicalInterval::integer(1)?)?;
        let values = [(sender.value, vec![7; 8].into())];
        for _ in 0..count {
            let time = LogicalTime::integer(10)?;
            sender.federate.update_attribute_values_with_time(object, &values, "", time)?;
        }
        sender.federate.advance(LogicalTime::integer(100)?, |_, _| Ok(()))?;
        let mut received = 0;
        receiver.federate.advance(LogicalTime::integer(50)?, |_, callback| {
            received +=
                usize::from(matches!(callback, Callback::ReflectAttributeValuesWithTime { .. }));
            Ok(())
        })?;
        if received < count {
            return Err(format!("of {count} messages, {received} are released").into());
        }
        Ok(received)
    };
    attack().map(|received| format!("{received} released")).map_err(text)
}

/// Bytes of a large update.
const UPDATE_LEN: usize = 15_000_000;

/// A publisher sends updates of 15 MB to four subscribers.
pub(super) fn large_updates(to: &Target) -> Outcome {
    let rounds = if to.count(20) > 1 { 10 } else { 2 };
    let readers = (0..4).map(|_| reader(to, rounds)).collect::<Result<Vec<_>, Error>>();
    let readers = readers.map_err(text)?;
    let mut publisher = Member::join(&to.rti, FEDERATION, "Loud", waiting()).map_err(text)?;
    let object: ObjectInstanceHandle = publisher.register().map_err(text)?;
    let values = [(publisher.value, vec![7; UPDATE_LEN].into())];
    let began = Instant::now();
    for _ in 0..rounds {
        publisher.federate.update_attribute_values(object, &values, "").map_err(text)?;
    }
    let mut received = 0;
    for reader in readers {
        received += reader.join().map_err(|_| "a reader panics")??;
    }
    let rate = received as f64 * 15.0 / began.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    Ok(format!("{received} received, {rate:.0} MB/s"))
}

/// The thread of a subscriber, which returns how many updates it has received.
type Reader = std::thread::JoinHandle<Result<usize, String>>;

/// Starts a subscriber that receives this many updates.
fn reader(to: &Target, rounds: usize) -> Result<Reader, Error> {
    let options = Options { callbacks_max: Bytes(1 << 30), ..Options::default() };
    let mut member = Member::join(&to.rti, FEDERATION, "Loud", options)?;
    member.subscribe()?;
    Ok(std::thread::spawn(move || {
        let reflects = |one: &Callback| matches!(one, Callback::ReflectAttributeValues { .. });
        receive(&mut member, rounds, reflects).map_err(text)
    }))
}
