//! The direction in which a systematic offset moves a value, whatever the values of all inputs.
//!
//! If the value grows with an offset in every sample, each of its quantiles is greatest at the upper end of the offset
//! and least at the lower end. Such offsets need no search. The proof is interval arithmetic over quotients of
//! differences: [`Change`] holds every value and every quotient (f(t₂) − f(t₁)) / (t₂ − t₁) over the range of all
//! samples and all offsets (Moore, "Interval Analysis", 1966). Quotients, unlike derivatives, exist at kinks and at
//! steps, too.

use super::network::Network;
use super::offsets::{Unknowns, spread};
use super::program::Program;
use crate::expression::{Function, Interval, Value};

const ZERO: Interval = Interval { low: 0.0, high: 0.0 };
const POSITIVE: Interval = Interval { low: 0.0, high: f64::INFINITY };

/// The direction in which an unknown offset moves a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The value never falls when the offset grows, and no sample becomes valid.
    Up,
    /// The value never grows when the offset grows, and no sample loses its valid value.
    Down,
    /// Neither is proved.
    Either,
}

/// The effect of an unknown offset on a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub(super) direction: Direction,
    /// The most by which any sample changes over a step of 1; infinite if a sample may lose its valid value.
    pub(super) most: f64,
    /// Whether it is that of several offsets, which the unknown moves together.
    pub(super) is_mixed: bool,
}

/// The effect of each unknown, for inputs whose samples lie in the ranges `drawn`, in the order of the program's
/// inputs.
pub(super) fn effects(
    network: &Network,
    program: &Program,
    unknowns: &Unknowns<'_>,
    drawn: &[Interval],
) -> Vec<Effect> {
    let effect = |unknown: usize| {
        let of = unknowns.inputs(unknown);
        let registers = changes(network, program, of, drawn);
        let value = registers[program.result].quotient;
        let conditions: Vec<Interval> = conditions(network, program, &registers).collect();
        let direction =
            if value.low >= 0.0 && conditions.iter().all(|condition| condition.high <= 0.0) {
                Direction::Up
            } else if value.high <= 0.0 && conditions.iter().all(|condition| condition.low >= 0.0) {
                Direction::Down
            } else {
                Direction::Either
            };
        let is_safe = conditions.iter().all(|condition| *condition == ZERO);
        let most = if is_safe { value.high.max(-value.low) } else { f64::INFINITY };
        Effect { direction, most, is_mixed: unknowns.is_mixed(unknown) }
    };
    (0..unknowns.count()).map(effect).collect()
}

/// Whether the program's value never falls (or, with `is_down`, never grows) when this input grows, whatever the values
/// of all inputs, and no growth makes a value valid (or invalid). Inputs are at most so many standard scores from their
/// medians.
pub(super) fn is_monotone(
    network: &Network,
    program: &Program,
    input: usize,
    is_down: bool,
    score: f64,
) -> bool {
    let registers: Vec<Change> = program.run(|index| Change {
        values: network.inputs()[index].at_scores(score),
        quotient: if index == input { Interval::constant(1.0) } else { ZERO },
    });
    let value = registers[program.result].quotient;
    let mut conditions = conditions(network, program, &registers);
    match is_down {
        true => value.high <= 0.0 && conditions.all(|condition| condition.low >= 0.0),
        false => value.low >= 0.0 && conditions.all(|condition| condition.high <= 0.0),
    }
}

/// The range of every value that the program can have, over all offsets and the whole range of each input; `None` if a
/// sample may have no valid value.
pub(super) fn bounds(network: &Network, program: &Program) -> Option<Interval> {
    let supports: Vec<Interval> =
        program.inputs.iter().map(|(index, _)| network.inputs()[*index].support()).collect();
    let registers = changes(network, program, &[], &supports);
    if conditions(network, program, &registers).next().is_some() {
        return None;
    }
    let values = registers[program.result].values;
    (values.low.is_finite() || values.high.is_finite()).then_some(values)
}

/// Every register by the unknown of these inputs.
fn changes(
    network: &Network,
    program: &Program,
    of: &[(usize, f64)],
    drawn: &[Interval],
) -> Vec<Change> {
    program.run(|input| {
        let place = program.inputs.iter().position(|(index, _)| *index == input);
        let drawn = drawn[place.expect("it is an input of the program")];
        let sign = of.iter().find(|(index, _)| *index == input).map_or(0.0, |(_, sign)| *sign);
        let by = sign * network.inputs()[input].offset_most();
        let [values, quotient] = spread(network, input, drawn, by);
        Change { values, quotient }
    })
}

/// The change of each condition of a valid value that some sample may violate. A condition holds while it is positive.
fn conditions<'r>(
    network: &'r Network,
    program: &'r Program,
    registers: &'r [Change],
) -> impl Iterator<Item = Interval> + 'r {
    let nominals = program.run(|index| network.inputs()[index].nominal.value);
    let guards = program.guards.iter().filter_map(move |guard| {
        let least = guard.least(&nominals);
        let Change { values, quotient } = registers[guard.register];
        (values.low < least).then_some(quotient)
    });
    let instructions = program.instructions.iter().flat_map(|instruction| {
        let (a, b) = (registers[instruction.a], registers[instruction.b]);
        domain(instruction.function, a, b)
    });
    guards.chain(instructions)
}

/// The change of what must stay positive for a function to have a value, if it may not.
fn domain(function: Function, a: Change, b: Change) -> Vec<Interval> {
    let unknown = |still: bool| if still { ZERO } else { Interval::ALL };
    match function {
        Function::Divide if b.values.holds(0.0) => {
            let Interval { low, high } = b.values;
            vec![match (low >= 0.0, high <= 0.0) {
                (true, false) => b.quotient,
                (false, true) => negated(b.quotient),
                _ => unknown(is_still(b)),
            }]
        }
        Function::Root | Function::Logarithm if a.values.low <= 0.0 => vec![a.quotient],
        Function::Power if a.values.low <= 0.0 => {
            let Interval { low, high } = b.values;
            let is_whole = low == high && low.fract() == 0.0;
            if is_whole && low >= 0.0 {
                Vec::new()
            } else {
                vec![unknown(is_still(a) && is_still(b))]
            }
        }
        Function::Wait => {
            let mut found = Vec::new();
            if a.values.high >= b.values.low {
                found.push(sum(b.quotient, negated(a.quotient)));
            }
            if a.values.low < 0.0 {
                found.push(a.quotient);
            }
            if b.values.low != b.values.high || b.values.low.fract() != 0.0 {
                found.push(unknown(is_still(b)));
            }
            found
        }
        _ => Vec::new(),
    }
}

/// The values of a formula over all samples and offsets, and its quotients of differences by one offset.
#[derive(Clone, Copy, Debug)]
struct Change {
    values: Interval,
    quotient: Interval,
}

fn is_still(change: Change) -> bool {
    change.quotient == ZERO
}

/// The interval, or every value if one of its ends is unknown.
fn known(interval: Interval) -> Interval {
    if interval.low.is_nan() || interval.high.is_nan() { Interval::ALL } else { interval }
}

fn of(function: Function, a: Interval, b: Interval) -> Interval {
    known(Interval::apply(function, &a, &b))
}

fn sum(a: Interval, b: Interval) -> Interval {
    of(Function::Add, a, b)
}

fn product(a: Interval, b: Interval) -> Interval {
    of(Function::Multiply, a, b)
}

fn quotient(a: Interval, b: Interval) -> Interval {
    if a == ZERO { ZERO } else { of(Function::Divide, a, b) }
}

fn negated(a: Interval) -> Interval {
    of(Function::Negate, a, a)
}

fn either(a: Interval, b: Interval) -> Interval {
    Interval { low: a.low.min(b.low), high: a.high.max(b.high) }
}

/// The part that is not negative.
fn positive(a: Interval) -> Interval {
    Interval { low: a.low.max(0.0), high: a.high.max(0.0) }
}

impl Value for Change {
    fn constant(value: f64) -> Self {
        Self { values: Interval::constant(value), quotient: ZERO }
    }

    fn apply(function: Function, a: &Self, b: &Self) -> Self {
        let values = of(function, a.values, b.values);
        let is_still = a.quotient == ZERO && (!function.is_binary() || b.quotient == ZERO);
        let quotient = if is_still { ZERO } else { known(by(function, *a, *b)) };
        Self { values, quotient }
    }
}

/// The quotients of a function of two changes.
fn by(function: Function, a: Change, b: Change) -> Interval {
    let (f, g) = (a.values, b.values);
    let (df, dg) = (a.quotient, b.quotient);
    match function {
        Function::Add => sum(df, dg),
        Function::Subtract => sum(df, negated(dg)),
        // f₂g₂ − f₁g₁ = f₂ (g₂ − g₁) + g₁ (f₂ − f₁)
        Function::Multiply => sum(product(f, dg), product(g, df)),
        Function::Divide if g.low < 0.0 && g.high > 0.0 => Interval::ALL,
        // f₂/g₂ − f₁/g₁ = (f₂ − f₁ − (g₂ − g₁) f₁/g₁) / g₂
        Function::Divide => quotient(sum(df, negated(product(dg, quotient(f, g)))), g),
        Function::Power if dg == ZERO && g.low == g.high => {
            let less = Interval::constant(g.low - 1.0);
            product(product(g, of(Function::Power, f, less)), df)
        }
        Function::Power => {
            let f = positive(f);
            let less = sum(g, Interval::constant(-1.0));
            let by_base = product(product(g, of(Function::Power, f, less)), df);
            let logarithm = of(Function::Logarithm, f, f);
            sum(by_base, product(product(of(Function::Power, f, g), logarithm), dg))
        }
        Function::Minimum if f.high <= g.low => df,
        Function::Minimum if g.high <= f.low => dg,
        Function::Maximum if f.low >= g.high => df,
        Function::Maximum if g.low >= f.high => dg,
        Function::Minimum | Function::Maximum => either(df, dg),
        Function::Negate => negated(df),
        Function::Root => {
            let root = of(Function::Root, positive(f), f);
            quotient(df, product(Interval::constant(2.0), root))
        }
        Function::Exponential => product(of(Function::Exponential, f, f), df),
        Function::Logarithm => quotient(df, positive(f)),
        Function::Absolute if f.low >= 0.0 => df,
        Function::Absolute if f.high <= 0.0 => negated(df),
        Function::Absolute => either(df, negated(df)),
        Function::Ceiling | Function::Floor | Function::Round => {
            let steps = of(function, f, f);
            if steps.low == steps.high { ZERO } else { product(POSITIVE, df) }
        }
        Function::Sine => product(of(Function::Cosine, f, f), df),
        Function::Cosine => negated(product(of(Function::Sine, f, f), df)),
        Function::Wait => sum(product(POSITIVE, df), product(negated(POSITIVE), dg)),
    }
}

#[cfg(test)]
mod tests {
    use hemiola_quantity::Quantity;
    use hemiola_units::Random;

    use super::super::{Definition, Distribution, Input};
    use super::*;
    use crate::expression::Expression;

    /// A network of `text` over x and y, both of which are drawn from a uniform distribution and have an offset.
    fn network(text: &str, x: [f64; 3], y: [f64; 3]) -> Network {
        let input = |name, [low, high, offset]: [f64; 3]| {
            Input::exact(name, Quantity::number(f64::midpoint(low, high)))
                .varying(Distribution::Uniform { low, high })
                .offset_within(offset)
        };
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let definition = Definition { name: "f".into(), expression };
        Network::new(vec![input("x", x), input("y", y)], &[], vec![definition]).unwrap()
    }

    /// The effects of x and y.
    fn found(network: &Network) -> Vec<Effect> {
        let program = Program::of(network, network.index("f").unwrap());
        let unknowns = Unknowns::of(network, &program).unwrap();
        let drawn: Vec<Interval> =
            program.inputs.iter().map(|(index, _)| network.inputs()[*index].support()).collect();
        effects(network, &program, &unknowns, &drawn)
    }

    const FORMULAS: [&str; 20] = [
        "x + y",
        "x / y",
        "x * y - x",
        "x - x",
        "max(x, y)",
        "min(x, 2) * y",
        "abs(x - y)",
        "ceil(x) * y",
        "x ^ 2 - y ^ 3",
        "x ^ y",
        "2 ^ x / y",
        "sqrt(x * y)",
        "ln(x) - exp(-y)",
        "sin(x) * y",
        "x / (x + y)",
        "floor(x * y) - y",
        "y / (1 - x / 9)",
        "mm1(x, y)",
        "mmc(x, y, 2) * x",
        "round(x) ^ 0.5 + max(y - x, 0)",
    ];

    #[test]
    fn offsets_of_common_formulas_have_one_direction() {
        use Direction::{Down, Either, Up};
        for (text, x, y) in [
            ("x + y", Up, Up),
            ("x / y", Up, Down),
            ("max(x, y)", Up, Up),
            ("max(x - y, 0)", Up, Down),
            ("abs(x - y)", Either, Either),
            ("abs(x - 10)", Down, Up),
            ("ceil(x / 3) * y", Up, Up),
            ("sqrt(x) + y ^ 2", Up, Up),
            ("x * (4 - y)", Either, Down),
            ("x - x + y", Up, Up),
            ("x / (3 - y)", Either, Either),
        ] {
            let network =
                network(&format!("0 * (x + y) + {text}"), [1.0, 2.0, 0.5], [2.0, 4.0, 1.0]);
            let directions: Vec<Direction> =
                found(&network).into_iter().map(|effect| effect.direction).collect();
            assert_eq!(directions, [x, y], "{text}");
        }
    }

    #[test]
    fn an_offset_that_only_overloads_a_queue_has_one_direction() {
        // An overloaded queue is beyond every limit, as a long wait is.
        let network = network("mm1(x, y)", [0.4, 0.6, 0.3], [0.5, 1.5, 0.5]);
        assert!(found(&network).iter().all(|effect| effect.direction == Direction::Up));
        assert_eq!(found(&network)[0].most, f64::INFINITY);
    }

    #[test]
    fn no_sample_moves_against_its_direction_or_by_more_than_the_most() {
        let mut random = Random::from_seed(3);
        for number in 0..60 * FORMULAS.len() {
            let text = FORMULAS[number % FORMULAS.len()];
            let mut ends = || {
                let low = random.between(0.05, 2.0);
                [low, low + random.between(0.0, 1.0), random.between(0.0, 0.04)]
            };
            let (x, y) = (ends(), ends());
            let network = network(&format!("0 * (x + y) + {text}"), x, y);
            let program = Program::of(&network, network.index("f").unwrap());
            let effects = found(&network);
            for _ in 0..20 {
                let drawn = [x, y].map(|[low, high, _]| random.between(low, high));
                let point = [random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
                let value = |point: [f64; 2]| {
                    let at = |index: usize| drawn[index] + point[index] * [x, y][index][2];
                    let value: f64 = program.value(at);
                    if value.is_finite() { value } else { f64::INFINITY }
                };
                for unknown in 0..2 {
                    let mut next = point;
                    next[unknown] = random.between(point[unknown], 1.0);
                    let (before, after) = (value(point), value(next));
                    let Effect { direction, most, .. } = effects[unknown];
                    let rounding = 1e-9 * (1.0 + before.abs().min(after.abs()));
                    let wrong = match direction {
                        Direction::Up => after < before - rounding,
                        Direction::Down => after > before + rounding,
                        Direction::Either => false,
                    };
                    let step = most * (next[unknown] - point[unknown]) + rounding;
                    let is_far = (after - before).abs() > step;
                    assert!(
                        !wrong && !is_far,
                        "{text} of {drawn:?}: {before} at {point:?}, {after} at {next:?}, {direction:?} by {most}"
                    );
                }
            }
        }
    }
}
