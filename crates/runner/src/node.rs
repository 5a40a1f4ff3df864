//! The child's side: THE loop that every process of a scenario runs in.
//!
//! Two phases. *Prepare*: take over the inherited descriptors, open the channels, lock memory, take the
//! profile, report to the runner what was granted. *Run*: release → receive → step → send → record, with no
//! allocation and no system call but the channel's and the clock's.

use std::io;
use std::ops::Range;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setrlimit};

use hemiola_bus::{Readiness, ReceiveError, Receiver, Sender};
use hemiola_record::Recorder;
use hemiola_rt::clock::{Clock, FastClock};
use hemiola_rt::periodic::Periodic;
use hemiola_rt::sys;
use hemiola_scenario::Release;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Bytes, Granted, Instant, Policy, Span};

use crate::launch::{Finished, Line, Message};
use crate::spec::{Limits, NodeSpec, OwnUser};
use crate::task::{Job, Next, Ports, Task};
use crate::tasks::{Body, TaskKind, kind};

/// Pairs of marks measured before the first release.
const PAIRS: u32 = 200;
/// The longest file that a unit may write: hours of output, and a small part of a disk.
const FILE_SIZE_MAX: Bytes = Bytes(64 << 20);
/// Processes and threads of a unit with a user id of its own: enough for libraries that start a thread per processor.
const TASKS_MAX: u64 = 32;

/// The child process: receives its `NodeSpec` on standard input, runs its task, reports how it ended.
#[must_use]
pub fn node_main() -> ExitCode {
    let Ok(mut line) = Line::of_stdin() else { return ExitCode::from(70) };
    let Some(Message::Prepare(spec)) = line.receive() else {
        // Started by hand, or the runner is gone: nothing can receive a report.
        return ExitCode::from(64);
    };
    match node(*spec, &mut line) {
        Ok(finished) => {
            line.send(&Message::Finished(Box::new(finished)));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            line.send(&Message::Failed(reason));
            ExitCode::FAILURE
        }
    }
}

fn node(spec: NodeSpec, line: &mut Line) -> Result<Finished, String> {
    sys::process::set_parent_death_signal(sys::process::Signal::KILL)
        .map_err(because("parent-death signal"))?;
    // Its name in the kernel's record and in other tools, which is cut to 15 bytes.
    let name = std::ffi::CString::new(spec.process.name.as_str());
    let _ = name.map(|name| rustix::thread::set_name(&name));
    if let Some(limits) = spec.limits {
        limits.apply().map_err(because("limits of a unit"))?;
    }
    let kind = kind(&spec.process.task);
    match kind.body {
        Body::Loop(prepare) => run_task(kind, spec, line, prepare),
        Body::Own(run) => run(spec, line),
    }
}

/// An error with what was tried.
fn because<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}

impl Limits {
    /// Applies them to this process, and to a program executed in its place.
    fn apply(self) -> io::Result<()> {
        sys::process::set_rt_time_limit(std::process::id(), self.unbroken)?;
        let at_most = |limit| Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(Resource::As, at_most(self.memory.0))?;
        // A unit that crashes is an everyday event here, and a core file takes time and space.
        setrlimit(Resource::Core, at_most(0))?;
        // Its output, too, which is on the disk of the results.
        setrlimit(Resource::Fsize, at_most(FILE_SIZE_MAX.0))?;
        // With a user id of its own it has no privilege to lock memory. A refusal leaves a lower limit as it is.
        let _ = setrlimit(Resource::Memlock, at_most(self.memory.0));
        sys::process::end_first_without_memory()
    }

    /// Once the profile is known to be granted: gives up real-time priority until the decision module gives it back,
    /// the power to take it, and the run's user. Returns the user id of its own that the process has then.
    pub(crate) fn settle(self, granted: &Granted) -> Result<Option<u32>, String> {
        // The power that is given up contains a part of this.
        let may_change_user = sys::process::may_change_user();
        if !matches!(granted.scheduling, Policy::Other { .. }) {
            sys::sched::set_own_policy(None, &Policy::Other { nice: 0 })
                .map_err(because("the policy of a starting unit"))?;
        }
        sys::process::give_up_power().map_err(because("the capabilities of a unit"))?;
        self.user.map_or(Ok(None), |user| user.take(may_change_user))
    }
}

impl OwnUser {
    /// Gives this process the user id, if that is permitted, and limits that count for this user alone. Returns the id
    /// that it has.
    fn take(self, is_permitted: bool) -> Result<Option<u32>, String> {
        let taken = if is_permitted {
            sys::process::become_user(self.id)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        };
        match taken {
            Ok(()) => {}
            // A user namespace does not have the id (user_namespaces(7)).
            Err(error) if !self.is_required && is_refusal(&error) => return Ok(None),
            Err(error) => {
                return Err(format!(
                    "a user id of its own was refused: {error}; the run needs CAP_SETUID, CAP_SETGID and CAP_KILL, as \
                     root has them, or write user = \"run\""
                ));
            }
        }
        let tasks = Rlimit { current: Some(TASKS_MAX), maximum: Some(TASKS_MAX) };
        setrlimit(Resource::Nproc, tasks).map_err(because("limit of its processes"))?;
        sys::process::set_parent_death_signal(sys::process::Signal::KILL)
            .map_err(because("parent-death signal"))?;
        Ok(Some(self.id))
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput)
}

/// Opens the recorder that the runner made for this process.
pub(crate) fn recorder(spec: &NodeSpec) -> Result<Recorder, String> {
    let log = sys::descriptor::duplicate(spec.log).map_err(because("the recorder's log"))?;
    Recorder::attach(log, FastClock::from(spec.run.calibration))
        .map_err(because("the recorder's log"))
}

/// Prepares a task, waits for the start, and runs the loop to its end.
fn run_task(
    kind: &TaskKind,
    spec: NodeSpec,
    line: &mut Line,
    prepare: impl FnOnce(&NodeSpec) -> Result<Box<dyn Task>, String>,
) -> Result<Finished, String> {
    let recorder = recorder(&spec)?;
    let mut stop = hemiola_bus::open_receiver(&spec.stop).map_err(because("the stop channel"))?;
    let mut task = prepare(&spec)?;
    let sender = spec.sends.as_ref().map(|port| hemiola_bus::open_sender(&port.handle)).transpose();
    let receiver =
        spec.receives.as_ref().map(|port| hemiola_bus::open_receiver(&port.handle)).transpose();
    let granted = hemiola_rt::profile::apply(&spec.process.profile);
    task.start_threads()?;
    let mut node = Node {
        sender: sender.map_err(because("the outgoing channel"))?,
        receiver: receiver.map_err(because("the incoming channel"))?,
        send_index: spec.sends.as_ref().map_or(0, |port| port.index),
        receive_index: spec.receives.as_ref().map_or(0, |port| port.index),
        deadline: spec.process.deadline,
        cycle: 0,
        cpu: Span::ZERO,
        ended: None,
        recorder,
        jobs: 0,
    };
    node.recorder.measure_pair(PAIRS);
    let user = spec.limits.map_or(Ok(None), |limits| limits.settle(&granted))?;
    let epoch = line.await_start(granted, user)?;

    task.begin(epoch);
    let before = sys::usage::thread_switches();
    let mut flag = [0; STOP_SIZE];
    let mut is_over = false;
    let mut over = || {
        is_over |= stop.receive(&mut flag).is_ok_and(|message| message.is_some());
        is_over
    };
    let (process, run) = (&spec.process, &spec.run);
    let stopped_early = match &process.release {
        Release::Every { rate, overrun, lead } => {
            let mut run_from = |epoch: Instant, releases| {
                let periodic = Periodic::new(epoch, *rate, *overrun).with_lead(*lead);
                node.run_periodic(&mut *task, periodic, lead.is_positive(), releases, &mut over)
            };
            match (kind.turns)(process, run) {
                Some(turns) => {
                    let each = turns.releases(rate.period());
                    let mut starts = turns.beginnings().zip((0..).step_by(each as usize));
                    starts.find_map(|(after, first)| run_from(epoch + after, first..first + each))
                }
                None if (kind.paces)(process, &run.variant) => {
                    run_from(epoch, 0..run.releases(*rate))
                }
                None => run_from(epoch, 0..u64::MAX),
            }
        }
        Release::On { .. } => node.run_on_messages(&mut *task, &mut over),
        Release::Federation => node.run_on_task(&mut *task, &mut over),
        Release::Own => return Err("a task of ours does not pace itself".into()),
    };
    task.close(&mut node);
    let after = sys::usage::thread_switches();
    Ok(Finished {
        voluntary_switches: after.voluntary - before.voluntary,
        involuntary_switches: after.involuntary - before.involuntary,
        jobs: node.jobs,
        stopped_early,
        report: task.report(),
    })
}

/// The ports of a task in a process of its own.
struct Node {
    recorder: Recorder,
    sender: Option<Box<dyn Sender>>,
    receiver: Option<Box<dyn Receiver>>,
    send_index: u16,
    receive_index: u16,
    deadline: Span,
    cycle: u32,
    /// Processor time of this thread up to which it is accounted for.
    cpu: Span,
    /// Finish and deadline of the last job, until [`Node::record_end`].
    ended: Option<(Instant, u64)>,
    jobs: u64,
}

impl Node {
    fn run_periodic(
        &mut self,
        task: &mut dyn Task,
        mut periodic: Periodic,
        warms_up: bool,
        releases: Range<u64>,
        over: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        self.cpu = sys::cpu_clock::thread();
        loop {
            if let Err(stopped) = periodic.approach(self.recorder.clock()) {
                return Some(stopped.to_string());
            }
            if warms_up {
                self.record_end();
                self.cpu = sys::cpu_clock::thread();
                task.warm_up(self);
            }
            let warmed = warms_up.then(|| (self.take_cpu(), self.now()));
            let release = match periodic.wait(self.recorder.clock()) {
                Ok(release) => release,
                Err(stopped) => return Some(stopped.to_string()),
            };
            // The record of the last job is completed before this job's first stamp, and not at the end of the
            // last job, when another process was waiting for the processor.
            self.record_end();
            // The last job has had its whole period, and no other begins.
            let number = releases.start.saturating_add(release.number);
            if number >= releases.end || over() {
                return None;
            }
            let start = self.now();
            let warm_up = warmed.map_or(Span::ZERO, |(used, since)| {
                // It has kept the processor busy since then. Its processor time is not read here, where a job begins.
                self.cpu += start - since;
                used + (start - since)
            });
            self.begin(number, release.at, start, release.skipped, warm_up);
            task.step(&Job { cycle: number, release: release.at, message: &[] }, self);
            self.end(release.at);
            if let Some(fault) = task.fault() {
                let fault = fault.to_owned();
                self.record_end();
                return Some(fault);
            }
        }
    }

    fn run_on_task(
        &mut self,
        task: &mut dyn Task,
        over: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        self.cpu = sys::cpu_clock::thread();
        loop {
            let next = task.next();
            let start = self.recorder.clock().anchor();
            if let Some(fault) = task.fault() {
                return Some(fault.to_owned());
            }
            match next {
                Next::Job { cycle, release } => {
                    self.begin(cycle, release, start, 0, Span::ZERO);
                    task.step(&Job { cycle, release, message: &[] }, self);
                    self.end(release);
                    self.record_end();
                }
                Next::Nothing => {}
                Next::Over => return None,
            }
            if over() {
                return None;
            }
        }
    }

    fn run_on_messages(
        &mut self,
        task: &mut dyn Task,
        over: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        self.cpu = sys::cpu_clock::thread();
        let mut buffer = [0; MESSAGE_LEN_MAX];
        loop {
            let warm_up = task.before_message(self);
            self.cpu += warm_up;
            // Without a time limit: on a virtual machine, setting a timer is a trip to the hypervisor in the
            // middle of a cycle. The runner sends a message when it ends the run.
            let receiver =
                self.receiver.as_mut().expect("a process released by messages has a channel");
            let taken = receiver.take(&mut buffer, Instant::MAX);
            let received = self.recorder.clock().now();
            let message = match taken {
                Ok(Some(message)) => message,
                // Torn, or overwritten meanwhile: the next one will do.
                Ok(None) | Err(ReceiveError::Torn) => continue,
                Err(error) => return Some(format!("the incoming channel: {error}")),
            };
            let Some((cycle, release)) = task.trigger(message) else {
                if over() {
                    return None;
                }
                continue;
            };
            self.begin(cycle, release, received, 0, warm_up);
            self.recorder.push(Entry {
                at: received,
                kind: EventKind::Receive,
                arg: self.receive_index,
                cycle: self.cycle,
                a: 0,
                b: 0,
            });
            task.step(&Job { cycle, release, message }, self);
            self.end(release);
            self.record_end();
            self.recorder.clock().anchor();
            if over() {
                return None;
            }
        }
    }

    fn begin(&mut self, cycle: u64, release: Instant, start: Instant, skipped: u64, warm_up: Span) {
        // The record counts modulo 2³²: seven weeks at 1 kHz.
        self.cycle = cycle as u32;
        self.recorder.push(Entry {
            at: start,
            kind: EventKind::Start,
            arg: u16::try_from(skipped).unwrap_or(u16::MAX),
            cycle: self.cycle,
            a: release.nanos(),
            b: warm_up.nanos().max(0) as u64,
        });
    }

    /// Takes the processor time of this thread since it was last taken.
    fn take_cpu(&mut self) -> Span {
        let cpu = sys::cpu_clock::thread();
        let used = cpu - self.cpu;
        self.cpu = cpu;
        used
    }

    fn end(&mut self, release: Instant) {
        self.ended = Some((self.now(), (release + self.deadline).nanos()));
        self.jobs += 1;
    }

    /// Records the end of the last job with the processor time it took. Reading that is a system call, so this is
    /// called where no other process waits.
    fn record_end(&mut self) {
        let Some((finish, deadline)) = self.ended.take() else { return };
        let execution = self.take_cpu().nanos().max(0) as u64;
        self.recorder.push(Entry {
            at: finish,
            kind: EventKind::Finish,
            arg: 0,
            cycle: self.cycle,
            a: deadline,
            b: execution,
        });
    }

    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.receiver.as_mut()?.receive(buffer).ok().flatten().map(<[u8]>::len)
    }
}

/// Bytes of a message on the stop channel.
pub(crate) const STOP_SIZE: usize = 8;
/// Bytes of the longest message of a channel.
pub(crate) const MESSAGE_LEN_MAX: usize = 256;

impl Ports for Node {
    fn now(&mut self) -> Instant {
        self.recorder.clock().now()
    }

    fn mark(&mut self, kind: EventKind, arg: u16, a: u64, b: u64) {
        self.recorder.mark(kind, arg, self.cycle, a, b);
    }

    fn send(&mut self, message: &[u8]) -> bool {
        self.mark(EventKind::Send, self.send_index, 0, 0);
        self.sender.as_mut().is_some_and(|sender| sender.send(message).is_ok())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let len = self.take(buffer)?;
        self.mark(EventKind::Receive, self.receive_index, 0, 0);
        Some(len)
    }

    fn warm_up(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            receiver.warm_up();
        }
        if let Some(sender) = &mut self.sender {
            sender.warm_up();
        }
    }

    fn wait(&mut self, until: Instant) -> bool {
        self.receiver.as_mut().is_some_and(|receiver| {
            receiver.wait(until).is_ok_and(|ready| ready == Readiness::Ready)
        })
    }
}
