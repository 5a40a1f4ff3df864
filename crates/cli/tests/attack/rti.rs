//! The process of the RTI, and what it uses.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use hemiola_rt::sys::process::PidFd;
use hemiola_rt::sys::process::Signal;
use hemiola_rtid::Report;
use hemiola_units::{Bytes, RtiAddress, Span};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::process::{Orders, PATIENCE, Process, ROLE};
use super::round::Transport;

/// The code of the release build that is in memory. The rest of that of an unoptimized build does not count, because
/// no peer makes it grow.
const CODE_MAX: Bytes = Bytes(8 << 20);

/// How long the RTI may take to end after SIGTERM.
const END_MAX: Duration = Duration::from_secs(5);

/// The role of the starter: limits its address space if ordered, and becomes the RTI.
pub(crate) fn starter(orders: &Orders) {
    if let Some(len) = orders.number("address-space") {
        let limit = Rlimit { current: Some(len), maximum: Some(len) };
        setrlimit(Resource::As, limit).expect("a limit can be lowered");
    }
    let given: Vec<String> = std::env::args().skip_while(|word| word != "--").skip(1).collect();
    let program = orders.text("program").expect("the parent passes it");
    panic!("{program}: {}", Command::new(program).arg("rti").args(given).exec());
}

/// A running RTI. It is killed when dropped.
pub(crate) struct Rti {
    process: Process,
    /// Collects its error output.
    log: JoinHandle<String>,
    pub(crate) tcp: RtiAddress,
    pub(crate) shm: RtiAddress,
    /// How much of the program's file may be in memory without being left out of the account.
    code_max: Bytes,
}

impl Rti {
    /// Starts the RTI with these options on a port that the system chooses.
    ///
    /// # Errors
    /// It ends, or prints no addresses.
    pub(crate) fn start(
        program: &str,
        options: &[String],
        address_space: Option<Bytes>,
    ) -> Result<Self, String> {
        let exe = std::env::current_exe().expect("a running program has a path");
        let mut command = Command::new(exe);
        command.arg(format!("{ROLE}starter")).arg(format!("program={program}"));
        command.args(address_space.map(|Bytes(len)| format!("address-space={len}")));
        command.args(["--", "--listen", "127.0.0.1:0", "--log", "error"]).args(options);
        command.stderr(Stdio::piped());
        let mut process = Process::run("RTI", command);
        let mut stderr = process.child.stderr.take().expect("it is piped");
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            // Without its error output, the end of the RTI is still reported.
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut address = || {
            let line = process.line(PATIENCE)?;
            line.parse().map_err(|error| format!("the RTI prints no address: {error}"))
        };
        let (tcp, shm) = (address()?, address()?);
        Ok(Self { process, log, tcp, shm, code_max: CODE_MAX })
    }

    /// Returns its address over a transport.
    pub(crate) const fn address(&self, transport: Transport) -> &RtiAddress {
        match transport {
            Transport::Tcp => &self.tcp,
            Transport::SharedMemory => &self.shm,
        }
    }

    /// Returns why it has ended, if it has.
    pub(crate) fn end(&mut self) -> Option<String> {
        let status = self.process.ended_within(Duration::ZERO)?;
        Some(format!("the RTI ended: {status}"))
    }

    /// Returns its present and its peak memory; zero once it has ended.
    pub(crate) fn memory(&self) -> (Bytes, Bytes) {
        let field = self.status();
        let surplus = field("RssFile:").0.saturating_sub(self.code_max.0);
        let without = |Bytes(memory)| Bytes(memory.saturating_sub(surplus));
        (without(field("VmRSS:")), without(field("VmHWM:")))
    }

    /// Returns its present memory. Code that runs for the first time later does not count from now on: it is a page of
    /// the program's file, of which the system keeps one copy for all processes and which it drops when it likes.
    pub(crate) fn memory_before(&mut self) -> Bytes {
        self.code_max = self.code_max.min(self.status()("RssFile:"));
        self.memory().0
    }

    /// Returns the fields of its status that are sizes.
    fn status(&self) -> impl Fn(&str) -> Bytes + use<> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.child.id()));
        let status = status.unwrap_or_default();
        move |key| {
            let line = status.lines().find_map(|line: &str| line.strip_prefix(key));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            Bytes(kib.unwrap_or(0_u64) * 1024)
        }
    }

    /// Returns the longest turn of its loop so far.
    ///
    /// # Errors
    /// `hemiola rti status` fails.
    pub(crate) fn longest_turn(&self, program: &str) -> Result<Span, String> {
        let mut command = Command::new(program);
        command.args(["rti", "status", "--json"]).arg(self.shm.to_string());
        let output = command.output().map_err(|error| format!("{program}: {error}"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let message = message.lines().next().unwrap_or("no message");
            return Err(format!("`rti status` ended: {}: {message}", output.status));
        }
        let report = serde_json::from_slice::<Report>(&output.stdout);
        let report = report.map_err(|error| format!("`rti status` prints no report: {error}"))?;
        Ok(report.work.longest_turn)
    }

    /// Returns how many descriptors it has open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.child.id())).map_or(0, Iterator::count)
    }

    /// Ends it with SIGTERM, which must succeed in time. None of its threads may have panicked, not even one that only
    /// reads an object model.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        if let Some(end) = self.end() {
            let log = self.log.join().unwrap_or_default();
            return Err(format!("{end}: {}", log.lines().next().unwrap_or("no message")));
        }
        let pidfd = PidFd::open(self.process.child.id()).map_err(|error| error.to_string())?;
        pidfd.send_signal(Signal::TERM).map_err(|error| error.to_string())?;
        match self.process.ended_within(END_MAX) {
            Some(status) if status.success() => {}
            Some(status) => return Err(format!("after SIGTERM the RTI ended: {status}")),
            None => return Err(format!("the RTI runs {END_MAX:?} after SIGTERM")),
        }
        let log = self.log.join().unwrap_or_default();
        let panicked = log.lines().find(|line| line.contains("panicked"));
        panicked.map_or(Ok(()), |line| Err(format!("a thread of the RTI: {line}")))
    }
}
