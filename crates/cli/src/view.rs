//! `hemiola view`: serves the page that shows recordings, on this machine only.

pub(crate) mod answer;
mod assets;
mod plots;
pub(crate) mod server;
mod source;

use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use axum::Router;

use crate::args::View;
use crate::diagnostics::{Failure, shown};
use server::{Sends, Server, ServerError};
use source::{SourceError, Sources};

/// Problems of a file printed in the terminal.
const PROBLEMS_MAX: usize = 3;

pub(crate) fn view(args: &View) -> Result<ExitCode, Failure> {
    #[cfg(feature = "jemalloc")]
    crate::allocator::give_back_soon();
    let options = crate::analyze::options(&args.period);
    let switch = crate::analyze::switch(args.machine.as_deref())?;
    let sources = Sources::open(&args.paths, options, switch).map_err(SourceError::into_failure)?;
    // Report files that cannot be shown before the page opens.
    for index in sources.first_shown() {
        let source = sources.get(index).map_err(SourceError::into_failure)?;
        let loaded = sources.loaded(index).map_err(SourceError::into_failure)?;
        let file = shown(&source.path);
        let grows = source.grows();
        let problems = loaded.problems(grows);
        for problem in problems.iter().take(PROBLEMS_MAX) {
            eprintln!("warning: {file}: {problem}");
        }
        if let Some(more) = problems.len().checked_sub(PROBLEMS_MAX + 1) {
            eprintln!("warning: {file}: and {} more; the page lists them", more + 1);
        }
        if loaded.is_in_progress(grows) {
            eprintln!("note: {file}: the recording is not closed yet; the page follows it");
        }
    }
    for period in &args.period {
        must_exist_in_one(&sources, &period.of)?;
    }
    let server = Server::bind(args.page.port, Sends::Nothing).map_err(Failure::failed)?;
    let place = args.at.as_deref().map(|place| place.trim_start_matches('#'));
    let answers = answer::answers(Arc::new(sources));
    serve(server, "index.html", place, answers, args.page.no_open).map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails if no recording has a thread or task of this name or number. Those that are shown first are loaded already.
fn must_exist_in_one(sources: &Sources, name: &str) -> Result<(), Failure> {
    let shown = sources.first_shown();
    let others = (0..sources.all().len()).filter(|index| !shown.contains(index));
    let mut failure = None;
    for index in shown.iter().copied().chain(others) {
        // The page says why another recording cannot be read.
        let Ok(loaded) = sources.loaded(index) else { continue };
        match crate::analyze::must_exist(&loaded.report, name) {
            Ok(()) => return Ok(()),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Prints the address of a page, opens it in a browser where there is one, and serves it until the process ends.
pub(crate) fn serve(
    server: Server,
    page: &'static str,
    place: Option<&str>,
    answers: Router,
    no_open: bool,
) -> Result<(), ServerError> {
    let mut address = server.address();
    if let Some(place) = place {
        address.push('#');
        address.push_str(place);
    }
    println!("{address}");
    eprintln!(
        "The page opens only on this machine and only with this address. Press Ctrl-C to stop."
    );
    if !no_open {
        open(&address);
    }
    server.serve(page, answers)
}

/// Asks the desktop to open the page. Does nothing without a desktop.
fn open(address: &str) {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"];
    if desktop.iter().all(|name| std::env::var_os(name).is_none()) {
        return;
    }
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // A separate thread reaps it, because the browser may live as long as the page.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => eprintln!("xdg-open cannot be started ({error}): open the address yourself"),
    }
}
