//! The public interface over real sockets, with a scripted peer and with a real RTI.

mod calls;
mod connection;
mod example;
mod federation;
mod immediate;
mod managing;
mod mirror;
mod peer;
mod pipelined;
mod rti;
