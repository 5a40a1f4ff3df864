//! Long queues of messages are in blocks: the largest allocation is the longest copy that their growth makes.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hemiola_hla::call::{ObjectCall, TimeCall};
use hemiola_hla::{Data, ObjectInstanceHandle, Reply};

use crate::support::{World, time};
use crate::{ALONE, LARGEST, LEFT_MAX, LIVE};

const MESSAGES: usize = 20_000;

/// A queue that is one piece would have more than a megabyte.
const LARGEST_MAX: usize = 64 << 10;

/// Messages that fill a block of a queue.
const BLOCK: usize = 256;

/// Bytes for a receiver of a message: its place in the queue, and its handle in the list for a retraction.
const PLACE_MAX: usize = 36;

const SENDER: u64 = 1;
const RECEIVER: u64 = 2;

/// A federation whose receiver queues the updates of this instance.
fn world() -> (World, ObjectInstanceHandle) {
    let mut world = World::new();
    world.join(SENDER);
    world.join(RECEIVER);
    world.regulate(SENDER);
    world.constrain(RECEIVER);
    world.subscribe(RECEIVER);
    world.publish(SENDER);
    let instance = world.register(SENDER);
    (world, instance)
}

/// A receiver queues messages of one time, or in receive order, and receives them.
fn check(is_ordered: bool) {
    let (mut world, object_instance) = world();
    let before = LIVE.load(Ordering::Relaxed);
    LARGEST.store(0, Ordering::Relaxed);
    for _ in 0..MESSAGES {
        let attribute_values = vec![(world.attribute, Data::from_static(&[7; 64]))];
        let user_supplied_tag = Data::new();
        world.call(
            SENDER,
            if is_ordered {
                let time = time(5);
                ObjectCall::UpdateAttributeValuesWithTime {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    time,
                }
            } else {
                ObjectCall::UpdateAttributeValues {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                }
            },
        );
    }
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < LARGEST_MAX, "{largest} bytes at once for a queue, ordered: {is_ordered}");
    let time = time(10);
    world.call(SENDER, TimeCall::TimeAdvanceRequest { time });
    world.call(RECEIVER, TimeCall::TimeAdvanceRequest { time });
    assert_eq!(world.out.len(), 1 + MESSAGES + 1, "the reply, the messages and the grant");
    world.out = Vec::new();
    let left = LIVE.load(Ordering::Relaxed) - before;
    assert!(left < LEFT_MAX, "{left} bytes are left, ordered: {is_ordered}");
}

/// Returns the bytes that a federation of this many receivers allocates for messages of one time.
fn allocated(receivers: u64) -> usize {
    let mut world = World::new();
    world.join(SENDER);
    world.regulate(SENDER);
    world.publish(SENDER);
    let object_instance = world.register(SENDER);
    for receiver in RECEIVER..RECEIVER + receivers {
        world.join(receiver);
        world.constrain(receiver);
        world.subscribe(receiver);
    }
    let before = LIVE.load(Ordering::Relaxed);
    for _ in 0..BLOCK {
        let attribute_values = vec![(world.attribute, Data::from_static(&[7; 64]))];
        let (user_supplied_tag, time) = (Data::new(), time(5));
        world.call(
            SENDER,
            ObjectCall::UpdateAttributeValuesWithTime {
                object_instance,
                attribute_values,
                user_supplied_tag,
                time,
            },
        );
    }
    LIVE.load(Ordering::Relaxed) - before
}

#[test]
fn a_message_that_many_federates_wait_for_takes_few_bytes_for_each() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let each = (allocated(33) - allocated(1)) / 32 / BLOCK;
    assert!(each <= PLACE_MAX, "{each} bytes for each receiver and message");
}

#[test]
fn a_long_queue_allocates_blocks_and_gives_them_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    check(true);
    check(false);
}

#[test]
fn a_queue_gives_back_the_memory_of_retracted_messages() {
    const TIMES: i64 = 100;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut world, object_instance) = world();
    let (charged, live) = (world.kernel.memory_len(), LIVE.load(Ordering::Relaxed));
    for number in 0..TIMES {
        let mut retractions = Vec::new();
        for _ in 0..256 {
            let call = ObjectCall::UpdateAttributeValuesWithTime {
                object_instance,
                attribute_values: vec![(world.attribute, Data::from_static(&[7; 64]))],
                user_supplied_tag: Data::new(),
                time: time(1000 + number),
            };
            let reply = world.call(SENDER, call);
            let Reply::Retraction(Some(retraction)) = reply else { panic!("{reply:?}") };
            retractions.push(retraction);
        }
        for retraction in retractions.split_off(1) {
            world.call(SENDER, TimeCall::Retract { retraction });
        }
    }
    world.out = Vec::new();
    let charged = world.kernel.memory_len() - charged;
    let live = LIVE.load(Ordering::Relaxed) - live;
    assert!(live < charged * 3 / 2, "{live} bytes are held, and {charged} charged");
}
