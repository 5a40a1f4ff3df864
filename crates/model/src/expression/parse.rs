//! The parser of formulas.

use std::ops::Range;

use hemiola_diagnostic::nearest;

use super::{Expression, ExpressionError, Function, Operation, Step};
use hemiola_quantity::{Quantity, QuantityError, Units, number_at_start};

/// Deeper than any hand-written formula, and well within the parser's stack.
const DEPTH_MAX: usize = 64;

/// Longer than any hand-written formula.
const LENGTH_MAX: usize = 16_384;

/// The functions of one argument.
const UNARY: [(&str, Function); 9] = [
    ("sqrt", Function::Root),
    ("exp", Function::Exponential),
    ("ln", Function::Logarithm),
    ("abs", Function::Absolute),
    ("ceil", Function::Ceiling),
    ("floor", Function::Floor),
    ("round", Function::Round),
    ("sin", Function::Sine),
    ("cos", Function::Cosine),
];

/// Functions of two or more arguments.
const MANY: [(&str, Function); 2] = [("min", Function::Minimum), ("max", Function::Maximum)];

/// Queues with random arrivals: name, number of arguments, in words.
const QUEUES: [(&str, usize, &str); 3] = [
    ("mm1", 2, "two arguments: rate and service time"),
    ("mmc", 3, "three arguments: rate, service time and number of servers"),
    ("mg1", 3, "three arguments: rate, service time and its standard deviation over its mean"),
];

/// The wait for the next tick of a period.
const PERIODIC: &str = "periodic";

/// More than any formula needs; queues within queues repeat their arguments.
const STEPS_MAX: usize = 100_000;

const OPERAND: &str = "a number, a name or \"(\"";

pub(super) fn parse(text: &str, units: &Units) -> Result<Expression, ExpressionError> {
    let mut parser = Parser { text, units, at: 0, end: 0, depth: 0, steps: Vec::new() };
    if text.len() > LENGTH_MAX {
        return Err(parser.too_large());
    }
    parser.skip_blanks();
    parser.sum()?;
    if parser.at < text.len() {
        return Err(parser.unexpected("an operator or the end"));
    }
    Ok(Expression { text: text.to_owned(), steps: parser.steps })
}

struct Parser<'t> {
    text: &'t str,
    /// The units that may follow a number.
    units: &'t Units,
    /// Where the next token starts.
    at: usize,
    /// Where the last token ended.
    end: usize,
    depth: usize,
    steps: Vec<Step>,
}

/// Every method leaves `at` at the next token.
impl Parser<'_> {
    fn sum(&mut self) -> Result<(), ExpressionError> {
        let start = self.at;
        self.product()?;
        loop {
            let function = match self.peek() {
                Some('+') => Function::Add,
                Some('-') => Function::Subtract,
                _ => return Ok(()),
            };
            self.take(1);
            self.product()?;
            self.apply(function, start);
        }
    }

    fn product(&mut self) -> Result<(), ExpressionError> {
        let start = self.at;
        self.signed()?;
        loop {
            let function = match self.peek() {
                Some('*') => Function::Multiply,
                Some('/') => Function::Divide,
                _ => return Ok(()),
            };
            self.take(1);
            self.signed()?;
            self.apply(function, start);
        }
    }

    /// All nesting passes through here, so this is the one place that limits the depth.
    fn signed(&mut self) -> Result<(), ExpressionError> {
        if self.depth == DEPTH_MAX {
            return Err(self.too_large());
        }
        self.depth += 1;
        let start = self.at;
        if self.peek() == Some('-') {
            self.take(1);
            self.signed()?;
            self.apply(Function::Negate, start);
        } else {
            self.operand()?;
            if self.peek() == Some('^') {
                self.take(1);
                self.signed()?;
                self.apply(Function::Power, start);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ExpressionError> {
        if self.peek() == Some('(') {
            self.take(1);
            self.sum()?;
            return self.expect(')', "an operator or \")\"");
        }
        if let Some((number, length)) = number_at_start(&self.text[self.at..]) {
            return self.number(number, length);
        }
        let start = self.at;
        let rest = &self.text[start..];
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err(self.unexpected(OPERAND));
        }
        let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@');
        let length = rest.find(|c: char| !in_name(c)).unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        self.take(length);
        if self.peek() == Some('(') {
            return self.call(&name, start..start + length);
        }
        self.push(Operation::Name(name), start);
        Ok(())
    }

    fn number(&mut self, number: f64, length: usize) -> Result<(), ExpressionError> {
        let start = self.at;
        if !number.is_finite() {
            return Err(self.unexpected("a number below 1.8e308"));
        }
        // In `500/s` the slash follows at once; a unit that starts with a symbol may follow blanks.
        let rest = &self.text[start + length..];
        let blanks = rest.len() - rest.trim_start().len();
        let from = start + length + blanks;
        let unit = self.units.unit_at_start(&self.text[from..], blanks == 0);
        let unit = unit.map_err(|error| match error {
            QuantityError::UnknownUnit { at, unit, nearest } => {
                let at = from + at.start..from + at.end;
                ExpressionError::UnknownUnit { at, unit, nearest }
            }
            QuantityError::NoNumber { .. } => self.unexpected(OPERAND),
        })?;
        let (quantity, length) = match unit {
            Some((unit, taken)) => (Quantity::of(number, &unit), length + blanks + taken),
            None => (Quantity::number(number), length),
        };
        self.take(length);
        self.push(Operation::Constant(quantity), start);
        Ok(())
    }

    /// Parses the arguments of a function from its parenthesis.
    fn call(&mut self, name: &str, at: Range<usize>) -> Result<(), ExpressionError> {
        let find =
            |of: &[(&'static str, Function)]| of.iter().find(|(known, _)| *known == name).copied();
        if let Some(queue) = QUEUES.into_iter().find(|(known, ..)| *known == name) {
            return self.queue(queue, at.start);
        }
        if name == PERIODIC {
            return self.periodic(at.start);
        }
        let many = find(&MANY);
        let Some((known, function)) = many.or_else(|| find(&UNARY)) else {
            let all = MANY.iter().chain(&UNARY).map(|(known, _)| *known);
            let all = all.chain(QUEUES.iter().map(|(known, ..)| *known)).chain([PERIODIC]);
            let nearest = nearest(name, all).map(str::to_owned);
            return Err(ExpressionError::UnknownFunction { at, name: name.to_owned(), nearest });
        };
        self.take(1);
        let mut found = 0;
        while found > 0 || self.peek() != Some(')') {
            self.sum()?;
            found += 1;
            if many.is_some() && found > 1 {
                self.apply(function, at.start);
            }
            if self.peek() != Some(',') {
                break;
            }
            self.take(1);
        }
        self.expect(')', "an operator, \",\" or \")\"")?;
        let at = at.start..self.end;
        match (many.is_some(), found) {
            (true, 2..) => {
                self.steps.last_mut().expect("two arguments were applied").at = at;
                Ok(())
            }
            (false, 1) => {
                self.apply(function, at.start);
                Ok(())
            }
            (many, found) => {
                let expected = if many { "two arguments or more" } else { "one argument" };
                Err(ExpressionError::Arguments { at, function: known, expected, found })
            }
        }
    }

    /// Parses the arguments of a queue from its parenthesis. The mean time in it is
    /// `service * (1 + wait(rate * service, servers))`, with one server of any service time
    /// `service * (1 + wait(rate * service, 1) * (1 + variation ^ 2) / 2)` (Pollaczek and Khinchine 1930).
    fn queue(
        &mut self,
        (function, count, expected): (&'static str, usize, &'static str),
        start: usize,
    ) -> Result<(), ExpressionError> {
        let mut arguments = self.arguments((function, count, expected), start)?.into_iter();
        let mut next = || arguments.next().unwrap_or_default();
        let (rate, service, third) = (next(), next(), next());
        self.steps.extend(service.iter().cloned());
        self.one(start);
        self.steps.extend(rate.into_iter().chain(service));
        self.apply(Function::Multiply, start);
        match function {
            "mmc" => self.steps.extend(third),
            "mg1" => {
                self.one(start);
                self.apply(Function::Wait, start);
                self.one(start);
                self.steps.extend(amount(third));
                self.push(Operation::Constant(Quantity::number(2.0)), start);
                self.apply(Function::Power, start);
                self.apply(Function::Add, start);
                self.apply(Function::Multiply, start);
                self.push(Operation::Constant(Quantity::number(2.0)), start);
                self.apply(Function::Divide, start);
            }
            _ => self.one(start),
        }
        if function != "mg1" {
            self.apply(Function::Wait, start);
        }
        self.apply(Function::Add, start);
        self.apply(Function::Multiply, start);
        if self.steps.len() > STEPS_MAX { Err(self.too_large()) } else { Ok(()) }
    }

    /// Parses the argument of the wait for a tick from its parenthesis: `period * phase`. A value that appears at a
    /// moment without relation to the ticks finds each moment of a period equally likely, so the share of the period
    /// that is left until the next tick is uniform from 0 to 1.
    fn periodic(&mut self, start: usize) -> Result<(), ExpressionError> {
        let period = self.arguments((PERIODIC, 1, "one argument: the period"), start)?;
        self.steps.extend(period.into_iter().flat_map(amount));
        self.push(Operation::Phase, start);
        self.apply(Function::Multiply, start);
        Ok(())
    }

    /// Parses this number of arguments from their parenthesis.
    fn arguments(
        &mut self,
        (function, count, expected): (&'static str, usize, &'static str),
        start: usize,
    ) -> Result<Vec<Vec<Step>>, ExpressionError> {
        self.take(1);
        let from = self.steps.len();
        let mut arguments: Vec<Vec<Step>> = Vec::new();
        while !arguments.is_empty() || self.peek() != Some(')') {
            self.sum()?;
            arguments.push(self.steps.split_off(from));
            if self.peek() != Some(',') {
                break;
            }
            self.take(1);
        }
        self.expect(')', "an operator, \",\" or \")\"")?;
        if arguments.len() == count {
            return Ok(arguments);
        }
        let (at, found) = (start..self.end, arguments.len());
        Err(ExpressionError::Arguments { at, function, expected, found })
    }

    fn one(&mut self, start: usize) {
        self.push(Operation::Constant(Quantity::number(1.0)), start);
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Moves behind a token of this length and the blanks after it.
    fn take(&mut self, length: usize) {
        self.at += length;
        self.end = self.at;
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn expect(&mut self, token: char, expected: &'static str) -> Result<(), ExpressionError> {
        if self.peek() != Some(token) {
            return Err(self.unexpected(expected));
        }
        self.take(1);
        Ok(())
    }

    fn push(&mut self, operation: Operation, start: usize) {
        self.steps.push(Step { operation, at: start..self.end, is_amount: false });
    }

    fn apply(&mut self, function: Function, start: usize) {
        self.push(Operation::Apply(function), start);
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let (found, length) = match self.peek() {
            Some(c) => (format!("{c:?}"), c.len_utf8()),
            None => ("the end".to_owned(), 0),
        };
        ExpressionError::Unexpected { at: self.at..self.at + length, found, expected }
    }

    fn too_large(&self) -> ExpressionError {
        ExpressionError::TooLarge {
            at: self.at..self.text.len(),
            depth: DEPTH_MAX,
            bytes: LENGTH_MAX,
        }
    }
}

/// The steps of a value that cannot be negative.
fn amount(mut steps: Vec<Step>) -> Vec<Step> {
    if let Some(last) = steps.last_mut() {
        last.is_amount = true;
    }
    steps
}
