//! Clause 6.

mod directed;
mod instance;
mod name;
mod relevance;
mod transportation;
mod update;
