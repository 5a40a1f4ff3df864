//! Tokens to the tree of a text. After an error, reading continues with the next component or statement.

mod expression;
mod statement;

pub(crate) use statement::is_place;

use crate::lex::lex;
use crate::limits::NESTING_MAX;
use crate::problem::{Problem, Problems};
use crate::source::{Source, Sources, Span};
use crate::syntax::{
    Constant, Converter, Element, Entity, Function, FunctionKind, Item, Name, Parameter, Path,
    Property, Syntax, Type, TypeKind, Universe, Value,
};
use crate::token::{Keyword, Sign, Token, TokenKind};

/// The tree of all texts, and what is wrong in it. The tree lacks the parts that could not be read.
#[must_use]
pub fn parse(sources: &Sources) -> (Syntax, Vec<Problem>) {
    let mut problems = Problems::default();
    let syntax = parse_into(sources, &mut problems);
    (syntax, problems.sorted())
}

pub(crate) fn parse_into(sources: &Sources, problems: &mut Problems) -> Syntax {
    let mut syntax = Syntax::default();
    for source in sources.files() {
        let mut tokens = lex(source, problems);
        tokens.retain(|token| token.kind != TokenKind::Comment);
        let mut parser = Parser {
            source,
            tokens,
            at: 0,
            depth: 0,
            braces: 0,
            abandoned: false,
            value_braces: Vec::new(),
            problems,
        };
        parser.file(&mut syntax);
        syntax.value_braces.append(&mut parser.value_braces);
    }
    syntax
}

/// Reading failed, and the problem is recorded.
struct Failed;

type Read<T> = Result<T, Failed>;

struct Parser<'s> {
    source: &'s Source,
    tokens: Vec<Token>,
    at: usize,
    /// Levels of nesting around the place.
    depth: usize,
    /// Braces that are open before the token ahead.
    braces: usize,
    /// Whether the rest was skipped because of its nesting.
    abandoned: bool,
    /// Where braces around values start and end.
    value_braces: Vec<Span>,
    problems: &'s mut Problems,
}

/// Where components stand, which decides which kinds are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Universe,
    Element,
    Entity,
}

impl Parser<'_> {
    fn file(&mut self, syntax: &mut Syntax) {
        while self.peek() != TokenKind::End && !self.problems.is_full() {
            match self.universe() {
                Ok(universe) => syntax.universes.push(universe),
                Err(Failed) => self.recover(0),
            }
        }
    }

    fn universe(&mut self) -> Read<Universe> {
        if !self.take_keyword(Keyword::Universe) {
            return Err(self.unexpected("`universe`"));
        }
        let name = self.name("the name of the universe")?;
        Ok(Universe { name, items: self.items(Within::Universe)? })
    }

    /// `{ … }`
    fn items(&mut self, within: Within) -> Read<Vec<Item>> {
        self.between_braces(|parser| parser.item(within))
    }

    /// Parts between braces; those that cannot be read are left out.
    fn between_braces<T>(&mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let open = self.expect(Sign::Open)?;
        self.deeper(|parser| {
            let (level, mut parts) = (parser.braces, Vec::new());
            while !parser.take(Sign::Close) {
                if parser.peek() == TokenKind::End || parser.problems.is_full() {
                    parser.unclosed(open);
                    return Err(Failed);
                }
                match read(parser) {
                    Ok(part) => parts.push(part),
                    Err(Failed) => parser.recover(level),
                }
            }
            Ok(parts)
        })
    }

    fn item(&mut self, within: Within) -> Read<Item> {
        use Keyword as K;
        let start = self.span();
        let item = match (within, self.peek()) {
            (
                Within::Entity | Within::Element,
                TokenKind::Name | TokenKind::Keyword(K::SelfRow),
            ) => Item::Value(self.value()?),
            (Within::Entity, _) => return Err(self.unexpected("`property = value;`")),
            (_, TokenKind::Keyword(K::Element)) => Item::Element(self.element()?),
            (_, TokenKind::Keyword(K::Constant)) => Item::Constant(self.constant()?),
            (_, TokenKind::Keyword(K::Function)) => self.function(FunctionKind::Function)?,
            (Within::Universe, TokenKind::Keyword(K::Entity)) => Item::Entity(self.entity()?),
            (Within::Element, TokenKind::Keyword(K::Property)) => Item::Property(self.property()?),
            (Within::Element, TokenKind::Keyword(K::Update)) => {
                self.function(FunctionKind::Update)?
            }
            (Within::Element, TokenKind::Keyword(K::Predict)) => {
                self.function(FunctionKind::Predict)?
            }
            (Within::Element, TokenKind::Keyword(K::Constraint)) => {
                self.function(FunctionKind::Constraint)?
            }
            (Within::Element, TokenKind::Keyword(K::Converter)) => {
                Item::Converter(self.converter()?)
            }
            (_, TokenKind::Keyword(keyword)) => return Err(self.misplaced(start, keyword, within)),
            _ => return Err(self.unexpected("a component, such as `element` or `property`")),
        };
        Ok(item)
    }

    fn misplaced(&mut self, span: Span, keyword: Keyword, within: Within) -> Failed {
        use Keyword as K;
        let place = if within == Within::Universe { "a universe" } else { "an element" };
        let message = format!("{place} does not contain `{}`", keyword.text());
        let hint = match keyword {
            K::Property | K::Update | K::Predict | K::Constraint | K::Converter => {
                "move it into an element"
            }
            K::Entity => "move it out of the element",
            K::Universe => "close the universe before it with }",
            _ => {
                "components start with element, property, constant, function, update, predict, constraint, \
                  converter or entity"
            }
        };
        self.problems.push(Problem::new(span, message).hint(hint));
        Failed
    }

    fn element(&mut self) -> Read<Element> {
        self.skip();
        let name = self.name("the name of the element")?;
        let base =
            if self.take(Sign::Colon) { Some(self.path("the name of an element")?) } else { None };
        let was = self.was()?;
        Ok(Element { name, base, was, items: self.items(Within::Element)? })
    }

    fn was(&mut self) -> Read<Option<Name>> {
        if self.take_keyword(Keyword::Was) {
            self.name("the former name").map(Some)
        } else {
            Ok(None)
        }
    }

    fn property(&mut self) -> Read<Property> {
        self.skip();
        let name = self.name("the name of the property")?;
        self.expect(Sign::Colon)?;
        let ty = self.ty()?;
        let was = self.was()?;
        let indexed = self.take_keyword(Keyword::Indexed);
        if indexed && !self.take_keyword(Keyword::By) {
            return Err(self.unexpected("`by` and the edge of a cell"));
        }
        let cell = if indexed { Some(self.expression()?) } else { None };
        let default = if self.take(Sign::Set) { Some(self.expression()?) } else { None };
        self.expect(Sign::Semicolon)?;
        Ok(Property { name, ty, was, cell, default })
    }

    fn value(&mut self) -> Read<Value> {
        let target = self.expression()?;
        self.expect(Sign::Set)?;
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Value { target, value })
    }

    fn constant(&mut self) -> Read<Constant> {
        self.skip();
        let name = self.name("the name of the constant")?;
        let ty = if self.take(Sign::Colon) { Some(self.ty()?) } else { None };
        self.expect(Sign::Set)?;
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Constant { name, ty, value })
    }

    fn function(&mut self, kind: FunctionKind) -> Read<Item> {
        let keyword = self.skip();
        let named = matches!(kind, FunctionKind::Function | FunctionKind::Constraint);
        let name = if named {
            self.name("the name of the function")?
        } else {
            Name { text: self.text(keyword).to_ascii_lowercase(), span: keyword }
        };
        let parameters = self.parameters()?;
        let result = if kind == FunctionKind::Function {
            self.expect(Sign::Colon)?;
            Some(self.ty()?)
        } else {
            None
        };
        let body = self.body()?;
        Ok(Item::Function(Function { kind, name, parameters, result, body }))
    }

    fn parameters(&mut self) -> Read<Vec<Parameter>> {
        self.expect(Sign::OpenRound)?;
        let mut parameters = Vec::new();
        while !self.take(Sign::CloseRound) {
            let name = self.name("the name of a parameter, or `)`")?;
            self.expect(Sign::Colon)?;
            parameters.push(Parameter { name, ty: self.ty()? });
            self.separator(Sign::CloseRound)?;
        }
        Ok(parameters)
    }

    fn converter(&mut self) -> Read<Converter> {
        self.skip();
        let back = self.take_keyword(Keyword::Back);
        let target = self.name("the name of a property")?;
        self.expect(Sign::Set)?;
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Converter { back, target, value })
    }

    fn entity(&mut self) -> Read<Entity> {
        self.skip();
        let name = self.name("the name of the entity")?;
        self.expect(Sign::Colon)?;
        let element = self.path("the name of an element")?;
        if self.take(Sign::Semicolon) {
            return Ok(Entity { name, element, items: Vec::new() });
        }
        Ok(Entity { name, element, items: self.items(Within::Entity)? })
    }

    fn ty(&mut self) -> Read<Type> {
        use Keyword as K;
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::Keyword(K::Real) => self.real(64),
            TokenKind::Keyword(K::Real32) => self.real(32),
            TokenKind::Keyword(K::Integer) => self.simple(TypeKind::Integer),
            TokenKind::Keyword(K::Boolean) => self.simple(TypeKind::Boolean),
            TokenKind::Keyword(K::String) => {
                self.skip();
                TypeKind::String(self.angle())
            }
            TokenKind::Name => TypeKind::Element(self.path("the name of an element")?),
            _ => {
                return Err(
                    self.unexpected("a type: real, real32, integer, boolean, string or an element")
                );
            }
        };
        let mut ty = Type { kind, span: start.to(self.before()) };
        for _ in 0..=crate::limits::TYPE_HEIGHT_MAX {
            if !self.take(Sign::OpenSquare) {
                return Ok(ty);
            }
            let list = self.take(Sign::UpTo);
            let length = Box::new(self.expression()?);
            let span = start.to(self.expect(Sign::CloseSquare)?);
            let of = Box::new(ty);
            let kind = if list { TypeKind::List(of, length) } else { TypeKind::Array(of, length) };
            ty = Type { kind, span };
        }
        let most = crate::limits::TYPE_HEIGHT_MAX;
        let problem = Problem::new(ty.span, format!("a type has at most {most} pairs of brackets"));
        self.problems.push(problem.hint("put an element between"));
        Err(Failed)
    }

    fn simple(&mut self, kind: TypeKind) -> TypeKind {
        self.skip();
        kind
    }

    fn real(&mut self, bits: u8) -> TypeKind {
        self.skip();
        TypeKind::Real { bits, unit: self.angle() }
    }

    /// The text of `<…>`.
    fn angle(&mut self) -> Option<Name> {
        if self.peek() != TokenKind::Angle {
            return None;
        }
        let span = self.skip();
        let inner = Span { start: span.start + 1, end: span.end - 1 };
        Some(Name { text: self.text(inner).to_owned(), span: inner })
    }

    fn path(&mut self, expected: &str) -> Read<Path> {
        let mut names = vec![self.name(expected)?];
        while self.take(Sign::Dot) {
            names.push(self.name("a name")?);
        }
        Ok(Path { names })
    }

    fn name(&mut self, expected: &str) -> Read<Name> {
        match self.peek() {
            TokenKind::Name => {
                let span = self.skip();
                Ok(Name { text: self.text(span).to_owned(), span })
            }
            TokenKind::Keyword(keyword) => {
                let message =
                    format!("`{}` is a word of the language, not {expected}", keyword.text());
                let hint = format!("another name, such as `{}_`, is free", keyword.text());
                self.problems.push(Problem::new(self.span(), message).hint(hint));
                Err(Failed)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A comma, or the closing sign ahead.
    fn separator(&mut self, close: Sign) -> Read<()> {
        if self.peek() == TokenKind::Sign(close) || self.take(Sign::Comma) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`,` or `{}`", close.text())))
    }

    fn expect(&mut self, sign: Sign) -> Read<Span> {
        if self.peek() == TokenKind::Sign(sign) {
            return Ok(self.skip());
        }
        if sign == Sign::Semicolon {
            // The line that lacks the semicolon is the one to look at.
            let end = self.before().end;
            let message = "a `;` is missing here";
            self.problems.push(Problem::new(Span { start: end, end }, message).hint("add `;`"));
            return Err(Failed);
        }
        Err(self.unexpected(&format!("`{}`", sign.text())))
    }

    fn unexpected(&mut self, expected: &str) -> Failed {
        if self.abandoned {
            return Failed;
        }
        let found = match self.peek() {
            TokenKind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.text(self.span())),
        };
        let problem = Problem::new(self.span(), format!("expected {expected}, found {found}"));
        self.problems.push(problem);
        Failed
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= NESTING_MAX {
            let message = format!("more than {NESTING_MAX} levels of nesting");
            self.problems.push(Problem::new(self.span(), message).hint("name the inner parts"));
            // The rest cannot be understood without this part.
            (self.at, self.abandoned) = (self.tokens.len(), true);
            return Err(Failed);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn unclosed(&mut self, open: Span) {
        if !self.abandoned {
            let problem = Problem::new(open, "this brace is not closed").hint("close it with }");
            self.problems.push(problem);
        }
    }

    /// Skips to the next component or statement of the level with so many open braces: behind its next `;` or block,
    /// or to its `}`.
    fn recover(&mut self, level: usize) {
        while self.peek() != TokenKind::End {
            let kind = self.peek();
            // At the level of the file nothing is open.
            if kind == TokenKind::Sign(Sign::Close) && self.braces <= level && level > 0 {
                return;
            }
            self.skip();
            let ends = matches!(kind, TokenKind::Sign(Sign::Close | Sign::Semicolon));
            if ends && self.braces <= level && self.peek() != TokenKind::Keyword(Keyword::Else) {
                self.take(Sign::Semicolon);
                return;
            }
        }
    }

    fn take(&mut self, sign: Sign) -> bool {
        let found = self.peek() == TokenKind::Sign(sign);
        if found {
            self.skip();
        }
        found
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.peek() == TokenKind::Keyword(keyword);
        if found {
            self.skip();
        }
        found
    }

    fn peek(&self) -> TokenKind {
        self.tokens.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    /// The place of the token ahead.
    fn span(&self) -> Span {
        let end = self.source.text.len();
        self.tokens.get(self.at).map_or_else(|| self.source.span(end..end), |token| token.span)
    }

    /// The place of the token before.
    fn before(&self) -> Span {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or_else(|| self.source.span(0..0), |token| token.span)
    }

    /// Goes on to the next token and returns the place of this one.
    fn skip(&mut self) -> Span {
        let span = self.span();
        match self.peek() {
            TokenKind::End => return span,
            TokenKind::Sign(Sign::Open) => self.braces += 1,
            TokenKind::Sign(Sign::Close) => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.at += 1;
        span
    }

    fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }
}
