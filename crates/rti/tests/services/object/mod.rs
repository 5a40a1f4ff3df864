//! Clause 6.

mod directed;
mod evaluation;
mod instance;
mod name;
mod rediscovery;
mod relevance;
mod transportation;
mod update;
