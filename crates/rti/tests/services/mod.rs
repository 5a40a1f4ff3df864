//! The services, by clause.

mod declaration;
mod federation;
mod object;
mod support;
mod time;
