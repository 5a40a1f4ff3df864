//! The canonical form, and the forms for the network.

use hemiola_world_lang::wire::{self, WireError};
use hemiola_world_lang::{Sources, check, format, show};

#[track_caller]
fn check_form(text: &str, expected: &str) {
    let canonical = format(&Sources::of("w", text).unwrap()).unwrap();
    assert!(canonical == expected, "{canonical}");
    assert_eq!(format(&Sources::of("w", &*canonical).unwrap()), Ok(canonical));
}

#[test]
fn blanks_lines_and_keywords_become_canonical() {
    check_form(
        "UNIVERSE u{CONSTANT g:REAL<m/s^2>= - 9.81<m/s^2>;ELEMENT a:b WAS c{PROPERTY p:REAL [ 3 ] [..4]INDEXED BY 2;}\n\n\n\
         ELEMENT b{UPDATE(dt:REAL){p[0]+=-dt*(2-1);IF p>1{p=0;}ELSE{p=IF NOT a{1}ELSE{2};}}}}",
        "\
universe u {
  constant g : real<m/s^2> = -9.81<m/s^2>;
  element a : b was c { property p : real[3][..4] indexed by 2; }

  element b {
    update(dt : real) {
      p[0] += -dt * (2 - 1);
      if p > 1 { p = 0; } else { p = if not a { 1 } else { 2 }; }
    }
  }
}
",
    );
}

#[test]
fn comments_stay_where_they_are() {
    check_form(
        "// first\n\n\n// second  \nuniverse u { // third\n\n // fourth\n  constant a = 1; // fifth\n \
         constant b = // sixth\n 2;\n\n // last\n\n }\n// end",
        "\
// first

// second
universe u { // third

  // fourth
  constant a = 1; // fifth
  constant b = // sixth
    2;

  // last
}
// end
",
    );
    check_form("", "");
    check_form("  // only\r\n", "// only\n");
}

#[test]
fn line_breaks_within_a_statement_stay() {
    check_form(
        "universe u { function f(\na : real,\n\nb : real) : real =\na\n+ b;\n function g() : boolean { return\n\
         f(1, 2) > if true {\n 1 } else { 2 }\n; } }",
        "\
universe u {
  function f(
    a : real,
    b : real) : real =
    a
    + b;
  function g() : boolean {
    return
      f(1, 2) > if true {
        1
      } else { 2 };
  }
}
",
    );
}

#[test]
fn a_text_with_a_problem_is_not_formatted() {
    let problems = format(&Sources::of("w", "universe u {").unwrap()).unwrap_err();
    assert_eq!(problems[0].message, "this brace is not closed");
}

#[test]
fn texts_survive_compression_and_tokens() {
    for text in [
        include_str!("../examples/worlds/base.uml"),
        include_str!("../examples/worlds/orbit.uml"),
        include_str!("../examples/worlds/triangle.uml"),
        "",
    ] {
        let sources = Sources::of("w", text).unwrap();
        let packed = wire::compress(text);
        assert_eq!(wire::expand(&packed).as_deref(), Ok(text));
        let plain = wire::untokenise(&wire::tokens(&sources.files()[0])).unwrap();
        let plain = Sources::of("w", plain).unwrap();
        assert_eq!(
            check(&plain, None).as_ref().map(show),
            check(&sources, None).as_ref().map(show)
        );
    }
}

#[test]
fn the_dictionary_shortens_the_text_that_is_sent() {
    let source = Sources::of("w", include_str!("../examples/worlds/ts.uml")).unwrap();
    let found = wire::lengths(&source.files()[0]);
    // Table 6.3 of the thesis, `ts.uml`: 5910 bytes, packed 38.5 %, tokens 83.8 %, both 36.2 %.
    assert!(
        found.sent < found.packed
            && found.packed_tokens < found.tokens
            && found.tokens < found.text,
        "{found:?}"
    );
    assert!(found.sent * 100 < found.text * 37, "{found:?}");
}

#[test]
fn damaged_bytes_are_refused() {
    let packed = wire::compress("universe u { }");
    assert_eq!(wire::expand(&packed[..packed.len() - 2]), Err(WireError::Damaged));
    assert_eq!(wire::expand(&[]), Err(WireError::Damaged));
    assert_eq!(wire::untokenise(&[0x02, 0]), Err(WireError::NoToken(0)));
    assert_eq!(wire::untokenise(&[0x80, 0x01, 9, b'x']), Err(WireError::NoToken(1)));
    assert_eq!(wire::untokenise(&[0x80 | 63]), Err(WireError::NoToken(0)));
    assert_eq!(wire::untokenise(&[0x7f]), Err(WireError::NoToken(0)));
    // Three bytes that would become many: names are repeated up to the limit of a text.
    let mut bomb = vec![0x01, 0xff, 0x7f];
    bomb.extend([b'x'; 0x3fff]);
    bomb.extend([0x02, 0].repeat(2000));
    assert_eq!(wire::untokenise(&bomb), Err(WireError::Damaged));
}
