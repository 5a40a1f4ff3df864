//! A function of a module: the loop over groups of four rows, what it loads before and stores behind the code.

use std::collections::BTreeMap;

use wasm_encoder::{BlockType, InstructionSink, MemArg, ValType};

use super::window::{Area, ListAreas, Window, width};
use crate::code::{Instruction, Operand, Output, Program};
use crate::scalar::{Scalar, ScalarType};

/// Rows of a group.
pub(crate) const GROUP: usize = 4;

/// The parameter: how many rows.
const ROWS: u32 = 0;
/// The first row of the group.
const ROW: u32 = 1;
/// The first row times 4 and times 8: the places of its scalars in columns.
const PLACE4: u32 = 2;
const PLACE8: u32 = 3;
/// Integer locals of each loop over neighbours, behind these.
const SITE: u32 = 4;
const SITE_LOCALS: u32 = 6;

/// The locals of a loop over neighbours.
#[derive(Clone, Copy)]
pub(super) struct SiteLocals {
    /// The turn.
    pub(super) turn: u32,
    /// As many turns.
    pub(super) turns: u32,
    /// The present item of each row of the group.
    pub(super) items: [u32; 4],
}

/// A function in progress.
pub(super) struct Function<'f> {
    pub(super) program: &'f Program,
    pub(super) window: &'f Window,
    pub(super) bytes: Vec<u8>,
    /// The first vector of each register, by type.
    banks: [u32; 5],
    own: BTreeMap<u32, u32>,
    last_sent: BTreeMap<u32, u32>,
    arguments: Vec<u32>,
    /// The fault of each row of the group; 0 is none.
    pub(super) faults: u32,
    /// All faults of the call, one or-ed with another.
    all_faults: u32,
    /// For intermediate results.
    pub(super) scratch: [u32; 3],
    /// Vectors of the sites: which rows of the group have an item.
    pub(super) counts: Vec<[u32; 2]>,
    /// Locals so far.
    locals: u32,
}

/// Vectors of a register of a type.
pub(super) const fn parts(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::Boolean | ScalarType::Integer | ScalarType::Single => 1,
        ScalarType::Double | ScalarType::Text => 2,
    }
}

const TYPES: [ScalarType; 5] = [
    ScalarType::Boolean,
    ScalarType::Integer,
    ScalarType::Single,
    ScalarType::Double,
    ScalarType::Text,
];

impl<'f> Function<'f> {
    pub(super) fn of(program: &'f Program, window: &'f Window) -> Self {
        let mut function = Self {
            program,
            window,
            bytes: Vec::new(),
            banks: [0; 5],
            own: BTreeMap::new(),
            last_sent: BTreeMap::new(),
            arguments: Vec::new(),
            faults: 0,
            all_faults: 0,
            scratch: [0; 3],
            counts: Vec::new(),
            locals: SITE + SITE_LOCALS * program.sites.len() as u32,
        };
        for ty in TYPES {
            function.banks[ty as usize] =
                function.vectors(program.registers[ty as usize] * parts(ty));
        }
        for (column, area) in &window.own {
            let local = function.vectors(parts(area.ty));
            function.own.insert(*column, local);
        }
        for (column, area) in &window.last_sent {
            let local = function.vectors(parts(area.ty));
            function.last_sent.insert(*column, local);
        }
        function.arguments = window.arguments.iter().map(|_| function.vectors(1)).collect();
        function.faults = function.vectors(1);
        function.all_faults = function.vectors(1);
        function.scratch = [(); 3].map(|()| function.vectors(1));
        function.counts =
            program.sites.iter().map(|_| [(); 2].map(|()| function.vectors(1))).collect();
        function
    }

    fn vectors(&mut self, count: u32) -> u32 {
        self.locals += count;
        self.locals - count
    }

    /// The function that computes what the lists of the loop at this place of the code contain.
    pub(super) fn near(mut self, at: usize) -> wasm_encoder::Function {
        let program = self.program;
        let Instruction::Loop { site, mask, radius: Some(radius), .. } = program.code[at] else {
            unreachable!("a search is a loop within a radius")
        };
        let ListAreas::Each { mask: to_mask, radius: to_radius, .. } =
            self.window.sites[site as usize].lists
        else {
            unreachable!("each row of a search has a list")
        };
        self.rows(&program.code[..at], |function| {
            function.store(to_mask, mask);
            function.store(to_radius, radius);
        })
    }

    /// The function that computes the outputs.
    pub(super) fn block(mut self) -> wasm_encoder::Function {
        let (program, window) = (self.program, self.window);
        self.rows(&program.code, |function| {
            for (Output { value, .. }, area) in program.outputs.iter().zip(&window.outputs) {
                function.store(*area, *value);
            }
            let faults = function.faults;
            function.sink().local_get(PLACE4).local_get(faults);
            function.sink().v128_store(place(window.faults, 0));
        })
    }

    pub(super) fn sink(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.bytes)
    }

    /// The code for every group of rows, with what stands behind it.
    fn rows(
        &mut self,
        code: &[Instruction],
        behind: impl FnOnce(&mut Self),
    ) -> wasm_encoder::Function {
        self.load_arguments();
        self.sink().loop_(BlockType::Empty);
        self.sink().local_get(ROW).i32_const(2).i32_shl().local_set(PLACE4);
        self.sink().local_get(ROW).i32_const(3).i32_shl().local_set(PLACE8);
        self.load_columns();
        let (faults, all) = (self.faults, self.all_faults);
        self.sink().v128_const(0).local_set(faults);
        code.iter().for_each(|instruction| self.instruction(instruction));
        behind(self);
        self.sink().local_get(all).local_get(faults).v128_or().local_set(all);
        self.sink().local_get(ROW).i32_const(GROUP as i32).i32_add().local_tee(ROW);
        self.sink().local_get(ROWS).i32_lt_s().br_if(0).end();
        self.sink().local_get(all).v128_any_true().end();
        let integers = SITE - 1 + SITE_LOCALS * self.program.sites.len() as u32;
        let vectors = self.locals - 1 - integers;
        let mut function =
            wasm_encoder::Function::new([(integers, ValType::I32), (vectors, ValType::V128)]);
        function.raw(std::mem::take(&mut self.bytes));
        function
    }

    fn load_arguments(&mut self) {
        for (at, area) in self.window.arguments.iter().enumerate() {
            let (local, from) = (self.arguments[at], place(*area, 0));
            let mut sink = self.sink();
            sink.i32_const(0);
            match area.ty {
                ScalarType::Boolean => sink.i32_load8_u(from).i32x4_splat().i32x4_neg(),
                ScalarType::Integer | ScalarType::Single => sink.v128_load32_splat(from),
                ScalarType::Double | ScalarType::Text => sink.v128_load64_splat(from),
            };
            sink.local_set(local);
        }
    }

    fn load_columns(&mut self) {
        let window = self.window;
        let own = window.own.iter().map(|(column, area)| (self.own[column], *area));
        let last_sent =
            window.last_sent.iter().map(|(column, area)| (self.last_sent[column], *area));
        for (local, area) in own.chain(last_sent).collect::<Vec<_>>() {
            self.load(area, local);
        }
    }

    /// Loads the values of the group.
    pub(super) fn load(&mut self, area: Area, local: u32) {
        if area.ty == ScalarType::Boolean {
            let mut sink = self.sink();
            sink.local_get(ROW).v128_load32_zero(place(area, 0));
            sink.i16x8_extend_low_i8x16_u().i32x4_extend_low_i16x8_u().i32x4_neg();
            sink.local_set(local);
            return;
        }
        for part in 0..parts(area.ty) {
            let from = place(area, 16 * part);
            self.sink().local_get(offset(area.ty)).v128_load(from).local_set(local + part);
        }
    }

    /// Stores the values of the group; one that is not a number as its one bit pattern.
    fn store(&mut self, area: Area, value: Operand) {
        if area.ty == ScalarType::Boolean {
            self.sink().local_get(ROW);
            self.push(value, area.ty, 0);
            let narrowed = self.scratch[0];
            let mut sink = self.sink();
            sink.v128_const(splat(Scalar::Integer(1))).v128_and().local_tee(narrowed);
            sink.local_get(narrowed).i16x8_narrow_i32x4_s().local_tee(narrowed);
            sink.local_get(narrowed).i8x16_narrow_i16x8_s().v128_store32_lane(place(area, 0), 0);
            return;
        }
        for part in 0..parts(area.ty) {
            self.sink().local_get(offset(area.ty));
            self.push(value, area.ty, part);
            self.canonical(area.ty);
            self.sink().v128_store(place(area, 16 * part));
        }
    }

    /// The vector on the stack with one bit pattern for all values that are not a number.
    fn canonical(&mut self, ty: ScalarType) {
        let value = self.scratch[0];
        let mut sink = self.sink();
        match ty {
            ScalarType::Single => {
                sink.local_tee(value)
                    .v128_const(splat(Scalar::Single(f32::from_bits(0x7fc0_0000))));
                sink.local_get(value).local_get(value).f32x4_eq().v128_bitselect();
            }
            ScalarType::Double => {
                let canonical = f64::from_bits(0x7ff8_0000_0000_0000);
                sink.local_tee(value).v128_const(splat(Scalar::Double(canonical)));
                sink.local_get(value).local_get(value).f64x2_eq().v128_bitselect();
            }
            ScalarType::Boolean | ScalarType::Integer | ScalarType::Text => {}
        }
    }

    /// Puts a vector of an operand on the stack.
    pub(super) fn push(&mut self, operand: Operand, ty: ScalarType, part: u32) {
        match operand {
            Operand::Register(number) => {
                let local = self.register(number, ty) + part;
                self.sink().local_get(local);
            }
            Operand::Constant(number) => {
                let bits = splat(self.program.constants[number as usize]);
                self.sink().v128_const(bits);
            }
            Operand::Argument(number) => {
                let local = self.arguments[number as usize];
                self.sink().local_get(local);
            }
            Operand::Own(column) => {
                let local = self.own[&column] + part;
                self.sink().local_get(local);
            }
            Operand::LastSent(column) => {
                let local = self.last_sent[&column] + part;
                self.sink().local_get(local);
            }
        }
    }

    /// The first vector of a register.
    pub(super) const fn register(&self, number: u32, ty: ScalarType) -> u32 {
        self.banks[ty as usize] + number * parts(ty)
    }

    pub(super) fn site(&self, number: u32) -> SiteLocals {
        let first = SITE + SITE_LOCALS * number;
        let items = [first + 2, first + 3, first + 4, first + 5];
        SiteLocals { turn: first, turns: first + 1, items }
    }
}

/// The local with the place of the group in a column of this type.
const fn offset(ty: ScalarType) -> u32 {
    match width(ty) {
        1 => ROW,
        4 => PLACE4,
        _ => PLACE8,
    }
}

/// So many bytes behind the beginning of an area.
pub(super) const fn place(area: Area, bytes: u32) -> MemArg {
    MemArg { offset: (area.address + bytes) as u64, align: 0, memory_index: 0 }
}

/// A scalar in every row of a vector.
pub(super) const fn splat(scalar: Scalar) -> i128 {
    let bits = match scalar {
        Scalar::Boolean(true) => u64::MAX,
        Scalar::Boolean(false) => 0,
        Scalar::Integer(value) => twice(value as u32),
        Scalar::Single(value) => twice(value.to_bits()),
        Scalar::Double(value) => value.to_bits(),
        Scalar::Text(value) => value,
    };
    (((bits as u128) << 64) | bits as u128) as i128
}

const fn twice(bits: u32) -> u64 {
    ((bits as u64) << 32) | bits as u64
}
