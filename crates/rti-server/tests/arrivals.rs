//! Peers that take up places: nobody else is locked out, and the peer itself only as far as its places are in use.

use hemiola_hla::Reply;
use hemiola_hla::call::FederationCall;
use hemiola_rti_server::Settings;
use hemiola_units::Span;

use crate::federate::{Federate, fom};
use crate::world::{HERE, World, host};

/// Room for 32 connections and 16 sessions, of which one peer may have three quarters.
fn world(seed: u64) -> World {
    World::new(
        seed,
        Settings {
            connections_max: 32,
            peer_connections_max: 24,
            sessions_max: 16,
            peer_sessions_max: 12,
            ..Settings::default()
        },
    )
}

#[test]
fn half_open_connections_of_a_peer_replace_its_own_and_not_those_of_others() {
    let mut world = world(1);
    let slow = world.connect().unwrap();
    for _ in 0..20 {
        for _ in 0..40 {
            assert!(world.connect_from(host(2)).is_some());
        }
        world.turn();
        assert!(world.is_open(slow));
    }
    assert_eq!(world.server.report().arrivals, 25);
    Federate::at(&world, host(2)).joined(&mut world, "Same host");
    Federate::at(&world, HERE).joined(&mut world, "Other host");
}

#[test]
fn half_open_connections_of_many_peers_replace_those_of_the_greediest() {
    let mut world = world(2);
    let slow = world.connect().unwrap();
    for round in 0..60 {
        world.connect_from(host(2 + round % 3)).unwrap();
        world.turn();
        assert!(world.is_open(slow));
    }
    assert_eq!(world.server.report().arrivals, 32);
}

#[test]
fn answered_connections_that_are_not_closed_lock_nobody_out() {
    let mut world = world(3);
    for _ in 0..40 {
        let id = world.connect_locally().unwrap();
        world.send(id, b"status 1\n");
        world.turns(2);
    }
    Federate::join(&mut world, "Any");
}

#[test]
fn idle_sessions_of_a_peer_lock_out_neither_others_nor_itself() {
    let mut world = world(4);
    let mut first = Federate::at(&world, host(2)).joined(&mut world, "First");
    let mut idle: Vec<Federate> =
        (0..40).map(|_| Federate::at(&world, host(2)).connected(&mut world)).collect();
    Federate::at(&world, HERE).joined(&mut world, "Other host");
    Federate::at(&world, host(2)).joined(&mut world, "Same host");
    for _ in 0..20 {
        world.turn();
        idle.iter_mut().for_each(|one| one.step(&mut world));
    }
    assert!(idle[0].end.is_some(), "the oldest session made room");
    assert!(idle[39].end.is_none(), "the newest session is kept");
    first.step(&mut world);
    assert_eq!(first.end, None, "a joined federate makes no room for others");
}

#[test]
fn joined_federates_of_a_peer_leave_places_to_others() {
    let mut world = world(5);
    let mut joined: Vec<Federate> =
        (0..12).map(|_| Federate::at(&world, host(2)).joined(&mut world, "Crowd")).collect();
    let mut refused = Federate::at(&world, host(2));
    refused.until(&mut world, |one| one.end.is_some());
    Federate::at(&world, HERE).joined(&mut world, "Other host");
    for one in &mut joined {
        one.step(&mut world);
        assert_eq!(one.end, None);
    }
}

#[test]
fn federates_that_died_lock_out_neither_newcomers_nor_sessions_that_are_connected() {
    let mut world = world(8);
    let mut idle = Federate::at(&world, host(2)).connected(&mut world);
    let mut alive = Federate::at(&world, host(2)).joined(&mut world, "Mortal");
    for _ in 0..40 {
        Federate::at(&world, host(2)).joined(&mut world, "Mortal").cut(&mut world);
    }
    Federate::at(&world, host(2)).joined(&mut world, "Mortal");
    for one in [&mut idle, &mut alive] {
        one.step(&mut world);
        assert_eq!(one.end, None);
    }
    assert!(create(&mut world, &mut idle, 0), "it is still served");
}

#[test]
fn idle_sessions_do_not_take_the_place_of_a_federate_that_may_return() {
    let mut world = world(9);
    let mut away = Federate::at(&world, host(2)).joined(&mut world, "Any");
    away.cut(&mut world);
    for _ in 0..40 {
        Federate::at(&world, host(2)).connected(&mut world);
    }
    world.turns(5);
    away.until(&mut world, |one| one.connection.is_some());
    assert_eq!(away.call(&mut world, FederationCall::ListFederationExecutions), Ok(Reply::Done));
}

/// Creates a federation without joining it.
fn create(world: &mut World, creator: &mut Federate, number: u32) -> bool {
    let federation_name = format!("F{number}");
    let create = FederationCall::CreateFederationExecution { federation_name, fom_module: fom() };
    creator.call(world, create) == Ok(Reply::Done)
}

#[test]
fn empty_federations_of_a_peer_lock_nobody_out_of_create() {
    let mut world = world(6);
    for number in 0..300 {
        let mut creator = Federate::at(&world, host(2)).connected(&mut world);
        assert!(create(&mut world, &mut creator, number));
        creator.cut(&mut world);
        world.turn();
    }
    let mut holders: Vec<Federate> =
        (0..2).map(|_| Federate::at(&world, host(2)).connected(&mut world)).collect();
    for number in 300..600 {
        let at = number as usize % 2;
        create(&mut world, &mut holders[at], number);
    }
    let mut other = Federate::at(&world, HERE).connected(&mut world);
    assert!(create(&mut world, &mut other, 600));
}

#[test]
fn abandoned_federations_expire_when_told_so() {
    let expiry = Some(Span::from_millis(500));
    let idle_resume_window = Span::from_millis(100);
    let settings =
        Settings { abandoned_federation_expiry: expiry, idle_resume_window, ..Settings::default() };
    let mut world = World::new(7, settings);
    let mut creator = Federate::connect(&mut world);
    assert!(create(&mut world, &mut creator, 0));
    world.turns(1000);
    assert_eq!(world.server.report().federations.len(), 1, "its creator is there");
    creator.cut(&mut world);
    world.turns(550);
    assert_eq!(world.server.report().federations.len(), 1);
    world.turns(100);
    assert_eq!(world.server.report().federations.len(), 0);
}
