//! The memory of large messages: the server makes room for one when it arrives, and copies it for nobody.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

#[allow(dead_code, reason = "other tests use more of it")]
mod federate;
#[allow(dead_code, reason = "other tests use more of it")]
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use hemiola_hla::call::{DeclarationCall, ObjectCall, TimeCall};
use hemiola_hla::{Call, Callback, Data, LogicalInterval, LogicalTime, Reply};
use hemiola_rti_server::Settings;

use federate::{Federate, update};
use world::World;

/// The length of a large message.
const LEN: usize = 4 << 20;
/// Blocks of this length or longer are counted: far larger than the buffers of a turn, and far smaller than a message.
const BLOCK_LEN: usize = 1 << 20;

static BLOCKS: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a counter of large blocks.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counter is an atomic, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(usize::from(layout.size() >= BLOCK_LEN), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A federation with a publisher and four readers that fall behind.
struct Scene {
    world: World,
    publisher: Federate,
    readers: [Federate; 4],
    /// Large blocks that the server has made.
    blocks: usize,
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new(1, Settings::default());
        let publisher = Federate::join(&mut world, "Demo");
        let readers = [(); 4].map(|()| Federate::join(&mut world, "Demo"));
        Self { world, publisher, readers, blocks: 0 }
    }

    /// Publishes and subscribes to an attribute, and sends three large updates of it.
    fn send(&mut self, attribute: &str, call: impl Fn(ObjectCall, u32) -> Call) {
        let Self { world, publisher, readers, .. } = self;
        let (object_class, attribute) = publisher.attribute(world, attribute);
        let attributes = vec![attribute];
        let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        assert_eq!(publisher.call(world, publish), Ok(Reply::Done));
        for reader in readers {
            let attributes = vec![attribute];
            let subscribe =
                DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
            assert_eq!(reader.call(world, subscribe), Ok(Reply::Done));
            reader.log = Some(Vec::new());
            reader.appetite = 64 << 10;
        }
        let register = ObjectCall::RegisterObjectInstance { object_class };
        let Ok(Reply::ObjectInstance(instance)) = publisher.call(world, register) else { panic!() };
        for number in 0..3 {
            let update = update((instance, attribute), number, LEN);
            publisher.send(world, call(update, number)).expect("the session runs");
        }
    }

    /// Works until each reader has received three reflections, and returns their values.
    fn receive(&mut self) -> Vec<Vec<Data>> {
        for _ in 0..2000 {
            self.publisher.step(&mut self.world);
            self.readers.iter_mut().for_each(|one| one.step(&mut self.world));
            let before = BLOCKS.load(Ordering::Relaxed);
            self.world.turn();
            self.blocks += BLOCKS.load(Ordering::Relaxed) - before;
        }
        self.readers.iter().map(|one| values(one.log.iter().flatten())).collect()
    }
}

/// The values of reflections.
fn values<'c>(callbacks: impl Iterator<Item = &'c Callback>) -> Vec<Data> {
    let values = callbacks.filter_map(|one| match one {
        Callback::ReflectAttributeValues { attribute_values, .. }
        | Callback::ReflectAttributeValuesWithTime { attribute_values, .. } => {
            Some(attribute_values[0].1.clone())
        }
        _ => None,
    });
    values.collect()
}

fn check(scene: &mut Scene) {
    for values in scene.receive() {
        let numbers: Vec<u8> = values.iter().map(|value| value[3]).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(values.iter().all(|value| value.len() == LEN));
    }
    assert_eq!(scene.blocks, 3, "one block for each message, when it arrives");
}

/// One test, because the counter counts the whole process.
#[test]
fn a_large_message_is_copied_for_nobody_who_receives_it() {
    let mut scene = Scene::new();
    scene.send("Speed", |update, _| update.into());
    check(&mut scene);

    // In time stamp order it is kept until it is released.
    let mut scene = Scene::new();
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    let enable = TimeCall::EnableTimeRegulation { lookahead };
    let Scene { world, publisher, readers, .. } = &mut scene;
    assert_eq!(publisher.call(world, enable), Ok(Reply::Done));
    publisher.until(world, |one| one.is_regulating);
    for reader in readers {
        assert_eq!(reader.call(world, TimeCall::EnableTimeConstrained), Ok(Reply::Done));
        let is_enabled = |one: &Callback| matches!(one, Callback::TimeConstrainedEnabled { .. });
        reader.until(world, |one| one.has_had(is_enabled));
    }
    let time = |number: f64| LogicalTime::float(number).unwrap().into();
    scene.send("Heading", |update, number| {
        let ObjectCall::UpdateAttributeValues {
            object_instance,
            attribute_values,
            user_supplied_tag,
        } = update
        else {
            panic!("it is an update")
        };
        let time = time(f64::from(2 + number));
        let call = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values,
            user_supplied_tag,
            time,
        };
        call.into()
    });
    for reader in &mut scene.readers {
        reader.send(&scene.world, TimeCall::TimeAdvanceRequest { time: time(5.0) }).unwrap();
    }
    let advance = TimeCall::TimeAdvanceRequest { time: time(10.0) };
    scene.publisher.send(&scene.world, advance).unwrap();
    check(&mut scene);
}
