//! The cost of the kernel alone: updates to few and many subscribers, interactions, steps of federates that advance
//! together, and subscriptions to many classes.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_hla::ObjectClassHandle;
use hemiola_hla::call::{DeclarationCall, ObjectCall, TimeCall};
use hemiola_hla::data::Data;
use support::{MODEL, World};

mod support;

/// One federate updates 64 bytes; some of the others subscribe.
fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("update");
    group.throughput(Throughput::Elements(1));
    for (subscribers, others) in [(1, 0), (1, 10), (1, 100), (1, 200), (4, 0), (16, 0)] {
        let mut world = World::new();
        for session in 1..=1 + subscribers + others {
            world.join(session);
            if session > 1 && session <= 1 + subscribers {
                world.subscribe(session);
            }
        }
        world.publish(1);
        let car = world.register(1);
        let value = Data::from_static(&[7; 64]);
        let id = BenchmarkId::new(format!("to {subscribers}"), format!("beside {others}"));
        group.bench_function(id, |timer| {
            timer.iter(|| {
                let call = ObjectCall::UpdateAttributeValues {
                    object_instance: car,
                    attribute_values: vec![(world.attribute, value.clone())],
                    user_supplied_tag: Data::new(),
                };
                world.call(1, call);
                black_box(world.out.len())
            });
        });
    }
    group.finish();
}

/// One federate sends an interaction; four others subscribe.
fn interaction(criterion: &mut Criterion) {
    let mut world = World::new();
    for session in 1..=5 {
        world.join(session);
        world.subscribe_interaction(session);
    }
    world.publish_interaction(1);
    let call = world.interaction_call();
    criterion.bench_function("interaction to 4", |timer| {
        timer.iter(|| {
            world.call(1, call.clone());
            black_box(world.out.len())
        });
    });
}

/// Federates that are regulating and constrained each send one update to all others and advance by one.
fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    for federates in [2, 4, 8, 32] {
        let mut world = World::new();
        let mut cars = Vec::new();
        for session in 1..=federates {
            world.join(session);
            world.regulate(session);
            world.constrain(session);
            world.subscribe(session);
            world.publish(session);
            cars.push(world.register(session));
        }
        let value = Data::from_static(&[7; 64]);
        let mut now = 0;
        group.bench_function(BenchmarkId::from_parameter(federates), |timer| {
            timer.iter(|| {
                now += 1;
                let time = support::time(now);
                for (session, car) in (1..).zip(&cars) {
                    let call = ObjectCall::UpdateAttributeValuesWithTime {
                        object_instance: *car,
                        attribute_values: vec![(world.attribute, value.clone())],
                        user_supplied_tag: Data::new(),
                        time,
                    };
                    world.call(session, call);
                }
                for session in 1..=federates {
                    world.call(session, TimeCall::TimeAdvanceRequest { time });
                }
                // The last request causes all grants: each federate receives the updates of the others and its grant.
                assert!(world.out.len() as u64 > federates * (federates - 1));
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
        let mut world = World::new();
        for session in 1..=federates {
            world.join(session);
            world.regulate(session);
            world.constrain(session);
        }
        let mut now = 0;
        group.bench_function(BenchmarkId::new(name, federates), |timer| {
            timer.iter(|| {
                now += 1;
                let time = support::time(now);
                for session in 1..=federates {
                    let call = if next_message {
                        TimeCall::NextMessageRequest { time }
                    } else {
                        TimeCall::TimeAdvanceRequest { time }
                    };
                    world.call(session, call);
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
        let mut world = World::with_model(&content);
        world.join(1);
        world.join(2);
        let first = world.class.number() - CLASSES;
        let privilege = world.model.attribute_named(world.class, "HLAprivilegeToDeleteObject");
        let attributes = vec![privilege.expect("it is there")];
        let classes = (first..first + CLASSES).map(ObjectClassHandle::new);
        for object_class in classes.clone().filter(|_| publishes) {
            let attributes = attributes.clone();
            world.call(
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
                    world.call(1, call);
                }
                for object_class in classes.clone() {
                    world.call(1, DeclarationCall::UnsubscribeObjectClass { object_class });
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, update, interaction, step, advance, subscribe);
criterion_main!(benches);
