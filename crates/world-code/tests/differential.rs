//! Code and tree walker give the same, bit by bit and fault by fault.

use std::collections::BTreeSet;

use hemiola_units::Random;
use hemiola_world_lang::definition::{ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::evaluate::Body;

use crate::common::{compare, nasty, program, universe};

/// Random rows of the two elements, with ids in random order.
fn bodies(universe: &Universe, names: &[&str], count: u64, random: &mut Random) -> Vec<Body> {
    let mut ids: Vec<u64> = (1..=count).collect();
    random.shuffle(&mut ids);
    ids.into_iter()
        .map(|id| {
            let name = names[random.below(names.len() as u64) as usize];
            let element: ElementId = universe.element_named(name).unwrap();
            Body { id, element, row: nasty(universe, &Type::Element(element), random) }
        })
        .collect()
}

/// Compares all functions of a program that can be called from outside; returns the names of the faults.
fn check_program(seed: u64) -> BTreeSet<String> {
    let mut random = Random::from_seed(seed);
    let text = program(&mut random);
    let universe = universe(&text);
    let bodies = bodies(&universe, &["e", "d"], 11, &mut random);
    let sent: Vec<Value> =
        bodies.iter().map(|b| nasty(&universe, &Type::Element(b.element), &mut random)).collect();
    let mut faults = BTreeSet::new();
    for (at, function) in universe.functions.iter().enumerate() {
        let parameters = &function.locals[..function.parameter_count as usize];
        if parameters.iter().any(|parameter| parameter.ty.holds_row()) {
            continue;
        }
        let arguments: Vec<Value> =
            parameters.iter().map(|p| nasty(&universe, &p.ty, &mut random)).collect();
        let context = format!("seed {seed}, arguments {arguments:?}\n{text}");
        let block = 1 + random.below(11) as usize;
        let id = FunctionId(at as u32);
        let found = compare(&universe, id, &bodies, &sent, &arguments, block, &context);
        faults.extend(found.iter().map(|fault| format!("{fault:?}")));
    }
    faults
}

#[test]
fn random_programs_give_the_same_rows_and_the_same_faults() {
    let mut faults = BTreeSet::new();
    for seed in 0..3000 {
        faults.extend(check_program(seed));
    }
    // The programs are hard enough that every fault occurs.
    let expected = ["DivisionByZero", "IndexOutOfRange", "ListFull", "NotAnInteger", "Overflow"];
    assert_eq!(faults.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn random_bytes_become_code_and_modules() {
    let mut random = Random::from_seed(46);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..random.below(400)).map(|_| random.below(256) as u8).collect();
        hemiola_world_code::fuzzing::compiled(&bytes);
    }
}
