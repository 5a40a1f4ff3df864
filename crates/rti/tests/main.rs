//! The kernel as federates see it: a folder for each clause, and seeded worlds of federates.

mod arbitrary;
mod services;
mod simulation;
mod world;
