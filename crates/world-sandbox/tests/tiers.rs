//! Both tiers give the same rows, outputs and faults, bit by bit.

use std::collections::BTreeSet;

use hemiola_sandbox::{IS_AVAILABLE, LoadError};
use hemiola_units::Random;
use hemiola_world::{Change, Effect, Interest, MonitorId, Output, World};
use hemiola_world_code::NotCompiled;
use hemiola_world_lang::definition::{ElementId, Type, Universe, Value};
use hemiola_world_lang::evaluate::Fault;
use hemiola_world_lang::{Sources, check, fuzzing, render};
use hemiola_world_sandbox::ColumnEngine;

/// Whether this build has the engine, as in the step "sandbox" of `cargo xtask ci`. Without it, nothing is compiled.
fn is_available() -> bool {
    if !IS_AVAILABLE {
        assert_eq!(ColumnEngine::new().unwrap_err(), LoadError::NotBuilt);
    }
    IS_AVAILABLE
}

#[track_caller]
fn universe(items: &str) -> Universe {
    let text = format!("universe u {{\n{items}\n}}");
    let sources = Sources::of("w.uml", &*text).unwrap();
    let checked = check(&sources, None);
    checked.unwrap_or_else(|problems| panic!("{}", render(&problems, &sources))).universes.remove(0)
}

/// A world in the interpreter, and the same one in the compiled tier.
struct Pair {
    worlds: [World; 2],
    not_compiled: Vec<NotCompiled>,
}

impl Pair {
    fn of(universe: &Universe) -> Self {
        let mut worlds = [(); 2].map(|()| World::new(universe.clone()).unwrap());
        let not_compiled = worlds[1].compile(&mut ColumnEngine::new().unwrap());
        Self { worlds, not_compiled }
    }

    fn submit(&mut self, change: &Change) {
        self.worlds.iter_mut().for_each(|world| world.submit(change.clone()).unwrap());
    }

    /// Makes a step in both, compares everything that can be seen, and returns the faults.
    #[track_caller]
    fn step(&mut self, seconds: f64, context: &str) -> Vec<Fault> {
        let (mut faults, mut outs, mut reports) = (Vec::new(), Vec::new(), Vec::new());
        for world in &mut self.worlds {
            let mut out = Vec::new();
            reports.push(world.step(seconds, &mut |_| {}, &mut |output| {
                out.push(format!("{output:?}"));
                if let Output::Fault { fault, .. } = output {
                    faults.push(fault);
                }
            }));
            outs.push(out);
        }
        assert_eq!(outs[0], outs[1], "{context}");
        assert_eq!(reports[0], reports[1], "{context}");
        for entity in self.worlds[0].entities() {
            let rows = [0, 1].map(|at| self.worlds[at].row(entity).unwrap());
            assert!(rows[0].same_bits(&rows[1]), "{context}\n{entity:?}\n{rows:#?}");
        }
        faults
    }
}

/// Runs a random universe with this many entities for some steps; returns the names of its faults.
fn check_program(seed: u64, count: u64, refused: &mut u32) -> BTreeSet<String> {
    let mut random = Random::from_seed(seed);
    let text = fuzzing::program(&mut |most| random.below(most));
    let universe = universe(&text);
    let mut pair = Pair::of(&universe);
    *refused += pair.not_compiled.len() as u32;
    let mut value = |ty: &Type| fuzzing::value(&universe, ty, &mut |most| random.below(most));
    let elements = ["e", "d"].map(|name| universe.element_named(name).unwrap());
    for number in 0..count {
        let element: ElementId = elements[(number * 7 % 5 % 2) as usize];
        pair.submit(&Change::Construct(element, value(&Type::Element(element))));
    }
    let constraint = universe.elements[elements[0].index()].constraints[0];
    let far = universe.functions[constraint.index()].locals[0].ty.clone();
    let interest = Interest {
        element: elements[0],
        properties: vec![0, 1],
        constraint: Some((constraint, vec![value(&far)])),
        effect: Effect::None,
    };
    pair.submit(&Change::Register(MonitorId(1), interest));
    let mut found = BTreeSet::new();
    for seconds in [0.0, 0.25, -1.5] {
        let faults = pair.step(seconds, &format!("seed {seed}\n{text}"));
        found.extend(faults.iter().map(|fault| format!("{fault:?}")));
    }
    found
}

#[test]
fn random_worlds_are_the_same_in_both_tiers() {
    if !is_available() {
        return;
    }
    let (mut found, mut refused) = (BTreeSet::new(), 0);
    for seed in 0..150 {
        found.extend(check_program(seed, 11, &mut refused));
    }
    let expected = ["DivisionByZero", "IndexOutOfRange", "ListFull", "NotAnInteger", "Overflow"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert!(refused < 60, "{refused} programs stay interpreted");
}

#[test]
fn blocks_follow_one_another() {
    if !is_available() {
        return;
    }
    for seed in [1, 5, 8] {
        check_program(seed, 2_500, &mut 0);
    }
}

#[test]
fn a_function_that_is_not_compiled_says_why_and_stays_interpreted() {
    if !is_available() {
        return;
    }
    let count = "property p : real<m>[1] indexed by 2<m>; property n : integer = 1;";
    let cases = [
        (
            "for each a in e at most 2 { for each b in e within 1<m> at most 2 { n = n + b.n; } }",
            "`e.update` has a loop within a radius inside another loop over rows, so it stays interpreted",
        ),
        (
            "for each a in e within 1<m> at most 100000 { n = max(n, a.n); }",
            "bytes; more than 67108864 are not compiled, so it stays interpreted: lower its `at most`",
        ),
        (
            "for each i in values { for each j in values { n = max(n, i * j); } }",
            "instructions; more than 8192 are not compiled, so it stays interpreted",
        ),
    ];
    for (body, message) in cases {
        let values = "property values : integer[70];";
        let universe = universe(&format!("element e {{ {count} {values} update() {{ {body} }} }}"));
        let mut pair = Pair::of(&universe);
        let [reason] = &pair.not_compiled[..] else { panic!("{:?}", pair.not_compiled) };
        assert!(reason.to_string().contains(message), "{reason}");
        let row: Vec<Value> =
            universe.elements[0].properties.iter().map(|p| p.default.clone()).collect();
        (0..3).for_each(|_| pair.submit(&Change::Construct(ElementId(0), Value::Row(row.clone()))));
        pair.step(0.0, body);
        pair.step(0.0, body);
    }
}

#[test]
fn the_lanes_of_a_group_have_neighbours_of_their_own() {
    if !is_available() {
        return;
    }
    let universe = universe(
        "element e {
           property p : real<m>[1] indexed by 2<m>;
           property n : integer = 1;
           property far : boolean;
           update() {
             var sum : integer = 0;
             if not far { for each o in e within 2<m> at most 5 { sum = sum + o.n * (if o.far { 10 } else { 1 }); } }
             for each o in e at most 3 { if o.far { sum = sum + 100; } }
             n = sum;
           }
         }",
    );
    let mut pair = Pair::of(&universe);
    assert_eq!(pair.not_compiled, []);
    for number in 0..1_100 {
        let place = Value::Items(vec![Value::Double(f64::from(number * number % 1_000) / 2.0)]);
        let row = vec![place, Value::Integer(number % 3), Value::Boolean(number % 5 == 0)];
        pair.submit(&Change::Construct(ElementId(0), Value::Row(row)));
    }
    (0..3).for_each(|step| drop(pair.step(0.0, &format!("step {step}"))));
}
