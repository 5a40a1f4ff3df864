//! Federations: an RTI and federates as processes of a run.
//!
//! * `rti`: the RTI's process, with its turns recorded.
//! * `cycle`: what a federate does in each cycle; `link` its connection, `models` what it simulates, `fom` the object
//!   model that all federates share.
//! * `modes`: the record of a mode, and the bare timer before and after its runs.

mod cycle;
mod fom;
mod link;
mod models;
mod modes;
mod rti;

use std::fs::File;
use std::os::fd::AsFd;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub(crate) use cycle::FEDERATE;
pub(crate) use modes::run_bare_timer;
pub(crate) use rti::RTI;

/// Where ip-netns(8) keeps its name spaces.
const NAMESPACES: &str = "/run/netns";

/// Moves this thread into a network name space.
pub(crate) fn enter(namespace: &str) -> Result<(), String> {
    let entered = File::open(format!("{NAMESPACES}/{namespace}")).and_then(|file| {
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    });
    entered.map_err(|error| {
        format!(
            "network name space \"{namespace}\": {error}; make it with \"ip netns add {namespace}\", and run as root"
        )
    })
}
