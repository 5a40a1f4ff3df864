//! The recorder between real processes: what a mark may cost, and what survives a kill.

#![expect(clippy::print_stdout, reason = "skipped tests say so")]

mod allocation;
mod foreign;
mod kernel;
mod killed;
mod tallies;
