//! Peers that break the rules of the connection itself.

use std::fs::File;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use hemiola_rt::shared::{Stream, Urgency, Wake};
use hemiola_rt::sys::local;
use hemiola_units::{Random, RtiAddress};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::super::raw::offered;
use super::{Outcome, Target, made, text};

/// A frame that requests a new session.
const NEW_SESSION: [u8; 28] =
    [0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];

/// How long the bell stays full.
const HELD: Duration = Duration::from_secs(3);

/// The descriptors that a peer on shared memory gets, and a second handle of each.
fn shared(to: &Target) -> Result<(std::os::unix::net::UnixStream, Stream, [OwnedFd; 3]), String> {
    let RtiAddress::SharedMemory(name) = &to.shm else { return Err("no name".into()) };
    let (socket, descriptors) = offered(name).map_err(text)?;
    let clone = |one: &OwnedFd| one.try_clone().expect("a descriptor is available");
    let copies = descriptors.each_ref().map(clone);
    Ok((socket, Stream::accept(descriptors).map_err(text)?, copies))
}

/// Fills the bells and clears `O_NONBLOCK` of them, and asks for a session, so that the RTI rings.
pub(super) fn bell(to: &Target) -> Outcome {
    let (_socket, mut stream, [_, own, peer]) = shared(to)?;
    stream.sleep(Wake::Any);
    fill(&own).map_err(text)?;
    stream.write(&NEW_SESSION, Urgency::Urgent).map_err(text)?;
    // Last, because it is this peer's own ring that would wait for room.
    fill(&peer).map_err(text)?;
    std::thread::sleep(to.time(HELD));
    // To close the stream would ring, and wait for room.
    std::mem::forget(stream);
    Ok(String::new())
}

/// Writes to a descriptor until it has no room, and makes further writes to it wait.
fn fill(bell: &OwnedFd) -> rustix::io::Result<()> {
    let flags = fcntl_getfl(bell)?;
    fcntl_setfl(bell, flags | OFlags::NONBLOCK)?;
    // An event counter is full after at most one write of each power of two, and refuses what does not fit.
    for power in (0..64).rev() {
        let _ = rustix::io::write(bell, &(1_u64 << power).to_ne_bytes());
    }
    fcntl_setfl(bell, flags - OFlags::NONBLOCK)
}

/// Overwrites the counts of the rings again and again while the RTI works with them.
pub(super) fn counts(to: &Target) -> Outcome {
    let mut random = Random::from_seed(7);
    for _ in 0..to.count(200) {
        let (_socket, mut stream, [memory, ..]) = shared(to)?;
        let memory = File::from(memory.as_fd().try_clone_to_owned().map_err(text)?);
        let _ = stream.write(&NEW_SESSION, Urgency::Urgent);
        for _ in 0..200 {
            memory.write_at(&random.bits().to_le_bytes(), random.below(1024)).map_err(text)?;
        }
        let _ = memory.set_len(0);
        let _ = stream.write(&NEW_SESSION, Urgency::Urgent);
    }
    Ok(String::new())
}

/// Connections in one wave, and waves.
const WAVE: usize = 4096;
const WAVES: usize = 2;

/// Two waves of connections that never say what they want.
pub(super) fn half_open(to: &Target) -> Outcome {
    let (mut opened, mut refusal) = (0, None);
    for _ in 0..WAVES {
        let mut wave = Vec::new();
        for _ in 0..to.count(WAVE) {
            match connect(&to.rti) {
                Ok(connection) => wave.push(connection),
                Err(error) => drop(refusal.get_or_insert_with(|| error.to_string())),
            }
        }
        opened += wave.len();
        std::thread::sleep(to.time(HELD));
    }
    let why = refusal.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    made(opened, WAVES * to.count(WAVE), refusal.as_deref(), format!("{opened} opened{why}"))
}

fn connect(to: &RtiAddress) -> std::io::Result<OwnedFd> {
    match to {
        RtiAddress::Tcp { host, port } => {
            TcpStream::connect((host.as_str(), *port)).map(OwnedFd::from)
        }
        RtiAddress::SharedMemory(name) => {
            local::connect(&RtiAddress::socket_name(name)).map(OwnedFd::from)
        }
    }
}
