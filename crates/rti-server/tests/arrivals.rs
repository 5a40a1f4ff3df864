//! Peers that take up places: nobody else is locked out, and the peer itself only as far as its places are in use.

use hemiola_rti_server::Settings;

use crate::federate::Federate;
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
