//! The closed loop as a whole: region, campaign, upgrades.

mod accounting;
mod blame;
mod campaign;
mod decision;
mod hostile;
mod own;
mod processor;
mod region;
mod transaction;
mod upgrade;
mod watchdog;
mod world;
