//! Behaviour between real processes: what a killed peer leaves, and what the kernel grants to whom.

mod child;
mod killed;
mod process;
mod profile;
mod stream;
