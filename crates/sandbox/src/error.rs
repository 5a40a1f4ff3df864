//! Why a module cannot be used.

use thiserror::Error;

use crate::Fault;

/// Why a module cannot be used. Each message says what is wrong and what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// This build has no engine: build with the feature.
    #[error(
        "this build has no WebAssembly sandbox; build hemiola with: cargo build --release --features sandbox"
    )]
    NotBuilt,
    /// The module is longer than [`Limits::module`](crate::Limits::module).
    #[error(
        "the module has {found} bytes; at most {limit} are allowed: strip it, or build it for size"
    )]
    TooLong {
        /// Its length in bytes.
        found: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The text is not WebAssembly.
    #[error("{place}: {message}")]
    Text {
        /// File, line and column, from 1.
        place: String,
        /// The problem.
        message: String,
    },
    /// The bytes are not a valid module, or need a proposal that is not enabled.
    #[error("it is not a valid WebAssembly module: {0}")]
    Malformed(String),
    /// It imports something.
    #[error(
        "it imports {0}; a sandboxed module gets no imports: build it without a run-time system such as WASI"
    )]
    Imports(String),
    /// It lacks a function that its host calls.
    #[error("it exports no function \"{name}\"; it must export \"{name}\" of type {expected}")]
    Absent {
        /// The name of the function.
        name: String,
        /// The type of the function.
        expected: String,
    },
    /// A function that its host calls has another type.
    #[error("its export \"{name}\" is {found}; it must be a function of type {expected}")]
    WrongType {
        /// The name of the function.
        name: String,
        /// The type in the module.
        found: String,
        /// The required type.
        expected: String,
    },
    /// It starts with more memory than [`Limits::memory`](crate::Limits::memory).
    #[error(
        "it starts with {found} bytes of memory; at most {limit} are allowed: build it with a smaller stack or heap"
    )]
    Memory {
        /// Bytes it starts with.
        found: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// It starts with a larger table than [`Limits::table`](crate::Limits::table).
    #[error("it starts with a table of {found} entries; at most {limit} are allowed")]
    Table {
        /// Entries it starts with.
        found: u64,
        /// The limit.
        limit: usize,
    },
    /// Its start function, `_initialize`, or another function called while it is prepared did not return.
    #[error("its function \"{function}\" failed while it was prepared: {fault}")]
    Preparation {
        /// The name of the function.
        function: String,
        /// What happened.
        fault: Fault,
    },
    /// The system refused memory.
    #[error(
        "the system refused memory for it: {0}; raise the limit of locked memory (ulimit -l), or the memory itself"
    )]
    System(String),
}
