//! The RTI over real sockets, with sessions of the Federate Protocol as its federates.

mod carrier;
mod exchange;
mod interop;
mod later;
mod peer;
mod pressure;
mod process;
mod status;
