//! The crate seen from outside: real sockets, with a peer that does what a test says.

mod calls;
mod connection;
mod immediate;
mod peer;
mod pipelined;
