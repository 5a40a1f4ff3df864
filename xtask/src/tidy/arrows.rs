//! The allowed dependencies between crates, and which crates are pure: the picture in `ARCHITECTURE.md` as data.

use super::Violation;
use super::lines::{before_tests, has_word};
use super::modules::only_for_tests;
use super::tree::{Tree, code_only};

/// Whether a crate touches the world.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// A function of its arguments: walled by `clippy.toml` and `forbid(unsafe_code)`.
    Pure,
    /// It reads clocks, opens files or starts threads.
    Shell,
}
use Nature::{Pure, Shell};

/// Folder in `crates/`, nature, and the crates of the workspace that it may depend on, in tests too. A new arrow is an
/// architecture decision: the commit that adds one explains it.
const CRATES: [(&str, Nature, &[&str]); 34] = [
    ("units", Pure, &[]),
    ("diagnostic", Pure, &[]),
    // Misspelt units get a suggestion.
    ("quantity", Pure, &["diagnostic"]),
    ("wire", Pure, &[]),
    ("trace", Pure, &["units", "wire"]),
    ("rt", Shell, &["units"]),
    // For other people's programs: it depends on nothing, and follows the layout that `rt::shared` draws.
    ("mark", Shell, &[]),
    // For other people's programs: it reads the queue of a universe as `world` writes it.
    ("manager", Shell, &["units", "rt"]),
    // Its tests record a program that marks.
    ("record", Shell, &["units", "trace", "rt", "mark"]),
    ("bus", Shell, &["units", "rt"]),
    // Its engine maps memory and compiles; it knows nothing of those who use it.
    ("sandbox", Shell, &["rt"]),
    ("plant", Pure, &["units"]),
    // The simulation that tests the decision module faster than real time needs the apparatus.
    ("simplex", Pure, &["units", "plant"]),
    // A plan holds the settings of the cores, and describes a federation in the words of its record.
    ("scenario", Pure, &["units", "diagnostic", "trace", "plant", "simplex"]),
    // A scenario's floors and `measure` use its figures of merit.
    ("probe", Shell, &["units", "diagnostic", "rt", "bus"]),
    // Its tests draw seeded random numbers.
    ("stats", Pure, &["units"]),
    // Every report ends with the conditions of a result folder.
    ("report", Pure, &["stats", "trace"]),
    ("analyze", Pure, &["units", "trace", "stats", "report"]),
    // A prediction starts from a scenario's plan and is compared with an analysed run.
    ("model", Pure, &["units", "diagnostic", "quantity", "scenario", "stats", "report", "analyze"]),
    // The file of an experiment is read as strictly as a scenario.
    (
        "measure",
        Shell,
        &[
            "units",
            "diagnostic",
            "quantity",
            "trace",
            "rt",
            "scenario",
            "probe",
            "stats",
            "report",
            "model",
        ],
    ),
    // Its tests write random programs.
    ("world-lang", Pure, &["units", "diagnostic", "quantity"]),
    // Its tests compare random programs with the tree walker.
    ("world-code", Pure, &["units", "world-lang"]),
    ("world-plan", Pure, &["world-lang"]),
    ("world", Pure, &["units", "world-lang", "world-code", "world-plan"]),
    // The engine of the compiled tier; its tests run whole worlds in both tiers.
    ("world-sandbox", Shell, &["units", "rt", "sandbox", "world-lang", "world-code", "world"]),
    ("hla", Pure, &[]),
    ("fom", Pure, &["diagnostic", "hla"]),
    ("fedpro", Pure, &["units", "hla", "wire"]),
    ("rti", Pure, &["units", "hla", "fom"]),
    // The rules of the process: tested by simulation, with virtual links in place of sockets.
    ("rti-server", Pure, &["units", "hla", "rti", "fedpro"]),
    // Its tests are federates over real sockets.
    ("rtid", Shell, &["units", "rt", "rti", "rti-server", "hla", "fedpro"]),
    // `rt` has the shared memory and its wake-ups. Its tests and benchmarks run against a real RTI.
    ("federate", Shell, &["units", "hla", "fedpro", "rt", "rtid"]),
    // The RTI, the federates and the universes of a scenario are processes of its run.
    (
        "runner",
        Shell,
        &[
            "units",
            "trace",
            "rt",
            "record",
            "bus",
            "plant",
            "simplex",
            "scenario",
            "probe",
            "hla",
            "federate",
            "rtid",
            "sandbox",
            "world",
            "world-lang",
            "world-sandbox",
        ],
    ),
    (
        "cli",
        Shell,
        &[
            "units",
            "diagnostic",
            "trace",
            "rt",
            "record",
            // Its tests control a recording from Rust.
            "mark",
            // `universe watch` is a manager.
            "manager",
            // Its tests write traces as other programs do.
            "wire",
            "scenario",
            "runner",
            "stats",
            "report",
            "analyze",
            "probe",
            "model",
            "measure",
            "fom",
            "world-lang",
            "world-plan",
            "world",
            "rtid",
            "hla",
            "fedpro",
            // Its tests attack an RTI beside a healthy pair of federates.
            "federate",
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
        let text = tree.text(&manifest).expect("the crate was found by it");
        for dependency in dependencies(text) {
            let Some(target) = dependency.ours() else { continue };
            // A crate that names itself turns on one of its own features for its tests.
            if target != name && !allowed.contains(&target) {
                let message =
                    format!("`{name}` may not depend on `{target}`: the arrow is not in the table");
                found.push(Violation::new(&manifest, dependency.line, message));
            }
        }
    }
    found
}

/// Each arrow of the table stands in the manifest of its crate.
pub(super) fn arrows_of_the_table_are_used(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, _, allowed) in CRATES {
        let Some(manifest) = tree.text(&format!("crates/{name}/Cargo.toml")) else { continue };
        let used: Vec<&str> = dependencies(manifest).filter_map(Dependency::ours).collect();
        for target in allowed.iter().filter(|target| !used.contains(target)) {
            let message =
                format!("the table lets `{name}` depend on `{target}`, which it does not");
            found.push(Violation::new("xtask/src/tidy/arrows.rs", 0, message));
        }
    }
    found
}

/// Each dependency is named in the code that may use it: a normal one outside the tests, one for tests anywhere, one of
/// the workspace in some crate's manifest.
pub(super) fn dependencies_are_used(tree: &Tree) -> Vec<Violation> {
    let test_files = only_for_tests(tree);
    let mut found = Vec::new();
    for (manifest, text) in tree.ending("Cargo.toml") {
        let package = manifest.trim_end_matches("Cargo.toml");
        for dependency in dependencies(text) {
            let name = dependency.key.replace('-', "_");
            let used = match dependency.section {
                Section::Workspace => tree.ending("Cargo.toml").any(|(member, text)| {
                    member != manifest && dependencies(text).any(|used| used.key == dependency.key)
                }),
                section => tree.ending(".rs").any(|(path, text)| {
                    let Some(inner) = path.strip_prefix(package) else { return false };
                    match section {
                        Section::Build => inner == "build.rs" && has_word(&code_only(text), &name),
                        // A documentation test may use it too, so comments are read.
                        Section::Tests => has_word(text, &name),
                        _ if inner == "build.rs" || test_files.iter().any(|test| test == path) => {
                            false
                        }
                        _ => has_word(before_tests(&code_only(text)), &name),
                    }
                }),
            };
            if !used {
                let message = format!("no code that this section is for uses `{}`", dependency.key);
                found.push(Violation::new(manifest, dependency.line, message));
            }
        }
    }
    found
}

/// Each feature of a crate does something and is turned on by some manifest of the workspace.
pub(super) fn features_are_used(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in tree.crates() {
        let manifest = format!("crates/{name}/Cargo.toml");
        let text = tree.text(&manifest).expect("the crate was found by it");
        for (line, feature, enables) in features(text) {
            let gate = format!("feature = \"{feature}\"");
            let source = format!("crates/{name}/");
            let gates =
                |(path, text): (&str, &str)| path.starts_with(&source) && text.contains(&gate);
            if enables == "[]" && !tree.ending(".rs").any(gates) {
                let message = format!("the feature `{feature}` changes nothing");
                found.push(Violation::new(&manifest, line, message));
            }
            let package = format!("hemiola-{name}");
            let turned_on =
                tree.ending("Cargo.toml").flat_map(|(_, text)| text.lines()).any(|line| {
                    line.contains(&format!("{package}/{feature}\""))
                        || line.starts_with(&package)
                            && line
                                .split_once("features")
                                .is_some_and(|(_, list)| list.contains(&format!("\"{feature}\"")))
                });
            // Those who build the command turn on its features.
            if feature != "default" && name != "cli" && !turned_on {
                let message = format!("no crate turns on the feature `{feature}`");
                found.push(Violation::new(&manifest, line, message));
            }
        }
    }
    found
}

/// Line, name and list of each feature that a manifest declares.
fn features(manifest: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let lines =
        (1..).zip(manifest.lines()).skip_while(|(_, text)| text.trim() != "[features]").skip(1);
    lines.take_while(|(_, text)| !text.starts_with('[')).filter_map(|(line, text)| {
        let (name, list) = text.split_once('=')?;
        (!name.starts_with('#')).then_some((line, name.trim(), list.trim()))
    })
}

/// The code that a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Code,
    Tests,
    Build,
    Workspace,
}

/// One line, or one section, of a manifest that names a dependency.
#[derive(Clone, Copy, Debug)]
struct Dependency<'a> {
    line: usize,
    section: Section,
    /// The name in the code, with `-` for `_`.
    key: &'a str,
    /// The name of the package, where the manifest renames it.
    package: Option<&'a str>,
}

impl<'a> Dependency<'a> {
    /// The folder of the crate of this workspace that it is.
    fn ours(self) -> Option<&'a str> {
        self.package.unwrap_or(self.key).strip_prefix("hemiola-")
    }
}

fn dependencies(manifest: &str) -> impl Iterator<Item = Dependency<'_>> {
    let mut section = None;
    (1..).zip(manifest.lines()).filter_map(move |(line, text)| {
        let text = text.trim();
        if let Some(heading) = text.strip_prefix('[') {
            let heading = heading.trim_end_matches(']');
            // [dependencies], or [dependencies.name]
            let (path, key) = heading
                .rsplit_once("dependencies")
                .map_or(("", None), |(path, rest)| (path, rest.strip_prefix('.')));
            section = heading.contains("dependencies").then_some(match path {
                "workspace." => Section::Workspace,
                path if path.ends_with("dev-") => Section::Tests,
                path if path.ends_with("build-") => Section::Build,
                _ => Section::Code,
            });
            let found = key.zip(section).map(|(key, section)| Dependency {
                line,
                section,
                key,
                package: None,
            });
            // The lines below [dependencies.name] are keys of that dependency.
            if key.is_some() {
                section = None;
            }
            return found;
        }
        let key = text.split(['=', '.']).next()?.trim().trim_matches('"');
        if key.is_empty() || key.starts_with('#') {
            return None;
        }
        let package = text.split_once("package").and_then(|(_, value)| value.split('"').nth(1));
        Some(Dependency { line, section: section?, key, package })
    })
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
    fn arrow_that_no_manifest_uses_is_caught() {
        let count = |manifest| {
            arrows_of_the_table_are_used(&Tree::of(&[("crates/plant/Cargo.toml", manifest)])).len()
        };
        assert_eq!(count("[dependencies]\nhemiola-units.workspace = true"), 0);
        assert_eq!(count("[dependencies]\nserde = \"1\""), 1);
    }

    #[test]
    fn dependency_that_no_code_uses_is_caught() {
        let count = |section: &str, lib: &str, tests: &str| {
            let manifest = format!("[{section}]\nserde-json.workspace = true");
            let tree = Tree::of(&[
                ("crates/x/Cargo.toml", &manifest),
                ("crates/x/src/lib.rs", lib),
                ("crates/x/tests/main.rs", tests),
            ]);
            dependencies_are_used(&tree).len()
        };
        assert_eq!(count("dependencies", "use serde_json::Value;", ""), 0);
        assert_eq!(count("dependencies", "// serde_json\nuse serde;", ""), 1);
        assert_eq!(count("dependencies", "#[cfg(test)]\nuse serde_json::Value;", ""), 1);
        assert_eq!(count("dependencies", "", "use serde_json::Value;"), 1);
        assert_eq!(count("dev-dependencies", "", "use serde_json::Value;"), 0);
        assert_eq!(count("dev-dependencies", "/// use serde_json::Value;", ""), 0);
        assert_eq!(count("target.'cfg(loom)'.dev-dependencies", "", ""), 1);
        assert_eq!(count("build-dependencies", "use serde_json::Value;", ""), 1);
        assert_eq!(count("workspace.dependencies", "use serde_json::Value;", ""), 1);
        assert_eq!(count("dependencies.serde-json", "", ""), 1);
    }

    #[test]
    fn feature_without_effect_or_user_is_caught() {
        let count = |list: &str, lib: &str, user: &str| {
            let manifest = format!("[features]\n# A word.\nfast = {list}\n");
            let tree = Tree::of(&[
                ("crates/x/Cargo.toml", &manifest),
                ("crates/x/src/lib.rs", lib),
                ("crates/y/Cargo.toml", user),
            ]);
            features_are_used(&tree).len()
        };
        let user = "[dependencies]\nhemiola-x = { workspace = true, features = [\"fast\"] }";
        assert_eq!(count("[]", "#[cfg(feature = \"fast\")]", user), 0);
        assert_eq!(count("[\"dep:a\"]", "", user), 0);
        assert_eq!(count("[]", "", user), 1);
        assert_eq!(count("[\"dep:a\"]", "", ""), 1);
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
