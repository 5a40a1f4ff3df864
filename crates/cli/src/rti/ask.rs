//! Queries and controls an RTI on this machine over its local socket.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use hemiola_report::text::printable;
use hemiola_rt::sys::local;
use hemiola_units::RtiAddress;

use crate::diagnostics::Failure;

/// An RTI answers within a turn of its loop unless it is stopped or gets no processor time.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Upper limit for a report, whatever the number of federates.
const ANSWER_LEN_MAX: u64 = 256 << 20;

/// The name of an RTI that was started without one.
const DEFAULT_NAME: &str = "15164";

pub(crate) enum Question {
    Status,
    Metrics,
    /// Evict a session, by its number, or a federate, by its name.
    Evict(String),
    /// Evict all federates of a federation, and destroy it.
    Destroy(String),
}

impl Question {
    fn line(&self) -> String {
        match self {
            Self::Status => "status 1\n".into(),
            Self::Metrics => "metrics 1\n".into(),
            Self::Evict(name) => format!("evict 1 {name}\n"),
            Self::Destroy(federation) => format!("destroy 1 {federation}\n"),
        }
    }
}

/// Sends an operator's command to an RTI and prints the result.
pub(crate) fn command(
    address: Option<&RtiAddress>,
    question: &Question,
    done: &str,
) -> Result<ExitCode, Failure> {
    let answer = ask(address, question)?;
    match answer.trim_end().split_once(' ') {
        Some(("ok", what)) => {
            println!("{done}: {}", printable(what));
            Ok(ExitCode::SUCCESS)
        }
        Some(("error", reason)) => Err(Failure::failed(format!(
            "{}\nhint: `hemiola rti status` shows federations, federates and sessions",
            printable(reason)
        ))),
        _ => Err(Failure::failed(format!(
            "unexpected answer from the RTI: \"{}\"",
            answer.escape_debug()
        ))),
    }
}

/// The answer of the RTI at this address, or without one of the default or only RTI.
pub(crate) fn ask(address: Option<&RtiAddress>, question: &Question) -> Result<String, Failure> {
    let name = match address {
        Some(address) => name_of(address)?,
        None => only_one(&running())?,
    };
    let asked = address.cloned().unwrap_or_else(|| RtiAddress::SharedMemory(name.clone()));
    answer(&name, question).map_err(|error| refused(&asked, &error))
}

/// The local name of the RTI at this address.
fn name_of(address: &RtiAddress) -> Result<String, Failure> {
    match address {
        RtiAddress::SharedMemory(name) => Ok(name.clone()),
        RtiAddress::Tcp { host, port } => {
            let is_here =
                host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
            if is_here {
                return Ok(port.to_string());
            }
            Err(Failure::failed(format!(
                "{address} is not a loopback address, and an RTI reports its state only on its own machine\n\
                 hint: run `hemiola rti status shm:{port}` on that machine, or start the RTI with --metrics"
            )))
        }
    }
}

fn only_one(names: &[String]) -> Result<String, Failure> {
    match names {
        _ if names.iter().any(|name| name == DEFAULT_NAME) => Ok(DEFAULT_NAME.into()),
        [] => Err(Failure::failed(
            "no RTI is running on this machine\nhint: start one with `hemiola rti`; if it runs in a container or \
             another network namespace, run this command there",
        )),
        [name] => Ok(name.clone()),
        names => {
            let addresses: Vec<String> = names.iter().map(|name| format!("shm:{name}")).collect();
            Err(Failure::failed(format!(
                "several RTIs are running on this machine\nhint: give the address of one: {}",
                addresses.join(", ")
            )))
        }
    }
}

/// The names of all users' RTIs on this machine (proc_net(5), `/proc/net/unix`).
fn running() -> Vec<String> {
    let prefix = format!("@{}", RtiAddress::socket_name(""));
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = table.lines().filter_map(|line| line.split_whitespace().nth(7));
    // An accepted connection has the name of its listener.
    let mut names: Vec<String> =
        paths.filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn answer(name: &str, question: &Question) -> io::Result<String> {
    let mut socket = local::connect(&RtiAddress::socket_name(name))?;
    // Any process can take a name in the abstract name space first.
    let owner = local::peer(&socket)?.uid;
    if owner != local::own_uid() && owner != 0 && local::own_uid() != 0 {
        return Err(ErrorKind::PermissionDenied.into());
    }
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    let mut answer = String::new();
    let asked = socket.write_all(question.line().as_bytes());
    let answered = asked.and_then(|()| socket.take(ANSWER_LEN_MAX).read_to_string(&mut answer));
    match answered {
        Ok(0) => Err(ErrorKind::PermissionDenied.into()),
        // The RTI closed the connection before it read the question.
        Err(error)
            if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
        {
            Err(ErrorKind::PermissionDenied.into())
        }
        Err(error) => Err(error),
        Ok(_) => Ok(answer),
    }
}

fn refused(address: &RtiAddress, error: &io::Error) -> Failure {
    use ErrorKind::{ConnectionRefused, PermissionDenied, TimedOut, WouldBlock};
    let reason = match error.kind() {
        ConnectionRefused => {
            "no RTI on this machine serves this address\nhint: run `hemiola rti status` without an \
             address to find it"
                .into()
        }
        PermissionDenied => {
            "it belongs to another user\nhint: only the user who started an RTI, and root, can query it"
                .into()
        }
        TimedOut | WouldBlock => {
            format!("no answer within {} s; it may be stopped", TIMEOUT.as_secs())
        }
        _ => error.to_string(),
    };
    Failure::failed(format!("cannot query the RTI {address}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_address_maps_to_a_local_name() {
        let name = |address: &str| name_of(&address.parse().unwrap()).ok();
        assert_eq!(name("shm:demo").as_deref(), Some("demo"));
        for address in ["localhost:4711", "tcp:127.0.0.1:4711", "127.3.2.1:4711", "[::1]:4711"] {
            assert_eq!(name(address).as_deref(), Some("4711"), "{address}");
        }
        assert_eq!(name("192.0.2.1:4711"), None);
    }

    #[test]
    fn the_default_or_only_rti_is_chosen() {
        let chosen = |names: &[&str]| {
            only_one(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).ok()
        };
        assert_eq!(chosen(&["a", "15164"]).as_deref(), Some("15164"));
        assert_eq!(chosen(&["a"]).as_deref(), Some("a"));
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&["a", "b"]), None);
    }
}
