//! A [`Program`] as a WebAssembly module that handles four rows at a time.
//!
//! The module has a memory, `memory`. Somewhere in it begins the *window*: the values that a block of rows reads and
//! writes besides columns, at constant offsets; among them the address of the block's first row in each column,
//! wherever in the memory the column stands. Filling the window is the work of `run/compiled.rs`. The function
//! `block(rows: i32, window: i32) -> i32` computes the outputs and the faults of the first `rows` rows and returns 0
//! if none of them has a fault; it may return another number if none has. Outputs that are columns of the own table
//! go there, except to rows with a fault. A loop over neighbours within a radius has a function `near N` of the same
//! type, N being its number. It computes for each row whether it takes part and the radius, so that the caller can
//! find the neighbours before it calls `block`.
//!
//! A group of rows is loaded before any of it is stored, at the same addresses, so a call that fails leaves no group
//! half done; the window says how many rows are done.
//!
//! A register is one or two vectors of four scalars together. A truth value is a mask of 32 bits per row. Rows beyond
//! the last one are computed like all others, and nobody reads them. There is no other loop than those over rows and
//! neighbours, whose lengths the caller writes: a call is bounded by its rows, without a check in the code.

mod emit;
mod rows;
mod window;

use thiserror::Error;
use wasm_encoder::{
    CodeSection, ExportKind, ExportSection, FunctionSection, MemorySection, MemoryType,
    TypeSection, ValType,
};

use crate::code::{Instruction, Program};
use rows::Function;
pub(crate) use rows::GROUP;
pub use window::WINDOW_MAX;
pub(crate) use window::{Area, ListAreas, SiteAreas, Window};

/// Instructions and items that a module contains at most: a bound of the engine's time.
pub const MODULE_CODE_MAX: usize = 1 << 13;

/// Why a program is not compiled. The interpreter runs it all the same.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotCompiled {
    /// The neighbours of an inner loop within a radius depend on the turn of the outer one, and only the host finds
    /// them.
    #[error(
        "`{0}` has a loop within a radius inside another loop over rows, so it stays interpreted"
    )]
    NestedSearch(String),
    /// Code and items.
    #[error(
        "`{0}` has {1} instructions; more than {MODULE_CODE_MAX} are not compiled, so it stays interpreted"
    )]
    TooLong(String, usize),
    /// The window is too large.
    #[error(
        "a block of `{0}` needs {1} bytes; more than {WINDOW_MAX} are not compiled, so it stays interpreted: lower \
         its `at most`"
    )]
    Window(String, u64),
    /// The engine refused the module, or has no memory for it.
    #[error("`{0}` stays interpreted: {1}")]
    Engine(String, String),
}

/// A module for an [`Engine`](crate::Engine). Only this crate makes modules, so an engine knows what they do: they read
/// and write the window, read the rows whose addresses it contains, and write those of them that are outputs.
#[derive(Clone, Debug)]
pub struct Module {
    bytes: Vec<u8>,
    functions: Vec<String>,
    window: usize,
}

impl Module {
    /// The module in the binary format.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The functions that it exports, each of the type `(i32, i32) -> i32`.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Bytes of its window.
    #[must_use]
    pub const fn window(&self) -> usize {
        self.window
    }
}

/// The module of a program.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub(crate) module: Module,
    /// The exported functions: first those of the loops within a radius, by the number of the loop, then `block`.
    pub(crate) exports: Vec<Export>,
    pub(crate) window: Window,
}

/// An exported function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Export {
    /// Computes what the lists of a loop contain.
    Near(u32),
    /// Computes the outputs.
    Block,
}

impl Export {
    fn name(self) -> String {
        match self {
            Self::Near(site) => format!("near {site}"),
            Self::Block => "block".into(),
        }
    }
}

/// Makes the module of a program. The same program gives the same bytes.
pub(crate) fn emit(program: &Program) -> Result<Emitted, NotCompiled> {
    let searches = searches(program)?;
    let handled: usize = searches.iter().map(|(at, _)| at).sum::<usize>() + program.code.len();
    let length = handled + program.items.len() * (searches.len() + 1);
    if length > MODULE_CODE_MAX {
        return Err(NotCompiled::TooLong(program.name.clone(), length));
    }
    let window = Window::of(program)?;
    let mut code = CodeSection::new();
    let mut exports = Vec::new();
    for (at, site) in searches {
        code.function(&Function::of(program, &window).near(at));
        exports.push(Export::Near(site));
    }
    code.function(&Function::of(program, &window).block());
    exports.push(Export::Block);
    let bytes = module(&window, &exports, &code);
    let functions = exports.iter().map(|export| export.name()).collect();
    let module = Module { bytes, functions, window: window.bytes as usize };
    Ok(Emitted { module, exports, window })
}

/// The loops within a radius: their places in the code, and their numbers.
fn searches(program: &Program) -> Result<Vec<(usize, u32)>, NotCompiled> {
    let (mut found, mut depth) = (Vec::new(), 0);
    for (at, instruction) in program.code.iter().enumerate() {
        match *instruction {
            Instruction::Loop { site, radius, .. } => {
                if radius.is_some() && depth > 0 {
                    return Err(NotCompiled::NestedSearch(program.name.clone()));
                }
                found.extend(radius.map(|_| (at, site)));
                depth += 1;
            }
            Instruction::EndLoop { .. } => depth -= 1,
            _ => {}
        }
    }
    Ok(found)
}

/// The memory is as large as the window, or larger where an engine has columns in it too.
fn module(window: &Window, exports: &[Export], code: &CodeSection) -> Vec<u8> {
    const PAGE: u64 = 64 << 10;
    const PAGES_MAX: u64 = 1 << 16;
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 2], [ValType::I32]);
    let mut functions = FunctionSection::new();
    let mut names = ExportSection::new();
    for (number, export) in (0..).zip(exports) {
        functions.function(0);
        names.export(&export.name(), ExportKind::Func, number);
    }
    names.export("memory", ExportKind::Memory, 0);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: window.bytes.div_ceil(PAGE),
        maximum: Some(PAGES_MAX),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut module = wasm_encoder::Module::new();
    module.section(&types).section(&functions).section(&memories).section(&names).section(code);
    module.finish()
}
