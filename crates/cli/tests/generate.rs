//! Man pages, completions and the version, which packages of the command contain.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::PROGRAM;

#[test]
fn man_pages_and_completions_are_generated() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generate");
    let _ = fs::remove_dir_all(&folder);
    let status = Command::new(PROGRAM).arg("generate").arg(&folder).status().unwrap();
    assert!(status.success());
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    assert!(read("man/hemiola.1").contains("hemiola\\-trace(1)"));
    assert!(read("man/hemiola-rti-status.1").contains("\\-\\-json"));
    assert!(!folder.join("man/hemiola-generate.1").exists(), "generate is hidden");
    for file in ["hemiola.bash", "_hemiola", "hemiola.fish"] {
        assert!(read(&format!("completions/{file}")).contains("trace"), "{file}");
    }
}

#[test]
fn version_names_the_build() {
    let output = Command::new(PROGRAM).arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    assert!(version.starts_with("hemiola 0.1.0 (commit "), "{version}");
    assert!(version.ends_with(" build, with pubsub)\n"), "{version}");
}
