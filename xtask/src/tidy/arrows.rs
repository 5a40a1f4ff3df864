//! Who may depend on whom, and which crates are pure: the picture in `ARCHITECTURE.md` as data.

use super::Violation;
use super::tree::Tree;

/// What a crate is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// A function of its arguments: walled by `clippy.toml` and `forbid(unsafe_code)`.
    Pure,
    /// It touches the world.
    Shell,
}
use Nature::{Pure, Shell};

/// Folder in `crates/`, nature, and the crates of ours it may depend on, in tests too. A new arrow is an
/// architecture decision: whoever adds one here explains it in the same commit.
const CRATES: [(&str, Nature, &[&str]); 22] = [
    ("units", Pure, &[]),
    ("wire", Pure, &[]),
    ("trace", Pure, &["units", "wire"]),
    ("rt", Shell, &["units"]),
    // For programs of others: it knows nobody here, and follows the layout that `rt::shared` draws.
    ("mark", Shell, &[]),
    // Its tests record a program that marks.
    ("record", Shell, &["units", "trace", "rt", "mark"]),
    ("bus", Shell, &["units", "rt", "record"]),
    ("plant", Pure, &["units"]),
    // The faster-than-real-time closed loop, which the decision module is proven in, needs the apparatus.
    ("simplex", Pure, &["units", "plant"]),
    // A plan is made of the cores' own settings, and says of a federation what its record will say.
    ("scenario", Pure, &["units", "trace", "plant", "simplex"]),
    // Figures of merit, as library functions: what a ladder's floors and `measure` stand on.
    ("probe", Shell, &["units", "rt", "bus"]),
    ("analyze", Pure, &["units", "trace"]),
    // A prediction starts from a scenario's plan and is held against an analysed run.
    ("model", Pure, &["units", "trace", "scenario", "analyze"]),
    // An experiment's file is read as strictly as a scenario.
    (
        "measure",
        Shell,
        &["units", "trace", "rt", "record", "scenario", "probe", "analyze", "model"],
    ),
    ("hla", Pure, &["units"]),
    ("fom", Pure, &["units", "hla"]),
    ("fedpro", Pure, &["units", "hla", "wire"]),
    ("rti", Pure, &["units", "hla", "fom"]),
    ("rtid", Shell, &["units", "rt", "hla", "rti", "fom", "fedpro"]),
    // Shared memory and its doorbells are `rt`'s. Its tests and benchmarks run against a real RTI.
    ("federate", Shell, &["units", "hla", "fedpro", "rt", "rtid"]),
    // A federation of a scenario: its RTI and its federates are processes of the run.
    (
        "runner",
        Shell,
        &[
            "units", "trace", "rt", "record", "bus", "plant", "simplex", "scenario", "probe",
            "hla", "federate", "rtid",
        ],
    ),
    (
        "cli",
        Shell,
        &[
            "units", "trace", "rt", "record", "bus", "plant", "simplex", "scenario", "runner",
            "analyze", "probe", "model", "measure", "fom", "rtid", "hla", "fedpro",
        ],
    ),
];

pub(super) fn dependencies_follow_the_table(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in tree.crates() {
        let manifest = format!("crates/{name}/Cargo.toml");
        let Some((_, _, allowed)) = CRATES.iter().find(|(known, ..)| *known == name) else {
            let message = "not in the table of crates in xtask/src/tidy/arrows.rs";
            found.push(Violation::new(&manifest, 0, message));
            continue;
        };
        for (line, target) in dependencies(tree.text(&manifest).expect("the crate was found by it"))
        {
            // A crate that names itself turns on one of its own features for its tests.
            if target != name && !allowed.contains(&target) {
                let message =
                    format!("`{name}` may not depend on `{target}`: the arrow is not in the table");
                found.push(Violation::new(&manifest, line, message));
            }
        }
    }
    found
}

/// Line and short name of each dependency on a crate of ours, for use, tests or building.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let ours = |key: &'_ str| key.trim().trim_matches('"').strip_prefix("hemiola-").map(str::len);
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in (1..).zip(manifest.lines()) {
        let text = text.trim();
        let name = if let Some(section) = text.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies");
            // [dependencies.hemiola-x]
            section.rsplit_once("dependencies.").map(|(_, key)| key)
        } else if inside && !text.starts_with('#') {
            // hemiola-x = …, hemiola-x.workspace = true, or other = { package = "hemiola-x" }
            let renamed = text.split_once("package").and_then(|(_, value)| value.split('"').nth(1));
            renamed.or_else(|| text.split(['=', '.']).next())
        } else {
            None
        };
        if let Some(name) = name
            && let Some(length) = ours(name)
        {
            let name = name.trim().trim_matches('"');
            found.push((line, &name[name.len() - length..]));
        }
    }
    found
}

pub(super) fn pure_crates_are_walled(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let shared = tree.text("crates/units/clippy.toml");
    for name in tree.crates() {
        if !CRATES.iter().any(|(known, nature, _)| *known == name && *nature == Pure) {
            continue;
        }
        let wall = format!("crates/{name}/clippy.toml");
        if tree.text(&wall).is_none() || tree.text(&wall) != shared {
            let message = "a pure crate has the same clippy.toml as crates/units";
            found.push(Violation::new(&wall, 0, message));
        }
        let lib = format!("crates/{name}/src/lib.rs");
        if !tree.text(&lib).is_some_and(|text| text.contains("#![forbid(unsafe_code)]")) {
            found.push(Violation::new(&lib, 0, "a pure crate says #![forbid(unsafe_code)]"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(manifest: &str) -> usize {
        dependencies_follow_the_table(&Tree::of(&[("crates/trace/Cargo.toml", manifest)])).len()
    }

    #[test]
    fn arrow_outside_the_table_is_caught_however_it_is_written() {
        assert_eq!(count("[dependencies]\nhemiola-units.workspace = true\nserde = \"1\""), 0);
        assert_eq!(count("[dependencies]\nhemiola-rt.workspace = true"), 1);
        assert_eq!(count("[dev-dependencies]\nhemiola-rt = { path = \"../rt\" }"), 1);
        assert_eq!(count("[dependencies]\nx = { package = \"hemiola-rt\", path = \"../rt\" }"), 1);
        assert_eq!(
            count("[target.'cfg(unix)'.dependencies]\nhemiola-rt = { workspace = true }"),
            1
        );
        assert_eq!(count("[dev-dependencies]\nhemiola-trace = { path = \".\" }"), 0);
        assert_eq!(count("[dependencies.hemiola-rt]\nworkspace = true"), 1);
        assert_eq!(count("[dependencies]\n# hemiola-rt\n[package]\nname = \"hemiola-rt\""), 0);
    }

    #[test]
    fn unknown_crate_is_caught() {
        let tree = Tree::of(&[("crates/utils/Cargo.toml", "")]);
        assert_eq!(dependencies_follow_the_table(&tree).len(), 1);
    }

    #[test]
    fn table_has_no_cycle() {
        // Each row names only crates of rows above it.
        for (at, (name, _, allowed)) in CRATES.iter().enumerate() {
            let above: Vec<&str> = CRATES[..at].iter().map(|(known, ..)| *known).collect();
            assert!(allowed.iter().all(|target| above.contains(target)), "{name}");
        }
    }

    #[test]
    fn pure_crate_without_its_wall_is_caught() {
        let check = |wall: &str, lib: &str| {
            let tree = Tree::of(&[
                ("crates/units/Cargo.toml", ""),
                ("crates/units/clippy.toml", "same"),
                ("crates/units/src/lib.rs", "#![forbid(unsafe_code)]"),
                ("crates/plant/Cargo.toml", ""),
                ("crates/plant/clippy.toml", wall),
                ("crates/plant/src/lib.rs", lib),
            ]);
            pure_crates_are_walled(&tree).len()
        };
        assert_eq!(check("same", "#![forbid(unsafe_code)]"), 0);
        assert_eq!(check("other", "#![forbid(unsafe_code)]"), 1);
        assert_eq!(check("same", ""), 1);
    }
}
