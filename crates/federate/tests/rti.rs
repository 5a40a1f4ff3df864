//! An RTI in this process, and the ways to it.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use hemiola_federate::{Federate, Options, RtiAddress};
use hemiola_rtid::{Server, Stopper};

/// A running RTI; it stops when it is dropped.
pub(crate) struct Rti {
    pub(crate) tcp: RtiAddress,
    shared_memory: RtiAddress,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// A way to an RTI.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Tcp,
    /// Shared memory, asked for with a socket.
    SharedMemory,
    /// Shared memory within this process.
    Within,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::SharedMemory, Self::Within];
}

impl Rti {
    pub(crate) fn start() -> Self {
        let name = new_name();
        let server = Server::bind(options(&name)).unwrap();
        let tcp = server.addresses().tcp[0].to_string().parse().unwrap();
        let stopper = server.stopper();
        let thread = Some(thread::spawn(move || {
            server.run().unwrap();
        }));
        Self { tcp, shared_memory: RtiAddress::SharedMemory(name), stopper, thread }
    }

    pub(crate) fn connect(&self, way: Way, options: Options) -> Federate {
        match way {
            Way::Tcp => Federate::connect(&self.tcp, options).unwrap(),
            Way::SharedMemory => Federate::connect(&self.shared_memory, options).unwrap(),
            Way::Within => Federate::over(self.stopper.connect().unwrap(), options).unwrap(),
        }
    }
}

impl Drop for Rti {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A name that no other RTI has.
fn new_name() -> String {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed))
}

fn options(name: &str) -> hemiola_rtid::Options {
    hemiola_rtid::Options {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        local: Some(name.to_owned()),
        ..hemiola_rtid::Options::default()
    }
}

/// An RTI in a process of its own, which is killed when it is dropped.
pub(crate) struct Elsewhere {
    pub(crate) address: RtiAddress,
    process: Child,
}

/// Says to this program that it is an RTI of this name, and no test.
const ROLE: &str = "HEMIOLA_TEST_RTI";

impl Elsewhere {
    pub(crate) fn start() -> Self {
        let name = new_name();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["rti::serves_other_tests_in_a_process_of_its_own", "--exact"])
            .env(ROLE, &name)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { address: RtiAddress::SharedMemory(name), process }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the process does that another test started; alone it has nothing to do.
#[test]
fn serves_other_tests_in_a_process_of_its_own() {
    if let Ok(name) = std::env::var(ROLE) {
        Server::bind(options(&name)).unwrap().run().unwrap();
    }
}
