//! Random programs that are sound by construction, and damaged ones.

use hemiola_units::Random;
use hemiola_world_lang::{Sources, check, fuzzing, render};
use proptest::prelude::*;

use crate::common::in_capitals;

/// A sound text with blanks, line breaks and comments, some in capitals.
fn program(seed: u64) -> String {
    let mut random = Random::from_seed(seed);
    let items = fuzzing::program(&mut |most| random.below(most));
    let text = format!("universe u {{ {items} }}");
    let mut spread = String::new();
    for word in text.split(' ') {
        spread += word;
        spread += [" ", " ", " ", "\n", "\n\n\n", " // note\n", "\t"][random.below(7) as usize];
    }
    if random.below(2) == 0 { in_capitals(&spread) } else { spread }
}

#[test]
fn random_programs_are_sound_run_and_keep_their_meaning_in_every_form() {
    for seed in 0..200 {
        let text = program(seed);
        let sources = Sources::of("w", &*text).unwrap();
        if let Err(problems) = check(&sources, None) {
            panic!("seed {seed}: {text}\n{}", render(&problems, &sources));
        }
        fuzzing::definition(text.as_bytes());
    }
}

#[test]
fn damaged_programs_end_in_problems() {
    let mut random = Random::from_seed(15);
    for seed in 0..600 {
        let mut bytes = program(seed % 50).into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            let end = (at + random.below(12) as usize).min(bytes.len());
            match random.below(4) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = b" {}()[];:,.=+-*/<>\"0aA"[random.below(22) as usize],
                2 => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => bytes.truncate(end.max(1)),
            }
        }
        fuzzing::definition(&bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzing::definition(&bytes);
        fuzzing::from_wire(&bytes);
    }
}
