//! The RTI against the bytes of other vendors' clients, written by hand and compared byte by byte.
//!
//! Nothing here uses `hemiola-fedpro`, so these tests find errors that it makes on both sides.

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

/// Starts an RTI on loopback.
fn rti() -> Rti {
    Rti::start(on_loopback())
}

/// Joins the federation `Room` with integer time; the first client creates it.
fn join(rti: &Rti) -> Wire {
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let module = as_file("Room.xml", HLA_4);
    wire.call(&format!("@9[@1['Room'] @2[@1[{module}]] @3['HLAinteger64Time']]"));
    wire.done_or_raises(9, "FederationExecutionAlreadyExists");
    wire.ask::<1>("@16[@1['Guest'] @2['Room'] @3[]]", "@17[@1[@1[@1[?4]] @2['HLAinteger64Time']]]");
    wire
}
