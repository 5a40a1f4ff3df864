//! Measures the network between two hosts: round trips, bandwidth in both directions, jitter and losses.
//!
//! One host answers ([`Server`]), the other measures ([`Link`], a [`ReadingSource`](crate::ReadingSource)). In reading
//! order:
//!
//! * `frame`: requests, answers and datagrams as bytes.
//! * `serving`: what the answering host grants, as a pure value.
//! * `server`: its sockets and threads.
//! * `client`: the measuring host; `error`: why it gives up.
//! * [`Train`]: datagrams at a steady rate, and what became of them.
//!
//! Neither side trusts the other. The answering host bounds memory, time and bytes of each request, and sends datagrams
//! only to the host that has a session, as many and as long as it received. The measuring host accepts an answer only
//! if it proves that everything arrived, and gives up when an answer does not come in time.

mod client;
mod error;
mod frame;
mod server;
mod serving;
#[cfg(test)]
mod tests;
mod train;

use hemiola_probe::{FigureOfMerit, Unit};
use hemiola_quantity::Units;

pub use client::{Link, WithLink, resolve};
pub use error::LinkError;
pub use server::{Server, ServerError};
pub use train::{Counts, Losses, Share, Train};

/// The port on which a host answers unless another one is given.
pub const PORT: u16 = 15168;

/// The payloads of datagrams in round trips; the largest fits into an Ethernet frame.
const DATAGRAMS: [u32; 2] = [64, 1400];

/// The payloads of round trips over a connection.
const MESSAGES: [u32; 3] = [64, 1400, 65_536];

/// The figure that a table of the link calls its latency.
pub(crate) const LATENCY_TWICE: &str = "link.udp.round_trip.64B";

/// Kilometres to the Moon are the longest link.
const DISTANCE_MAX_M: f64 = 1e9;

/// Reads the length of a link, such as "30 m" or "1200 km", in metres.
///
/// # Errors
/// The text is no length, or one that no link has; the error says which.
pub fn distance(text: &str) -> Result<f64, String> {
    let units = Units::built_in();
    let metre = units.unit("m").map_err(|error| error.to_string())?;
    let length = units.quantity(text).map_err(|error| error.to_string())?;
    let metres = length.in_unit(&metre).map_err(|error| error.to_string())?;
    if metres > 0.0 && metres <= DISTANCE_MAX_M {
        Ok(metres)
    } else {
        Err(format!("{text} is no distance between two hosts: more than 0 m, at most 1 000 000 km"))
    }
}

const JITTER: &str = "link.udp.jitter";
pub(crate) const BANDWIDTH_TO: &str = "link.tcp.bandwidth.to";
pub(crate) const BANDWIDTH_FROM: &str = "link.tcp.bandwidth.from";

/// The name of the figure of a round trip.
fn round_trip(protocol: &str, length: u32) -> String {
    format!("link.{protocol}.round_trip.{length}B")
}

/// The figures of a link.
#[must_use]
pub fn catalogue() -> Vec<FigureOfMerit> {
    let figure = |name: String, title: &str, unit| FigureOfMerit {
        name,
        title: title.into(),
        unit,
        quick: true,
    };
    let round_trips = |protocol: &'static str, title: &'static str, lengths: &'static [u32]| {
        let name = move |length: &u32| round_trip(protocol, *length);
        lengths.iter().map(move |length| figure(name(length), title, Unit::Nanoseconds))
    };
    let mut all: Vec<FigureOfMerit> = Vec::new();
    all.extend(round_trips("udp", "a datagram to the other host and back", &DATAGRAMS));
    all.extend(round_trips("tcp", "a message to the other host and back", &MESSAGES));
    for (name, title, unit) in [
        (JITTER, "the change of the round trip from one datagram to the next", Unit::Nanoseconds),
        (BANDWIDTH_TO, "bytes to the other host over one connection", Unit::BytesPerSecond),
        (BANDWIDTH_FROM, "bytes from the other host over one connection", Unit::BytesPerSecond),
    ] {
        all.push(figure(name.into(), title, unit));
    }
    all
}
