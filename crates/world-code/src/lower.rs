//! A checked function becomes linear code.
//!
//! Every value is a list of operands, one for each of its scalars. A variable, and a property that an update writes,
//! have places in `memory`, which names the operand that is the value at this point of the code. Thus an assignment
//! is no instruction. The branches of an `if` start from the same memory, and selections merge what they changed.

mod builtin;
mod constraint;
mod expression;
mod place;
mod statement;

use std::collections::BTreeMap;

use hemiola_world_lang::definition::{
    Converter, ElementId, Expr, Function, FunctionId, FunctionKind, Type, Universe,
};
use thiserror::Error;

use crate::allocate::allocate;
use crate::build::Builder;
use crate::code::{Operand, Output, Program};
use crate::limits::{DEPTH_MAX, INSTRUCTIONS_MAX, REGISTERS_MAX};
use crate::scalar::{ScalarType, Texts, scalar_count, scalar_types};
pub use constraint::{Constraint, compile_constraint};
use place::View;

/// Why a function has no code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodeError {
    /// A loop over an array is unrolled, and a called function is copied to each of its calls.
    #[error(
        "`{0}` needs more than {INSTRUCTIONS_MAX} instructions; shorten the arrays that it goes through or indexes, or \
         call fewer functions"
    )]
    TooLong(String),
    /// Too many values are needed at the same time.
    #[error(
        "`{0}` needs more than {REGISTERS_MAX} values at the same time; shorten the arrays that it computes"
    )]
    TooWide(String),
    /// Calls within calls.
    #[error(
        "calls and blocks of `{0}` are nested more than {DEPTH_MAX} levels deep; call fewer functions one within another"
    )]
    TooDeep(String),
    /// A caller from outside has no row to pass.
    #[error("`{0}` has a parameter that is a row; only functions that others call can have one")]
    RowParameter(String),
}

/// The code of a function, an update, a prediction or a constraint. The same definition gives the same code.
///
/// The outputs of an update and a prediction are the columns that it changes; those of the others are the scalars of
/// the result. An update also runs on tables of elements derived from its own.
///
/// # Errors
/// If the function exceeds one of the [`limits`](crate::limits), or has a parameter that is a row.
pub fn compile(
    universe: &Universe,
    function: FunctionId,
    texts: &mut Texts,
) -> Result<Program, CodeError> {
    lowered(universe, &universe.functions[function.index()], texts)
}

/// The code of a converter. `universe` is the definition that it is written in. `starts` has the first column of each
/// property of the element whose rows it reads, its own columns; the outputs are the columns of the property that gets
/// the value, from the column `to` on, of this type.
///
/// # Errors
/// If the converter exceeds one of the [`limits`](crate::limits).
pub fn compile_converter(
    universe: &Universe,
    converter: &Converter,
    starts: Vec<u32>,
    (to, ty): (u32, &Type),
    texts: &mut Texts,
) -> Result<Program, CodeError> {
    let mut lowering = Lowering::new(universe, texts);
    lowering.foreign = Some(starts);
    let values = lowering.value(&mut Frame::default(), &converter.value);
    let mut outputs = Vec::new();
    for ((column, ty), value) in (to..).zip(scalar_types(universe, ty)).zip(values) {
        let value = match value {
            Operand::Own(_) => Operand::Register(lowering.build.moved(ty, value)),
            value => value,
        };
        outputs.push(Output { ty, value, column: Some(column) });
    }
    lowering.finished(&converter.name, Vec::new(), outputs)
}

fn lowered(
    universe: &Universe,
    function: &Function,
    texts: &mut Texts,
) -> Result<Program, CodeError> {
    let mut lowering = Lowering::new(universe, texts);
    if let Some(element) = function.element {
        lowering.enter_element(element, function);
    }
    let mut arguments = Vec::new();
    let mut frame = Frame::of(function.locals.len());
    for (at, local) in function.locals[..function.parameter_count as usize].iter().enumerate() {
        if local.ty.holds_row() {
            return Err(CodeError::RowParameter(function.name.clone()));
        }
        let start = arguments.len() as u32;
        arguments.extend(scalar_types(universe, &local.ty));
        let operands = (start..arguments.len() as u32).map(Operand::Argument).collect();
        let base = lowering.remember(operands);
        frame.locals[at] = Some(Binding::Memory(base));
        frame.lengths[at] = arguments.len() as u32 - start;
    }
    let result = lowering.body(&mut frame, &function.body);
    let outputs = match (function.kind, &function.result) {
        (FunctionKind::Update | FunctionKind::Predict, _) => lowering.changed_columns(),
        (_, Some(ty)) => lowering.results(ty, &result),
        (_, None) => Vec::new(),
    };
    lowering.finished(&function.name, arguments, outputs)
}

/// The locals of a call.
#[derive(Default)]
struct Frame {
    locals: Vec<Option<Binding>>,
    /// The scalars of each local in memory.
    lengths: Vec<u32>,
}

impl Frame {
    fn of(locals: usize) -> Self {
        Self { locals: vec![None; locals], lengths: vec![0; locals] }
    }
}

/// What a local stands for.
#[derive(Clone)]
enum Binding {
    /// Scalars in memory from here on.
    Memory(u32),
    /// A row elsewhere.
    Row(View),
}

/// The state of the translation of one function.
struct Lowering<'l> {
    universe: &'l Universe,
    texts: &'l mut Texts,
    build: Builder,
    /// The element of the own row.
    element: Option<ElementId>,
    /// The first column of each property of the own row, where that is of another definition.
    foreign: Option<Vec<u32>>,
    /// The value of each place that can change.
    memory: Vec<Operand>,
    /// The type of each place.
    types: Vec<ScalarType>,
    /// Where the columns that an update writes are in memory.
    own: BTreeMap<u32, u32>,
    /// Places that changed, with their values before: what a branch has to undo.
    journal: Vec<(u32, Operand)>,
    depth: u32,
    too_deep: bool,
}

impl<'l> Lowering<'l> {
    fn new(universe: &'l Universe, texts: &'l mut Texts) -> Self {
        Self {
            universe,
            texts,
            build: Builder::new(),
            element: None,
            foreign: None,
            memory: Vec::new(),
            types: Vec::new(),
            own: BTreeMap::new(),
            journal: Vec::new(),
            depth: 0,
            too_deep: false,
        }
    }

    /// Gives the columns that the function writes their places in memory.
    fn enter_element(&mut self, element: ElementId, function: &Function) {
        self.element = Some(element);
        for property in &function.writes {
            let ty = &self.universe.elements[element.index()].properties[*property as usize].ty;
            let first = self.column_of(element, *property);
            for (column, ty) in (first..).zip(scalar_types(self.universe, ty)) {
                self.own.insert(column, self.memory.len() as u32);
                self.memory.push(Operand::Own(column));
                self.types.push(ty);
            }
        }
    }

    /// The first column of a property.
    fn column_of(&self, element: ElementId, property: u32) -> u32 {
        let properties = &self.universe.elements[element.index()].properties;
        let before = &properties[..property as usize];
        before.iter().map(|property| scalar_count(self.universe, &property.ty)).sum()
    }

    /// New places in memory with these values; their types are those of later reads.
    fn remember(&mut self, operands: Vec<Operand>) -> u32 {
        let base = self.memory.len() as u32;
        // Only what is assigned to needs its type; `place` sets it.
        self.types.resize(self.memory.len() + operands.len(), ScalarType::Boolean);
        self.memory.extend(operands);
        base
    }

    fn changed_columns(&mut self) -> Vec<Output> {
        let own = std::mem::take(&mut self.own);
        let changed = own
            .into_iter()
            .filter(|(column, place)| self.memory[*place as usize] != Operand::Own(*column));
        let changed: Vec<(u32, u32)> = changed.collect();
        changed
            .into_iter()
            .map(|(column, place)| {
                let (value, ty) = (self.memory[place as usize], self.types[place as usize]);
                // Another column may itself get a new value before this one is stored.
                let value = match value {
                    Operand::Own(_) => Operand::Register(self.build.moved(ty, value)),
                    _ => value,
                };
                Output { ty, value, column: Some(column) }
            })
            .collect()
    }

    fn results(&self, ty: &Type, values: &[Operand]) -> Vec<Output> {
        let types = scalar_types(self.universe, ty);
        let outputs = types.into_iter().zip(values);
        outputs.map(|(ty, value)| Output { ty, value: *value, column: None }).collect()
    }

    fn finished(
        self,
        name: &str,
        arguments: Vec<ScalarType>,
        outputs: Vec<Output>,
    ) -> Result<Program, CodeError> {
        if self.too_deep {
            return Err(CodeError::TooDeep(name.to_owned()));
        }
        if self.build.is_full() {
            return Err(CodeError::TooLong(name.to_owned()));
        }
        let Builder { code, constants, items, sites, last_sent, registers, .. } = self.build;
        let name = name.to_owned();
        let mut program = Program {
            name,
            code,
            constants,
            arguments,
            items,
            sites,
            last_sent,
            registers: [0; 5],
            outputs,
            changes_own: self.foreign.is_none(),
            identity: 0,
        };
        allocate(&mut program, registers);
        program.identify();
        if program.registers.iter().sum::<u32>() > REGISTERS_MAX {
            return Err(CodeError::TooWide(program.name));
        }
        Ok(program)
    }

    /// Whether the translation goes on. After a limit it would only take time.
    const fn goes_on(&self) -> bool {
        !self.too_deep && !self.build.is_full()
    }

    /// One level deeper; `None` if that is too deep.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.too_deep |= self.depth >= DEPTH_MAX;
        if !self.goes_on() {
            return None;
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        Some(result)
    }

    /// Operands for a value of the type after a limit was reached; the code is dropped anyway.
    fn nothing(&self, ty: &Type) -> Vec<Operand> {
        vec![crate::build::FALSE; scalar_count(self.universe, ty) as usize]
    }

    /// The type of the numbers in a value.
    fn number_type(&self, expr: &Expr) -> ScalarType {
        let number = expr.ty.number().expect("only numbers are computed with");
        scalar_types(self.universe, number)[0]
    }
}
