//! Modules of users that fail in every way: only what a call returned soundly becomes part of a world.

use std::sync::{Arc, Mutex};

use hemiola_units::{Random, Span};
use hemiola_world::{
    AttachError, Change, Interface, InterfaceError, ModuleCode, ModuleText, RESTARTS_PER_STEP,
    RedefineError, Revision, RunSoFar, Stop, World,
};
use hemiola_world_lang::definition::{ElementId, Value};
use hemiola_world_lang::{Sources, check};

const WORLD: &str = "universe u {
  element m {
    property x : real;
    property flag : boolean;
    property items : integer[..3];
    property label : string = \"same\";
    update() { x += 1000; }
  }
  element other { property y : real; update() { y += 1; } }
}";

/// Rows of a block.
const BLOCK: usize = 1024;
/// The first bytes of `flag`, `items.count` and `items[0]` in a block.
const FLAG: usize = 8 * BLOCK;
const COUNT: usize = 9 * BLOCK;
const ITEM: usize = 13 * BLOCK;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Good,
    Loops,
    Traps,
    WrongTruth,
    WrongCount,
}

/// What a module was asked, and what it did.
#[derive(Debug, Default)]
struct Log {
    calls: Vec<(Act, u32, u64)>,
    restarts: u32,
    is_stopped: bool,
}

/// A module that does what random numbers say.
#[derive(Debug)]
struct Fake {
    block: Vec<u8>,
    random: Random,
    /// Of ten calls and of ten restarts, so many fail.
    faulty: u64,
    log: Arc<Mutex<Log>>,
}

impl ModuleCode for Fake {
    fn block(&mut self) -> &mut [u8] {
        &mut self.block
    }

    fn update(&mut self, rows: u32, seconds: f64, fuel: u64) -> Result<u64, Stop> {
        let act = match self.random.below(10) {
            at if at >= self.faulty => Act::Good,
            at => [Act::Loops, Act::Traps, Act::WrongTruth, Act::WrongCount][at as usize % 4],
        };
        let mut log = self.log.lock().unwrap();
        assert!(!log.is_stopped, "a stopped instance is not called");
        log.calls.push((act, rows, fuel));
        log.is_stopped = act != Act::Good;
        let rows = rows as usize;
        for row in 0..rows {
            let at = 8 * row;
            let x = f64::from_le_bytes(self.block[at..at + 8].try_into().unwrap());
            self.block[at..at + 8].copy_from_slice(&(x + seconds).to_le_bytes());
            self.block[FLAG + row] ^= 1;
            self.block[COUNT + 4 * row] = 1;
            self.block[ITEM + 4 * row] = 7;
        }
        match act {
            Act::Good => return Ok(fuel / 3),
            Act::Loops => return Err(Stop::OutOfFuel),
            Act::Traps => return Err(Stop::Fault("it trapped".into())),
            Act::WrongTruth => self.block[FLAG + rows - 1] = 2,
            Act::WrongCount => self.block[COUNT + 4 * (rows - 1)] = 4,
        }
        Ok(1)
    }

    fn restart(&mut self) -> Result<(), Stop> {
        let mut log = self.log.lock().unwrap();
        log.restarts += 1;
        if self.random.below(10) < self.faulty / 3 {
            return Err(Stop::Fault("there is no memory".into()));
        }
        log.is_stopped = false;
        self.block.fill(0xff);
        Ok(())
    }
}

fn world(rows: usize) -> World {
    let mut definition = check(&Sources::of("u.uml", WORLD).unwrap(), None).unwrap();
    let mut world = World::new(definition.universes.remove(0)).unwrap();
    let label = Value::String("same".into());
    let (flag, items) = (Value::Boolean(false), Value::Items(Vec::new()));
    for row in 0..rows {
        let values = vec![Value::Double(row as f64), flag.clone(), items.clone(), label.clone()];
        world.submit(Change::Construct(ElementId(0), Value::Row(values))).unwrap();
    }
    world.submit(Change::Construct(ElementId(1), Value::Row(vec![Value::Double(0.0)]))).unwrap();
    world.apply(&mut |_| {});
    world
}

fn fake(world: &World, seed: u64, faulty: u64) -> (Fake, Arc<Mutex<Log>>) {
    let len = Interface::of(world.universe(), "m").unwrap().len();
    let log = Arc::<Mutex<Log>>::default();
    let random = Random::from_seed(seed);
    (Fake { block: vec![0xff; len], random, faulty, log: Arc::clone(&log) }, log)
}

fn attached(rows: usize, text: &str, seed: u64, faulty: u64) -> (World, Arc<Mutex<Log>>) {
    let mut world = world(rows);
    let (fake, log) = fake(&world, seed, faulty);
    let text = ModuleText::read(text).unwrap();
    world.attach(text, Span::from_millis(1000), 7, Box::new(fake)).unwrap();
    (world, log)
}

/// `x` and `items` of each row of `m`, in the order of ids.
fn rows(world: &World) -> Vec<(f64, usize)> {
    let ids = world.entities().filter(|id| world.element(*id) == Some(ElementId(0)));
    let row = |id| match world.row(id).unwrap() {
        Value::Row(values) => match &values[..] {
            [Value::Double(x), Value::Boolean(_), Value::Items(items), Value::String(label)] => {
                assert_eq!(label, "same");
                (*x, items.len())
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    ids.map(row).collect()
}

#[test]
fn a_world_takes_over_blocks_that_were_computed_soundly_and_no_others() {
    let (mut failed, mut evicted, mut ended) = (0, 0, 0);
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let (count, faulty) = (1 + random.below(3 * BLOCK as u64) as usize, random.below(8));
        let then = ["keep", "freeze", "end"][random.below(3) as usize];
        let most = 1 + random.below(5) as u32;
        let text = format!("m=file:strikes={most}:then={then}");
        let (mut world, log) = attached(count, &text, seed, faulty);
        let mut expected = rows(&world);
        let mut strikes = 0;
        for step in 1..=20_u64 {
            let before = world.modules().next().unwrap().clone();
            let report = world.step(0.5, &mut |_| {}, &mut |_| {});
            let log = std::mem::take(&mut *log.lock().unwrap());
            let after = world.modules().next().unwrap().clone();
            // The calls of a step are for its blocks in their order; a failed restart is a block without a call.
            let failures = log.calls.iter().filter(|(act, ..)| *act != Act::Good).count() as u32;
            let failed_restarts = report.module_faults as u32 - failures;
            assert!(failed_restarts <= log.restarts, "seed {seed}");
            assert!(log.restarts <= 1 + RESTARTS_PER_STEP, "seed {seed}: {}", log.restarts);
            assert!(
                log.calls.len() as u64 + u64::from(failed_restarts) <= count.div_ceil(BLOCK) as u64
            );
            strikes += report.module_faults as u32;
            assert_eq!(after.strikes, strikes, "seed {seed}");
            let good = log.calls.iter().filter(|(act, ..)| *act == Act::Good).count() as u64;
            assert_eq!(after.blocks - before.blocks, good, "seed {seed}");
            if before.evicted.is_some() {
                assert_eq!((log.calls.len(), log.restarts), (0, 0), "seed {seed}");
            } else {
                assert_eq!(after.kept - before.kept + good, count.div_ceil(BLOCK) as u64);
            }
            let is_over = then != "keep" && strikes >= most;
            assert_eq!(after.evicted.is_some(), is_over, "seed {seed}");
            if after.evicted.is_some() && then == "end" {
                assert_eq!(rows(&world), [], "seed {seed}");
                ended += 1;
                break;
            }
            // Whole blocks changed, as many as calls were good.
            let found = rows(&world);
            let mut changed = 0;
            for (found, expected) in found.chunks(BLOCK).zip(expected.chunks(BLOCK)) {
                let is_new = found[0].0 != expected[0].0;
                changed += u64::from(is_new);
                for (found, expected) in found.iter().zip(expected) {
                    let after = if is_new { (expected.0 + 0.5, 1) } else { *expected };
                    assert_eq!(*found, after, "seed {seed}, step {step}");
                }
            }
            assert_eq!(changed, good, "seed {seed}, step {step}");
            expected = found;
            failed += report.module_faults;
            evicted += u64::from(before.evicted.is_none() && after.evicted.is_some());
        }
        let other = world.entities().find(|id| world.element(*id) == Some(ElementId(1))).unwrap();
        assert_eq!(world.row(other), Some(Value::Row(vec![Value::Double(world.steps() as f64)])));
    }
    assert!(failed > 100 && evicted > 10 && ended > 5, "{failed} {evicted} {ended}");
}

#[test]
fn the_blocks_of_a_step_share_the_fuel_of_its_deadline() {
    // A block may take 200 units, a step 500; each call takes a third of what it gets.
    let (mut world, log) = attached(3 * BLOCK, "m=file:budget=1us:deadline=2500ns", 1, 0);
    world.step(0.5, &mut |_| {}, &mut |_| {});
    let granted = |log: &Mutex<Log>| {
        let log = log.lock().unwrap();
        log.calls.iter().map(|(_, _, fuel)| *fuel).collect::<Vec<_>>()
    };
    assert_eq!(granted(&log), [200, 200, 200]);
    let (mut world, log) = attached(3 * BLOCK, "m=file:budget=1us:deadline=1200ns", 1, 0);
    world.step(0.5, &mut |_| {}, &mut |_| {});
    assert_eq!(granted(&log), [200, 174, 116]);
    assert_eq!(world.modules().next().unwrap().fuel, 66 + 58 + 38);
}

#[test]
fn a_module_that_uses_up_its_step_says_so_and_other_blocks_wait_for_the_next_step() {
    let text = "m=file:budget=1us:deadline=900ns:strikes=9";
    // A seed whose first call consumes its fuel.
    let found = (0..40).find_map(|seed| {
        let (mut world, log) = attached(3 * BLOCK, text, seed, 10);
        world.step(0.5, &mut |_| {}, &mut |_| {});
        let first = log.lock().unwrap().calls[0].0;
        (first == Act::Loops).then_some((world, log))
    });
    let (mut world, log) = found.expect("one of four acts is a loop");
    let status = world.modules().next().unwrap().clone();
    assert_eq!((status.strikes, status.kept, status.blocks), (1, 3, 0));
    let last = status.last.unwrap();
    assert_eq!(last, "step 1: its blocks took longer than the deadline of a step");
    let calls = log.lock().unwrap().calls.len();
    world.step(0.5, &mut |_| {}, &mut |_| {});
    assert!(log.lock().unwrap().calls.len() > calls || log.lock().unwrap().restarts > 0);
}

#[test]
fn a_checkpoint_keeps_strikes_and_wants_the_same_module() {
    let text = "m=file:strikes=2";
    let (mut world, _) = attached(10, text, 3, 10);
    while world.modules().next().unwrap().strikes == 0 {
        world.step(0.5, &mut |_| {}, &mut |_| {});
    }
    let definitions = vec![Arc::new(Sources::of("u.uml", WORLD).unwrap())];
    let run = RunSoFar { definitions, seconds: 0.5, ..RunSoFar::default() };
    let bytes = world.checkpoint(&run);
    let (mut resumed, _) = World::resume(&bytes).unwrap();
    assert_eq!(resumed.checkpoint(&run), bytes);
    assert!(resumed.modules().eq(world.modules()));
    let [waiting] = &resumed.modules_to_attach()[..] else { panic!("{resumed:?}") };
    let (waiting, limit) = (waiting.clone(), Span::from_millis(1));
    let other = Box::new(fake(&resumed, 1, 0).0);
    let changed = AttachError::OtherCode { file: "file".into() };
    assert_eq!(resumed.attach(waiting.clone(), limit, 8, other), Err(changed));
    let same = Box::new(fake(&resumed, 1, 0).0);
    assert_eq!(resumed.attach(waiting.clone(), limit, 7, same), Ok(()));
    let twice = Box::new(fake(&resumed, 1, 0).0);
    assert_eq!(resumed.attach(waiting, limit, 7, twice), Err(AttachError::Twice("m".into())));
    resumed.step(0.5, &mut |_| {}, &mut |_| {});
    assert!(resumed.modules().next().unwrap().blocks > 0);
}

#[test]
fn a_redefinition_keeps_a_module_whose_block_stays_and_refuses_any_other_change_of_it() {
    let (mut world, log) = attached(10, "m=file", 1, 0);
    let redefine = |world: &mut World, from: &str, to: &str| {
        let sources = Sources::of("u.uml", WORLD.replace(from, to)).unwrap();
        let revision = Revision::check(&sources, world.universe()).unwrap();
        world.redefine(revision, &mut |_| {}).map(drop)
    };
    let refused = Err(RedefineError::Module { element: "m".into() });
    assert_eq!(redefine(&mut world, "x : real;", "x : real; property z : real;"), refused);
    assert_eq!(redefine(&mut world, "property flag : boolean;", ""), refused);
    let text = "element n was m";
    assert_eq!(redefine(&mut world, "element m", text), refused);
    // Another element before it moves its number, and a text property moves its columns.
    let moved = "element before { property b : real; } element m { property first : string;";
    assert_eq!(redefine(&mut world, "element m {", moved), Ok(()));
    world.step(0.5, &mut |_| {}, &mut |_| {});
    assert_eq!(log.lock().unwrap().calls, [(Act::Good, 10, 1_000_000)]);
    let entity = world.entities().nth(3).unwrap();
    let Some(Value::Row(row)) = world.row(entity) else { panic!() };
    assert_eq!(row[1], Value::Double(3.5));
}

#[test]
fn the_generated_header_names_every_column_once_as_c_does() {
    let text = "universe u { element e {
        element part { property double : real<m>[2]; property far : real32; }
        property parts : part[2];
        property parts_0_far : boolean;
        property int : integer[..2];
        property name : string;
      } element t { property name : string; } }";
    let universe = check(&Sources::of("u.uml", text).unwrap(), None).unwrap().universes.remove(0);
    let interface = Interface::of(&universe, "e").unwrap();
    let header = interface.c_header();
    for line in [
        "double parts_0_double_0[HEMIOLA_ROWS]; /* parts[0].double[0] : real<m> */",
        "float parts_0_far[HEMIOLA_ROWS]; /* parts[0].far : real32 */",
        "uint8_t parts_0_far_[HEMIOLA_ROWS]; /* parts_0_far : boolean */",
        "int32_t int_count[HEMIOLA_ROWS]; /* int.count : integer, at most 2 */",
        "Texts are not part of it: name.",
    ] {
        assert!(header.contains(line), "{line}\n{header}");
    }
    assert_eq!(interface.len(), BLOCK * (4 * 8 + 2 * 4 + 1 + 3 * 4));
    let no_columns = InterfaceError::NoColumns("t".into());
    assert_eq!(Interface::of(&universe, "t"), Err(no_columns));
    let missing = InterfaceError::NoElement("x".into());
    assert_eq!(Interface::of(&universe, "x"), Err(missing));
    let other = text.replace("real32", "real");
    let other = check(&Sources::of("u.uml", other).unwrap(), None).unwrap().universes.remove(0);
    assert_ne!(Interface::of(&other, "e").unwrap().code(), interface.code());
}
