//! The machine, which one test uses at a time, and a search for anything that a run left behind.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT};

use crate::command::{Ended, PROGRAM, Running};

/// Tests run real-time processes on the same processors: two at once would disturb each other.
static TURN: Mutex<()> = Mutex::new(());

/// How long a prompt event may take on a busy machine before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Exclusive use of the machine for one test, with a working folder that is removed at the end.
pub(crate) struct Machine {
    folder: PathBuf,
    before: BTreeSet<String>,
    _turn: MutexGuard<'static, ()>,
}

/// Makes Ctrl-C and a hang-up effective in child processes. A shell that starts these tests in the background, or
/// `nohup`, may have them ignored, which children would inherit; a handler here is reset to the default by exec.
fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let is_ignored = |signal: &i32| ignored & (1 << (signal - 1)) != 0;
        for signal in [SIGINT, SIGHUP].into_iter().filter(is_ignored) {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    });
}

impl Machine {
    /// Waits for exclusive use. `test` names the folder.
    pub(crate) fn take(test: &str) -> Self {
        // A failed test leaves no partial state here, so a poisoned lock is harmless.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        hear_signals();
        let folder = std::env::temp_dir().join(format!("cli-{}-{test}", std::process::id()));
        fs::create_dir_all(folder.join("tmp")).unwrap();
        let folder = folder.canonicalize().unwrap();
        Self { folder, before: objects(), _turn: turn }
    }

    /// Compiles a program in C, given the options and sources. `None` without a compiler, which is noted.
    pub(crate) fn gcc<A: AsRef<OsStr>>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Option<PathBuf> {
        let program = self.folder.join(name);
        let Ok(built) = Command::new("gcc").arg("-o").arg(&program).args(arguments).output() else {
            println!("skipped: needs gcc");
            return None;
        };
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(program)
    }

    /// The folder that commands work in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file in the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A program in the folder: a script for `sh`.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `program` in the folder, its temporary files there too.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("TMPDIR", self.folder.join("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// Starts `hemiola`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(PROGRAM, arguments))
    }

    /// Runs `hemiola` to its end.
    pub(crate) fn hemiola(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).end()
    }

    /// Asserts that no process, shared memory, queue, socket or temporary file remains. Waits a moment for guardians.
    pub(crate) fn nothing_is_left(&self) {
        let mut left = self.left();
        let limit = Instant::now() + PATIENCE;
        while !left.is_empty() && Instant::now() < limit {
            sleep(Duration::from_millis(20));
            left = self.left();
        }
        assert!(left.is_empty(), "left behind: {left:#?}");
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> =
            self.processes().into_iter().map(|(pid, words)| format!("{pid}: {words}")).collect();
        left.extend(objects().difference(&self.before).filter(|name| !is_anothers(name)).cloned());
        let temporary = fs::read_dir(self.folder.join("tmp")).unwrap();
        left.extend(temporary.map(|entry| entry.unwrap().path().display().to_string()));
        left
    }

    /// Processes of our binary, or of programs in the folder: number and command line.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let folder = self.folder.to_str().unwrap();
        let ours = Path::new(PROGRAM).canonicalize().unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // A zombie counts as gone, because process 1 may not reap it at once.
            let words = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let is_ours = fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == ours);
            if !words.is_empty() && (is_ours || words.contains(folder)) {
                found.push((pid, words.replace('\0', " ").trim().to_owned()));
            }
        }
        found
    }

    /// Waits until processes with these words at the end of their command lines run.
    pub(crate) fn wait_for(&self, running: &mut Running, wanted: &[&str]) {
        let limit = Instant::now() + PATIENCE;
        loop {
            let processes = self.processes();
            let runs = |words: &&str| processes.iter().any(|(_, line)| line.ends_with(words));
            if wanted.iter().all(runs) {
                return;
            }
            assert!(!running.has_ended(), "it ended before {wanted:?} ran");
            assert!(Instant::now() < limit, "no {wanted:?} among {processes:#?}");
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Named kernel objects of runs on this machine: shared memory, queues, sockets.
pub(crate) fn objects() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["/dev/shm", "/dev/mqueue"] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let ours = names.filter(|name| name.starts_with("hemiola") || name.contains("iox2"));
        found.extend(ours.map(|name| format!("{folder}/{name}")));
    }
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = sockets.lines().filter_map(|line| Some(line.rsplit_once(" @")?.1));
    let is_ours =
        |name: &&str| ["hemiola/", "hemiola-universe/"].iter().any(|kind| name.starts_with(kind));
    found.extend(names.filter(is_ours).map(|name| format!("@{name}")));
    found
}

/// Whether an object belongs to another run on this machine: its name begins with the process ID of the runner, which
/// is alive and not a program of these tests.
fn is_anothers(object: &str) -> bool {
    let run =
        object.split_once("hemiola").map_or("", |(_, run)| run.trim_start_matches("-universe"));
    let run = run.trim_start_matches(['-', '/']);
    let pid = run.split('-').next().and_then(|pid| u32::from_str_radix(pid, 16).ok());
    let program = pid.and_then(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok());
    program.is_some_and(|program| program != Path::new(PROGRAM).canonicalize().unwrap())
}
