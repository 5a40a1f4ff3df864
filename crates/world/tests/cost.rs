//! The work of a redefinition is counted before it happens.

use hemiola_units::{Instant, Span};
use hemiola_world::{Change, Cost, Rates, Revision, World};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::{Sources, Value, check};

const ROWS: u64 = 7;

fn sources(items: &str) -> Sources {
    Sources::of("u.uml", format!("universe u {{ element e {{ {items} }} }}")).unwrap()
}

/// A world of an element with these items, in which each property has its default.
fn world(items: &str) -> World {
    let mut world = World::new(check(&sources(items), None).unwrap().universes.remove(0)).unwrap();
    let properties = world.universe().elements[0].properties.clone();
    for _ in 0..ROWS {
        let row = properties.iter().map(|property| property.default.clone()).collect();
        world.submit(Change::Construct(ElementId(0), Value::Row(row))).unwrap();
    }
    world.apply(&mut |_| {});
    world
}

fn revision(items: &str, world: &World) -> Revision {
    Revision::check(&sources(items), world.universe()).unwrap()
}

const BEFORE: &str = "property n : integer; property x : real32[3];";

#[test]
fn the_cost_is_that_of_the_columns_that_do_not_stay() {
    let world = world(BEFORE);
    for (items, bytes, has_instructions) in [
        (BEFORE, 0, false),
        // Another function, another name, another place.
        ("property x : real32[3]; property m : integer was n; update() { m += 1; }", 0, false),
        // Defaults.
        (
            "property n : integer; property x : real32[3]; property b : boolean; property y : real;",
            9,
            false,
        ),
        // Wider numbers.
        ("property n : real; property x : real[3];", 8 + 24, false),
        // More items of a list are zero.
        ("property n : integer; property x : real32[3]; property l : real32[..4];", 4 + 16, false),
        // Converters.
        ("property n : integer; property y : real[3]; converter y = real(2 * x);", 24, true),
        ("property n : integer; property y : integer; converter y = n;", 4, true),
    ] {
        let revision = revision(items, &world);
        let cost = world.cost(&revision);
        let of_row: Vec<(&str, Cost)> = revision.costs().collect();
        if bytes == 0 {
            assert_eq!((cost, of_row.len()), (Cost::default(), 0), "{items}");
            assert!(cost.is_nothing());
            continue;
        }
        let rows = Cost { rows: ROWS, bytes: ROWS * bytes, instructions: cost.instructions };
        assert_eq!(cost, rows, "{items}");
        assert_eq!(cost.instructions > 0, has_instructions, "{items}");
        let instructions = cost.instructions / ROWS;
        assert_eq!(of_row, [("e", Cost { rows: 1, bytes, instructions })], "{items}");
    }
}

#[test]
fn a_return_costs_what_is_converted_back() {
    let mut world = world(BEFORE);
    let items = "property m : integer was n; property y : real[3]; converter y = real(2 * x); \
                 converter back x = real32(y / 2);";
    let revision = revision(items, &world);
    let mut redefinition = world.redefine(revision, &mut |_| {}).unwrap();
    assert_eq!(world.cost_of_return(&redefinition), Cost::default(), "the rows still exist");
    world.step(0.1, &mut |_| {}, &mut |_| {});
    let cost = world.cost_of_return(&redefinition);
    assert_eq!((cost.rows, cost.bytes), (ROWS, ROWS * 12));
    assert_ne!(cost.instructions, 0);
    world.roll_back(&mut redefinition, &mut |_| {}).unwrap();
}

/// A clock on which each redefinition takes as long as its number says.
#[test]
fn a_time_is_linear_in_the_cost() {
    // Three trials each of another function, of eight columns, and of four converted columns.
    let times = [5_000, 4_000, 6_000, 267_000, 266_144, 300_000, 200_000, 190_000, 210_000];
    let mut times = times.into_iter();
    let mut now = Instant::ZERO;
    let mut is_end = true;
    let rates = Rates::measure(None, &mut || {
        is_end = !is_end;
        if is_end {
            now += Span::from_nanos(times.next().expect("a trial more"));
        }
        now
    });
    assert_eq!(times.next(), None);
    assert_eq!(rates.time(Cost::default()), Span::from_nanos(4_000));
    // 8,192 rows of 32 bytes took 262,144 ns more.
    let filled = Cost { rows: 1, bytes: 1_000, instructions: 0 };
    assert_eq!(rates.time(filled), Span::from_nanos(5_000));
    let converted = Cost { instructions: 1, ..filled };
    assert!(rates.time(converted) >= rates.time(filled));
}
