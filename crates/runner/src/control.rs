//! The control socket of a running scenario, which `hemiola unit …` connects to.
//!
//! The socket is in Linux's abstract name space as `hemiola/<run>` (unix(7)): it has no file, so none is left behind.
//! It answers only the same user and root. A connection carries one request and one answer, each a line of JSON.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::RunId;

const PREFIX: &str = "hemiola/";
/// How long a client waits for its answer; a replacement takes until the new unit has proved itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A request to a running scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitRequest {
    /// Show every unit.
    List,
    /// Start a unit in shadow.
    Add(NewUnit),
    /// Start the new units in shadow, promote one in the place of the active unit once all have proved themselves, then
    /// remove the old ones; all or none.
    Replace(Vec<UnitPair>),
    /// Stop a unit and free its slot.
    Remove {
        /// Its name.
        name: String,
    },
    /// Give control of the plant to a shadow or standby unit.
    Promote {
        /// Its name.
        name: String,
    },
    /// Continue after a fail-safe.
    Resume,
}

/// A unit to be replaced by a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitPair {
    /// Name of the unit to remove.
    pub old: String,
    /// The new unit.
    pub new: NewUnit,
}

/// A unit to be started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewUnit {
    /// Its name, unused so far in the run.
    pub name: String,
    /// A built-in controller's gain, by name.
    pub gain: Option<String>,
    /// Or a program with its arguments.
    pub command: Vec<String>,
    /// Its real-time priority; the scenario's unit priority by default.
    pub priority: Option<u8>,
}

/// A unit as `unit list` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Its slot.
    pub slot: usize,
    /// Its name.
    pub name: String,
    /// Its state: starting, shadow, active, standby, retired, …
    pub state: String,
    /// Process number.
    pub pid: u32,
    /// Commands answered in time.
    pub answers: u64,
    /// Faults counted.
    pub faults: u64,
    /// Strikes towards retirement.
    pub strikes: u32,
    /// Its last fault.
    pub last_fault: String,
}

/// The answer of a running scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitAnswer {
    /// Every unit, and the source of the commands.
    Units {
        /// The variant that runs.
        variant: String,
        /// The source of the commands: a unit's name, or `safety`.
        commanding: String,
        /// All units.
        units: Vec<UnitRow>,
    },
    /// Done; the sentence says what.
    Done(String),
    /// Refused; the sentence says why and what to do.
    Refused(String),
}

/// The reason why there is no answer of a running scenario.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// No scenario is running.
    #[error("no scenario is running; start one, for example: hemiola run examples/3-live-upgrade")]
    NothingRuns,
    /// Several are running, and the request names none.
    #[error("{} scenarios are running; choose one with --run: {}", .0.len(), .0.join(", "))]
    Several(Vec<String>),
    /// The named run does not exist.
    #[error("no running scenario is called {0:?}; running: {1}")]
    Unknown(String, String),
    /// The run ended first. The request may have been half done, and ended with the run.
    #[error("the run ended before the request was done")]
    Ended,
    /// The connection failed.
    #[error("the running scenario did not answer: {0}")]
    Io(#[from] io::Error),
    /// The answer is invalid.
    #[error("the running scenario gave an invalid answer: {0}")]
    Answer(#[from] serde_json::Error),
}

/// The runs that have a control socket now, from the kernel's list of sockets (`/proc/net/unix`).
pub fn running() -> io::Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/unix")?;
    let mut runs: Vec<String> = table
        .lines()
        .filter_map(|line| line.rsplit_once(" @")?.1.strip_prefix(PREFIX))
        .map(str::to_owned)
        .collect();
    runs.sort();
    // A listener and each of its accepted connections have a line each.
    runs.dedup();
    Ok(runs)
}

/// Sends a request to the running scenario `run`, or to the only one there is, and waits for the answer.
///
/// # Errors
/// When none or several are running, or the one named does not answer.
pub fn ask(run: Option<&str>, request: &UnitRequest) -> Result<UnitAnswer, ControlError> {
    let runs = running()?;
    let run = match (run, runs.as_slice()) {
        (Some(name), _) if !runs.iter().any(|r| r == name) => {
            return Err(ControlError::Unknown(name.into(), runs.join(", ")));
        }
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => return Err(ControlError::NothingRuns),
        (None, _) => return Err(ControlError::Several(runs)),
    };
    let mut stream =
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(format!("{PREFIX}{run}"))?)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    if BufReader::new(stream).read_line(&mut answer)? == 0 {
        return Err(ControlError::Ended);
    }
    Ok(serde_json::from_str(&answer)?)
}

/// The runner's end of the socket.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    waiting: Vec<Pending>,
}

/// A client that waits for its answer; its request may take several cycles.
#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
}

#[derive(Debug)]
struct Pending {
    stream: UnixStream,
    read: Vec<u8>,
}

/// Clients that have connected and not yet sent a whole line; more are disconnected.
const PENDING_MAX: usize = 16;
/// The longest request.
const REQUEST_LEN_MAX: usize = 16 * 1024;

impl Server {
    pub(crate) fn open(run: &RunId) -> io::Result<Self> {
        let listener =
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(format!("{PREFIX}{run}"))?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, waiting: Vec::new() })
    }

    /// Refuses all requests, for this reason.
    pub(crate) fn refuse_all(&mut self, why: &str) {
        while let Some((_, client)) = self.poll() {
            client.answer(&UnitAnswer::Refused(why.to_owned()));
        }
    }

    /// Takes the next whole request, without waiting.
    pub(crate) fn poll(&mut self) -> Option<(UnitRequest, Client)> {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.waiting.len() < PENDING_MAX
                && permitted(&stream)
                && stream.set_nonblocking(true).is_ok()
            {
                self.waiting.push(Pending { stream, read: Vec::new() });
            }
        }
        let mut index = 0;
        while index < self.waiting.len() {
            match self.waiting[index].line() {
                Line::Waiting => index += 1,
                Line::Gone => drop(self.waiting.swap_remove(index)),
                Line::Whole(line) => {
                    let client = Client { stream: self.waiting.swap_remove(index).stream };
                    match serde_json::from_slice(&line) {
                        Ok(request) => return Some((request, client)),
                        Err(error) => {
                            client.answer(&UnitAnswer::Refused(format!(
                                "the request is invalid: {error}"
                            )));
                        }
                    }
                }
            }
        }
        None
    }
}

enum Line {
    Waiting,
    Gone,
    Whole(Vec<u8>),
}

impl Pending {
    fn line(&mut self) -> Line {
        let mut chunk = [0; 1024];
        loop {
            match io::Read::read(&mut self.stream, &mut chunk) {
                Ok(0) => return Line::Gone,
                Ok(len) => self.read.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return Line::Gone,
            }
            if self.read.len() > REQUEST_LEN_MAX {
                return Line::Gone;
            }
        }
        match self.read.iter().position(|byte| *byte == b'\n') {
            Some(end) => Line::Whole(self.read[..end].to_vec()),
            None => Line::Waiting,
        }
    }
}

impl Client {
    /// Sends the answer; a client that has disconnected misses it.
    pub(crate) fn answer(mut self, answer: &UnitAnswer) {
        let mut line = serde_json::to_string(answer).expect("plain data has a JSON form");
        line.push('\n');
        let _ = self.stream.write_all(line.as_bytes());
    }
}

/// Whether the peer is the same user or root.
fn permitted(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reaches_the_run_and_its_answer_the_client() {
        let run = RunId::new();
        let mut server = Server::open(&run).unwrap();
        assert!(running().unwrap().contains(&run.to_string()));
        let name = run.to_string();
        let asking = std::thread::spawn(move || ask(Some(&name), &UnitRequest::List));
        let (request, client) = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(1));
            server.poll()
        })
        .flatten()
        .next()
        .unwrap();
        assert_eq!(request, UnitRequest::List);
        let answer = UnitAnswer::Refused("busy".into());
        client.answer(&answer);
        assert_eq!(asking.join().unwrap().unwrap(), answer);
        drop(server);
        assert!(!running().unwrap().contains(&run.to_string()));
    }

    #[test]
    fn an_invalid_request_is_refused_with_the_reason() {
        let run = RunId::new();
        let mut server = Server::open(&run).unwrap();
        let address = SocketAddr::from_abstract_name(format!("{PREFIX}{run}")).unwrap();
        let mut stream = UnixStream::connect_addr(&address).unwrap();
        stream.write_all(b"{\"explode\":1}\n").unwrap();
        assert!(server.poll().is_none());
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert!(answer.contains("unknown variant"), "{answer}");
    }

    #[test]
    fn a_request_to_an_unknown_run_fails() {
        let error = ask(Some("no-such-run"), &UnitRequest::List).unwrap_err();
        assert!(matches!(error, ControlError::Unknown(..)), "{error}");
    }
}
