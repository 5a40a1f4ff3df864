//! `hemiola measure link`: the network between two hosts.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use hemiola_measure::link::{Link, LinkError, PORT, Server, catalogue, resolve};
use hemiola_measure::set;
use hemiola_measure::{Alone, LinkSummary, Survey, report};
use hemiola_record::conditions;
use hemiola_report::json::pretty;
use hemiola_report::terminal;
use hemiola_rt::clock::Calibration;

use super::{folder, read, read_conditions, write};
use crate::args;
use crate::diagnostics::Failure;
use crate::run::{interruption, now_unix_s};

pub(super) fn link(args: &args::Link) -> Result<ExitCode, Failure> {
    match (&args.serve, &args.host) {
        (Some(address), _) => serve(address),
        (None, host) => measure(args, host.as_deref().unwrap_or_default()),
    }
}

/// Connects to a host by its name.
pub(super) fn connect(host: &str) -> Result<Link, LinkError> {
    Link::connect(resolve(host)?)
}

/// Answers other hosts until a signal.
fn serve(text: &str) -> Result<ExitCode, Failure> {
    let address = address(text).ok_or_else(|| {
        Failure::bad_input(format!(
            "error: {text:?} is no address\nhint: --serve 0.0.0.0 answers all hosts, --serve 10.0.0.1:{PORT} those that \
             reach this address"
        ))
    })?;
    let interrupted = interruption()?;
    let server = Server::bind(address).map_err(Failure::failed)?;
    let listening = server.address().map_err(Failure::failed)?;
    println!("answering at {listening} (TCP and UDP) until Ctrl-C");
    if !listening.ip().is_loopback() {
        eprintln!(
            "warning: whoever reaches {listening} can measure, without a password: one host at a time, for at most ten \
             minutes; this host sends datagrams only to the host that measures, as many as it received"
        );
    }
    server.serve(&interrupted, &|line| eprintln!("{line}")).map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn address(text: &str) -> Option<SocketAddr> {
    let bare = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT));
    bare.or_else(|_| text.parse()).ok()
}

/// Measures the link to a host and writes the figures into a folder.
fn measure(args: &args::Link, host: &str) -> Result<ExitCode, Failure> {
    let figures = set::select(catalogue(), args.quick, &args.only)
        .map_err(|error| Failure::bad_input(format!("error: {error}")))?;
    let interrupted = interruption()?;
    let _alone = Alone::on_this_machine().map_err(Failure::failed)?;
    let mut link = connect(host).map_err(|error| match error {
        LinkError::Port { .. } | LinkError::Name { .. } => {
            Failure::bad_input(format!("error: {error}"))
        }
        error => Failure::failed(error),
    })?;
    let folder = folder(args.output.as_deref(), "link")?;
    let mut known = read_conditions(Calibration::measure());
    let started = now_unix_s();
    let series = read(&figures, &mut link, args.quick, &interrupted)?;
    conditions::finish(&mut known);
    let cut = link.cut().map(str::to_owned);
    let summary = LinkSummary {
        with: host.to_owned(),
        distance_m: args.distance,
        losses: link.losses(),
        cut: cut.clone(),
    };
    let survey = Survey::of_link(&series, started, known, link.meanwhile(), summary);
    let folder = write(folder, &survey)?;
    let status = cut.map_or(Ok(ExitCode::SUCCESS), |cut| {
        Err(Failure::failed(format!("the link failed during the measurement: {cut}")))
    });
    if args.json {
        print!("{}", pretty(&survey.summary()));
        return status;
    }
    let (tables, conditions) = (report::tables(&survey), report::conditions(&survey));
    let title = format!("The link to {host}");
    print!("{}", terminal::document(&title, &tables, &survey.notes, &conditions));
    println!("{}", folder.display());
    status
}
