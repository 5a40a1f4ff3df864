//! Statements.

use super::{Parser, Read};
use crate::syntax::{BinaryOperator, Block, Expr, ExprKind, Statement};
use crate::token::{Keyword, Sign, TokenKind};

impl Parser<'_> {
    /// The body of a function: `= expression;` or a block.
    pub(super) fn body(&mut self) -> Read<Block> {
        if !self.take(Sign::Set) {
            return self.block();
        }
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Block { span: value.span, statements: vec![Statement::Return(value)] })
    }

    pub(super) fn block(&mut self) -> Read<Block> {
        let open = self.span();
        let statements = self.between_braces(Self::statement)?;
        Ok(Block { statements, span: open.to(self.before()) })
    }

    fn statement(&mut self) -> Read<Statement> {
        match self.peek() {
            TokenKind::Keyword(Keyword::Let) => self.binding(false),
            TokenKind::Keyword(Keyword::Var) => self.binding(true),
            TokenKind::Keyword(Keyword::If) => self.conditional(),
            TokenKind::Keyword(Keyword::For) => self.for_each(),
            TokenKind::Keyword(Keyword::Return) => {
                self.skip();
                let value = self.expression()?;
                self.expect(Sign::Semicolon)?;
                Ok(Statement::Return(value))
            }
            _ => self.assignment(),
        }
    }

    fn binding(&mut self, mutable: bool) -> Read<Statement> {
        self.skip();
        let name = self.name("the name of a value")?;
        let ty = if self.take(Sign::Colon) { Some(self.ty()?) } else { None };
        self.expect(Sign::Set)?;
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Statement::Let { mutable, name, ty, value })
    }

    fn assignment(&mut self) -> Read<Statement> {
        use BinaryOperator as B;
        let target = self.expression()?;
        let operator = match self.peek() {
            TokenKind::Sign(Sign::Set) => None,
            TokenKind::Sign(Sign::PlusSet) => Some(B::Plus),
            TokenKind::Sign(Sign::MinusSet) => Some(B::Minus),
            TokenKind::Sign(Sign::TimesSet) => Some(B::Times),
            TokenKind::Sign(Sign::OverSet) => Some(B::Over),
            _ => return Err(self.unexpected("`=`, `+=`, `-=`, `*=` or `/=`")),
        };
        self.skip();
        let value = self.expression()?;
        self.expect(Sign::Semicolon)?;
        Ok(Statement::Assign { target, operator, value })
    }

    fn conditional(&mut self) -> Read<Statement> {
        self.skip();
        let condition = self.expression()?;
        let then = self.block()?;
        let mut otherwise = Block { statements: Vec::new(), span: then.span };
        if self.take_keyword(Keyword::Else) {
            otherwise = if self.peek() == TokenKind::Keyword(Keyword::If) {
                let start = self.span();
                let inner = self.deeper(Self::conditional)?;
                Block { statements: vec![inner], span: start.to(self.before()) }
            } else {
                self.block()?
            };
        }
        Ok(Statement::If { condition, then, otherwise })
    }

    fn for_each(&mut self) -> Read<Statement> {
        self.skip();
        if !self.take_keyword(Keyword::Each) {
            return Err(self.unexpected("`each`"));
        }
        let name = self.name("the name of an item")?;
        if !self.take_keyword(Keyword::In) {
            return Err(self.unexpected("`in`"));
        }
        let over = self.expression()?;
        let within =
            if self.take_keyword(Keyword::Within) { Some(self.expression()?) } else { None };
        let at_most = if self.take_keyword(Keyword::At) { Some(self.most()?) } else { None };
        Ok(Statement::ForEach { name, over, within, at_most, body: self.block()? })
    }

    fn most(&mut self) -> Read<Expr> {
        if !self.take_keyword(Keyword::Most) {
            return Err(self.unexpected("`most`, as in `at most 64`"));
        }
        self.expression()
    }
}

/// Whether an expression can be the left side of an assignment.
pub(crate) fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) => true,
        ExprKind::Field(of, _) => matches!(of.kind, ExprKind::SelfRow) || is_place(of),
        ExprKind::Index(of, _) => is_place(of),
        _ => false,
    }
}
