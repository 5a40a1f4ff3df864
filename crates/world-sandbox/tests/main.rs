//! Worlds in the compiled tier beside the same worlds in the interpreter.

mod failures;
mod tiers;
mod workers;
