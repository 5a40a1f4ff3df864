//! The crate seen from outside: real sockets, with a peer that does what a test says, and with a real RTI.

mod calls;
mod connection;
mod example;
mod federation;
mod immediate;
mod peer;
mod pipelined;
mod rti;
