//! A crowd of peers of any behaviour around a healthy pair, from seeds. A failing seed replays and shrinks:
//!
//! ```text
//! HEMIOLA_SEED=n cargo test -p hemiola-rti-server --test main -- crowd
//! HEMIOLA_SEED=n HEMIOLA_SHRINK=1 cargo test -p hemiola-rti-server --test main -- crowd
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{REPLACES, RESUME_WINDOW, RtiConfiguration};
use hemiola_rti_server::Settings;
use hemiola_units::{Random, Span};

use crate::attacks::{Pair, run, settings};
use crate::federate::{Federate, fom};
use crate::shrink::{Case, shrink};
use crate::world::{World, host};

/// Seeds in one run of the test.
const SEEDS: u64 = 2000;

const PEERS: u32 = 8;

/// What a peer may do in a turn instead of its duty.
type Behaviour = fn(&mut Federate, &mut World, &mut Random);

const BEHAVIOURS: [Behaviour; 13] = [
    |peer, world, _| peer.cut(world),
    |peer, _, random| peer.appetite = [0, 7, 300, 1 << 20][random.below(4) as usize],
    |peer, world, _| {
        peer.send(world, FederationCall::ListFederationExecutions);
    },
    |peer, world, random| {
        let federation_name = format!("F{}", random.below(6));
        let fom_module = fom();
        let create = FederationCall::CreateFederationExecution { federation_name, fom_module };
        peer.send(world, create);
    },
    |peer, world, random| {
        let federation_name = format!("F{}", random.below(6));
        let federate_type = "Test".into();
        let join = FederationCall::JoinFederationExecution { federate_type, federation_name };
        peer.send(world, join);
    },
    |peer, world, _| {
        peer.send(world, FederationCall::Connect);
    },
    |peer, world, random| {
        if let Some(id) = peer.connection {
            let noise: Vec<u8> = (0..random.below(64)).map(|_| random.bits() as u8).collect();
            world.send(id, &noise);
        }
    },
    die_in_the_middle,
    |peer, world, random| {
        for _ in 0..random.below(8) {
            world.connect_from(peer.address);
        }
    },
    |_, world, random| {
        if let Some(id) = world.connect_locally() {
            let lines = ["status 1\n", "evict 1 nobody\n", "session 1\n", "stat"];
            world.send(id, lines[random.below(4) as usize].as_bytes());
        }
    },
    |peer, world, random| {
        let secret = peer.session.id().secret();
        peer.cut(world);
        *peer = Federate::at(world, host(2 + random.below(3) as u8));
        connect_with(peer, world, format!("{REPLACES}={secret}"));
    },
    |peer, world, random| {
        connect_with(peer, world, format!("{RESUME_WINDOW}={}ms", random.below(400)));
    },
    |peer, world, _| {
        peer.cut(world);
        *peer = Federate::at(world, peer.address);
    },
];

/// Sends a part of what it has to send, and breaks the connection there.
fn die_in_the_middle(peer: &mut Federate, world: &mut World, random: &mut Random) {
    peer.send(world, FederationCall::ListFederationExecutions);
    peer.step_until_byte(world, random.below(80) as usize);
    peer.cut(world);
}

fn connect_with(peer: &mut Federate, world: &World, additional_settings: String) {
    let rti_configuration = RtiConfiguration { additional_settings, ..Default::default() };
    peer.send(world, FederationCall::ConnectWithConfiguration { rti_configuration });
}

#[test]
fn a_crowd_of_any_behaviour_delays_no_healthy_pair_and_leaves_nothing_behind() {
    let whole = Case {
        seed: 0,
        turns: 400,
        peers: (1 << PEERS) - 1,
        behaviours: (1 << BEHAVIOURS.len()) - 1,
    };
    let given = Case::from_environment(whole);
    let cases = given.map_or_else(
        || (0..SEEDS).map(|seed| Case { seed, ..whole }).collect(),
        |given| vec![given],
    );
    for case in cases {
        let Err(panic) = catch_unwind(|| crowd(case)) else { continue };
        eprintln!("a case failed; HEMIOLA_SHRINK=1 makes it smaller: {}", case.command());
        if std::env::var_os("HEMIOLA_SHRINK").is_some() {
            let smallest = shrink(case, |case| catch_unwind(|| crowd(case)).is_err());
            eprintln!("the smallest case that fails: {}", smallest.command());
        }
        resume_unwind(panic);
    }
}

fn crowd(case: Case) {
    let session = hemiola_fedpro::Settings {
        resume_window: Span::from_millis(300),
        waiting_len_max: 512 << 20,
        greeting_max: Span::from_millis(300),
        ..hemiola_fedpro::Settings::default()
    };
    let settings = Settings {
        session,
        sessions_max: 12,
        peer_sessions_max: 9,
        connections_max: 40,
        peer_connections_max: 30,
        ..settings()
    };
    let mut world = World::new(case.seed, settings);
    let mut pair = Pair::join(&mut world);
    let numbers = (0..PEERS).filter(|number| case.peers & 1 << number != 0);
    // Each peer draws from its own numbers, so that leaving one out changes no other.
    let mut peers: Vec<(Federate, Random)> = numbers
        .map(|number| {
            let peer = Federate::at(&world, host(2 + number as u8 % 3));
            (peer, Random::from_seed(case.seed ^ u64::from(number) << 32 ^ 0x5EED))
        })
        .collect();
    run(&mut world, &mut pair, case.turns, |world, _| {
        for (peer, random) in &mut peers {
            if peer.end.is_some() {
                *peer = Federate::at(world, peer.address);
            }
            let drawn = random.below(6 * BEHAVIOURS.len() as u64) as usize;
            match BEHAVIOURS.get(drawn) {
                Some(behave) if case.behaviours & 1 << drawn != 0 => behave(peer, world, random),
                _ => peer.step(world),
            }
        }
    });
    pair.check(&mut world, 5);
    for (peer, _) in &mut peers {
        peer.cut(&mut world);
    }
    world.turns(700);
    let report = world.server.report();
    assert_eq!(report.sessions.len(), 2, "only the pair is left");
    assert_eq!(report.arrivals, 0, "no connection is left that stated no purpose");
    let kept: usize = report.sessions.iter().map(|one| one.backlog_bytes).sum();
    assert!(kept < 1 << 10, "{kept} bytes are queued for the pair");
}

#[test]
fn a_peer_that_dies_at_any_byte_leaves_nothing_behind() {
    let settings = || {
        let session = hemiola_fedpro::Settings {
            resume_window: Span::from_millis(30),
            greeting_max: Span::from_millis(30),
            ..hemiola_fedpro::Settings::default()
        };
        Settings { session, ..settings() }
    };
    let mut world = World::new(1, settings());
    world.recorded = Some(Vec::new());
    let mut whole = Federate::join(&mut world, "Any");
    let object = whole.register(&mut world);
    whole.call(&mut world, crate::federate::update(object, 1, 64)).unwrap();
    let pieces = world.recorded.take().expect("it was recorded");
    let total: usize = pieces.iter().map(Vec::len).sum();
    assert!(total > 500, "{total} bytes");
    for dies_at in 0..=total {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut world = World::new(1, settings());
            let id = world.connect().unwrap();
            let mut left = dies_at;
            for piece in &pieces {
                world.send(id, &piece[..left.min(piece.len())]);
                left = left.saturating_sub(piece.len());
                world.turns(if left == 0 { 1 } else { 8 });
                world.take(id, 1 << 20);
            }
            world.cut(id);
            world.turns(100);
            let report = world.server.report();
            assert_eq!((report.sessions.len(), report.arrivals), (0, 0));
            assert!(report.federations.iter().all(|one| one.federates.is_empty()));
        }));
        if let Err(panic) = outcome {
            eprintln!("it died at byte {dies_at} of {total}");
            resume_unwind(panic);
        }
    }
}
