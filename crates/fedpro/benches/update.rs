//! What does the protocol itself add to an attribute update from one federate to many?

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_fedpro::message::{
    decode_call, decode_callback, encode_call, encode_callback, encode_reply, encode_taken,
};
use hemiola_fedpro::session::Side;
use hemiola_fedpro::{Arrival, Client, Event, Server, Session, SessionId, Settings};
use hemiola_hla::call::ObjectCall;
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, FederateHandle, ObjectInstanceHandle, Reply,
    TransportationTypeHandle,
};
use hemiola_units::Instant;

const NOW: Instant = Instant::ZERO;

fn call(value: &Data) -> Call {
    Call::from(ObjectCall::UpdateAttributeValues {
        object_instance: ObjectInstanceHandle::new(7),
        attribute_values: vec![(AttributeHandle::new(3), value.clone())],
        user_supplied_tag: Data::new(),
    })
}

fn callback(call: Call) -> Callback {
    let Call::Object(ObjectCall::UpdateAttributeValues {
        object_instance,
        attribute_values,
        user_supplied_tag,
    }) = call
    else {
        panic!("an update was sent")
    };
    Callback::ReflectAttributeValues {
        object_instance,
        attribute_values,
        user_supplied_tag,
        transportation_type: TransportationTypeHandle::RELIABLE,
        producing_federate: FederateHandle::new(1),
        sent_regions: None,
    }
}

/// A federate and its session in the RTI.
struct Pair {
    federate: Session<Client>,
    rti: Session<Server>,
}

impl Pair {
    fn new() -> Self {
        let settings = Settings::default();
        let mut federate = Session::<Client>::open(NOW, settings);
        federate.connected(NOW);
        let mut wire = Vec::new();
        federate.transmit(NOW, &mut wire, usize::MAX);
        let mut arrival = Arrival::new(NOW, &settings);
        arrival.receive(&wire).expect("a first frame");
        let id = SessionId::new(1).expect("not 0");
        let mut rti = Session::<Server>::accept(NOW, settings, id, arrival);
        pass(&mut rti, &mut federate, &mut wire);
        while federate.poll().is_some() {}
        while rti.poll().is_some() {}
        Self { federate, rti }
    }
}

fn pass<A: Side, B: Side>(from: &mut Session<A>, to: &mut Session<B>, wire: &mut Vec<u8>) {
    wire.clear();
    from.transmit(NOW, wire, usize::MAX);
    to.receive(NOW, wire);
}

/// Carries an update end to end: the call is encoded, sent and decoded; the callback is encoded once, and sent to,
/// decoded by and answered by each subscriber.
fn deliver(publisher: &mut Pair, subscribers: &mut [Pair], value: &Data, wire: &mut Vec<u8>) {
    let update = call(value);
    let number = update.number();
    publisher.federate.request(NOW, encode_call(&update)).expect("it runs");
    pass(&mut publisher.federate, &mut publisher.rti, wire);
    let Some(Event::Request { id, body }) = publisher.rti.poll() else { panic!("a call") };
    let reflect = encode_callback(&callback(decode_call(&body).expect("sound")));
    for Pair { federate, rti } in subscribers {
        rti.request(NOW, reflect.clone()).expect("it runs");
        pass(rti, federate, wire);
        let Some(Event::Request { id, body }) = federate.poll() else { panic!("a callback") };
        black_box(decode_callback(&body).expect("sound"));
        federate.respond(NOW, id, encode_taken(&Ok(())));
        pass(federate, rti, wire);
        black_box(rti.poll());
    }
    publisher.rti.respond(NOW, id, encode_reply(number, &Ok(Reply::Done)));
    pass(&mut publisher.rti, &mut publisher.federate, wire);
    black_box(publisher.federate.poll());
}

fn update(criterion: &mut Criterion) {
    for len in [64, 1024] {
        let value = Data::from(vec![7; len]);
        let mut group = criterion.benchmark_group(format!("update/{len} B"));
        group.throughput(Throughput::Elements(1));
        let bytes = encode_call(&call(&value));
        group.bench_function("encode", |b| b.iter(|| encode_call(black_box(&call(&value)))));
        group.bench_function("decode", |b| b.iter(|| decode_call(black_box(&bytes))));
        for subscribers in [1, 4, 16] {
            let mut publisher = Pair::new();
            let mut pairs: Vec<Pair> = (0..subscribers).map(|_| Pair::new()).collect();
            let mut wire = Vec::new();
            group.bench_function(BenchmarkId::new("end to end", subscribers), |b| {
                b.iter(|| deliver(&mut publisher, &mut pairs, &value, &mut wire));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, update);
criterion_main!(benches);
