//! The services, by clause.

mod declaration;
mod distribution;
mod every;
mod federation;
mod object;
mod ownership;
mod support;
mod time;
