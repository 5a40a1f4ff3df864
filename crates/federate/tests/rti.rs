//! An RTI in this process, and the ways to it.

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
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        let options = hemiola_rtid::Options {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            local: Some(name.clone()),
            ..hemiola_rtid::Options::default()
        };
        let server = Server::bind(options).unwrap();
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
