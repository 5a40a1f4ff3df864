//! Long queues of messages are in blocks: the largest allocation is the longest copy that their growth makes.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hemiola_hla::Data;
use hemiola_hla::call::{ObjectCall, TimeCall};

use crate::support::{World, time};
use crate::{ALONE, LARGEST, LEFT_MAX, LIVE};

const MESSAGES: usize = 20_000;

/// A queue that is one piece would have more than a megabyte.
const LARGEST_MAX: usize = 64 << 10;

const SENDER: u64 = 1;
const RECEIVER: u64 = 2;

/// A receiver queues messages of one time, or in receive order, and receives them.
fn check(is_ordered: bool) {
    let mut world = World::new();
    world.join(SENDER);
    world.join(RECEIVER);
    world.regulate(SENDER);
    world.constrain(RECEIVER);
    world.subscribe(RECEIVER);
    world.publish(SENDER);
    let object_instance = world.register(SENDER);
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

#[test]
fn a_long_queue_allocates_blocks_and_gives_them_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    check(true);
    check(false);
}
