//! Object models: read and merged beside the loop, fairly by session and in order by federation.

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::FomModule;
use hemiola_hla::{Exception, Reply};
use hemiola_rti::SessionId;
use hemiola_rti_server::Settings;

use crate::federate::{Federate, fom};
use crate::world::World;

/// A valid module of at least this length that defines one class.
pub(crate) fn module(name: &str, len: usize) -> FomModule {
    let content = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
        <name>HLAobjectRoot</name><objectClass><name>{name}</name></objectClass></objectClass></objects>
        <!--{}--></objectModel>"#,
        "x".repeat(len)
    );
    FomModule::File { name: format!("{name}.xml"), content: content.into() }
}

pub(crate) fn create(federation: &str, fom_module: FomModule) -> FederationCall {
    FederationCall::CreateFederationExecution { federation_name: federation.into(), fom_module }
}

fn join(federation: &str, module: FomModule) -> FederationCall {
    FederationCall::JoinFederationExecutionWithModules {
        federate_type: "Test".into(),
        federation_name: federation.into(),
        additional_fom_modules: vec![module],
    }
}

#[test]
fn a_small_model_does_not_wait_for_a_crowd_of_large_ones() {
    let mut world = World::new(1, Settings::default());
    let mut crowd: Vec<Federate> = (0..100).map(|_| Federate::connect(&mut world)).collect();
    let mut small = Federate::connect(&mut world);
    for (number, one) in crowd.iter_mut().enumerate() {
        one.send(&world, create(&format!("Large{number}"), module("Large", 600_000)));
    }
    for _ in 0..20 {
        crowd.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
    }
    let before = world.now;
    assert_eq!(small.call(&mut world, create("Small", fom())), Ok(Reply::Done));
    let turns = (world.now - before).nanos() / crate::world::TURN.nanos();
    assert!(turns < 10, "a tiny model took {turns} turns");
}

#[test]
fn joins_that_extend_one_federation_at_the_same_time_are_merged_beside_the_loop() {
    let mut world = World::new(2, Settings::default());
    let mut creator = Federate::connect(&mut world);
    assert_eq!(creator.call(&mut world, create("Shared", fom())), Ok(Reply::Done));
    let mut joiners: Vec<Federate> = (0..6).map(|_| Federate::connect(&mut world)).collect();
    for (number, one) in joiners.iter_mut().enumerate() {
        one.send(&world, join("Shared", module(&format!("C{number}"), 50_000)));
    }
    for _ in 0..200 {
        joiners.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
    }
    for one in &mut joiners {
        assert_eq!(one.unanswered(), 0);
        assert!(one.replies.values().all(|reply| matches!(reply, Ok(Reply::Joined(_)))));
    }
}

#[test]
fn joins_to_one_federation_succeed_in_their_order() {
    let mut world = World::new(3, Settings::default());
    let mut creator = Federate::connect(&mut world);
    assert_eq!(creator.call(&mut world, create("Shared", fom())), Ok(Reply::Done));
    let mut joiners: Vec<Federate> = (0..6).map(|_| Federate::connect(&mut world)).collect();
    for (number, one) in joiners.iter_mut().enumerate() {
        // The later ones are smaller.
        let len = 500_000 - 50_000 * number;
        one.send(&world, join("Shared", module(&format!("C{number}"), len)));
        for _ in 0..10 {
            one.step(&mut world);
            world.turn();
        }
    }
    for _ in 0..2000 {
        joiners.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
    }
    let handles: Vec<_> = joiners
        .iter()
        .map(|one| match one.replies.values().next() {
            Some(Ok(Reply::Joined(joined))) => joined.federate,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(handles.is_sorted(), "{handles:?}");
}

#[test]
fn a_panic_of_the_reader_is_answered_and_the_next_call_succeeds() {
    let mut world = World::new(4, Settings::default());
    let mut federate = Federate::connect(&mut world);
    let session = SessionId(world.server.report().sessions[0].number);
    world.panics.insert(session);
    let refusal = federate.call(&mut world, create("Lost", fom())).unwrap_err();
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("planted"), "{refusal}");
    world.panics.clear();
    assert_eq!(federate.call(&mut world, create("Lost", fom())), Ok(Reply::Done));
}

#[test]
fn a_session_that_ends_while_its_model_is_read_leaves_nothing_behind() {
    let mut world = World::new(5, Settings::default());
    let mut leaving: Vec<Federate> = (0..4).map(|_| Federate::connect(&mut world)).collect();
    for (number, one) in leaving.iter_mut().enumerate() {
        one.send(&world, create(&format!("F{number}"), module("Large", 500_000)));
    }
    for _ in 0..8 {
        leaving.iter_mut().for_each(|one| one.step(&mut world));
        world.turn();
    }
    for session in world.server.report().sessions {
        let id = world.connect_locally().unwrap();
        world.send(id, format!("evict 1 {}\n", session.number).as_bytes());
    }
    world.turns(200);
    let report = world.server.report();
    assert_eq!((report.sessions.len(), report.federations.len()), (0, 0));
    assert!(world.links.discarded >= 4, "their modules were dropped elsewhere");
    let mut next = Federate::connect(&mut world);
    assert_eq!(next.call(&mut world, create("F0", fom())), Ok(Reply::Done));
}

/// Another federation takes the name each time the model of a joining federate has been merged.
#[test]
fn a_federation_that_is_replaced_meanwhile_costs_a_bounded_number_of_attempts() {
    let mut world = World::new(6, Settings::default());
    let mut owner = Federate::connect(&mut world);
    let mut joining = Federate::connect(&mut world);
    let name = || "Unsteady".to_owned();
    assert_eq!(owner.call(&mut world, create("Unsteady", fom())), Ok(Reply::Done));
    joining.send(&world, join("Unsteady", module("Large", 600_000)));
    for _ in 0..20 {
        joining.step(&mut world);
        world.turn();
    }
    let mut replaced = 0;
    while joining.unanswered() > 0 {
        let destroy = FederationCall::DestroyFederationExecution { federation_name: name() };
        let destroyed = owner.call(&mut world, destroy);
        if joining.unanswered() == 0 {
            break;
        }
        assert_eq!(destroyed, Ok(Reply::Done));
        owner.send(&world, create("Unsteady", fom()));
        for _ in 0..100 {
            owner.step(&mut world);
            joining.step(&mut world);
            world.turn();
        }
        replaced += 1;
        assert!(replaced < 10, "the call is answered in the end");
    }
    let reply = joining.replies.values().next().unwrap();
    assert!(reply.is_ok() || replaced >= 3, "{reply:?} after {replaced}");
}

/// Sixty sessions send 2 MB each, and some stop in the middle. Returns the most that was in memory.
fn crowd_of_large_models(incoming_len_max: usize) -> usize {
    let settings = Settings {
        incoming_len_max,
        stall_max: hemiola_units::Span::from_millis(50),
        ..Settings::default()
    };
    let mut world = World::new(7, settings);
    let mut crowd: Vec<Federate> = (0..60).map(|_| Federate::connect(&mut world)).collect();
    for (number, one) in crowd.iter_mut().enumerate() {
        one.send(&world, create(&format!("Large{number}"), module("Large", 2_000_000)));
    }
    let mut most = 0;
    for turn in 0..60_000 {
        for (number, one) in crowd.iter_mut().enumerate() {
            // Each fourth one stops for a while when its first part has arrived.
            if number % 4 != 0 || !(10..=1000).contains(&turn) {
                one.step(&mut world);
            }
        }
        world.turn();
        most = most.max(world.server.incoming_len());
        if crowd.iter().all(|one| one.unanswered() == 0) {
            break;
        }
    }
    for one in &crowd {
        assert_eq!(one.end, None, "no session is ended for it");
        assert_eq!(one.replies.values().next(), Some(&Ok(Reply::Done)));
    }
    assert_eq!(world.server.incoming_len(), 0, "the memory is given back");
    most
}

#[test]
fn large_models_that_arrive_together_are_received_one_after_the_other() {
    let limit = 4 << 20;
    // Beyond the limit: one message, and the first part of each, which ends with the first read beyond 64 KiB.
    let bound = limit + 2_100_000 + 60 * (128 << 10);
    let most = crowd_of_large_models(limit);
    assert!(most <= bound, "{most} bytes");
    assert!(crowd_of_large_models(usize::MAX) > 2 * bound, "without a limit it is far more");
}
