//! Clause 6.

mod directed;
mod evaluation;
mod instance;
mod name;
mod rates;
mod rediscovery;
mod relevance;
mod transportation;
mod update;
