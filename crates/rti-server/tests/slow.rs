//! Slow readers: each costs itself, and nobody who reads.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_fedpro::Ticket;
use hemiola_hla::call::{DeclarationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, InteractionClassHandle, LogicalInterval,
    ObjectInstanceHandle, OrderType, Reply,
};
use hemiola_rti_server::report::SlowReading;
use hemiola_rti_server::{Settings, SlowReaderPolicy};
use hemiola_units::{Random, Span};

use crate::federate::{Federate, update};
use crate::world::World;

fn settings() -> Settings {
    Settings {
        memory_max: 256 << 20,
        congested_len: 256 << 10,
        backlog_len_max: 4 << 20,
        stall_max: Span::from_millis(500),
        hold_max: Span::from_millis(20),
        ..Settings::default()
    }
}

/// Publishes an attribute and registers an instance.
fn register(
    federate: &mut Federate,
    world: &mut World,
    attribute: &str,
) -> (ObjectInstanceHandle, AttributeHandle) {
    let (object_class, attribute) = federate.attribute(world, attribute);
    let attributes = vec![attribute];
    let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
    assert_eq!(federate.call(world, publish), Ok(Reply::Done));
    let register = ObjectCall::RegisterObjectInstance { object_class };
    let Ok(Reply::ObjectInstance(instance)) = federate.call(world, register) else { panic!() };
    (instance, attribute)
}

/// Subscribes to an attribute.
fn subscribe(federate: &mut Federate, world: &mut World, attribute: &str) {
    let (object_class, attribute) = federate.attribute(world, attribute);
    let attributes = vec![attribute];
    let subscribe = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
    assert_eq!(federate.call(world, subscribe), Ok(Reply::Done));
}

#[test]
fn a_slow_viewer_does_not_delay_its_only_publisher() {
    let mut world = World::new(1, settings());
    let mut publisher = Federate::join(&mut world, "Demo");
    let object = register(&mut publisher, &mut world, "Speed");
    let mut viewer = Federate::join(&mut world, "Demo");
    subscribe(&mut viewer, &mut world, "Speed");
    viewer.appetite = 100;
    let mut late = 0;
    for turn in 0..5000 {
        if turn % 5 == 0 {
            late = late.max(publisher.unanswered());
            publisher.send(&world, update(object, turn / 5, 1024)).expect("the session runs");
        }
        publisher.step(&mut world);
        viewer.step(&mut world);
        world.turn();
    }
    assert_eq!(late, 0, "each update is answered before the next");
    assert_eq!(viewer.end, None);
}

#[test]
fn a_reader_of_four_bytes_per_millisecond_reads() {
    let mut world = World::new(2, settings());
    let mut publisher = Federate::join(&mut world, "Demo");
    let object = register(&mut publisher, &mut world, "Speed");
    let mut viewer = Federate::join(&mut world, "Demo");
    subscribe(&mut viewer, &mut world, "Speed");
    world.report_room_late(viewer.connection.unwrap());
    viewer.appetite = 4;
    for number in 0..4000 {
        publisher.send(&world, update(object, number, 256)).expect("the session runs");
        publisher.step(&mut world);
        viewer.step(&mut world);
        world.turn();
    }
    assert!(world.server.report().sessions_ended.is_empty(), "{:?}", world.server.report());
    assert!(viewer.values.iter().copied().eq(0..viewer.values.len() as u32), "nothing is skipped");
}

#[test]
fn best_effort_updates_for_a_slow_reader_are_conflated() {
    let mut world = World::new(3, settings());
    let mut publisher = Federate::join(&mut world, "Demo");
    let object = register(&mut publisher, &mut world, "Position");
    let mut viewer = Federate::join(&mut world, "Demo");
    subscribe(&mut viewer, &mut world, "Position");
    viewer.appetite = 300;
    let mut number = 0;
    for _ in 0..3000 {
        while publisher.unanswered() < 100 {
            publisher.send(&world, update(object, number, 256)).expect("the session runs");
            number += 1;
        }
        publisher.step(&mut world);
        viewer.step(&mut world);
        world.turn();
    }
    assert!(number > 45 * 3000, "the publisher was not held: {number} updates");
    let report = world.server.report();
    let backlog = report.sessions.iter().map(|one| one.backlog_bytes).max().unwrap();
    assert!(backlog < 512 << 10, "{backlog} bytes are queued");
    viewer.appetite = 1 << 20;
    for _ in 0..100 {
        publisher.step(&mut world);
        viewer.step(&mut world);
        world.turn();
    }
    assert!(viewer.values.is_sorted_by(|a, b| a < b), "in order, none twice");
    assert_eq!(viewer.values.last(), Some(&(number - 1)), "the newest value arrives");
}

/// The instance and the attributes of an update in receive order.
fn update_of(callback: &Callback) -> Option<Key> {
    let (instance, values) = match callback {
        Callback::ReflectAttributeValues { object_instance, attribute_values, .. }
        | Callback::ReflectAttributeValuesWithTime {
            object_instance,
            attribute_values,
            sent_order_type: OrderType::Receive,
            ..
        } => (*object_instance, attribute_values),
        _ => return None,
    };
    let mut attributes: Vec<_> = values.iter().map(|(one, _)| *one).collect();
    attributes.sort();
    Some((instance, attributes))
}

/// What the oracle knows about a callback: its key if a newer one with the same key may replace it.
fn key(callback: &Callback, speed: AttributeHandle) -> Option<Key> {
    update_of(callback).filter(|(_, attributes)| !attributes.contains(&speed))
}

type Key = (ObjectInstanceHandle, Vec<AttributeHandle>);

/// A federation with a healthy publisher, floods of every kind of message, a reader that keeps up, and slow ones.
struct Crowd {
    world: World,
    policy: SlowReaderPolicy,
    random: Random,
    healthy: (Federate, (ObjectInstanceHandle, AttributeHandle)),
    publishers: Vec<Publisher>,
    /// The first one keeps up.
    readers: Vec<Federate>,
    horn: InteractionClassHandle,
    speed: AttributeHandle,
    number: u32,
}

struct Publisher {
    federate: Federate,
    class: hemiola_hla::ObjectClassHandle,
    attributes: [AttributeHandle; 3],
    instances: Vec<ObjectInstanceHandle>,
    registering: Option<Ticket>,
    interactions: [InteractionClassHandle; 2],
    /// Whether it sends in time stamp order, and the next time stamp.
    time: Option<i64>,
}

fn interaction(federate: &mut Federate, world: &mut World, name: &str) -> InteractionClassHandle {
    let interaction_class_name = format!("HLAinteractionRoot.{name}");
    let call = SupportCall::GetInteractionClassHandle { interaction_class_name };
    let Ok(Reply::InteractionClass(class)) = federate.call(world, call) else { panic!() };
    class
}

impl Publisher {
    fn join(world: &mut World, regulates: bool) -> Self {
        let mut federate = Federate::join(world, "Demo");
        let mut class = None;
        let attributes = ["Speed", "Position", "Heading"].map(|name| {
            let (of, attribute) = federate.attribute(world, name);
            class = Some(of);
            attribute
        });
        let class = class.unwrap();
        let publish = DeclarationCall::PublishObjectClassAttributes {
            object_class: class,
            attributes: attributes.to_vec(),
        };
        assert_eq!(federate.call(world, publish), Ok(Reply::Done));
        let interactions = ["Horn", "Crash"].map(|name| interaction(&mut federate, world, name));
        for interaction_class in interactions {
            let publish = DeclarationCall::PublishInteractionClass { interaction_class };
            assert_eq!(federate.call(world, publish), Ok(Reply::Done));
        }
        let time = regulates.then(|| {
            let lookahead = LogicalInterval::float(1.0).unwrap().into();
            let enable = TimeCall::EnableTimeRegulation { lookahead };
            assert_eq!(federate.call(world, enable), Ok(Reply::Done));
            federate.until(world, |one| one.is_regulating);
            1
        });
        let (instances, registering) = (Vec::new(), None);
        Self { federate, class, attributes, instances, registering, interactions, time }
    }

    /// Takes part in the flood with one call, numbered in its value or tag.
    fn act(&mut self, world: &World, random: &mut Random, number: u32) {
        if let Some(ticket) = self.registering
            && let Some(reply) = self.federate.replies.remove(&ticket)
        {
            let Ok(Reply::ObjectInstance(instance)) = reply else { panic!("{reply:?}") };
            self.instances.push(instance);
            self.registering = None;
        }
        let mut value = vec![0; 64 + random.below(2000) as usize];
        value[..4].copy_from_slice(&number.to_be_bytes());
        let value = Data::from(value);
        let user_supplied_tag = Data::from(number.to_be_bytes().to_vec());
        let call: Call = match random.below(40) {
            0 if self.registering.is_none() && self.instances.len() < 4 => {
                let register = ObjectCall::RegisterObjectInstance { object_class: self.class };
                self.registering = self.federate.send(world, register);
                return;
            }
            1 if !self.instances.is_empty() => {
                let at = random.below(self.instances.len() as u64) as usize;
                let object_instance = self.instances.remove(at);
                ObjectCall::DeleteObjectInstance { object_instance, user_supplied_tag }.into()
            }
            2..6 => {
                let interaction_class = self.interactions[random.below(2) as usize];
                let parameter_values = vec![];
                let send = ObjectCall::SendInteraction {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                };
                send.into()
            }
            _ if self.instances.is_empty() => return,
            choice => {
                let at = random.below(self.instances.len() as u64) as usize;
                let object_instance = self.instances[at];
                let sets: [&[usize]; 5] = [&[0], &[1], &[2, 1], &[1, 2], &[0, 1, 2]];
                let set = sets[random.below(5) as usize];
                let attribute_values: Vec<_> =
                    set.iter().map(|one| (self.attributes[*one], value.clone())).collect();
                match &mut self.time {
                    Some(time) if choice.is_multiple_of(3) => {
                        *time += 1;
                        let time = hemiola_hla::LogicalTime::float(*time as f64).unwrap().into();
                        ObjectCall::UpdateAttributeValuesWithTime {
                            object_instance,
                            attribute_values,
                            user_supplied_tag,
                            time,
                        }
                    }
                    _ => ObjectCall::UpdateAttributeValues {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                    },
                }
                .into()
            }
        };
        self.federate.send(world, call).expect("the session runs");
    }
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let mut random = Random::from_seed(seed ^ 0x510F);
        let policies = [SlowReaderPolicy::Wait, SlowReaderPolicy::Conflate, SlowReaderPolicy::Drop];
        let policy = policies[random.below(3) as usize];
        let settings = Settings {
            slow_reader: policy,
            behind_len: 1 << (12 + random.below(7)),
            spool_file_max: [0, 2 << 20, 64 << 20][random.below(3) as usize],
            backlog_len_max: 1 << (20 + random.below(4)),
            stall_max: Span::from_millis(50 << random.below(6)),
            ..settings()
        };
        let mut world = World::new(seed, settings);
        world.links.disk_is_full = random.below(8) == 0;
        let mut healthy = Federate::join(&mut world, "Demo");
        let (_, speed) = healthy.attribute(&mut world, "Speed");
        let horn = interaction(&mut healthy, &mut world, "Horn");
        let crash = interaction(&mut healthy, &mut world, "Crash");
        let readers = (0..1 + 1 + random.below(3)).map(|number| {
            let shares_frames = number % 2 == 1;
            let new = if shares_frames { Federate::gathering } else { Federate::new };
            let mut reader = new(&world).joined(&mut world, "Demo");
            for name in ["Speed", "Position", "Heading"] {
                subscribe(&mut reader, &mut world, name);
            }
            for interaction_class in [horn, crash] {
                let subscribe = DeclarationCall::SubscribeInteractionClass { interaction_class };
                assert_eq!(reader.call(&mut world, subscribe), Ok(Reply::Done));
            }
            reader.log = Some(Vec::new());
            reader
        });
        let mut readers: Vec<Federate> = readers.collect();
        let object = register(&mut healthy, &mut world, "Speed");
        let regulates = [random.below(2) == 0, false];
        let publishers = regulates.map(|regulates| Publisher::join(&mut world, regulates)).into();
        readers[0].until(&mut world, |one| one.discovered == 1);
        let healthy = (healthy, object);
        Self { world, policy, random, healthy, publishers, readers, horn, speed, number: 0 }
    }

    fn turn(&mut self, turn: u32) {
        let (federate, object) = &mut self.healthy;
        if turn.is_multiple_of(5) {
            assert!(federate.unanswered() <= 1, "the healthy publisher is held");
            federate.send(&self.world, update(*object, turn, 64)).expect("the session runs");
        }
        federate.step(&mut self.world);
        for publisher in &mut self.publishers {
            for _ in 0..self.random.below(8) {
                if publisher.federate.unanswered() < 50 {
                    self.number += 1;
                    publisher.act(&self.world, &mut self.random, self.number);
                }
            }
            publisher.federate.step(&mut self.world);
        }
        for reader in &mut self.readers[1..] {
            if self.random.below(100) == 0 {
                let appetites = [0, 4, 50, 300, 2000, 20_000];
                reader.appetite = appetites[self.random.below(6) as usize];
            }
            // It comes back at once.
            if self.random.below(300) == 0 {
                reader.cut(&mut self.world);
            }
        }
        self.step_readers();
        self.world.turn();
    }

    fn step_readers(&mut self) {
        for reader in &mut self.readers {
            if reader.end.is_none() {
                reader.step(&mut self.world);
            }
        }
    }

    /// Everybody reads until nothing is left.
    fn drain(&mut self) {
        let mut idle = 0;
        for _ in 0..3000 {
            self.healthy.0.step(&mut self.world);
            self.publishers.iter_mut().for_each(|one| one.federate.step(&mut self.world));
            self.readers.iter_mut().for_each(|reader| reader.appetite = 1 << 20);
            self.step_readers();
            self.world.turn();
            let sessions = self.world.server.report().sessions;
            if sessions.iter().all(|session| session.backlog + session.file_bytes == 0)
                && self.publishers.iter().all(|one| one.federate.unanswered() == 0)
            {
                idle += 1;
            }
            // A connection that was just cut is opened again.
            if idle == 50 {
                return;
            }
        }
        panic!("the queues do not drain: {:?}", self.world.server.report().sessions);
    }

    /// Compares what each slow reader received with what the one that keeps up received.
    fn check(&self) {
        let whole = self.readers[0].log.as_ref().expect("it is kept");
        let sections = self.sections(whole);
        let mut newest = BTreeMap::new();
        for (place, callback) in whole.iter().enumerate() {
            if let Some(key) = key(callback, self.speed) {
                newest.insert(key, place);
            }
        }
        for reader in &self.readers[1..] {
            let mut missed: BTreeSet<usize> = (0..whole.len()).collect();
            let mut latest = BTreeMap::new();
            let mut section = 0;
            for callback in reader.log.as_ref().expect("it is kept") {
                let begin = sections.partition_point(|one| *one < section);
                let mut places = missed.range(begin..).copied();
                let place = places.find(|place| whole[*place] == *callback);
                let place = place.expect("nothing arrives twice, or after what it may not follow");
                missed.remove(&place);
                section = sections[place];
                // The updates of an instance are in order, and so is everything that is not conflated.
                let instance = update_of(callback).map(|(instance, _)| instance);
                let unconflated = key(callback, self.speed).is_none().then_some(None);
                for group in instance.map(Some).into_iter().chain(unconflated) {
                    assert!(latest.insert(group, place) < Some(place), "{}", callback.name());
                }
            }
            // A session that ends loses what is queued for it.
            let end = reader.end.as_ref().map_or(usize::MAX, |_| section);
            for place in missed.into_iter().filter(|place| sections[*place] < end) {
                let name = whole[place].name();
                assert!(self.may_miss(&whole[place], place, &newest), "number {place}, a {name}");
            }
        }
    }

    /// The section of each callback: those that nothing overtakes have one of their own, and those between them share
    /// one.
    fn sections(&self, whole: &[Callback]) -> Vec<usize> {
        let is_passable = |callback: &Callback| {
            let is_interaction = matches!(callback, Callback::ReceiveInteraction { .. });
            self.policy != SlowReaderPolicy::Wait
                && (is_interaction || update_of(callback).is_some())
        };
        let mut section = 0;
        let of = |callback| {
            if is_passable(callback) {
                return section;
            }
            section += 2;
            section - 1
        };
        whole.iter().map(of).collect()
    }

    fn is_horn(&self, callback: &Callback) -> bool {
        matches!(callback, Callback::ReceiveInteraction { interaction_class, .. }
            if *interaction_class == self.horn)
    }

    /// Whether the policy allows that a reader misses such a callback.
    fn is_dispensable(&self, callback: &Callback) -> bool {
        match self.policy {
            SlowReaderPolicy::Wait => false,
            SlowReaderPolicy::Conflate => key(callback, self.speed).is_some(),
            SlowReaderPolicy::Drop => key(callback, self.speed).is_some() || self.is_horn(callback),
        }
    }

    /// Whether a reader may miss this callback: the newest of its key must arrive.
    fn may_miss(&self, callback: &Callback, place: usize, newest: &BTreeMap<Key, usize>) -> bool {
        let is_newest = key(callback, self.speed).is_some_and(|key| newest[&key] == place);
        self.is_dispensable(callback) && !is_newest
    }
}

#[test]
fn slow_readers_of_every_speed_miss_only_what_they_may_and_delay_no_healthy_publisher() {
    let only = std::env::var("HEMIOLA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..SEEDS, |seed: u64| seed..seed + 1);
    let mut total = SlowReading::default();
    let mut ended = 0;
    for seed in seeds {
        let result = std::panic::catch_unwind(|| {
            let mut crowd = Crowd::new(seed);
            (0..500).for_each(|turn| crowd.turn(turn));
            crowd.drain();
            crowd.check();
            assert_eq!(crowd.world.file_len(), 0, "nothing is left in a file");
            crowd.world.server.report()
        });
        let report = result.unwrap_or_else(|panic| {
            eprintln!("seed {seed} failed: HEMIOLA_SEED={seed} cargo test -p hemiola-rti-server --test main -- slow");
            std::panic::resume_unwind(panic);
        });
        let SlowReading { spooled, stored, conflated, dropped, congested, held } =
            report.slow_reading;
        total.spooled += spooled;
        total.stored += stored;
        total.conflated += conflated;
        total.dropped += dropped;
        total.congested += congested;
        total.held += held;
        ended += report.sessions_ended.values().sum::<u64>();
    }
    let SlowReading { spooled, stored, conflated, dropped, congested, held } = total;
    let least = [spooled, stored, conflated, dropped, congested, held, ended].into_iter().min();
    assert!(
        only.is_some() || least > Some(0),
        "something never happened: {total:?}, {ended} ended"
    );
}

/// Worlds in a run of the tests.
const SEEDS: u64 = 60;
