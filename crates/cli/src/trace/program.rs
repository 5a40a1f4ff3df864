//! The program that is recorded: held until the recording runs, then let go.

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

/// The word by which this binary is started to become the program: then come a descriptor, the program, and its
/// arguments.
const HELD: &str = "trace-held";

/// What a shell says of a program that cannot be started, and of one that is not there.
const NOT_STARTED: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A program of the user.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    watch: PidFd,
    go: Option<PipeWriter>,
}

impl Program {
    /// Starts it, up to where it would begin: it has its process number, and does nothing before [`Self::go`]. If it
    /// never comes to that, it ends.
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

    /// Lets it begin.
    pub(super) fn go(&mut self) -> io::Result<()> {
        self.go.take().map_or(Ok(()), |mut go| go.write_all(&[1]))
    }

    /// Waits until it has ended or `until` has come; says whether it has ended.
    pub(super) fn wait(&self, until: Instant) -> io::Result<bool> {
        self.watch.wait(until)
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        // It may have ended meanwhile.
        let _ = self.watch.send_signal(Signal::TERM);
    }

    /// How it ended; it has.
    pub(super) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// The code a shell would have for that end.
pub(super) fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Becomes the program, if this process was started for that: waits until it may go on, or ends if it may not.
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
        // The recorder is gone, and has said why.
        Ok(_) => return Some(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("error: the recorder is not there: {error}");
            return Some(ExitCode::from(NOT_STARTED));
        }
    }
    let error = Command::new(&program).args(words).exec();
    eprintln!("error: {} cannot be started: {error}", program.display());
    let missing = error.kind() == io::ErrorKind::NotFound;
    Some(ExitCode::from(if missing { NOT_FOUND } else { NOT_STARTED }))
}
