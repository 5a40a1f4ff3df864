//! The memory that the kernel keeps for many federates and instances, and the number of allocations per call.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use hemiola_hla::call::{DeclarationCall, ObjectCall, TimeCall};
use hemiola_hla::data::Data;
use hemiola_hla::{Call, ObjectInstanceHandle};
use support::World;

mod support;

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<attribute><name>Position</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
<attribute><name>Speed</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects></objectModel>"#;

static LIVE: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with counters of live bytes and of allocations.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counters are atomics, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Counts the allocations of `run`.
fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn main() {
    const FEDERATES: u64 = 100;
    const INSTANCES: u64 = 10_000;
    let before = live();
    let mut world = World::with_model(MODEL);
    let (class, position) = (world.class, world.attribute);
    let attributes = world.model.object_class(class).expect("it is there").attributes.clone();
    let report = |what: &str, before: u64| {
        println!("{:>12} KiB  {what}", (live() - before) / 1024);
        live()
    };
    let mut last = report("a federation with its model", before);
    for session in 1..=FEDERATES {
        world.join(session);
        let (object_class, attributes) = (class, attributes.clone());
        world.call(
            session,
            DeclarationCall::PublishObjectClassAttributes { object_class, attributes },
        );
    }
    last = report("100 federates that publish", last);
    let mut cars: Vec<ObjectInstanceHandle> = Vec::with_capacity(INSTANCES as usize);
    for number in 0..INSTANCES {
        cars.push(world.register(1 + number % FEDERATES));
    }
    last = report("10,000 instances without subscribers", last);
    for session in 1..=FEDERATES {
        world.subscribe(session);
    }
    world.out = Vec::new();
    report("... and that all 100 know", last);
    let all = report("in all", before);
    // 30 MiB for the whole process leave this for the kernel.
    assert!(all - before < 20 << 20, "too much");

    let value = Data::from_static(&[7; 64]);
    let update = || ObjectCall::UpdateAttributeValues {
        object_instance: cars[0],
        attribute_values: vec![(position, value.clone())],
        user_supplied_tag: Data::new(),
    };
    world.call(1, update());
    let call = Call::from(update());
    let count = allocations(|| drop(world.call(1, call)));
    println!("{count:>12} allocations of an update to 99 federates");
    for session in 1..=FEDERATES {
        world.regulate(session);
        world.constrain(session);
    }
    for now in 1..3 {
        let time = support::time(now);
        let count = allocations(|| {
            for session in 1..=FEDERATES {
                world.call(session, TimeCall::TimeAdvanceRequest { time });
            }
        });
        println!("{count:>12} allocations of a step of 100 federates");
    }
}
