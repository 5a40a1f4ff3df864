//! A manager of a universe: a process that is told of rows, births and deaths.
//!
//! In reading order: [`Registration`] says what a manager wants, [`Manager::register`] begins, [`Manager::next`]
//! returns what it is told, as a [`Told`]. [`message`] decodes the messages of the queue.
//!
//! ```no_run
//! use hemiola_manager::{Manager, Registration, Told};
//! use hemiola_units::Instant;
//!
//! let monitor = "bird:position:near([0,0], [200<m>,200<m>], 1<m>)";
//! let mut manager = Manager::register(&Registration::new(monitor))?;
//! while let Some(told) = manager.next(Instant::MAX)? {
//!     if let Told::Rows(rows) = told {
//!         for row in 0..rows.len() {
//!             let (entity, x) = (rows.entity(row), rows.value(0, row));
//!             assert!(entity > 0 && x.is_some());
//!         }
//!     }
//! }
//! # Ok::<(), hemiola_manager::ManagerError>(())
//! ```
//!
//! A manager reads at its own speed. If its queue is full, the universe does not wait: it goes on with other managers,
//! and when there is room again, it sends the values of then. [`Told::Step`] says whether anything is left. The manager
//! ends with its process, or when it is dropped; it does not change the universe.

#![forbid(unsafe_code)]

pub mod message;

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::{Access, QueueReader, ReadError, Segment, SegmentError};
use hemiola_rt::sys::local;
use hemiola_units::{Instant, Span};
use thiserror::Error;

use message::{MessageError, Names};
pub use message::{Told, Value};

/// The sockets of universes have names that begin with this, in the abstract name space of unix(7).
const PREFIX: &str = "hemiola-universe/";
/// The environment variable with the run whose universe is meant; a scenario sets it for the programs that it starts.
pub const RUN_VARIABLE: &str = "HEMIOLA_RUN";
/// How long a universe that is named has time to appear.
const APPEARS_WITHIN: Span = Span::from_millis(10_000);
/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How often a manager that waits looks whether the universe is still there.
const LOOK_EVERY: Span = Span::from_millis(100);
/// The longest answer.
const ANSWER_LEN_MAX: usize = 64 << 10;

/// What a manager asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// The entities, properties and rows that it wants: `ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)`, as `--monitor` of
    /// `hemiola universe run`.
    pub monitor: String,
    /// Its name, for people; `manager` by default.
    pub name: Option<String>,
    /// The universe, `RUN/PROCESS` or `RUN`; by default that of [`RUN_VARIABLE`], or the only one that runs.
    pub universe: Option<String>,
    /// Bytes of its queue; 1 MiB by default, 16 MiB at most.
    pub queue: Option<u64>,
    /// Whether it is told of each step, also of one in which nothing else is told.
    pub every_step: bool,
}

impl Registration {
    /// A manager of the only universe that runs, or of the one of the environment.
    #[must_use]
    pub fn new(monitor: &str) -> Self {
        Self { monitor: monitor.to_owned(), ..Self::default() }
    }
}

/// Why a manager cannot begin, or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// No universe runs, several do, or none has the name.
    #[error("{0}")]
    NoUniverse(String),
    /// The universe refuses; the text says why.
    #[error("the universe refuses the manager: {0}")]
    Refused(String),
    /// The universe has ended this manager; the text says why.
    #[error("the universe has ended the manager: {0}")]
    Ended(String),
    /// The universe has ended.
    #[error("the universe has ended")]
    UniverseEnded,
    /// The connection failed.
    #[error("the connection to the universe failed: {0}")]
    Io(#[from] io::Error),
    /// The answer is not one of a universe.
    #[error("the answer of the universe is invalid: {0}")]
    Answer(String),
    /// The queue is not one.
    #[error("the queue of the universe is unusable: {0}")]
    Queue(#[from] SegmentError),
    /// A message cannot be read.
    #[error("a message of the universe cannot be read: {0}")]
    Read(#[from] ReadError),
    /// A message is invalid.
    #[error("a message of the universe is invalid: {0}")]
    Message(#[from] MessageError),
}

/// A manager that has begun.
#[derive(Debug)]
pub struct Manager {
    socket: UnixStream,
    reader: QueueReader,
    buffer: Vec<u8>,
    names: Names,
    /// What the universe has said on the socket.
    said: Vec<u8>,
    is_gone: bool,
}

impl Manager {
    /// Registers with a universe that runs. If the registration or the environment names one, it may appear within ten
    /// seconds.
    ///
    /// # Errors
    /// If there is no such universe, or it refuses.
    pub fn register(registration: &Registration) -> Result<Self, ManagerError> {
        let mut socket = local::connect(&format!("{PREFIX}{}", universe(registration)?))?;
        socket.set_read_timeout(Some(ANSWER_WITHIN))?;
        let request = serde_json::json!({ "manage": {
            "name": registration.name.as_deref().unwrap_or("manager"),
            "monitor": registration.monitor,
            "queue": registration.queue,
            "every_step": registration.every_step,
        }});
        socket.write_all(format!("{request}\n").as_bytes())?;
        let (mut line, mut descriptors) = (Vec::new(), Vec::new());
        while !line.ends_with(b"\n") {
            let mut chunk = [0; 4096];
            let len = local::receive_with(&socket, &mut chunk, &mut descriptors)?;
            line.extend_from_slice(&chunk[..len]);
            if len == 0 || line.len() > ANSWER_LEN_MAX {
                return Err(ManagerError::Answer("it ends too early".to_owned()));
            }
        }
        let len = message_len(&line)?;
        let [fd] = <[OwnedFd; 1]>::try_from(descriptors)
            .map_err(|_| ManagerError::Answer("it has no queue".to_owned()))?;
        let segment = Segment::from_fd(fd, Access::ReadWrite)?;
        let buffer = vec![0; segment.slot_size().max(len)];
        let reader = QueueReader::attach(segment)?;
        socket.set_nonblocking(true)?;
        let (names, said) = (Names::default(), Vec::new());
        let mut manager = Self { socket, reader, buffer, names, said, is_gone: false };
        // The names of the columns came before the answer.
        let first = manager.reader.pop(&mut manager.buffer)?;
        let first = first.map_or(&[][..], |first| &manager.buffer[..first.length]);
        manager.names.learn(first)?;
        Ok(manager)
    }

    /// What the manager is told next; `None` if nothing comes until then. When the universe has ended, what is in the
    /// queue still comes.
    ///
    /// # Errors
    /// [`ManagerError::UniverseEnded`], or [`ManagerError::Ended`] if the universe has ended this manager.
    pub fn next(&mut self, until: Instant) -> Result<Option<Told<'_>>, ManagerError> {
        loop {
            if let Some(message) = self.reader.pop(&mut self.buffer)? {
                if self.names.learn(&self.buffer[..message.length])? {
                    continue;
                }
                return Ok(Some(self.names.told(&self.buffer[..message.length])?));
            }
            if self.is_gone {
                return Err(self.last_words());
            }
            // The queue is looked at once more behind the end.
            self.is_gone = self.has_ended();
            let now = MonotonicClock.now();
            if self.is_gone {
                continue;
            }
            if now >= until {
                return Ok(None);
            }
            let look = now + LOOK_EVERY;
            let _ = self.reader.wait(look.min(until));
        }
    }

    /// The names of the columns of births and rows, such as `position[0]`.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        self.names.columns()
    }

    fn has_ended(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => return true,
                Ok(len) if self.said.len() < ANSWER_LEN_MAX => {
                    self.said.extend_from_slice(&chunk[..len]);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    fn last_words(&self) -> ManagerError {
        let said: Option<serde_json::Value> = serde_json::from_slice(&self.said).ok();
        let reason = said.as_ref().and_then(|said| said["ended"].as_str());
        let ended = |reason: &str| ManagerError::Ended(reason.to_owned());
        reason.map_or(ManagerError::UniverseEnded, ended)
    }
}

/// The longest message, from the answer to a registration.
fn message_len(line: &[u8]) -> Result<usize, ManagerError> {
    let invalid = |what: &str| ManagerError::Answer(what.to_owned());
    let answer: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| invalid(&error.to_string()))?;
    if let Some(reason) = answer["refused"].as_str() {
        return Err(ManagerError::Refused(reason.to_owned()));
    }
    let managed = &answer["managed"];
    let version = managed["version"].as_u64();
    if version != Some(message::VERSION.into()) {
        return Err(invalid("it has another version of the messages"));
    }
    let len = managed["message"].as_u64().filter(|len| *len <= 1 << 24);
    len.map(|len| len as usize).ok_or_else(|| invalid("it does not say how long messages are"))
}

/// The name of the universe of a registration behind [`PREFIX`].
fn universe(registration: &Registration) -> Result<String, ManagerError> {
    let of_run = || std::env::var(RUN_VARIABLE).ok().filter(|run| !run.is_empty());
    let wanted = registration.universe.clone().or_else(of_run);
    let until = MonotonicClock.now() + APPEARS_WITHIN;
    loop {
        let names = running()?;
        let is_it = |name: &&String| match &wanted {
            Some(wanted) => {
                *name == wanted
                    || name.strip_prefix(&**wanted).is_some_and(|rest| rest.starts_with('/'))
            }
            None => true,
        };
        let found: Vec<&String> = names.iter().filter(is_it).collect();
        match (&found[..], &wanted) {
            ([name], _) => return Ok((*name).clone()),
            ([], None) => {
                let text = "no universe is running; start one, for example: hemiola run examples/12-flockers";
                return Err(ManagerError::NoUniverse(text.to_owned()));
            }
            ([], Some(wanted)) if MonotonicClock.now() >= until => {
                let text = format!(
                    "no running universe is called {wanted:?}; running: {}",
                    names.join(", ")
                );
                return Err(ManagerError::NoUniverse(text));
            }
            ([], Some(_)) => sleep(Duration::from_millis(20)),
            (several, _) => {
                let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                let text =
                    format!("several universes are running; choose one: {}", names.join(", "));
                return Err(ManagerError::NoUniverse(text));
            }
        }
    }
}

/// The universes that run, from the kernel's list of sockets (`/proc/net/unix`).
fn running() -> io::Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/unix")?;
    let names = table.lines().filter_map(|line| line.rsplit_once(" @")?.1.strip_prefix(PREFIX));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}
