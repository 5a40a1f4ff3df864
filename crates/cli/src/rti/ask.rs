//! Asks an RTI of this machine how it is, over its local socket.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use hemiola_rt::sys::local;
use hemiola_units::RtiAddress;

use crate::diagnostics::Failure;

/// An RTI answers within a turn of its loop; one that does not is stopped, or has the processor taken away.
const PATIENCE: Duration = Duration::from_secs(5);

/// No report is longer, however many federates there are.
const ANSWER_LEN_MAX: u64 = 256 << 20;

/// The name of the RTI that was started without one.
const USUAL: &str = "15164";

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

/// Gives an RTI an operator's command, and prints what was done.
pub(crate) fn command(
    address: Option<&RtiAddress>,
    question: &Question,
    done: &str,
) -> Result<ExitCode, Failure> {
    let answer = ask(address, question)?;
    match answer.trim_end().split_once(' ') {
        Some(("ok", what)) => {
            println!("{done}: {what}");
            Ok(ExitCode::SUCCESS)
        }
        Some(("error", reason)) => Err(Failure::failed(format!(
            "{reason}\nhint: `hemiola rti status` shows federations, federates and sessions"
        ))),
        _ => Err(Failure::failed(format!("the RTI answered \"{}\"", answer.escape_debug()))),
    }
}

/// The answer of the RTI at this address, or of the one that there is.
pub(crate) fn ask(address: Option<&RtiAddress>, question: &Question) -> Result<String, Failure> {
    let name = match address {
        Some(address) => name_of(address)?,
        None => only_one(&running())?,
    };
    answer(&name, question).map_err(|error| refused(&name, &error))
}

/// The name that an RTI at this address has on its own machine.
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
                "{address} is not on this machine's loopback, and an RTI tells its state only on its own machine\n\
                 hint: there, say `hemiola rti status shm:{port}`, or start it with --metrics"
            )))
        }
    }
}

fn only_one(names: &[String]) -> Result<String, Failure> {
    match names {
        _ if names.iter().any(|name| name == USUAL) => Ok(USUAL.into()),
        [] => Err(Failure::failed(
            "no RTI runs on this machine\nhint: start one by `hemiola rti`; in a container or another network \
             namespace, ask there",
        )),
        [name] => Ok(name.clone()),
        names => {
            let addresses: Vec<String> = names.iter().map(|name| format!("shm:{name}")).collect();
            Err(Failure::failed(format!(
                "several RTIs run on this machine\nhint: say which: {}",
                addresses.join(", ")
            )))
        }
    }
}

/// The names of the RTIs of this machine, of all users (proc_net(5), `/proc/net/unix`).
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
    // Names in the abstract name space belong to whoever was first.
    let owner = local::peer(&socket)?.uid;
    if owner != local::own_uid() && owner != 0 && local::own_uid() != 0 {
        return Err(ErrorKind::PermissionDenied.into());
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    let asked = socket.write_all(question.line().as_bytes());
    let answered = asked.and_then(|()| socket.take(ANSWER_LEN_MAX).read_to_string(&mut answer));
    match answered {
        Ok(0) => Err(ErrorKind::PermissionDenied.into()),
        // Closed before it has read the question.
        Err(error)
            if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
        {
            Err(ErrorKind::PermissionDenied.into())
        }
        Err(error) => Err(error),
        Ok(_) => Ok(answer),
    }
}

fn refused(name: &str, error: &io::Error) -> Failure {
    use ErrorKind::{ConnectionRefused, PermissionDenied, TimedOut, WouldBlock};
    let reason = match error.kind() {
        ConnectionRefused => {
            "there is none of this name on this machine\nhint: `hemiola rti status` without an address finds it".into()
        }
        PermissionDenied => {
            "it is another user's\nhint: an RTI tells its state to the user who started it, and to root"
                .into()
        }
        TimedOut | WouldBlock => {
            format!("it does not answer within {} s: is it stopped?", PATIENCE.as_secs())
        }
        _ => error.to_string(),
    };
    Failure::failed(format!("the RTI shm:{name} cannot be asked: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_loopback_is_a_name() {
        let name = |address: &str| name_of(&address.parse().unwrap()).ok();
        assert_eq!(name("shm:demo").as_deref(), Some("demo"));
        for address in ["localhost:4711", "tcp:127.0.0.1:4711", "127.3.2.1:4711", "[::1]:4711"] {
            assert_eq!(name(address).as_deref(), Some("4711"), "{address}");
        }
        assert_eq!(name("192.0.2.1:4711"), None);
    }

    #[test]
    fn the_usual_one_or_the_only_one_is_asked() {
        let chosen = |names: &[&str]| {
            only_one(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).ok()
        };
        assert_eq!(chosen(&["a", "15164"]).as_deref(), Some("15164"));
        assert_eq!(chosen(&["a"]).as_deref(), Some("a"));
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&["a", "b"]), None);
    }
}
