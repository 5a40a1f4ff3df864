//! An RTI in this process, and the transports that reach it.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use hemiola_federate::{Federate, Options, RtiAddress};
use hemiola_rtid::{Server, Stopper};

/// A running RTI. Dropping it stops the RTI.
pub(crate) struct Rti {
    pub(crate) tcp: RtiAddress,
    shared_memory: RtiAddress,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// A transport to an RTI.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transport {
    Tcp,
    /// Shared memory, opened over the local socket.
    SharedMemory,
    /// Shared memory within this process.
    InProcess,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::SharedMemory, Self::InProcess];
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

    pub(crate) fn connect(&self, transport: Transport, options: Options) -> Federate {
        match transport {
            Transport::Tcp => Federate::connect(&self.tcp, options).unwrap(),
            Transport::SharedMemory => Federate::connect(&self.shared_memory, options).unwrap(),
            Transport::InProcess => {
                Federate::over(self.stopper.connect().unwrap(), options).unwrap()
            }
        }
    }

    /// Ends a session by its number, as an operator does.
    pub(crate) fn evict(&self, session: u64) {
        let RtiAddress::SharedMemory(name) = &self.shared_memory else { unreachable!() };
        let address = SocketAddr::from_abstract_name(RtiAddress::socket_name(name)).unwrap();
        let mut operator = UnixStream::connect_addr(&address).unwrap();
        operator.write_all(format!("evict 1 {session}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        operator.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, format!("ok session {session}\n"));
    }
}

impl Drop for Rti {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Returns a name that no other RTI has.
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

/// An RTI in a process of its own. Dropping it kills the process.
pub(crate) struct RtiProcess {
    pub(crate) address: RtiAddress,
    process: Child,
}

/// The environment variable that makes this program an RTI of the given name.
const ROLE: &str = "HEMIOLA_TEST_RTI";

impl RtiProcess {
    pub(crate) fn start() -> Self {
        let name = new_name();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["rti::serve_other_tests_in_a_process_of_its_own", "--exact"])
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

impl Drop for RtiProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The RTI process that other tests start. Without the environment variable it does nothing.
#[test]
fn serve_other_tests_in_a_process_of_its_own() {
    if let Ok(name) = std::env::var(ROLE) {
        Server::bind(options(&name)).unwrap().run().unwrap();
    }
}
