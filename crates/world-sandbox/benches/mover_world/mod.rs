//! The world of movers in a box that several benchmarks measure: each monitor has a box of its own and a threshold.

use hemiola_units::Random;
use hemiola_world::{Change, Effect, Interest, MonitorId, World};
use hemiola_world_lang::{Sources, Value, check};

pub(crate) const ROWS: usize = 100_000;
pub(crate) const EDGE: f64 = 1_000.0;
/// Side of the box of a monitor.
pub(crate) const SIDE: f32 = 400.0;
/// A row is sent again when it has moved farther.
pub(crate) const MOVED: f32 = 1.0;
pub(crate) const DT: f64 = 0.05;

pub(crate) type Point = [f32; 3];

/// The definition whose movers have this multiple of their velocity as speed.
pub(crate) fn sources(factor: f64) -> Sources {
    let text = format!(
        "universe bench {{
  element mover {{
    property position : real32[3];
    property velocity : real32[3];
    update(dt : real32<s>) {{
      position += velocity * ({factor:?} * dt / 1<s>);
      for each axis in [0, 1, 2] {{
        if position[axis] < 0 or position[axis] > 1000 {{
          velocity[axis] = -velocity[axis];
        }}
      }}
    }}
    constraint near(low : real32[3], high : real32[3], moved : real32) =
      inside(position, low, high) and distance(position, last_sent.position) > moved;
  }}
}}"
    );
    Sources::of("bench.uml", text).expect("it is short")
}

/// Positions and velocities, and the lowest corners of the boxes of the monitors.
pub(crate) fn scene(monitors: u32) -> (Vec<[Point; 2]>, Vec<Point>) {
    let mut random = Random::from_seed(2);
    let mut point = |low, high| [(); 3].map(|()| random.between(low, high) as f32);
    let rows = (0..ROWS).map(|_| [point(0.0, EDGE), point(-20.0, 20.0)]).collect();
    (rows, (0..monitors).map(|_| point(0.0, EDGE - f64::from(SIDE))).collect())
}

/// The world of the scene.
pub(crate) fn world(monitors: u32) -> World {
    let universe = check(&sources(1.0), None).expect("it is sound").universes.remove(0);
    let element = universe.element_named("mover").expect("it is there");
    let constraint = universe.elements[element.index()].constraints[0];
    let mut world = World::new(universe).expect("it has code");
    let value = |point: Point| Value::Items(point.map(Value::Single).to_vec());
    let (rows, boxes) = scene(monitors);
    for row in rows {
        let row = Value::Row(row.map(value).to_vec());
        world.submit(Change::Construct(element, row)).expect("it fits");
    }
    for (id, low) in (0..).zip(boxes) {
        let arguments = vec![value(low), value(low.map(|x| x + SIDE)), Value::Single(MOVED)];
        let constraint = Some((constraint, arguments));
        let interest = Interest { element, properties: vec![0], constraint, effect: Effect::None };
        world.submit(Change::Register(MonitorId(id), interest)).expect("it fits");
    }
    world.apply(&mut |_| {});
    world
}
