//! Serves federations until a signal stops it.

use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroU8;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hemiola_report::text::{count, duration, printable, size};
use hemiola_rt::profile;
use hemiola_rt::sys::memory::{self, MemoryLimit};
use hemiola_rtid::{
    Addresses, Options, REAL_TIME_HOLD_MAX, ServeError, Server, SlowReaderPolicy, Stopper,
    memory_that_fits,
};
use hemiola_units::{Bytes, Policy, Priority, Profile};
use tracing::level_filters::LevelFilter;

use super::credentials;
use super::log::Log;
use super::metrics;
use crate::args::{RtiServe, SlowReader};
use crate::diagnostics::{Failure, INTERRUPTED};
use crate::run::ending_signals;

/// Stack that a real-time RTI prefaults before it serves.
const STACK: Bytes = Bytes(256 << 10);

/// Descriptors of a connection over shared memory: its socket, two bells and the peer's process.
const DESCRIPTORS: u32 = 4;

/// The default length of a spool file.
const SPOOL_MAX: Bytes = Bytes(1 << 30);

pub(super) fn serve(args: &RtiServe) -> Result<ExitCode, Failure> {
    keep_memory_small()?;
    let options = options(args)?;
    let metrics = args.metrics.as_deref().map(metrics::Listener::bind).transpose()?;
    let log = Log::start(args.log.into())?;
    hemiola_rt::privilege::raise_descriptor_limit();
    let connections = u32::try_from(options.settings.connections_max).unwrap_or(u32::MAX);
    hemiola_rt::privilege::grow_descriptor_table(connections.saturating_mul(DESCRIPTORS));
    let (memory_max, limited_by) =
        (Bytes(options.settings.memory_max as u64), options.memory_limited_by.clone());
    let sessions_max = options.settings.sessions_max;
    let server = Server::bind(options).map_err(|error| cannot_serve(&error))?;
    // Started before the profile is applied, so that this thread keeps ordinary scheduling.
    stop_at_signals(server.stopper())?;
    take_profile(args)?;
    let addresses = server.addresses();
    let metrics = metrics.map(|listener| listener.serve(server.stopper())).transpose()?;
    announce(&addresses, metrics);
    if LevelFilter::from(args.log) >= LevelFilter::INFO {
        log.print(&introduction(args, &addresses, sessions_max, memory_max));
    }
    if let Some(limit) = limited_by {
        tracing::info!(%limit, "the memory limit was lowered to {memory_max}");
    }
    for address in &addresses.tcp {
        if args.credentials.is_some() {
            let missing = "encryption: passwords and data can be read on the way";
            warn_if_reachable(*address, missing, "use up memory, up to the limits of the RTI");
        } else {
            let can = "create, join and destroy federations, and read and change their data";
            warn_if_reachable(*address, UNPROTECTED, can);
        }
    }
    if let Some(address) = metrics {
        warn_if_reachable(address, UNPROTECTED, "read the names of federations and federates");
    }
    let summary = server.run();
    if let Ok(summary) = &summary {
        // Written by the log thread, because standard error may block and this must end.
        log.print(&format!(
            "stopped: {} sessions, {} calls, {} callbacks in {} of work, at most {} at once",
            count(summary.sessions),
            count(summary.calls),
            count(summary.callbacks),
            duration(summary.busy.nanos() as f64),
            duration(summary.longest_turn.nanos() as f64)
        ));
    }
    log.flush();
    summary.map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn options(args: &RtiServe) -> Result<Options, Failure> {
    let mut options = Options::default();
    #[cfg(feature = "jemalloc")]
    {
        options.empty_cache = crate::allocator::empty_cache;
    }
    if !args.listen.is_empty() {
        options.listen.clear();
        for text in &args.listen {
            options.listen.extend(resolved("--listen", text)?);
        }
        let port = options.listen.first().map_or(0, SocketAddr::port);
        // Port 0 is no name: two RTIs with system-chosen ports would collide.
        options.local =
            Some(if port == 0 { format!("pid-{}", std::process::id()) } else { port.to_string() });
    }
    if let Some(name) = &args.local {
        options.local = Some(name.clone());
    }
    let settings = &mut options.settings;
    if let Some(count) = args.sessions_max {
        settings.set_sessions_max(count);
    }
    if let Some(count) = args.peer_sessions_max {
        let whole = (settings.sessions_max, "--sessions-max");
        at_most_the_whole((count, "--peer-sessions-max"), whole)?;
        settings.set_peer_sessions_max(count);
    }
    fit_memory(&mut options, args)?;
    let settings = &mut options.settings;
    if let Some(span) = args.stall_max {
        settings.stall_max = span;
    }
    settings.slow_reader = match args.slow_reader {
        SlowReader::Wait => SlowReaderPolicy::Wait,
        SlowReader::Conflate => SlowReaderPolicy::Conflate,
        SlowReader::Drop => SlowReaderPolicy::Drop,
    };
    if let Some(path) = &args.credentials {
        options.authority = credentials::read(path)?;
    }
    options.saves.clone_from(&args.saves);
    options.reports.clone_from(&args.reports);
    if let Some(Bytes(len)) = args.reports_max {
        settings.report_len_max = len;
    }
    options.spool.clone_from(&args.spool);
    if args.spool.is_some() {
        let Bytes(len) = args.spool_max.unwrap_or(SPOOL_MAX);
        settings.spool_file_max = usize::try_from(len).unwrap_or(usize::MAX);
    }
    if args.priority.is_some() {
        settings.hold_max = REAL_TIME_HOLD_MAX;
    }
    if let Some(span) = args.hold_max {
        settings.hold_max = span;
    }
    if let Some(span) = args.resume_window {
        settings.session.resume_window = span;
    }
    settings.abandoned_federation_expiry = args.abandoned_federation_expiry;
    settings.partial_models = args.partial_models;
    Ok(options)
}

/// The arenas of the C library's allocator. With another allocator, only the library's own few blocks are in them.
const ARENAS: NonZeroU8 = NonZeroU8::new(if cfg!(feature = "jemalloc") { 1 } else { 2 }).unwrap();

/// Lets freed memory go back to the system. Called before any thread starts and before the profile is applied, so that
/// threads for this keep ordinary scheduling.
fn keep_memory_small() -> Result<(), Failure> {
    #[cfg(feature = "jemalloc")]
    crate::allocator::give_back_in_background().map_err(|error| {
        Failure::failed(format!("cannot start the allocator's threads: {error}"))
    })?;
    memory::limit_arenas(ARENAS);
    Ok(())
}

/// Refuses a share that is larger than what it is a share of.
fn at_most_the_whole<N: Display + PartialOrd>(
    (share, option): (N, &str),
    (whole, of): (N, &str),
) -> Result<(), Failure> {
    if share <= whole {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "error: {option} {share}: it is a part of {of}, which is {whole}\nhint: lower it, or raise {of}"
    )))
}

/// Sets the memory limit and its quotas, so that they fit into what the system allows the process.
fn fit_memory(options: &mut Options, args: &RtiServe) -> Result<(), Failure> {
    let bytes = |Bytes(len)| usize::try_from(len).unwrap_or(usize::MAX);
    let asked = args.memory_max.unwrap_or(Bytes(options.settings.memory_max as u64));
    let quotas = [
        (args.federation_memory_max, "--federation-memory-max"),
        (args.session_memory_max, "--session-memory-max"),
    ];
    for (quota, option) in quotas {
        at_most_the_whole((quota.unwrap_or(Bytes(0)), option), (asked, "--memory-max"))?;
    }
    let limits = memory::limits().map_err(Failure::failed)?;
    let fitting = limits.iter().map(fitting).collect::<Result<Vec<_>, _>>()?;
    let least = fitting.into_iter().min_by_key(|(len, _)| *len).filter(|(len, _)| *len < asked);
    let settings = &mut options.settings;
    settings.set_memory_max(bytes(least.as_ref().map_or(asked, |(len, _)| *len)));
    options.memory_limited_by = least.map(|(_, limit)| limit);
    if let Some(len) = args.federation_memory_max {
        settings.limits.federation_len = bytes(len).min(settings.memory_max);
    }
    if let Some(len) = args.session_memory_max {
        settings.session_memory_max = bytes(len).min(settings.memory_max);
    }
    Ok(())
}

/// Returns the memory limit that fits into a limit of the system, and the name of that limit.
fn fitting(limit: &MemoryLimit) -> Result<(Bytes, String), Failure> {
    let MemoryLimit { name, limit, used } = limit;
    let fitting = memory_that_fits(*limit, *used).map_err(|enough| {
        Failure::failed(format!(
            "{name} of {limit} leaves too little memory for an RTI\nhint: raise it to at least {enough}"
        ))
    })?;
    Ok((fitting, format!("{name} of {limit}")))
}

/// The addresses that the text resolves to, without duplicates.
pub(super) fn resolved(option: &str, text: &str) -> Result<Vec<SocketAddr>, Failure> {
    let bare = text.strip_prefix("tcp:").unwrap_or(text);
    let wrong = |reason: String| {
        Failure::bad_input(format!(
            "error: {option} {text}: {reason}\nhint: write HOST:PORT, such as 127.0.0.1:15164; [::]:15164 stands for all addresses"
        ))
    };
    let mut addresses: Vec<SocketAddr> =
        bare.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.collect();
    addresses.sort();
    addresses.dedup();
    if addresses.is_empty() { Err(wrong("the name has no address".into())) } else { Ok(addresses) }
}

fn cannot_serve(error: &ServeError) -> Failure {
    let hint = match error {
        ServeError::Listen { source, .. } => match source.kind() {
            ErrorKind::AddrInUse => {
                "\nhint: another RTI may be running (see `hemiola rti status`); choose another --listen HOST:PORT"
            }
            ErrorKind::AddrNotAvailable => {
                "\nhint: this is not an address of this machine; `ip address` lists them, 0.0.0.0 stands for all"
            }
            ErrorKind::PermissionDenied => {
                "\nhint: ports below 1024 require a privilege; choose another port"
            }
            _ => "",
        },
        ServeError::Local { .. } => {
            "\nhint: another RTI has this name (see `hemiola rti status`); choose another --local NAME"
        }
        ServeError::Spool { .. } => {
            "\nhint: choose an existing directory with --spool DIR in which this user can write"
        }
        ServeError::Reports { .. } => {
            "\nhint: choose an existing directory with --reports DIR in which this user can write"
        }
        ServeError::Saves { .. } => {
            "\nhint: choose an existing directory with --saves DIR that no other RTI uses"
        }
        _ => "",
    };
    Failure::failed(format!("{error}{hint}"))
}

/// The first signal stops the RTI in order; any further one ends the process at once.
fn stop_at_signals(stopper: Stopper) -> Result<(), Failure> {
    let (mut receiver, sender) = UnixStream::pair().map_err(Failure::failed)?;
    let asked = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        let (code, before) = (INTERRUPTED.into(), Arc::clone(&asked));
        signal_hook::flag::register_conditional_shutdown(signal, code, before)
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&asked)))
            .map_err(Failure::failed)?;
        let sender = sender.try_clone().map_err(Failure::failed)?;
        signal_hook::low_level::pipe::register(signal, sender).map_err(Failure::failed)?;
    }
    let wait = move || {
        // Stop after an error as well, because no later signal would be noticed.
        let _ = receiver.read(&mut [0]);
        stopper.stop();
    };
    let thread = std::thread::Builder::new().name("signals".into()).spawn(wait);
    thread.map(drop).map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))
}

/// Applies the scheduling options of the command line. Any refusal is an error: an RTI with less than was requested
/// would delay its federates unnoticed.
fn take_profile(args: &RtiServe) -> Result<(), Failure> {
    let mut profile = Profile::ordinary();
    if let Some(priority) = args.priority {
        let priority = Priority::try_from(priority).map_err(Failure::failed)?;
        profile.scheduling = Policy::Fifo { priority };
        profile.prefault_stack = STACK;
    }
    profile.cpus.clone_from(&args.cpus);
    profile.lock_memory = args.lock_memory;
    if profile == Profile::ordinary() {
        return Ok(());
    }
    let granted = profile::apply(&profile);
    if granted.refusals.is_empty() {
        return Ok(());
    }
    let refusals: Vec<String> = granted.refusals.iter().map(ToString::to_string).collect();
    Err(Failure::failed(refusals.join("\nerror: ")))
}

/// Prints the addresses for federates on standard output, one per line. All lines are written at once, because a script
/// may close the pipe after the first.
fn announce(addresses: &Addresses, metrics: Option<SocketAddr>) {
    let mut lines: Vec<String> =
        addresses.tcp.iter().map(|address| format!("tcp:{address}\n")).collect();
    lines.extend(addresses.local.iter().map(|name| format!("shm:{name}\n")));
    lines.extend(metrics.iter().map(|address| format!("http://{address}/metrics\n")));
    print!("{}", lines.concat());
}

/// Returns the first lines of the log, for a person: the version and the process, their limits and directories, and how
/// to look at the RTI and end it.
fn introduction(
    args: &RtiServe,
    addresses: &Addresses,
    sessions_max: usize,
    memory_max: Bytes,
) -> String {
    let pid = std::process::id();
    let mut text = format!(
        "started: version {}, process {pid}, for at most {} sessions and {} of memory",
        env!("CARGO_PKG_VERSION"),
        count(sessions_max as u64),
        size(memory_max.0 as f64),
    );
    let places = [
        ("admits federates with credentials of", &args.credentials),
        ("saves in", &args.saves),
        ("service reports in", &args.reports),
        ("long queues in", &args.spool),
    ];
    for (what, place) in places {
        if let Some(place) = place {
            text += &format!("; {what} {}", printable(&place.display().to_string()));
        }
    }
    let address = addresses.local.iter().map(|name| format!(" shm:{name}")).collect::<String>();
    text + &format!(
        "\nhint: `hemiola rti status{address}` shows who has joined; Ctrl-C or `kill {pid}` ends the RTI"
    )
}

const UNPROTECTED: &str = "password or encryption";

fn warn_if_reachable(address: SocketAddr, missing: &str, can: &str) {
    if address.ip().is_loopback() {
        return;
    }
    eprintln!(
        "warning: {address} can be reached from other machines, without {missing}. Any client that connects can \
         {can}.\n\
         hint: use a separate network or a firewall, or listen on loopback and connect through ssh -L"
    );
}
