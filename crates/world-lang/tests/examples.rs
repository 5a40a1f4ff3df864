//! The example worlds, in both spellings.

use hemiola_world_lang::evaluate::{Body, update};
use hemiola_world_lang::{Definition, Sources, Value, check, format, render, show};

use crate::common::{in_capitals, sound};

const BASE: &str = include_str!("../examples/worlds/base.uml");
const TOWN: &str = include_str!("../examples/worlds/ts.uml");
const ORBIT: &str = include_str!("../examples/worlds/orbit.uml");
const TRIANGLE: &str = include_str!("../examples/worlds/triangle.uml");

fn checked(texts: &[&str]) -> Definition {
    let mut sources = Sources::default();
    for (at, text) in texts.iter().enumerate() {
        sources.add(format!("{at}.uml"), *text).unwrap();
    }
    check(&sources, None).unwrap_or_else(|problems| panic!("{}", render(&problems, &sources)))
}

#[test]
fn both_spellings_mean_the_same() {
    for texts in [&[BASE, TOWN][..], &[ORBIT], &[TRIANGLE]] {
        let lower = checked(texts);
        let capitals: Vec<String> = texts.iter().map(|text| in_capitals(text)).collect();
        let capitals: Vec<&str> = capitals.iter().map(String::as_str).collect();
        assert!(capitals[0].contains("PROPERTY"));
        // Spelling changes no length, so even the places are equal.
        assert_eq!(checked(&capitals), lower);
    }
}

#[test]
fn examples_except_the_one_in_capitals_are_in_canonical_form() {
    for text in [BASE, TOWN, ORBIT] {
        let canonical = format(&Sources::of("x", text).unwrap()).unwrap();
        assert!(canonical == text, "{canonical}");
    }
    let canonical = format(&Sources::of("x", TRIANGLE).unwrap()).unwrap();
    assert_eq!(
        canonical,
        TRIANGLE
            .replace("UNIVERSE", "universe")
            .replace("ELEMENT", "element")
            .replace("PROPERTY", "property")
            .replace("REAL", "real")
    );
}

#[test]
fn an_instance_of_the_triangle_is_nine_numbers_without_administration() {
    let shapes = sound(TRIANGLE).universes.remove(0);
    let triangle = shapes.element_named("Triangle").unwrap();
    let element = &shapes.elements[triangle.index()];
    // Table 6.6 of the thesis: 276 bytes for the instance, 60 of them administration.
    assert_eq!((element.leaf_count, element.row_len), (9, 72));
    assert_eq!(shapes.leaves(triangle)[7].path, "vertexList[2].coord[1]");
}

#[test]
fn the_earth_stays_near_its_orbit() {
    let orbit = sound(ORBIT).universes.remove(0);
    let body = orbit.element_named("body").unwrap();
    let step = orbit.elements[body.index()].update.unwrap();
    let mut bodies: Vec<Body> = (0..)
        .zip(&orbit.entities)
        .map(|(id, entity)| Body {
            id,
            element: entity.element,
            row: Value::Row(entity.row.clone()),
        })
        .collect();
    let hour = 3600.0;
    for _ in 0..24 * 365 {
        let rows: Vec<Value> = (0..bodies.len())
            .map(|own| update(&orbit, step, &bodies, own, vec![Value::Double(hour)]).unwrap())
            .collect();
        bodies.iter_mut().zip(rows).for_each(|(body, row)| body.row = row);
    }
    let Value::Row(earth) = &bodies[1].row else { unreachable!() };
    let Value::Items(position) = &earth[0] else { unreachable!() };
    let [x, y] = [&position[0], &position[1]].map(|value| value.number().unwrap() / 1.496e11);
    // A year of 365 days ends a quarter of a degree before the start.
    assert!((x.hypot(y) - 1.0).abs() < 0.02, "{x} {y}");
    assert!(x > 0.99 && y.abs() < 0.1, "{x} {y}");
}

#[test]
fn a_definition_is_shown_with_sizes_bounds_and_uses() {
    assert_eq!(
        show(&sound(ORBIT)),
        "\
universe orbit
  constant G : real<m^3/s^2/kg> = 6.674e-11
  constant SOFTENING : real<m^2> = 1000000.0
  element body  7 columns, 56 bytes per entity
    property position : real<m>[3] = [0.0, 0.0, 0.0]
    property velocity : real<m/s>[3] = [0.0, 0.0, 0.0]
    property mass : real<kg> = 1.0
    function pull(a : body, b : body) : real<m/s^2>[3]  at most 61 operations, reads of other rows body.position, \
         body.mass
    update(dt : real<s>)  at most 82055 operations, reads position, velocity, writes position, velocity, reads of \
         other rows body.position, body.mass
  element star : body  7 columns, 56 bytes per entity
    property position : real<m>[3] = [0.0, 0.0, 0.0]  from body
    property velocity : real<m/s>[3] = [0.0, 0.0, 0.0]  from body
    property mass : real<kg> = 2e30  from body
  entity sun : star
  entity earth : body
"
    );
}
