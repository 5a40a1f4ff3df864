//! The services, by clause.

mod time;
