//! The memory that the kernel keeps for many federates and instances, and the number of allocations per call.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use hemiola_fom::Model;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{Call, LogicalInterval, LogicalTime, ObjectInstanceHandle, Reply};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, Milestone, SessionId};

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

struct World {
    kernel: Kernel,
    out: Vec<Effect>,
}

/// Answers the callbacks after which federates are in another state.
fn answer(kernel: &mut Kernel, effects: &[Effect]) {
    for effect in effects {
        if let Effect::Callback(session, notice) = effect
            && let Some(milestone) = Milestone::of_callback(notice.callback().number())
        {
            kernel.handle(Input::Answered(*session, milestone), &mut Vec::new());
        }
    }
}

impl World {
    fn call(&mut self, session: u64, call: impl Into<Call>) -> Reply {
        self.out.clear();
        let input = Input::Called(SessionId(session), CallId(1), call.into());
        self.kernel.handle(input, &mut self.out);
        answer(&mut self.kernel, &self.out);
        match &self.out[0] {
            Effect::Reply(_, _, Ok(reply)) => reply.clone(),
            other => panic!("{other:?}"),
        }
    }
}

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
    let (modules, _) = hemiola_fom::read("bench.xml", MODEL.as_bytes()).expect("it is sound");
    let (model, _): (Model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
    let class = model.object_class_named("Car").expect("it is there");
    let position = model.attribute_named(class, "Position").expect("it is there");
    let attributes = model.object_class(class).expect("it is there").attributes.clone();
    let before = live();
    let mut world = World { kernel: Kernel::new(Limits::default()), out: Vec::new() };
    let report = |what: &str, before: u64| {
        println!("{:>12} KiB  {what}", (live() - before) / 1024);
        live()
    };
    for session in 0..=FEDERATES {
        world.kernel.handle(Input::Opened(SessionId(session)), &mut world.out);
        world.call(session, FederationCall::Connect);
    }
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name: "Bench".into(),
        fom_module: FomModule::File { name: "bench.xml".into(), content: MODEL.into() },
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    world.call(0, create);
    let mut last = report("a federation with its model", before);
    for session in 1..=FEDERATES {
        let join = FederationCall::JoinFederationExecution {
            federate_type: "bench".into(),
            federation_name: "Bench".into(),
        };
        world.call(session, join);
        let (object_class, attributes) = (class, attributes.clone());
        world.call(
            session,
            DeclarationCall::PublishObjectClassAttributes { object_class, attributes },
        );
    }
    last = report("100 federates that publish", last);
    let mut cars: Vec<ObjectInstanceHandle> = Vec::with_capacity(INSTANCES as usize);
    for number in 0..INSTANCES {
        let call = ObjectCall::RegisterObjectInstance { object_class: class };
        let Reply::ObjectInstance(car) = world.call(1 + number % FEDERATES, call) else {
            panic!("it is an instance")
        };
        cars.push(car);
    }
    last = report("10,000 instances without subscribers", last);
    for session in 1..=FEDERATES {
        let (object_class, attributes) = (class, vec![position]);
        world.call(
            session,
            DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes },
        );
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
    let lookahead = LogicalInterval::integer(1).expect("it is positive").into();
    for session in 1..=FEDERATES {
        world.call(session, TimeCall::EnableTimeRegulation { lookahead });
        world.call(session, TimeCall::EnableTimeConstrained);
    }
    for now in 1..3 {
        let time = LogicalTime::integer(now).expect("it is positive").into();
        let count = allocations(|| {
            for session in 1..=FEDERATES {
                world.call(session, TimeCall::TimeAdvanceRequest { time });
            }
        });
        println!("{count:>12} allocations of a step of 100 federates");
    }
}
