//! The memory of large messages, of lists and of waiting sessions: the server makes room for a message when it arrives,
//! and copies it for nobody; equal answers share their memory; a session without a connection keeps no more than it
//! needs.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

#[allow(dead_code, reason = "other tests use more of it")]
mod federate;
#[allow(dead_code, reason = "other tests use more of it")]
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::{Call, Callback, Data, LogicalInterval, LogicalTime, Reply, ResignAction};
use hemiola_rti_server::Settings;

use federate::{Federate, update};
use world::World;

/// The length of a large message.
const LEN: usize = 4 << 20;
/// Blocks of this length or longer are counted: far larger than the buffers of a turn, and far smaller than a message.
const BLOCK_LEN: usize = 1 << 20;

static BLOCKS: AtomicUsize = AtomicUsize::new(0);
/// The bytes that are allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The counters count the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The system's allocator, with a counter of large blocks and one of all bytes.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counters are atomics, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(usize::from(layout.size() >= BLOCK_LEN), Ordering::Relaxed);
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
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

#[test]
fn a_large_message_is_copied_for_nobody_who_receives_it() {
    let _alone = alone();
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

/// Returns how many bytes are freed when a server ends: all that it holds.
fn held(world: World) -> usize {
    let World { server, .. } = world;
    let before = LIVE.load(Ordering::Relaxed);
    drop(server);
    before - LIVE.load(Ordering::Relaxed)
}

/// Sessions that ask for lists and do not read them.
const ASKING: usize = 30;

#[test]
fn lists_that_wait_for_many_sessions_share_their_memory() {
    let _alone = alone();
    let mut world = World::new(1, Settings::default());
    let mut creator = Federate::connect(&mut world);
    for number in 0..64 {
        let federation_name = format!("{number:0>250}");
        let fom_module = federate::fom();
        let create = FederationCall::CreateFederationExecution { federation_name, fom_module };
        assert_eq!(creator.call(&mut world, create), Ok(Reply::Done));
    }
    let before = world.server.report().memory.used;
    let mut asking: Vec<Federate> = (0..ASKING).map(|_| Federate::connect(&mut world)).collect();
    for one in &mut asking {
        for _ in 0..1000 {
            one.send(&world, FederationCall::ListFederationExecutions);
        }
        one.appetite = 0;
    }
    for _ in 0..2000 {
        asking.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
    }
    let waiting = world.server.report().memory.used - before;
    let held = held(world);
    eprintln!("{waiting} bytes of lists wait, and the server holds {held} bytes in all");
    assert!(waiting > ASKING * (3 << 20), "only {waiting} bytes wait");
    assert!(held < waiting / 8, "{held} bytes are held, while {waiting} wait");
}

/// Sessions that wait for their connections at the same time.
const WAITING: usize = 400;

/// Returns the memory of a server with a federation and this many sessions whose connections are broken: what it holds,
/// and what it has on its account.
fn with_waiting(count: usize, live: fn(&mut World) -> Federate) -> (usize, usize) {
    let mut world = World::new(1, Settings::default());
    let _first = Federate::join(&mut world, "Demo");
    for _ in 0..count {
        live(&mut world).cut(&mut world);
        world.turns(2);
    }
    let report = world.server.report();
    assert_eq!(report.sessions.len(), 1 + count, "they wait");
    (held(world), report.memory.used)
}

fn resigned(world: &mut World) -> Federate {
    let mut federate = Federate::join(world, "Demo");
    let resign_action = Some(ResignAction::NoAction);
    let resign = FederationCall::ResignFederationExecution { resign_action };
    assert_eq!(federate.call(world, resign), Ok(Reply::Done));
    federate
}

#[test]
fn a_session_that_waits_for_its_connection_holds_little() {
    type Live = fn(&mut World) -> Federate;
    let _alone = alone();
    let joined = |world: &mut World| Federate::join(world, "Demo");
    let lives: [(&str, Live, usize); 3] = [
        ("without a federate", Federate::connect, 2000),
        ("whose federate has resigned", resigned, 2100),
        ("with a federate", joined, 3500),
    ];
    for (which, live, held_max) in lives {
        let (before, after) = (with_waiting(1, live), with_waiting(1 + WAITING, live));
        let held = (after.0 - before.0) / WAITING;
        let charged = (after.1 - before.1) / WAITING;
        eprintln!("a session {which} holds {held} bytes, of which {charged} are on the account");
        assert!(held <= held_max, "a session {which} holds {held} bytes");
        let share = charged as f64 / held as f64;
        assert!((0.8..1.5).contains(&share), "{charged} of {held} bytes are on the account");
    }
}
