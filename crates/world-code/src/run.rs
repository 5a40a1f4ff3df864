//! The interpreter: one instruction after the other, each for all rows of a block.

mod arithmetic;
mod compiled;
mod lanes;
mod mask;
mod neighbours;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::evaluate::Fault;

use crate::code::{
    Binary, Checked, Comparison, FaultCode, Instruction, Operand, Output, Program, Unary,
};
use crate::column::{Column, Rows, canonical_double, canonical_single};
use crate::scalar::{Scalar, ScalarType};
use crate::wasm::{GROUP, NotCompiled};
use arithmetic::{Number, Real};
use compiled::Compiled;
pub use compiled::{Engine, Instance};
use lanes::{Banks, Lane, Lanes, map, map2, map3};
pub use mask::RowMask;
use neighbours::Turn;
pub use neighbours::{NearLists, Neighbour, Neighbours, Search};

/// Rows that one call handles at most.
pub const BLOCK_ROWS: usize = 1024;

/// What a call reads.
#[derive(Clone, Copy)]
pub struct Block<'b> {
    /// The columns of the own table.
    pub own: &'b [Column],
    /// The rows of the block in columns that stand apart from `own`, each with the number of its column: those that an
    /// update writes while others read the table.
    pub apart: &'b [(u32, Rows<'b>)],
    /// The first row.
    pub start: usize,
    /// How many rows.
    pub count: usize,
    /// The scalars of the arguments.
    pub arguments: &'b [Scalar],
    /// The columns of the rows as they were last sent, in the order of [`Program::last_sent`]; their rows are those of
    /// the own table.
    pub last_sent: &'b [Column],
    /// The other rows, of a program with loops over them.
    pub neighbours: Option<&'b dyn Neighbours>,
    /// The element of the own table.
    pub element: ElementId,
}

/// Registers, compiled programs, and what went wrong. It keeps its memory from call to call and serves any program.
#[derive(Debug, Default)]
pub struct Machine {
    banks: Banks,
    /// By [`Program::identity`].
    compiled: BTreeMap<u64, Compiled>,
    faults: Vec<u8>,
    turns: Vec<Turn>,
    rows: Range<usize>,
}

/// Compiled programs for one machine. Another thread than that of the machine can make them.
#[derive(Debug, Default)]
pub struct CompiledPrograms(BTreeMap<u64, Compiled>);

impl CompiledPrograms {
    /// Compiles a program.
    ///
    /// # Errors
    /// Why the program stays interpreted.
    pub fn add(&mut self, program: &Program, engine: &mut dyn Engine) -> Result<(), NotCompiled> {
        self.0.insert(program.identity, Compiled::of(program, engine)?);
        Ok(())
    }
}

impl Machine {
    /// Runs these programs by their compiled code from now on. Others are interpreted; the results are the same.
    pub fn install(&mut self, code: CompiledPrograms) {
        self.compiled.extend(code.0);
    }

    /// Has an engine run a program from now on. Without it, and if this fails, the machine interprets the program.
    ///
    /// # Errors
    /// Why the program stays interpreted.
    pub fn compile(
        &mut self,
        program: &Program,
        engine: &mut dyn Engine,
    ) -> Result<(), NotCompiled> {
        let mut code = CompiledPrograms::default();
        code.add(program, engine)?;
        self.install(code);
        Ok(())
    }

    /// Whether it has compiled code for a program.
    #[must_use]
    pub fn has_code_for(&self, program: &Program) -> bool {
        self.compiled.contains_key(&program.identity)
    }

    /// Keeps the compiled forms of the programs with these identities, and returns the others.
    pub fn keep_only(&mut self, kept: &BTreeSet<u64>) -> CompiledPrograms {
        let others = self.compiled.extract_if(.., |identity, _| !kept.contains(identity));
        CompiledPrograms(others.collect())
    }

    /// Runs a program for the rows of a block. Outputs are read with [`Self::holding`], [`Self::scalar`] and
    /// [`Self::store`].
    ///
    /// # Panics
    /// If the block has more than [`BLOCK_ROWS`] rows, or its columns or arguments are not those of the program.
    pub fn run(&mut self, program: &Program, block: &Block<'_>) {
        self.begin(program, block);
        if let Some(compiled) = self.compiled.get_mut(&program.identity) {
            if compiled.run(program, block, &mut self.faults) {
                return;
            }
            // An engine that fails once is not asked again.
            self.compiled.remove(&program.identity);
        }
        self.interpret(program, block);
    }

    /// Runs an update or a prediction for the rows of a block and changes them. Those of the columns that it changes
    /// stand apart from the table: one for each output with a column, in the order of the outputs. A faulty row keeps
    /// its values; a value that is not a number gets its one bit pattern.
    ///
    /// # Panics
    /// As [`Self::run`], and if the columns are others.
    pub fn update(&mut self, program: &Program, block: &Block<'_>, apart: &mut [(u32, Rows<'_>)]) {
        self.begin(program, block);
        let columns = program.changed().map(|(_, column)| column);
        assert!(columns.eq(apart.iter().map(|(column, _)| *column)), "columns of {}", program.name);
        // An engine writes whole groups of rows, so the last ones of a table are copied.
        let whole = block.count - block.count % GROUP;
        let mut done = 0;
        while done < block.count {
            let Some(compiled) = self.compiled.get_mut(&program.identity) else { break };
            let in_place = done < whole;
            let rows = done..if in_place { whole } else { block.count };
            let part = Block { start: block.start + done, count: rows.len(), ..*block };
            let faults = &mut self.faults[rows.clone()];
            match compiled.update(program, &part, (apart, done), in_place, faults) {
                Ok(()) => done = rows.end,
                // An engine that fails once is not asked again.
                Err(of_part) => {
                    done += of_part;
                    self.compiled.remove(&program.identity);
                }
            }
        }
        if done < block.count {
            self.interpret_from(done, program, block, apart);
        }
    }

    fn begin(&mut self, program: &Program, block: &Block<'_>) {
        assert!(block.count <= BLOCK_ROWS, "a block has at most {BLOCK_ROWS} rows");
        assert_eq!(
            block.arguments.len(),
            program.arguments.len(),
            "the arguments of {}",
            program.name
        );
        self.faults.clear();
        self.faults.resize(block.count, 0);
        self.rows = block.start..block.start + block.count;
    }

    /// Interprets an update for the rows of a block from one of them on.
    fn interpret_from(
        &mut self,
        first: usize,
        program: &Program,
        block: &Block<'_>,
        apart: &mut [(u32, Rows<'_>)],
    ) {
        if first == 0 {
            self.interpret(program, &Block { apart: &*apart, ..*block });
            return self.store_apart(program, block.arguments, apart);
        }
        let rest = apart.iter_mut().map(|(column, rows)| (*column, rows.part(first..block.count)));
        let mut rest: Vec<_> = rest.collect();
        let (start, count) = (block.start + first, block.count - first);
        let mut faults = std::mem::replace(&mut self.faults, vec![0; count]);
        self.interpret(program, &Block { start, count, apart: &rest, ..*block });
        self.store_apart(program, block.arguments, &mut rest);
        faults.truncate(first);
        faults.append(&mut self.faults);
        self.faults = faults;
    }

    fn interpret(&mut self, program: &Program, block: &Block<'_>) {
        self.banks.grow(&program.registers);
        if self.turns.len() < program.sites.len() {
            self.turns.resize_with(program.sites.len(), Turn::default);
        }
        let mut at = 0;
        while let Some(instruction) = program.code.get(at) {
            at = self.step(program, block, instruction, at);
        }
    }

    /// The fault of each row of the block, by its byte ([`FaultCode`]); 0 is none.
    #[must_use]
    pub fn faults(&self) -> &[u8] {
        &self.faults
    }

    /// The fault of a row of the block, counted from its first.
    #[must_use]
    pub fn fault(&self, row: usize) -> Option<Fault> {
        const CODES: [FaultCode; 5] = [
            FaultCode::Overflow,
            FaultCode::DivisionByZero,
            FaultCode::IndexOutOfRange,
            FaultCode::ListFull,
            FaultCode::NotAnInteger,
        ];
        let code = CODES.into_iter().find(|code| *code as u8 == self.faults[row]);
        code.map(FaultCode::fault)
    }

    /// Whether no row of the block has a fault.
    #[must_use]
    pub fn is_faultless(&self) -> bool {
        is_faultless(&self.faults)
    }

    /// The rows of the block for which a constraint holds. A faulty row is not among them.
    ///
    /// # Panics
    /// If the program has no such result, or the block is not the one of the last call.
    #[must_use]
    pub fn holding(&self, program: &Program, block: &Block<'_>) -> RowMask {
        let mut mask = match self.compiled.get(&program.identity) {
            Some(compiled) => compiled.holding(block),
            None => match self.lanes::<bool>(program, block, program.outputs[0].value) {
                Lanes::All(false) => RowMask::default(),
                Lanes::All(true) => RowMask::first(block.count),
                Lanes::Each(truths) => RowMask::of(truths),
            },
        };
        if !self.is_faultless() {
            let faults = self.faults.iter().enumerate();
            faults.filter(|(_, fault)| **fault != 0).for_each(|(row, _)| mask.remove(row));
        }
        mask
    }

    /// A scalar of the result for a row of the block. It has no meaning for a faulty row.
    ///
    /// # Panics
    /// If there is no such output or row.
    #[must_use]
    pub fn scalar(
        &self,
        program: &Program,
        block: &Block<'_>,
        output: usize,
        row: usize,
    ) -> Scalar {
        if let Some(compiled) = self.compiled.get(&program.identity) {
            return compiled.scalar(output, row);
        }
        let Output { ty, value, .. } = program.outputs[output];
        match ty {
            ScalarType::Boolean => Scalar::Boolean(self.lanes(program, block, value).at(row)),
            ScalarType::Integer => Scalar::Integer(self.lanes(program, block, value).at(row)),
            ScalarType::Single => Scalar::Single(self.lanes(program, block, value).at(row)),
            ScalarType::Double => Scalar::Double(self.lanes(program, block, value).at(row)),
            ScalarType::Text => Scalar::Text(self.lanes::<u64>(program, block, value).at(row)),
        }
    }

    /// Writes the columns that an update or a prediction changes, for the rows of the last call. A faulty row keeps its
    /// values; a value that is not a number gets its one bit pattern.
    ///
    /// # Panics
    /// If the columns or the arguments are not those of the call.
    pub fn store(&self, program: &Program, arguments: &[Scalar], columns: &mut [Column]) {
        for (at, column) in written(program) {
            let mut rows = columns[column as usize].rows_mut(self.rows.clone());
            self.store_output(program, arguments, at, &mut rows);
        }
    }

    /// As [`Self::store`], to the rows of the block that stand apart from their columns.
    fn store_apart(&self, program: &Program, arguments: &[Scalar], apart: &mut [(u32, Rows<'_>)]) {
        for ((at, _), (_, rows)) in program.changed().zip(apart) {
            self.store_output(program, arguments, at, rows);
        }
    }

    fn store_output(&self, program: &Program, arguments: &[Scalar], at: usize, to: &mut Rows<'_>) {
        let faults = &self.faults;
        if let Some(compiled) = self.compiled.get(&program.identity) {
            return compiled.store(at, faults, to);
        }
        let output = &program.outputs[at];
        match to {
            Rows::Boolean(to) => put(to, faults, self.stored(program, arguments, output), |v| v),
            Rows::Integer(to) => put(to, faults, self.stored(program, arguments, output), |v| v),
            Rows::Single(to) => {
                put(to, faults, self.stored(program, arguments, output), canonical_single);
            }
            Rows::Double(to) => {
                put(to, faults, self.stored(program, arguments, output), canonical_double);
            }
            Rows::Text(to) => put(to, faults, self.stored(program, arguments, output), |v| v),
        }
    }

    /// The value of an output of an update, which is never a column.
    fn stored<'s, T: Lane>(
        &'s self,
        program: &Program,
        arguments: &[Scalar],
        output: &Output,
    ) -> Lanes<'s, T> {
        match output.value {
            Operand::Register(number) => Lanes::Each(&T::bank(&self.banks)[number as usize]),
            Operand::Constant(number) => Lanes::All(T::of(program.constants[number as usize])),
            Operand::Argument(number) => Lanes::All(T::of(arguments[number as usize])),
            Operand::Own(_) | Operand::LastSent(_) => {
                unreachable!("columns are moved to registers")
            }
        }
    }

    /// The values of an operand for the rows of a block.
    fn lanes<'s, T: Lane>(
        &'s self,
        program: &Program,
        block: &Block<'s>,
        operand: Operand,
    ) -> Lanes<'s, T> {
        match operand {
            Operand::Register(number) => {
                Lanes::Each(&T::bank(&self.banks)[number as usize][..block.count])
            }
            Operand::Constant(number) => Lanes::All(T::of(program.constants[number as usize])),
            Operand::Argument(number) => Lanes::All(T::of(block.arguments[number as usize])),
            Operand::Own(column) => Lanes::Each(block.own(column)),
            Operand::LastSent(at) => Lanes::Each(block.last_sent(at)),
        }
    }

    /// Carries out one instruction and returns the position of the next one.
    fn step(
        &mut self,
        program: &Program,
        block: &Block<'_>,
        instruction: &Instruction,
        at: usize,
    ) -> usize {
        use ScalarType::{Boolean, Double, Integer, Single, Text};
        let mut call = Call { machine: self, program, block };
        match *instruction {
            Instruction::Unary { op: Unary::Not, to, of, .. } => call.unary(to, of, |v: bool| !v),
            Instruction::Unary { op, ty: Single, to, of } => call.real::<f32>(op, to, of),
            Instruction::Unary { op, to, of, .. } => call.real::<f64>(op, to, of),
            Instruction::Binary { op, ty, to, left, right } => match ty {
                Boolean => call.logic(op, to, left, right),
                Integer => call.extreme::<i32>(op, to, left, right),
                Single => call.reals::<f32>(op, to, left, right),
                _ => call.reals::<f64>(op, to, left, right),
            },
            Instruction::Compare { op, ty, to, left, right } => match ty {
                Boolean => call.compare::<bool>(op, to, left, right),
                Integer => call.compare::<i32>(op, to, left, right),
                Single => call.compare::<f32>(op, to, left, right),
                Double => call.compare::<f64>(op, to, left, right),
                Text => call.compare::<u64>(op, to, left, right),
            },
            Instruction::Checked { op, to, left, right, mask } => {
                call.checked(op, to, left, right, mask);
            }
            Instruction::Convert { from, ty, to, of } => call.convert(from, ty, to, of),
            Instruction::ToInteger { from, to, of, mask } => call.whole(from, to, of, mask),
            Instruction::Select { ty, to, condition, then, otherwise } => match ty {
                Boolean => call.select::<bool>(to, condition, then, otherwise),
                Integer => call.select::<i32>(to, condition, then, otherwise),
                Single => call.select::<f32>(to, condition, then, otherwise),
                Double => call.select::<f64>(to, condition, then, otherwise),
                Text => call.select::<u64>(to, condition, then, otherwise),
            },
            Instruction::Pick { ty, to, index, first, count } => {
                let items = &program.items[first as usize..(first + count) as usize];
                match ty {
                    Boolean => call.pick::<bool>(to, index, items),
                    Integer => call.pick::<i32>(to, index, items),
                    Single => call.pick::<f32>(to, index, items),
                    Double => call.pick::<f64>(to, index, items),
                    Text => call.pick::<u64>(to, index, items),
                }
            }
            Instruction::Raise { fault, when, mask } => call.raise(fault, when, mask),
            Instruction::Gather { ty, to, site, column } => match ty {
                Boolean => call.gather::<bool>(to, site, column),
                Integer => call.gather::<i32>(to, site, column),
                Single => call.gather::<f32>(to, site, column),
                Double => call.gather::<f64>(to, site, column),
                Text => call.gather::<u64>(to, site, column),
            },
            Instruction::Move { ty, to, of } => match ty {
                Boolean => call.unary(to, of, |v: bool| v),
                Integer => call.unary(to, of, |v: i32| v),
                Single => call.unary(to, of, |v: f32| v),
                Double => call.unary(to, of, |v: f64| v),
                Text => call.unary(to, of, |v: u64| v),
            },
            Instruction::Loop { site, mask, radius, active } => {
                call.begin(at, site, mask, radius, active);
                if !call.turn(site) {
                    return self.turns[site as usize].end(program, at);
                }
            }
            Instruction::EndLoop { site } => {
                if call.turn(site) {
                    return self.turns[site as usize].first_instruction();
                }
            }
        }
        at + 1
    }
}

impl<'b> Block<'b> {
    /// The rows of the block in a column of the own table.
    fn own<T: Lane>(&self, column: u32) -> &'b [T] {
        match self.apart.iter().find(|(apart, _)| *apart == column) {
            Some((_, rows)) => T::rows(rows),
            None => &T::column(&self.own[column as usize])[self.start..self.start + self.count],
        }
    }

    /// The rows of the block as they were last sent.
    fn last_sent<T: Lane>(&self, at: u32) -> &'b [T] {
        &T::column(&self.last_sent[at as usize])[self.start..self.start + self.count]
    }
}

/// The outputs that go to columns, by their number, and these columns.
fn written(program: &Program) -> impl Iterator<Item = (usize, u32)> {
    let outputs = program.outputs.iter().enumerate();
    outputs.filter_map(|(at, output)| Some((at, output.column?)))
}

/// Whether no row has a fault. A loop that ended at the first one would not become vector instructions.
fn is_faultless(faults: &[u8]) -> bool {
    faults.iter().fold(0, |all, fault| all | fault) == 0
}

/// Writes values to the rows without a fault.
fn put<T: Lane>(to: &mut [T], faults: &[u8], from: Lanes<'_, T>, canonical: impl Fn(T) -> T) {
    // Blocks seldom have a fault, and a plain loop becomes vector instructions.
    if is_faultless(faults) {
        return match from {
            Lanes::Each(from) => map(to, Lanes::Each(&from[..faults.len()]), canonical),
            Lanes::All(from) => to.fill(canonical(from)),
        };
    }
    for (row, (to, fault)) in to.iter_mut().zip(faults).enumerate() {
        if *fault == 0 {
            *to = canonical(from.at(row));
        }
    }
}

/// A machine with what its instructions read.
struct Call<'c, 'b> {
    machine: &'c mut Machine,
    program: &'c Program,
    block: &'c Block<'b>,
}

impl Call<'_, '_> {
    fn lanes<T: Lane>(&self, operand: Operand) -> Lanes<'_, T> {
        self.machine.lanes(self.program, self.block, operand)
    }

    /// Computes a register. It is taken out meanwhile, which is free because it is none of the operands.
    fn compute<T: Lane>(&mut self, to: u32, work: impl FnOnce(&mut Self, &mut [T])) {
        let mut out = std::mem::take(&mut T::bank_mut(&mut self.machine.banks)[to as usize]);
        work(self, &mut out[..self.block.count]);
        T::bank_mut(&mut self.machine.banks)[to as usize] = out;
    }

    fn unary<A: Lane, T: Lane>(&mut self, to: u32, of: Operand, f: impl Fn(A) -> T) {
        self.compute(to, |call, out| map(out, call.lanes(of), f));
    }

    fn binary<A: Lane, T: Lane>(
        &mut self,
        to: u32,
        left: Operand,
        right: Operand,
        f: impl Fn(A, A) -> T,
    ) {
        self.compute(to, |call, out| map2(out, call.lanes(left), call.lanes(right), f));
    }

    fn real<T: Real>(&mut self, op: Unary, to: u32, of: Operand) {
        match op {
            Unary::Negate => self.unary(to, of, T::negated),
            Unary::Absolute => self.unary(to, of, T::absolute),
            Unary::Floor => self.unary(to, of, T::floored),
            Unary::Ceil => self.unary(to, of, T::raised),
            Unary::SquareRoot => self.unary(to, of, T::root),
            Unary::Not => unreachable!("truth values are handled apart"),
        }
    }

    fn reals<T: Real>(&mut self, op: Binary, to: u32, left: Operand, right: Operand) {
        match op {
            Binary::Add => self.binary(to, left, right, |a: T, b| a + b),
            Binary::Subtract => self.binary(to, left, right, |a: T, b| a - b),
            Binary::Multiply => self.binary(to, left, right, |a: T, b| a * b),
            Binary::Divide => self.binary(to, left, right, |a: T, b| a / b),
            _ => self.extreme::<T>(op, to, left, right),
        }
    }

    fn extreme<T: Number>(&mut self, op: Binary, to: u32, left: Operand, right: Operand) {
        match op {
            Binary::Least => self.binary(to, left, right, T::least),
            Binary::Greatest => self.binary(to, left, right, T::greatest),
            _ => unreachable!("integers are computed with checks"),
        }
    }

    fn logic(&mut self, op: Binary, to: u32, left: Operand, right: Operand) {
        match op {
            Binary::And => self.binary(to, left, right, |a: bool, b| a & b),
            Binary::Or => self.binary(to, left, right, |a: bool, b| a | b),
            _ => unreachable!("truth values have no other operation"),
        }
    }

    fn compare<T: Lane + PartialOrd>(
        &mut self,
        op: Comparison,
        to: u32,
        left: Operand,
        right: Operand,
    ) {
        match op {
            Comparison::Equal => self.binary(to, left, right, |a: T, b| a == b),
            Comparison::Unequal => self.binary(to, left, right, |a: T, b| a != b),
            Comparison::Less => self.binary(to, left, right, |a: T, b| a < b),
            Comparison::AtMost => self.binary(to, left, right, |a: T, b| a <= b),
        }
    }

    fn convert(&mut self, from: ScalarType, ty: ScalarType, to: u32, of: Operand) {
        use ScalarType::{Double, Integer, Single};
        match (from, ty) {
            (Integer, Single) => self.unary(to, of, |v: i32| v as f32),
            (Integer, Double) => self.unary(to, of, |v: i32| f64::from(v)),
            (Single, Double) => self.unary(to, of, |v: f32| f64::from(v)),
            (Double, Single) => self.unary(to, of, |v: f64| v as f32),
            _ => unreachable!("no other conversion is without faults"),
        }
    }

    fn select<T: Lane>(&mut self, to: u32, condition: Operand, then: Operand, otherwise: Operand) {
        self.compute(to, |call, out| {
            let condition = call.lanes(condition);
            map3(out, condition, call.lanes::<T>(then), call.lanes(otherwise));
        });
    }

    fn pick<T: Lane>(&mut self, to: u32, index: Operand, items: &[Operand]) {
        self.compute(to, |call, out| {
            let index: Lanes<'_, i32> = call.lanes(index);
            for (row, out) in out.iter_mut().enumerate() {
                let at = usize::try_from(index.at(row)).ok().filter(|at| *at < items.len());
                // An index outside of them is a fault already, so any value will do.
                let item = items.get(at.unwrap_or(0)).copied();
                *out = item.map_or_else(T::default, |item| call.lanes::<T>(item).at(row));
            }
        });
    }

    fn checked(&mut self, op: Checked, to: u32, left: Operand, right: Operand, mask: Operand) {
        match op {
            Checked::Add => self.overflowing(to, left, right, mask, i32::overflowing_add),
            Checked::Subtract => self.overflowing(to, left, right, mask, i32::overflowing_sub),
            Checked::Multiply => self.overflowing(to, left, right, mask, i32::overflowing_mul),
            Checked::Divide => self.divided(to, left, right, mask, |(quotient, _)| quotient),
            Checked::Modulo => self.divided(to, left, right, mask, |(_, rest)| rest),
        }
    }

    fn overflowing(
        &mut self,
        to: u32,
        left: Operand,
        right: Operand,
        mask: Operand,
        f: impl Fn(i32, i32) -> (i32, bool),
    ) {
        let mut any = false;
        self.compute(to, |call, out| {
            let (left, right) = (call.lanes(left), call.lanes(right));
            map2(out, left, right, |a, b| f(a, b).0);
            any = left.pairs(right, call.block.count).any(|(a, b)| f(a, b).1);
        });
        if any {
            self.fault_where(mask, FaultCode::Overflow, |call, row| {
                f(call.lanes(left).at(row), call.lanes(right).at(row)).1
            });
        }
    }

    fn divided(
        &mut self,
        to: u32,
        left: Operand,
        right: Operand,
        mask: Operand,
        part: impl Fn((i32, i32)) -> i32,
    ) {
        self.fault_where(mask, FaultCode::DivisionByZero, |call, row| {
            call.lanes::<i32>(right).at(row) == 0
        });
        self.fault_where(mask, FaultCode::Overflow, |call, row| {
            call.lanes::<i32>(left).at(row) == i32::MIN && call.lanes::<i32>(right).at(row) == -1
        });
        self.binary(to, left, right, |a, b| part(arithmetic::divided(a, b)));
    }

    fn whole(&mut self, from: ScalarType, to: u32, of: Operand, mask: Operand) {
        let fits =
            |number: f64| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number.trunc());
        if from == ScalarType::Single {
            self.fault_where(mask, FaultCode::NotAnInteger, |call, row| {
                !fits(call.lanes::<f32>(of).at(row).into())
            });
            self.unary(to, of, |v: f32| v as i32);
        } else {
            self.fault_where(mask, FaultCode::NotAnInteger, |call, row| {
                !fits(call.lanes(of).at(row))
            });
            self.unary(to, of, |v: f64| v as i32);
        }
    }

    fn raise(&mut self, fault: FaultCode, when: Operand, mask: Operand) {
        self.fault_where(mask, fault, |call, row| call.lanes(when).at(row));
    }

    /// Notes a fault of the rows of the mask for which `wrong` holds. The first fault of a row stays.
    fn fault_where(
        &mut self,
        mask: Operand,
        fault: FaultCode,
        wrong: impl Fn(&Self, usize) -> bool,
    ) {
        let mut faults = std::mem::take(&mut self.machine.faults);
        let mask: Lanes<'_, bool> = self.lanes(mask);
        for (row, code) in faults.iter_mut().enumerate() {
            if *code == 0 && mask.at(row) && wrong(self, row) {
                *code = fault as u8;
            }
        }
        self.machine.faults = faults;
    }
}
