//! Random programs that are sound by construction, and damaged ones.

use hemiola_units::Random;
use hemiola_world_lang::{Sources, check, fuzzing, render};
use proptest::prelude::*;

use crate::common::in_capitals;

/// Types of random expressions.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    Integer,
    Number,
    Metre,
    Single,
    Point,
}
use Kind::{Boolean, Integer, Metre, Number, Point, Single};

const KINDS: [(Kind, &str, &str); 6] = [
    (Boolean, "boolean", "b"),
    (Integer, "integer", "i"),
    (Number, "real", "r"),
    (Metre, "real<m>", "m"),
    (Single, "real32", "s"),
    (Point, "real<m>[2]", "p"),
];

struct Writer {
    random: Random,
    text: String,
    /// Functions so far, by their result.
    functions: Vec<(Kind, String)>,
}

impl Writer {
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.random.below(items.len() as u64) as usize]
    }

    /// A blank, a line break or a comment.
    fn gap(&mut self) {
        let gap = *self.pick(&[" ", " ", " ", "\n", "\n\n\n", " // note\n", "\t"]);
        self.text += gap;
    }

    fn expression(&mut self, kind: Kind, depth: u32) -> String {
        if depth == 0 || self.random.below(5) == 0 {
            return self.leaf(kind);
        }
        let called: Vec<String> = self
            .functions
            .iter()
            .filter(|(result, _)| *result == kind)
            .map(|(_, name)| name.clone())
            .collect();
        if !called.is_empty() && self.random.below(6) == 0 {
            let name = self.pick(&called).clone();
            return format!("{name}({})", self.expression(Number, depth - 1));
        }
        if self.random.below(6) == 0 {
            let condition = self.expression(Boolean, depth - 1);
            let (one, two) = (self.expression(kind, depth - 1), self.expression(kind, depth - 1));
            return format!("(if {condition} {{ {one} }} else {{ {two} }})");
        }
        let mut part = |kind| self.expression(kind, depth - 1);
        let (pattern, parts): (&str, Vec<String>) = match (kind, depth % 3) {
            (Boolean, 0) => {
                ("(# and not # or #)", vec![part(Boolean), part(Boolean), part(Boolean)])
            }
            (Boolean, 1) => ("(# <= #)", vec![part(Metre), part(Metre)]),
            (Boolean, _) => ("inside(#, #, #)", vec![part(Point), part(Point), part(Point)]),
            (Integer, 0) => ("(# + # * #)", vec![part(Integer), part(Integer), part(Integer)]),
            (Integer, 1) => ("mod(#, #)", vec![part(Integer), part(Integer)]),
            (Integer, _) => ("integer(#)", vec![part(Number)]),
            (Number, 0) => ("(# - # / #)", vec![part(Number), part(Number), part(Number)]),
            (Number, 1) => ("(# / (# + 1<m>))", vec![part(Metre), part(Metre)]),
            (Number, _) => ("sqrt(abs(#))", vec![part(Number)]),
            (Metre, 0) => ("(# * #)", vec![part(Number), part(Metre)]),
            (Metre, 1) => ("distance(#, #)", vec![part(Point), part(Point)]),
            (Metre, _) => ("#[mod(#, 2)]", vec![part(Point), part(Integer)]),
            (Single, 0) => ("(# * 0.5 + #)", vec![part(Single), part(Single)]),
            (Single, _) => ("clamp(#, #, 1)", vec![part(Single), part(Single)]),
            (Point, 0) => ("(# + #)", vec![part(Point), part(Point)]),
            (Point, _) => ("[#, #]", vec![part(Metre), part(Metre)]),
        };
        let mut parts = parts.into_iter();
        pattern.split('#').map(|text| text.to_owned() + &parts.next().unwrap_or_default()).collect()
    }

    fn leaf(&mut self, kind: Kind) -> String {
        let property = KINDS.iter().find(|(known, ..)| *known == kind).unwrap().2;
        let literals: &[&str] = match kind {
            Boolean => &["true", "false"],
            Integer => &["0", "1", "7", "2147483647"],
            Number => &["0", "1.5", "1e300", "-2"],
            Metre => &["0<m>", "3<m>", "2.5<km>", "-1<mm>"],
            Single => &["real32(0.1)", "real32(-3)"],
            Point => &["[0, 1<m>]", "[2<km>, -1<m>]"],
        };
        if self.random.below(2) == 0 {
            property.to_owned()
        } else {
            (*self.pick(literals)).to_owned()
        }
    }

    fn function(&mut self, at: usize) {
        let (kind, ty, _) = *self.pick(&KINDS);
        let name = format!("f{at}");
        let value = self.expression(kind, 4);
        self.text += &format!("function {name}(x : real) : {ty} {{");
        self.gap();
        let metre = self.expression(Metre, 2);
        self.text += &format!("let y = {metre}; var z = x; ");
        self.text += "for each q in [1.0, 2] { z += q; }";
        self.gap();
        self.text += &format!("return {value}; }}");
        self.functions.push((kind, name));
    }

    fn update(&mut self) {
        self.text += "update(dt : real) {";
        for _ in 0..self.random.below(5) {
            let (kind, _, property) = *self.pick(&KINDS);
            let value = self.expression(kind, 3);
            self.gap();
            self.text += &format!("{property} = {value};");
        }
        self.gap();
        self.text += "for each other in e within 5<m> at most 3 { m += other.m; }";
        self.text += "}";
    }
}

/// A sound text.
fn program(seed: u64) -> String {
    let mut writer =
        Writer { random: Random::from_seed(seed), text: String::new(), functions: Vec::new() };
    writer.text += "universe u { element e {";
    for (_, ty, name) in KINDS {
        let indexed = if name == "p" { " indexed by 2<m>" } else { "" };
        writer.text += &format!("property {name} : {ty}{indexed};");
        writer.gap();
    }
    for at in 0..writer.random.below(4) as usize {
        writer.function(at);
        writer.gap();
    }
    writer.update();
    writer.text += "} element d : e { r = 4; } }";
    if writer.random.below(2) == 0 { in_capitals(&writer.text) } else { writer.text }
}

#[test]
fn random_programs_are_sound_run_and_keep_their_meaning_in_every_form() {
    for seed in 0..200 {
        let text = program(seed);
        let sources = Sources::of("w", &*text).unwrap();
        if let Err(problems) = check(&sources, None) {
            panic!("seed {seed}: {text}\n{}", render(&problems, &sources));
        }
        fuzzing::definition(text.as_bytes());
    }
}

#[test]
fn damaged_programs_end_in_problems() {
    let mut random = Random::from_seed(15);
    for seed in 0..600 {
        let mut bytes = program(seed % 50).into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            let end = (at + random.below(12) as usize).min(bytes.len());
            match random.below(4) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = b" {}()[];:,.=+-*/<>\"0aA"[random.below(22) as usize],
                2 => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => bytes.truncate(end.max(1)),
            }
        }
        fuzzing::definition(&bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzing::definition(&bytes);
        fuzzing::from_wire(&bytes);
    }
}
