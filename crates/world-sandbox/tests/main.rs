//! Worlds in the compiled tier beside the same worlds in the interpreter.

mod tiers;
mod workers;
