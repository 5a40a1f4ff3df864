//! Control sockets of what runs, which `hemiola unit …` and `hemiola universe …` connect to.
//!
//! A socket is in Linux's abstract name space (unix(7)): it has no file, so none is left behind. A scenario has
//! `hemiola/<run>`, a universe `hemiola-universe/<run>/<process>`. A socket answers only the same user and root. A
//! connection carries one request and one answer, each a line of JSON.

mod numbers;
pub mod universe;

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use hemiola_rt::sys::local;
use hemiola_scenario::UnitUser;
use hemiola_units::Span;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How long a client waits for its answer; a replacement takes until the new unit has proved itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The requests and answers on the sockets of one kind.
pub trait Protocol: fmt::Debug {
    /// A request.
    type Request: Serialize + DeserializeOwned;
    /// An answer.
    type Answer: Serialize + DeserializeOwned;
    /// The names of the sockets begin with this.
    const PREFIX: &'static str;
    /// What the sockets belong to.
    const THING: &'static str;
    /// An example that starts one.
    const EXAMPLE: &'static str;
    /// The longest request.
    const REQUEST_LEN_MAX: usize;

    /// The answer to a request that is refused; the sentence says why.
    fn refused(reason: String) -> Self::Answer;
}

/// The control of a running scenario.
#[derive(Debug)]
pub struct Scenarios;

impl Protocol for Scenarios {
    type Request = UnitRequest;
    type Answer = UnitAnswer;
    const PREFIX: &'static str = "hemiola/";
    const THING: &'static str = "scenario";
    const EXAMPLE: &'static str = "hemiola run examples/3-live-upgrade";
    const REQUEST_LEN_MAX: usize = 16 * 1024;

    fn refused(reason: String) -> UnitAnswer {
        UnitAnswer::Refused(reason)
    }
}

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

/// The reason why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no socket of the kind.
    #[error("no {thing} is running; start one, for example: {example}")]
    NothingRuns {
        /// See [`Protocol::THING`].
        thing: &'static str,
        /// See [`Protocol::EXAMPLE`].
        example: &'static str,
    },
    /// There are several, and the request names none.
    #[error("{} {thing}s are running; choose one with --run: {}", .names.len(), .names.join(", "))]
    Several {
        /// See [`Protocol::THING`].
        thing: &'static str,
        /// Their names.
        names: Vec<String>,
    },
    /// No socket has this name.
    #[error("no running {thing} is called {name:?}; running: {}", .names.join(", "))]
    Unknown {
        /// See [`Protocol::THING`].
        thing: &'static str,
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        names: Vec<String>,
    },
    /// The request is longer than any may be.
    #[error("the request has {0} bytes; at most {1} are possible")]
    TooLong(usize, usize),
    /// The run ended first. The request may have been half done, and ended with the run.
    #[error("the run ended before the request was done")]
    Ended,
    /// The connection failed.
    #[error("no answer: {0}")]
    Io(#[from] io::Error),
    /// The answer is invalid.
    #[error("the answer is invalid: {0}")]
    Answer(#[from] serde_json::Error),
}

/// The names behind the prefix of a protocol that have a control socket now, from the kernel's list of sockets
/// (`/proc/net/unix`).
pub fn running<P: Protocol>() -> io::Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/unix")?;
    let mut runs: Vec<String> = table
        .lines()
        .filter_map(|line| line.rsplit_once(" @")?.1.strip_prefix(P::PREFIX))
        .map(str::to_owned)
        .collect();
    runs.sort();
    // A listener and each of its accepted connections have a line each.
    runs.dedup();
    Ok(runs)
}

/// Sends a request to the socket of this name, or to the only one there is, and waits for the answer.
///
/// # Errors
/// When none or several are there, or the one named does not answer.
pub fn ask<P: Protocol>(
    name: Option<&str>,
    request: &P::Request,
) -> Result<P::Answer, ControlError> {
    let mut stream = send::<P>(name, request)?;
    stream.get_mut().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    receive::<P>(&mut stream)?.ok_or(ControlError::Ended)
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
    let mut stream = send::<Scenarios>(run, &UnitRequest::Watch)?;
    while let Some(answer) = receive::<Scenarios>(&mut stream)? {
        match answer {
            UnitAnswer::Event(event) => see(&event)?,
            UnitAnswer::Refused(reason) => return Ok(Some(reason)),
            UnitAnswer::Units { .. } | UnitAnswer::Done(_) => {}
        }
    }
    Ok(None)
}

/// Connects to a socket and sends it a request.
fn send<P: Protocol>(
    name: Option<&str>,
    request: &P::Request,
) -> Result<BufReader<UnixStream>, ControlError> {
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    if line.len() > P::REQUEST_LEN_MAX {
        return Err(ControlError::TooLong(line.len(), P::REQUEST_LEN_MAX));
    }
    let mut stream = UnixStream::connect_addr(&address::<P>(&chosen::<P>(name)?)?)?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(line.as_bytes())?;
    Ok(BufReader::new(stream))
}

/// The socket of this name, or the only one there is.
///
/// # Errors
/// When there is no such socket, or there are several and none is named.
pub fn chosen<P: Protocol>(name: Option<&str>) -> Result<String, ControlError> {
    let (mut names, thing) = (running::<P>()?, P::THING);
    match name {
        Some(name) if names.iter().any(|known| known == name) => Ok(name.to_owned()),
        Some(name) => Err(ControlError::Unknown { thing, name: name.to_owned(), names }),
        None if names.is_empty() => Err(ControlError::NothingRuns { thing, example: P::EXAMPLE }),
        None if names.len() == 1 => Ok(names.remove(0)),
        None => Err(ControlError::Several { thing, names }),
    }
}

fn address<P: Protocol>(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{}{name}", P::PREFIX))
}

/// The next answer; `None` once the other end has closed the connection.
fn receive<P: Protocol>(
    stream: &mut BufReader<UnixStream>,
) -> Result<Option<P::Answer>, ControlError> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

/// The end of a socket that answers.
#[derive(Debug)]
pub(crate) struct Server<P> {
    listener: UnixListener,
    waiting: Vec<Pending>,
    protocol: PhantomData<P>,
}

/// A client that waits for its answer; its request may take several cycles.
#[derive(Debug)]
pub(crate) struct Client<P> {
    stream: UnixStream,
    protocol: PhantomData<P>,
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

impl<P: Protocol> Server<P> {
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&address::<P>(name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, waiting: Vec::new(), protocol: PhantomData })
    }

    /// Refuses all requests, for this reason.
    pub(crate) fn refuse_all(&mut self, why: &str) {
        while let Some((_, client)) = self.poll() {
            client.answer(&P::refused(why.to_owned()));
        }
    }

    /// Takes the next whole request, without waiting.
    pub(crate) fn poll(&mut self) -> Option<(P::Request, Client<P>)> {
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
            match self.waiting[index].line(P::REQUEST_LEN_MAX) {
                Line::Waiting => index += 1,
                Line::Gone => drop(self.waiting.remove(index)),
                Line::Whole(line) => {
                    let stream = self.waiting.remove(index).stream;
                    let client = Client { stream, protocol: PhantomData };
                    match serde_json::from_slice(&line) {
                        Ok(request) => return Some((request, client)),
                        Err(error) => {
                            client.answer(&P::refused(format!("the request is invalid: {error}")));
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
    fn line(&mut self, len_max: usize) -> Line {
        let mut chunk = [0; 4096];
        loop {
            match io::Read::read(&mut self.stream, &mut chunk) {
                Ok(0) => return Line::Gone,
                Ok(len) => self.read.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return Line::Gone,
            }
            if self.read.len() > len_max {
                return Line::Gone;
            }
        }
        match self.read.iter().position(|byte| *byte == b'\n') {
            Some(end) => Line::Whole(self.read[..end].to_vec()),
            None => Line::Waiting,
        }
    }
}

impl<P: Protocol> Client<P> {
    /// Sends the answer with a descriptor, and keeps the connection; none if the client has disconnected.
    pub(crate) fn answer_with(self, answer: &P::Answer, fd: BorrowedFd<'_>) -> Option<UnixStream> {
        let mut line = serde_json::to_string(answer).expect("plain data has a JSON form");
        line.push('\n');
        let sent = local::send_with(&self.stream, line.as_bytes(), &[fd]).ok()?;
        (sent == line.len()).then_some(self.stream)
    }

    /// Sends the answer; a client that has disconnected misses it.
    pub(crate) fn answer(mut self, answer: &P::Answer) {
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

impl From<Client<Scenarios>> for Watcher {
    fn from(client: Client<Scenarios>) -> Self {
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
    use crate::RunId;

    #[test]
    fn a_request_reaches_the_run_and_its_answer_the_client() {
        let run = RunId::new();
        let mut server = Server::<Scenarios>::open(run.as_str()).unwrap();
        assert!(running::<Scenarios>().unwrap().contains(&run.to_string()));
        let name = run.to_string();
        let asking = std::thread::spawn(move || ask::<Scenarios>(Some(&name), &UnitRequest::List));
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
        assert!(!running::<Scenarios>().unwrap().contains(&run.to_string()));
    }

    #[test]
    fn an_invalid_request_is_refused_with_the_reason() {
        let run = RunId::new();
        let mut server = Server::<Scenarios>::open(run.as_str()).unwrap();
        let address = address::<Scenarios>(run.as_str()).unwrap();
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
        let mut server = Server::<Scenarios>::open(run.as_str()).unwrap();
        let address = address::<Scenarios>(run.as_str()).unwrap();
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
        let mut watcher = Watcher::from(Client { stream: ours, protocol: PhantomData });
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
        let error = ask::<Scenarios>(Some("no-such-run"), &UnitRequest::List).unwrap_err();
        assert!(matches!(error, ControlError::Unknown { .. }), "{error}");
    }
}
