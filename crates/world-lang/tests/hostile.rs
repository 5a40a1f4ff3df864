//! Texts that try to cost more than their length: each ends in a problem or a definition.

use hemiola_world_lang::{Sources, check, fuzzing, render};

/// The first problem of a text, or "sound".
fn first_problem(text: &str) -> String {
    let sources = Sources::of("w", text).unwrap();
    match check(&sources, None) {
        Ok(_) => "sound".into(),
        Err(problems) => {
            assert!(!render(&problems, &sources).is_empty());
            problems[0].message.clone()
        }
    }
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(first_problem(text), message);
}

#[test]
fn nesting_is_bounded() {
    let nesting = "more than 64 levels of nesting";
    let deep = 100_000;
    refused(&format!("universe u {{ constant a = {}1; }}", "(".repeat(deep)), nesting);
    refused(&format!("universe u {{ constant a = {}1; }}", "[".repeat(deep)), nesting);
    refused(&format!("universe u {{ constant a = {}1; }}", "- ".repeat(deep)), nesting);
    refused(
        &format!("universe u {{ constant a = {} }}", "if true { 1 } else ".repeat(deep)),
        nesting,
    );
    refused(&format!("universe u {}", "{ element e ".repeat(deep)), nesting);
    refused(
        &format!(
            "universe u {{ element e {{ update() {{ {} }} }} }}",
            "if true { } else ".repeat(deep)
        ),
        nesting,
    );
    refused(
        &format!("universe u {{ constant a = 1{}; }}", " + 1".repeat(deep)),
        "an expression of more than 200 levels",
    );
    refused(
        &format!("universe u {{ constant a = b{}; }}", "[0]".repeat(deep)),
        "an expression of more than 200 levels",
    );
    refused(
        &format!("universe u {{ element e {{ property p : real{}; }} }}", "[1]".repeat(deep)),
        "a type has at most 8 pairs of brackets",
    );
}

#[test]
fn expressions_at_the_limits_are_sound() {
    refused(&format!("universe u {{ constant a = 1{}; }}", " + 1".repeat(199)), "sound");
    refused(
        &format!("universe u {{ constant a = {}1{}; }}", "(".repeat(60), ")".repeat(60)),
        "sound",
    );
}

#[test]
fn many_components_are_fine() {
    let elements: String =
        (0..100_000).map(|at| format!("element e{at} {{ property p : real; }}\n")).collect();
    refused(&format!("universe u {{ {elements} }}"), "sound");
    let constants: String =
        (1..100_000).map(|at| format!("constant c{at} = c{} + 1;\n", at - 1)).collect();
    refused(&format!("universe u {{ {constants} constant c0 = 0; }}"), "sound");
    let functions: String = (1..20_000)
        .map(|at| format!("function f{at}() : integer = f{}() + 1;\n", at - 1))
        .collect();
    refused(&format!("universe u {{ {functions} function f0() : integer = 0; }}"), "sound");
}

#[test]
fn sizes_that_multiply_are_bounded() {
    let doubling: String = (1..64)
        .map(|at| {
            format!("element e{at} {{ property a : e{}; property b : e{}; }}\n", at - 1, at - 1)
        })
        .collect();
    refused(
        &format!("universe u {{ element e0 {{ property p : real; }} {doubling} }}"),
        "a row of `e17` has 131072 scalars; 65536 are the most",
    );
    let calls: String = (1..64)
        .map(|at| format!("function f{at}() : integer = f{} () + f{}();\n", at - 1, at - 1))
        .collect();
    let message = first_problem(&format!("universe u {{ function f0() : integer = 0; {calls} }}"));
    assert!(
        message.starts_with("one call takes up to ") && message.ends_with("10000000 are the most"),
        "{message}"
    );
    let wide = "universe u { element w { property p : real[60000]; }";
    let derived: String = (0..10_000).map(|at| format!("element d{at} : w {{ }}\n")).collect();
    let message = first_problem(&format!("{wide} {derived} }}"));
    assert!(message.starts_with("the elements have more than"), "{message}");
    let constants: String =
        (0..2000).map(|at| format!("constant c{at} : real[3] = c + c + c;\n")).collect();
    refused(&format!("universe u {{ constant c : real[3] = [1, 2, 3]; {constants} }}"), "sound");
    let chain: String = (1..200).map(|at| format!("element e{at} : e{} {{ }}\n", at - 1)).collect();
    refused(
        &format!("universe u {{ element e0 {{ }} {chain} }}"),
        "more than 64 elements are derived from each other",
    );
}

#[test]
fn elements_within_elements_are_bounded() {
    let chain: String =
        (1..100_000).map(|at| format!("element e{at} {{ property p : e{}; }}\n", at - 1)).collect();
    refused(
        &format!("universe u {{ element e0 {{ property p : real; }} {chain} }}"),
        "more than 64 elements contain each other",
    );
}

#[test]
fn long_bodies_are_read_once() {
    let values: String = (0..30_000).map(|at| format!("let v{at} = n; n = 1;")).collect();
    refused(
        &format!("universe u {{ element e {{ property n : integer; update() {{ {values} }} }} }}"),
        "sound",
    );
    let text = "constant # = \"x\" == \"y\"; ";
    let texts: String = (0..30_000).map(|at| text.replace('#', &format!("a{at}"))).collect();
    refused(&format!("universe u {{ {texts} }}"), "sound");
}

#[test]
fn problems_are_bounded() {
    let sources = Sources::of("w", "§".repeat(100_000)).unwrap();
    assert_eq!(check(&sources, None).unwrap_err().len(), 1000);
    let sources = Sources::of("w", "universe u { ".to_owned() + &"x ; ".repeat(100_000)).unwrap();
    assert_eq!(check(&sources, None).unwrap_err().len(), 1000);
}

#[test]
fn odd_bytes_do_no_harm() {
    for bytes in [
        &b"\xff\xfe"[..],
        b"\0",
        b"\"\\",
        b"\"",
        b"/",
        b"universe",
        b"1<",
        b"1<m",
        b"real<m>",
        b"}",
        b"{}{",
        b"...",
    ] {
        fuzzing::definition(bytes);
        fuzzing::from_wire(bytes);
    }
}
