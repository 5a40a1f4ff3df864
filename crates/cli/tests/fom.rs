//! `hemiola fom check`.

use std::path::Path;
use std::process::{Command, Output};

use crate::command::PROGRAM;

fn check(arguments: &[&str]) -> (Output, String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fom");
    let output = Command::new(PROGRAM)
        .args(["fom", "check"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

#[test]
fn sound_modules_show_their_tree() {
    let (output, out, err) = check(&["traffic.xml", "trucks.xml"]);
    assert_eq!((output.status.code(), &*err), (Some(0), ""));
    assert!(out.contains("└─ Vehicle  PublishSubscribe  [Lane]"), "{out}");
    assert!(!out.contains("HLAmanager"), "{out}");
    let (_, out, _) = check(&["traffic.xml", "--all"]);
    assert!(out.contains("HLAmanager"), "{out}");
}

#[test]
fn every_problem_of_every_file_is_printed_at_once() {
    let (output, out, err) = check(&["broken.xml", "missing.xml", "traffic.xml", "contrary.xml"]);
    assert_eq!((output.status.code(), &*out), (Some(2), ""));
    for place in
        ["missing.xml cannot be read", "broken.xml:5:13", "contrary.xml:10:", "traffic.xml:"]
    {
        assert!(err.contains(place), "{place} in {err}");
    }
    assert!(err.trim_end().ends_with("errors"), "{err}");
}

#[test]
fn a_partial_model_lists_what_it_needs() {
    let (output, _, err) = check(&["contrary.xml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("object class HLAobjectRoot.Building is named but not defined"), "{err}");
    let (_, out, _) = check(&["contrary.xml", "--partial", "--tree"]);
    assert!(out.contains("needed from other modules"), "{out}");
    assert!(out.contains("data type Meters is not defined  contrary.xml:27:"), "{out}");
}

#[test]
fn a_folder_stands_for_the_modules_in_it() {
    let (output, _, err) = check(&["."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("broken.xml:") && err.contains("contrary.xml:"), "{err}");
}

#[test]
fn a_command_line_without_files_is_refused() {
    let (output, ..) = check(&[]);
    assert_eq!(output.status.code(), Some(2));
}
