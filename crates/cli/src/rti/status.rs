//! Shows the state of an RTI.

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::time::Duration;

use hemiola_report::table::Table;
use hemiola_report::terminal;
use hemiola_report::text::{count, duration, percent, printable, size};
use hemiola_rtid::Report;
use hemiola_rtid::report::{
    FederateReport, FederationReport, Flow, HoldingBack, LAYOUT, MemoryReport, RefusalReport,
    SessionReport, SessionState, SlowReading,
};
use hemiola_units::Span;

use super::ask::{Question, ask};
use crate::args::RtiStatus;
use crate::diagnostics::Failure;

/// Refresh interval of `--watch`.
const REFRESH: Duration = Duration::from_secs(1);
/// Moves the cursor to the top left and clears the terminal.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Shown for an absent value.
const NONE: &str = "–";
/// Limits for the characters of a name and the names in a list.
const NAME_LEN_MAX: usize = 40;
const NAMES_MAX: usize = 8;

pub(super) fn status(args: &RtiStatus) -> Result<ExitCode, Failure> {
    loop {
        let text = ask(args.address.as_ref(), &Question::Status)?;
        let shown =
            if args.json { format!("{}\n", text.trim_end()) } else { render(&read(&text)?) };
        if !args.watch {
            print!("{shown}");
            return Ok(ExitCode::SUCCESS);
        }
        if args.json {
            print!("{shown}");
        } else if stdout().is_terminal() {
            print!("{CLEAR}{shown}");
        } else {
            println!("{shown}");
        }
        std::thread::sleep(REFRESH);
    }
}

fn read(text: &str) -> Result<Report, Failure> {
    // Of a newer report, perhaps only this number can be read.
    #[derive(serde::Deserialize)]
    struct Layout {
        layout: u32,
    }
    let foreign = |error: serde_json::Error| {
        Failure::failed(format!("the RTI's report cannot be read: {error}"))
    };
    let Layout { layout } = serde_json::from_str(text).map_err(foreign)?;
    if layout != LAYOUT {
        return Err(Failure::failed(format!(
            "the RTI reports in layout {layout}, but this program reads layout {LAYOUT}\nhint: use the version of \
             hemiola that started the RTI"
        )));
    }
    serde_json::from_str(text).map_err(foreign)
}

/// The whole report as text.
fn render(report: &Report) -> String {
    let mut tables: Vec<Table> =
        report.federations.iter().map(|one| federation(one, &report.sessions)).collect();
    tables.extend(not_joined(report));
    let mut head = vec![
        ("listens on".to_owned(), report.addresses.join(", ")),
        ("received".to_owned(), flow(&report.received)),
        ("sent".to_owned(), flow(&report.sent)),
        ("busy".to_owned(), busy(report)),
        ("memory".to_owned(), memory(&report.memory)),
    ];
    let ended: Vec<String> =
        report.sessions_ended.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if !ended.is_empty() {
        head.push(("sessions ended".to_owned(), ended.join(", ")));
    }
    if report.slow_reading != SlowReading::default() {
        head.push(("slow readers".to_owned(), slow_reading(&report.slow_reading)));
    }
    let head: Vec<String> =
        head.iter().map(|(name, value)| format!("  {name:<16}{value}")).collect();
    terminal::document(&format!("{}\n{}", title(report), head.join("\n")), &tables, &[], &[])
}

fn title(report: &Report) -> String {
    let federates = report.federations.iter().map(|one| one.federates.len()).sum();
    format!(
        "RTI {}, process {}, up {}: {}, {}, {}",
        report.version,
        report.pid,
        age(report.uptime),
        several(report.federations.len(), "federation"),
        several(federates, "federate"),
        several(report.sessions.len(), "session"),
    )
}

fn busy(report: &Report) -> String {
    let share = report.work.busy.secs_f64() / report.uptime.secs_f64().max(1e-9);
    format!(
        "{} of the time, at most {} at once, {} calls, {} callbacks",
        percent(share),
        duration(report.work.longest_turn.nanos() as f64),
        count(report.work.calls),
        count(report.work.callbacks)
    )
}

/// The memory by holder, and the calls that were refused for lack of it.
fn memory(memory: &MemoryReport) -> String {
    let size = |len: usize| self::size(len as f64);
    let mut text = format!(
        "{} of {}: federations {}, sessions {}, modules being parsed {}",
        size(memory.used),
        size(memory.limit),
        size(memory.federations),
        size(memory.sessions),
        size(memory.preparations),
    );
    if let Some(limit) = &memory.limited_by {
        text += &format!("; limited by {limit}");
    }
    let RefusalReport { session, federation, process } = memory.refused;
    if session + federation + process > 0 {
        text += &format!(
            "; calls refused by the limit of a session {}, of a federation {}, of all {}",
            count(session),
            count(federation),
            count(process)
        );
    }
    text
}

fn flow(flow: &Flow) -> String {
    format!(
        "{} messages/s, {}/s; {} messages, {} in all",
        count(flow.messages_per_s.round() as u64),
        size(flow.bytes_per_s.round()),
        count(flow.messages),
        size(flow.bytes as f64)
    )
}

/// What slow readers missed and cost, without what did not happen.
fn slow_reading(slow: &SlowReading) -> String {
    let SlowReading { spooled, stored, conflated, dropped, congested, held } = *slow;
    let kinds = [
        (spooled, "messages spooled"),
        (stored, "parts in files"),
        (conflated, "updates conflated"),
        (dropped, "interactions dropped"),
        (congested, "times congested"),
        (held, "holds of senders"),
    ];
    let happened = kinds.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        happened.map(|(number, what)| format!("{} {what}", count(*number))).collect();
    parts.join(", ")
}

fn federation(federation: &FederationReport, sessions: &[SessionReport]) -> Table {
    let rows = federation.federates.iter().map(|one| {
        let session = sessions.iter().find(|session| session.number == one.session);
        federate(one, session)
    });
    let title = format!(
        "Federation {}: {}, {}, {} messages, {} of memory",
        shown(&federation.name),
        federation.time,
        several(federation.instances, "object instance"),
        count(federation.messages),
        size(federation.memory as f64)
    );
    let heads =
        "Federate|Type|Time|Lookahead|Constr.|GALT|State|In/s|Out/s|Backlog|Memory".split('|');
    Table::new(title, heads, rows.collect()).with_prose(&[1, 6]).with_note(note(federation))
}

fn federate(one: &FederateReport, session: Option<&SessionReport>) -> Vec<String> {
    let figure = |value: Option<String>| value.unwrap_or_else(|| NONE.into());
    let rate = |flow: fn(&SessionReport) -> Flow| {
        figure(session.map(|session| count(flow(session).messages_per_s.round() as u64)))
    };
    vec![
        shown(&one.name),
        shown(&one.federate_type),
        one.time.to_string(),
        figure(one.lookahead.map(|lookahead| lookahead.to_string())),
        if one.constrained { "✓".into() } else { NONE.into() },
        figure(one.galt.map(|galt| galt.to_string())),
        state(one, session),
        rate(|session| session.received),
        rate(|session| session.sent),
        backlog(one, session),
        figure(session.map(|session| size((session.memory + session.federation_memory) as f64))),
    ]
}

fn state(one: &FederateReport, session: Option<&SessionReport>) -> String {
    let mut parts = match &one.waiting {
        None => vec!["runs".to_owned()],
        Some(waiting) => {
            let since = age(waiting.since);
            vec![match waiting.until {
                Some(until) => format!("waits for {until}, {since}"),
                None => format!("becomes time-constrained, {since}"),
            }]
        }
    };
    let Some(session) = session else { return parts.concat() };
    match session.state {
        SessionState::Running => {}
        SessionState::Congested => parts.push("reads slowly".into()),
        SessionState::Apart => parts.push(format!("connection broken, {}", age(session.apart))),
    }
    let SlowReading { conflated, dropped, .. } = session.slow_reading;
    if conflated + dropped > 0 {
        parts.push(format!("missed {} best-effort messages", count(conflated + dropped)));
    }
    parts.join("; ")
}

/// Messages waiting to be sent, their memory, the part in a file, and undelivered time-stamp-order messages.
fn backlog(one: &FederateReport, session: Option<&SessionReport>) -> String {
    let mut text = match session {
        None => NONE.to_owned(),
        Some(session) if session.backlog == 0 => "0".into(),
        Some(session) => {
            format!("{} ({})", count(session.backlog as u64), size(session.backlog_bytes as f64))
        }
    };
    if let Some(session) = session.filter(|session| session.file_bytes > 0) {
        text += &format!(" + {} in a file", size(session.file_bytes as f64));
    }
    if one.undelivered > 0 {
        text += &format!(" + {} TSO", count(one.undelivered as u64));
    }
    text
}

fn note(federation: &FederationReport) -> String {
    let mut sentences: Vec<String> = federation.holding_back.iter().map(holding_back).collect();
    if !federation.synchronization_points.is_empty() {
        sentences.push(format!(
            "Not yet reached by all federates: {}.",
            list(federation.synchronization_points.iter().map(String::as_str))
        ));
    }
    sentences.join(" ")
}

fn holding_back(holder: &HoldingBack) -> String {
    let itself = match holder.asked_for {
        Some(time) => format!("it is itself waiting for {time}"),
        None => "it has not asked to advance".into(),
    };
    format!(
        "{} holds back {} at {} for {}: {itself}.",
        shown(&holder.federate),
        list(holder.waiting.iter().map(String::as_str)),
        holder.galt,
        age(holder.since)
    )
}

/// Sessions without a federate.
fn not_joined(report: &Report) -> Option<Table> {
    let joined: std::collections::BTreeSet<u64> = report
        .federations
        .iter()
        .flat_map(|federation| federation.federates.iter().map(|one| one.session))
        .collect();
    let rows: Vec<Vec<String>> = report
        .sessions
        .iter()
        .filter(|session| !joined.contains(&session.number))
        .map(|session| {
            let (age, silence) = (age(session.age), age(session.silence));
            let memory = size((session.memory + session.federation_memory) as f64);
            vec![session.number.to_string(), session.peer.clone(), age, silence, memory]
        })
        .collect();
    let heads = ["Session", "From", "Age", "Silent for", "Memory"];
    (!rows.is_empty()).then(|| Table::new("Not joined", heads, rows).with_prose(&[1]))
}

/// Formats a length of time for people.
fn age(span: Span) -> String {
    let seconds = span.nanos() / 1_000_000_000;
    match seconds {
        ..60 => duration(span.nanos() as f64),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

fn several(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", self::count(count as u64)) }
}

fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let mut names: Vec<String> = names.take(NAMES_MAX).map(shown).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Cuts a name chosen by a federate to [`NAME_LEN_MAX`] and escapes what must not be printed.
fn shown(name: &str) -> String {
    let name = printable(name);
    let mut text: String = name.chars().take(NAME_LEN_MAX).collect();
    if name.chars().nth(NAME_LEN_MAX).is_some() {
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
