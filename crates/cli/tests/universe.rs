//! `hemiola universe`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::PROGRAM;

fn worlds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../world-lang/examples/worlds")
}

fn universe(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output: Output =
        Command::new(PROGRAM).arg("universe").args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn texts_of_one_universe_are_checked_together() {
    let (code, out, err) = universe(&worlds(), &["check", "base.uml", "ts.uml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(out, "universe town is sound: 9 elements, 5 entities\n");
    let (code, out, err) = universe(&worlds(), &["check", "ts.uml", "missing.uml"]);
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(err.starts_with("error: missing.uml cannot be read"), "{err}");
    let (code, _, err) = universe(&worlds(), &["check", "ts.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no element is named `thing`") && err.contains("ts.uml:17:20"), "{err}");
    assert!(err.trim_end().ends_with("errors"), "{err}");
}

#[test]
fn show_names_sizes_and_bounds() {
    let (code, out, _) = universe(&worlds(), &["show", "orbit.uml"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("element body  7 columns, 56 bytes per entity"), "{out}");
    assert!(out.contains("at most 82055 operations"), "{out}");
}

#[test]
fn format_rewrites_files_that_are_not_canonical() {
    let folder = std::env::temp_dir().join(format!("hemiola-universe-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.uml"), "UNIVERSE u{CONSTANT a=1;}").unwrap();
    let (code, out, _) = universe(&folder, &["format", "--check", "a.uml"]);
    assert_eq!((code, &*out), (Some(1), "a.uml is not in canonical form\n"));
    assert_eq!(universe(&folder, &["format", "a.uml"]).0, Some(0));
    assert_eq!(
        fs::read_to_string(folder.join("a.uml")).unwrap(),
        "universe u { constant a = 1; }\n"
    );
    assert_eq!(universe(&folder, &["format", "--check", "a.uml"]).0, Some(0));
    fs::write(folder.join("b.uml"), "universe").unwrap();
    let (code, _, err) = universe(&folder, &["format", "b.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("expected the name of the universe, found the end of the text"), "{err}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tokens_prints_the_forms_for_the_network() {
    let (code, out, _) = universe(&worlds(), &["tokens", "base.uml", "ts.uml"]);
    assert_eq!(code, Some(0));
    assert!(out.lines().next().unwrap().contains("tokens compr."), "{out}");
    assert_eq!(out.lines().filter(|line| line.starts_with("ts.uml")).count(), 2, "{out}");
}

#[test]
fn converters_read_the_definition_before() {
    let folder = std::env::temp_dir().join(format!("hemiola-converters-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("old.uml"), "universe u { element e { property v : real; } }").unwrap();
    let new = "universe u { element e { property w : real; converter w = 2 * v; converter back v = w / 2; } }";
    fs::write(folder.join("new.uml"), new).unwrap();
    assert_eq!(universe(&folder, &["check", "new.uml", "--after", "old.uml"]).0, Some(0));
    let (code, _, err) = universe(&folder, &["check", "new.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--after FILE"), "{err}");
    fs::remove_dir_all(&folder).unwrap();
}
