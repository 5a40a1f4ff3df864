//! The functions of the language.

use hemiola_world_lang::definition::{BinaryOperator, Builtin, Expr};

use super::{Frame, Lowering};
use crate::code::{Binary, Checked, Comparison, FaultCode, Operand, Unary};
use crate::scalar::{Scalar, ScalarType, scalar_count, scalar_types};
use ScalarType::Integer;

impl Lowering<'_> {
    pub(super) fn builtin(
        &mut self,
        frame: &mut Frame,
        function: Builtin,
        arguments: &[Expr],
    ) -> Vec<Operand> {
        let values: Vec<Vec<Operand>> =
            arguments.iter().map(|argument| self.value(frame, argument)).collect();
        if !self.goes_on() {
            return vec![crate::build::FALSE; values[0].len()];
        }
        match function {
            Builtin::Count => return vec![values[0][0]],
            Builtin::Append => return self.appended(&arguments[0], &values[0], &values[1]),
            _ => {}
        }
        let ty = self.number_type(&arguments[0]);
        let number = |at: usize| values[at][0];
        let result = match function {
            Builtin::Abs => self.absolute(ty, number(0)),
            Builtin::Floor => self.build.unary(Unary::Floor, ty, number(0)),
            Builtin::Ceil => self.build.unary(Unary::Ceil, ty, number(0)),
            Builtin::Sqrt => self.build.unary(Unary::SquareRoot, ty, number(0)),
            Builtin::Min => self.build.binary(Binary::Least, ty, number(0), number(1)),
            Builtin::Max => self.build.binary(Binary::Greatest, ty, number(0), number(1)),
            Builtin::Clamp => {
                let raised = self.build.binary(Binary::Greatest, ty, number(0), number(1));
                self.build.binary(Binary::Least, ty, raised, number(2))
            }
            Builtin::Inside => self.inside(ty, &values[0], &values[1], &values[2]),
            Builtin::Div => self.build.checked(Checked::Divide, number(0), number(1)),
            Builtin::Mod => self.build.checked(Checked::Modulo, number(0), number(1)),
            Builtin::Dot => self.dot(ty, &values[0], &values[1]),
            Builtin::Length => self.length(ty, &values[0]),
            Builtin::Distance => {
                let way = self.itemwise(BinaryOperator::Minus, ty, &values[1], &values[0]);
                self.length(ty, &way)
            }
            Builtin::Count | Builtin::Append => unreachable!("handled above"),
        };
        vec![result]
    }

    fn absolute(&mut self, ty: ScalarType, of: Operand) -> Operand {
        if ty != Integer {
            return self.build.unary(Unary::Absolute, ty, of);
        }
        let zero = self.build.constant(Scalar::Integer(0));
        let negative = self.build.compare(Comparison::Less, Integer, of, zero);
        // Only the least integer has no opposite, and it is below 0.
        let opposite = self.build.checked(Checked::Subtract, zero, of);
        self.build.select(Integer, negative, opposite, of)
    }

    fn inside(
        &mut self,
        ty: ScalarType,
        point: &[Operand],
        low: &[Operand],
        high: &[Operand],
    ) -> Operand {
        let mut inside = crate::build::TRUE;
        for ((x, low), high) in point.iter().zip(low).zip(high) {
            let above = self.build.compare(Comparison::AtMost, ty, *low, *x);
            let below = self.build.compare(Comparison::AtMost, ty, *x, *high);
            let between = self.build.and(above, below);
            inside = self.build.and(inside, between);
        }
        inside
    }

    /// All products first, then their sum from the first on.
    fn dot(&mut self, ty: ScalarType, one: &[Operand], two: &[Operand]) -> Operand {
        let products = self.itemwise(BinaryOperator::Times, ty, one, two);
        let (first, others) = products.split_first().expect("an array has an item");
        others
            .iter()
            .fold(*first, |sum, product| self.operation(BinaryOperator::Plus, ty, sum, *product))
    }

    fn length(&mut self, ty: ScalarType, arrow: &[Operand]) -> Operand {
        let square = self.dot(ty, arrow, arrow);
        self.build.unary(Unary::SquareRoot, ty, square)
    }

    fn appended(&mut self, list: &Expr, before: &[Operand], item: &[Operand]) -> Vec<Operand> {
        let (of, most, _) = self.shape(&list.ty);
        let (types, stride) =
            (scalar_types(self.universe, of), scalar_count(self.universe, of) as usize);
        let count = before[0];
        let limit = self.build.constant(Scalar::Integer(most as i32));
        let full = self.build.compare(Comparison::AtMost, Integer, limit, count);
        self.build.raise(FaultCode::ListFull, full);
        // A full list has no effect that counts.
        let one = self.build.constant(Scalar::Integer(1));
        let more = self.build.checked(Checked::Add, count, one);
        let mut after = vec![more];
        for at in 0..most {
            let number = self.build.constant(Scalar::Integer(at as i32));
            let here = self.build.compare(Comparison::Equal, Integer, count, number);
            for (part, ty) in types.iter().enumerate() {
                let old = before[1 + at as usize * stride + part];
                after.push(self.build.select(*ty, here, item[part], old));
            }
        }
        after
    }
}
