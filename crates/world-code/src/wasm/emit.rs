//! Instructions as vector instructions for the four rows of a group.

use wasm_encoder::{BlockType, InstructionSink};

use super::rows::{Function, WINDOW, parts, place, splat};
use super::window::{Area, ListAreas};
use crate::code::{Binary, Checked, Comparison, FaultCode, Instruction, Operand, Unary};
use crate::scalar::{Scalar, ScalarType};
use ScalarType::{Boolean, Double, Integer, Single, Text};

/// The first halves of four 64-bit values in two vectors.
const FIRST_HALVES: [u8; 16] = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
/// The first two 32-bit values of each of two vectors.
const FIRST_PAIRS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
/// The last two 32-bit values of a vector, first.
const LAST_PAIR: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

impl Function<'_> {
    /// Appends the code of an instruction.
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        match *instruction {
            Instruction::Unary { op, ty, to, of } => self.unary(op, ty, to, of),
            Instruction::Binary { op, ty, to, left, right } => {
                self.each_part(ty, to, |function, part| {
                    function.push(left, ty, part);
                    function.push(right, ty, part);
                    binary(&mut function.sink(), op, ty);
                });
            }
            Instruction::Compare { op, ty, to, left, right } => {
                self.compare(op, ty, to, left, right);
            }
            Instruction::Checked { op, to, left, right, mask } => {
                self.checked(op, to, left, right, mask);
            }
            Instruction::Convert { from, ty, to, of } => self.convert(from, ty, to, of),
            Instruction::ToInteger { from, to, of, mask } => self.whole(from, to, of, mask),
            Instruction::Select { ty, to, condition, then, otherwise } => {
                self.each_part(ty, to, |function, part| {
                    function.push(then, ty, part);
                    function.push(otherwise, ty, part);
                    function.push_mask(condition, ty, part);
                    function.sink().v128_bitselect();
                });
            }
            Instruction::Pick { ty, to, index, first, count } => {
                self.pick(ty, to, index, first..first + count);
            }
            Instruction::Raise { fault, when, mask } => {
                self.push(when, Boolean, 0);
                self.raise(fault, mask);
            }
            Instruction::Gather { ty, to, site, column } => self.gather(ty, to, site, column),
            Instruction::Move { ty, to, of } => {
                self.each_part(ty, to, |function, part| function.push(of, ty, part));
            }
            Instruction::Loop { site, mask, active, .. } => self.begin(site, mask, active),
            Instruction::EndLoop { site } => self.end(site),
        }
    }

    /// Computes each vector of a register. It is none of the operands, so the parts do not disturb each other.
    fn each_part(&mut self, ty: ScalarType, to: u32, work: impl Fn(&mut Self, u32)) {
        let local = self.register(to, ty);
        for part in 0..parts(ty) {
            work(self, part);
            self.sink().local_set(local + part);
        }
    }

    /// A truth value as a mask for a vector of this type.
    fn push_mask(&mut self, mask: Operand, ty: ScalarType, part: u32) {
        self.push(mask, Boolean, 0);
        self.widen(ty, part);
    }

    /// The mask on the stack for a vector of this type.
    pub(super) fn widen(&mut self, ty: ScalarType, part: u32) {
        match (parts(ty), part) {
            (1, _) => {}
            (_, 0) => {
                self.sink().i64x2_extend_low_i32x4_s();
            }
            (..) => {
                self.sink().i64x2_extend_high_i32x4_s();
            }
        }
    }

    fn unary(&mut self, op: Unary, ty: ScalarType, to: u32, of: Operand) {
        self.each_part(ty, to, |function, part| {
            function.push(of, ty, part);
            let mut sink = function.sink();
            match (op, ty) {
                (Unary::Not, _) => sink.v128_not(),
                (Unary::Negate, Single) => sink.f32x4_neg(),
                (Unary::Negate, _) => sink.f64x2_neg(),
                (Unary::Absolute, Single) => sink.f32x4_abs(),
                (Unary::Absolute, _) => sink.f64x2_abs(),
                (Unary::Floor, Single) => sink.f32x4_floor(),
                (Unary::Floor, _) => sink.f64x2_floor(),
                (Unary::Ceil, Single) => sink.f32x4_ceil(),
                (Unary::Ceil, _) => sink.f64x2_ceil(),
                (Unary::SquareRoot, Single) => sink.f32x4_sqrt(),
                (Unary::SquareRoot, _) => sink.f64x2_sqrt(),
            };
        });
    }

    fn compare(&mut self, op: Comparison, ty: ScalarType, to: u32, left: Operand, right: Operand) {
        for part in 0..parts(ty) {
            self.push(left, ty, part);
            self.push(right, ty, part);
            compare(&mut self.sink(), op, ty);
        }
        if parts(ty) == 2 {
            self.sink().i8x16_shuffle(FIRST_HALVES);
        }
        let local = self.register(to, Boolean);
        self.sink().local_set(local);
    }

    fn checked(&mut self, op: Checked, to: u32, left: Operand, right: Operand, mask: Operand) {
        let local = self.register(to, Integer);
        match op {
            Checked::Add | Checked::Subtract => self.sum(op, local, left, right, mask),
            Checked::Multiply => self.multiply(local, left, right, mask),
            Checked::Divide | Checked::Modulo => self.divide(op, local, left, right, mask),
        }
    }

    /// A sum or difference does not fit if its sign is not that of the first operand, although the sign of the second
    /// one does not allow that.
    fn sum(&mut self, op: Checked, local: u32, left: Operand, right: Operand, mask: Operand) {
        self.push(left, Integer, 0);
        self.push(right, Integer, 0);
        let mut sink = self.sink();
        match op {
            Checked::Add => sink.i32x4_add(),
            _ => sink.i32x4_sub(),
        };
        sink.local_set(local);
        self.push(left, Integer, 0);
        self.sink().local_get(local).v128_xor();
        self.push(right, Integer, 0);
        if op == Checked::Add {
            self.sink().local_get(local);
        } else {
            self.push(left, Integer, 0);
        }
        self.sink().v128_xor().v128_and().i32_const(31).i32x4_shr_s();
        self.raise(FaultCode::Overflow, mask);
    }

    /// The product in 64 bits differs from its lower half, extended.
    fn multiply(&mut self, local: u32, left: Operand, right: Operand, mask: Operand) {
        self.push(left, Integer, 0);
        self.push(right, Integer, 0);
        self.sink().i32x4_mul().local_set(local);
        for part in 0..2 {
            self.push(left, Integer, 0);
            self.push(right, Integer, 0);
            let mut sink = self.sink();
            match part {
                0 => sink.i64x2_extmul_low_i32x4_s().local_get(local).i64x2_extend_low_i32x4_s(),
                _ => sink.i64x2_extmul_high_i32x4_s().local_get(local).i64x2_extend_high_i32x4_s(),
            };
            sink.i64x2_ne();
        }
        self.sink().i8x16_shuffle(FIRST_HALVES);
        self.raise(FaultCode::Overflow, mask);
    }

    /// The quotient of two integers of 32 bits is exact in 64 bits when it is rounded down: one that is not whole
    /// differs from the next whole number by more than a rounding.
    fn divide(&mut self, op: Checked, local: u32, left: Operand, right: Operand, mask: Operand) {
        self.push(right, Integer, 0);
        self.sink().v128_const(0).i32x4_eq();
        self.raise(FaultCode::DivisionByZero, mask);
        self.push(left, Integer, 0);
        self.sink().v128_const(splat(Scalar::Integer(i32::MIN))).i32x4_eq();
        self.push(right, Integer, 0);
        self.sink().v128_const(splat(Scalar::Integer(-1))).i32x4_eq().v128_and();
        self.raise(FaultCode::Overflow, mask);
        for part in 0..2 {
            self.push_double(left, Integer, part);
            self.push_double(right, Integer, part);
            self.sink().f64x2_div().f64x2_floor().i32x4_trunc_sat_f64x2_s_zero();
        }
        self.sink().i8x16_shuffle(FIRST_PAIRS).local_set(local);
        if op == Checked::Modulo {
            self.push(left, Integer, 0);
            self.sink().local_get(local);
            self.push(right, Integer, 0);
            self.sink().i32x4_mul().i32x4_sub().local_set(local);
        }
    }

    /// Two of the four numbers as a vector of 64 bits.
    fn push_double(&mut self, of: Operand, from: ScalarType, part: u32) {
        if from == Double {
            return self.push(of, Double, part);
        }
        self.push(of, from, 0);
        if part == 1 {
            // The second vector of the shuffle is not used.
            self.push(of, from, 0);
            self.sink().i8x16_shuffle(LAST_PAIR);
        }
        let mut sink = self.sink();
        match from {
            Single => sink.f64x2_promote_low_f32x4(),
            _ => sink.f64x2_convert_low_i32x4_s(),
        };
    }

    fn convert(&mut self, from: ScalarType, ty: ScalarType, to: u32, of: Operand) {
        let local = self.register(to, ty);
        match (from, ty) {
            (Integer, Single) => {
                self.push(of, Integer, 0);
                self.sink().f32x4_convert_i32x4_s().local_set(local);
            }
            (Double, Single) => {
                for part in 0..2 {
                    self.push(of, Double, part);
                    self.sink().f32x4_demote_f64x2_zero();
                }
                self.sink().i8x16_shuffle(FIRST_PAIRS).local_set(local);
            }
            _ => self.each_part(ty, to, |function, part| function.push_double(of, from, part)),
        }
    }

    fn whole(&mut self, from: ScalarType, to: u32, of: Operand, mask: Operand) {
        let local = self.register(to, Integer);
        let number = self.scratch[1];
        for part in 0..2 {
            self.push_double(of, from, part);
            let mut sink = self.sink();
            sink.f64x2_trunc().local_tee(number);
            sink.v128_const(splat(Scalar::Double(i32::MIN.into()))).f64x2_ge();
            sink.local_get(number).v128_const(splat(Scalar::Double(i32::MAX.into()))).f64x2_le();
            sink.v128_and();
        }
        self.sink().i8x16_shuffle(FIRST_HALVES).v128_not();
        self.raise(FaultCode::NotAnInteger, mask);
        for part in 0..2 {
            self.push_double(of, from, part);
            self.sink().i32x4_trunc_sat_f64x2_s_zero();
        }
        self.sink().i8x16_shuffle(FIRST_PAIRS).local_set(local);
    }

    /// Takes a mask from the stack: its rows that are in `mask` too have the fault, unless they have one already.
    fn raise(&mut self, fault: FaultCode, mask: Operand) {
        self.push(mask, Boolean, 0);
        let faults = self.faults;
        let mut sink = self.sink();
        sink.v128_and().v128_const(splat(Scalar::Integer(fault as i32))).v128_and();
        sink.local_get(faults).v128_const(0).i32x4_eq().v128_and();
        sink.local_get(faults).v128_or().local_set(faults);
    }

    fn pick(&mut self, ty: ScalarType, to: u32, index: Operand, items: std::ops::Range<u32>) {
        let program = self.program;
        let items = &program.items[items.start as usize..items.end as usize];
        let local = self.register(to, ty);
        for part in 0..parts(ty) {
            match items.first() {
                Some(item) => self.push(*item, ty, part),
                None => {
                    self.sink().v128_const(0);
                }
            }
            self.sink().local_set(local + part);
        }
        let chosen = self.scratch[1];
        for (number, item) in (0..).zip(items).skip(1) {
            self.push(index, Integer, 0);
            self.sink().v128_const(splat(Scalar::Integer(number))).i32x4_eq().local_set(chosen);
            for part in 0..parts(ty) {
                self.push(*item, ty, part);
                self.sink().local_get(local + part).local_get(chosen);
                self.widen(ty, part);
                self.sink().v128_bitselect().local_set(local + part);
            }
        }
    }

    /// A loop goes on until no row of the group has an item left.
    fn begin(&mut self, number: u32, mask: Operand, active: u32) {
        let (site, counts) = (self.site(number), self.counts[number as usize]);
        let active = self.register(active, Boolean);
        match self.window.sites[number as usize].lists {
            ListAreas::Each { first, count, .. } => {
                self.load(first, counts[0]);
                self.load(count, counts[1]);
                let mut sink = self.sink();
                for (lane, item) in (0..).zip(site.items) {
                    sink.local_get(counts[0]).i32x4_extract_lane(lane).local_set(item);
                }
                sink.i32_const(0).local_set(site.turns);
                for lane in 0..4 {
                    sink.local_get(counts[1]).i32x4_extract_lane(lane).local_tee(site.turn);
                    sink.local_get(site.turns).local_get(site.turn).local_get(site.turns);
                    sink.i32_gt_s().select().local_set(site.turns);
                }
            }
            ListAreas::Shared { length, own, limit } => {
                self.load(own, counts[0]);
                self.load(limit, counts[1]);
                // The register of the mask may serve others within the loop.
                self.push(mask, Boolean, 0);
                let mut sink = self.sink();
                sink.local_get(counts[1]).v128_and().local_set(counts[1]);
                sink.local_get(WINDOW).i32_load(place(length, 0)).i32_const(0);
                sink.local_get(counts[1]).v128_any_true().select().local_set(site.turns);
            }
        }
        let mut sink = self.sink();
        sink.i32_const(0).local_set(site.turn);
        sink.block(BlockType::Empty).loop_(BlockType::Empty);
        sink.local_get(site.turn).local_get(site.turns).i32_ge_s().br_if(1);
        sink.local_get(counts[1]).local_get(site.turn).i32x4_splat().i32x4_gt_s();
        if let ListAreas::Shared { .. } = self.window.sites[number as usize].lists {
            let mut sink = self.sink();
            sink.local_get(counts[0]).local_get(site.turn).i32x4_splat().i32x4_ne().v128_and();
        }
        self.sink().local_set(active);
    }

    fn end(&mut self, number: u32) {
        let site = self.site(number);
        let mut sink = self.sink();
        for item in site.items {
            sink.local_get(item).i32_const(1).i32_add().local_set(item);
        }
        sink.local_get(site.turn).i32_const(1).i32_add().local_set(site.turn);
        sink.br(0).end().end();
    }

    /// Loads a value of the present item of each row. A row without one gets the value of another, which its mask
    /// keeps out.
    fn gather(&mut self, ty: ScalarType, to: u32, number: u32, column: u32) {
        let window = self.window;
        let areas = &window.sites[number as usize];
        let area = areas.columns[&column];
        let (site, local) = (self.site(number), self.register(to, ty));
        if let ListAreas::Shared { .. } = areas.lists {
            self.address(site.turn, ty);
            let mut sink = self.sink();
            let from = place(area, 0);
            match parts(ty) {
                _ if ty == Boolean => sink.i32_load8_u(from).i32x4_splat().i32x4_neg(),
                1 => sink.v128_load32_splat(from),
                _ => sink.v128_load64_splat(from).local_tee(local + 1),
            };
            sink.local_set(local);
            return;
        }
        match ty {
            Boolean => self.gather_bytes(area, local, site.items),
            Integer | Single => self.gather_lanes(area, local, &site.items),
            Double | Text => {
                self.gather_lanes(area, local, &site.items[..2]);
                self.gather_lanes(area, local + 1, &site.items[2..]);
            }
        }
    }

    fn gather_lanes(&mut self, area: Area, local: u32, items: &[u32]) {
        for (lane, item) in (0..).zip(items) {
            self.address(*item, area.ty);
            let mut sink = self.sink();
            match (parts(area.ty), lane) {
                (1, 0) => sink.v128_load32_zero(place(area, 0)),
                (1, _) => sink.local_get(local).v128_load32_lane(place(area, 0), lane),
                (_, 0) => sink.v128_load64_zero(place(area, 0)),
                (..) => sink.local_get(local).v128_load64_lane(place(area, 0), lane),
            };
            sink.local_set(local);
        }
    }

    fn gather_bytes(&mut self, area: Area, local: u32, items: [u32; 4]) {
        for (lane, item) in (0..).zip(items) {
            let mut sink = self.sink();
            sink.local_get(local).local_get(item).local_get(WINDOW).i32_add();
            sink.i32_load8_u(place(area, 0)).i32x4_replace_lane(lane).local_set(local);
        }
        self.sink().local_get(local).i32x4_neg().local_set(local);
    }

    /// The place of an item among items of this type in the window.
    fn address(&mut self, item: u32, ty: ScalarType) {
        let mut sink = self.sink();
        sink.local_get(item);
        match parts(ty) {
            _ if ty == Boolean => {}
            1 => {
                sink.i32_const(2).i32_shl();
            }
            _ => {
                sink.i32_const(3).i32_shl();
            }
        }
        sink.local_get(WINDOW).i32_add();
    }
}

fn binary(sink: &mut InstructionSink<'_>, op: Binary, ty: ScalarType) {
    match (op, ty) {
        (Binary::And, _) => sink.v128_and(),
        (Binary::Or, _) => sink.v128_or(),
        (Binary::Add, Single) => sink.f32x4_add(),
        (Binary::Add, _) => sink.f64x2_add(),
        (Binary::Subtract, Single) => sink.f32x4_sub(),
        (Binary::Subtract, _) => sink.f64x2_sub(),
        (Binary::Multiply, Single) => sink.f32x4_mul(),
        (Binary::Multiply, _) => sink.f64x2_mul(),
        (Binary::Divide, Single) => sink.f32x4_div(),
        (Binary::Divide, _) => sink.f64x2_div(),
        (Binary::Least, Integer) => sink.i32x4_min_s(),
        (Binary::Least, Single) => sink.f32x4_min(),
        (Binary::Least, _) => sink.f64x2_min(),
        (Binary::Greatest, Integer) => sink.i32x4_max_s(),
        (Binary::Greatest, Single) => sink.f32x4_max(),
        (Binary::Greatest, _) => sink.f64x2_max(),
    };
}

fn compare(sink: &mut InstructionSink<'_>, op: Comparison, ty: ScalarType) {
    match (op, ty) {
        (Comparison::Equal, Boolean | Integer) => sink.i32x4_eq(),
        (Comparison::Equal, Single) => sink.f32x4_eq(),
        (Comparison::Equal, Double) => sink.f64x2_eq(),
        (Comparison::Equal, Text) => sink.i64x2_eq(),
        (Comparison::Unequal, Boolean | Integer) => sink.i32x4_ne(),
        (Comparison::Unequal, Single) => sink.f32x4_ne(),
        (Comparison::Unequal, Double) => sink.f64x2_ne(),
        (Comparison::Unequal, Text) => sink.i64x2_ne(),
        (Comparison::Less, Single) => sink.f32x4_lt(),
        (Comparison::Less, Double) => sink.f64x2_lt(),
        (Comparison::Less, _) => sink.i32x4_lt_s(),
        (Comparison::AtMost, Single) => sink.f32x4_le(),
        (Comparison::AtMost, Double) => sink.f64x2_le(),
        (Comparison::AtMost, _) => sink.i32x4_le_s(),
    };
}
