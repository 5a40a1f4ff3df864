//! The longest time that one input keeps the kernel: bulk work on 200,000 instances, and the release of 300,000
//! messages, in slices of 500 units of work, as the server does it.
//!
//! `cargo bench -p hemiola-rti --bench slices -- whole` does all work at once.

#![expect(clippy::disallowed_types, reason = "a benchmark measures time")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::time::{Duration, Instant};

use hemiola_hla::ResignAction;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::data::Data;
use hemiola_rti::{Effect, Input, SessionId};
use support::{World, called};

mod support;

const INSTANCES: u64 = 200_000;
const MESSAGES: u64 = 300_000;

/// The budget of a slice, in units of work.
const SLICE: u64 = 500;

/// The session of the federate that publishes.
const PUBLISHER: u64 = 1;
/// The session of the federate that subscribes.
const SUBSCRIBER: u64 = 2;

/// The parts in which an input was carried out.
#[derive(Default)]
struct Parts {
    longest: Duration,
    total: Duration,
    count: u32,
    effects: usize,
}

/// A federate that publishes and one that subscribes later.
fn world() -> World {
    let mut world = World::new();
    world.join(PUBLISHER);
    world.join(SUBSCRIBER);
    world.call(SUBSCRIBER, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    world.call(PUBLISHER, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    world.publish(PUBLISHER);
    world
}

fn with_instances() -> World {
    let mut world = world();
    for _ in 0..INSTANCES {
        world.register(PUBLISHER);
    }
    world
}

fn with_subscriber() -> World {
    let mut world = with_instances();
    world.subscribe(SUBSCRIBER);
    world
}

/// Two federates in time: messages wait for the subscriber, and the publisher can retract as many as the limit allows.
fn with_retractable_messages() -> World {
    let mut world = world();
    world.subscribe(SUBSCRIBER);
    let car = world.register(PUBLISHER);
    world.regulate(PUBLISHER);
    world.constrain(SUBSCRIBER);
    for _ in 0..MESSAGES {
        let call = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance: car,
            attribute_values: vec![(world.attribute, Data::from_static(&[7; 64]))],
            user_supplied_tag: Data::new(),
            time: support::time(1),
        };
        world.call(PUBLISHER, call);
    }
    world
}

/// The same after the publisher has been granted a later time.
fn with_messages() -> World {
    let mut world = with_retractable_messages();
    world.call(PUBLISHER, advance(5));
    world
}

/// Carries out an input, in slices of this budget.
fn measure(world: &mut World, input: Input, budget: u64) -> Parts {
    let mut parts = Parts::default();
    world.out.clear();
    let begun = Instant::now();
    world.kernel.handle_within(input, budget, &mut world.out);
    parts.add(begun, &mut world.out);
    while world.kernel.has_work() {
        let begun = Instant::now();
        world.kernel.work(budget, &mut world.out);
        parts.add(begun, &mut world.out);
    }
    parts
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
    TimeCall::TimeAdvanceRequest { time: support::time(to) }
}

fn resign(resign_action: ResignAction) -> FederationCall {
    FederationCall::ResignFederationExecution { resign_action: Some(resign_action) }
}

fn report(what: &str, mut world: World, input: impl FnOnce(&World) -> Input) {
    let input = input(&world);
    let budget = if std::env::args().any(|word| word == "whole") { u64::MAX } else { SLICE };
    let Parts { longest, total, count, effects } = measure(&mut world, input, budget);
    let (longest, total) = (longest.as_secs_f64() * 1e6, total.as_secs_f64() * 1e3);
    let parts = format!("{total:>7.1} ms in {count:>6} slices, {effects} effects");
    println!("{what:<28} {longest:>9.0} µs longest {parts}");
}

fn main() {
    let class_of = |world: &World| world.class;
    report("subscribe", with_instances(), |world| called(SUBSCRIBER, world.subscription()));
    report("unsubscribe", with_subscriber(), |world| {
        let object_class = class_of(world);
        called(SUBSCRIBER, DeclarationCall::UnsubscribeObjectClass { object_class })
    });
    report("request values of a class", with_subscriber(), |world| {
        let request = ObjectCall::RequestClassAttributeValueUpdate {
            object_class: class_of(world),
            attributes: vec![world.attribute],
            user_supplied_tag: Data::new(),
        };
        called(SUBSCRIBER, request)
    });
    report("unpublish", with_subscriber(), |world| {
        let object_class = class_of(world);
        called(PUBLISHER, DeclarationCall::UnpublishObjectClass { object_class })
    });
    report("turn scope advisories off", with_subscriber(), |_| {
        called(SUBSCRIBER, SupportCall::SetAttributeScopeAdvisorySwitch { value: false })
    });
    report("resign and delete", with_subscriber(), |_| {
        called(PUBLISHER, resign(ResignAction::DeleteObjects))
    });
    report("resign and divest", with_subscriber(), |_| {
        called(PUBLISHER, resign(ResignAction::UnconditionallyDivestAttributes))
    });
    report("subscriber resigns", with_subscriber(), |_| {
        called(SUBSCRIBER, resign(ResignAction::NoAction))
    });
    report("publisher is lost", with_subscriber(), |_| Input::Lost(SessionId(PUBLISHER)));
    report("grant of their sender", with_retractable_messages(), |_| called(PUBLISHER, advance(5)));
    report("grant with messages", with_messages(), |_| called(SUBSCRIBER, advance(4)));
    report("flush with messages", with_messages(), |_| {
        let time = support::time(4);
        called(SUBSCRIBER, TimeCall::FlushQueueRequest { time })
    });
    report("end of time constraint", with_messages(), |_| {
        called(SUBSCRIBER, TimeCall::DisableTimeConstrained)
    });
    report("receiver of messages is lost", with_messages(), |_| Input::Lost(SessionId(SUBSCRIBER)));
    report("sender of messages is lost", with_messages(), |_| Input::Lost(SessionId(PUBLISHER)));
    let mut world = with_instances();
    world.call(PUBLISHER, resign(ResignAction::UnconditionallyDivestAttributes));
    world.call(SUBSCRIBER, resign(ResignAction::NoAction));
    report("destroy", world, |_| {
        called(0, FederationCall::DestroyFederationExecution { federation_name: "Bench".into() })
    });
}
