//! What an allocator counts: a world that is in its stride allocates nothing in a step, and entities take the memory
//! that their structure predicts.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hemiola_units::Random;
use hemiola_world::{Change, Effect, Interest, MonitorId, Structure, World};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::{Sources, Value, check};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls and the live bytes of each thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counters are constant-initialised thread-locals
// without a destructor, which themselves allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // A block may come from another thread.
        LIVE.set(LIVE.get().saturating_sub(layout.size()));
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rows that search others, in two tables, and monitors of each kind.
const WORLD: &str = "universe u {
  element thing {
    property p : real[2] indexed by 2;
    property n : real;
    update(dt : real<s>) {
      var sum : real = 0;
      for each other in thing within 3 at most 4 { sum += other.n; }
      n = sum / 10;
      p += [n, -n] * (dt / 1<s>);
    }
    constraint moved(low : real[2], high : real[2], far : real) =
      inside(p, low, high) and distance(p, last_sent.p) > far;
    constraint grown() = n > last_sent.n;
  }
  element lamp : thing { property light : real32; }
}";

#[test]
fn steps_allocate_nothing() {
    let sources = Sources::of("u.uml", WORLD).unwrap();
    let universe = check(&sources, None).unwrap().universes.remove(0);
    let [moved, grown] = universe.elements[0].constraints[..] else { panic!("two constraints") };
    let mut world = World::new(universe).unwrap();
    let mut random = Random::from_seed(1);
    let pair = |x: f64, y: f64| Value::Items(vec![Value::Double(x), Value::Double(y)]);
    for number in 0..2_000 {
        let place = pair(random.between(0.0, 100.0), random.between(0.0, 100.0));
        let mut row = vec![place, Value::Double(random.between(-1.0, 1.0))];
        let element = ElementId(u32::from(number % 4 == 0));
        row.extend((element == ElementId(1)).then_some(Value::Single(1.0)));
        world.submit(Change::Construct(element, Value::Row(row))).unwrap();
    }
    let all = vec![pair(0.0, 0.0), pair(100.0, 100.0), Value::Double(0.0)];
    let constraints = [None, Some((moved, all)), Some((grown, Vec::new()))];
    for (id, constraint) in (0..).zip(constraints) {
        let (element, properties) = (ElementId(0), vec![0]);
        let interest = Interest { element, properties, constraint, effect: Effect::None };
        world.submit(Change::Register(MonitorId(id), interest)).unwrap();
    }
    world.apply(&mut |_| {});
    let mut step = || {
        let before = ALLOCATIONS.get();
        let report = world.step(0.1, &mut |_| {}, &mut |_| {});
        assert!(report.sent > 2_000, "all monitors are told");
        ALLOCATIONS.get() - before
    };
    // Buffers grow to what a step needs.
    assert!((0..8).map(|_| step()).sum::<u64>() > 0, "the counter counts");
    assert_eq!([(); 8].map(|()| step()), [0; 8]);
}

/// What the directory may differ from its estimate, which depends on the standard library.
const TOLERANCE: f64 = 0.03;

/// Constructs so many entities with the default row and compares the memory that they take with the prediction.
fn compare(properties: &str, entities: u64) {
    let text = format!("universe u {{ element e {{ {properties} }} }}");
    let sources = Sources::of("test.uml", &text).unwrap();
    let mut world = World::new(check(&sources, None).unwrap().universes.remove(0)).unwrap();
    let structure = Structure::of(world.universe(), ElementId(0)).unwrap();
    let properties = &world.universe().elements[0].properties;
    let row = Value::Row(properties.iter().map(|property| property.default.clone()).collect());
    let before = LIVE.get();
    for _ in 0..entities {
        world.submit(Change::Construct(ElementId(0), row.clone())).unwrap();
    }
    world.apply(&mut |_| {});
    let taken = (LIVE.get() - before) as u64;
    let predicted = structure.memory(entities);
    let directory = taken.checked_sub(predicted.columns + predicted.beside);
    let directory = directory.expect("columns take what is predicted");
    let apart = directory.abs_diff(predicted.directory) as f64;
    assert!(
        apart <= predicted.directory as f64 * TOLERANCE,
        "{entities} entities with {text}: {taken} bytes, predicted {predicted:?}"
    );
}

#[test]
fn the_memory_of_entities_follows_from_their_structure() {
    let shapes = [
        "property x : integer;",
        "property a : boolean; property b : real32; property c : real[3];",
        "property name : string<16>; property seen : integer[..5];",
        "element part { property p : real32[2]; } property parts : part[3];",
    ];
    for properties in shapes {
        for entities in [1, 7, 8, 100, 4_096, 4_097, 50_000] {
            compare(properties, entities);
        }
    }
}
