//! The services, by clause.

mod declaration;
mod distribution;
mod every;
mod exceptions;
mod federation;
mod object;
mod ownership;
mod support;
mod time;
