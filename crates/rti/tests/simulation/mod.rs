//! Seeded worlds of federates that join, declare, send, advance, resign and disconnect at random.
//!
//! After every event the kernel's invariants are checked, and each federate checks its callbacks against its own model
//! ([`checker`]). In the end, all federates request the same distant time and must be granted it.
//!
//! To replay one seed with all inputs and effects: `HEMIOLA_SEED=n cargo test -p hemiola-rti --test main -- simulation
//! --nocapture`. `HEMIOLA_SEEDS=n` runs the first `n` seeds.

mod checker;
mod regions;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hemiola_rti::{Effect, SessionId};
use run::{Run, Slicing};

/// Default number of worlds.
const SEEDS: u64 = 2_000;

/// Number of worlds whose effects are kept.
const LOGGED: u64 = 100;

/// Events of one world.
const EVENTS: usize = 400;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn worlds_are_safe_and_every_federate_is_granted_in_the_end() {
    let seeds = match number("HEMIOLA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HEMIOLA_SEEDS").unwrap_or(SEEDS),
    };
    let (mut callback_count, mut callback_kinds, mut gained, mut lost) = (0, BTreeSet::new(), 0, 0);
    let mut slices = 0;
    for seed in seeds {
        let world = || {
            let mut run = Run::new(seed, slicing(seed));
            run.is_shown = number("HEMIOLA_SEED").is_some();
            run.events(EVENTS);
            run.end();
            (run.callback_count, run.callback_kinds, run.gained, run.lost, run.slices)
        };
        let (count_in_world, kinds_in_world, gained_there, lost_there, slices_there) =
            catch_unwind(AssertUnwindSafe(world)).unwrap_or_else(|panic| {
                println!("failed with HEMIOLA_SEED={seed}");
                resume_unwind(panic)
            });
        callback_count += count_in_world;
        slices += slices_there;
        gained += gained_there;
        lost += lost_there;
        callback_kinds.extend(kinds_in_world);
    }
    assert!(callback_count > 0);
    if number("HEMIOLA_SEED").is_none() {
        // Worlds in which a callback never occurs would prove nothing about it.
        let expected = [6, 8, 9, 10, 12, 13, 15, 17, 18, 19, 20, 30]
            .into_iter()
            .chain(31..35)
            .chain(37..39)
            .chain(49..55)
            .chain(58..63);
        let missing: Vec<u32> = expected.filter(|kind| !callback_kinds.contains(kind)).collect();
        assert!(missing.is_empty(), "callbacks that never occurred: {missing:?}");
        assert!(slices > 0, "no work was sliced");
        assert!(gained > 0 && lost > 0, "no subscription changed in between: {gained}, {lost}");
    }
}

#[test]
fn the_same_inputs_give_the_same_effects() {
    for seed in 0..20 {
        let [first, again] = [(); 2].map(|()| {
            let mut run = Run::new(seed, slicing(seed));
            run.events(EVENTS);
            run.log
        });
        assert!(first == again, "seed {seed}");
    }
}

/// How the work of a seed's world is sliced: not at all, or in slices of at most this many units of work.
fn slicing(seed: u64) -> Slicing {
    match seed / 4 % 4 {
        0 => Slicing::Whole,
        1 => Slicing::Mixed(2),
        2 => Slicing::Mixed(12),
        _ => Slicing::Mixed(100),
    }
}

#[test]
fn sliced_work_has_the_same_effects_for_every_federate_as_work_that_is_done_at_once() {
    // A manager is told how far a job has come.
    for seed in (0..LOGGED).filter(|seed| !Run::is_managed(*seed)) {
        let of_sessions = |slicing| {
            let mut run = Run::new(seed, slicing);
            run.events(EVENTS);
            let mut effects: BTreeMap<SessionId, Vec<Effect>> = BTreeMap::new();
            for effect in run.log {
                let (Effect::Reply(session, ..)
                | Effect::Callback(session, _)
                | Effect::Close(session)) = &effect
                else {
                    continue;
                };
                effects.entry(*session).or_default().push(effect);
            }
            (effects, run.state)
        };
        let whole = of_sessions(Slicing::Whole);
        for budget in [1, 3, 30] {
            let sliced = of_sessions(Slicing::Apart(budget));
            for (session, effects) in &whole.0 {
                assert_eq!(effects, &sliced.0[session], "seed {seed}, {session:?}");
            }
            assert_eq!(whole.1, sliced.1, "seed {seed}");
        }
    }
}
