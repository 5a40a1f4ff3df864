//! The time to write the image of a federation and to read it: 10,000 instances with 10 attributes. For each of them,
//! an update with 10 values of 64 bytes waits for a time-constrained federate.
//!
//! `cargo bench -p hemiola-rti --bench saves`

#![expect(clippy::disallowed_types, reason = "a benchmark measures time")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use hemiola_hla::AttributeHandle;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall};
use hemiola_hla::data::Data;
use hemiola_rti::{Effect, Image, Input, Kernel, Limits};
use support::{World, called, time};

mod support;

const INSTANCES: u64 = 10_000;
const ATTRIBUTES: u32 = 10;
const VALUE: [u8; 64] = [7; 64];
const ROUNDS: usize = 10;

/// The budget of a slice, in units of work.
const SLICE: u64 = 500;

const PUBLISHER: u64 = 1;
const SUBSCRIBER: u64 = 2;

fn model() -> String {
    let mut attributes = String::new();
    for number in 0..ATTRIBUTES {
        let _ = write!(
            attributes,
            "<attribute><name>a{number}</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>"
        );
    }
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass><name>HLAobjectRoot</name>\
         <objectClass><name>Car</name>{attributes}</objectClass></objectClass></objects></objectModel>"
    )
}

fn world() -> World {
    let limits = Limits { image_len: 1 << 28, ..Limits::default() };
    let mut world = World::with(Kernel::new(limits), &model());
    world.join(PUBLISHER);
    world.join(SUBSCRIBER);
    let object_class = world.class;
    let named = |number| world.model.attribute_named(object_class, &format!("a{number}"));
    let attributes: Vec<AttributeHandle> = (0..ATTRIBUTES).filter_map(named).collect();
    let all = attributes.clone();
    let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes: all };
    world.call(PUBLISHER, publish);
    let all = attributes.clone();
    let subscribe =
        DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes: all };
    world.call(SUBSCRIBER, subscribe);
    world.regulate(PUBLISHER);
    world.constrain(SUBSCRIBER);
    let values = attributes.iter().map(|one| (*one, Data::from_static(&VALUE))).collect::<Vec<_>>();
    for _ in 0..INSTANCES {
        let object_instance = world.register(PUBLISHER);
        let update = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values: values.clone(),
            user_supplied_tag: Data::new(),
            time: time(5),
        };
        world.call(PUBLISHER, update);
    }
    world
}

/// The times of an input and of each slice of the work that follows.
fn feed(world: &mut World, input: Input) -> Vec<Duration> {
    world.out.clear();
    let begin = Instant::now();
    world.kernel.handle_within(input, SLICE, &mut world.out);
    let mut slices = vec![begin.elapsed()];
    while world.kernel.has_work() {
        let slice = Instant::now();
        world.kernel.work(SLICE, &mut world.out);
        slices.push(slice.elapsed());
    }
    slices
}

/// Saves once. Returns the image too.
fn save(world: &mut World) -> (Vec<Duration>, Image) {
    world.call(PUBLISHER, FederationCall::RequestFederationSave { label: "bench".into() });
    for session in [PUBLISHER, SUBSCRIBER] {
        world.call(session, FederationCall::FederateSaveBegun);
    }
    world.call(PUBLISHER, FederationCall::FederateSaveComplete);
    let spent = feed(world, called(SUBSCRIBER, FederationCall::FederateSaveComplete));
    let stored = world.out.pop();
    let Some(Effect::Store(id, _, image)) = stored else { panic!("{stored:?}") };
    feed(world, Input::Stored(id, Ok(())));
    (spent, image)
}

/// Restores once: the time to read the image, and the time to replace the federation.
fn restore(world: &mut World, image: &Image) -> [Vec<Duration>; 2] {
    world.call(PUBLISHER, FederationCall::RequestFederationRestore { label: "bench".into() });
    let requested = world.out.pop();
    let Some(Effect::Load(id, _)) = requested else { panic!("{requested:?}") };
    let read = feed(world, Input::Loaded(id, Ok(image.clone())));
    world.call(PUBLISHER, FederationCall::FederateRestoreComplete);
    let replaced = feed(world, called(SUBSCRIBER, FederationCall::FederateRestoreComplete));
    drop(world.kernel.take_retired());
    [read, replaced]
}

/// Prints the median of the rounds' totals, and the longest slice. The slices are the same in every round, so each
/// counts with its shortest time: other programs take the processor away in some rounds, and not in all.
fn report(what: &str, rounds: &[Vec<Duration>]) {
    let mut totals: Vec<Duration> = rounds.iter().map(|round| round.iter().sum()).collect();
    totals.sort();
    let count = rounds[0].len();
    assert!(rounds.iter().all(|round| round.len() == count), "the rounds differ");
    let shortest = |slice: usize| rounds.iter().map(|round| round[slice]).min();
    let longest = (0..count).filter_map(shortest).max().unwrap_or_default();
    let median = totals[totals.len() / 2];
    println!("{what}: median {median:?} in {count} slices, of which the longest takes {longest:?}");
}

fn main() {
    let mut world = world();
    let (mut saves, mut reads, mut replacements) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (spent, image) = save(&mut world);
        saves.push(spent);
        let [read, replaced] = restore(&mut world, &image);
        reads.push(read);
        replacements.push(replaced);
        if saves.len() == ROUNDS {
            println!("an image of {} bytes", image.bytes().len());
        }
    }
    report("write", &saves);
    report("read", &reads);
    report("replace", &replacements);
}
