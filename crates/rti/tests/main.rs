//! Tests of the kernel from the federates' point of view: a folder per clause, and the simulation.

mod arbitrary;
mod evidence;
mod matching;
mod mom;
mod services;
mod simulation;
mod world;
