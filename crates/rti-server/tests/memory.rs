//! The memory account under attack: it never exceeds its limit, a call that would exceed it is refused, nobody else is
//! harmed, and everything is given back.

use hemiola_fedpro as fedpro;
use hemiola_hla::call::{FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::FomModule;
use hemiola_hla::{
    Call, Data, Exception, LogicalInterval, LogicalTime, OrderType, Refusal, Reply, ResignAction,
};
use hemiola_rti_server::report::MemoryReport;
use hemiola_rti_server::{MEMORY_MIN, Settings};
use hemiola_units::{Bytes, Span};

use crate::federate::{Federate, fom, update};
use crate::models::{create, module};
use crate::world::World;

const MIB: usize = 1 << 20;

fn settings() -> Settings {
    let session = fedpro::Settings {
        resume_window: Span::from_millis(300),
        waiting_len_max: 512 * MIB,
        ..fedpro::Settings::default()
    };
    let mut settings = Settings { session, ..Settings::default() };
    settings.set_memory_max(64 * MIB);
    settings
}

fn memory(world: &World) -> MemoryReport {
    world.server.report().memory
}

/// Makes calls until one is refused for lack of memory, at most `count`. Returns how many were carried out.
fn until_refused(
    federate: &mut Federate,
    world: &mut World,
    count: u32,
    call: impl Fn(u32) -> Call,
) -> u32 {
    for number in 0..count {
        if let Err(refusal) = federate.call(world, call(number)) {
            says_what_to_do(&refusal);
            return number;
        }
        let memory = memory(world);
        assert!(memory.used <= memory.limit, "{memory:?}");
    }
    panic!("{count} calls were carried out: {:?}", memory(world));
}

/// The exception names the limit, the figures, and a remedy.
fn says_what_to_do(refusal: &Refusal) {
    assert_eq!(refusal.exception, Exception::RTIinternalError, "{refusal}");
    let details = &refusal.details;
    let limits = ["--session-memory-max", "--federation-memory-max", "--memory-max"];
    assert!(limits.iter().any(|limit| details.contains(limit)), "{details}");
    assert!(details.contains("bytes") && details.contains(':'), "{details}");
}

fn time(value: f64) -> LogicalTime {
    LogicalTime::float(value).unwrap()
}

/// A sender and a receiver of updates in time stamp order, and the update of a number and a length in bytes.
fn in_time(
    world: &mut World,
    federation: &str,
) -> (Federate, Federate, impl Fn(u32, usize) -> Call + use<>) {
    let mut sender = Federate::join(world, federation);
    let (instance, attribute) = sender.register(world);
    let order = TimeCall::ChangeAttributeOrderType {
        object_instance: instance,
        attributes: vec![attribute],
        order_type: Some(OrderType::TimeStamp),
    };
    assert_eq!(sender.call(world, order), Ok(Reply::Done));
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    sender.call(world, TimeCall::EnableTimeRegulation { lookahead }).unwrap();
    let mut receiver = Federate::join(world, federation);
    receiver.subscribe(world);
    receiver.call(world, TimeCall::EnableTimeConstrained).unwrap();
    let far = move |number: u32, len: usize| {
        Call::from(ObjectCall::UpdateAttributeValuesWithTime {
            object_instance: instance,
            attribute_values: vec![(attribute, Data::from(vec![0; len]))],
            user_supplied_tag: Data::new(),
            time: time(1e6 + f64::from(number)).into(),
        })
    };
    (sender, receiver, far)
}

/// A session that ends gives the call away that waited for its object model. While nothing is dropped, only as many
/// large calls are received as fit.
#[test]
fn large_calls_that_another_thread_drops_are_in_memory_until_it_has() {
    let mut world = World::new(3, settings());
    world.links.is_starved = true;
    let mut busy = Federate::connect(&mut world);
    busy.send(&world, create("Busy", module("Large", MIB)));
    while memory(&world).preparations == 0 {
        busy.step(&mut world);
        world.turn();
    }
    for number in 0..20 {
        let mut attacker = Federate::connect(&mut world);
        let session = world.server.report().sessions.iter().map(|one| one.number).max().unwrap();
        attacker.send(&world, create(&format!("F{number}"), module("Large", MIB)));
        for _ in 0..40 {
            attacker.step(&mut world);
            world.turn();
        }
        let operator = world.connect_locally().unwrap();
        world.send(operator, format!("evict 1 {session}\n").as_bytes());
        world.turns(10);
    }
    let leaving = world.links.leaving.len();
    assert!(
        (1..8).contains(&leaving),
        "{leaving} calls of 1 MiB are in memory, and 8 MiB are allowed"
    );
    world.links.is_starved = false;
    let mut next = Federate::connect(&mut world);
    assert_eq!(next.call(&mut world, create("Next", module("Next", MIB))), Ok(Reply::Done));
    assert!(world.links.leaving.len() <= 2, "the others were dropped");
}

#[test]
fn messages_for_the_far_future_are_refused_at_the_quota_of_their_sender() {
    let mut world = World::new(1, settings());
    let mut other = Federate::join(&mut world, "Other");
    let before = memory(&world).used;
    let (mut sender, mut receiver, far) = in_time(&mut world, "Far");
    let sent = until_refused(&mut sender, &mut world, 2000, |number| far(number, 60_000));
    let quota = settings().session_memory_max;
    assert!(sent as usize * 60_000 > quota / 2, "{sent} messages fit");
    assert!(memory(&world).federations < quota + MIB, "{:?}", memory(&world));
    assert_eq!(memory(&world).refused.session, 1);
    // Neither the receiver nor the others are harmed.
    other.register(&mut world);
    receiver.call(&mut world, TimeCall::EnableAsynchronousDelivery).unwrap();
    let resign_action = Some(ResignAction::CancelThenDeleteThenDivest);
    let resign = FederationCall::ResignFederationExecution { resign_action };
    receiver.call(&mut world, resign.clone()).unwrap();
    // Without a receiver nothing is kept any more, except for a retraction.
    assert!(memory(&world).federations < 2 * MIB, "{:?}", memory(&world));
    sender.call(&mut world, resign).unwrap();
    let federation_name = "Far".to_owned();
    sender
        .call(&mut world, FederationCall::DestroyFederationExecution { federation_name })
        .unwrap();
    for federate in [&mut sender, &mut receiver] {
        federate.cut(&mut world);
    }
    world.turns(700);
    assert!(memory(&world).used < before + 64 * 1024, "{:?}", memory(&world));
}

#[test]
fn who_holds_little_still_works_while_a_few_fill_the_memory() {
    let mut world = World::new(9, settings());
    let mut greedy: Vec<_> =
        (0..4).map(|number| in_time(&mut world, &format!("Far {number}"))).collect();
    for (sender, _, far) in &mut greedy {
        for len in [60_000, 100] {
            until_refused(sender, &mut world, 2000, |number| far(number, len));
        }
    }
    assert!(memory(&world).refused.process > 0, "{:?}", memory(&world));
    let mut modest = Vec::new();
    for number in 0..10 {
        let federation = format!("Small {number}");
        let mut receiver = Federate::join(&mut world, &federation);
        receiver.subscribe(&mut world);
        let mut sender = Federate::join(&mut world, &federation);
        let instance = sender.register(&mut world);
        assert_eq!(sender.call(&mut world, update(instance, number, 1000)), Ok(Reply::Done));
        for _ in 0..100 {
            receiver.step(&mut world);
            world.turn();
        }
        assert_eq!(receiver.values, [number], "{:?}", memory(&world));
        modest.push((sender, receiver));
    }
}

#[test]
fn reserved_names_are_refused_at_the_quota_and_given_back_with_their_session() {
    let mut world = World::new(2, settings());
    let mut other = Federate::join(&mut world, "Names");
    let before = memory(&world).used;
    let mut attacker = Federate::join(&mut world, "Names");
    let reserve = |number: u32| {
        let object_instance_names = (0..200).map(|n| format!("{number:0>200}.{n}")).collect();
        Call::from(ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names })
    };
    let refused_at = until_refused(&mut attacker, &mut world, 2000, reserve);
    assert!(refused_at > 100, "{refused_at} calls");
    other.register(&mut world);
    let name = ObjectCall::ReserveObjectInstanceName { object_instance_name: "mine".into() };
    assert_eq!(other.call(&mut world, name), Ok(Reply::Done));
    attacker.cut(&mut world);
    world.turns(700);
    assert!(memory(&world).used < before + 64 * 1024, "{:?}", memory(&world));
}

/// The call that creates a federation with this many classes.
fn create_with_classes(federation_name: String, count: u32) -> Call {
    let classes: String =
        (0..count).map(|n| format!("<objectClass><name>C{n}</name></objectClass>")).collect();
    let content = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name>{classes}</objectClass></objects></objectModel>"#
    );
    let fom_module = FomModule::File { name: "Many.xml".into(), content: content.into() };
    FederationCall::CreateFederationExecution { federation_name, fom_module }.into()
}

#[test]
fn one_session_cannot_fill_the_memory_with_federations() {
    let mut world = World::new(3, settings());
    let mut attacker = Federate::connect(&mut world);
    let create = |number: u32| create_with_classes(format!("F{number}"), 2000);
    let created = until_refused(&mut attacker, &mut world, 256, create);
    assert!(created > 2, "{created} federations");
    let federation_name = "Mine".to_owned();
    let mut other = Federate::connect(&mut world);
    let create = FederationCall::CreateFederationExecution { federation_name, fom_module: fom() };
    assert_eq!(other.call(&mut world, create), Ok(Reply::Done));
    for number in 0..created {
        let federation_name = format!("F{number}");
        let destroy = FederationCall::DestroyFederationExecution { federation_name };
        assert_eq!(other.call(&mut world, destroy), Ok(Reply::Done));
    }
    // They are dropped one by one.
    world.turns(created);
    assert!(memory(&world).federations < MIB, "{:?}", memory(&world));
}

#[test]
fn a_federation_that_is_full_does_not_touch_another_one() {
    let mut world = World::new(4, settings());
    let mut other = Federate::join(&mut world, "Other");
    let mut attackers: Vec<Federate> = (0..4).map(|_| Federate::join(&mut world, "Full")).collect();
    for (which, attacker) in attackers.iter_mut().enumerate() {
        let reserve = |number: u32| {
            let object_instance_names =
                (0..200).map(|n| format!("{which}.{number:0>200}.{n}")).collect();
            Call::from(ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names })
        };
        until_refused(attacker, &mut world, 2000, reserve);
    }
    let memory = memory(&world);
    assert!(memory.refused.federation > 0, "{memory:?}");
    assert!(memory.federations <= memory.federation_limit + MIB, "{memory:?}");
    other.register(&mut world);
    assert_eq!(world.server.report().sessions.len(), 5, "no session was ended");
}

/// Whether this memory limit lets an update of 1 MiB be received, and a federation be created with 2,000 classes.
fn serves(memory_max: usize) -> (bool, bool) {
    let mut settings = settings();
    settings.set_memory_max(memory_max);
    let mut world = World::new(5, settings);
    let mut sender = Federate::join(&mut world, "Small");
    let mut receiver = Federate::join(&mut world, "Small");
    receiver.subscribe(&mut world);
    let instance = sender.register(&mut world);
    sender.call(&mut world, update(instance, 1, MIB)).unwrap();
    for _ in 0..100 {
        receiver.step(&mut world);
        world.turn();
    }
    let created = sender.call(&mut world, create_with_classes("Large".into(), 2000));
    (receiver.values == [1], created == Ok(Reply::Done))
}

#[test]
fn the_least_memory_is_enough_for_an_update_of_1_mib_and_2000_classes() {
    let Bytes(least) = MEMORY_MIN;
    assert_eq!(serves(least as usize), (true, true));
    assert_eq!(serves(least as usize / 2), (false, false), "less would do");
}

/// The most that is on the account while sessions create federations of this many classes each, and how many exist in
/// the end.
fn most_with_large_models(sessions: u32, classes: u32) -> (usize, usize) {
    let mut world = World::new(6, settings());
    let mut creators: Vec<Federate> =
        (0..sessions).map(|_| Federate::connect(&mut world)).collect();
    for (number, creator) in creators.iter_mut().enumerate() {
        creator.send(&world, create_with_classes(format!("F{number}"), classes));
    }
    let mut most = 0;
    while creators.iter().any(|one| one.unanswered() > 0) {
        creators.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
        let memory = memory(&world);
        assert!(memory.used <= memory.limit, "{memory:?}");
        most = most.max(memory.used);
    }
    for creator in &creators {
        assert_eq!(creator.end, None, "no session ends for it");
        creator.replies.values().filter_map(|one| one.as_ref().err()).for_each(says_what_to_do);
    }
    (most, world.server.report().federations.len())
}

#[test]
fn what_reading_a_model_may_take_is_on_the_account_until_it_is_read() {
    let (most, created) = most_with_large_models(1, 20_000);
    assert_eq!(created, 1);
    assert!(most > settings().memory_max / 3, "{most} bytes");
    // 20,000 classes take 11 MB, and 20 MB while they are read.
    let (_, created) = most_with_large_models(12, 20_000);
    assert!((2..4).contains(&created), "{created} federations");
}

/// A federation that was destroyed holds its memory until it is dropped, but only once.
#[test]
fn what_is_left_for_a_model_excludes_a_federation_that_is_being_dropped_once() {
    let mut world = World::new(8, settings());
    let mut federate = Federate::connect(&mut world);
    let first = create_with_classes("First".into(), 30_000);
    assert_eq!(federate.call(&mut world, first), Ok(Reply::Done));
    world.links.drops_nothing = true;
    let destroy =
        FederationCall::DestroyFederationExecution { federation_name: "First".to_owned() };
    assert_eq!(federate.call(&mut world, destroy), Ok(Reply::Done));
    let held = memory(&world).federations;
    assert!((14 * MIB..20 * MIB).contains(&held), "{held} bytes");
    // Reading 20,000 classes takes 20 MB. Half of what is left is more than 22 MiB, and 17 MiB at most if those of the
    // first federation are counted twice.
    let second = create_with_classes("Second".into(), 20_000);
    assert_eq!(federate.call(&mut world, second), Ok(Reply::Done));
}

#[test]
fn two_freed_megabytes_are_given_back_within_a_second_and_once() {
    let mut world = World::new(1, settings());
    let mut publisher = Federate::join(&mut world, "Demo");
    let object = publisher.register(&mut world);
    let mut reader = Federate::join(&mut world, "Demo");
    reader.subscribe(&mut world);
    reader.appetite = 0;
    for number in 0..40 {
        assert_eq!(publisher.call(&mut world, update(object, number, 60_000)), Ok(Reply::Done));
        assert!(!world.server.trim_is_due(), "memory grows");
    }
    world.turns(1000);
    assert!(!world.server.trim_is_due(), "nothing was freed");
    assert!(memory(&world).sessions > 2 * MIB);
    // The shell asks after each turn.
    reader.cut(&mut world);
    let due = (0..2000).filter(|_| {
        world.turn();
        world.server.trim_is_due()
    });
    assert_eq!(due.count(), 1, "its session has ended, and its messages are gone");
    assert!(memory(&world).sessions < MIB);
}
