//! What does the kernel itself cost: an update to few and to many, beside federates that want none of it; one step of
//! federates that advance together?

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_fom::Model;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, LogicalInterval, LogicalTime, ObjectClassHandle, ObjectInstanceHandle,
    Reply,
};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, SessionId};

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<attribute><name>Position</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects></objectModel>"#;

struct Bench {
    kernel: Kernel,
    out: Vec<Effect>,
    class: ObjectClassHandle,
    position: AttributeHandle,
}

impl Bench {
    fn new() -> Self {
        let (modules, _) = hemiola_fom::read("bench.xml", MODEL.as_bytes()).expect("it is sound");
        let (model, _): (Model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
        let class = model.object_class_named("Car").expect("it is there");
        let position = model.attribute_named(class, "Position").expect("it is there");
        let mut bench =
            Self { kernel: Kernel::new(Limits::default()), out: Vec::new(), class, position };
        bench.kernel.handle(Input::Opened(SessionId(0)), &mut bench.out);
        bench.call(0, FederationCall::Connect);
        bench.call(
            0,
            FederationCall::CreateFederationExecutionWithTime {
                federation_name: "Bench".into(),
                fom_module: FomModule::File { name: "bench.xml".into(), content: MODEL.into() },
                logical_time_implementation_name: "HLAinteger64Time".into(),
            },
        );
        bench
    }

    fn call(&mut self, session: u64, call: impl Into<Call>) -> Reply {
        self.out.clear();
        let input = Input::Called(SessionId(session), CallId(1), call.into());
        self.kernel.handle(input, &mut self.out);
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

/// Every federate is regulating and constrained, sends one update to all others, and advances by one.
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
                // The last request is what all are granted by: one grant and the others' updates each.
                assert!(bench.out.len() as u64 > federates * (federates - 1));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, update, step);
criterion_main!(benches);
