//! The control socket of a recording: other programs start, stop, mark and copy it.
//!
//! The socket is created at a path, or inherited: a listening one, or one end of a connection. A request is one line,
//! and so is its answer, `ok` or `error: …`. A connection that the recording accepts has one request and ends with its
//! answer; an inherited connection has any number, which are answered in order.
//!
//! ```text
//! AT start                AT stop
//! AT mark TEXT            AT trigger TEXT          AT snapshot NAME
//! ```
//!
//! AT is the time of the request in nanoseconds on `CLOCK_MONOTONIC`, so that it counts from then and not from the
//! moment at which the recorder reads it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diagnostics::shown;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::descriptor;
use hemiola_units::{Instant, Span};
use rustix::net::{AddressFamily, SocketType, sockopt};

/// The longest request, in bytes.
const REQUEST_LEN_MAX: usize = 512;
/// The most connections at a time; further ones wait in the kernel.
const CONNECTIONS_MAX: usize = 64;
/// The most requests of an inherited connection at a time; further ones wait in the kernel.
const INHERITED_MAX: usize = 64;
/// How long a connection may take to send its request.
const REQUEST_TIMEOUT: Span = Span::from_millis(1000);
/// How long a client waits for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest name of a snapshot, in bytes.
const NAME_LEN_MAX: usize = 100;

/// What a program asks of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Start or continue.
    Start,
    /// Pause.
    Stop,
    /// Mark the moment with a text.
    Mark(String),
    /// End a flight recorder, for this reason.
    Trigger(String),
    /// Copy everything recorded so far into a file of this name beside the recording.
    Snapshot(String),
}

/// A request and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) at: Instant,
    pub(super) verb: Verb,
}

impl Request {
    /// Whether it asks for a snapshot.
    pub(super) const fn is_snapshot(&self) -> bool {
        matches!(self.verb, Verb::Snapshot(_))
    }
}

impl std::str::FromStr for Request {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        const EXPECTED: &str =
            "expected `AT start`, `AT stop`, `AT mark TEXT`, `AT trigger TEXT`, `AT snapshot NAME`";
        let (at, rest) = line.trim().split_once(' ').ok_or(EXPECTED)?;
        let at = at.parse().map_err(|_| EXPECTED)?;
        let (verb, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = text.trim().to_owned();
        let verb = match (verb, text.is_empty()) {
            ("start", true) => Verb::Start,
            ("stop", true) => Verb::Stop,
            ("mark", false) => Verb::Mark(text),
            ("trigger", _) => Verb::Trigger(text),
            ("snapshot", false) if is_file_name(&text) => Verb::Snapshot(text),
            ("snapshot", false) => {
                return Err(format!(
                    "{text:?} is no name of a snapshot: use at most {NAME_LEN_MAX} letters, digits, `-`, `_` and `.`"
                ));
            }
            _ => return Err(EXPECTED.into()),
        };
        Ok(Self { at: Instant::from_nanos(at), verb })
    }
}

/// Whether a text is the name of a file in the same folder, and none that is hidden.
fn is_file_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= NAME_LEN_MAX && !text.starts_with('.') && text.bytes().all(fits)
}

/// Where a recording is controlled: `PATH`, or `fd:N` for the descriptor with that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The path of a socket.
    Path(PathBuf),
    /// The number of an inherited descriptor.
    Descriptor(i32),
}

impl Place {
    /// Parses the value of `--control`.
    pub(crate) fn parse(text: OsString) -> Result<Self, String> {
        let Some(number) = text.to_str().and_then(|text| text.strip_prefix("fd:")) else {
            let is_number = text.to_str().is_some_and(|text| text.parse::<u64>().is_ok());
            return match is_number {
                true => Err(format!(
                    "write fd:{0} for the descriptor {0}, or ./{0} for a socket of that name",
                    shown(text)
                )),
                false => Ok(Self::Path(text.into())),
            };
        };
        let number = number.parse().ok().filter(|number| *number >= 0);
        let expected = "expected the number of an open descriptor, such as fd:7";
        number.map(Self::Descriptor).ok_or_else(|| expected.into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", shown(path)),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
        }
    }
}

/// An inherited socket.
enum Inherited {
    Listener(UnixListener),
    Connection(UnixStream),
}

impl Inherited {
    /// Takes the socket open under this number, which programs started later do not inherit.
    fn take(number: i32) -> io::Result<Self> {
        let fd = descriptor::duplicate(number)?;
        descriptor::close_on_exec(number)?;
        let is_local = sockopt::socket_domain(&fd)? == AddressFamily::UNIX;
        if !is_local || sockopt::socket_type(&fd)? != SocketType::STREAM {
            return Err(io::Error::other("it is not a Unix stream socket"));
        }
        if sockopt::socket_acceptconn(&fd)? {
            return Ok(Self::Listener(fd.into()));
        }
        let stream: UnixStream = fd.into();
        stream.peer_addr()?;
        Ok(Self::Connection(stream))
    }
}

/// The recording's end of the control socket. Dropping it removes a socket that was created.
#[derive(Debug)]
pub(super) struct Control {
    listener: Option<UnixListener>,
    /// The path of a socket that was created, and the file there.
    created: Option<(PathBuf, FileId)>,
    /// Accepted ones, which have not sent their request yet.
    connections: Vec<Connection>,
    /// An inherited one, until its other end is closed.
    inherited: Option<Connection>,
}

/// A client that has connected and has not been answered yet.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    since: Instant,
    line: Vec<u8>,
    /// Whether a part of the line was dropped because it is too long.
    is_too_long: bool,
}

impl Control {
    /// Listens at a path. Only this user may connect. A socket that no process has any more is replaced.
    pub(super) fn listen(path: &Path) -> io::Result<Self> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket && is_left_over(path) {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let created = FileId::at(path).map(|file| (path.into(), file));
        Ok(Self::of(created, Some(listener), None))
    }

    /// Uses the inherited socket open under this number.
    pub(super) fn inherit(number: i32) -> io::Result<Self> {
        match Inherited::take(number)? {
            Inherited::Listener(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Self::of(None, Some(listener), None))
            }
            Inherited::Connection(stream) => {
                stream.set_nonblocking(true)?;
                let inherited = Connection::new(stream, MonotonicClock.now());
                Ok(Self::of(None, None, Some(inherited)))
            }
        }
    }

    const fn of(
        created: Option<(PathBuf, FileId)>,
        listener: Option<UnixListener>,
        inherited: Option<Connection>,
    ) -> Self {
        Self { listener, created, connections: Vec::new(), inherited }
    }

    /// Returns the requests that have arrived, in order, each with the connection that waits for its answer. Does not
    /// wait.
    pub(super) fn requests(&mut self) -> Vec<(Received, Connection)> {
        let now = MonotonicClock.now();
        while self.connections.len() < CONNECTIONS_MAX
            && let Some(listener) = &self.listener
            && let Ok((stream, _)) = listener.accept()
        {
            if stream.set_nonblocking(true).is_ok() {
                self.connections.push(Connection::new(stream, now));
            }
        }
        let mut requests = Vec::new();
        for mut connection in std::mem::take(&mut self.connections) {
            match connection.request() {
                Arrived::Request(request) => requests.push((request, connection)),
                Arrived::End => {
                    let cut = Err("a request without an end of line".into());
                    requests.push((cut, connection));
                }
                Arrived::Nothing if now - connection.since < REQUEST_TIMEOUT => {
                    self.connections.push(connection);
                }
                Arrived::Nothing => {}
            }
        }
        self.inherited_requests(&mut requests);
        requests
    }

    /// Adds the requests of the inherited connection. A snapshot is the last one, because it is taken last.
    fn inherited_requests(&mut self, requests: &mut Vec<(Received, Connection)>) {
        for _ in 0..INHERITED_MAX {
            let Some(connection) = &mut self.inherited else { return };
            let request = match connection.request() {
                Arrived::Nothing => return,
                Arrived::Request(request) => request,
                Arrived::End => {
                    self.inherited = None;
                    return;
                }
            };
            let Ok(stream) = connection.stream.try_clone() else { return };
            let is_last = request.as_ref().is_ok_and(Request::is_snapshot);
            requests.push((request, Connection::new(stream, connection.since)));
            if is_last {
                return;
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Another process may have removed it, and even created its own there.
        if let Some((path, file)) = &self.created
            && FileId::at(path) == Some(*file)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Identifies a file, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}

/// Whether no process has the socket at this path. Any other error than this one may come from a socket in use, of
/// another type or of another user (connect(2)).
fn is_left_over(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// A request, or the reason why its line is none.
pub(super) type Received = Result<Request, String>;

/// The state of a connection.
enum Arrived {
    /// No whole line.
    Nothing,
    Request(Received),
    /// The other end is closed.
    End,
}

impl Connection {
    const fn new(stream: UnixStream, since: Instant) -> Self {
        Self { stream, since, line: Vec::new(), is_too_long: false }
    }

    /// Reads until a line is complete. A line that is too long is read to its end, because a client that still has
    /// bytes underway when it is answered may not see the answer.
    fn request(&mut self) -> Arrived {
        let mut bytes = [0; REQUEST_LEN_MAX];
        loop {
            if let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                let is_too_long = std::mem::take(&mut self.is_too_long) || end > REQUEST_LEN_MAX;
                return Arrived::Request(match is_too_long {
                    true => Err(format!("a request has at most {REQUEST_LEN_MAX} bytes")),
                    false => String::from_utf8_lossy(&line).parse(),
                });
            }
            if self.line.len() > REQUEST_LEN_MAX {
                self.is_too_long = true;
                self.line.clear();
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Arrived::End,
                Ok(count) => self.line.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Arrived::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Arrived::End,
            }
        }
    }

    /// Answers the request. A client that has gone is not told.
    pub(super) fn answer(mut self, answer: Result<(), String>) {
        let line = match answer {
            Ok(()) => "ok\n".to_owned(),
            Err(error) => format!("error: {}\n", error.replace('\n', " ")),
        };
        let _ = self.stream.write_all(line.as_bytes());
    }
}

/// Sends a request, such as `mark lap 3`, to the recording at this socket and waits for its answer.
pub(super) fn ask(place: &Place, request: &str) -> Result<(), String> {
    let unreached = |error: io::Error| {
        let hint = match place {
            Place::Path(path) => {
                format!("start one with `hemiola trace --control {}`", shown(path))
            }
            Place::Descriptor(_) => {
                "start a recording with `--control fd:N` for the other end of this connection"
                    .into()
            }
        };
        format!("no recording answers at {place}: {error}\nhint: {hint}")
    };
    let mut stream = connected(place).map_err(unreached)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(unreached)?;
    let line = format!("{} {}\n", MonotonicClock.now().nanos(), request.replace('\n', " "));
    stream.write_all(line.as_bytes()).map_err(unreached)?;
    match answer(&mut stream).map_err(unreached)?.trim() {
        "ok" => Ok(()),
        "" => Err("the recording ended before it answered".into()),
        other => Err(other.trim_start_matches("error: ").to_owned()),
    }
}

fn connected(place: &Place) -> io::Result<UnixStream> {
    match place {
        Place::Path(path) => UnixStream::connect(path),
        Place::Descriptor(number) => match Inherited::take(*number)? {
            Inherited::Connection(stream) => Ok(stream),
            Inherited::Listener(_) => Err(io::Error::other("it is a listening socket")),
        },
    }
}

/// Reads one line, or what there is of it, and nothing behind it.
fn answer(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') && stream.read(&mut byte)? > 0 {
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    /// Sends a request to a recording that answers every one, and returns what its client gets.
    fn asked(test: &str, request: &str) -> Result<(), String> {
        let path = std::env::temp_dir().join(format!("control-{}-{test}", std::process::id()));
        let mut control = Control::listen(&path).unwrap();
        let place = Place::Path(path);
        std::thread::scope(|scope| {
            let client = scope.spawn(|| ask(&place, request));
            while !client.is_finished() {
                for (request, connection) in control.requests() {
                    connection.answer(request.map(drop));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            client.join().unwrap()
        })
    }

    #[test]
    fn a_request_of_any_length_is_answered() {
        let mark = |length| format!("mark {}", "x".repeat(length));
        assert_eq!(asked("short", &mark(400)), Ok(()));
        for length in [600, 5_000, 100_000] {
            let refused = Err("a request has at most 512 bytes".to_owned());
            assert_eq!(asked("long", &mark(length)), refused, "{length}");
        }
    }

    #[test]
    fn an_inherited_connection_has_any_number_of_requests_answered_in_order() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut control = Control::inherit(theirs.as_raw_fd()).unwrap();
        drop(theirs);
        let long = "x".repeat(2_000);
        let lines = format!("1 start\n2 mark {long}\n3 snapshot a\n4 stop\n5 go\n6 ma");
        ours.write_all(lines.as_bytes()).unwrap();
        let mut taken = Vec::new();
        for _ in 0..3 {
            for (request, connection) in control.requests() {
                taken.push(request.as_ref().ok().map(|request| request.at.nanos()));
                connection.answer(request.map(drop));
            }
            // Nothing after a snapshot is carried out in the same round.
            taken.push(Some(0));
        }
        let round = Some(0);
        assert_eq!(taken, [Some(1), None, Some(3), round, Some(4), None, round, round]);
        let answers: Vec<String> = (0..5).map(|_| answer(&mut ours).unwrap()).collect();
        let begins = ["ok", "error: a request has", "ok", "ok", "error: expected"];
        assert!(answers.iter().zip(begins).all(|(answer, begin)| answer.starts_with(begin)));
        // The recording continues without its other end.
        drop(ours);
        assert_eq!(control.requests().len(), 0);
    }

    #[test]
    fn only_a_socket_that_no_process_has_is_replaced() {
        let path = std::env::temp_dir().join(format!("control-{}-taken", std::process::id()));
        let datagrams = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        assert_eq!(Control::listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
        sender.send_to(b"x", &path).unwrap();
        drop(datagrams);
        let control = Control::listen(&path).unwrap();
        assert_eq!(Control::listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        // Another process has put its own file there.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "other").unwrap();
        drop(control);
        assert_eq!(fs::read(&path).unwrap(), b"other");
        Control::listen(&path).unwrap_err();
        fs::remove_file(&path).unwrap();
        drop(Control::listen(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn other_descriptors_are_refused() {
        let (reader, _writer) = io::pipe().unwrap();
        let datagrams = std::os::unix::net::UnixDatagram::unbound().unwrap();
        let network = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for fd in [reader.as_raw_fd(), datagrams.as_raw_fd(), network.as_raw_fd(), 1 << 20] {
            Control::inherit(fd).unwrap_err();
        }
    }

    #[test]
    fn a_place_is_a_path_or_a_descriptor() {
        let parse = |text: &str| Place::parse(text.into());
        assert_eq!(parse("fd:7"), Ok(Place::Descriptor(7)));
        assert_eq!(parse("./7"), Ok(Place::Path("./7".into())));
        assert_eq!(parse("a/fd:7"), Ok(Place::Path("a/fd:7".into())));
        assert!(parse("7").unwrap_err().contains("fd:7"));
        for text in ["fd:", "fd:-1", "fd:x", "fd:99999999999"] {
            assert!(parse(text).unwrap_err().contains("such as fd:7"), "{text}");
        }
    }

    #[test]
    fn requests_are_parsed_or_refused_with_a_reason() {
        let parse =
            |line: &str| line.parse::<Request>().map(|request| (request.at.nanos(), request.verb));
        assert_eq!(parse("5 start\n"), Ok((5, Verb::Start)));
        assert_eq!(parse("5 mark lap 3"), Ok((5, Verb::Mark("lap 3".into()))));
        assert_eq!(parse("7 trigger"), Ok((7, Verb::Trigger(String::new()))));
        assert_eq!(parse("7 snapshot a-1"), Ok((7, Verb::Snapshot("a-1".into()))));
        for line in
            ["start", "x start", "5 go", "5 mark ", "5 start now", "", "18446744073709551616 stop"]
        {
            assert!(parse(line).unwrap_err().starts_with("expected"), "{line}");
        }
        for name in ["../up", ".hidden", "a b", &"long".repeat(40)] {
            assert!(
                parse(&format!("5 snapshot {name}")).unwrap_err().contains("no name"),
                "{name}"
            );
        }
    }
}
