//! Rules about single lines of source.

use super::Violation;
use super::modules::only_for_tests;
use super::tree::{Tree, code_only};
use crate::prose;

/// Columns of a line of code.
const WIDTH: usize = 120;

/// Where `unsafe` may be written: system calls, and structures in shared memory; of the crate for programs of others,
/// which depends on nothing, the same two in one file; and the memory that compiled functions of worlds share with
/// their host, with the promise that they keep.
const UNSAFE: [&str; 5] = [
    "crates/rt/src/sys",
    "crates/rt/src/shared",
    "crates/mark/src/shared",
    "crates/sandbox/src/shared",
    "crates/world-sandbox/src/shared",
];

/// The allocator finds its settings by a name that only an unsafe attribute can give.
const ALLOCATOR: &str = "crates/cli/src/allocator.rs";

/// The one kind of test or benchmark that needs it: an allocator that counts, to show what allocates, and how much.
const COUNTING_ALLOCATORS: [&str; 2] = ["/tests/allocation.rs", "/benches/allocation.rs"];

/// Crates that are commands, which print.
const COMMANDS: [&str; 2] = ["crates/cli/", "xtask/"];

pub(super) fn files_say_what_they_hold(tree: &Tree) -> Vec<Violation> {
    let silent = tree.ending(".rs").filter(|(_, text)| !text.starts_with("//! "));
    silent
        .map(|(path, _)| {
            Violation::new(path, 1, "the first line is `//!` and says what the file holds")
        })
        .collect()
}

pub(super) fn lines_are_short(tree: &Tree) -> Vec<Violation> {
    let mut found = each_line(tree, &[".rs", ".c", ".h", ".py"], |text| {
        let columns = text.chars().count();
        (columns > WIDTH).then(|| format!("{columns} columns: more than {WIDTH}"))
    });
    // A line that lies wholly in a string, as in a snapshot of a table, is as long as what it shows.
    found.retain(|Violation { path, line, .. }| {
        let text = tree.text(path).unwrap_or_default();
        let shows =
            |code: &str| code.lines().nth(line - 1).is_some_and(|line| line.trim().is_empty());
        let comment = text.lines().nth(line - 1).is_some_and(|line| line.trim().starts_with("//"));
        comment || !path.ends_with(".rs") || !shows(&code_only(text))
    });
    found
}

pub(super) fn libraries_do_not_print(tree: &Tree) -> Vec<Violation> {
    const PRINTS: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];
    let test_files = only_for_tests(tree);
    let mut found = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let command = COMMANDS.iter().any(|folder| path.starts_with(folder))
            || ["/bin/", "/examples/", "/src/main.rs", "build.rs"]
                .iter()
                .any(|part| path.contains(part))
            || test_files.iter().any(|test| test == path)
            || text.contains("expect(clippy::print_std");
        let code = code_only(text);
        let own = before_tests(&code).lines().count();
        for (line, code) in (1..).zip(code.lines()) {
            if has_word(code, "dbg!") {
                found.push(Violation::new(path, line, "a leftover dbg!"));
            }
            if !command && line <= own && PRINTS.iter().any(|print| has_word(code, print)) {
                found.push(Violation::new(path, line, "a library does not print"));
            }
        }
    }
    found
}

pub(super) fn unsafe_stays_in_its_two_modules(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let allowed = |module: &&str| {
            path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        let counts = COUNTING_ALLOCATORS.iter().any(|end| path.ends_with(end));
        if UNSAFE.iter().any(allowed) || counts || path == ALLOCATOR {
            continue;
        }
        for (line, code) in (1..).zip(code_only(text).lines()) {
            if has_word(code, "unsafe") {
                found.push(Violation::new(
                    path,
                    line,
                    "unsafe belongs in rt::sys, or in rt::shared and the modules of the same name",
                ));
            }
        }
    }
    found
}

pub(super) fn todos_say_until_when(tree: &Tree) -> Vec<Violation> {
    // Spelled in two parts, so that this file keeps its own rule.
    let word = concat!("TO", "DO");
    let ends = [" until ", " when ", " once ", " as soon as "];
    each_line(tree, &[".rs", ".c", ".h", ".py", ".toml", ".md"], |text| {
        let reason = text.split_once(word)?.1;
        (!ends.iter().any(|end| reason.contains(end)))
            .then(|| format!("a {word} names what would let us remove it"))
    })
}

/// No sentence opens with a free relative such as "Who reads slowly": it names its subject. `cargo xtask prose` lists
/// further findings.
pub(super) fn merges_are_finished(tree: &Tree) -> Vec<Violation> {
    let marks = ["<".repeat(7), ">".repeat(7)];
    each_line(tree, &[""], |text| {
        let is_mark = marks.iter().any(|mark| text.starts_with(mark));
        is_mark.then(|| "the mark of a merge: keep one side, or both".to_owned())
    })
}

pub(super) fn sentences_name_their_subject(tree: &Tree) -> Vec<Violation> {
    let findings = prose::findings(tree).into_iter();
    findings
        .filter(|finding| finding.fault == prose::Fault::FreeRelative)
        .map(|finding| {
            let message = format!("a free relative: {}", finding.sentence);
            Violation::new(&finding.path, finding.line, message)
        })
        .collect()
}

pub(super) fn paths_name_no_machine(tree: &Tree) -> Vec<Violation> {
    let places = [
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
        concat!("/wo", "rk/"),
    ];
    let ends = [".rs", ".c", ".h", ".py", ".toml", ".md", ".sh", "/run", ".html", ".json"];
    each_line(tree, &ends, |text| {
        let place = places.iter().find(|place| {
            // The path starts here: what stands before it is no part of one.
            let starts = |at: usize| {
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_.-/}~".contains(c))
            };
            text.match_indices(**place).any(|(at, _)| starts(at))
        })?;
        Some(format!("{place} is a path of one machine"))
    })
}

/// The code of a file without its tests, which stand last.
pub(super) fn before_tests(code: &str) -> &str {
    let marks = ["#[cfg(test)]", "#[cfg(all(test"];
    let tests = marks.into_iter().filter_map(|mark| code.find(mark)).min();
    &code[..tests.unwrap_or(code.len())]
}

/// Whether the code holds this word, not as a part of a longer one.
pub(super) fn has_word(code: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let after = &code[at + word.len()..];
        !code[..at].ends_with(in_word) && (word.ends_with('!') || !after.starts_with(in_word))
    })
}

fn each_line(tree: &Tree, ends: &[&str], rule: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in
        tree.files().iter().filter(|(path, _)| ends.iter().any(|end| path.ends_with(end)))
    {
        for (line, text) in (1..).zip(text.lines()) {
            found.extend(rule(text).map(|message| Violation::new(path, line, message)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&Tree) -> Vec<Violation>;

    /// The lines of one file that break the rule.
    fn check(rule: Rule, path: &str, text: &str, expected: &[usize]) {
        let tree = Tree::of(&[("crates/x/Cargo.toml", ""), (path, text)]);
        let lines: Vec<usize> = rule(&tree).iter().map(|violation| violation.line).collect();
        assert_eq!(lines, expected, "{path}: {text}");
    }

    #[test]
    fn file_without_first_sentence_is_caught() {
        check(files_say_what_they_hold, "crates/x/src/a.rs", "//! Holds a.\n", &[]);
        check(files_say_what_they_hold, "crates/x/src/a.rs", "use b;\n//! Late.\n", &[1]);
    }

    #[test]
    fn long_line_is_caught_by_characters_not_bytes() {
        check(lines_are_short, "a.rs", &"é".repeat(120), &[]);
        check(lines_are_short, "a.c", &format!("x\n{}", "x".repeat(121)), &[2]);
        check(lines_are_short, "a.md", &"x".repeat(500), &[]);
        check(lines_are_short, "a.rs", &format!("// {}", "x".repeat(120)), &[1]);
    }

    #[test]
    fn line_within_a_string_may_be_long_and_one_with_code_may_not() {
        let table = "x".repeat(121);
        check(lines_are_short, "a.rs", &format!("f(\"\n{table}\n\");"), &[]);
        check(lines_are_short, "a.rs", &format!("f(\"{table}\");"), &[1]);
    }

    #[test]
    fn printing_library_is_caught_and_its_tests_are_not() {
        let source = "fn f() { println!() }\n#[cfg(test)]\nmod tests { fn g() { println!() } }\n";
        check(libraries_do_not_print, "crates/x/src/lib.rs", source, &[1]);
        let gated = source.replace("(test)", "(all(test, not(loom)))");
        check(libraries_do_not_print, "crates/x/src/lib.rs", &gated, &[1]);
        check(libraries_do_not_print, "crates/x/src/main.rs", source, &[]);
        check(libraries_do_not_print, "crates/x/tests/main.rs", source, &[]);
        check(libraries_do_not_print, "crates/cli/src/run.rs", source, &[]);
        check(
            libraries_do_not_print,
            "crates/x/src/lib.rs",
            "// println!()\nlet s = \"println!\";",
            &[],
        );
    }

    #[test]
    fn leftover_dbg_is_caught_everywhere() {
        check(libraries_do_not_print, "crates/x/tests/main.rs", "\nf(dbg!(3));", &[2]);
        check(libraries_do_not_print, "crates/x/tests/main.rs", "my_dbg!(3);", &[]);
    }

    #[test]
    fn marks_of_a_merge_are_found() {
        let text = format!("{} HEAD\none\n=======\ntwo\n{} main\n", "<".repeat(7), ">".repeat(7));
        check(merges_are_finished, "docs/a.md", &text, &[1, 5]);
    }

    #[test]
    fn unsafe_outside_its_modules_is_caught() {
        let source = "//! No unsafe here.\n#![forbid(unsafe_code)]\nunsafe { f() }";
        check(unsafe_stays_in_its_two_modules, "crates/x/src/a.rs", source, &[3]);
        check(unsafe_stays_in_its_two_modules, "crates/rt/src/system.rs", source, &[3]);
        check(unsafe_stays_in_its_two_modules, "crates/rt/src/sys/futex.rs", source, &[]);
        check(unsafe_stays_in_its_two_modules, "crates/rt/src/shared.rs", source, &[]);
        check(unsafe_stays_in_its_two_modules, "crates/x/tests/allocation.rs", source, &[]);
        check(unsafe_stays_in_its_two_modules, "crates/x/benches/allocation.rs", source, &[]);
        check(unsafe_stays_in_its_two_modules, "crates/x/src/allocation.rs", source, &[3]);
        check(unsafe_stays_in_its_two_modules, "crates/x/tests/main.rs", source, &[3]);
    }

    #[test]
    fn todo_without_end_is_caught() {
        check(todos_say_until_when, "a.rs", concat!("// TO", "DO: faster\n"), &[1]);
        check(
            todos_say_until_when,
            "a.rs",
            concat!("// TO", "DO: remove when the kernel is 7.0\n"),
            &[],
        );
    }

    #[test]
    fn path_of_a_machine_is_caught() {
        check(paths_name_no_machine, "a.md", concat!("see /ho", "me/me/x"), &[1]);
        check(paths_name_no_machine, "a.rs", concat!("\"/ro", "ot/x\""), &[1]);
        check(
            paths_name_no_machine,
            "a.rs",
            concat!("/proc/self/ro", "ot/etc, ../wo", "rk/x"),
            &[],
        );
    }
}
