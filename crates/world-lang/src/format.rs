//! The canonical form of a text: keywords in lower case, one component or statement per line, blanks in fixed places.
//!
//! The tokens stay as they are, so the tree does too. Comments stay, and line breaks within a statement. Braces stay on
//! one line if they were on one and hold at most one `;`.

use crate::lex::lex;
use crate::parse::parse_into;
use crate::problem::{Problem, Problems};
use crate::source::{Source, Sources};
use crate::token::{Keyword, Sign, Token, TokenKind};

/// The first text in canonical form.
///
/// # Errors
/// When it is not a text of the language: the problems.
///
/// # Panics
/// If there is no text.
pub fn format(sources: &Sources) -> Result<String, Vec<Problem>> {
    let mut problems = Problems::default();
    let mut syntax = parse_into(sources, &mut problems);
    if !problems.is_empty() {
        return Err(problems.sorted());
    }
    syntax.value_braces.sort_unstable();
    let source = &sources.files()[0];
    let tokens = lex(source, &mut problems);
    let braces = Braces::find(source, &tokens, |token| {
        syntax.value_braces.binary_search(&token.span).is_ok()
    });
    let mut writer = Writer {
        source,
        text: String::with_capacity(source.text.len()),
        indents: Vec::new(),
        line_indent: 0,
    };
    for at in 0..tokens.len() {
        writer.token(&tokens, &braces, at);
    }
    if !writer.text.is_empty() {
        writer.text.push('\n');
    }
    Ok(writer.text)
}

/// Facts about the token at the same index.
struct Braces {
    /// Whether it is a brace whose contents stand on lines of their own.
    broken: Vec<bool>,
    /// Whether it is a brace around a value.
    value: Vec<bool>,
    /// Whether the innermost braces around it, of a `}` its own, are broken; true outside of all.
    around: Vec<bool>,
}

impl Braces {
    fn find(source: &Source, tokens: &[Token], is_value: impl Fn(&Token) -> bool) -> Self {
        let mut found = Self {
            broken: vec![false; tokens.len()],
            value: tokens.iter().map(is_value).collect(),
            around: vec![true; tokens.len()],
        };
        // Of each open brace: its index, and the semicolons and comments in it.
        let mut open: Vec<(usize, usize, usize)> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Sign(Sign::Open) => open.push((at, 0, 0)),
                TokenKind::Sign(Sign::Close) => {
                    let Some((from, ends, comments)) = open.pop() else { continue };
                    let lines = source.slice(tokens[from].span.to(token.span)).contains('\n');
                    let broken = lines || ends > 1 || comments > 0;
                    (found.broken[from], found.broken[at]) = (broken, broken);
                    if let Some(outer) = open.last_mut() {
                        *outer = (outer.0, outer.1 + ends, outer.2 + comments);
                    }
                }
                TokenKind::Sign(Sign::Semicolon) => {
                    open.last_mut().map(|brace| brace.1 += 1).unwrap_or(())
                }
                TokenKind::Comment => open.last_mut().map(|brace| brace.2 += 1).unwrap_or(()),
                _ => {}
            }
        }
        let mut around = vec![true];
        for (at, token) in tokens.iter().enumerate() {
            found.around[at] = around[around.len() - 1];
            if token.kind == TokenKind::Sign(Sign::Close) && around.len() > 1 {
                around.pop();
            }
            if token.kind == TokenKind::Sign(Sign::Open) {
                around.push(found.broken[at]);
            }
        }
        found
    }
}

struct Writer<'s> {
    source: &'s Source,
    text: String,
    /// Of each broken brace around the place: the indentation of its contents.
    indents: Vec<usize>,
    /// The indentation of the line so far.
    line_indent: usize,
}

/// The space between two tokens.
enum Gap {
    Nothing,
    Blank,
    /// A new line, and whether an empty one precedes it.
    Line(bool),
    /// A new line within a statement.
    Continued,
}

impl Writer<'_> {
    fn token(&mut self, tokens: &[Token], braces: &Braces, at: usize) {
        let token = &tokens[at];
        let breaks = |sign| token.kind == TokenKind::Sign(sign) && braces.broken[at];
        let mut indent = self.indents.last().copied().unwrap_or(0);
        if breaks(Sign::Close) {
            self.indents.pop();
            indent -= 1;
        }
        if at > 0 {
            match self.gap(tokens, braces, at) {
                Gap::Nothing => {}
                Gap::Blank => self.text.push(' '),
                Gap::Line(empty) => self.line(empty, indent),
                Gap::Continued => self.line(false, indent + 1),
            }
        }
        match token.kind {
            TokenKind::Keyword(keyword) => self.text.push_str(keyword.text()),
            _ => self.text.push_str(self.source.slice(token.span)),
        }
        if breaks(Sign::Open) {
            // A value is indented with its line, a block with its statement.
            let from = if braces.value[at] { self.line_indent } else { indent };
            self.indents.push(from + 1);
        }
    }

    fn line(&mut self, empty: bool, indent: usize) {
        self.text.push_str(if empty { "\n\n" } else { "\n" });
        self.text.extend(std::iter::repeat_n("  ", indent));
        self.line_indent = indent;
    }

    fn gap(&self, tokens: &[Token], braces: &Braces, at: usize) -> Gap {
        use TokenKind::{Comment, Sign as S};
        let (before, token) = (&tokens[at - 1], &tokens[at]);
        let lines = self.lines_between(before, token);
        let closes = token.kind == S(Sign::Close) && braces.broken[at];
        let fresh = ended(tokens, braces, at);
        if before.kind == Comment || token.kind == Comment && lines > 0 {
            let opened = before.kind == S(Sign::Open);
            return if fresh || closes {
                Gap::Line(lines > 1 && !opened && !closes)
            } else {
                Gap::Continued
            };
        }
        if closes {
            return Gap::Line(false);
        }
        if fresh && token.kind != Comment {
            return Gap::Line(lines > 1 && before.kind != S(Sign::Open));
        }
        let joined =
            matches!(token.kind, S(Sign::Open | Sign::Semicolon | Sign::Comma) | TokenKind::Angle)
                || token.kind == TokenKind::Keyword(Keyword::Else);
        if lines > 0 && !joined && token.kind != Comment {
            return Gap::Continued;
        }
        if blank(tokens, at) { Gap::Blank } else { Gap::Nothing }
    }

    fn lines_between(&self, before: &Token, token: &Token) -> usize {
        let gap = crate::source::Span { start: before.span.end, end: token.span.start };
        self.source.slice(gap).matches('\n').count()
    }
}

/// Whether a component or statement starts at this token, or the contents of broken braces.
fn ended(tokens: &[Token], braces: &Braces, at: usize) -> bool {
    use TokenKind::{Comment, Sign as S};
    let Some(before) = tokens[..at].iter().rposition(|token| token.kind != Comment) else {
        return true;
    };
    let token = tokens[at].kind;
    match tokens[before].kind {
        S(Sign::Open) => braces.broken[before],
        S(Sign::Semicolon) => braces.around[at],
        S(Sign::Close) => {
            !braces.value[before] && braces.around[at] && token != TokenKind::Keyword(Keyword::Else)
        }
        _ => false,
    }
}

/// Whether a blank stands before the token if it is on the same line as the one before.
fn blank(tokens: &[Token], at: usize) -> bool {
    use TokenKind::{Angle, Keyword as K, Name, Sign as S};
    let (before, token) = (tokens[at - 1].kind, tokens[at].kind);
    let typed = matches!(
        before,
        K(Keyword::Real | Keyword::Real32 | Keyword::Integer | Keyword::Boolean | Keyword::String)
    );
    match (before, token) {
        (
            _,
            Angle
            | S(Sign::Semicolon | Sign::Comma | Sign::CloseRound | Sign::CloseSquare | Sign::Dot),
        ) => false,
        (S(Sign::OpenRound | Sign::OpenSquare | Sign::Dot | Sign::UpTo), _) => false,
        (S(Sign::Minus), _) => !(is_sign(tokens, at - 1)),
        (_, S(Sign::OpenRound)) => {
            let called = matches!(before, Name | Angle | K(Keyword::Update | Keyword::Predict));
            !(called || typed)
        }
        (_, S(Sign::OpenSquare)) => {
            let indexed = matches!(
                before,
                Name | Angle
                    | S(Sign::CloseSquare | Sign::CloseRound)
                    | K(Keyword::SelfRow | Keyword::LastSent)
            );
            !(indexed || typed)
        }
        _ => true,
    }
}

/// Whether the minus at this index is a sign, not an operator between two values.
fn is_sign(tokens: &[Token], at: usize) -> bool {
    use TokenKind::{Angle, Keyword as K, Name, Number, Sign as S, Text};
    let before = tokens[..at].iter().rev().find(|token| token.kind != TokenKind::Comment);
    !before.is_some_and(|before| {
        matches!(
            before.kind,
            Angle
                | Name
                | Number
                | Text
                | S(Sign::CloseRound | Sign::CloseSquare | Sign::Close)
                | K(Keyword::SelfRow | Keyword::LastSent | Keyword::True | Keyword::False)
        )
    })
}
