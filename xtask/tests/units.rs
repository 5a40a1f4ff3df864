//! The example units keep the contract that `docs/guide/units.md` states, as `examples/units/check.c` judges it.

#![expect(clippy::print_stdout, reason = "says what it skipped")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FLAGS: [&str; 5] = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples/units")
}

fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        println!("skipped: needs {tool}");
    }
    there
}

/// Compiles a C file of the examples, each test to its own file.
fn compile(source: &str, to: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(to);
    let source = examples().join(source);
    let output = Command::new("gcc")
        .args(FLAGS)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn judge(check: &Path, unit: &[&Path]) -> Output {
    Command::new(check).args(unit).output().unwrap()
}

fn assert_sound(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.starts_with(b"sound: 1500 commands"));
}

#[test]
fn c_unit_keeps_the_contract_and_balances_the_pendulum() {
    if has("gcc") {
        assert_sound(&judge(&compile("check.c", "check-c"), &[&compile("c/unit.c", "unit-c")]));
    }
}

#[test]
fn python_unit_keeps_the_contract_and_balances_the_pendulum() {
    if has("gcc") && has("python3") {
        let unit = examples().join("python/unit.py");
        assert_sound(&judge(&compile("check.c", "check-python"), &[Path::new("python3"), &unit]));
    }
}

#[test]
fn unit_that_ends_or_does_not_exist_is_found_out() {
    if has("gcc") {
        let check = compile("check.c", "check-none");
        for unit in ["true", "./no-such-unit"] {
            let output = judge(&check, &[Path::new(unit)]);
            assert_eq!(output.status.code(), Some(1));
            assert!(String::from_utf8_lossy(&output.stderr).contains("the unit ended by itself"));
        }
    }
}

#[test]
fn c_unit_is_under_100_lines() {
    assert!(std::fs::read_to_string(examples().join("c/unit.c")).unwrap().lines().count() < 100);
}
