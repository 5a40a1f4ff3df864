//! Worlds of the suite.

use std::path::Path;

use hemiola_world::{Change, Effect, EntityId, Interest, MonitorId, Structure, World};
use hemiola_world_lang::definition::{ElementId, Universe};
use hemiola_world_lang::{Sources, Value, check};

/// The benchmark entity of the thesis, as the example has it.
pub(crate) const BENCHMARK: &str = include_str!("../../../../examples/16-benchmark/benchmark.uml");

pub(crate) fn sources(text: &str) -> Sources {
    Sources::of("suite.uml", text).expect("it is short")
}

/// The universe `u` with these items.
pub(crate) fn universe_text(items: &str) -> String {
    format!("universe u {{ {items} }}")
}

pub(crate) fn world(text: &str) -> World {
    World::new(universe(text)).expect("it has code")
}

pub(crate) fn universe(text: &str) -> Universe {
    check(&sources(text), None).expect("it is sound").universes.remove(0)
}

pub(crate) fn element(world: &World, name: &str) -> ElementId {
    world.universe().element_named(name).expect("it is there")
}

pub(crate) fn structure(world: &World, name: &str) -> Structure {
    Structure::of(world.universe(), element(world, name)).expect("it is there")
}

/// The row of an element with all defaults.
pub(crate) fn default_row(world: &World, element: ElementId) -> Value {
    let properties = world.universe().elements[element.index()].properties.iter();
    Value::Row(properties.map(|property| property.default.clone()).collect())
}

/// Constructs so many entities with the default row.
pub(crate) fn populate(world: &mut World, name: &str, entities: usize) {
    let element = element(world, name);
    construct(world, element, &default_row(world, element), entities);
}

pub(crate) fn construct(world: &mut World, element: ElementId, row: &Value, entities: usize) {
    for _ in 0..entities {
        world.submit(Change::Construct(element, row.clone())).expect("it fits");
    }
    world.apply(&mut |_| {});
}

pub(crate) fn destruct(world: &mut World, entities: &[EntityId]) {
    for entity in entities {
        world.submit(Change::Destruct(*entity)).expect("it exists");
    }
    world.apply(&mut |_| {});
}

/// Registers a monitor of one property for all entities of an element.
pub(crate) fn watch(world: &mut World, id: u32, name: &str, property: u32) {
    let element = element(world, name);
    let interest =
        Interest { element, properties: vec![property], constraint: None, effect: Effect::None };
    world.submit(Change::Register(MonitorId(id), interest)).expect("it fits");
}

/// A definition of the examples of the language.
pub(crate) fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../world-lang/examples/worlds");
    std::fs::read_to_string(folder.join(name)).expect("the example is there")
}
