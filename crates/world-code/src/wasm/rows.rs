//! A function of a module: the loop over groups of four rows, what it loads before and stores behind the code.

use std::collections::BTreeMap;

use wasm_encoder::{BlockType, InstructionSink, MemArg, ValType};

use super::window::{Area, ListAreas, Window};
use crate::code::{Instruction, Operand, Output, Program};
use crate::scalar::{Scalar, ScalarType};

/// Rows of a group.
pub(crate) const GROUP: usize = 4;

/// The parameters: how many rows, and the address of the window.
const ROWS: u32 = 0;
pub(super) const WINDOW: u32 = 1;
/// The first row of the group.
const ROW: u32 = 2;
/// The places of the first row among rows of 1, 4 and 8 bytes, in the window.
const PLACE1: u32 = 3;
const PLACE4: u32 = 4;
const PLACE8: u32 = 5;
/// Integer locals of each loop over neighbours, behind these.
const SITE: u32 = 6;
const SITE_LOCALS: u32 = 6;
const PARAMETERS: u32 = 2;

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

/// The locals of a column. The addresses stand behind the integers of the loops.
#[derive(Clone, Copy)]
struct ColumnLocals {
    ty: ScalarType,
    /// The address of the group in it.
    address: u32,
    /// The first vector of its values.
    values: u32,
}

/// A function in progress.
pub(super) struct Function<'f> {
    pub(super) program: &'f Program,
    pub(super) window: &'f Window,
    pub(super) bytes: Vec<u8>,
    /// The first vector of each register, by type.
    banks: [u32; 5],
    own: BTreeMap<u32, ColumnLocals>,
    last_sent: BTreeMap<u32, ColumnLocals>,
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
            locals: integers(program, window),
        };
        for ty in TYPES {
            function.banks[ty as usize] =
                function.vectors(program.registers[ty as usize] * parts(ty));
        }
        let address = SITE + SITE_LOCALS * program.sites.len() as u32;
        let columns = window.own.iter().chain(&window.last_sent);
        for (number, (column, area)) in columns.enumerate() {
            let (ty, values) = (area.ty, function.vectors(parts(area.ty)));
            let locals = ColumnLocals { ty, address: address + number as u32, values };
            let of =
                if number < window.own.len() { &mut function.own } else { &mut function.last_sent };
            of.insert(*column, locals);
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
        let may_fault = program.may_fault();
        self.rows(&program.code, |function| {
            let (faults, faultless) = (function.faults, function.scratch[2]);
            if may_fault {
                let mut sink = function.sink();
                sink.local_get(PLACE4).local_get(faults).v128_store(place(window.faults, 0));
                sink.local_get(faults).v128_const(0).i32x4_eq().local_set(faultless);
            }
            for (Output { value, column, .. }, area) in program.outputs.iter().zip(&window.outputs)
            {
                match column.filter(|_| program.changes_own) {
                    Some(column) => function.change(column, *value, may_fault),
                    None => function.store(*area, *value),
                }
            }
            if program.changes_own {
                let mut sink = function.sink();
                sink.local_get(WINDOW).local_get(ROW).i32_const(GROUP as i32).i32_add();
                sink.i32_store(place(window.done, 0));
            }
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
        self.load_addresses();
        self.sink().loop_(BlockType::Empty);
        for (place, shift) in [(PLACE1, 0), (PLACE4, 2), (PLACE8, 3)] {
            let mut sink = self.sink();
            sink.local_get(ROW)
                .i32_const(shift)
                .i32_shl()
                .local_get(WINDOW)
                .i32_add()
                .local_set(place);
        }
        self.load_columns();
        let (faults, all) = (self.faults, self.all_faults);
        self.sink().v128_const(0).local_set(faults);
        code.iter().for_each(|instruction| self.instruction(instruction));
        behind(self);
        for ColumnLocals { ty, address, .. } in self.columns() {
            let bytes = (GROUP * ty.width()) as i32;
            self.sink().local_get(address).i32_const(bytes).i32_add().local_set(address);
        }
        self.sink().local_get(all).local_get(faults).v128_or().local_set(all);
        self.sink().local_get(ROW).i32_const(GROUP as i32).i32_add().local_tee(ROW);
        self.sink().local_get(ROWS).i32_lt_s().br_if(0).end();
        self.sink().local_get(all).v128_any_true().end();
        let integers = integers(self.program, self.window);
        let (own, vectors) = (integers - PARAMETERS, self.locals - integers);
        let mut function =
            wasm_encoder::Function::new([(own, ValType::I32), (vectors, ValType::V128)]);
        function.raw(std::mem::take(&mut self.bytes));
        function
    }

    fn load_arguments(&mut self) {
        for (at, area) in self.window.arguments.iter().enumerate() {
            let (local, from) = (self.arguments[at], place(*area, 0));
            let mut sink = self.sink();
            sink.local_get(WINDOW);
            match area.ty {
                ScalarType::Boolean => sink.i32_load8_u(from).i32x4_splat().i32x4_neg(),
                ScalarType::Integer | ScalarType::Single => sink.v128_load32_splat(from),
                ScalarType::Double | ScalarType::Text => sink.v128_load64_splat(from),
            };
            sink.local_set(local);
        }
    }

    /// Of all columns, own ones and those last sent.
    fn columns(&self) -> Vec<ColumnLocals> {
        self.own.values().chain(self.last_sent.values()).copied().collect()
    }

    fn load_addresses(&mut self) {
        let from = self.window.addresses;
        for (number, ColumnLocals { address, .. }) in (0..).zip(self.columns()) {
            self.sink().local_get(WINDOW).i32_load(place(from, 4 * number)).local_set(address);
        }
    }

    fn load_columns(&mut self) {
        for ColumnLocals { ty, address, values } in self.columns() {
            self.load_from(ty, address, 0, values);
        }
    }

    /// Loads the values of the group from an area of the window.
    pub(super) fn load(&mut self, area: Area, local: u32) {
        self.load_from(area.ty, offset(area.ty), area.address, local);
    }

    /// Loads the values of the group, whose address is that of a local and some bytes more.
    fn load_from(&mut self, ty: ScalarType, address: u32, bytes: u32, local: u32) {
        if ty == ScalarType::Boolean {
            let mut sink = self.sink();
            sink.local_get(address).v128_load32_zero(behind(bytes));
            sink.i16x8_extend_low_i8x16_u().i32x4_extend_low_i16x8_u().i32x4_neg();
            sink.local_set(local);
            return;
        }
        for part in 0..parts(ty) {
            let from = behind(bytes + 16 * part);
            self.sink().local_get(address).v128_load(from).local_set(local + part);
        }
    }

    /// Stores the values of the group to a column of the own table, except for rows with a fault.
    fn change(&mut self, column: u32, value: Operand, may_fault: bool) {
        let ColumnLocals { ty, address, values } = self.own[&column];
        self.store_to(ty, address, 0, value, may_fault.then_some(values));
    }

    /// Stores the values of the group to an area of the window.
    fn store(&mut self, area: Area, value: Operand) {
        self.store_to(area.ty, offset(area.ty), area.address, value, None);
    }

    /// Stores the values of the group; one that is not a number as its one bit pattern. Rows with a fault keep their
    /// former values, if there are such.
    fn store_to(
        &mut self,
        ty: ScalarType,
        address: u32,
        bytes: u32,
        value: Operand,
        former: Option<u32>,
    ) {
        let [narrowed, _, faultless] = self.scratch;
        for part in 0..parts(ty) {
            self.sink().local_get(address);
            self.push(value, ty, part);
            self.canonical(ty);
            if let Some(former) = former {
                self.sink().local_get(former + part).local_get(faultless);
                self.widen(ty, part);
                self.sink().v128_bitselect();
            }
            let mut sink = self.sink();
            if ty == ScalarType::Boolean {
                sink.v128_const(splat(Scalar::Integer(1))).v128_and().local_tee(narrowed);
                sink.local_get(narrowed).i16x8_narrow_i32x4_s().local_tee(narrowed);
                sink.local_get(narrowed).i8x16_narrow_i16x8_s();
                sink.v128_store32_lane(behind(bytes), 0);
            } else {
                sink.v128_store(behind(bytes + 16 * part));
            }
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
                let local = self.own[&column].values + part;
                self.sink().local_get(local);
            }
            Operand::LastSent(column) => {
                let local = self.last_sent[&column].values + part;
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
    match ty.width() {
        1 => PLACE1,
        4 => PLACE4,
        _ => PLACE8,
    }
}

/// So many bytes behind the beginning of an area.
pub(super) const fn place(area: Area, bytes: u32) -> MemArg {
    behind(area.address + bytes)
}

/// So many bytes behind the address on the stack.
const fn behind(bytes: u32) -> MemArg {
    MemArg { offset: bytes as u64, align: 0, memory_index: 0 }
}

/// Parameters and integer locals.
fn integers(program: &Program, window: &Window) -> u32 {
    let columns = window.own.len() + window.last_sent.len();
    SITE + SITE_LOCALS * program.sites.len() as u32 + columns as u32
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
