//! The RTI against the bytes that clients of others send: written by hand, and compared bit by bit.
//!
//! Nothing here uses `hemiola-fedpro`: what it gets wrong on both sides is found here.

mod flavours;
mod model;
mod notation;
mod quirks;
mod resume;
mod sessions;
mod wire;

use crate::peer::{Rti, on_loopback};
use model::{HLA_4, as_file};
use wire::Wire;

/// An RTI on loopback.
fn rti() -> Rti {
    Rti::start(on_loopback())
}

/// Joins the federation `Room`, with integer time, and creates it if it is the first.
fn join(rti: &Rti) -> Wire {
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let module = as_file("Room.xml", HLA_4);
    wire.call(&format!("@9[@1['Room'] @2[@1[{module}]] @3['HLAinteger64Time']]"));
    wire.done_or_raises(9, "FederationExecutionAlreadyExists");
    wire.ask::<1>("@16[@1['Guest'] @2['Room'] @3[]]", "@17[@1[@1[@1[?4]] @2['HLAinteger64Time']]]");
    wire
}
