//! The kernel's account compared with its allocations: for each kind of thing that federates make it keep, the estimate
//! lies between 0.8 and 1.5 times what is allocated, and all of it is given back. Also how often slices of bulk work
//! call the allocator, how large the blocks of long queues are, what saves hold, and what instances keep when federates
//! have left.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, OwnershipCall};
use hemiola_hla::data::Data;
use hemiola_hla::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle, ResignAction};
use hemiola_rti::{Input, Room, SessionId};
use support::World;

#[path = "../benches/support/mod.rs"]
mod support;

#[path = "allocation/instances.rs"]
mod instances;
#[path = "allocation/queues.rs"]
mod queues;
#[path = "allocation/saves.rs"]
mod saves;
#[path = "allocation/slices.rs"]
mod slices;

const FEDERATES: u64 = 40;

/// Bytes that may be left when everything is over: the kernel keeps the memory of a list of effects.
const LEFT_MAX: usize = 128 << 10;

/// The allocator counts the whole process, so each test runs alone.
static ALONE: Mutex<()> = Mutex::new(());

static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Calls of the allocator so far.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The largest allocation since this was set to 0, in bytes.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counters of its calls and of live bytes.
struct Counting;

/// The memory that jemalloc takes for this, the allocator that the command has: its size classes are the multiples of
/// 16 up to 128, and then four for each doubling.
const fn rounded(layout: Layout) -> usize {
    let size = layout.size();
    if size <= 128 {
        size.next_multiple_of(16)
    } else {
        size.next_multiple_of(1 << ((size - 1).ilog2() - 2))
    }
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are atomics, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(rounded(layout), Ordering::Relaxed);
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_sub(rounded(layout), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A class with twenty attributes, and a hundred subclasses.
fn module() -> String {
    let attributes: String = (0..20)
        .map(|number| {
            format!(
                "<attribute><name>a{number}</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>"
            )
        })
        .collect();
    let classes: String =
        (0..100).map(|n| format!("<objectClass><name>C{n}</name></objectClass>")).collect();
    format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Car</name>{attributes}{classes}</objectClass></objectClass></objects></objectModel>"#
    )
}

/// The kernel, and the kinds whose estimate is too far from the truth.
struct Ledger {
    world: World,
    wrong: Vec<String>,
}

impl Deref for Ledger {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Ledger {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Ledger {
    fn attributes(&self, count: usize) -> Vec<AttributeHandle> {
        let name = |number| format!("a{number}");
        (0..count).map(|n| self.model.attribute_named(self.class, &name(n)).unwrap()).collect()
    }

    fn publish(&mut self, session: u64, object_class: ObjectClassHandle) {
        let attributes = self.attributes(20);
        let call = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        self.call(session, call);
    }

    fn subscribe(&mut self, session: u64, object_class: ObjectClassHandle) {
        let attributes = self.attributes(20);
        let call = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
        self.call(session, call);
    }

    /// Sends an update of `len` bytes, as it would arrive from a connection.
    fn update(&mut self, session: u64, car: ObjectInstanceHandle, len: usize, time: Option<i64>) {
        // The values share the memory of the call.
        let call = Data::from(vec![7; len + 40]);
        self.room(Room { call_len: call.len(), ..Room::default() });
        let attribute_values = vec![(self.attributes(1)[0], call.slice(40..))];
        let (object_instance, user_supplied_tag) = (car, Data::new());
        drop(call);
        match time {
            Some(time) => {
                let time = support::time(time);
                let call = ObjectCall::UpdateAttributeValuesWithTime {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    time,
                };
                self.call(session, call);
            }
            None => {
                let call = ObjectCall::UpdateAttributeValues {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                };
                self.call(session, call);
            }
        }
        self.room(Room::default());
    }

    fn room(&mut self, room: Room) {
        self.kernel.handle(Input::Room(room), &mut Vec::new());
    }

    fn lose(&mut self, session: u64) {
        self.kernel.handle(Input::Lost(SessionId(session)), &mut Vec::new());
    }

    fn held(&mut self) -> (usize, usize) {
        self.out = Vec::new();
        (self.kernel.memory_len(), LIVE.load(Ordering::Relaxed))
    }

    /// Compares the account with the allocations of `grow`.
    fn compare(&mut self, what: &str, grow: impl FnOnce(&mut Self)) {
        let (charged, allocated) = self.held();
        grow(self);
        let (charged_then, allocated_then) = self.held();
        let (charged, allocated) = (charged_then - charged, allocated_then - allocated);
        let factor = charged as f64 / allocated as f64;
        if !(0.8..=1.5).contains(&factor) {
            self.wrong.push(format!("{what}: {charged} of {allocated} bytes, {factor:.2}"));
        }
    }
}

#[test]
fn estimates_are_close_to_what_is_allocated_and_everything_is_given_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut world = Ledger { world: World::with_model(&module()), wrong: Vec::new() };
    for session in 1..=FEDERATES {
        world.join(session);
    }
    let class = world.class;
    let (empty, _) = world.held();

    world.compare("long reserved names", |world| {
        for number in 0..2000 {
            let object_instance_name = format!("{number:0>250}");
            world.call(1, ObjectCall::ReserveObjectInstanceName { object_instance_name });
        }
    });
    world.compare("short reserved names", |world| {
        for number in 0..200 {
            let object_instance_names = (0..100).map(|n| format!("{number}.{n}")).collect();
            world.call(1, ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names });
        }
    });
    world.compare("publications", |world| {
        let children = world.model.object_class(class).unwrap().children.clone();
        children.into_iter().for_each(|child| world.publish(2, child));
    });
    world.compare("subscriptions", |world| {
        let children = world.model.object_class(class).unwrap().children.clone();
        children.into_iter().for_each(|child| world.subscribe(2, child));
    });
    world.publish(1, class);
    let mut cars = Vec::new();
    world.compare("instances", |world| cars = (0..2000).map(|_| world.register(1)).collect());
    let list = size_of_val(&cars[..]);
    assert!(list < 20_000, "the list of the instances does not count");
    world.publish(3, class);
    // The first of them also fills buffers that are kept.
    world.subscribe(2, class);
    world.compare("instances that all federates know", |world| {
        for session in 3..=FEDERATES {
            world.subscribe(session, class);
        }
    });
    world.regulate(1);
    for session in 2..=3 {
        world.constrain(session);
    }
    for len in [8, 100, 1000] {
        world.compare(&format!("messages of {len} bytes in time stamp order"), |world| {
            (0..2000).for_each(|number| world.update(1, cars[0], len, Some(1000 + number)));
        });
        world.compare(&format!("messages of {len} bytes and one time stamp"), |world| {
            (0..2000).for_each(|_| world.update(1, cars[0], len, Some(100 + len as i64)));
        });
        world.compare(&format!("messages of {len} bytes that are held back"), |world| {
            (0..2000).for_each(|_| world.update(1, cars[0], len, None));
        });
    }
    world.compare("negotiations", |world| {
        for car in &cars[..200] {
            let (object_instance, attributes) = (*car, world.attributes(10));
            let call = OwnershipCall::AttributeOwnershipAcquisition {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag: Data::from_static(b"a tag of some length"),
            };
            world.call(3, call);
        }
    });
    world.compare("synchronization points", |world| {
        for number in 0..500 {
            let call = FederationCall::RegisterFederationSynchronizationPoint {
                synchronization_point_label: format!("point {number}"),
                user_supplied_tag: Data::from(vec![1; 1000]),
            };
            world.call(1, call);
        }
    });
    world.compare("the instances and tables of the management object model", |world| {
        for class in ["HLAmanager.HLAfederation", "HLAmanager.HLAfederate"] {
            let object_class = world.model.object_class_named(class).unwrap();
            let attributes = world.model.object_class(object_class).unwrap().attributes.clone();
            let call = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
            world.call(2, call);
        }
    });
    world.compare("counts of what federates have sent", |world| {
        cars.iter().for_each(|car| world.update(1, *car, 8, None));
    });
    world.compare("a small model", |world| world.create("Small", &module()));
    let classes: String =
        (0..20_000).map(|n| format!("<objectClass><name>C{n}</name></objectClass>")).collect();
    let text = module().replace(
        "<objectClass><name>Car</name>",
        &format!("{classes}<objectClass><name>Car</name>"),
    );
    world.compare("a model of many classes", |world| world.create("Classes", &text));

    assert!(world.wrong.is_empty(), "{:?}", world.wrong);
    world.kernel.check_invariants();
    let resign = ResignAction::CancelThenDeleteThenDivest;
    for session in 1..=FEDERATES {
        let resign_action = Some(resign);
        world.call(session, FederationCall::ResignFederationExecution { resign_action });
    }
    for session in 1..=FEDERATES {
        // Messages in time stamp order are kept beyond the resignation of their sender, but not of their receivers.
        assert_eq!(world.kernel.memory_len_of(SessionId(session)), 0, "{session}");
        world.lose(session);
    }
    for federation_name in ["Bench", "Small", "Classes"] {
        assert!(world.held().0 > 0);
        assert!(world.kernel.destroy(federation_name));
    }
    // A destroyed federation counts until the shell has dropped it.
    drop(world.kernel.take_retired());
    assert_eq!(world.kernel.memory_len(), 0, "everything was given back, of {empty} bytes");
}
