//! `hemiola rti`: what it says, how it ends, and what it withstands.

mod calls;
mod doors;
mod frames;
mod lives;
mod models;
mod peer;
mod pressure;
mod scene;
mod status;
