//! Expressions.

use hemiola_world_lang::definition::{
    BinaryOperator, Expr, ExprKind, FunctionId, Type, UnaryOperator,
};

use super::place::literal;
use super::{Binding, Frame, Lowering};
use crate::code::{Binary, Checked, Comparison, Operand, Unary};
use crate::scalar::{Scalar, ScalarType, scalar_count, scalar_types};

impl Lowering<'_> {
    /// The scalars of a value.
    pub(super) fn value(&mut self, frame: &mut Frame, expr: &Expr) -> Vec<Operand> {
        let value = self.deeper(|lowering| lowering.computed(frame, expr));
        value.unwrap_or_else(|| self.nothing(&expr.ty))
    }

    fn computed(&mut self, frame: &mut Frame, expr: &Expr) -> Vec<Operand> {
        match &expr.kind {
            ExprKind::Literal(value) => literal(self, &expr.ty, value),
            ExprKind::Constant(id) => {
                let constant = &self.universe.constants[id.index()];
                literal(self, &constant.ty, &constant.value)
            }
            ExprKind::SelfRow
            | ExprKind::LastSent
            | ExprKind::Local(_)
            | ExprKind::Field(..)
            | ExprKind::Index(..) => {
                let view = self.view(frame, expr);
                self.read(&view, &expr.ty)
            }
            ExprKind::Array(items) => self.array(frame, &expr.ty, items),
            ExprKind::Convert(of) => {
                let (from, to) = (self.number_type(of), self.number_type(expr));
                let operands = self.value(frame, of);
                operands.into_iter().map(|of| self.build.convert(from, to, of)).collect()
            }
            ExprKind::Unary(UnaryOperator::Not, of) => {
                let of = self.value(frame, of)[0];
                vec![self.build.not(of)]
            }
            ExprKind::Unary(UnaryOperator::Minus, of) => {
                let ty = self.number_type(of);
                let operands = self.value(frame, of);
                operands.into_iter().map(|of| self.negated(ty, of)).collect()
            }
            ExprKind::Binary(operator, left, right) => self.binary(frame, *operator, left, right),
            ExprKind::If(parts) => self.choose(frame, parts),
            ExprKind::Builtin(function, arguments) => self.builtin(frame, *function, arguments),
            ExprKind::Call(id, arguments) => self.call(frame, *id, arguments),
        }
    }

    /// An array, or a list with zeros in place of the items that it does not have.
    fn array(&mut self, frame: &mut Frame, ty: &Type, items: &[Expr]) -> Vec<Operand> {
        let mut operands = Vec::new();
        if matches!(ty, Type::List(..)) {
            operands.push(self.build.constant(Scalar::Integer(items.len() as i32)));
        }
        for item in items {
            operands.extend(self.value(frame, item));
        }
        let missing = scalar_types(self.universe, ty).into_iter().skip(operands.len());
        let zeros: Vec<Operand> = missing.map(|ty| self.build.constant(Scalar::zero(ty))).collect();
        operands.extend(zeros);
        operands
    }

    fn negated(&mut self, ty: ScalarType, of: Operand) -> Operand {
        if ty != ScalarType::Integer {
            return self.build.unary(Unary::Negate, ty, of);
        }
        let zero = self.build.constant(Scalar::Integer(0));
        self.build.checked(Checked::Subtract, zero, of)
    }

    fn binary(
        &mut self,
        frame: &mut Frame,
        operator: BinaryOperator,
        left: &Expr,
        right: &Expr,
    ) -> Vec<Operand> {
        let mask = self.build.mask;
        let one = self.value(frame, left);
        match operator {
            BinaryOperator::And => {
                self.build.mask = self.build.and(mask, one[0]);
                let two = self.value(frame, right)[0];
                self.build.mask = mask;
                vec![self.build.and(one[0], two)]
            }
            BinaryOperator::Or => {
                let not = self.build.not(one[0]);
                self.build.mask = self.build.and(mask, not);
                let two = self.value(frame, right)[0];
                self.build.mask = mask;
                vec![self.build.or(one[0], two)]
            }
            _ => {
                let ty = scalar_types(self.universe, left.ty.number().unwrap_or(&left.ty))[0];
                let two = self.value(frame, right);
                self.itemwise(operator, ty, &one, &two)
            }
        }
    }

    /// An operator on each scalar; one side may be a single number.
    pub(super) fn itemwise(
        &mut self,
        operator: BinaryOperator,
        ty: ScalarType,
        left: &[Operand],
        right: &[Operand],
    ) -> Vec<Operand> {
        let count = left.len().max(right.len());
        let at =
            |side: &[Operand], index: usize| if side.len() == 1 { side[0] } else { side[index] };
        (0..count)
            .map(|index| self.operation(operator, ty, at(left, index), at(right, index)))
            .collect()
    }

    pub(super) fn operation(
        &mut self,
        operator: BinaryOperator,
        ty: ScalarType,
        left: Operand,
        right: Operand,
    ) -> Operand {
        use BinaryOperator as B;
        let integer = ty == ScalarType::Integer;
        match operator {
            B::Plus if integer => self.build.checked(Checked::Add, left, right),
            B::Minus if integer => self.build.checked(Checked::Subtract, left, right),
            B::Times if integer => self.build.checked(Checked::Multiply, left, right),
            B::Plus => self.build.binary(Binary::Add, ty, left, right),
            B::Minus => self.build.binary(Binary::Subtract, ty, left, right),
            B::Times => self.build.binary(Binary::Multiply, ty, left, right),
            B::Over => self.build.binary(Binary::Divide, ty, left, right),
            B::Equal => self.build.compare(Comparison::Equal, ty, left, right),
            B::Unequal => self.build.compare(Comparison::Unequal, ty, left, right),
            B::Less => self.build.compare(Comparison::Less, ty, left, right),
            B::AtMost => self.build.compare(Comparison::AtMost, ty, left, right),
            B::More => self.build.compare(Comparison::Less, ty, right, left),
            B::AtLeast => self.build.compare(Comparison::AtMost, ty, right, left),
            B::And | B::Or => unreachable!("these are handled where their right side is"),
        }
    }

    fn choose(
        &mut self,
        frame: &mut Frame,
        [condition, then, otherwise]: &[Expr; 3],
    ) -> Vec<Operand> {
        let mask = self.build.mask;
        let condition = self.value(frame, condition)[0];
        self.build.mask = self.build.and(mask, condition);
        let one = self.value(frame, then);
        let not = self.build.not(condition);
        self.build.mask = self.build.and(mask, not);
        let two = self.value(frame, otherwise);
        self.build.mask = mask;
        let types = scalar_types(self.universe, &then.ty);
        let sides = one.into_iter().zip(two).zip(types);
        sides.map(|((one, two), ty)| self.build.select(ty, condition, one, two)).collect()
    }

    /// A called function is copied to its call.
    fn call(&mut self, frame: &mut Frame, id: FunctionId, arguments: &[Expr]) -> Vec<Operand> {
        let universe = self.universe;
        let function = &universe.functions[id.index()];
        let mut callee = Frame::of(function.locals.len());
        let mut bindings = Vec::new();
        for (argument, local) in arguments.iter().zip(&function.locals) {
            bindings.push(if local.ty.holds_row() {
                (Binding::Row(self.view(frame, argument)), 0)
            } else {
                let operands = self.value(frame, argument);
                let base = self.remember(operands);
                (Binding::Memory(base), scalar_count(universe, &local.ty))
            });
        }
        for (at, (binding, length)) in bindings.into_iter().enumerate() {
            callee.locals[at] = Some(binding);
            callee.lengths[at] = length;
        }
        let result = self.body(&mut callee, &function.body);
        // After a limit was reached, the result may be missing.
        if self.goes_on() {
            result
        } else {
            function.result.as_ref().map_or_else(Vec::new, |ty| self.nothing(ty))
        }
    }
}
