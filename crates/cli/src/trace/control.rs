//! The control socket of a recording: other programs start, stop, mark and copy it.
//!
//! A request is one line on a connection of its own, and so is the answer, `ok` or `error: …`:
//!
//! ```text
//! AT start                AT stop
//! AT mark TEXT            AT trigger TEXT          AT snapshot NAME
//! ```
//!
//! AT is the time of the request in nanoseconds on `CLOCK_MONOTONIC`, so that it counts from then and not from the
//! moment at which the recorder reads it.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::{Instant, Span};

/// The longest request, in bytes.
const REQUEST_LEN_MAX: usize = 512;
/// The most connections at a time; further ones wait in the kernel.
const CONNECTIONS_MAX: usize = 64;
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

/// The listening end. Dropping it removes the socket.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    path: PathBuf,
    connections: Vec<Connection>,
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
    /// Listens at a path. Only this user may connect. A socket that nobody listens at is replaced.
    pub(super) fn listen(path: &Path) -> io::Result<Self> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.into(), connections: Vec::new() })
    }

    /// Returns the requests that have arrived, in order, each with the connection that waits for its answer. Does not
    /// wait.
    pub(super) fn requests(&mut self) -> Vec<(Request, Connection)> {
        let now = MonotonicClock.now();
        while self.connections.len() < CONNECTIONS_MAX
            && let Ok((stream, _)) = self.listener.accept()
        {
            if stream.set_nonblocking(true).is_ok() {
                let (line, is_too_long) = (Vec::new(), false);
                self.connections.push(Connection { stream, since: now, line, is_too_long });
            }
        }
        let mut requests = Vec::new();
        for mut connection in std::mem::take(&mut self.connections) {
            match connection.request() {
                Some(Ok(request)) => requests.push((request, connection)),
                Some(Err(error)) => connection.answer(Err(error)),
                None if now - connection.since < REQUEST_TIMEOUT => {
                    self.connections.push(connection)
                }
                None => {}
            }
        }
        requests
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // An error means that somebody else has removed it.
        let _ = fs::remove_file(&self.path);
    }
}

impl Connection {
    /// Reads what has arrived. Returns the request once its line is complete. A line that is too long is read to its
    /// end, because a client that still has bytes underway when it is answered may not see the answer.
    fn request(&mut self) -> Option<Result<Request, String>> {
        let mut bytes = [0; REQUEST_LEN_MAX];
        loop {
            if let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                if self.is_too_long || end > REQUEST_LEN_MAX {
                    return Some(Err(format!("a request has at most {REQUEST_LEN_MAX} bytes")));
                }
                return Some(String::from_utf8_lossy(&self.line[..end]).parse());
            }
            if self.line.len() > REQUEST_LEN_MAX {
                self.is_too_long = true;
                self.line.clear();
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Some(Err("a request without an end of line".into())),
                Ok(count) => self.line.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Err(error.to_string())),
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
pub(super) fn ask(socket: &Path, request: &str) -> Result<(), String> {
    let unreached = |error: io::Error| {
        format!(
            "no recording answers at {}: {error}\nhint: start one with `hemiola trace --control {}`",
            socket.display(),
            socket.display()
        )
    };
    let mut stream = UnixStream::connect(socket).map_err(unreached)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(unreached)?;
    let line = format!("{} {}\n", MonotonicClock.now().nanos(), request.replace('\n', " "));
    stream.write_all(line.as_bytes()).map_err(unreached)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(unreached)?;
    match answer.trim() {
        "ok" => Ok(()),
        "" => Err("the recording ended before it answered".into()),
        other => Err(other.trim_start_matches("error: ").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a request to a recording that answers every one, and returns what its client gets.
    fn asked(test: &str, request: &str) -> Result<(), String> {
        let path = std::env::temp_dir().join(format!("control-{}-{test}", std::process::id()));
        let mut control = Control::listen(&path).unwrap();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| ask(&path, request));
            while !client.is_finished() {
                for (_, connection) in control.requests() {
                    connection.answer(Ok(()));
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
