//! The recorded program, which is held until the recording runs.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};

use hemiola_record::Marks;
use hemiola_record::marks::VARIABLE;
use hemiola_rt::sys::descriptor;
use hemiola_rt::sys::process::{PidFd, Signal, clear_cloexec};
use hemiola_units::Instant;

use super::ending::Signals;
use crate::diagnostics::shown;

/// The first argument with which this binary is started to become the program. A descriptor, the program and its
/// arguments follow.
const HELD: &str = "trace-held";

/// The exit codes of a shell for a program that cannot be executed and for one that does not exist.
const NOT_STARTED: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A user's program.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    watch: PidFd,
    go: Option<PipeWriter>,
}

impl Program {
    /// Creates the process, which then waits for [`Self::go`] before it executes the program. If the recorder ends
    /// first, the process ends too.
    pub(super) fn hold(words: &[OsString], marks: &Marks) -> io::Result<Self> {
        let (wait, go) = io::pipe()?;
        clear_cloexec(&wait)?;
        clear_cloexec(marks.fd())?;
        let child = Command::new(std::env::current_exe()?)
            .arg(HELD)
            .arg(wait.as_raw_fd().to_string())
            .args(words)
            .env(VARIABLE, marks.paths())
            .spawn()?;
        let watch = PidFd::open(child.id())?;
        Ok(Self { child, watch, go: Some(go) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets the process execute the program.
    pub(super) fn go(&mut self) -> io::Result<()> {
        self.go.take().map_or(Ok(()), |mut go| go.write_all(&[1]))
    }

    /// Waits until `until`, a signal to the recorder or the end of the program. Returns whether the program has ended.
    pub(super) fn wait(&self, until: Instant, signals: &Signals) -> io::Result<bool> {
        self.watch.wait_beside(signals, until)
    }

    /// Sends SIGTERM.
    pub(super) fn terminate(&self) {
        // An error means that it has already ended.
        let _ = self.watch.send_signal(Signal::TERM);
    }

    /// Waits for the end of the program and returns its status.
    pub(super) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// The exit code of a shell for this status.
pub(super) fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// If this process was started as [`HELD`], waits for the recorder and becomes the program. Returns an exit code if the
/// program cannot run, and `None` for any other command line.
pub(crate) fn held(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut words = words.skip(1);
    if words.next()? != HELD {
        return None;
    }
    let number: i32 = words.next()?.to_str()?.parse().ok()?;
    let program = words.next()?;
    let may_go = descriptor::duplicate(number).and_then(|fd| {
        descriptor::close_on_exec(number)?;
        std::fs::File::from(fd).read(&mut [0])
    });
    match may_go {
        Ok(1) => {}
        // The recorder has ended and reported the reason.
        Ok(_) => return Some(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("error: the recorder cannot be reached: {error}");
            return Some(ExitCode::from(NOT_STARTED));
        }
    }
    let error = Command::new(&program).args(words).exec();
    eprintln!("error: {} cannot be started: {error}", shown(program));
    let missing = error.kind() == io::ErrorKind::NotFound;
    Some(ExitCode::from(if missing { NOT_FOUND } else { NOT_STARTED }))
}
