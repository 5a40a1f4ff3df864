//! Clause 8.

mod advance;
mod constrained;
mod float;
mod order;
mod regulation;
mod retraction;
mod zero;
