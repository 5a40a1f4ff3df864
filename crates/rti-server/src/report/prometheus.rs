//! The report in Prometheus' text format, version 0.0.4.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use hemiola_units::Span;

use self::MetricKind::{Counter, Gauge};
use super::{
    FederateReport, FederationReport, MemoryReport, RefusalReport, Report, SessionReport,
    SessionState, SlowReading,
};

/// Returns every metric of an RTI as text of the type `text/plain; version=0.0.4`.
///
/// Names begin with `hemiola_rti_`. The metrics of a federate have the labels `federation` and `federate` and end when
/// it resigns. Logical times are doubles, so integers above 2⁵³ are rounded.
#[must_use]
pub fn prometheus(report: &Report) -> String {
    let mut text = Text(String::with_capacity(4096));
    of_process(&mut text, report);
    of_sessions(&mut text, report);
    of_federations(&mut text, &report.federations);
    of_federates(&mut text, report);
    text.0
}

fn of_process(text: &mut Text, report: &Report) {
    text.family("info", Gauge, "Version and process id of the RTI; the value is always 1.");
    text.sample("info", &[("version", &report.version), ("pid", &report.pid)], 1);
    text.one("uptime_seconds", Gauge, "Time since the RTI started.", seconds(report.uptime));
    let busy = seconds(report.work.busy);
    text.one("busy_seconds_total", Counter, "Time its loop spent on work.", busy);
    let longest = seconds(report.work.longest_turn);
    text.one("longest_turn_seconds", Gauge, "Duration of the longest turn of its loop.", longest);
    text.one("turns_total", Counter, "Turns of its loop that found work.", report.work.turns);
    text.one("calls_total", Counter, "Calls executed.", report.work.calls);
    let callbacks = report.work.callbacks;
    text.one("callbacks_total", Counter, "Callbacks, counted once for each receiver.", callbacks);
    of_memory(text, &report.memory);
    let Report { received, sent, .. } = report;
    text.one("received_messages_total", Counter, "Messages received.", received.messages);
    text.one("received_bytes_total", Counter, "Bytes received.", received.bytes);
    text.one("sent_messages_total", Counter, "Messages sent.", sent.messages);
    text.one("sent_bytes_total", Counter, "Bytes sent.", sent.bytes);
}

fn of_memory(text: &mut Text, memory: &MemoryReport) {
    text.one("memory_limit_bytes", Gauge, "Limit of the memory account.", memory.limit);
    text.family("memory_bytes", Gauge, "Memory that peers make the RTI use, by holder.");
    let holders = [
        ("sessions", memory.sessions),
        ("federations", memory.federations),
        ("preparations", memory.preparations),
    ];
    for (holder, len) in holders {
        text.sample("memory_bytes", &[("holder", &holder)], len);
    }
    let name = "memory_refusals_total";
    text.family(name, Counter, "Calls refused for lack of memory, by limit.");
    let RefusalReport { session, federation, process } = memory.refused;
    for (limit, count) in [("session", session), ("federation", federation), ("process", process)] {
        text.sample(name, &[("limit", &limit)], count);
    }
}

fn of_sessions(text: &mut Text, report: &Report) {
    let help = "Connections that have not stated their purpose yet.";
    text.one("arrivals", Gauge, help, report.arrivals);
    let opened = report.sessions_opened;
    text.one("sessions_opened_total", Counter, "Sessions opened since the start.", opened);
    text.family("sessions_ended_total", Counter, "Ended sessions, by reason.");
    for (reason, count) in &report.sessions_ended {
        text.sample("sessions_ended_total", &[("reason", reason)], count);
    }
    text.family("sessions", Gauge, "Sessions, by state.");
    let states = [
        ("running", SessionState::Running),
        ("congested", SessionState::Congested),
        ("apart", SessionState::Apart),
    ];
    for (word, state) in states {
        let count = report.sessions.iter().filter(|session| session.state == state).count();
        text.sample("sessions", &[("state", &word)], count);
    }
    let backlog: usize = report.sessions.iter().map(|session| session.backlog_bytes).sum();
    text.one("backlog_bytes", Gauge, "Memory of the messages queued for sending.", backlog);
    let in_files: usize = report.sessions.iter().map(|session| session.file_bytes).sum();
    text.one("spool_file_bytes", Gauge, "The part of the spools that is in files.", in_files);
    let SlowReading { spooled, stored, conflated, dropped, congested, held } = report.slow_reading;
    text.family("slow_reading_total", Counter, "What slow readers missed and cost, by kind.");
    let kinds = [
        ("spooled", spooled),
        ("stored", stored),
        ("conflated", conflated),
        ("dropped", dropped),
        ("congested", congested),
        ("held", held),
    ];
    for (kind, count) in kinds {
        text.sample("slow_reading_total", &[("kind", &kind)], count);
    }
    let kept: usize = report.sessions.iter().map(|session| session.kept_bytes).sum();
    text.one("kept_bytes", Gauge, "Memory of sent messages that are not acknowledged yet.", kept);
}

fn of_federations(text: &mut Text, federations: &[FederationReport]) {
    text.one("federations", Gauge, "Federation executions.", federations.len());
    let mut each = |name, kind, help, value: fn(&FederationReport) -> u64| {
        text.family(name, kind, help);
        for one in federations {
            text.sample(name, &[("federation", &one.name)], value(one));
        }
    };
    each("federates", Gauge, "Joined federates.", |one| one.federates.len() as u64);
    each("instances", Gauge, "Object instances.", |one| one.instances as u64);
    each("messages_total", Counter, "Messages sent in the federation.", |one| one.messages);
    each("federation_memory_bytes", Gauge, "Memory that it holds.", |one| one.memory as u64);
    let help = "Synchronization points that some federate has not reached.";
    each("synchronization_points", Gauge, help, |one| one.synchronization_points.len() as u64);
}

/// Returns a metric of a federate, or `None` if it has no value now.
type OfFederate = fn(&FederateReport, Option<&SessionReport>) -> Option<f64>;

/// For each metric: the name without its prefix, the kind, the help text and the function that returns its value.
const OF_FEDERATES: [(&str, MetricKind, &str, OfFederate); 20] = [
    ("federate_logical_time", Gauge, "Logical time.", |one, _| Some(one.time.as_f64())),
    ("federate_lookahead", Gauge, "Lookahead, if time-regulating.", |one, _| {
        Some(one.lookahead?.as_f64())
    }),
    ("federate_constrained", Gauge, "1 if time-constrained, else 0.", |one, _| {
        Some(one.constrained.into())
    }),
    ("federate_galt", Gauge, "Greatest time that can be granted now.", |one, _| {
        Some(one.galt?.as_f64())
    }),
    ("federate_requested_time", Gauge, "Time requested but not granted yet.", |one, _| {
        Some(one.waiting?.until?.as_f64())
    }),
    ("federate_waiting_seconds", Gauge, "Time spent waiting for the present grant.", |one, _| {
        Some(one.waiting.map_or(0.0, |waiting| seconds(waiting.since)))
    }),
    ("federate_undelivered", Gauge, "Messages kept for a later time.", |one, _| {
        Some(one.undelivered as f64)
    }),
    ("federate_backlog", Gauge, "Messages queued for it.", |_, session| {
        Some(session?.backlog as f64)
    }),
    ("federate_backlog_bytes", Gauge, "Memory of the queued messages.", |_, session| {
        Some(session?.backlog_bytes as f64)
    }),
    ("federate_spool_file_bytes", Gauge, "The part of its spool in a file.", |_, session| {
        Some(session?.file_bytes as f64)
    }),
    ("federate_spooled_messages_total", Counter, "Messages in its spool so far.", |_, session| {
        Some(session?.slow_reading.spooled as f64)
    }),
    (
        "federate_conflated_messages_total",
        Counter,
        "Best-effort updates it missed.",
        |_, session| Some(session?.slow_reading.conflated as f64),
    ),
    ("federate_dropped_messages_total", Counter, "Interactions it missed.", |_, session| {
        Some(session?.slow_reading.dropped as f64)
    }),
    ("federate_congestions_total", Counter, "Times at which its calls waited.", |_, session| {
        Some(session?.slow_reading.congested as f64)
    }),
    ("federate_holds_total", Counter, "Times at which it delayed a sender.", |_, session| {
        Some(session?.slow_reading.held as f64)
    }),
    ("federate_silence_seconds", Gauge, "Time since something was received.", |_, session| {
        Some(seconds(session?.silence))
    }),
    ("federate_received_messages_total", Counter, "Messages received from it.", |_, session| {
        Some(session?.received.messages as f64)
    }),
    ("federate_received_bytes_total", Counter, "Bytes received from it.", |_, session| {
        Some(session?.received.bytes as f64)
    }),
    ("federate_sent_messages_total", Counter, "Messages sent to it.", |_, session| {
        Some(session?.sent.messages as f64)
    }),
    ("federate_sent_bytes_total", Counter, "Bytes sent to it.", |_, session| {
        Some(session?.sent.bytes as f64)
    }),
];

fn of_federates(text: &mut Text, report: &Report) {
    let sessions: BTreeMap<u64, &SessionReport> =
        report.sessions.iter().map(|session| (session.number, session)).collect();
    let session = |one: &FederateReport| sessions.get(&one.session).copied();
    let all: Vec<(&str, &FederateReport, Option<&SessionReport>)> = report
        .federations
        .iter()
        .flat_map(|of| of.federates.iter().map(move |one| (&*of.name, one, session(one))))
        .collect();
    for (name, kind, help, value) in OF_FEDERATES {
        text.family(name, kind, help);
        for (federation, one, session) in &all {
            if let Some(value) = value(one, *session) {
                let labels: [(&str, &dyn Display); 2] =
                    [("federation", federation), ("federate", &one.name)];
                text.sample(name, &labels, value);
            }
        }
    }
    let name = "holding_back_seconds";
    text.family(name, Gauge, "Longest time that others have waited for this federate to advance.");
    for federation in &report.federations {
        for holder in &federation.holding_back {
            let labels: [(&str, &dyn Display); 2] =
                [("federation", &federation.name), ("federate", &holder.federate)];
            text.sample(name, &labels, seconds(holder.since));
        }
    }
}

#[derive(Clone, Copy)]
enum MetricKind {
    Counter,
    Gauge,
}

struct Text(String);

impl Text {
    /// Writes the two lines that precede the samples of a metric.
    fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            Counter => "counter",
            Gauge => "gauge",
        };
        self.line(format_args!("# HELP hemiola_rti_{name} {help}"));
        self.line(format_args!("# TYPE hemiola_rti_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        self.line(format_args!("hemiola_rti_{name}{{{}}} {value}", labels.join(",")));
    }

    /// Writes a metric with one sample and no labels.
    fn one(&mut self, name: &str, kind: MetricKind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.line(format_args!("hemiola_rti_{name} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("writing to a string does not fail");
    }
}

/// Escapes the value of a label. Federates choose the names, so they may contain anything.
fn escaped(value: &dyn Display) -> String {
    value.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Divides instead of multiplying by 1e-9, which would print 61.5 s as 61.50000000000001.
fn seconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e9
}
