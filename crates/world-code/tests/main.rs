//! Linear code against the tree walker.

mod common;
mod differential;
mod rules;
