//! What does it cost to record every switch, how large is the recording, and what is lost, compared with other tools?
//!
//! Two threads on one processor pass a byte to and fro through pipes; no load switches more often. In another load, a
//! thread asks again and again to sleep until a time that has passed, which is recorded too. Each recorder is
//! measured in pairs against no recording, in the order A B B A, all in one run. The output is the median of the
//! paired ratios and their range. `cargo bench -p hemiola-record --bench kernel -- [PAIRS] [NAME…]`; with names, only
//! recorders whose name contains one of them.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hemiola_record::kernel::{Capture, Interface, Options};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::{cpu, process, sched, timer};
use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::{Tid, What};
use hemiola_units::{CpuSet, Policy, Priority};

/// How long another tool takes to start recording.
const SETTLE: Duration = Duration::from_millis(500);

/// The recorder under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorder {
    Ours {
        interface: Interface,
        wakes: bool,
    },
    PerfRecord,
    TraceCmd,
    /// The method of trace-cmd without trace-cmd: an instance of tracefs whose pages are read raw.
    Tracefs,
}

const RECORDERS: [Recorder; 7] = [
    Recorder::Ours { interface: Interface::Bpf, wakes: false },
    Recorder::Ours { interface: Interface::Bpf, wakes: true },
    Recorder::Ours { interface: Interface::Perf, wakes: false },
    Recorder::Ours { interface: Interface::Perf, wakes: true },
    Recorder::PerfRecord,
    Recorder::TraceCmd,
    Recorder::Tracefs,
];

impl Recorder {
    const fn name(self) -> &'static str {
        match self {
            Self::Ours { interface: Interface::Bpf, wakes: false } => "hemiola, bpf",
            Self::Ours { interface: Interface::Bpf, wakes: true } => "hemiola, bpf, with wake-ups",
            Self::Ours { wakes: false, .. } => "hemiola, perf events",
            Self::Ours { .. } => "hemiola, perf events, with wake-ups",
            Self::PerfRecord => "perf record -e sched:sched_switch",
            Self::TraceCmd => "trace-cmd record -e sched_switch",
            Self::Tracefs => "tracefs instance, raw pages",
        }
    }
}

/// The result of one recording.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    bytes: u64,
    /// Switches in it, of all threads.
    switches: u64,
    /// Events that the recorder reports as lost.
    lost: u64,
    /// Switches between the two threads that are not in it, where they can be counted.
    missing: Option<u64>,
}

/// The load to record.
struct Load {
    name: &'static str,
    /// Two threads run on each of them.
    cpus: Vec<u16>,
    fifo: bool,
    rounds: u32,
    work: Work,
}

/// What the threads of a load do in a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// They pass a byte to and fro: two switches.
    PingPong,
    /// One asks to sleep until a time that has passed.
    Sleep,
}

impl Load {
    fn switches(&self) -> u64 {
        match self.work {
            Work::PingPong => self.steps_of_processor() * self.cpus.len() as u64,
            Work::Sleep => 0,
        }
    }

    /// What a processor does, of which the cost is stated.
    fn steps_of_processor(&self) -> u64 {
        match self.work {
            Work::PingPong => 2 * u64::from(self.rounds),
            Work::Sleep => self.rounds.into(),
        }
    }
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let pairs = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(6);
    let wanted: Vec<&String> =
        arguments.iter().filter(|argument| argument.parse::<usize>().is_err()).collect();
    let cpus: Vec<u16> = cpu::online().iter().collect();
    let last = vec![*cpus.last().expect("a processor is online")];
    let loads = [
        Load {
            name: "one processor, SCHED_OTHER",
            cpus: last.clone(),
            fifo: false,
            rounds: 100_000,
            work: Work::PingPong,
        },
        Load {
            name: "one processor, SCHED_FIFO 10",
            cpus: last.clone(),
            fifo: true,
            rounds: 100_000,
            work: Work::PingPong,
        },
        // Almost nothing else runs meanwhile, including readers: only what the kernel reserves for ordinary threads.
        Load {
            name: "every processor, SCHED_FIFO 10",
            cpus,
            fifo: true,
            rounds: 300_000,
            work: Work::PingPong,
        },
        Load {
            name: "one processor, SCHED_FIFO 10, sleeps until times that have passed",
            cpus: last,
            fifo: true,
            rounds: 200_000,
            work: Work::Sleep,
        },
    ];
    for load in loads {
        let (all, one) = match load.work {
            Work::PingPong => (format!("{} switches", load.switches()), "switch"),
            Work::Sleep => (format!("{} of them", load.rounds), "sleep"),
        };
        println!("\n{}, {all}, {pairs} pairs:", load.name);
        println!(
            "{:36} {:>20}  {:>9}  {:>8}  {:>8}  missing",
            "",
            "time with/without",
            format!("ns/{one}"),
            "B/switch",
            "lost"
        );
        for recorder in RECORDERS {
            if !wanted.is_empty() && !wanted.iter().any(|wanted| recorder.name().contains(*wanted))
            {
                continue;
            }
            match measure(recorder, &load, pairs) {
                Ok(line) => println!("{:36} {line}", recorder.name()),
                Err(reason) => println!("{:36} skipped: needs {reason}", recorder.name()),
            }
        }
    }
}

/// Measures one recorder; returns its line of output.
fn measure(recorder: Recorder, load: &Load, pairs: usize) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("hemiola-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let run = || run(load).map_err(|error| format!("leave to load processors: {error}"));
    let with = || {
        let mut running = Running::start(recorder, &folder)?;
        let (time, tids) = run()?;
        Ok::<_, String>((time, running.stop(&tids, load.switches())?))
    };
    let measured = (0..pairs).map(|pair| {
        let (before, (with, outcome)) = match pair % 2 {
            0 => (run()?.0, with()?),
            _ => {
                let with = with()?;
                (run()?.0, with)
            }
        };
        Ok::<_, String>((before.as_secs_f64(), with.as_secs_f64(), outcome))
    });
    let measured: Result<Vec<_>, _> = measured.collect();
    // A leftover folder does no harm.
    let _ = fs::remove_dir_all(&folder);
    let measured = measured?;
    let sorted = |figure: &dyn Fn(f64, f64) -> f64| {
        let mut figures: Vec<f64> =
            measured.iter().map(|(before, with, _)| figure(*before, *with)).collect();
        figures.sort_by(f64::total_cmp);
        figures
    };
    let ratios = sorted(&|before, with| with / before);
    let added = sorted(&|before, with| (with - before) * 1e9 / load.steps_of_processor() as f64);
    let sum = |field: fn(&Outcome) -> u64| {
        measured.iter().map(|(_, _, outcome)| field(outcome)).sum::<u64>()
    };
    let missing: Option<u64> = measured.iter().map(|(_, _, outcome)| outcome.missing).sum();
    let share = |count: u64| 100.0 * count as f64 / (pairs as f64 * load.switches().max(1) as f64);
    Ok(format!(
        "{:5.3} [{:5.3}..{:5.3}]  {:9.0}  {:8.1}  {:8}  {}",
        ratios[pairs / 2],
        ratios[0],
        ratios[pairs - 1],
        added[pairs / 2],
        sum(|outcome| outcome.bytes) as f64 / sum(|outcome| outcome.switches).max(1) as f64,
        sum(|outcome| outcome.lost),
        missing.map_or("unknown".into(), |missing| format!("{missing} ({:.2} %)", share(missing))),
    ))
}

/// Runs the load on all its processors at once; returns how long the slowest took, and the threads that did it.
fn run(load: &Load) -> io::Result<(Duration, Vec<Tid>)> {
    let all = Arc::new(Barrier::new(2 * load.cpus.len()));
    let start = |cpu: &u16| pair(*cpu, load, &all);
    let threads = load.cpus.iter().map(start).collect::<io::Result<Vec<_>>>()?;
    let (mut slowest, mut tids) = (Duration::ZERO, Vec::new());
    for (one, other) in threads {
        let (time, tid) = one.join().expect("it does not panic")?;
        slowest = slowest.max(time);
        tids.extend([tid, other.join().expect("it does not panic")?]);
    }
    Ok((slowest, tids))
}

type Pair = (JoinHandle<io::Result<(Duration, Tid)>>, JoinHandle<io::Result<Tid>>);

/// Starts two threads that do the work of the load on one processor, as soon as all are ready.
fn pair(cpu: u16, load: &Load, all: &Arc<Barrier>) -> io::Result<Pair> {
    let work = load.work;
    let (fifo, rounds, ready) = (load.fifo, load.rounds, Arc::clone(all));
    let settle = move || -> io::Result<Tid> {
        sched::set_affinity(None, &CpuSet::one(cpu).expect("it is online"))?;
        // All must have arrived before the first takes the processor from the others.
        ready.wait();
        if fifo {
            let priority = Priority::try_from(10).expect("a priority");
            sched::set_policy(None, &Policy::Fifo { priority })?;
        }
        Ok(Tid(rustix::thread::gettid().as_raw_nonzero().get() as u32))
    };
    let other_settle = settle.clone();
    let ((mut hear_there, mut say_there), (mut hear_back, mut say_back)) =
        (io::pipe()?, io::pipe()?);
    let other = thread::spawn(move || -> io::Result<Tid> {
        let (tid, mut byte) = (other_settle()?, [0]);
        while hear_there.read(&mut byte)? > 0 {
            say_back.write_all(&byte)?;
        }
        Ok(tid)
    });
    let one = thread::spawn(move || -> io::Result<(Duration, Tid)> {
        let (tid, mut byte) = (settle()?, [7]);
        let begin = Instant::now();
        for _ in 0..rounds {
            match work {
                Work::PingPong => {
                    say_there.write_all(&byte)?;
                    hear_back.read_exact(&mut byte)?;
                }
                Work::Sleep => timer::sleep_until(hemiola_units::Instant::from_nanos(1)),
            }
        }
        Ok((begin.elapsed(), tid))
    });
    Ok((one, other))
}

/// A recorder that is running.
enum Running {
    Ours { stop: Arc<AtomicBool>, reader: JoinHandle<Result<Seen, String>>, file: PathBuf },
    Tool { child: Child, file: PathBuf, perf: bool },
    Tracefs { instance: PathBuf, stop: Arc<AtomicBool>, readers: Vec<JoinHandle<io::Result<u64>>> },
}

/// The result of our reader: switches to each thread, and losses.
struct Seen {
    switches: std::collections::BTreeMap<Tid, u64>,
    lost: u64,
}

impl Running {
    fn start(recorder: Recorder, folder: &Path) -> Result<Self, String> {
        let file = folder.join("recording");
        match recorder {
            Recorder::Ours { interface, wakes } => ours(interface, wakes, file),
            Recorder::PerfRecord => {
                let options = ["record", "-q", "-a", "-e", "sched:sched_switch", "-o"];
                tool("perf", &options, file, true)
            }
            Recorder::TraceCmd => {
                tool("trace-cmd", &["record", "-e", "sched:sched_switch", "-o"], file, false)
            }
            Recorder::Tracefs => tracefs(&file),
        }
    }

    fn stop(&mut self, tids: &[Tid], expected: u64) -> Result<Outcome, String> {
        let say = |error: io::Error| error.to_string();
        match self {
            Self::Ours { stop, reader, file } => {
                stop.store(true, Ordering::Relaxed);
                let reader = std::mem::replace(reader, thread::spawn(|| Err(String::new())));
                let read = reader.join().expect("it does not panic")?;
                let own: u64 = tids.iter().filter_map(|tid| read.switches.get(tid)).sum();
                Ok(Outcome {
                    bytes: fs::metadata(file).map_err(say)?.len(),
                    switches: read.switches.values().sum(),
                    lost: read.lost,
                    missing: Some(expected.saturating_sub(own)),
                })
            }
            Self::Tool { child, file, perf } => {
                let held = process::PidFd::open(child.id()).map_err(say)?;
                held.send_signal(process::Signal::INT).map_err(say)?;
                child.wait().map_err(say)?;
                let bytes = fs::metadata(&*file).map_err(say)?.len();
                let switches = if *perf { perf_samples(file)? } else { 0 };
                let missing = perf.then(|| expected.saturating_sub(switches));
                Ok(Outcome { bytes, switches, lost: missing.unwrap_or(0), missing })
            }
            Self::Tracefs { instance, stop, readers } => {
                thread::sleep(Duration::from_millis(50));
                put(&instance.join("tracing_on"), "0").map_err(say)?;
                stop.store(true, Ordering::Relaxed);
                let bytes =
                    readers.drain(..).map(|reader| reader.join().expect("it does not panic"));
                let bytes = bytes.sum::<io::Result<u64>>().map_err(say)?;
                let mut lost = 0;
                for cpu in cpu::online().iter() {
                    let stats =
                        fs::read_to_string(instance.join(format!("per_cpu/cpu{cpu}/stats")))
                            .map_err(say)?;
                    let overrun = stats.lines().filter_map(|line| line.split_once(": "));
                    let overrun = overrun
                        .filter(|(name, _)| name.contains("overrun") || *name == "dropped events");
                    lost += overrun
                        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
                        .sum::<u64>();
                }
                // An event takes 68 bytes, including its share of the page header.
                Ok(Outcome { bytes, switches: bytes / 68, lost, missing: None })
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        match self {
            Self::Ours { stop, .. } => stop.store(true, Ordering::Relaxed),
            Self::Tool { child, .. } => {
                // It has ended, or ends now.
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Tracefs { instance, stop, readers } => {
                stop.store(true, Ordering::Relaxed);
                readers.drain(..).for_each(|reader| drop(reader.join()));
                // An instance left behind would make the next run fail.
                let _ = fs::remove_dir(instance);
            }
        }
    }
}

/// Our capture with the reader of a normal program: an ordinary thread of low priority that writes a trace.
fn ours(interface: Interface, wakes: bool, path: PathBuf) -> Result<Running, String> {
    let options = Options { interface: Some(interface), wakes, ..Options::default() };
    let mut capture = Capture::start(&options).map_err(|error| error.to_string())?;
    let file = File::create(&path).map_err(|error| error.to_string())?;
    let mut trace =
        TraceWriter::new(file, MonotonicClock.now(), 0, &[]).map_err(|error| error.to_string())?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let reader = thread::spawn(move || {
        // If refused, the reader competes a little more.
        let _ = sched::set_policy(None, &Policy::Other { nice: 10 });
        let mut read = Seen { switches: Default::default(), lost: 0 };
        let mut failed = Ok(());
        loop {
            let last = stopping.load(Ordering::Relaxed);
            if last {
                capture.stop();
            }
            let tally = capture.drain(&mut |cpu, events| {
                for event in events {
                    if let What::Switch { next, .. } = event.what {
                        *read.switches.entry(next).or_default() += 1;
                    }
                }
                if let Err(error) = trace.kernel(cpu, events) {
                    failed = Err(error.to_string());
                }
            });
            read.lost = tally.map_err(|error| error.to_string())?.lost;
            let threads = capture.threads().map_err(|error| error.to_string())?;
            trace.threads(&threads).map_err(|error| error.to_string())?;
            failed.clone()?;
            if last {
                trace.close().map_err(|error| error.to_string())?;
                return Ok(read);
            }
            thread::sleep(capture.advised_interval().to_duration());
        }
    });
    Ok(Running::Ours { stop, reader, file: path })
}

fn tool(name: &str, options: &[&str], file: PathBuf, perf: bool) -> Result<Running, String> {
    let mut child = Command::new(name)
        .args(options)
        .arg(&file)
        .args(perf.then_some(["--", "sleep", "60"]).into_iter().flatten())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    thread::sleep(SETTLE);
    if child.try_wait().map_err(|error| error.to_string())?.is_some() {
        let mut said = String::new();
        let _ = child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
        return Err(format!(
            "{name} to work here: {}",
            said.split_whitespace().collect::<Vec<_>>().join(" ")
        ));
    }
    Ok(Running::Tool { child, file, perf })
}

/// `SAMPLE events: 465 (43.9%)`.
fn perf_samples(file: &Path) -> Result<u64, String> {
    let report = Command::new("perf").args(["report", "--stats", "-i"]).arg(file).output();
    let report = report.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&report.stdout);
    let samples = text.lines().find_map(|line| line.trim().strip_prefix("SAMPLE events:"));
    let samples = samples.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    samples.ok_or_else(|| "perf report to count samples".into())
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
}

fn tracefs(file: &Path) -> Result<Running, String> {
    let instance = PathBuf::from(format!(
        "/sys/kernel/tracing/instances/hemiola-bench-{}",
        std::process::id()
    ));
    fs::create_dir(&instance).map_err(|error| format!("a private tracefs instance: {error}"))?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut running = Running::Tracefs {
        instance: instance.clone(),
        stop: Arc::clone(&stop),
        readers: Vec::new(),
    };
    put(&instance.join("events/sched/sched_switch/enable"), "1")
        .map_err(|error| error.to_string())?;
    let Running::Tracefs { readers, .. } = &mut running else { unreachable!("it was made above") };
    for cpu in cpu::online().iter() {
        let (from, to) = (
            instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw")),
            file.with_extension(cpu.to_string()),
        );
        let stop = Arc::clone(&stop);
        readers.push(thread::spawn(move || {
            let mut from = fs::OpenOptions::new()
                .read(true)
                .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
                .open(from)?;
            let (mut to, mut page, mut bytes) = (File::create(to)?, [0; 4096], 0);
            loop {
                let last = stop.load(Ordering::Relaxed);
                loop {
                    match from.read(&mut page) {
                        Ok(0) => break,
                        Ok(len) => {
                            to.write_all(&page[..len])?;
                            bytes += len as u64;
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
                if last {
                    return Ok(bytes);
                }
                // The interval of trace-cmd.
                thread::sleep(Duration::from_millis(1));
            }
        }));
    }
    Ok(running)
}
