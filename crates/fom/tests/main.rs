//! Modules and models as users have them.

#![expect(clippy::print_stdout, reason = "skipped tests say so")]
#![expect(clippy::disallowed_methods, reason = "models are files")]

mod large;
mod real;
mod rules;
mod small;
