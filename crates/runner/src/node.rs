//! The child's side: THE loop that every process of a scenario runs in.
//!
//! Two phases. *Prepare*: take over the inherited descriptors, open the channels, lock memory, take the
//! profile, tell the runner what was granted. *Run*: release → receive → step → send → record, with no
//! allocation and no system call but the channel's and the clock's.

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use hemiola_bus::{Handle, Readiness, ReceiveError, Receiver, Sender};
use hemiola_record::Recorder;
use hemiola_rt::clock::{Calibration, Clock, FastClock};
use hemiola_rt::periodic::Periodic;
use hemiola_rt::sys;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Bytes, Instant, Overrun, Profile, Rate, Span};

use crate::federation;
use crate::launch::{Finished, Message};
use crate::task::{Job, Next, Ports, Task};
use crate::tasks::{self, Work};

/// Everything a child must know, as one piece of plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeSpec {
    /// The process's name in the scenario.
    pub(crate) name: String,
    /// What it asks of the operating system.
    pub(crate) profile: Profile,
    /// What it does.
    pub(crate) work: Work,
    /// What sets off its jobs.
    pub(crate) activation: Activation,
    /// The period of the control cycle it takes part in.
    pub(crate) period: Span,
    /// From release to deadline.
    pub(crate) deadline: Span,
    /// The outgoing channel.
    pub(crate) sends: Option<Port>,
    /// The incoming channel.
    pub(crate) receives: Option<Port>,
    /// The latest-value channel whose first message ends the run.
    pub(crate) stop: Handle,
    /// Descriptor of the recorder's log.
    pub(crate) log: i32,
    /// The clock as the runner calibrated it, the same for all.
    pub(crate) calibration: Calibration,
    /// Limits that stop a unit which takes more than its share.
    pub(crate) limits: Option<Limits>,
}

/// A channel as a node uses it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Port {
    /// Its number in the variant, for the record.
    pub(crate) index: u16,
    /// How to open it.
    pub(crate) handle: Handle,
}

/// What sets off a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Activation {
    /// The clock; this many jobs.
    Every {
        /// How often.
        rate: Rate,
        /// What to do when late.
        overrun: Overrun,
        /// How long before each release it wakes.
        lead: Span,
        /// How many releases the run has; `u64::MAX` runs until told to stop.
        releases: u64,
        /// The turns it takes, instead of running from the beginning to the end.
        turns: Option<Turns>,
    },
    /// A message on the incoming channel.
    Message,
    /// What its task says.
    Task,
}

/// When a load works that takes turns: in the second and the third of every four.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Turns {
    /// When the first turn begins, from the first release.
    pub(crate) from: Span,
    /// The length of one.
    pub(crate) turn: Span,
    /// How many times four there are.
    pub(crate) fours: u64,
}

impl Turns {
    /// When it begins to work each time, from the first release.
    fn beginnings(self) -> impl Iterator<Item = Span> {
        (0..self.fours).map(move |four| self.from + self.turn * (4 * four as i64 + 1))
    }

    /// Releases each time; the last job has its whole period.
    fn releases(self, rate: Rate) -> u64 {
        ((self.turn * 2).nanos() / rate.period().nanos()).max(1) as u64
    }
}

/// What the kernel stops a unit for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Processor time at a real-time priority without ever waiting (setrlimit(2), `RLIMIT_RTTIME`).
    pub(crate) unbroken: Span,
    /// Address space (setrlimit(2), `RLIMIT_AS`).
    pub(crate) memory: Bytes,
}

impl Limits {
    /// Applies them to this process, for whatever it executes too.
    fn apply(self) -> std::io::Result<()> {
        sys::process::set_rt_time_limit(std::process::id(), self.unbroken)?;
        let at_most = |limit| Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(Resource::As, at_most(self.memory.0))?;
        // A unit that crashes is an everyday event here, and a core file takes time and space.
        setrlimit(Resource::Core, at_most(0))?;
        Ok(())
    }
}

/// Pairs of marks measured before the first release.
const PAIRS: u32 = 200;

/// The child process: reads what it is to do from standard input, does it, says how it went.
#[must_use]
pub fn node_main() -> ExitCode {
    let Ok(stdin) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(70);
    };
    let mut line = Line::from(UnixStream::from(stdin));
    let Some(Message::Prepare(spec)) = line.hear() else {
        // Started by hand, or the runner is gone: there is nobody to tell.
        return ExitCode::from(64);
    };
    match node(*spec, &mut line) {
        Ok(finished) => {
            line.say(&Message::Finished(Box::new(finished)));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            line.say(&Message::Failed(reason));
            ExitCode::FAILURE
        }
    }
}

fn node(spec: NodeSpec, line: &mut Line) -> Result<Finished, String> {
    let because = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    sys::process::set_parent_death_signal(sys::process::Signal::KILL)
        .map_err(|e| because("parent-death signal", &e))?;
    // What the kernel's record and other tools call it; names there have 15 bytes.
    let _ = std::ffi::CString::new(spec.name.as_str()).map(|name| rustix::thread::set_name(&name));
    if let Some(limits) = spec.limits {
        limits.apply().map_err(|e| because("limits of a unit", &e))?;
    }
    if let Work::Foreign(foreign) = &spec.work {
        return foreign_program(&spec, foreign, line);
    }
    let log =
        sys::descriptor::duplicate(spec.log).map_err(|e| because("the recorder's log", &e))?;
    let clock = FastClock::from(spec.calibration);
    let mut recorder =
        Recorder::attach(log, clock).map_err(|e| because("the recorder's log", &e))?;
    if let Work::Rti(work) = spec.work {
        let profile = spec.profile;
        let apply = || hemiola_rt::profile::apply(&profile);
        let before = sys::usage::thread_switches();
        let mut finished = federation::serve(work, recorder, apply, line)?;
        let after = sys::usage::thread_switches();
        finished.voluntary_switches = after.voluntary - before.voluntary;
        finished.involuntary_switches = after.involuntary - before.involuntary;
        return Ok(finished);
    }
    let mut stop =
        hemiola_bus::open_receiver(&spec.stop).map_err(|e| because("the stop channel", &e))?;
    let mut task = tasks::prepare(spec.work, spec.period, spec.calibration)?;
    let sender = spec.sends.as_ref().map(|port| hemiola_bus::open_sender(&port.handle)).transpose();
    let receiver =
        spec.receives.as_ref().map(|port| hemiola_bus::open_receiver(&port.handle)).transpose();
    let granted = hemiola_rt::profile::apply(&spec.profile);
    recorder.measure_pair(PAIRS);
    let mut node = Node {
        sender: sender.map_err(|e| because("the outgoing channel", &e))?,
        receiver: receiver.map_err(|e| because("the incoming channel", &e))?,
        send_index: spec.sends.map_or(0, |port| port.index),
        receive_index: spec.receives.map_or(0, |port| port.index),
        deadline: spec.deadline,
        cycle: 0,
        cpu: Span::ZERO,
        ended: None,
        recorder,
        jobs: 0,
    };
    line.say(&Message::Ready(granted));
    let Some(Message::Start(epoch)) = line.hear() else { return Err("no start was given".into()) };

    task.begin(epoch);
    let before = sys::usage::thread_switches();
    let mut flag = [0; STOP_SIZE];
    let mut is_over = false;
    let mut over = || {
        is_over |= stop.receive(&mut flag).is_ok_and(|message| message.is_some());
        is_over
    };
    let stopped_early = match spec.activation {
        Activation::Every { rate, overrun, lead, releases, turns: None } => {
            let periodic = Periodic::new(epoch, rate, overrun).with_lead(lead);
            let releases = 0..releases;
            node.run_periodic(&mut *task, periodic, lead.is_positive(), releases, &mut over)
        }
        Activation::Every { rate, overrun, lead, turns: Some(turns), .. } => {
            let each = turns.releases(rate);
            turns.beginnings().zip((0..).step_by(each as usize)).find_map(|(after, first)| {
                let periodic = Periodic::new(epoch + after, rate, overrun).with_lead(lead);
                let releases = first..first + each;
                let warms_up = lead.is_positive();
                node.run_periodic(&mut *task, periodic, warms_up, releases, &mut over)
            })
        }
        Activation::Message => node.run_on_messages(&mut *task, &mut over),
        Activation::Task => node.run_on_task(&mut *task, &mut over),
    };
    task.close(&mut node);
    let after = sys::usage::thread_switches();
    let mut finished = Finished {
        voluntary_switches: after.voluntary - before.voluntary,
        involuntary_switches: after.involuntary - before.involuntary,
        jobs: node.jobs,
        stopped_early,
        ..Finished::default()
    };
    task.report(&mut finished);
    Ok(finished)
}

/// The world as a task sees it from inside a process.
struct Node {
    recorder: Recorder,
    sender: Option<Box<dyn Sender>>,
    receiver: Option<Box<dyn Receiver>>,
    send_index: u16,
    receive_index: u16,
    deadline: Span,
    cycle: u32,
    /// Processor time of this thread when the job before the last was settled.
    cpu: Span,
    /// Finish and deadline of the last job, until they are recorded.
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
                self.settle();
                task.warm_up(self);
            }
            let release = match periodic.wait(self.recorder.clock()) {
                Ok(release) => release,
                Err(stopped) => return Some(stopped.to_string()),
            };
            // Whatever the record of the last job still needs comes before this job's first stamp: at the
            // end of the last one, somebody was waiting for the processor.
            self.settle();
            // The last job has had its whole period, and none begins after.
            let number = releases.start.saturating_add(release.number);
            if number >= releases.end || over() {
                return None;
            }
            let start = self.now();
            self.begin(number, release.at, start, release.skipped);
            task.step(&Job { cycle: number, release: release.at, message: &[] }, self);
            self.end(release.at);
            if let Some(fault) = task.fault() {
                let fault = fault.to_owned();
                self.settle();
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
                    self.begin(cycle, release, start, 0);
                    task.step(&Job { cycle, release, message: &[] }, self);
                    self.end(release);
                    self.settle();
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
            task.before_message(self);
            // Without a time limit: setting a timer is a trip to the hypervisor on a virtual machine, in the
            // middle of a cycle. Whoever ends the run sends a message.
            let receiver =
                self.receiver.as_mut().expect("a process set off by messages has a channel");
            let taken = receiver.take(&mut buffer, Instant::MAX);
            let received = self.recorder.clock().now();
            let message = match taken {
                Ok(Some(message)) => message,
                // Torn, or gone again: the next one will do.
                Ok(None) | Err(ReceiveError::Torn) => continue,
                Err(error) => return Some(format!("the incoming channel: {error}")),
            };
            let Some((cycle, release)) = task.trigger(message) else {
                if over() {
                    return None;
                }
                continue;
            };
            self.begin(cycle, release, received, 0);
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
            self.settle();
            self.recorder.clock().anchor();
            if over() {
                return None;
            }
        }
    }

    fn begin(&mut self, cycle: u64, release: Instant, start: Instant, skipped: u64) {
        // A run of 2³² cycles at 1 kHz takes seven weeks; the record counts modulo that.
        self.cycle = cycle as u32;
        self.recorder.push(Entry {
            at: start,
            kind: EventKind::Start,
            arg: u16::try_from(skipped).unwrap_or(u16::MAX),
            cycle: self.cycle,
            a: release.nanos(),
            b: 0,
        });
    }

    fn end(&mut self, release: Instant) {
        self.ended = Some((self.now(), (release + self.deadline).nanos()));
        self.jobs += 1;
    }

    /// Records the end of the last job with the processor time it took: asking for that is a system call,
    /// so it is done where nobody waits.
    fn settle(&mut self) {
        let Some((finish, deadline)) = self.ended.take() else { return };
        let cpu = sys::cpu_clock::thread();
        let execution = (cpu - self.cpu).nanos().max(0) as u64;
        self.cpu = cpu;
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

/// Bytes of the message that ends a run.
pub(crate) const STOP_SIZE: usize = 8;
/// The longest message a task takes.
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

/// Turns this process into the foreign program: the profile stays, the line to the runner does not.
fn foreign_program(
    spec: &NodeSpec,
    foreign: &tasks::Foreign,
    line: &mut Line,
) -> Result<Finished, String> {
    let granted = hemiola_rt::profile::apply(&spec.profile);
    line.say(&Message::Ready(granted));
    let Some(Message::Start(_)) = line.hear() else { return Err("no start was given".into()) };
    let error = Command::new(&foreign.program)
        .args(&foreign.arguments)
        .envs(foreign.environment.iter().map(|(key, value)| (key, value)))
        .stdin(std::process::Stdio::null())
        .exec();
    Err(format!("{} cannot be executed: {error}", foreign.program))
}

/// The child's end of the line to the runner.
pub(crate) struct Line {
    stream: BufReader<UnixStream>,
}

impl From<UnixStream> for Line {
    fn from(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }
}

impl Line {
    /// A second one, to hear what this one will hear no more.
    pub(crate) fn another(&self) -> std::io::Result<Self> {
        self.stream.get_ref().try_clone().map(Self::from)
    }

    pub(crate) fn say(&mut self, message: &Message) {
        let mut line = serde_json::to_string(message).expect("plain data has a JSON form");
        line.push('\n');
        // A runner that is gone takes this process with it; there is nobody to tell.
        let _ = self.stream.get_mut().write_all(line.as_bytes());
    }

    pub(crate) fn hear(&mut self) -> Option<Message> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }
}
