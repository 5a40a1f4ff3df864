//! The world against a naive one.

mod naive;
mod rules;
mod simulation;
