//! Plans of redefinition.

use hemiola_world_lang::definition::Universe;
use hemiola_world_lang::{Sources, check, render};
use hemiola_world_plan::{Conversion, Plan, ScalarSource, Source, scalars};

fn universe(text: &str, before: Option<&str>) -> Universe {
    let before = before.map(|text| check(&Sources::of("old.uml", text).unwrap(), None).unwrap());
    let sources = Sources::of("new.uml", text).unwrap();
    match check(&sources, before.as_ref()) {
        Ok(mut definition) => definition.universes.remove(0),
        Err(problems) => panic!("{}", render(&problems, &sources)),
    }
}

fn plan(before: &str, after: &str) -> Plan {
    let text = |inner: &str| format!("universe u {{ {inner} }}");
    let (before, after) = (text(before), text(after));
    Plan::of(&universe(&before, None), &universe(&after, Some(&before)))
}

fn check_steps(before: &str, after: &str, expected: &[&str]) {
    let steps: Vec<String> = plan(before, after).steps.iter().map(ToString::to_string).collect();
    assert_eq!(steps, expected);
}

/// Property, reason and stub of each property without a value.
fn missing(conversion: &Conversion) -> Vec<[&str; 3]> {
    let all = conversion.missing.iter();
    all.map(|one| [&*one.property, &*one.reason, &*one.stub]).collect()
}

#[test]
fn equal_definitions_have_no_steps() {
    let text = "constant C = 1; element e { property x : real = C; update() { x += C; } }
        element f : e { property y : string<4> = \"a\"; }";
    check_steps(text, text, &[]);
}

#[test]
fn a_function_is_replaced_only_if_it_does_something_else() {
    let before = "constant C = 1; element e { property x : real; property n : integer;
        function f(a : e) : real = a.x * C;
        update(dt : real<s>) { if x > 0 { x += f(self); } for each o in e at most 2 { n += o.n; } } }";
    // Other numbers, names and comments.
    let renamed = "constant A = 2; constant C = 1; element first { property n : integer; }
        element g was e { property m : integer was n; property x : real; function f(b : g) : real = b.x * C;
        update(dt : real<s>) { /* as before */ if x > 0 { x += f(self); } for each one in g at most 2 { m += one.m; } } }"
        .replace("/* as before */", "// as before\n");
    check_steps(
        before,
        &renamed,
        &[
            "rename element e to g",
            "rename property g.n to g.m",
            "insert constant A : integer",
            "insert element first",
        ],
    );
    for (from, to) in [("at most 2", "at most 3"), ("x > 0", "x >= 0"), ("n += o.n", "n += n")] {
        check_steps(before, &before.replace(from, to), &["replace update e.update"]);
    }
    check_steps(before, &before.replace("a.x * C", "a.x / C"), &["replace function e.f"]);
}

#[test]
fn renames_come_first_then_insertions_replacements_and_deletions() {
    check_steps(
        "constant OLD = 1; constant SAME : integer = 2;
         element body { property position : real[2]; property mass : real32; property gone : integer;
           function weight() : real = mass * 2; update() { mass += 1; } }
         element dust { property x : real; }",
        "constant NEW = 1; constant SAME : integer = 3;
         element planet was body { property place : real[2] was position; property mass : real; property rings : integer = NEW;
           update() { mass += 1; } constraint big() = mass > 5; }
         element moon : planet { property far : real; }",
        &[
            "rename element body to planet",
            "rename property planet.position to planet.place",
            "insert constant NEW : integer",
            "insert element moon",
            "insert property planet.rings : integer, with its default",
            "insert constraint planet.big",
            "replace constant SAME : integer",
            "replace property planet.mass : real32 to real, kept",
            "replace update planet.update",
            "delete function body.weight",
            "delete property planet.gone",
            "delete element dust",
            "delete constant OLD",
        ],
    );
}

#[test]
fn a_value_that_would_lose_something_needs_a_converter() {
    let before = "element e { property x : real; property n : real; property a : real[2]; property s : string<9>; }";
    let after = "element e { property x : real32; property n : integer; property a : real[3];
        property s : string<5>; }";
    let plan = plan(before, after);
    assert_eq!(
        missing(&plan.forward),
        [
            ["e.x", "`real` does not become `real32` by itself", "converter x = real32(x);"],
            ["e.n", "`real` does not become `integer` by itself", "converter n = integer(n);"],
            ["e.a", "`real[2]` does not become `real[3]` by itself", "converter a = …;"],
            ["e.s", "`string<9>` does not become `string<5>` by itself", "converter s = …;"],
        ]
    );
    let lost = missing(&plan.back);
    assert_eq!(lost.len(), 1, "the others get wider on the way back, {lost:?}");
    assert_eq!(lost[0][0], "e.a");
}

/// Types with a value of each. A converter gives no row.
const TYPES: [(&str, Option<&str>); 17] = [
    ("boolean", Some("true")),
    ("integer", Some("1")),
    ("real", Some("1")),
    ("real<m>", Some("1<m>")),
    ("real<s>", Some("1<s>")),
    ("real32", Some("1")),
    ("real32<m>", Some("1<m>")),
    ("integer[2]", Some("[1, 1]")),
    ("real[2]", Some("[1, 1]")),
    ("real[3]", Some("[1, 1, 1]")),
    ("real32[2]", Some("[1, 1]")),
    ("real32<m>[2]", Some("[1<m>, 1<m>]")),
    ("real[..2]", Some("[1]")),
    ("integer[..3]", Some("[1]")),
    ("string<5>", Some("\"a\"")),
    ("string<9>", Some("\"a\"")),
    ("part", None),
];

#[test]
fn the_checker_accepts_every_converter_that_a_plan_suggests() {
    let text = |ty: &str, converters: &str| {
        format!(
            "element part {{ property c : real; }} element e {{ property x : {ty}; {converters} }}"
        )
    };
    let (mut conversions, mut places) = (0, 0);
    for (from, old) in TYPES {
        for (to, new) in TYPES {
            let (before, mut converters) = (text(from, ""), String::new());
            let suggested = plan(&before, &text(to, ""));
            for (conversion, value) in [(&suggested.forward, new), (&suggested.back, old)] {
                for [_, _, stub] in missing(conversion) {
                    let value = value.unwrap_or_default();
                    assert_eq!(stub.is_empty(), value.is_empty(), "{from} to {to}: {stub}");
                    if stub.is_empty() {
                        continue;
                    }
                    *if stub.contains('…') { &mut places } else { &mut conversions } += 1;
                    converters += &stub.replace('…', value);
                }
            }
            let converted = plan(&before, &text(to, &converters));
            let is_possible = |conversion: &Conversion, value: Option<&str>| {
                conversion.missing.is_empty() || value.is_none()
            };
            assert!(is_possible(&converted.forward, new), "{from} to {to}: {converters}");
            assert!(is_possible(&converted.back, old), "{from} to {to}: {converters}");
        }
    }
    assert_eq!((conversions, places), (9, 491));
}

#[test]
fn a_name_that_a_rename_leaves_free_is_that_of_a_new_property() {
    let before = "element e { property v : real; update() { v += 1; } }";
    let after =
        "element e { property w : real was v; property v : real = 5; update() { v += 1; } }";
    check_steps(
        before,
        after,
        &[
            "rename property e.v to e.w",
            "insert property e.v : real, with its default",
            "replace update e.update",
        ],
    );
    let plan = plan(before, after);
    let sources = |conversion: &Conversion| conversion.elements[0].clone().unwrap().properties;
    assert_eq!(sources(&plan.forward), [Source::Property(0), Source::Default]);
    assert_eq!(sources(&plan.back), [Source::Property(0)]);
    // The property that goes on under another name is the one that the update reads.
    check_steps(
        before,
        &after.replace("v += 1", "w += 1"),
        &["rename property e.v to e.w", "insert property e.v : real, with its default"],
    );
}

#[test]
fn another_default_is_a_step() {
    let before = "element e { property v : real32 = 0.1; property l : integer[..3] = [1]; property n : integer = 2; }
        element f : e { property w : real = 1; }
        element g : f { n = 4; v = 3; }";
    // The default of an element that is derived is told only if it does not follow that of the base.
    let after = before.replace("0.1", "0.25").replace("n = 4", "n = 5").replace("[1]", "[1, 2]");
    check_steps(
        before,
        &after,
        &[
            "replace property e.v : default 0.25 instead of 0.1",
            "replace property e.l : default [1, 2] instead of [1]",
            "replace property g.n : default 5 instead of 4",
        ],
    );
    // The same number with more bits is the same default.
    let wider = before.replace("real32", "real").replace("integer[..3]", "real[..4]");
    check_steps(
        before,
        &wider,
        &[
            "replace property e.v : real32 to real, kept",
            "replace property e.l : integer[..3] to real[..4], kept",
        ],
    );
    check_steps(
        before,
        &before.replace("real32 = 0.1", "real = 0.2"),
        &["replace property e.v : real32 to real, kept, default 0.2 instead of 0.1"],
    );
}

#[test]
fn another_spatial_index_is_a_step() {
    let with = |cells: &str| {
        format!(
            "element e {{ property p : real<m>[2]{cells}; }} element f : e {{ property v : real; }}"
        )
    };
    let cases = [
        ("", " indexed by 2<m>", "indexed by 2.0"),
        (" indexed by 2<m>", "", "no longer indexed by 2.0"),
        (" indexed by 2<m>", " indexed by 1<km>", "indexed by 1000.0 instead of 2.0"),
    ];
    for (before, after, expected) in cases {
        let step = format!("replace property e.p : {expected}");
        check_steps(&with(before), &with(after), &[&step]);
    }
}

#[test]
fn another_base_is_a_step() {
    let with = |base: &str, inner: &str| {
        format!(
            "element d {{ property x : real; }} element e {{ property x : real; }}
             element f{base} {{ {inner} }}"
        )
    };
    let alone = with("", "property x : real;");
    check_steps(&alone, &with(" : e", ""), &["replace element f, derived from e"]);
    check_steps(&with(" : e", ""), &alone, &["replace element f, no longer derived from e"]);
    check_steps(
        &with(" : d", ""),
        &with(" : e", ""),
        &["replace element f, derived from e instead of d"],
    );
    // Another name of the base is no other base.
    check_steps(
        &with(" : e", ""),
        "element d { property x : real; } element h was e { property x : real; } element f : h { }",
        &["rename element e to h"],
    );
}

#[test]
fn an_inherited_name_that_a_derived_element_renames_is_new_there() {
    check_steps(
        "element e { property v : real; } element f : e { property u : real; }",
        "element e { property v : real; } element f : e { property w : real was v; property u : real; }",
        &["rename property f.v to f.w", "insert property f.v : real, with its default"],
    );
}

#[test]
fn a_return_after_steps_needs_every_property() {
    let gone = plan(
        "element e { property x : real; property y : real; }",
        "element e { property x : real; }",
    );
    assert!(gone.forward.missing.is_empty());
    let expected =
        ["e.y", "no property of the new definition leads back to it", "converter back y = …;"];
    assert_eq!(missing(&gone.back), [expected]);
    let kept = plan(
        "element e { property x : real; property y : real; }",
        "element e { property x : real; converter back y = 2 * x; }",
    );
    assert!(kept.back.missing.is_empty());
}

#[test]
fn rows_have_one_element_to_go_to() {
    let twice = plan(
        "element e { property x : real; }",
        "element e { property x : real; } element f was e { property x : real; }",
    );
    assert_eq!(
        missing(&twice.forward),
        [["f", "the rows of `e` go to another element already", ""]]
    );
    let unknown =
        plan("element e { property x : real; }", "element e { property z : real was y; }");
    let reason = "`e` of the definition before has no property `y`";
    assert_eq!(missing(&unknown.forward), [["e.z", reason, ""]]);
}

#[test]
fn elements_without_a_successor_end() {
    let plan = plan(
        "element e { property x : real; } element f { property x : real; }",
        "element f { property x : real; }",
    );
    assert_eq!(plan.forward.ended.len(), 1);
    assert_eq!(plan.forward.ended[0].0, 0);
    assert!(plan.back.ended.is_empty());
}

#[test]
fn longer_lists_get_zeros_and_parts_are_kept_item_by_item() {
    use ScalarSource::{Scalar, Zero};
    let before = universe(
        "universe u { element p { property c : real32[2]; } element e { property l : integer[..1]; property q : p; } }",
        None,
    );
    let after = universe(
        "universe u { element p { property c : real[2]; } element e { property l : integer[..3]; property q : p; } }",
        None,
    );
    let property = |universe: &Universe, at: usize| {
        universe.elements[universe.element_named("e").unwrap().index()].properties[at].ty.clone()
    };
    let sources = |at| scalars((&before, &property(&before, at)), (&after, &property(&after, at)));
    assert_eq!(sources(0), Some(vec![Scalar(0), Scalar(1), Zero, Zero]));
    assert_eq!(sources(1), Some(vec![Scalar(0), Scalar(1)]));
    let back = |at| scalars((&after, &property(&after, at)), (&before, &property(&before, at)));
    assert_eq!((back(0), back(1)), (None, None));
}

#[test]
fn definitions_of_many_components_are_compared_in_proportion() {
    let elements: String =
        (0..20_000).map(|nth| format!("element e{nth} {{ property x : real; }}\n")).collect();
    let properties: String =
        (0..20_000).map(|nth| format!("property p{nth} : real32;\n")).collect();
    let text = format!("{elements} element wide {{ {properties} }}");
    let after = text.replace("real32", "real");
    let plan = plan(&text, &after);
    assert_eq!(plan.steps.len(), 20_000);
    assert_eq!((plan.forward.missing.len(), plan.back.missing.len()), (0, 20_000));
}
