//! The process of the RTI: an ordinary server, and a record of when it was at work.

use std::net::SocketAddr;

use hemiola_record::Recorder;
use hemiola_rt::sys::usage::thread_switches;
use hemiola_rtid::{Observer, Options, REAL_TIME_HOLD_MAX, Server};
use hemiola_scenario::{Task, Transport};
use hemiola_trace::result::{Role, TURN};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Policy, RtiAddress};

use super::modes;
use crate::launch::{Finished, Line, Message};
use crate::node::recorder;
use crate::spec::NodeSpec;
use crate::tasks::{Body, StopBy, TaskKind};

pub(crate) const RTI: TaskKind = TaskKind {
    // Federates join while they prepare, and resign at their end.
    is_ready_first: true,
    stop_by: StopBy::Message,
    name_marks: |names| names.insert(EventKind::Mark, TURN, "turn"),
    describe: |of, record| record.federation = modes::record(of.variant, &of.process.name),
    ..TaskKind::new(Role::Rti, Body::Own(run))
};

fn run(spec: NodeSpec, line: &mut Line) -> Result<Finished, String> {
    let Some(federation) = &spec.run.variant.federation else {
        return Err("an RTI without a federation".into());
    };
    if let Task::Rti { namespace: Some(namespace) } = &spec.process.task {
        super::enter(namespace)?;
    }
    let listen: Vec<SocketAddr> = match federation.transport {
        Transport::Shm => Vec::new(),
        Transport::Tcp(address) => vec![address],
    };
    // Shared memory also where federates use TCP: for `hemiola rti status`.
    let local = Some(spec.run.id.clone());
    let observer: Box<dyn Observer + Send> =
        Box::new(Turns { recorder: recorder(&spec)?, number: 0 });
    let mut options = Options { listen, local, observer: Some(observer), ..Options::default() };
    if !matches!(spec.process.profile.scheduling, Policy::Other { .. }) {
        options.settings.hold_max = REAL_TIME_HOLD_MAX;
    }
    let server = Server::bind(options).map_err(|error| error.to_string())?;
    let address = match server.addresses().tcp.first() {
        Some(address) => RtiAddress::Tcp { host: address.ip().to_string(), port: address.port() },
        None => RtiAddress::SharedMemory(spec.run.id.clone()),
    };
    let stopper = server.stopper();
    let mut runner =
        line.another().map_err(|error| format!("the connection to the runner: {error}"))?;
    // Started before the profile is applied; it waits for one message all the time.
    std::thread::Builder::new()
        .name("stop".into())
        .spawn(move || {
            // The start of the run is ignored; any other message, or none, is the end.
            while let Some(Message::Start(_)) = runner.receive() {}
            stopper.stop();
        })
        .map_err(|error| format!("a thread: {error}"))?;
    let before = thread_switches();
    let granted = hemiola_rt::profile::apply(&spec.process.profile);
    line.send(&Message::Ready { granted, user: None, rti: Some(address) });
    let summary = server.run().map_err(|error| error.to_string())?;
    let after = thread_switches();
    Ok(Finished {
        voluntary_switches: after.voluntary - before.voluntary,
        involuntary_switches: after.involuntary - before.involuntary,
        jobs: summary.turns,
        ..Finished::default()
    })
}

/// Records each turn of the RTI that did work, as a job.
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
