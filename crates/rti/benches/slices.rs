//! The longest time that one input keeps the kernel: bulk work on 200,000 instances, and the release of 300,000
//! messages, in slices of 500 units of work, as the server does it.
//!
//! `cargo bench -p hemiola-rti --bench slices -- whole` does all work at once.

#![expect(clippy::disallowed_types, reason = "a benchmark measures time")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::time::{Duration, Instant};

use hemiola_fom::Model;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, LogicalInterval, LogicalTime, ObjectClassHandle, ObjectInstanceHandle,
    Reply, ResignAction,
};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, Milestone, SessionId};

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<attribute><name>Position</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects></objectModel>"#;

const INSTANCES: u64 = 200_000;
const MESSAGES: u64 = 300_000;

/// The budget of a slice, in units of work.
const SLICE: u64 = 500;

/// The session of the federate that publishes.
const PUBLISHER: u64 = 1;
/// The session of the federate that subscribes.
const SUBSCRIBER: u64 = 2;

struct World {
    kernel: Kernel,
    out: Vec<Effect>,
    class: ObjectClassHandle,
    position: AttributeHandle,
}

/// The parts in which an input was carried out.
#[derive(Default)]
struct Parts {
    longest: Duration,
    total: Duration,
    count: u32,
    effects: usize,
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
    fn new() -> Self {
        let (modules, _) = hemiola_fom::read("bench.xml", MODEL.as_bytes()).expect("it is sound");
        let (model, _): (Model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
        let class = model.object_class_named("Car").expect("it is there");
        let position = model.attribute_named(class, "Position").expect("it is there");
        let kernel = Kernel::new(Limits::default());
        let mut world = Self { kernel, out: Vec::new(), class, position };
        for session in 0..=2 {
            world.kernel.handle(Input::Opened(SessionId(session)), &mut world.out);
            world.call(session, FederationCall::Connect);
        }
        let create = FederationCall::CreateFederationExecutionWithTime {
            federation_name: "Bench".into(),
            fom_module: FomModule::File { name: "bench.xml".into(), content: MODEL.into() },
            logical_time_implementation_name: "HLAinteger64Time".into(),
        };
        world.call(0, create);
        for session in [PUBLISHER, SUBSCRIBER] {
            let join = FederationCall::JoinFederationExecution {
                federate_type: "bench".into(),
                federation_name: "Bench".into(),
            };
            world.call(session, join);
        }
        world.call(SUBSCRIBER, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
        world.call(PUBLISHER, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
        let (object_class, attributes) = (class, vec![position]);
        let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        world.call(PUBLISHER, publish);
        world
    }

    fn call(&mut self, session: u64, call: impl Into<Call>) -> Reply {
        self.out.clear();
        let input = Input::Called(SessionId(session), CallId(1), call.into());
        self.kernel.handle(input, &mut self.out);
        answer(&mut self.kernel, &self.out);
        let reply = self.out.iter().find_map(|effect| match effect {
            Effect::Reply(_, _, answer) => Some(answer.clone()),
            _ => None,
        });
        reply.expect("a call has a reply").expect("it succeeds")
    }

    fn register(&mut self) -> ObjectInstanceHandle {
        let object_class = self.class;
        let reply = self.call(PUBLISHER, ObjectCall::RegisterObjectInstance { object_class });
        let Reply::ObjectInstance(handle) = reply else { panic!("{reply:?}") };
        handle
    }

    fn subscribe(&self) -> DeclarationCall {
        let (object_class, attributes) = (self.class, vec![self.position]);
        DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes }
    }

    fn with_instances() -> Self {
        let mut world = Self::new();
        for _ in 0..INSTANCES {
            world.register();
        }
        world
    }

    fn with_subscriber() -> Self {
        let mut world = Self::with_instances();
        world.call(SUBSCRIBER, world.subscribe());
        world
    }

    /// Two federates in time: messages wait for the subscriber, and the publisher has been granted a later time.
    fn with_messages() -> Self {
        let mut world = Self::new();
        world.call(SUBSCRIBER, world.subscribe());
        let car = world.register();
        let lookahead = LogicalInterval::integer(1).expect("it is positive").into();
        world.call(PUBLISHER, TimeCall::EnableTimeRegulation { lookahead });
        world.call(SUBSCRIBER, TimeCall::EnableTimeConstrained);
        for _ in 0..MESSAGES {
            let call = ObjectCall::UpdateAttributeValuesWithTime {
                object_instance: car,
                attribute_values: vec![(world.position, Data::from_static(&[7; 64]))],
                user_supplied_tag: Data::new(),
                time: LogicalTime::integer(1).expect("it is positive").into(),
            };
            world.call(PUBLISHER, call);
        }
        world.call(PUBLISHER, advance(5));
        world
    }

    /// Carries out an input, in slices of this budget.
    fn measure(&mut self, input: Input, budget: u64) -> Parts {
        let mut parts = Parts::default();
        self.out.clear();
        let begun = Instant::now();
        self.kernel.handle_within(input, budget, &mut self.out);
        parts.add(begun, &mut self.out);
        while self.kernel.has_work() {
            let begun = Instant::now();
            self.kernel.work(budget, &mut self.out);
            parts.add(begun, &mut self.out);
        }
        parts
    }
}

impl Parts {
    fn add(&mut self, begun: Instant, out: &mut Vec<Effect>) {
        let time = begun.elapsed();
        self.longest = self.longest.max(time);
        self.total += time;
        self.count += 1;
        self.effects += out.len();
        out.clear();
    }
}

fn advance(to: i64) -> TimeCall {
    TimeCall::TimeAdvanceRequest { time: LogicalTime::integer(to).expect("it is positive").into() }
}

fn called(session: u64, call: impl Into<Call>) -> Input {
    Input::Called(SessionId(session), CallId(1), call.into())
}

fn resign(resign_action: ResignAction) -> FederationCall {
    FederationCall::ResignFederationExecution { resign_action: Some(resign_action) }
}

fn report(what: &str, mut world: World, input: impl FnOnce(&World) -> Input) {
    let input = input(&world);
    let budget = if std::env::args().any(|word| word == "whole") { u64::MAX } else { SLICE };
    let Parts { longest, total, count, effects } = world.measure(input, budget);
    let (longest, total) = (longest.as_secs_f64() * 1e6, total.as_secs_f64() * 1e3);
    let parts = format!("{total:>7.1} ms in {count:>6} slices, {effects} effects");
    println!("{what:<28} {longest:>9.0} µs longest {parts}");
}

fn main() {
    let class_of = |world: &World| world.class;
    report("subscribe", World::with_instances(), |world| called(SUBSCRIBER, world.subscribe()));
    report("unsubscribe", World::with_subscriber(), |world| {
        let object_class = class_of(world);
        called(SUBSCRIBER, DeclarationCall::UnsubscribeObjectClass { object_class })
    });
    report("request values of a class", World::with_subscriber(), |world| {
        let request = ObjectCall::RequestClassAttributeValueUpdate {
            object_class: class_of(world),
            attributes: vec![world.position],
            user_supplied_tag: Data::new(),
        };
        called(SUBSCRIBER, request)
    });
    report("unpublish", World::with_subscriber(), |world| {
        let object_class = class_of(world);
        called(PUBLISHER, DeclarationCall::UnpublishObjectClass { object_class })
    });
    report("turn scope advisories off", World::with_subscriber(), |_| {
        called(SUBSCRIBER, SupportCall::SetAttributeScopeAdvisorySwitch { value: false })
    });
    report("resign and delete", World::with_subscriber(), |_| {
        called(PUBLISHER, resign(ResignAction::DeleteObjects))
    });
    report("resign and divest", World::with_subscriber(), |_| {
        called(PUBLISHER, resign(ResignAction::UnconditionallyDivestAttributes))
    });
    report("subscriber resigns", World::with_subscriber(), |_| {
        called(SUBSCRIBER, resign(ResignAction::NoAction))
    });
    report("publisher is lost", World::with_subscriber(), |_| Input::Lost(SessionId(PUBLISHER)));
    report("grant with messages", World::with_messages(), |_| called(SUBSCRIBER, advance(4)));
    report("flush with messages", World::with_messages(), |_| {
        let time = LogicalTime::integer(4).expect("it is positive").into();
        called(SUBSCRIBER, TimeCall::FlushQueueRequest { time })
    });
    report("end of time constraint", World::with_messages(), |_| {
        called(SUBSCRIBER, TimeCall::DisableTimeConstrained)
    });
    report("receiver of messages is lost", World::with_messages(), |_| {
        Input::Lost(SessionId(SUBSCRIBER))
    });
    report("sender of messages is lost", World::with_messages(), |_| {
        Input::Lost(SessionId(PUBLISHER))
    });
    let mut world = World::with_instances();
    world.call(PUBLISHER, resign(ResignAction::UnconditionallyDivestAttributes));
    world.call(SUBSCRIBER, resign(ResignAction::NoAction));
    report("destroy", world, |_| {
        called(0, FederationCall::DestroyFederationExecution { federation_name: "Bench".into() })
    });
}
