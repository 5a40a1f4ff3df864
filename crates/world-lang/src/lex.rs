//! Text to tokens.

use hemiola_quantity::number_at_start;

use crate::limits::NAME_LEN_MAX;
use crate::problem::{Problem, Problems};
use crate::source::{Source, Span};
use crate::token::{Keyword, Sign, Token, TokenKind};

/// The longest `<…>`.
const ANGLE_LEN_MAX: usize = 64;

/// The tokens of a text with its comments, without the end.
pub(crate) fn lex(source: &Source, problems: &mut Problems) -> Vec<Token> {
    let mut lexer = Lexer { source, problems, at: 0, tokens: Vec::new() };
    while lexer.at < source.text.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer<'s> {
    source: &'s Source,
    problems: &'s mut Problems,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn step(&mut self) {
        let rest = &self.source.text[self.at..];
        let first = rest.chars().next().expect("the text does not end here");
        if first.is_whitespace() {
            self.at += first.len_utf8();
        } else if rest.starts_with("//") {
            let line = rest.find('\n').unwrap_or(rest.len());
            self.push(TokenKind::Comment, rest[..line].trim_end().len());
        } else if let Some(length) = self.angle(rest) {
            self.push(TokenKind::Angle, length);
        } else if first.is_ascii_digit() {
            let (_, length) = number_at_start(rest).expect("it starts with a digit");
            // `3..` is a number and two dots.
            let length = if rest[..length].ends_with('.') { length - 1 } else { length };
            self.push(TokenKind::Number, length);
        } else if first.is_alphabetic() || first == '_' {
            self.word(rest);
        } else if first == '"' {
            self.text(rest);
        } else if let Some(sign) = Sign::ALL.iter().find(|sign| rest.starts_with(sign.text())) {
            self.push(TokenKind::Sign(*sign), sign.text().len());
        } else {
            self.strange(first);
        }
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let span = self.span(length);
        self.tokens.push(Token { kind, span });
        self.at += length;
    }

    fn span(&self, length: usize) -> Span {
        self.source.span(self.at..self.at + length)
    }

    /// The length of the `<…>` that starts here, directly behind a number or a type.
    fn angle(&self, rest: &str) -> Option<usize> {
        use TokenKind::{Keyword as Word, Number};
        let last = self.tokens.last()?;
        let takes =
            matches!(last.kind, Number | Word(Keyword::Real | Keyword::Real32 | Keyword::String));
        if !takes || !rest.starts_with('<') || last.span.end != self.span(0).start {
            return None;
        }
        let inside = |c: char| c.is_alphanumeric() || "µ°%^·/-._".contains(c);
        let (end, close) = rest.char_indices().skip(1).find(|(_, c)| !inside(*c))?;
        (close == '>' && end <= ANGLE_LEN_MAX).then_some(end + 1)
    }

    fn word(&mut self, rest: &str) {
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let kind = Keyword::of(&rest[..length]).map_or(TokenKind::Name, TokenKind::Keyword);
        if length > NAME_LEN_MAX {
            let message = format!("a name of {length} bytes; {NAME_LEN_MAX} are the most");
            self.problems.push(Problem::new(self.span(length), message).hint("shorten it"));
        }
        self.push(kind, length);
    }

    fn text(&mut self, rest: &str) {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '\n' || *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        match end {
            Some((end, '"')) => self.push(TokenKind::Text, end + 1),
            other => {
                let length = other.map_or(rest.len(), |(end, _)| end);
                let problem =
                    Problem::new(self.span(length), "a string that does not end on its line");
                self.problems.push(problem.hint("end it with \""));
                self.push(TokenKind::Text, length);
            }
        }
    }

    fn strange(&mut self, character: char) {
        // Signs of other languages are read as what they mean there.
        let (hint, meant) = match character {
            '&' => ("write `and`", Some(Keyword::And)),
            '|' => ("write `or`", Some(Keyword::Or)),
            '!' => ("write `not`", Some(Keyword::Not)),
            '#' => ("a comment starts with //", None),
            '^' => ("multiply instead, as in `x * x`", None),
            _ => ("remove it", None),
        };
        let rest = &self.source.text[self.at..];
        let twice = rest[character.len_utf8()..].starts_with(character) && meant.is_some();
        let length = if twice { 2 } else { character.len_utf8() };
        let message =
            format!("`{}` has no meaning in the language", &rest[..length].escape_debug());
        self.problems.push(Problem::new(self.span(length), message).hint(hint));
        match meant {
            Some(keyword) => self.push(TokenKind::Keyword(keyword), length),
            None => self.at += length,
        }
    }
}
