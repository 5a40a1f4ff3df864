//! No slice of bulk work is long: the allocator's calls in each are counted, since they are most of its time. Nor does
//! an interaction call it more often for many receivers than for few.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hemiola_hla::ResignAction;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::data::Data;
use hemiola_rti::{Input, SessionId};

use crate::support::{World, called, time};
use crate::{ALONE, CALLS};

const INSTANCES: u64 = 4000;
const NAMES: u64 = 4000;
const MESSAGES: u64 = 20_000;

/// The units of a slice.
const SLICE: u64 = 500;

/// A unit is about 100 ns, and a pair of calls takes about as long.
const CALLS_MAX: u64 = 4 * SLICE;

const PUBLISHER: u64 = 1;
const SUBSCRIBER: u64 = 2;

/// A publisher with many instances, and a subscriber that knows them and has reserved many names.
fn world() -> World {
    let mut world = World::new();
    world.join(PUBLISHER);
    world.join(SUBSCRIBER);
    world.call(SUBSCRIBER, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    world.publish(PUBLISHER);
    for _ in 0..INSTANCES {
        world.register(PUBLISHER);
    }
    world.subscribe(SUBSCRIBER);
    for number in 0..NAMES {
        let object_instance_name = format!("a reserved name {number}");
        world.call(SUBSCRIBER, ObjectCall::ReserveObjectInstanceName { object_instance_name });
    }
    world
}

/// Carries out an input in slices. Returns the most calls of the allocator in one.
fn most_calls(mut world: World, input: Input) -> u64 {
    world.out.clear();
    world.out.reserve(100_000);
    let mut most = 0;
    let mut before = CALLS.load(Ordering::Relaxed);
    world.kernel.handle_within(input, SLICE, &mut world.out);
    loop {
        let now = CALLS.load(Ordering::Relaxed);
        most = most.max(now - before);
        // The effects are dropped by the shell.
        world.out.clear();
        if !world.kernel.has_work() {
            return most;
        }
        before = CALLS.load(Ordering::Relaxed);
        world.kernel.work(SLICE, &mut world.out);
    }
}

#[test]
fn no_slice_of_bulk_work_calls_the_allocator_too_often() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let resign = |resign_action| FederationCall::ResignFederationExecution {
        resign_action: Some(resign_action),
    };
    let whole = world();
    let (object_class, attribute) = (whole.class, whole.attribute);
    let inputs = [
        (
            "unsubscribe",
            called(SUBSCRIBER, DeclarationCall::UnsubscribeObjectClass { object_class }),
        ),
        (
            "request",
            called(
                SUBSCRIBER,
                ObjectCall::RequestClassAttributeValueUpdate {
                    object_class,
                    attributes: vec![attribute],
                    user_supplied_tag: Data::new(),
                },
            ),
        ),
        ("unpublish", called(PUBLISHER, DeclarationCall::UnpublishObjectClass { object_class })),
        ("resign and delete", called(PUBLISHER, resign(ResignAction::DeleteObjects))),
        (
            "resign and divest",
            called(PUBLISHER, resign(ResignAction::UnconditionallyDivestAttributes)),
        ),
        ("resign with names", called(SUBSCRIBER, resign(ResignAction::NoAction))),
        ("lost with names", Input::Lost(SessionId(SUBSCRIBER))),
        ("lost with instances", Input::Lost(SessionId(PUBLISHER))),
    ];
    drop(whole);
    let most = inputs.map(|(what, input)| (what, most_calls(world(), input)));
    assert!(most.iter().all(|(_, calls)| *calls <= CALLS_MAX), "{most:?}");
}

/// A federate advances beyond many messages of its own, which wait for another one and which it could retract so far.
#[test]
fn no_slice_forgets_too_many_messages_that_can_no_longer_be_retracted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new();
    world.join(PUBLISHER);
    world.join(SUBSCRIBER);
    world.publish(PUBLISHER);
    world.subscribe(SUBSCRIBER);
    let object_instance = world.register(PUBLISHER);
    world.regulate(PUBLISHER);
    world.constrain(SUBSCRIBER);
    for _ in 0..MESSAGES {
        let update = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values: vec![(world.attribute, Data::from_static(&[7; 8]))],
            user_supplied_tag: Data::new(),
            time: time(1),
        };
        world.call(PUBLISHER, update);
    }
    let advance = TimeCall::TimeAdvanceRequest { time: time(5) };
    let most = most_calls(world, called(PUBLISHER, advance));
    assert!(most >= SLICE / 4, "{most} calls in a slice: too few messages are forgotten");
    assert!(most <= CALLS_MAX, "{most} calls in a slice");
}

#[test]
fn an_interaction_to_many_calls_the_allocator_as_often_as_one_to_few() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = |receivers: u64| {
        let mut world = World::new();
        world.join(PUBLISHER);
        world.publish_interaction(PUBLISHER);
        for receiver in SUBSCRIBER..SUBSCRIBER + receivers {
            world.join(receiver);
            world.subscribe_interaction(receiver);
        }
        // The first one finds the receivers, and the lists of effects get their room.
        world.call(PUBLISHER, world.interaction_call());
        let call = world.interaction_call();
        let before = CALLS.load(Ordering::Relaxed);
        world.call(PUBLISHER, call);
        CALLS.load(Ordering::Relaxed) - before
    };
    assert_eq!(calls(64), calls(2));
}
