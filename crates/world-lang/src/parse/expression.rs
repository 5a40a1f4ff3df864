//! Expressions, by precedence climbing (Pratt, "Top Down Operator Precedence", 1973).

use hemiola_quantity::number_at_start;

use super::{Failed, Parser, Read};
use crate::limits::EXPRESSION_HEIGHT_MAX;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::token::{Keyword, Sign, TokenKind};

/// The binding strength of comparisons, which cannot be chained, and of `not`.
const COMPARISON: u8 = 3;
/// The binding strength of a sign.
const SIGN: u8 = 6;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Read<Expr> {
        self.deeper(|parser| parser.operands(0))
    }

    /// An expression whose operators bind at least as strongly as `least`.
    fn operands(&mut self, least: u8) -> Read<Expr> {
        let mut left = self.prefixed()?;
        let mut compared = false;
        while let Some((operator, strength)) =
            self.operator().filter(|(_, strength)| *strength >= least)
        {
            if strength == COMPARISON && compared {
                let problem = Problem::new(self.span(), "comparisons cannot be chained");
                self.problems.push(problem.hint("join two comparisons with `and`"));
                return Err(Failed);
            }
            compared = strength == COMPARISON;
            self.skip();
            let right = self.deeper(|parser| parser.operands(strength + 1))?;
            let (span, height) = (left.span.to(right.span), left.height.max(right.height));
            left = self.node(
                ExprKind::Binary(operator, Box::new(left), Box::new(right)),
                span,
                height,
            )?;
        }
        Ok(left)
    }

    /// The operator ahead and its strength.
    fn operator(&self) -> Option<(BinaryOperator, u8)> {
        use BinaryOperator as B;
        Some(match self.peek() {
            TokenKind::Keyword(Keyword::Or) => (B::Or, 1),
            TokenKind::Keyword(Keyword::And) => (B::And, 2),
            TokenKind::Sign(Sign::Equal) => (B::Equal, COMPARISON),
            TokenKind::Sign(Sign::Unequal) => (B::Unequal, COMPARISON),
            TokenKind::Sign(Sign::Less) => (B::Less, COMPARISON),
            TokenKind::Sign(Sign::AtMost) => (B::AtMost, COMPARISON),
            TokenKind::Sign(Sign::More) => (B::More, COMPARISON),
            TokenKind::Sign(Sign::AtLeast) => (B::AtLeast, COMPARISON),
            TokenKind::Sign(Sign::Plus) => (B::Plus, 4),
            TokenKind::Sign(Sign::Minus) => (B::Minus, 4),
            TokenKind::Sign(Sign::Times) => (B::Times, 5),
            TokenKind::Sign(Sign::Over) => (B::Over, 5),
            _ => return None,
        })
    }

    fn prefixed(&mut self) -> Read<Expr> {
        let (operator, strength) = match self.peek() {
            TokenKind::Sign(Sign::Minus) => (UnaryOperator::Minus, SIGN),
            TokenKind::Keyword(Keyword::Not) => (UnaryOperator::Not, COMPARISON),
            _ => return self.suffixed(),
        };
        let start = self.skip();
        let operand = self.deeper(|parser| parser.operands(strength))?;
        let (span, height) = (start.to(operand.span), operand.height);
        self.node(ExprKind::Unary(operator, Box::new(operand)), span, height)
    }

    /// A value with its fields and indices.
    fn suffixed(&mut self) -> Read<Expr> {
        let mut value = self.primary()?;
        loop {
            let height = value.height;
            if self.take(Sign::Dot) {
                let name = self.name("the name of a property")?;
                let span = value.span.to(name.span);
                value = self.node(ExprKind::Field(Box::new(value), name), span, height)?;
            } else if self.take(Sign::OpenSquare) {
                let index = self.expression()?;
                let span = value.span.to(self.expect(Sign::CloseSquare)?);
                let height = height.max(index.height);
                value =
                    self.node(ExprKind::Index(Box::new(value), Box::new(index)), span, height)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Read<Expr> {
        use Keyword as K;
        let start = self.span();
        let simple = match self.peek() {
            TokenKind::Number => return self.number(),
            TokenKind::Text => ExprKind::Text(unescape(self.text(start))),
            TokenKind::Keyword(K::True) => ExprKind::Boolean(true),
            TokenKind::Keyword(K::False) => ExprKind::Boolean(false),
            TokenKind::Keyword(K::SelfRow) => ExprKind::SelfRow,
            TokenKind::Keyword(K::LastSent) => ExprKind::LastSent,
            TokenKind::Keyword(K::If) => return self.deeper(Self::choice),
            TokenKind::Keyword(K::Real | K::Real32 | K::Integer) => return self.convert(),
            TokenKind::Name => return self.named(),
            TokenKind::Sign(Sign::OpenSquare) => {
                self.skip();
                let items = self.list(Sign::CloseSquare)?;
                let height = height(&items);
                return self.node(ExprKind::Array(items), start.to(self.before()), height);
            }
            TokenKind::Sign(Sign::OpenRound) => {
                self.skip();
                let inner = self.expression()?;
                let span = start.to(self.expect(Sign::CloseRound)?);
                return Ok(Expr { span, ..inner });
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.skip();
        self.node(simple, start, 0)
    }

    fn number(&mut self) -> Read<Expr> {
        let span = self.skip();
        let text = self.text(span);
        let value = number_at_start(text).map_or(f64::INFINITY, |(value, _)| value);
        let whole = !text.contains(['.', 'e', 'E']);
        if !value.is_finite() {
            let problem = Problem::new(span, "a number beyond the range of `real`");
            self.problems.push(problem.hint("the largest is about 1.8e308"));
        }
        let unit = self.angle();
        self.node(ExprKind::Number { value, whole, unit }, span.to(self.before()), 0)
    }

    fn named(&mut self) -> Read<Expr> {
        let name = self.name("a name")?;
        if !self.take(Sign::OpenRound) {
            return self.node(ExprKind::Name(name.text), name.span, 0);
        }
        let arguments = self.list(Sign::CloseRound)?;
        let (span, height) = (name.span.to(self.before()), height(&arguments));
        self.node(ExprKind::Call(name, arguments), span, height)
    }

    /// `real32(value)`
    fn convert(&mut self) -> Read<Expr> {
        let ty = self.ty()?;
        self.expect(Sign::OpenRound)?;
        let value = self.expression()?;
        let span = ty.span.to(self.expect(Sign::CloseRound)?);
        let height = value.height;
        self.node(ExprKind::Convert(Box::new(ty), Box::new(value)), span, height)
    }

    fn choice(&mut self) -> Read<Expr> {
        let start = self.skip();
        let condition = self.expression()?;
        let then = self.braced()?;
        if !self.take_keyword(Keyword::Else) {
            return Err(self.unexpected("`else` and a second value"));
        }
        let otherwise = match self.peek() {
            TokenKind::Keyword(Keyword::If) => self.deeper(Self::choice)?,
            _ => self.braced()?,
        };
        let height = condition.height.max(then.height).max(otherwise.height);
        let span = start.to(self.before());
        self.node(ExprKind::If(Box::new([condition, then, otherwise])), span, height)
    }

    fn braced(&mut self) -> Read<Expr> {
        let open = self.expect(Sign::Open)?;
        let value = self.expression()?;
        let close = self.expect(Sign::Close)?;
        self.value_braces.extend([open, close]);
        Ok(value)
    }

    /// Expressions up to the closing sign.
    fn list(&mut self, close: Sign) -> Read<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.expression()?);
            self.separator(close)?;
        }
        Ok(items)
    }

    /// A new expression over others that are at most `height` high.
    fn node(&mut self, kind: ExprKind, span: Span, height: u16) -> Read<Expr> {
        if height >= EXPRESSION_HEIGHT_MAX {
            let message = format!("an expression of more than {EXPRESSION_HEIGHT_MAX} levels");
            self.problems.push(Problem::new(span, message).hint("name a part of it with `let`"));
            return Err(Failed);
        }
        Ok(Expr { kind, span, height: height + 1 })
    }
}

fn height(items: &[Expr]) -> u16 {
    items.iter().map(|item| item.height).max().unwrap_or(0)
}

/// The characters that a string in quotes stands for: `\n`, `\"` and `\\` are escapes.
fn unescape(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}
