//! The recorder between real processes: what a mark may cost, and what survives a kill.

mod allocation;
mod killed;
mod tallies;
