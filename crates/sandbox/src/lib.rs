//! Runs WebAssembly modules of others within a process, and turns whatever they do into a value or a verdict.
//!
//! A module gets no rights at all: no imports, no files, no clock. [`Engine::compile`] and [`Module::instantiate`]
//! refuse what cannot work, with a [`LoadError`] that says what to change. A running function ends in one of four ways:
//! it returns, it has consumed its fuel, it breaks a rule of WebAssembly, or it asks for more than its [`Limits`]. The
//! last three are a [`Fault`]. No module can hang, crash or read its host.
//!
//! ```
//! use hemiola_sandbox::{Engine, Fault, IS_AVAILABLE, Limits};
//!
//! let text = r#"(module
//!     (func (export "double") (param f64) (result f64) (f64.mul (local.get 0) (f64.const 2)))
//!     (func (export "hang") (loop (br 0))))"#;
//! # if !IS_AVAILABLE { return Ok(()); }
//! let module = Engine::new(Limits::default())?.compile(text.as_bytes(), "example.wat")?;
//! let mut instance = module.instantiate(10_000)?;
//! let double = instance.function::<f64, f64>("double")?;
//! assert_eq!(instance.call(&double, 21.0, 100), Ok(42.0));
//! let hang = instance.function::<(), ()>("hang")?;
//! assert_eq!(instance.call(&hang, (), 1_000_000), Err(Fault::OutOfFuel));
//! # Ok::<(), hemiola_sandbox::LoadError>(())
//! ```
//!
//! **Real time.** Compiling and instantiating allocate and map memory: do both beside the loop. A call does neither. A
//! fault allocates a few hundred bytes, once, because a faulty instance is not called again. Call [`prepare_thread`] in
//! the thread that will call, and [`Instance::seal`] before the first call in a loop.
//!
//! **The engine** is wasmtime, which takes minutes to build, and therefore the feature `engine`. Without it,
//! [`IS_AVAILABLE`] is false and [`Engine::new`] refuses. Decision 0036 has its settings and their reasons.
//!
//! **Modules of the host itself** may work on memory of the host: [`reserve`] and `Engine::over`. Modules of others
//! never do.
//!
//! **Not here:** host functions.

#[cfg(not(feature = "engine"))]
mod absent;
#[cfg(feature = "engine")]
mod engine;
mod error;
mod fault;
mod shared;
mod values;

#[cfg(not(feature = "engine"))]
pub use absent::{Engine, Function, Instance, Module, Values, prepare_thread};
#[cfg(feature = "engine")]
pub use engine::{Engine, Function, Instance, Module, Values, prepare_thread};
pub use error::LoadError;
pub use fault::Fault;
pub use shared::reserve;
pub use values::Numbers;

/// Whether this build has the engine.
pub const IS_AVAILABLE: bool = cfg!(feature = "engine");

/// Limits of every instance of an [`Engine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a module, as text or as binary.
    pub module: usize,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Entries of the table of functions.
    pub table: usize,
    /// Bytes of the caller's stack that a call may use.
    pub stack: usize,
}

impl Default for Limits {
    /// Room for a controller in any language: a module of 256 KiB, memory of 4 MiB, 4096 functions in the table, 64 KiB
    /// of stack.
    fn default() -> Self {
        Self { module: 256 << 10, memory: 4 << 20, table: 4096, stack: 64 << 10 }
    }
}
