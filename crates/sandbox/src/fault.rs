//! The verdicts on a call that did not return.

use std::fmt;

/// Why a call did not return. The instance may be in the middle of its work: do not call it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It has consumed its fuel: it computes too long, or without end.
    OutOfFuel,
    /// Its calls are nested deeper than its stack.
    StackExhausted,
    /// It asked for memory or table entries beyond its limit, or after [`Instance::seal`](crate::Instance::seal).
    Growth,
    /// It read or wrote outside its memory or its table.
    OutOfBounds,
    /// It executed `unreachable`: a failed assertion or a panic, in most languages.
    Unreachable,
    /// A division by zero, an overflow of a division, or a conversion of a number that does not fit.
    Arithmetic,
    /// It called through a table entry that is empty or has another type.
    IndirectCall,
    /// Any other broken rule of WebAssembly.
    Other,
}

impl Fault {
    /// Returns the name for records and users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfFuel => "out-of-fuel",
            Self::StackExhausted => "stack-exhausted",
            Self::Growth => "growth",
            Self::OutOfBounds => "out-of-bounds",
            Self::Unreachable => "unreachable",
            Self::Arithmetic => "arithmetic",
            Self::IndirectCall => "indirect-call",
            Self::Other => "trap",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfFuel => "it computed for longer than its fuel lasts",
            Self::StackExhausted => "its calls were nested deeper than its stack",
            Self::Growth => "it asked for more memory or table entries than it may have",
            Self::OutOfBounds => "it accessed memory or a table outside its bounds",
            Self::Unreachable => "it executed unreachable: an assertion failed, or it panicked",
            Self::Arithmetic => "it divided by zero, or converted a number that does not fit",
            Self::IndirectCall => "it called a table entry that is empty or of another type",
            Self::Other => "it broke a rule of WebAssembly",
        })
    }
}
