//! Clause 4.

mod authority;
mod connection;
mod execution;
mod membership;
mod preparation;
mod saving;
mod synchronization;
