//! The cost of the kernel alone: updates to few and many subscribers, steps of federates that advance together, and
//! subscriptions to many classes.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_fom::Model;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, LogicalInterval, LogicalTime, ObjectClassHandle, ObjectInstanceHandle,
    Reply,
};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, Milestone, SessionId};

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<attribute><name>Position</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects></objectModel>"#;

struct Bench {
    kernel: Kernel,
    out: Vec<Effect>,
    class: ObjectClassHandle,
    position: AttributeHandle,
    privilege: AttributeHandle,
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

impl Bench {
    fn new() -> Self {
        Self::with_model(MODEL)
    }

    fn with_model(content: &str) -> Self {
        let (modules, _) = hemiola_fom::read("bench.xml", content.as_bytes()).expect("it is sound");
        let (model, _): (Model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
        let class = model.object_class_named("Car").expect("it is there");
        let position = model.attribute_named(class, "Position").expect("it is there");
        let privilege = model.attribute_named(class, "HLAprivilegeToDeleteObject");
        let privilege = privilege.expect("it is there");
        let kernel = Kernel::new(Limits::default());
        let mut bench = Self { kernel, out: Vec::new(), class, position, privilege };
        bench.kernel.handle(Input::Opened(SessionId(0)), &mut bench.out);
        bench.call(0, FederationCall::Connect);
        bench.call(
            0,
            FederationCall::CreateFederationExecutionWithTime {
                federation_name: "Bench".into(),
                fom_module: FomModule::File {
                    name: "bench.xml".into(),
                    content: content.to_owned().into(),
                },
                logical_time_implementation_name: "HLAinteger64Time".into(),
            },
        );
        bench
    }

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

    fn join(&mut self, session: u64) {
        self.kernel.handle(Input::Opened(SessionId(session)), &mut self.out);
        self.call(session, FederationCall::Connect);
        let call = FederationCall::JoinFederationExecution {
            federate_type: "bench".into(),
            federation_name: "Bench".into(),
        };
        self.call(session, call);
    }

    fn subscribe(&mut self, session: u64) {
        let (object_class, attributes) = (self.class, vec![self.position]);
        self.call(
            session,
            DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes },
        );
    }

    fn register(&mut self, session: u64) -> ObjectInstanceHandle {
        let (object_class, attributes) = (self.class, vec![self.position]);
        self.call(
            session,
            DeclarationCall::PublishObjectClassAttributes { object_class, attributes },
        );
        match self.call(session, ObjectCall::RegisterObjectInstance { object_class }) {
            Reply::ObjectInstance(instance) => instance,
            other => panic!("{other:?}"),
        }
    }

    fn in_time(&mut self, session: u64) {
        let lookahead = LogicalInterval::integer(1).expect("it is positive").into();
        self.call(session, TimeCall::EnableTimeRegulation { lookahead });
        self.call(session, TimeCall::EnableTimeConstrained);
    }
}

/// One federate updates 64 bytes; some of the others subscribe.
fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("update");
    group.throughput(Throughput::Elements(1));
    for (subscribers, others) in [(1, 0), (1, 10), (1, 100), (1, 200), (4, 0), (16, 0)] {
        let mut bench = Bench::new();
        for session in 1..=1 + subscribers + others {
            bench.join(session);
            if session > 1 && session <= 1 + subscribers {
                bench.subscribe(session);
            }
        }
        let car = bench.register(1);
        let value = Data::from_static(&[7; 64]);
        let id = BenchmarkId::new(format!("to {subscribers}"), format!("beside {others}"));
        group.bench_function(id, |timer| {
            timer.iter(|| {
                let call = ObjectCall::UpdateAttributeValues {
                    object_instance: car,
                    attribute_values: vec![(bench.position, value.clone())],
                    user_supplied_tag: Data::new(),
                };
                bench.call(1, call);
                black_box(bench.out.len())
            });
        });
    }
    group.finish();
}

/// Federates that are regulating and constrained each send one update to all others and advance by one.
fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    for federates in [2, 4, 8, 32] {
        let mut bench = Bench::new();
        let mut cars = Vec::new();
        for session in 1..=federates {
            bench.join(session);
            bench.in_time(session);
            bench.subscribe(session);
            cars.push(bench.register(session));
        }
        let value = Data::from_static(&[7; 64]);
        let mut now = 0;
        group.bench_function(BenchmarkId::from_parameter(federates), |timer| {
            timer.iter(|| {
                now += 1;
                let time = LogicalTime::integer(now).expect("it is positive").into();
                for (session, car) in (1..).zip(&cars) {
                    let call = ObjectCall::UpdateAttributeValuesWithTime {
                        object_instance: *car,
                        attribute_values: vec![(bench.position, value.clone())],
                        user_supplied_tag: Data::new(),
                        time,
                    };
                    bench.call(session, call);
                }
                for session in 1..=federates {
                    bench.call(session, TimeCall::TimeAdvanceRequest { time });
                }
                // The last request causes all grants: each federate receives the updates of the others and its grant.
                assert!(bench.out.len() as u64 > federates * (federates - 1));
            });
        });
    }
    group.finish();
}

/// Many regulating and constrained federates advance by one and send nothing.
fn advance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("advance");
    for (name, federates, next_message) in
        [("request", 100, false), ("request", 1000, false), ("next message", 1000, true)]
    {
        let mut bench = Bench::new();
        for session in 1..=federates {
            bench.join(session);
            bench.in_time(session);
        }
        let mut now = 0;
        group.bench_function(BenchmarkId::new(name, federates), |timer| {
            timer.iter(|| {
                now += 1;
                let time = LogicalTime::integer(now).expect("it is positive").into();
                for session in 1..=federates {
                    let call = if next_message {
                        TimeCall::NextMessageRequest { time }
                    } else {
                        TimeCall::TimeAdvanceRequest { time }
                    };
                    bench.call(session, call);
                }
            });
        });
    }
    group.finish();
}

/// A federate subscribes to 10,000 classes, alone and beside one that publishes them all.
fn subscribe(criterion: &mut Criterion) {
    const CLASSES: u32 = 10_000;
    let mut group = criterion.benchmark_group("subscribe");
    group.sample_size(10);
    let classes: String = (0..CLASSES)
        .map(|number| format!("<objectClass><name>C{number}</name></objectClass>"))
        .collect();
    let content = MODEL.replace(
        "<objectClass><name>Car</name>",
        &format!("{classes}<objectClass><name>Car</name>"),
    );
    for publishes in [false, true] {
        let mut bench = Bench::with_model(&content);
        bench.join(1);
        bench.join(2);
        let first = bench.class.number() - CLASSES;
        let attributes = vec![bench.privilege];
        let classes = (first..first + CLASSES).map(ObjectClassHandle::new);
        for object_class in classes.clone().filter(|_| publishes) {
            let attributes = attributes.clone();
            bench.call(
                2,
                DeclarationCall::PublishObjectClassAttributes { object_class, attributes },
            );
        }
        let name = if publishes { "beside a publisher" } else { "alone" };
        group.bench_function(name, |timer| {
            timer.iter(|| {
                for object_class in classes.clone() {
                    let attributes = attributes.clone();
                    let call = DeclarationCall::SubscribeObjectClassAttributes {
                        object_class,
                        attributes,
                    };
                    bench.call(1, call);
                }
                for object_class in classes.clone() {
                    bench.call(1, DeclarationCall::UnsubscribeObjectClass { object_class });
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, update, step, advance, subscribe);
criterion_main!(benches);
