//! The process of the RTI: an ordinary server, and a record of when it was at work.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use hemiola_record::Recorder;
use hemiola_rtid::{Observer, Options, Server};
use hemiola_scenario::Transport;
use hemiola_trace::result::TURN;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Granted, Instant, RtiAddress};

use crate::launch::{Finished, Message};
use crate::node::Line;

/// What the RTI must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RtiWork {
    /// How federates reach it.
    pub(crate) transport: Transport,
    /// Its name on this machine.
    pub(crate) name: String,
    /// The network name space it runs in.
    pub(crate) namespace: Option<String>,
}

/// Serves until the runner says so. `apply` takes the profile, once it listens and before it serves.
pub(crate) fn serve(
    work: RtiWork,
    recorder: Recorder,
    apply: impl FnOnce() -> Granted,
    line: &mut Line,
) -> Result<Finished, String> {
    if let Some(namespace) = &work.namespace {
        super::enter(namespace)?;
    }
    let listen: Vec<SocketAddr> = match work.transport {
        Transport::Shm => Vec::new(),
        Transport::Tcp(address) => vec![address],
    };
    // Also where federates come by TCP: for who asks how it goes.
    let local = Some(work.name.clone());
    let observer: Box<dyn Observer + Send> = Box::new(Turns { recorder, number: 0 });
    let options = Options { listen, local, observer: Some(observer), ..Options::default() };
    let server = Server::bind(options).map_err(|error| error.to_string())?;
    let address = match server.addresses().tcp.first() {
        Some(address) => RtiAddress::Tcp { host: address.ip().to_string(), port: address.port() },
        None => RtiAddress::SharedMemory(work.name),
    };
    let stopper = server.stopper();
    let mut runner = line.another().map_err(|error| format!("the line to the runner: {error}"))?;
    // It waits for one line all the time; what it inherits of the profile does not matter.
    std::thread::Builder::new()
        .name("stop".into())
        .spawn(move || {
            // The start of the run is nothing to the RTI; whatever else comes is the end.
            while let Some(Message::Start(_)) = runner.hear() {}
            stopper.stop();
        })
        .map_err(|error| format!("a thread: {error}"))?;
    let granted = apply();
    line.say(&Message::Serving(address));
    line.say(&Message::Ready(granted));
    let summary = server.run().map_err(|error| error.to_string())?;
    Ok(Finished { jobs: summary.turns, ..Finished::default() })
}

/// Records each turn of the RTI that did something, as a job.
struct Turns {
    recorder: Recorder,
    number: u32,
}

impl Observer for Turns {
    fn busy(&mut self, from: Instant, to: Instant, calls: u32, callbacks: u32) {
        let cycle = self.number;
        self.number = cycle.wrapping_add(1);
        let mut push = |at, kind, arg, a, b| {
            self.recorder.push(Entry { at, kind, arg, cycle, a, b });
        };
        push(from, EventKind::Start, 0, from.nanos(), 0);
        push(to, EventKind::Mark, TURN, u64::from(calls), u64::from(callbacks));
        push(to, EventKind::Finish, 0, to.nanos(), (to - from).nanos().max(0) as u64);
    }
}
