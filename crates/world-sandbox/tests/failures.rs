//! An engine that fails within a call: the rows that it has done are done, and the interpreter does the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hemiola_units::Random;
use hemiola_world::{Change, World};
use hemiola_world_code::{Engine, Instance, Module, Room};
use hemiola_world_lang::definition::{ElementId, Value};
use hemiola_world_lang::{Sources, check};
use hemiola_world_sandbox::ColumnEngine;

/// A column of each type that changes, one that only changes, and rows with faults.
const WORLD: &str = "universe u {
  element e {
    property x : real; property y : real32; property n : integer; property odd : boolean; property last : real;
    update(dt : real<s>) {
      let before = n;
      n = div(1000, n) + before;
      odd = not odd;
      x += 0.5 * (dt / 1<s>);
      y = y * 2;
      last = x + before;
    }
  }
}";

/// Makes instances that fail in one of their calls, after some of the rows.
#[derive(Debug)]
struct Failing {
    engine: ColumnEngine,
    has_room: bool,
    /// Calls until the failure, and the rows that the failing call does.
    when: (u32, usize),
    failures: Arc<AtomicU32>,
}

#[derive(Debug)]
struct FailingInstance {
    inner: Box<dyn Instance>,
    calls: u32,
    rows: usize,
    failures: Arc<AtomicU32>,
}

impl Engine for Failing {
    fn instantiate(&mut self, module: &Module) -> Result<Box<dyn Instance>, String> {
        let (calls, rows) = self.when;
        let (inner, failures) = (self.engine.instantiate(module)?, Arc::clone(&self.failures));
        Ok(Box::new(FailingInstance { inner, calls, rows, failures }))
    }

    fn room(&self) -> Option<Arc<dyn Room>> {
        self.engine.room().filter(|_| self.has_room)
    }
}

impl Instance for FailingInstance {
    fn window(&self) -> &[u8] {
        self.inner.window()
    }

    fn window_mut(&mut self) -> &mut [u8] {
        self.inner.window_mut()
    }

    fn address(&self) -> u32 {
        self.inner.address()
    }

    fn address_of(&self, place: usize) -> Option<u32> {
        self.inner.address_of(place)
    }

    fn call(&mut self, function: usize, rows: i32) -> Option<i32> {
        if self.calls > 0 {
            self.calls -= 1;
            return self.inner.call(function, rows);
        }
        self.failures.fetch_add(1, Ordering::Relaxed);
        let rows = rows.min(self.rows as i32);
        // A call with no rows would do a group.
        if rows > 0 {
            self.inner.call(function, rows);
        }
        None
    }
}

fn world(rows: u64, seed: u64) -> World {
    let sources = Sources::of("u.uml", WORLD).unwrap();
    let mut world = World::new(check(&sources, None).unwrap().universes.remove(0)).unwrap();
    let mut random = Random::from_seed(seed);
    for _ in 0..rows {
        let row = vec![
            Value::Double(random.between(-5.0, 5.0)),
            Value::Single(random.between(-5.0, 5.0) as f32),
            Value::Integer(random.below(4) as i32),
            Value::Boolean(random.below(2) == 0),
            Value::Double(0.0),
        ];
        world.submit(Change::Construct(ElementId(0), Value::Row(row))).unwrap();
    }
    world.apply(&mut |_| {});
    world
}

fn step(world: &mut World) -> (Vec<String>, Vec<Value>) {
    let mut told = Vec::new();
    let report = world.step(0.5, &mut |_| {}, &mut |output| told.push(format!("{output:?}")));
    told.push(format!("{report:?}"));
    (told, world.entities().map(|entity| world.row(entity).unwrap()).collect())
}

#[test]
fn a_call_that_fails_does_each_row_once() {
    let Ok(engine) = ColumnEngine::new() else { return };
    let (failures, mut cases) = (Arc::new(AtomicU32::new(0)), 0);
    // Blocks have 1,024 rows, and groups four.
    for (seed, rows) in [(1, 1_024), (2, 2_500), (3, 1_027), (4, 3)] {
        for has_room in [true, false] {
            for when in [(0, 0), (0, 4), (0, 512), (1, 0), (1, 4), (1, 100), (2, 8), (3, 4)] {
                let (mut expected, mut found) = (world(rows, seed), world(rows, seed));
                let failures = Arc::clone(&failures);
                let mut failing = Failing { engine: engine.clone(), has_room, when, failures };
                assert_eq!(found.compile(&mut failing), []);
                for number in 0..4 {
                    let (expected, found) = (step(&mut expected), step(&mut found));
                    let context = format!("seed {seed}, room {has_room}, {when:?}, step {number}");
                    assert_eq!(expected.0, found.0, "{context}");
                    let rows = expected.1.iter().zip(&found.1);
                    assert!(rows.into_iter().all(|(one, other)| one.same_bits(other)), "{context}");
                }
                cases += 1;
            }
        }
    }
    assert_eq!(failures.load(Ordering::Relaxed), cases, "each engine fails once");
}
