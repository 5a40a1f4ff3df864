//! Whether a function does the same under two definitions, which number their components differently.

use hemiola_world_lang::definition::{
    ElementId, Expr, ExprKind, Function, Over, Statement, Type, Universe,
};

use crate::conversion::Former;

/// Two definitions, and what the components of `after` were in `before`.
pub(crate) struct Same<'u> {
    pub(crate) before: &'u Universe,
    pub(crate) after: &'u Universe,
    pub(crate) former: &'u Former<'u>,
}

impl Same<'_> {
    /// The name that a function of `after` has under `before`: the functions of an element follow its name.
    pub(crate) fn name_before(&self, function: &Function) -> String {
        let origin = function.element.and_then(|id| self.former.elements[id.index()]);
        let Some(origin) = origin else { return function.name.clone() };
        let own = function.name.rsplit('.').next().unwrap_or_default();
        format!("{}.{own}", self.before.elements[origin.index()].name)
    }

    /// Whether both functions compute the same if the functions and constants that they use do.
    pub(crate) fn function(&self, old: &Function, new: &Function) -> bool {
        let types = |old: &Option<Type>, new: &Option<Type>| match (old, new) {
            (Some(old), Some(new)) => self.ty(old, new),
            (old, new) => old.is_none() && new.is_none(),
        };
        old.kind == new.kind
            && old.parameter_count == new.parameter_count
            && all(&old.locals, &new.locals, |old, new| self.ty(&old.ty, &new.ty))
            && types(&old.result, &new.result)
            && self.statements(&old.body, &new.body)
    }

    fn statements(&self, old: &[Statement], new: &[Statement]) -> bool {
        all(old, new, |old, new| self.statement(old, new))
    }

    fn statement(&self, old: &Statement, new: &Statement) -> bool {
        use Statement::{Assign, ForEach, If, Let, Return};
        match (old, new) {
            (Let(a, x), Let(b, y)) => a == b && self.expr(x, y),
            (Assign(a, x), Assign(b, y)) => self.expr(a, b) && self.expr(x, y),
            (If(a, yes, no), If(b, then, other)) => {
                self.expr(a, b) && self.statements(yes, then) && self.statements(no, other)
            }
            (
                ForEach { item: a, over: x, body: inner },
                ForEach { item: b, over: y, body: other },
            ) => a == b && self.over(x, y) && self.statements(inner, other),
            (Return(x), Return(y)) => self.expr(x, y),
            _ => false,
        }
    }

    fn over(&self, old: &Over, new: &Over) -> bool {
        match (old, new) {
            (Over::Items(x), Over::Items(y)) => self.expr(x, y),
            (
                Over::Rows { element: a, within: x, at_most: most },
                Over::Rows { element: b, within: y, at_most: limit },
            ) => {
                self.element(*a, *b)
                    && most == limit
                    && all(x.as_slice(), y.as_slice(), |x, y| self.expr(x, y))
            }
            _ => false,
        }
    }

    fn exprs(&self, old: &[Expr], new: &[Expr]) -> bool {
        all(old, new, |old, new| self.expr(old, new))
    }

    fn expr(&self, old: &Expr, new: &Expr) -> bool {
        use ExprKind::{
            Array, Binary, Builtin, Call, Constant, Convert, Field, If, Index, LastSent, Literal,
            Local, SelfRow, Unary,
        };
        let (before, after) = (self.before, self.after);
        self.ty(&old.ty, &new.ty)
            && match (&old.kind, &new.kind) {
                (Literal(x), Literal(y)) => x.same_bits(y),
                (Constant(a), Constant(b)) => {
                    before.constants[a.index()].name == after.constants[b.index()].name
                }
                (SelfRow, SelfRow) | (LastSent, LastSent) => true,
                (Local(a), Local(b)) => a == b,
                (Field(x, a), Field(y, b)) => self.expr(x, y) && self.property((x, *a), (y, *b)),
                (Index(x, a), Index(y, b)) => self.expr(x, y) && self.expr(a, b),
                (Array(x), Array(y)) => self.exprs(x, y),
                (Convert(x), Convert(y)) => self.expr(x, y),
                (Unary(a, x), Unary(b, y)) => a == b && self.expr(x, y),
                (Binary(a, x, v), Binary(b, y, w)) => a == b && self.expr(x, y) && self.expr(v, w),
                (If(x), If(y)) => self.exprs(&x[..], &y[..]),
                (Builtin(a, x), Builtin(b, y)) => a == b && self.exprs(x, y),
                (Call(a, x), Call(b, y)) => {
                    let (a, b) = (&before.functions[a.index()], &after.functions[b.index()]);
                    a.name == self.name_before(b) && self.exprs(x, y)
                }
                _ => false,
            }
    }

    /// Whether a property of a row has the name that the other one has, or had.
    fn property(&self, (old, a): (&Expr, u32), (new, b): (&Expr, u32)) -> bool {
        let (Type::Element(from), Type::Element(to)) = (&old.ty, &new.ty) else { return false };
        let old = &self.before.elements[from.index()].properties[a as usize];
        self.former.properties[to.index()][b as usize] == Some(&*old.name)
    }

    fn ty(&self, old: &Type, new: &Type) -> bool {
        match (old, new) {
            (Type::Array(of, m), Type::Array(to, n)) | (Type::List(of, m), Type::List(to, n)) => {
                m == n && self.ty(of, to)
            }
            (Type::Element(a), Type::Element(b)) => self.element(*a, *b),
            _ => old == new,
        }
    }

    fn element(&self, old: ElementId, new: ElementId) -> bool {
        self.former.elements[new.index()] == Some(old)
    }
}

fn all<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
}
