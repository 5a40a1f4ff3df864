//! The Federate Protocol from outside: bytes, sessions, and what must not happen to either.

mod bytes;
mod fuzzing;
mod network;
mod session;
