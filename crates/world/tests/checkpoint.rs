//! Checkpoints: what is resumed goes on with the same bits, and bytes that are not sound are refused.

use std::sync::Arc;

use hemiola_units::Random;
use hemiola_world::{CheckpointError, Revision, RunSoFar, World};
use hemiola_world_lang::Sources;

use crate::naive::News;
use crate::redefinition::texts;
use crate::simulation::{BIRTHS_UP_TO, WORLD, change, universe};

/// Strings, lists and truth values, in rows, arguments and draws.
const LISTS: &str = "universe u {
  element e {
    property name : string = \"first\";
    property l : integer[..3] = [1];
    property flags : boolean[2];
    update() { if count(l) < 3 { l = append(l, count(l)); } flags[0] = not flags[0]; }
    constraint named(as : string) = name == as and count(l) > count(last_sent.l);
  }
  entity one : e { name = \"one\"; }
  entity two : e;
}";

fn run(definitions: &[&str]) -> RunSoFar {
    let sources = definitions.iter().map(|text| Sources::of("u.uml", *text).unwrap());
    RunSoFar { definitions: sources.map(Arc::new).collect(), seconds: 0.5, ..RunSoFar::default() }
}

/// The world behind its own checkpoint, which must not depend on where it was written.
fn again(world: &World, run: &RunSoFar) -> World {
    let bytes = world.checkpoint(run);
    let (resumed, _) = World::resume(&bytes).unwrap();
    assert_eq!(resumed.checkpoint(run), bytes);
    resumed
}

fn step(world: &mut World) -> News {
    let mut news = News::default();
    world.step(0.5, &mut |_| {}, &mut |output| news.note(output));
    news
}

#[test]
fn a_random_world_goes_on_from_its_checkpoint_with_the_same_bits() {
    let run = run(&[WORLD]);
    for seed in 0..60 {
        let universe = universe(WORLD);
        let mut world = World::new(universe.clone()).unwrap().with_births(seed, BIRTHS_UP_TO);
        let mut random = Random::from_seed(seed);
        let mut resumed: Option<World> = None;
        for number in 0..25 {
            for _ in 0..random.below(4) {
                let change = change(&universe, &world, &mut random);
                let is_accepted = world.submit(change.clone()).is_ok();
                let other = resumed.as_mut().map(|resumed| resumed.submit(change).is_ok());
                assert!(other.is_none_or(|other| other == is_accepted));
            }
            let news = step(&mut world);
            if let Some(resumed) = &mut resumed {
                assert_eq!(step(resumed), news, "seed {seed}, step {number}");
                assert_eq!(resumed.checkpoint(&run), world.checkpoint(&run));
            }
            if random.below(6) == 0 {
                resumed = Some(again(&world, &run));
            }
        }
    }
}

#[test]
fn a_redefined_world_goes_on_from_its_checkpoint_with_the_same_bits() {
    let texts = texts();
    let mut redefined = 0;
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let mut definitions = vec![&*texts[random.below(3) as usize]];
        let mut world = World::new(universe(definitions[0])).unwrap();
        for _ in 0..8 {
            let text = &texts[random.below(texts.len() as u64) as usize];
            let sources = Sources::of("u.uml", &**text).unwrap();
            if let Ok(revision) = Revision::check(&sources, world.universe())
                && world.redefine(revision, &mut |_| {}).is_ok()
            {
                definitions.push(text);
                redefined += 1;
            }
            let change = change(&Arc::clone(world.universe()), &world, &mut random);
            let _ = world.submit(change);
            step(&mut world);
            let run = run(&definitions);
            let mut resumed = again(&world, &run);
            assert_eq!(resumed.universe(), world.universe());
            assert_eq!(step(&mut resumed), step(&mut world));
            assert_eq!(resumed.checkpoint(&run), world.checkpoint(&run));
        }
    }
    assert!(redefined > 100, "{redefined}");
}

/// A checkpoint of a world with everything that can stand in one.
fn bytes() -> Vec<u8> {
    use hemiola_world::{MonitorCounts, MonitorId, Setup, SetupTexts};
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let populate = texts(&["e:3:name=\"first\":flags=[true, false]"]);
    let monitor = texts(&["e", "e:l,name:named(\"first\")"]);
    let birth = texts(&["e:named(\"one\"):name=\"child\":l=[1, 2]"]);
    let death = texts(&["e:named(\"none\")"]);
    let start = SetupTexts { populate: &populate, monitor: &monitor, birth: &birth, death: &death };
    let setup = Setup::read(&Sources::of("u.uml", LISTS).unwrap(), &start).unwrap();
    let mut world = setup.start(1, 20).unwrap();
    assert_ne!(step(&mut world), News::default());
    assert_eq!(world.len(), 6);
    let run = RunSoFar {
        names: start.names(),
        ended: vec![(MonitorId(9), MonitorCounts { sent: 3, ..MonitorCounts::default() })],
        first_fault: Some("step 1".to_owned()),
        ..run(&[LISTS])
    };
    let bytes = world.checkpoint(&run);
    let (resumed, kept) = World::resume(&bytes).unwrap();
    assert_eq!(resumed.checkpoint(&kept), bytes);
    assert_eq!((kept.names, kept.ended, kept.first_fault), (run.names, run.ended, run.first_fault));
    bytes
}

#[test]
fn no_part_of_a_checkpoint_and_no_other_byte_in_it_is_accepted() {
    let bytes = bytes();
    for len in 0..bytes.len() {
        let refused = World::resume(&bytes[..len]).unwrap_err();
        let expected = match len {
            0..28 => CheckpointError::Foreign,
            _ => {
                CheckpointError::Length { found: len as u64 - 28, stated: bytes.len() as u64 - 28 }
            }
        };
        assert_eq!(refused, expected);
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(World::resume(&longer), Err(CheckpointError::Length { .. })));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let refused = World::resume(&damaged).unwrap_err();
            let is_expected = match at {
                0..8 => refused == CheckpointError::Foreign,
                8..12 => matches!(refused, CheckpointError::Version(_)),
                12..20 => matches!(refused, CheckpointError::Length { .. }),
                _ => refused == CheckpointError::Checksum,
            };
            assert!(is_expected, "{at}: {refused}");
        }
    }
}

/// The content with a header that is right.
fn sealed(content: &[u8]) -> Vec<u8> {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let sum = content.iter().fold(0xcbf2_9ce4_8422_2325, add);
    let (version, len) = (2_u32.to_le_bytes(), (content.len() as u64).to_le_bytes());
    [b"HEMIWRLD", &version[..], &len, &sum.to_le_bytes(), content].concat()
}

#[test]
fn contents_at_random_with_a_right_checksum_are_refused_or_are_a_world_that_goes_on() {
    let bytes = bytes();
    let content = &bytes[28..];
    assert_eq!(sealed(content), bytes);
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..4000 {
        let mut random = Random::from_seed(seed);
        let mut other = content.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(other.len() as u64) as usize;
            match random.below(4) {
                0 => other[at] ^= 1 << random.below(8),
                1 => other[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
                2 => drop(other.drain(at..(at + 8).min(other.len()))),
                _ => other.insert(at, random.below(256) as u8),
            }
        }
        match World::resume(&sealed(&other)) {
            Err(_) => refused += 1,
            Ok((mut world, run)) => {
                accepted += 1;
                (0..3).for_each(|_| drop(step(&mut world)));
                world.entities().for_each(|id| drop(world.row(id)));
                again(&world, &run);
            }
        }
    }
    assert!(refused > 1000 && accepted > 100, "{refused} {accepted}");
}
