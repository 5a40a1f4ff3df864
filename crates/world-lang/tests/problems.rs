//! Every problem, as a person sees it.

use hemiola_world_lang::{Sources, check, render};

use crate::common::{shown, sound};

/// A text with one problem: its message, the marked text, and its hint.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
fn problem(text: &str, (_, message, marked, hint): Row) {
    let sources = Sources::of("w", text).unwrap();
    let problems = check(&sources, None).expect_err(text);
    let first = &problems[0];
    let (source, bytes) = sources.locate(first.span());
    let found = (&*first.message, &source.text[bytes], &*first.hint);
    assert_eq!(found, (message, marked, hint), "{}", render(&problems, &sources));
    assert_eq!(problems.len(), 1, "{}", render(&problems, &sources));
}

/// An element with a position `p`, an integer `n` and a boolean `b`.
fn element(items: &str) -> String {
    format!(
        "universe u {{ element e {{ property p : real<m>[2]; property n : integer; property b : boolean; {items} }} }}"
    )
}

#[test]
fn a_problem_shows_its_line_all_its_places_and_a_hint() {
    let text = "universe u {\n  element body {\n    property mass : real<kg>;\n    property mass : real;\n  }\n}\n";
    assert_eq!(
        shown(text),
        "\
error: `mass` is defined twice
 --> world.uml:4:14
  |
4 | property mass : real;
  |          ^^^^ here again
 ::: world.uml:3:14
  |
3 | property mass : real<kg>;
  |          ^^^^ first here
  = hint: rename one of them
"
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "universe u {\n  element a { property x : rael; }\n  element b : c { }\n  constant k = 1 + true;\n}\n";
    let shown = shown(text);
    assert_eq!(shown.matches("error: ").count(), 3, "{shown}");
    for part in [
        "no element is named `rael`",
        "did you mean",
        "no element is named `c`",
        "`+` does not work on boolean",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let text = "universe u {\n  element a { property x real; property y : ; property z : real; }\n  elment b { }\n}\n";
    let shown = crate::common::shown(text);
    assert_eq!(shown.matches("error: ").count(), 3, "{shown}");
}

#[test]
fn each_problem_says_what_where_and_what_to_do() {
    for row in TEXTS {
        problem(row.0, *row);
    }
    for row in ELEMENTS {
        problem(&element(row.0), *row);
    }
}

#[test]
fn what_is_missing_at_the_end_is_named() {
    assert_eq!(
        shown("universe u { element e {"),
        "\
error: this brace is not closed
 --> world.uml:1:12
  |
1 | universe u { element e {
  |            ^
  = hint: close it with }

error: this brace is not closed
 --> world.uml:1:24
  |
1 | universe u { element e {
  |                        ^
  = hint: close it with }
"
    );
    let open = shown("universe u {\n  constant a = \"open;\n}\n");
    assert!(open.contains("a string that does not end on its line\n --> world.uml:2:16"), "{open}");
    let long = "x".repeat(129);
    let long = shown(&format!("universe u {{ constant {long} = 1; }}"));
    assert!(long.contains("a name of 129 bytes; 128 are the most"), "{long}");
}

#[test]
fn an_unknown_base_is_reported_without_the_names_that_it_would_have() {
    let text = "universe u { element e : missing { x = 1; function f() : real = y + g(1); update() { z = 2; } } \
        element d : e { y = 2; } function f(e : e) : real = e.q; entity one : d { x = 3; } }";
    assert_eq!(shown(text).matches("error: ").count(), 1, "{}", shown(text));
}

#[test]
fn a_wrong_part_causes_no_problem_elsewhere() {
    for items in [
        "property x : rael; update() { x = 1; n += x; }",
        "function f(x : rael) : real = x; update() { n = f(1); }",
        "update() { let x = y; n = x; n += x * x; }",
        "constant C = D1; property x : real[C] = [C]; update() { x[0] = C; }",
        "update() { n = ; n = 1; } update_ = 1",
    ] {
        let shown = shown(&element(items));
        assert!(shown.matches("error: ").count() <= 2, "{shown}");
    }
    assert_eq!(
        shown(&element("property x : rael; update() { x = 1; n += x; }"))
            .matches("error: ")
            .count(),
        1
    );
}

/// Whole texts.
const TEXTS: &[Row] = &[
    ("universe u { § }", "`§` has no meaning in the language", "§", "remove it"),
    (
        "universe u { constant a = true && true; }",
        "`&&` has no meaning in the language",
        "&&",
        "write `and`",
    ),
    (
        "universe u { constant a = 1e999; }",
        "a number beyond the range of `real`",
        "1e999",
        "the largest is about 1.8e308",
    ),
    (
        "universe u { constant a = 3000000000; }",
        "a whole number beyond the range of `integer`",
        "3000000000",
        "write it with a point to make it a real",
    ),
    ("element e { }", "expected `universe`, found `element`", "element", ""),
    ("universe u { } }", "expected `universe`, found `}`", "}", ""),
    (
        "universe element { }",
        "`element` is a word of the language, not the name of the universe",
        "element",
        "another name, such as `element_`, is free",
    ),
    (
        "universe u { property x : real; }",
        "a universe does not contain `property`",
        "property",
        "move it into an element",
    ),
    (
        "universe u { element e { entity x : e; } }",
        "an element does not contain `entity`",
        "entity",
        "move it out of the element",
    ),
    (
        "universe u { elment e { } }",
        "expected a component, such as `element` or `property`, found `elment`",
        "elment",
        "",
    ),
    ("universe u { constant a = 1 }", "a `;` is missing here", "", "add `;`"),
    (
        "universe u { constant a : = 1; }",
        "expected a type: real, real32, integer, boolean, string or an element, found `=`",
        "=",
        "",
    ),
    (
        "universe u { constant a = 1 < 2 < 3; }",
        "comparisons cannot be chained",
        "<",
        "join two comparisons with `and`",
    ),
    (
        "universe u { constant a = if true { 1 }; }",
        "expected `else` and a second value, found `;`",
        ";",
        "",
    ),
    ("universe u { constant a = (1; }", "expected `)`, found `;`", ";", ""),
    ("universe u { constant a = [1, 2; }", "expected `,` or `]`, found `;`", ";", ""),
    (
        "universe u { entity x : e { property y : real; } }",
        "expected `property = value;`, found `property`",
        "property",
        "",
    ),
    (
        "universe u { entity x : nobody; }",
        "no element is named `nobody`",
        "nobody",
        "types are real, real32, integer, boolean, string and elements",
    ),
    (
        "universe u { element e { property a : real; } entity x : e; entity x : e; }",
        "`x` is defined twice",
        "x",
        "rename one of them",
    ),
    (
        "universe u { element e { property a : real; } entity x : e { bb = 1; } }",
        "element `e` has no property `bb`",
        "bb",
        "",
    ),
    (
        "universe u { element e { property l : real[..3]; } entity x : e { l[0] = 1; } }",
        "item 0 of 0",
        "l[0]",
        "the list has fewer items; set the whole list",
    ),
    (
        "universe u { function f() : real = self.x; }",
        "`self` has no meaning here",
        "self",
        "it is the row of an update, a prediction, a constraint or a function of an element",
    ),
    (
        "universe u { element e { function g() : real = 1; } function f() : real = g(); }",
        "no function is named `g`",
        "g",
        "did you mean \"f\"?",
    ),
    (
        "universe u { element e { property a : real; element i { function g() : real = a; } } }",
        "the property `a` has no value here",
        "a",
        "pass it to the function, or the row that it belongs to",
    ),
];

/// Components of an element.
const ELEMENTS: &[Row] = &[
    ("property x", "expected `:`, found `}`", "}", ""),
    ("property x : real indexed 10;", "expected `by` and the edge of a cell, found `10`", "10", ""),
    (
        "property x : real<mm/parsec>;",
        "unknown unit \"parsec\"",
        "parsec",
        "units are joined by · and /, with powers such as m/s^2",
    ),
    (
        "property x : string<900>;",
        "`900` is not a number of bytes from 1 to 255",
        "900",
        "write for example string<40>",
    ),
    (
        "property x : real[0];",
        "a length of 0; it must be from 1 to 65536",
        "0",
        "correct the number",
    ),
    (
        "property x : real[1.5];",
        "this is real where integer is expected",
        "1.5",
        "write integer(…), which rounds toward zero",
    ),
    (
        "property x : real[300][300];",
        "this type has more than 65536 scalars",
        "real[300][300]",
        "make it shorter, or an element with many entities",
    ),
    ("property x : e2;", "no element is named `e2`", "e2", "did you mean \"e\"?"),
    (
        "property x : nothing.inner;",
        "no element is named `nothing`",
        "nothing",
        "types are real, real32, integer, boolean, string and elements",
    ),
    (
        "property x : real = 5<m>;",
        "this is real<m> where real is expected",
        "5<m>",
        "divide by 1<m> to remove the unit",
    ),
    (
        "property x : real<m> = 5;",
        "this is integer where real<m> is expected",
        "5",
        "a number with a unit is written 5<m>",
    ),
    (
        "property x : real[3] = [1, 2];",
        "this is integer[2] where real[3] is expected",
        "[1, 2]",
        "",
    ),
    (
        "property x : integer = 1.5;",
        "this is real where integer is expected",
        "1.5",
        "write integer(…), which rounds toward zero",
    ),
    (
        "property x : string<3> = \"long\";",
        "this is string<4> where string<3> is expected",
        "\"long\"",
        "",
    ),
    (
        "property x : real[..2] = [1, 2, 3];",
        "this is integer[3] where real[..2] is expected",
        "[1, 2, 3]",
        "",
    ),
    ("property x : boolean = 1;", "this is integer where boolean is expected", "1", ""),
    (
        "property x : real = n;",
        "the property `n` has no value here",
        "n",
        "only literals and constants have one",
    ),
    (
        "property x : real[4] indexed by 1;",
        "real[4] is not a position",
        "x",
        "a position is a real, or an array of two or three reals",
    ),
    (
        "property x : real<m> indexed by 0<m>;",
        "the edge of a cell must be above 0",
        "0<m>",
        "the usual radius of a search is a good edge",
    ),
    (
        "property x : real indexed by 1; property y : real indexed by 1;",
        "an element has one spatial index",
        "y",
        "remove one of them",
    ),
    ("x = 1;", "element `e` has no property `x`", "x", "did you mean \"b\"?"),
    ("n = n;", "the property `n` has no value here", "n", "only literals and constants have one"),
    ("p[2] = 1<m>;", "item 2 of 2", "2", "items count from 0 to 1"),
    ("property e : e;", "element `e` needs itself: e → e", "e", "remove one of these steps"),
    (
        "element f : f { }",
        "element `e.f` is derived from itself: e.f → e.f",
        "f",
        "remove one of these steps",
    ),
    (
        "element f { property g : g; } element g { property f : f[2]; }",
        "element `e.f` needs itself: e.f → e.g → e.f",
        "f",
        "remove one of these steps",
    ),
    (
        "element f : e { property n : real; }",
        "`n` is inherited already",
        "n",
        "write `n = …;` to change its default",
    ),
    (
        "function f() : real = f();",
        "function `e.f` calls itself: e.f → e.f",
        "f",
        "recursion has no bound; use `for each`",
    ),
    (
        "function f() : real = g(); function g() : real = f();",
        "function `e.f` calls itself: e.f → e.g → e.f",
        "f",
        "recursion has no bound; use `for each`",
    ),
    (
        "constant C = D; constant D = C;",
        "constant `e.C` needs itself: e.C → e.D → e.C",
        "C",
        "give one of them a value without the others",
    ),
    (
        "constant C = div(1, 0);",
        "this constant has no value: an integer is divided by 0",
        "div(1, 0)",
        "",
    ),
    (
        "constant C = 2147483647 + 1;",
        "this constant has no value: an integer does not fit into 32 bits",
        "2147483647 + 1",
        "",
    ),
    ("constant C : e = 1;", "a constant cannot be an element", "e", "declare an entity"),
    (
        "constant C = g(); function g() : real = 1;",
        "`g` cannot be called in a constant or a converter",
        "g",
        "write its expression here",
    ),
    (
        "constant C = [];",
        "the type of an empty list is unknown",
        "[]",
        "write a type, such as `: real[..8]`",
    ),
    (
        "function f() : e = self;",
        "a function cannot return a row",
        "e",
        "return the properties that are needed",
    ),
    (
        "function f(a : real, a : real) : real = a;",
        "two parameters are named `a`",
        "a",
        "rename one of them",
    ),
    (
        "function f() : real { let x = 1; }",
        "`f` does not end with `return`",
        "f",
        "add `return` and its value",
    ),
    (
        "function f() : real { return 1; return 2; }",
        "`return` stands at the end of a function only",
        "1",
        "choose the value with `if … { } else { }` before it",
    ),
    (
        "function f() : real { if true { return 1; } return 2; }",
        "`return` stands at the end of a function only",
        "1",
        "choose the value with `if … { } else { }` before it",
    ),
    (
        "function f() : real { x = 1; return 1; }",
        "nothing is named `x` here",
        "x",
        "did you mean \"b\"?",
    ),
    (
        "function f() : real { let x = 1; x = 2; return x; }",
        "this value does not change",
        "x",
        "declare it with `var` instead of `let`",
    ),
    (
        "function f() : real { n = 1; return 1; }",
        "only an update or a prediction changes a property",
        "n",
        "return the value instead",
    ),
    (
        "function f(o : e) : real { o.n = 1; return 1; }",
        "an update changes its own row only",
        "o.n",
        "let the other row read what it needs in its own update",
    ),
    (
        "function f() : real { f() = 1; return 1; }",
        "function `e.f` calls itself: e.f → e.f",
        "f",
        "recursion has no bound; use `for each`",
    ),
    ("function f() : real = nn;", "nothing is named `nn` here", "nn", "did you mean \"n\"?"),
    (
        "function f() : real = n.x;",
        "integer has no property `x`",
        "x",
        "only elements have properties",
    ),
    (
        "function f(o : e) : real = o.m;",
        "element `e` has no property `m`",
        "m",
        "did you mean \"b\"?",
    ),
    ("function f() : real = n[0];", "integer has no items", "n", "only arrays and lists have"),
    ("function f() : real<m> = p[2];", "item 2 of 2", "2", "items count from 0 to 1"),
    (
        "function f() : real<m> = p[1.0];",
        "this is real where integer is expected",
        "1.0",
        "write integer(…), which rounds toward zero",
    ),
    ("function f() : real = f;", "`f` is a function", "f", "call it: f(…)"),
    ("function f() : real = e;", "`e` is an element, not a value", "e", ""),
    (
        "function f() : real = sine(1);",
        "no function is named `sine`",
        "sine",
        "did you mean \"min\"?",
    ),
    (
        "function f() : real = sqrt(1, 2);",
        "`sqrt` takes 1 argument, not 2",
        "sqrt(1, 2)",
        "The square root of a real; not a number below 0.",
    ),
    (
        "function f() : real = sqrt(2<m>);",
        "length has no square root",
        "2<m>",
        "every power of a unit must be even",
    ),
    ("function f() : real = sqrt(b);", "`sqrt` does not work on boolean", "b", ""),
    ("function f() : real = length(1);", "`length` does not work on integer", "1", ""),
    (
        "function f() : real = dot([1, 2], [1, 2, 3]);",
        "`dot` does not work on integer[2] and integer[3]",
        "dot([1, 2], [1, 2, 3])",
        "both sides need the same length",
    ),
    (
        "function f() : real = g(1); function g(x : real, y : real) : real = x;",
        "`g` takes 2 arguments, not 1",
        "g",
        "",
    ),
    (
        "function f() : real = g(true); function g(x : real) : real = x;",
        "this is boolean where real is expected",
        "true",
        "",
    ),
    (
        "function f() : real = c(); constraint c() = true;",
        "`c` cannot be called",
        "c",
        "move what both need into a function",
    ),
    (
        "function f() : real = 1<m> + 1<s>;",
        "length and time do not fit together in `+`",
        "1<m>",
        "both sides need the same unit",
    ),
    (
        "function f() : real = p * p;",
        "`*` does not work on real<m>[2] and real<m>[2]",
        "p * p",
        "write dot(a, b) for the sum of the products",
    ),
    (
        "function f() : real = 1 / p;",
        "`/` does not work on real and real<m>[2]",
        "1 / p",
        "an array can be divided by a number only",
    ),
    (
        "function f() : real = p + 1<m>;",
        "`+` does not work on real<m>[2] and real<m>",
        "p + 1<m>",
        "both sides need the same length",
    ),
    ("function f() : boolean = b + b;", "`+` does not work on boolean", "b + b", ""),
    ("function f() : boolean = b < b;", "`<` does not work on boolean", "b < b", ""),
    ("function f() : boolean = not 1;", "this is integer where boolean is expected", "1", ""),
    ("function f() : boolean = 1 and b;", "this is integer where boolean is expected", "1", ""),
    (
        "function f() : real = if 1 { 1 } else { 2 };",
        "this is integer where boolean is expected",
        "1",
        "",
    ),
    (
        "function f() : real = if b { 1 } else { p };",
        "a number and length do not fit together in `if`",
        "1",
        "both sides need the same unit",
    ),
    ("function f() : real = real(\"x\");", "this is string<1> where real is expected", "\"x\"", ""),
    (
        "function f() : integer = integer(1<m>);",
        "this is real<m> where integer is expected",
        "1<m>",
        "divide by 1<m> to remove the unit",
    ),
    (
        "function f() : integer = 1.5;",
        "this is real where integer is expected",
        "1.5",
        "write integer(…), which rounds toward zero",
    ),
    ("function f() : integer = count(p);", "`count` does not work on real<m>[2]", "count(p)", ""),
    (
        "function f() : real = last_sent.n;",
        "`last_sent` has no meaning here",
        "last_sent",
        "only a constraint compares with the row last sent; pass it on as a parameter",
    ),
    (
        "function f(o : e) : real { let x = o; return 1; }",
        "a whole row cannot be copied",
        "o",
        "name the properties that are needed",
    ),
    (
        "update() { for each o in e { } }",
        "a loop over rows needs a limit",
        "e",
        "add `at most` and the most rows that one row takes in, such as 64",
    ),
    (
        "update() { for each o in e at most 0 { } }",
        "`at most 0`; it must be from 1 to 1000000",
        "0",
        "correct the number",
    ),
    (
        "update() { for each o in e within 1<m> at most 5 { } }",
        "element `e` has no spatial index",
        "e",
        "add `indexed by` and the edge of a cell to its position, as in `indexed by 10<m>`",
    ),
    (
        "update() { for each o in n { } }",
        "`for each` does not work on integer",
        "n",
        "it goes through an array, a list, or the rows of an element",
    ),
    (
        "update() { for each o in p at most 3 { } }",
        "`within` and `at most` are for rows of an element",
        "3",
        "remove it: an array is as long as its type says",
    ),
    (
        "predict() { for each o in e at most 5 { } }",
        "other rows cannot be seen here",
        "e",
        "only an update and the functions of its element go through rows",
    ),
    (
        "constraint c() = f(); function f() : boolean { for each o in e at most 5 { } return true; }",
        "this calls a function that goes through other rows",
        "c",
        "only an update sees other rows",
    ),
    (
        "update() { for each o in e at most 1000000 { for each q in e at most 1000000 { } } }",
        "one call takes up to 2000002000001 operations; 10000000 are the most",
        "update",
        "lower `at most`, or shorten the arrays",
    ),
    (
        "update() { return 1; }",
        "`return` stands at the end of a function only",
        "1",
        "choose the value with `if … { } else { }` before it",
    ),
    (
        "update() { n += 1.5; }",
        "this is real where integer is expected",
        "n += 1.5",
        "write integer(…), which rounds toward zero",
    ),
    ("constraint c() = 1;", "this is integer where boolean is expected", "1", ""),
    (
        "converter n = 1;",
        "a converter needs the definition before, which has no such element",
        "n",
        "give the former text too: --after FILE",
    ),
];

#[test]
fn a_text_without_components_is_sound() {
    sound("");
    sound(&element("update(dt : real) { n += 1; }"));
}
