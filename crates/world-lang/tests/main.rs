//! Definitions of users.

mod common;
mod evaluation;
mod examples;
mod forms;
mod guide;
mod hostile;
mod problems;
mod random;
