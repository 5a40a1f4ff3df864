//! Two sessions over a network that breaks: each call, answer and callback arrives exactly once.

use hemiola_fedpro::fuzzing::{Plan, World};

/// Replay one world with `SEED=n cargo test -p hemiola-fedpro --test main network`.
#[test]
fn every_request_and_answer_arrives_once_whatever_breaks() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).expect("SEED is a number"),
        Err(_) => 0..500,
    };
    let (mut requests, mut cuts) = (0, 0);
    for seed in seeds {
        println!("seed {seed}");
        let happened = World::run(Plan::Seeded { seed, steps: 2000 });
        requests += happened.requests;
        cuts += happened.cuts;
    }
    println!("{requests} requests, {cuts} cuts");
    assert!(requests > 0 && cuts > 0);
}
