//! What each construct computes.

use hemiola_world_lang::evaluate::{Body, Fault, call, constraint, predict, update};
use hemiola_world_lang::{Sources, Value, check, evaluate, render};

use crate::common::{sound, universe};

fn double(number: f64) -> Value {
    Value::Double(number)
}

fn doubles(numbers: &[f64]) -> Value {
    Value::Items(numbers.iter().copied().map(Value::Double).collect())
}

/// The value of an expression in a function of the type.
fn value(ty: &str, expression: &str) -> Result<Value, Fault> {
    let universe = universe(&format!("function f() : {ty} = {expression};"));
    call(&universe, universe.function_named("f").unwrap(), None, Vec::new())
}

#[track_caller]
fn check_value(ty: &str, expression: &str, expected: Value) {
    let found = value(ty, expression).unwrap();
    assert!(found.same_bits(&expected), "{expression} is {found:?}, not {expected:?}");
}

#[test]
fn operators_follow_their_precedence() {
    check_value("integer", "2 + 3 * 4 - 1", Value::Integer(13));
    check_value("integer", "(2 + 3) * -4", Value::Integer(-20));
    check_value("integer", "10 - 3 - 2", Value::Integer(5));
    check_value("real", "8 / 4 / 2", double(1.0));
    check_value("real", "7 / 2", double(3.5));
    check_value("boolean", "1 < 2 and not 2 < 1 or false", Value::Boolean(true));
    check_value("boolean", "not true == false", Value::Boolean(true));
    check_value("boolean", "\"a\" == \"a\" and \"a\" != \"b\"", Value::Boolean(true));
    check_value("real", "if 1 > 2 { 1 } else if 2 > 1 { 2.5 } else { 3 }", double(2.5));
}

#[test]
fn units_are_those_of_the_si() {
    check_value("real<m>", "1.5<km> + 20<cm>", double(1500.2));
    check_value("real<m/s>", "36<km/h>", double(10.0));
    check_value("real<m>", "sqrt(9<m^2>)", double(3.0));
    check_value("real<kg·m/s^2>", "2<kg> * 3<m> / (1<s> * 2<s>)", double(3.0));
    check_value("real<m>", "max(0, 3<m>)", double(3.0));
}

#[test]
fn arrays_work_item_by_item() {
    check_value("real[3]", "[1, 2, 3] + [10.0, 20, 30]", doubles(&[11.0, 22.0, 33.0]));
    check_value("real[2]", "-2 * [1.0, -2] / 4", doubles(&[-0.5, 1.0]));
    check_value("real", "dot([1.0, 2], [3, 4])", double(11.0));
    check_value("real", "length([3.0, 4])", double(5.0));
    check_value("real", "distance([1.0, 1], [4, 5])", double(5.0));
    check_value("boolean", "inside([1.0, 2], [0, 0], [1, 2])", Value::Boolean(true));
    check_value("boolean", "inside([1.0, 2.5], [0, 0], [1, 2])", Value::Boolean(false));
    check_value("real", "[[1.0, 2], [3, 4]][1][0]", double(3.0));
}

#[test]
fn real32_is_computed_in_32_bits_and_literals_take_its_width() {
    let third = 1.0_f32 / 3.0;
    check_value("real32", "real32(1) / 3", Value::Single(third));
    check_value("real32", "real32(1) / 3 * 3 - 1", Value::Single(third * 3.0 - 1.0));
    check_value("real", "real32(1) / 3 + real(0)", double(f64::from(third)));
    check_value("real32", "0.1", Value::Single(0.1));
    check_value("integer", "integer(-2.9)", Value::Integer(-2));
    check_value("real32<m>", "real32(0.1<m>)", Value::Single(0.1));
}

#[test]
fn numbers_round_and_compare_as_the_standard_says() {
    check_value("real", "floor(-1.5) + ceil(-1.5)", double(-3.0));
    check_value("real", "min(0.0, -0.0)", double(-0.0));
    check_value("real", "max(-0.0, 0.0)", double(0.0));
    check_value("boolean", "min(0.0 / 0.0, 1) == max(1, 0.0 / 0.0)", Value::Boolean(false));
    check_value("real", "clamp(5, 0.0, 3)", double(3.0));
    check_value(
        "integer",
        "abs(-3) + div(-7, 2) * 100 + mod(-7, 2) * 10",
        Value::Integer(3 - 400 + 10),
    );
    check_value("integer", "div(7, -2) * 10 + mod(7, -2)", Value::Integer(-41));
}

#[test]
fn faults_are_named_and_only_what_is_evaluated_can_have_one() {
    assert_eq!(value("integer", "2147483647 + 1"), Err(Fault::Overflow));
    assert_eq!(value("integer", "abs(-2147483647 - 1)"), Err(Fault::Overflow));
    assert_eq!(value("integer", "div(-2147483647 - 1, -1)"), Err(Fault::Overflow));
    assert_eq!(value("integer", "div(1, 0)"), Err(Fault::DivisionByZero));
    assert_eq!(value("integer", "mod(1, 0)"), Err(Fault::DivisionByZero));
    assert_eq!(value("integer", "integer(3e9)"), Err(Fault::NotAnInteger));
    assert_eq!(value("integer", "integer(0.0 / 0)"), Err(Fault::NotAnInteger));
    assert_eq!(value("real", "[1.0, 2][1 + 1]"), Err(Fault::IndexOutOfRange));
    assert_eq!(value("real", "[1.0, 2][-1 + 0]"), Err(Fault::IndexOutOfRange));
    check_value("integer", "if true { 1 } else { div(1, 0) }", Value::Integer(1));
    check_value("boolean", "false and div(1, 0) == 1", Value::Boolean(false));
    check_value("boolean", "true or div(1, 0) == 1", Value::Boolean(true));
    check_value("real", "1 / 0", double(f64::INFINITY));
}

#[test]
fn a_function_has_values_variables_loops_and_calls() {
    let universe = universe(
        "constant SIZES : integer[4] = [1, 2, 3, 4];
         function twice(x : integer) : integer = 2 * x;
         function f(start : integer) : integer {
           let base = twice(start);
           var total = base;
           for each size in SIZES {
             if size > 2 { total += size; } else if size == 1 { total *= 10; } else { }
           }
           return total;
         }",
    );
    let f = universe.function_named("f").unwrap();
    assert_eq!(call(&universe, f, None, vec![Value::Integer(3)]), Ok(Value::Integer(67)));
}

#[test]
fn lists_have_a_count_and_a_limit() {
    let universe = universe(
        "element e {
           property trail : real[..2] = [1.5];
           property last : real;
           update(x : real) {
             trail = append(trail, x);
             last = trail[count(trail) - 1];
             for each t in trail { last += t; }
           }
         }",
    );
    let e = universe.element_named("e").unwrap();
    let run = |row: Value| {
        let bodies = [Body { id: 0, element: e, row }];
        update(&universe, universe.elements[0].update.unwrap(), &bodies, 0, vec![double(2.0)])
    };
    let row = Value::Row(vec![doubles(&[1.5]), double(0.0)]);
    let after = run(row).unwrap();
    assert_eq!(after, Value::Row(vec![doubles(&[1.5, 2.0]), double(5.5)]));
    assert_eq!(run(after), Err(Fault::ListFull));
    assert_eq!(universe.elements[0].leaf_count, 4);
    assert_eq!(universe.leaves(e)[0].path, "trail.count");
}

#[test]
fn an_update_sees_other_rows_as_they_were_in_the_order_of_their_ids() {
    let universe = universe(
        "element body {
           property x : real[1] indexed by 1;
           property seen : integer[..4];
           property id : integer;
           update() {
             x[0] += 100;
             seen = [];
             for each other in body within 10 at most 3 { seen = append(seen, other.id); }
           }
         }
         element star : body { }
         element rock { property x : real[1] indexed by 1; }",
    );
    let [body, star, rock] =
        ["body", "star", "rock"].map(|name| universe.element_named(name).unwrap());
    let row =
        |x: f64, id| Value::Row(vec![doubles(&[x]), Value::Items(vec![]), Value::Integer(id)]);
    let at = |id: u64, element, x| Body { id, element, row: row(x, id as i32) };
    let bodies = [
        at(9, body, 0.0),
        at(4, star, 10.0),
        at(3, body, 10.000001),
        Body { id: 5, element: rock, row: Value::Row(vec![doubles(&[0.0])]) },
        at(1, body, -3.0),
        at(7, body, 0.0),
        at(8, body, 0.0),
    ];
    let after =
        update(&universe, universe.elements[body.index()].update.unwrap(), &bodies, 0, vec![])
            .unwrap();
    let Value::Row(after) = after else { unreachable!() };
    assert_eq!(after[0], doubles(&[100.0]));
    assert_eq!(after[1], Value::Items([1, 4, 7].map(Value::Integer).to_vec()));
}

#[test]
fn a_fault_leaves_the_row_alone_and_what_is_stored_has_one_nan() {
    let universe =
        universe("element e { property x : real; update(y : real) { x = y - y; x = sqrt(x); } }");
    let bodies = [Body {
        id: 0,
        element: universe.element_named("e").unwrap(),
        row: Value::Row(vec![double(1.0)]),
    }];
    let step = universe.elements[0].update.unwrap();
    let Value::Row(row) = update(&universe, step, &bodies, 0, vec![double(f64::INFINITY)]).unwrap()
    else {
        unreachable!()
    };
    assert!(row[0].same_bits(&double(f64::from_bits(0x7ff8_0000_0000_0000))), "{row:?}");
    assert_eq!(bodies[0].row, Value::Row(vec![double(1.0)]));
}

#[test]
fn constraints_compare_with_the_row_last_sent() {
    let universe = universe(
        "element e {
           property position : real[2];
           constraint near(low : real[2], high : real[2], moved : real) =
             inside(position, low, high) and distance(position, last_sent.position) > moved;
         }",
    );
    let near = universe.elements[0].constraints[0];
    let holds = |now: [f64; 2], then: [f64; 2]| {
        let row = |at: [f64; 2]| Value::Row(vec![doubles(&at)]);
        let arguments = vec![doubles(&[0.0, 0.0]), doubles(&[10.0, 10.0]), double(1.0)];
        constraint(&universe, near, &row(now), &row(then), arguments).unwrap()
    };
    assert!(holds([5.0, 5.0], [5.0, 3.0]));
    assert!(!holds([5.0, 5.0], [5.0, 4.0]));
    assert!(!holds([5.0, 11.0], [5.0, 3.0]));
}

#[test]
fn derived_elements_inherit_and_override() {
    let universe = universe(
        "element base {
           element part { property weight : real = 2; }
           property x : real = 1;
           property parts : part[2];
           function total() : real = x + parts[0].weight + parts[1].weight;
           update() { x = total(); }
           predict() { x += 0.5; }
           constraint any() = true;
         }
         element derived : base {
           property y : real = 7;
           x = 10;
           parts[1].weight = 30;
           update() { x = total() + y; }
           constraint none() = false;
         }
         entity one : derived { y = 100; parts[0].weight = 0.5; }",
    );
    let derived = universe.element_named("derived").unwrap();
    let element = &universe.elements[derived.index()];
    let base = &universe.elements[universe.element_named("base").unwrap().index()];
    assert_eq!((element.predict, element.constraints.len()), (base.predict, 2));
    assert_ne!(element.update, base.update);
    let row = Value::Row(universe.entities[0].row.clone());
    let bodies = [Body { id: 0, element: derived, row: row.clone() }];
    let Value::Row(after) = update(&universe, element.update.unwrap(), &bodies, 0, vec![]).unwrap()
    else {
        unreachable!()
    };
    assert_eq!(after[0], double(10.0 + 0.5 + 30.0 + 100.0));
    let Value::Row(after) = predict(&universe, element.predict.unwrap(), &row, vec![]).unwrap()
    else {
        unreachable!()
    };
    assert_eq!(after[0], double(10.5));
}

#[test]
fn constants_may_stand_in_any_order() {
    let universe = universe(
        "constant B = A * 2;
         constant A : integer = 3;
         element e { constant C : real<m>[A] = [1<km>, 0, B * 1<m>]; property p : real<m>[B] ; }",
    );
    let value = |name: &str| {
        &universe.constants.iter().find(|constant| constant.name == name).unwrap().value
    };
    assert_eq!(*value("B"), Value::Integer(6));
    assert_eq!(*value("e.C"), doubles(&[1000.0, 0.0, 6.0]));
    assert_eq!(universe.elements[0].leaf_count, 6);
}

#[test]
fn converters_lead_from_the_definition_before_and_back() {
    let before = sound(
        "universe orbit { element body { property position : real[2]; property velocity : real[2];
           property mass : real = 2; } }",
    );
    let text = "universe orbit { element planet was body {
        property place : real[2] was position;
        property mass : real32;
        property momentum : real[2];
        converter momentum = mass * velocity;
        converter back velocity = momentum / mass;
    } }";
    let sources = Sources::of("new", text).unwrap();
    let after = check(&sources, Some(&before))
        .unwrap_or_else(|found| panic!("{}", render(&found, &sources)));
    let element = &after.universes[0].elements[0];
    assert_eq!(
        (element.was.as_deref(), element.properties[0].was.as_deref()),
        (Some("body"), Some("position"))
    );
    let old = Value::Row(vec![doubles(&[0.0, 0.0]), doubles(&[1.0, 3.0]), double(2.0)]);
    let there = evaluate::convert(&after.universes[0], &element.converters[0], &old).unwrap();
    assert_eq!((element.converters[0].property, &there), (2, &doubles(&[2.0, 6.0])));
    let new = Value::Row(vec![doubles(&[0.0, 0.0]), Value::Single(2.0), there]);
    let back = evaluate::convert(&after.universes[0], &element.converters[1], &new).unwrap();
    assert_eq!(
        (element.converters[1].back, element.converters[1].property, back),
        (true, 1, doubles(&[1.0, 3.0]))
    );
}
