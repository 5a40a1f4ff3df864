//! Which Rust files the compiler ever sees, and which of them only for tests.

use std::collections::BTreeMap;

use super::Violation;
use super::tree::{Tree, code_only};

pub(super) fn every_file_is_reachable(tree: &Tree) -> Vec<Violation> {
    let reached = reachable(tree);
    let dead = tree.ending(".rs").filter(|(path, _)| !reached.contains_key(*path));
    dead.map(|(path, _)| Violation::new(path, 0, "no `mod` leads to this file")).collect()
}

/// A module with children is `foo.rs` beside `foo/`. In `tests/` and `benches/` Cargo would make `foo.rs` a target of
/// its own, so there, and only there, the file is `foo/mod.rs`.
pub(super) fn modules_with_children_are_named(tree: &Tree) -> Vec<Violation> {
    let unnamed = tree.ending("/mod.rs").filter(|(path, _)| path.contains("/src/"));
    unnamed
        .map(|(path, _)| {
            let folder = path.trim_end_matches("/mod.rs");
            Violation::new(path, 0, format!("move this file to {folder}.rs"))
        })
        .collect()
}

/// Files that are compiled only for tests: those in `tests/` and `benches/`, and modules behind `#[cfg(test)]`.
pub(super) fn only_for_tests(tree: &Tree) -> Vec<String> {
    reachable(tree).into_iter().filter(|(_, test)| *test).map(|(path, _)| path).collect()
}

/// Every file that a target of some package leads to, and whether only tests do.
fn reachable(tree: &Tree) -> BTreeMap<String, bool> {
    let mut reached = BTreeMap::new();
    for (manifest, text) in tree.ending("Cargo.toml") {
        let package = manifest.trim_end_matches("Cargo.toml");
        for (path, _) in tree.ending(".rs") {
            if let Some(inner) = path.strip_prefix(package)
                && is_target(inner, text)
            {
                let test = ["tests/", "benches/"].iter().any(|folder| inner.starts_with(folder));
                follow(tree, path, true, test, &mut reached);
            }
        }
    }
    reached
}

/// Does Cargo compile this path of a package by itself, or because the manifest names it?
fn is_target(path: &str, manifest: &str) -> bool {
    let of_folder = |folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| !rest.contains('/') || rest.split('/').skip(1).eq(["main.rs"]))
    };
    ["src/lib.rs", "src/main.rs", "build.rs"].contains(&path)
        || ["src/bin/", "tests/", "benches/", "examples/"].into_iter().any(of_folder)
        || manifest.contains(&format!("path = \"{path}\""))
}

/// Notes a file and everything its `mod` lines lead to. The root of a target looks beside itself, like `mod.rs`.
fn follow(tree: &Tree, path: &str, root: bool, test: bool, reached: &mut BTreeMap<String, bool>) {
    // Seen for use is stronger than seen for tests.
    if reached.get(path).is_some_and(|&before| !before || test) {
        return;
    }
    reached.insert(path.to_owned(), test);
    let Some(source) = tree.text(path) else { return };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = root || path.ends_with("/mod.rs");
    let below = if beside { folder.to_owned() } else { path.trim_end_matches(".rs").to_owned() };
    for Module { name, at, test: gated } in modules(source) {
        let candidates = match at {
            Some(at) => vec![normal(&format!("{folder}/{at}"))],
            None => vec![format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")],
        };
        for candidate in candidates.iter().filter(|candidate| tree.text(candidate).is_some()) {
            follow(tree, candidate, false, test || gated, reached);
        }
    }
}

/// A path without `x/..`.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

struct Module {
    name: String,
    /// What `#[path = "…"]` says.
    at: Option<String>,
    test: bool,
}

/// The `mod name;` lines of a file, with the attributes above each.
fn modules(source: &str) -> Vec<Module> {
    let mut found = Vec::new();
    let (mut at, mut test) = (None, false);
    for (code, text) in code_only(source).lines().zip(source.lines()) {
        let mut code = code.trim();
        while let Some(attribute) = code.strip_prefix("#[") {
            test |= attribute.starts_with("cfg(test)") || attribute.starts_with("cfg(all(test");
            if attribute.starts_with("path") {
                at = text.split('"').nth(1).map(str::to_owned);
            }
            code = attribute.split_once(']').map_or("", |(_, rest)| rest.trim());
        }
        if code.is_empty() {
            continue;
        }
        let declared = code.strip_suffix(';').and_then(|code| {
            let (before, name) = code.rsplit_once("mod ")?;
            (before.is_empty() || before.starts_with("pub")).then(|| name.trim().to_owned())
        });
        if let Some(name) = declared {
            found.push(Module { name, at: at.take(), test });
        }
        (at, test) = (None, false);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        every_file_is_reachable(&Tree::of(files))
            .into_iter()
            .map(|violation| violation.path)
            .collect()
    }

    #[test]
    fn file_without_mod_line_is_caught() {
        let lib = "//! x\nmod used;\n// mod forgotten;\n";
        let files = [
            ("c/Cargo.toml", ""),
            ("c/src/lib.rs", lib),
            ("c/src/used.rs", ""),
            ("c/src/forgotten.rs", ""),
        ];
        assert_eq!(dead(&files), ["c/src/forgotten.rs"]);
    }

    #[test]
    fn mod_rs_is_caught_in_src_only() {
        let files = [("c/src/a/mod.rs", ""), ("c/src/a.rs", ""), ("c/tests/a/mod.rs", "")];
        let found = modules_with_children_are_named(&Tree::of(&files));
        assert_eq!(found, [Violation::new("c/src/a/mod.rs", 0, "move this file to c/src/a.rs")]);
    }

    #[test]
    fn modules_are_followed_through_folders_attributes_and_paths() {
        let files = [
            ("c/Cargo.toml", "[[bench]]\npath = \"speed/all.rs\""),
            (
                "c/src/lib.rs",
                "pub(crate) mod a;\n#[cfg(test)]\nmod b;\n#[path = \"odd/e.rs\"]\nmod c;",
            ),
            ("c/src/a.rs", "pub mod x;"),
            ("c/src/a/x.rs", ""),
            ("c/src/b/mod.rs", "mod y;"),
            ("c/src/b/y.rs", ""),
            ("c/src/odd/e.rs", ""),
            ("c/src/bin/tool.rs", ""),
            ("c/tests/main.rs", "mod one;"),
            ("c/tests/one/mod.rs", ""),
            ("c/speed/all.rs", ""),
        ];
        assert_eq!(dead(&files), Vec::<String>::new());
        let tests = only_for_tests(&Tree::of(&files));
        assert_eq!(
            tests,
            ["c/src/b/mod.rs", "c/src/b/y.rs", "c/tests/main.rs", "c/tests/one/mod.rs"]
        );
    }

    #[test]
    fn path_is_made_normal() {
        assert_eq!(normal("a/b/../c/./d"), "a/c/d");
    }
}
