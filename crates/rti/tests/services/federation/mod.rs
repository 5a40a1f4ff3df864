//! Clause 4.

mod connection;
mod execution;
mod membership;
mod preparation;
mod saving;
mod synchronization;
