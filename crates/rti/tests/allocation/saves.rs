//! A save holds what is charged for it, after each slice of its image, and needs no large block.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hemiola_hla::call::{FederationCall, ObjectCall};
use hemiola_hla::data::Data;
use hemiola_rti::{Effect, Input, Kernel, Limits};

use crate::support::{MODEL, World, called, time};
use crate::{ALONE, LARGEST, LIVE};

const PUBLISHER: u64 = 1;
const SUBSCRIBER: u64 = 2;
const MESSAGES: u64 = 4000;
const VALUE: [u8; 1000] = [7; 1000];

/// The units of a slice.
const SLICE: u64 = 500;

/// Bytes that a slice may hold for other things than the image: its effects, and keys of tables.
const BESIDES: usize = 64 << 10;

/// The largest block that a save may allocate: far smaller than the image of 4 MB.
const BLOCK_MAX: usize = 256 << 10;

/// A federation that has been asked to save, with messages that wait for a time-constrained federate. The returned call
/// has the image written.
fn world() -> (World, Input) {
    let limits = Limits { image_len: 1 << 28, ..Limits::default() };
    let mut world = World::with(Kernel::new(limits), MODEL);
    world.join(PUBLISHER);
    world.join(SUBSCRIBER);
    world.publish(PUBLISHER);
    world.subscribe(SUBSCRIBER);
    world.regulate(PUBLISHER);
    world.constrain(SUBSCRIBER);
    let object_instance = world.register(PUBLISHER);
    for number in 0..MESSAGES {
        let update = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values: vec![(world.attribute, Data::from_static(&VALUE))],
            user_supplied_tag: Data::new(),
            time: time(5 + number as i64),
        };
        world.call(PUBLISHER, update);
    }
    world.call(PUBLISHER, FederationCall::RequestFederationSave { label: "save".into() });
    for session in [PUBLISHER, SUBSCRIBER] {
        world.call(session, FederationCall::FederateSaveBegun);
    }
    world.call(PUBLISHER, FederationCall::FederateSaveComplete);
    (world, called(SUBSCRIBER, FederationCall::FederateSaveComplete))
}

#[test]
fn a_save_holds_what_is_charged_for_it_and_needs_no_large_block() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut world, last) = world();
    world.out = Vec::with_capacity(16);
    let (charged, live) = (world.kernel.memory_len(), LIVE.load(Ordering::Relaxed));
    LARGEST.store(0, Ordering::Relaxed);
    world.kernel.handle_within(last, SLICE, &mut world.out);
    let mut most = 0;
    loop {
        let held = LIVE.load(Ordering::Relaxed) - live;
        let charged = world.kernel.memory_len() - charged;
        assert!(held <= charged + BESIDES, "{held} bytes are held, and {charged} charged");
        assert!(charged <= held + BESIDES, "{held} bytes are held, and {charged} charged");
        most = most.max(held);
        if !world.kernel.has_work() {
            break;
        }
        world.kernel.work(SLICE, &mut world.out);
    }
    let Some(Effect::Store(id, _, image)) = world.out.pop() else { panic!("it is stored") };
    let len = image.bytes().len();
    assert!(len > MESSAGES as usize * VALUE.len(), "{len} bytes");
    assert!(most < len + len / 16, "at most {most} bytes are held for an image of {len}");
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= BLOCK_MAX, "{largest} bytes in one block");
    drop(image);
    world.kernel.handle(Input::Stored(id, Ok(())), &mut world.out);
    assert_eq!(world.kernel.memory_len(), charged);
}
