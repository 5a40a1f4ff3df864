//! The services, by clause.

mod federation;
mod time;
