//! Seeded worlds of federates that join, declare, send, advance, resign and die at random.
//!
//! After every event the kernel's invariants are checked, and each federate checks what it is told against what it
//! knows ([`checker`]). In the end everybody asks for the same far time and has to be granted it.
//!
//! A seed is replayed alone, with everything said that goes in and comes out, by
//! `HEMIOLA_SEED=n cargo test -p hemiola-rti --test main -- simulation --nocapture`; `HEMIOLA_SEEDS=n` runs so many.

mod checker;
mod run;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use run::Run;

/// Worlds to run if nothing else is asked for.
const SEEDS: u64 = 2_000;

/// Events of one world.
const EVENTS: usize = 400;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn worlds_are_safe_and_everybody_is_granted_in_the_end() {
    let seeds = match number("HEMIOLA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HEMIOLA_SEEDS").unwrap_or(SEEDS),
    };
    let (mut told, mut kinds, mut gained, mut lost) = (0, BTreeSet::new(), 0, 0);
    for seed in seeds {
        let world = || {
            let mut run = Run::new(seed);
            run.is_shown = number("HEMIOLA_SEED").is_some();
            run.events(EVENTS);
            run.end();
            (run.told, run.kinds, run.gained, run.lost)
        };
        let (of_world, kinds_of_world, gained_there, lost_there) =
            catch_unwind(AssertUnwindSafe(world)).unwrap_or_else(|panic| {
                println!("failed with HEMIOLA_SEED={seed}");
                resume_unwind(panic)
            });
        told += of_world;
        gained += gained_there;
        lost += lost_there;
        kinds.extend(kinds_of_world);
    }
    assert!(told > 0);
    if number("HEMIOLA_SEED").is_none() {
        // Worlds in which something never happens would show nothing about it.
        let expected =
            [6, 8, 9, 30].into_iter().chain(31..35).chain(37..39).chain(49..55).chain(58..63);
        let missing: Vec<u32> = expected.filter(|kind| !kinds.contains(kind)).collect();
        assert!(missing.is_empty(), "callbacks that nobody got: {missing:?}");
        assert!(gained > 0 && lost > 0, "nobody changed its mind: {gained}, {lost}");
    }
}

#[test]
fn the_same_inputs_give_the_same_outputs() {
    for seed in 0..20 {
        let [first, again] = [(); 2].map(|()| {
            let mut run = Run::new(seed);
            run.events(EVENTS);
            run.log
        });
        assert!(first == again, "seed {seed}");
    }
}
