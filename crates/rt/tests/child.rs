//! Runs this test binary again, as the other process of a test.

use std::env;
use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const ROLE: &str = "HEMIOLA_RT_TEST_ROLE";
const DESCRIPTOR: &str = "HEMIOLA_RT_TEST_FD";
/// The prefix of a child's lines; the test harness writes to the same stream.
const SAYS: &str = "child: ";

/// A running child. Killed when dropped.
pub(crate) struct Peer {
    pub(crate) process: Child,
    told: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

/// Returns the command that plays `role` with `fd` inherited.
pub(crate) fn command(role: &str, fd: Option<&OwnedFd>) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "child::the_child_plays_its_role", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(fd) = fd {
        command.env(DESCRIPTOR, fd.as_raw_fd().to_string());
    }
    command
}

impl Peer {
    pub(crate) fn start(role: &str, fd: impl AsFd) -> Self {
        let fd = fd.as_fd().try_clone_to_owned().unwrap();
        hemiola_rt::sys::process::clear_cloexec(&fd).unwrap();
        Self::run(&mut command(role, Some(&fd)))
    }

    pub(crate) fn run(command: &mut Command) -> Self {
        let mut process = command.spawn().unwrap();
        let told = process.stdin.take().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, told, said }
    }

    /// Returns the next line of the child.
    pub(crate) fn says(&mut self) -> String {
        loop {
            let line = self.said.next().expect("the child ended without a word").unwrap();
            // The harness leaves its own line unfinished before the first line.
            if let Some((_, said)) = line.split_once(SAYS) {
                return said.to_string();
            }
        }
    }

    /// Lets the child pass its next `wait_to_be_told`.
    pub(crate) fn tell(&mut self) {
        self.told.write_all(b"\n").unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In the child: sends `what` to the test, past the harness, which captures printed output.
#[expect(clippy::explicit_write, reason = "print would be captured")]
pub(crate) fn say(what: &str) {
    writeln!(stdout(), "{SAYS}{what}").unwrap();
}

/// In the child: waits for [`Peer::tell`].
pub(crate) fn wait_to_be_told() {
    stdin().lines().next().expect("the test ended first").unwrap();
}

/// In the child: returns the inherited descriptor.
pub(crate) fn inherited() -> OwnedFd {
    let number = env::var(DESCRIPTOR).unwrap().parse().unwrap();
    hemiola_rt::sys::descriptor::duplicate(number).expect("the parent left this descriptor open")
}

/// Reports that a test could not run for lack of a privilege.
#[expect(clippy::print_stderr, reason = "a green run must not hide it")]
pub(crate) fn skipped(needs: &str) {
    eprintln!("skipped: needs {needs}");
}

#[test]
fn the_child_plays_its_role() {
    match env::var(ROLE).as_deref() {
        Err(_) => {} // Not a child: nothing to do.
        Ok("latest writer") => super::killed::latest_writer(),
        Ok("latest reader") => super::killed::latest_reader(),
        Ok("queue writer") => super::killed::queue_writer(),
        Ok("queue reader") => super::killed::queue_reader(),
        Ok("log writer") => super::killed::log_writer(),
        Ok("stream writer") => super::stream::writer(),
        Ok("stream reader") => super::stream::reader(),
        Ok("asker") => super::profile::asker(),
        Ok("runaway") => super::process::runaway(),
        Ok("parent") => super::process::parent(),
        Ok("orphan") => super::process::orphan(),
        Ok(role) => panic!("no role {role}"),
    }
}
