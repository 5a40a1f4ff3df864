//! The world against a naive one.

mod checkpoint;
mod cost;
mod live;
mod managers;
mod module;
mod naive;
mod pack;
mod redefinition;
mod rules;
mod simulation;
