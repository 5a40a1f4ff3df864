//! Clause 5.

mod advisory;
mod publication;
mod subscription;
