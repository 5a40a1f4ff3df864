//! An RTI in this process, and the ways to it.

use std::thread::{self, JoinHandle};

use hemiola_federate::{Federate, Options, RtiAddress};
use hemiola_rtid::{Server, Stopper};

/// A running RTI; it stops when it is dropped.
pub(crate) struct Rti {
    pub(crate) tcp: RtiAddress,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// A way to an RTI.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Tcp,
}

impl Way {
    pub(crate) const ALL: [Self; 1] = [Self::Tcp];
}

impl Rti {
    pub(crate) fn start() -> Self {
        let options = hemiola_rtid::Options {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            local: None,
            ..hemiola_rtid::Options::default()
        };
        let server = Server::bind(options).unwrap();
        let tcp = server.addresses().tcp[0].to_string().parse().unwrap();
        let stopper = server.stopper();
        let thread = Some(thread::spawn(move || {
            server.run().unwrap();
        }));
        Self { tcp, stopper, thread }
    }

    pub(crate) fn connect(&self, way: Way, options: Options) -> Federate {
        match way {
            Way::Tcp => Federate::connect(&self.tcp, options).unwrap(),
        }
    }
}

impl Drop for Rti {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}
