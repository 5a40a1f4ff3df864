//! Behaviour between real processes: what a killed peer leaves behind, and what the kernel grants.

mod child;
mod killed;
mod process;
mod profile;
mod stream;
