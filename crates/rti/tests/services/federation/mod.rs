//! Clause 4.

mod connection;
mod execution;
mod membership;
mod synchronization;
