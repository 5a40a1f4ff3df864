//! The crate seen from outside.
