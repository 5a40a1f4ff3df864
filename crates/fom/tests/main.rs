//! Modules and models of users.

#![expect(clippy::print_stdout, reason = "skipped tests report it")]
#![expect(clippy::disallowed_methods, reason = "models are files")]

mod large;
mod real;
mod rules;
mod small;
