//! The world against a naive one.

mod naive;
mod redefinition;
mod rules;
mod simulation;
