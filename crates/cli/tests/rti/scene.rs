//! An RTI in a separate process, with two federates that exchange updates throughout each test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::{Signal, signal_group};

use super::peer::{Peer, update, value};
use crate::command::{Ended, PROGRAM};
use crate::machine::{Machine, PATIENCE};

/// A directory for a test, removed in the end.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hemiola-{test}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Its path, as an option.
    pub(super) fn option(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The process of an RTI. Killed when dropped.
pub(super) struct Rti {
    child: Child,
    /// The addresses printed on standard output.
    pub(super) addresses: Vec<String>,
    log: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Rti {
    /// On a port that the system chooses.
    pub(super) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        Self::start_after(machine, ":", arguments)
    }

    /// As [`start`](Self::start), after a command of the shell, such as `ulimit -v`.
    pub(super) fn start_after(machine: &Machine, before: &str, arguments: &[&str]) -> Self {
        use std::os::unix::process::CommandExt;
        let script = format!("{before} && exec \"$@\"");
        // A hang-up ends it, even if the tests run under nohup.
        let rti = ["env", "--default-signal=HUP", PROGRAM, "rti", "--listen", "127.0.0.1:0"];
        let arguments = [&["-c", &script, "sh"][..], &rti, arguments].concat();
        let mut command = machine.command("sh", &arguments);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (stderr, into) = (child.stderr.take().unwrap(), Arc::clone(&log));
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = into.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let options = ["--listen", "--metrics"];
        let count = 1 + arguments.iter().filter(|word| options.contains(word)).count();
        let mut addresses: Vec<String> = Vec::new();
        while addresses.len() < count {
            match stdout.next() {
                Some(line) => addresses.push(line.unwrap()),
                None => panic!("it does not serve: {}", log.lock().unwrap()),
            }
        }
        Self { child, addresses, log, readers: vec![reader] }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn tcp(&self) -> SocketAddr {
        self.addresses[0].strip_prefix("tcp:").unwrap().parse().unwrap()
    }

    /// The address on this machine.
    pub(super) fn shm(&self) -> &str {
        self.addresses.iter().find(|address| address.starts_with("shm:")).unwrap()
    }

    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until the log contains this text this many times.
    pub(super) fn says(&self, what: &str, times: usize) {
        let limit = Instant::now() + PATIENCE;
        while self.log().matches(what).count() < times {
            assert!(Instant::now() < limit, "no {times} × {what:?} in the log:\n{}", self.log());
            sleep(Duration::from_millis(10));
        }
    }

    /// How much the peak of the memory has grown since it was `before`, in bytes. The kernel keeps the peak from
    /// counters that each processor batches, so a later reading can be a few pages lower.
    pub(super) fn memory_grown(&self, before: u64) -> u64 {
        self.memory_max().saturating_sub(before)
    }

    /// Peak memory in bytes (proc_pid_status(5), `VmHWM`).
    pub(super) fn memory_max(&self) -> u64 {
        self.status_bytes("VmHWM:")
    }

    /// Present memory in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    fn status_bytes(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Ends the RTI with SIGTERM and returns its log.
    pub(super) fn stop(self) -> String {
        self.stop_by(Signal::TERM)
    }

    /// Ends the RTI with this signal and returns its log.
    pub(super) fn stop_by(mut self, signal: Signal) -> String {
        signal_group(self.pid(), signal).unwrap();
        let status = self.child.wait().unwrap();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        assert!(status.success(), "{status}: {}", self.log());
        self.log()
    }
}

impl Drop for Rti {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// An RTI and two federates that exchange updates continuously.
pub(super) struct Scene {
    pub(super) rti: Rti,
    stops: Arc<AtomicBool>,
    exchanged: Arc<AtomicU64>,
    others: Option<JoinHandle<()>>,
    machine: Machine,
}

/// Exchanges that prove that the federates still make progress.
const SOME: u64 = 20;

impl Scene {
    pub(super) fn begin(test: &str, arguments: &[&str]) -> Self {
        Self::begin_after(test, ":", arguments)
    }

    /// With an RTI that starts after a command of the shell, such as `ulimit -v`.
    pub(super) fn begin_after(test: &str, before: &str, arguments: &[&str]) -> Self {
        let machine = Machine::take(test);
        let rti = Rti::start_after(&machine, before, arguments);
        let (stops, exchanged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (address, stop, count) = (rti.tcp(), Arc::clone(&stops), Arc::clone(&exchanged));
        let others = std::thread::spawn(move || exchange(address, &stop, &count));
        let scene = Self { rti, stops, exchanged, others: Some(others), machine };
        scene.others_go_on();
        scene
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.rti.tcp()
    }

    /// Runs `hemiola`, which must succeed.
    pub(super) fn hemiola(&self, arguments: &[&str]) -> Ended {
        self.machine.hemiola(arguments).with_code(0)
    }

    /// Waits until the two others have exchanged some more.
    pub(super) fn others_go_on(&self) {
        let wanted = self.exchanged.load(Ordering::Relaxed) + SOME;
        let limit = Instant::now() + PATIENCE;
        while self.exchanged.load(Ordering::Relaxed) < wanted {
            let failed = self.others.as_ref().is_none_or(JoinHandle::is_finished);
            assert!(!failed, "the others have failed; the log:\n{}", self.rti.log());
            assert!(Instant::now() < limit, "the others stand still; the log:\n{}", self.rti.log());
            sleep(Duration::from_millis(1));
        }
    }

    /// Asserts that the two federates made progress without loss, and that the RTI ends in order and leaves nothing.
    /// Returns its log.
    pub(super) fn end(mut self) -> String {
        self.others_go_on();
        self.stops.store(true, Ordering::Relaxed);
        self.others.take().unwrap().join().expect("the others have lost nothing");
        let log = self.rti.stop();
        assert!(!log.contains("panicked"), "{log}");
        self.machine.nothing_is_left();
        log
    }
}

/// One updates, the other reflects, in turn; every value arrives once and in order.
fn exchange(address: SocketAddr, stops: &AtomicBool, count: &AtomicU64) {
    let mut publisher = Peer::joined(address, "Others");
    let instance = publisher.register();
    let mut subscriber = Peer::joined(address, "Others");
    subscriber.subscribe();
    assert_eq!(subscriber.callback().name(), "DiscoverObjectInstance");
    let mut longest = Duration::ZERO;
    for number in 0_u64.. {
        if stops.load(Ordering::Relaxed) {
            println!("the longest of {number} exchanges of the others: {longest:?}");
            return;
        }
        let begin = Instant::now();
        publisher.call(update(instance, number.to_be_bytes().to_vec())).unwrap();
        assert_eq!(value(subscriber.callback()), number.to_be_bytes()[..]);
        longest = longest.max(begin.elapsed());
        count.store(number + 1, Ordering::Relaxed);
        // This test checks progress, not speed.
        sleep(Duration::from_millis(1));
    }
}
