//! Clause 6.

mod directed;
mod evaluation;
mod instance;
mod name;
mod relevance;
mod transportation;
mod update;
