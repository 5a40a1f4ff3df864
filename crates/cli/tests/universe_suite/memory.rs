//! Memory: tables 6.2 and 6.4 to 6.6, figure 6.1.

use std::mem::size_of;
use std::path::Path;

use hemiola_report::text::{count, percent};
use hemiola_runner::modules::Modules;
use hemiola_world::{Interface, World};
use hemiola_world_lang::definition::{
    Constant, Converter, Element, Entity, Expr, Function, Property, Statement, Universe,
};
use hemiola_world_lang::{Value, wire};

use super::page::Page;
use super::timing::Scale;
use super::worlds::{BENCHMARK, structure, universe_text, world};

fn bytes(len: u64) -> String {
    format!("{} B", count(len))
}

/// Entities for figures per entity. A power of two: columns that grow by doubling have no room left over.
const MANY: u64 = 1 << 17;

pub(crate) fn table_2(_: Scale, page: &mut Page) {
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_hemiola")).map_or(0, |file| file.len());
    page.row("all of the system, one executable", bytes(program));
    let world = world(BENCHMARK);
    let structure = structure(&world, "thing");
    let memory = structure.memory(MANY);
    page.row("benchmark entity", format!("{} B in columns", structure.row_len()));
    page.row("benchmark entity with its number, strikes and place", {
        format!("{:.1} B", memory.total() as f64 / MANY as f64)
    });
    page.law(
        "an entity takes no memory of its own besides columns, number, strikes and place",
        memory.columns == MANY * structure.row_len() && memory.beside == MANY * 12,
    );
    let large = super::worlds::world(&universe_text(
        "element e { property position : real[3]; property velocity : real[3]; }",
    ));
    let large = super::worlds::structure(&large, "e");
    let share = large.memory(MANY).total() as f64 / (MANY * large.row_len()) as f64 - 1.0;
    page.row("beside the columns, for six columns of 64 bits", format!("+ {}", percent(share)));
    own_code(&world, page);
}

/// Entities with code of their own: a module computes the benchmark entity.
fn own_code(world: &World, page: &mut Page) {
    let interface = Interface::of(world.universe(), "thing").unwrap();
    let text = interface.wat_example();
    let file = std::env::temp_dir().join(format!("hemiola-suite-{}.wat", std::process::id()));
    std::fs::write(&file, &text).unwrap();
    let stated = [format!("thing={}", file.display())];
    let modules = Modules::read(world.universe(), &stated, Path::new(""));
    std::fs::remove_file(&file).unwrap();
    let loaded = match modules {
        Ok(modules) => modules,
        Err(error) if error.to_string().contains("--features sandbox") => {
            return page.missing("entities with code of their own: this build has no sandbox");
        }
        Err(error) => panic!("{error}"),
    };
    let block = interface.len() as u64;
    let memory = loaded.memory_lens().sum::<u64>();
    page.row("code of their own, one module for all entities", bytes(text.len() as u64));
    page.row("its instance", format!("{}, {} of them a block", bytes(memory), bytes(block)));
    page.row("its instance, for each entity", format!("{:.2} B", memory as f64 / MANY as f64));
    page.law(
        "a module takes as much memory for any number of entities",
        memory == block.next_multiple_of(64 << 10),
    );
}

pub(crate) fn table_4(_: Scale, page: &mut Page) {
    let types = [
        ("Integer", "integer", 4, ""),
        ("Real", "real", 8, ""),
        ("Real, `real32`", "real32", 4, ""),
        ("Boolean", "boolean", 1, ""),
        ("String", "string", 8, ", and each different text once"),
    ];
    for (name, ty, expected, beside) in types {
        let world = world(&universe_text(&format!("element e {{ property p : {ty}; }}")));
        let len = structure(&world, "e").row_len();
        page.row(name, format!("{len} B{beside}"));
        page.law(format!("`{ty}` takes {expected} bytes in a column"), len == expected);
    }
}

/// The structures of a checked definition. Their names, texts and lists take memory of their own.
pub(crate) fn table_5(_: Scale, page: &mut Page) {
    let sizes = [
        ("Literal", size_of::<Value>()),
        ("Constant", size_of::<Constant>()),
        ("Function", size_of::<Function>()),
        ("Element", size_of::<Element>()),
        ("Property", size_of::<Property>()),
        ("Converter", size_of::<Converter>()),
        ("Universe", size_of::<Universe>()),
        ("Entity, of the text", size_of::<Entity>()),
        ("Statement", size_of::<Statement>()),
        ("Expression", size_of::<Expr>()),
    ];
    for (name, len) in sizes {
        page.row(name, format!("{len} B"));
    }
    page.row("Instance, for each entity", "0 B");
    page.row("Dependency, for each monitor", "what it was last sent, by entity");
    let memory = structure(&world(BENCHMARK), "thing").memory(MANY);
    page.law("instances have no administration", memory.columns == MANY * 8);
}

pub(crate) fn table_6(_: Scale, page: &mut Page) {
    let text = universe_text(
        "element triangle {
           element vertex { property coord : real32[3]; }
           property vertexList : vertex[3];
         }",
    );
    let world = world(&text);
    let [triangle, vertex] = ["triangle", "triangle.vertex"].map(|name| structure(&world, name));
    let universe = world.universe();
    let held = size_of::<Universe>()
        + universe.elements.len() * size_of::<Element>()
        + universe.elements.iter().map(|e| e.properties.len()).sum::<usize>()
            * size_of::<Property>();
    page.row("definition", bytes(held as u64));
    page.row("definition, sent", bytes(wire::compress(&text).len() as u64));
    page.row("an instance of vertexList", format!("{} B", triangle.row_len()));
    page.row("of this administration", "0 B");
    page.row("an instance of coord", format!("{} B", vertex.row_len()));
    page.law("a triangle is nine columns of four bytes, and nothing else", {
        (triangle.columns(), triangle.row_len()) == (9, 36)
    });
    page.law("a vertex is a third of a triangle", vertex.row_len() * 3 == triangle.row_len());
    page.law("the packed row is the row", triangle.packed_len() == (36..=36));
}

/// The thesis sums over components. Here the types of a row decide. `crates/world/tests/allocation.rs` compares the
/// prediction with the count of an allocator.
pub(crate) fn figure_1(scale: Scale, page: &mut Page) {
    let entities = scale.of(1_000_usize, 100_000);
    for (name, text, element) in [
        ("benchmark entity", BENCHMARK.to_owned(), "thing"),
        (
            "bus of the town",
            super::worlds::example("base.uml") + &super::worlds::example("ts.uml"),
            "bus",
        ),
    ] {
        let structure = structure(&world(&text), element);
        let memory = structure.memory(entities as u64);
        let columns = entities as u64 * structure.row_len();
        let room = memory.columns - columns;
        page.row(
            format!(
                "{} × {name}: columns + room to grow + number and strikes + directory",
                entities
            ),
            [columns, room, memory.beside, memory.directory].map(bytes).join(" + "),
        );
        let rounded = (entities as u64).next_power_of_two();
        let [once, twice] = [rounded, 2 * rounded].map(|count| structure.memory(count));
        page.law(
            format!("twice as many of {name} take twice the columns, numbers and strikes"),
            twice.columns == 2 * once.columns && twice.beside == 2 * once.beside,
        );
    }
}
