//! The core under simulation: virtual links and time, honest federates beside hostile ones.

mod arrivals;
mod attacks;
mod crowd;
mod departures;
mod federate;
mod gathering;
mod listeners;
mod memory;
mod models;
mod saves;
mod shrink;
mod slow;
mod transitions;
mod world;
