//! `hemiola rti`: its output, its end, passwords, and hostile or failing clients.

mod calls;
mod credentials;
mod doors;
mod frames;
mod lives;
mod memory;
mod models;
mod peer;
mod pressure;
mod reports;
mod saves;
mod scene;
mod status;
