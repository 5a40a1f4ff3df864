//! The control socket of a running scenario, which `hemiola unit …` connects to.
//!
//! The socket is in Linux's abstract name space as `hemiola/<run>` (unix(7)): it has no file, so none is left behind.
//! It answers only the same user and root. A connection carries one request and one answer, each a line of JSON.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use hemiola_scenario::UnitUser;
use hemiola_units::Span;
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
    /// Report every event until the program with these units ends.
    Watch,
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
    /// A built-in controller's gain: a name, or a number for each state, separated by commas.
    pub gain: Option<String>,
    /// Or a program with its arguments.
    pub command: Vec<String>,
    /// Or the file of a WebAssembly module.
    #[serde(default)]
    pub wasm: Option<String>,
    /// Its real-time priority; the scenario's unit priority by default.
    pub priority: Option<u8>,
    /// Processor time that it may use in a cycle; that of the scenario's last unit by default.
    pub budget: Option<Span>,
    /// The user of a program: its own where permitted, by default.
    #[serde(default)]
    pub user: Option<UnitUser>,
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
    /// An event, for a client that watches.
    Event(UnitEvent),
}

/// An event of a running scenario with units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitEvent {
    /// When, in nanoseconds from the first release.
    pub at_ns: i64,
    /// The cycle of the decision module; absent for what the runner reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub what: UnitHappening,
}

/// What happened in a running scenario with units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum UnitHappening {
    /// Another source has the plant.
    Switch {
        /// The source before: a unit's name, `safety`, `fail-safe` or `held`.
        from: String,
        /// The source now.
        to: String,
        /// The reason.
        reason: String,
    },
    /// A fault was found.
    Fault {
        /// The unit at fault; absent for the decision module's own input.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The fault.
        fault: String,
    },
    /// A unit entered a state.
    State {
        /// The unit.
        unit: String,
        /// The state.
        state: String,
    },
    /// A request was carried out.
    Done {
        /// The sentence of its answer.
        text: String,
    },
    /// A request was refused or undone.
    Refused {
        /// The sentence of its answer.
        text: String,
    },
    /// A unit failed by itself.
    Failed {
        /// The sentence.
        text: String,
    },
}

impl fmt::Display for UnitEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.3} s  ", self.at_ns as f64 * 1e-9)?;
        match self.cycle {
            Some(cycle) => write!(f, "cycle {cycle:<8}")?,
            None => write!(f, "{:14}", "")?,
        }
        match &self.what {
            UnitHappening::Switch { from, to, reason } => {
                write!(f, "switch   {from} -> {to}: {reason}")
            }
            UnitHappening::Fault { unit: Some(unit), fault } => {
                write!(f, "fault    {unit}: {fault}")
            }
            UnitHappening::Fault { unit: None, fault } => write!(f, "fault    {fault}"),
            UnitHappening::State { unit, state } => write!(f, "state    {unit}: {state}"),
            UnitHappening::Done { text } => write!(f, "done     {text}"),
            UnitHappening::Refused { text } => write!(f, "refused  {text}"),
            UnitHappening::Failed { text } => write!(f, "failed   {text}"),
        }
    }
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
    let mut stream = send(run, request)?;
    stream.get_mut().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    receive(&mut stream)?.ok_or(ControlError::Ended)
}

/// Watches the running scenario `run`, or the only one there is: passes each event to `see` until the run ends, or
/// until `see` fails.
///
/// # Errors
/// When none or several are running, the one named does not answer, or `see` fails.
pub fn watch(
    run: Option<&str>,
    mut see: impl FnMut(&UnitEvent) -> io::Result<()>,
) -> Result<Option<String>, ControlError> {
    let mut stream = send(run, &UnitRequest::Watch)?;
    while let Some(answer) = receive(&mut stream)? {
        match answer {
            UnitAnswer::Event(event) => see(&event)?,
            UnitAnswer::Refused(reason) => return Ok(Some(reason)),
            UnitAnswer::Units { .. } | UnitAnswer::Done(_) => {}
        }
    }
    Ok(None)
}

/// Connects to a run and sends it a request.
fn send(run: Option<&str>, request: &UnitRequest) -> Result<BufReader<UnixStream>, ControlError> {
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
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    Ok(BufReader::new(stream))
}

/// The next answer; `None` once the run has closed the connection.
fn receive(stream: &mut BufReader<UnixStream>) -> Result<Option<UnitAnswer>, ControlError> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
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

/// Clients that have connected and not yet sent a whole line; one more disconnects the oldest of them.
const PENDING_MAX: usize = 16;
/// Bytes of events that wait for one watcher; one that falls behind further is disconnected.
const WATCHER_BEHIND_MAX: usize = 256 * 1024;
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
            if permitted(&stream) && stream.set_nonblocking(true).is_ok() {
                if self.waiting.len() == PENDING_MAX {
                    self.waiting.remove(0);
                }
                self.waiting.push(Pending { stream, read: Vec::new() });
            }
        }
        let mut index = 0;
        while index < self.waiting.len() {
            match self.waiting[index].line() {
                Line::Waiting => index += 1,
                Line::Gone => drop(self.waiting.remove(index)),
                Line::Whole(line) => {
                    let client = Client { stream: self.waiting.remove(index).stream };
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

/// A client that watches: it gets every event, and is never waited for.
#[derive(Debug)]
pub(crate) struct Watcher {
    stream: UnixStream,
    behind: Vec<u8>,
}

impl From<Client> for Watcher {
    fn from(client: Client) -> Self {
        Self { stream: client.stream, behind: Vec::new() }
    }
}

impl Watcher {
    /// Sends an event. Returns whether the client is still there and not too far behind.
    pub(crate) fn tell(&mut self, event: &UnitEvent) -> bool {
        let line = serde_json::to_string(&UnitAnswer::Event(event.clone()));
        self.behind.extend_from_slice(line.expect("plain data has a JSON form").as_bytes());
        self.behind.push(b'\n');
        self.flush() && self.behind.len() <= WATCHER_BEHIND_MAX
    }

    /// Sends what waits. Returns whether the client is still there.
    pub(crate) fn flush(&mut self) -> bool {
        while !self.behind.is_empty() {
            match self.stream.write(&self.behind) {
                Ok(len) => drop(self.behind.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        true
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
    fn idle_connections_make_room_for_a_request() {
        let run = RunId::new();
        let mut server = Server::open(&run).unwrap();
        let address = SocketAddr::from_abstract_name(format!("{PREFIX}{run}")).unwrap();
        let connect = || UnixStream::connect_addr(&address).unwrap();
        let idle: Vec<UnixStream> = (0..2 * PENDING_MAX).map(|_| connect()).collect();
        assert!(server.poll().is_none());
        let mut client = connect();
        client.write_all(b"\"list\"\n").unwrap();
        let (request, _) = server.poll().expect("the request is served");
        assert_eq!(request, UnitRequest::List);
        assert!(server.waiting.len() < PENDING_MAX);
        drop(idle);
    }

    #[test]
    fn a_watcher_that_does_not_read_is_dropped_and_never_waited_for() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut watcher = Watcher::from(Client { stream: ours });
        let what = UnitHappening::Failed { text: "x".repeat(1000) };
        let event = UnitEvent { at_ns: 1, cycle: None, what };
        let told = (0..10_000).take_while(|_| watcher.tell(&event)).count();
        assert!((100..10_000).contains(&told), "{told}");
        drop(theirs);
        assert!(!watcher.flush());
    }

    #[test]
    fn events_are_told_as_lines_and_as_json() {
        let switch = UnitHappening::Switch {
            from: "experimental".into(),
            to: "safety".into(),
            reason: "missing".into(),
        };
        let event = UnitEvent { at_ns: 12_340_000_000, cycle: Some(617), what: switch };
        let text = "    12.340 s  cycle 617     switch   experimental -> safety: missing";
        assert_eq!(event.to_string(), text);
        let json = concat!(
            r#"{"at_ns":12340000000,"cycle":617,"event":"switch","#,
            r#""from":"experimental","to":"safety","reason":"missing"}"#
        );
        assert_eq!(serde_json::to_string(&event).unwrap(), json);
        assert_eq!(serde_json::from_str::<UnitEvent>(json).unwrap(), event);
    }

    #[test]
    fn a_request_to_an_unknown_run_fails() {
        let error = ask(Some("no-such-run"), &UnitRequest::List).unwrap_err();
        assert!(matches!(error, ControlError::Unknown(..)), "{error}");
    }
}
