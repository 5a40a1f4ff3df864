//! Connections that wait at listeners, in floods and while the system lacks descriptors.

use hemiola_rti_server::{ListenerId, Settings};
use hemiola_units::{Random, Span};

use crate::attacks::{Pair, run, settings};
use crate::world::{World, host};

/// Seeds in one run of the test.
const SEEDS: u64 = 100;

/// The listener that is flooded, and another one.
const FLOODED: ListenerId = ListenerId(0);
const OTHER: ListenerId = ListenerId(1);

/// Connections that are accepted in one turn at most, and closed if none is accepted.
const PER_TURN: usize = 32;

#[test]
fn floods_of_connections_delay_neither_federates_nor_newcomers_at_another_listener() {
    for seed in 0..SEEDS {
        flood(seed);
    }
}

/// Peers that connect in bursts and leave again, and a newcomer every ten turns.
fn flood(seed: u64) {
    let settings = Settings { connections_max: 400, peer_connections_max: 300, ..settings() };
    let mut world = World::new(seed, settings);
    let mut pair = Pair::join(&mut world);
    let mut random = Random::from_seed(seed ^ 0x11_57E4);
    let mut newcomers = Vec::new();
    let (mut accepted, mut closed) = (0, world.links.closed);
    run(&mut world, &mut pair, 200, |world, turn| {
        let more = world.links.accepted.len() - accepted;
        let fewer = world.links.closed - closed;
        (accepted, closed) = (world.links.accepted.len(), world.links.closed);
        assert!(more <= PER_TURN, "seed {seed}: {more} connections are accepted in one turn");
        // Half of a turn's budget is for accepting, which may close others, and the rest for closing.
        assert!(fewer <= PER_TURN as u64, "seed {seed}: {fewer} are closed in one turn");
        let served = newcomers.iter().all(|dial| world.links.accepted.contains_key(dial));
        assert!(served, "seed {seed}: a newcomer waits behind the flood at another listener");
        if random.below(10) == 0 {
            for _ in 0..random.below(600) {
                world.dial(FLOODED, host(2), random.below(8) > 0);
            }
        }
        if random.below(10) == 0 {
            let open = world.links.accepted.values().copied();
            let leaving: Vec<_> = open.filter(|_| random.below(2) == 0).collect();
            leaving.into_iter().for_each(|id| world.cut(id));
        }
        if turn % 10 == 0 {
            newcomers.push(world.dial(OTHER, host(3), true));
        }
    });
    pair.check(&mut world, 2);
    let turns = world.waiting(FLOODED) / 10 + 2;
    world.turns(turns as u32);
    assert_eq!(world.waiting(FLOODED), 0, "seed {seed}: all were accepted or refused");
}

#[test]
fn a_listener_pauses_for_a_second_while_the_system_lacks_descriptors() {
    let mut world = World::new(1, settings());
    let mut pair = Pair::join(&mut world);
    world.links.is_short = true;
    for _ in 0..50 {
        world.dial(FLOODED, host(2), true);
    }
    world.turn();
    assert_eq!(world.links.tries, 1, "it does not try again at once");
    let paused_at = world.now;
    run(&mut world, &mut pair, 998, |world, _| {
        world.dial(FLOODED, host(2), true);
    });
    assert_eq!(world.links.tries, 1, "further connections do not end the pause");
    let until = world.server.before_sleep(&mut world.links);
    assert!(until <= paused_at + Span::from_millis(1000), "the shell wakes at its end");
    run(&mut world, &mut pair, 2, |_, _| {});
    assert_eq!(world.links.tries, 2);
    world.links.is_short = false;
    run(&mut world, &mut pair, 1100, |_, _| {});
    assert_eq!(world.waiting(FLOODED), 0, "those that waited are accepted after the next pause");
    pair.check(&mut world, 2);
}

#[test]
fn a_pause_leaves_nothing_to_do_until_it_ends() {
    let mut world = World::new(2, settings());
    world.links.is_short = true;
    world.dial(FLOODED, host(2), true);
    world.turn();
    let until = world.server.before_sleep(&mut world.links);
    assert_eq!(until, world.now + Span::from_millis(1000));
}

#[test]
fn connections_that_are_overdue_together_are_closed_over_several_turns() {
    let session = hemiola_fedpro::Settings {
        greeting_max: Span::from_millis(100),
        ..hemiola_fedpro::Settings::default()
    };
    let mut world = World::new(3, Settings { session, ..settings() });
    let mut pair = Pair::join(&mut world);
    let wave: Vec<_> = (0..1000).filter_map(|_| world.connect_from(host(2))).collect();
    assert_eq!(wave.len(), 1000);
    let mut closed = world.links.closed;
    run(&mut world, &mut pair, 200, |world, _| {
        let fewer = world.links.closed - closed;
        closed = world.links.closed;
        assert!(fewer <= PER_TURN as u64, "{fewer} connections are closed in one turn");
    });
    assert_eq!(world.server.report().arrivals, 0, "all are closed");
    pair.check(&mut world, 2);
}
