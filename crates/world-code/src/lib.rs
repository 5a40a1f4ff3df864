//! The functions of worlds as linear code that runs over blocks of rows.
//!
//! In reading order:
//!
//! * [`compile`]: a checked function becomes a [`Program`], whose instructions are in [`code`].
//! * [`compile_constraint`]: a constraint becomes one or two programs ([`Constraint`]).
//! * [`compile_converter`]: a converter becomes a program from the rows of one definition to those of another one.
//! * [`Column`], [`Scalar`] and [`Texts`]: how the values of rows stand in columns.
//! * [`Machine`]: runs a program over a [`Block`] of rows, each instruction for all rows.
//! * [`Neighbours`]: the other rows.
//! * [`Room`]: memory for columns that an engine reaches.
//!
//! ```
//! use hemiola_world_code::{Block, Column, Machine, Scalar, Texts, compile};
//! use hemiola_world_lang::{Sources, check};
//!
//! let text = "universe orbit {
//!   element body {
//!     property position : real<m>;
//!     property velocity : real<m/s>;
//!     update(dt : real<s>) { position += velocity * dt; }
//!   }
//! }";
//! let definition = check(&Sources::of("orbit.uml", text).unwrap(), None).unwrap();
//! let orbit = &definition.universes[0];
//! let body = orbit.element_named("body").unwrap();
//! let update = orbit.elements[body.index()].update.unwrap();
//! let program = compile(orbit, update, &mut Texts::default()).unwrap();
//!
//! let mut columns = [vec![0.0, 10.0], vec![1.0, -1.0]].map(|rows| Column::Double(rows.into()));
//! let arguments = [Scalar::Double(0.5)];
//! let mut machine = Machine::default();
//! machine.run(
//!     &program,
//!     &Block {
//!         own: &columns,
//!         start: 0,
//!         count: 2,
//!         arguments: &arguments,
//!         apart: &[],
//!         last_sent: &[],
//!         neighbours: None,
//!         element: body,
//!     },
//! );
//! machine.store(&program, &arguments, &mut columns);
//! assert_eq!(columns[0], Column::Double(vec![0.5, 9.5].into()));
//! ```
//!
//! The result is that of `world_lang::evaluate` for each row, bit by bit and fault by fault; tests compare the two on
//! random programs.
//!
//! # Compiled code
//!
//! [`Machine::compile`] makes a WebAssembly module of a program (the module `wasm` has its form) and gives it to an
//! [`Engine`], which comes from outside: this crate has none. The module works on columns where they are, if they
//! stand in the memory of the engine ([`Engine::room`], [`Column::move_to`]). The machine copies the values of other
//! columns to that memory for each block, and the results back. Values and faults are those of the interpreter, bit
//! by bit.
//!
//! This crate opens no file and reads no clock. [`limits`] bounds the code of a function.

#![forbid(unsafe_code)]

mod allocate;
mod build;
mod cells;
pub mod code;
mod column;
pub mod fuzzing;
pub mod limits;
mod lower;
mod run;
mod scalar;
mod wasm;

pub use cells::{Cell, Cells, Room, Slab};
pub use code::Program;
pub use column::{Column, Rows};
pub use lower::{CodeError, Constraint, compile, compile_constraint, compile_converter};
pub use run::{
    BLOCK_ROWS, Block, CompiledPrograms, Engine, Instance, Machine, NearLists, Neighbour,
    Neighbours, RowMask, Search,
};
pub use scalar::{
    Scalar, ScalarType, Texts, list_counts, scalar_count, scalar_types, scalars_of, value_of,
};
pub use wasm::{MODULE_CODE_MAX, Module, NotCompiled, WINDOW_MAX};
