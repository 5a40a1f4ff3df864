//! The tables and figures of chapter 6 of the thesis of the Universe Simulation System, measured here on one node.
//!
//! The test measures every line in a short form and checks what no slow machine breaks: counts and exact laws.
//! `cargo xtask universe-suite` measures them in the full form, prints the tables with the thesis's numbers beside
//! ours, and says which shapes are kept.

mod interpreter;
mod lines;
mod link;
mod memory;
mod messages;
mod network;
mod page;
mod processes;
mod seed;
mod slower;
mod state;
mod steps;
mod text;
mod timing;
mod traffic;
mod worlds;

use std::fs::File;
use std::io::Write;

use crate::host;
use crate::machine::Machine;
use lines::LINES;
use page::{Line, Page};
use timing::Scale;

/// Names of lines (all by default), and the file for the tables, from `cargo xtask universe-suite`. Without [`OUTPUT`],
/// which may be empty, no tables are made.
const NAMES: &str = "HEMIOLA_SUITE_NAMES";
const OUTPUT: &str = "HEMIOLA_SUITE_OUTPUT";

/// The lines that the environment names.
fn selected() -> Vec<&'static Line> {
    let names = std::env::var(NAMES).unwrap_or_default();
    let names: Vec<&str> = names.split_whitespace().collect();
    let known: Vec<&str> = LINES.iter().map(|line| line.name).collect();
    let unknown: Vec<&&str> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no lines of the suite; use names of {known:?}");
    LINES.iter().filter(|line| names.is_empty() || names.contains(&line.name)).collect()
}

#[test]
fn every_line_keeps_its_counts_and_laws() {
    let pages: Vec<Page> = selected().iter().map(|line| line.measured(Scale::Quick)).collect();
    for reason in pages.iter().flat_map(Page::lacking) {
        println!("skipped: {reason}");
    }
    let broken: Vec<String> = pages.iter().flat_map(Page::broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_number_of_the_thesis_belongs_to_a_line() {
    for (name, what, _) in seed::NUMBERS {
        assert!(LINES.iter().any(|line| line.name == *name), "{name}: {what}");
    }
}

/// Not a test by itself: prints the tables for `cargo xtask universe-suite`, and fails unless every count is right.
#[test]
fn measured() {
    let Ok(output) = std::env::var(OUTPUT) else { return };
    let lines = selected();
    let machine = Machine::take("universe-suite");
    let mut file = (!output.is_empty()).then(|| {
        File::create(&output).unwrap_or_else(|error| panic!("{output} cannot be written: {error}"))
    });
    let mut put = |text: &str| {
        println!("{text}");
        if let Some(file) = &mut file {
            writeln!(file, "{text}").unwrap_or_else(|error| panic!("{output}: {error}"));
        }
    };
    put(&conditions());
    let measured = |line: &&Line| {
        let page = line.measured(Scale::Full);
        put(&page.text());
        page
    };
    let pages: Vec<Page> = lines.iter().map(measured).collect();
    put(&page::summary(&pages));
    machine.nothing_is_left();
    let broken: Vec<String> = pages.iter().flat_map(Page::broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The properties of the machine and the build on which the figures depend.
fn conditions() -> String {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let (machine, load) = (host::machine(), host::load());
    format!(
        "Measured on {machine}, load {load}; {build} build, functions of worlds interpreted by one thread\n"
    )
}
