//! The report in Prometheus' text format, version 0.0.4.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use hemiola_units::Span;

use super::{FederateReport, FederationReport, Report, SessionReport, SessionState};

/// Every metric of an RTI as text; its type is `text/plain; version=0.0.4`.
///
/// Names begin with `hemiola_rti_`. Those of a federate have the labels `federation` and `federate`; they end when it
/// resigns. Logical times are doubles, so whole ones above 2⁵³ are rounded.
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
    text.family("info", Kind::Gauge, "The program; always 1.");
    text.sample("info", &[("version", &report.version), ("pid", &report.pid)], 1);
    text.one("uptime_seconds", Kind::Gauge, "How long the RTI runs.", seconds(report.uptime));
    let busy = seconds(report.work.busy);
    text.one("busy_seconds_total", Kind::Counter, "How long its loop had something to do.", busy);
    text.one("turns_total", Kind::Counter, "Turns of its loop with work.", report.work.turns);
    text.one("calls_total", Kind::Counter, "Calls carried out.", report.work.calls);
    let callbacks = report.work.callbacks;
    text.one("callbacks_total", Kind::Counter, "Callbacks, for everyone who got them.", callbacks);
    let Report { received, sent, .. } = report;
    text.one("received_messages_total", Kind::Counter, "Messages received.", received.messages);
    text.one("received_bytes_total", Kind::Counter, "Bytes received.", received.bytes);
    text.one("sent_messages_total", Kind::Counter, "Messages sent.", sent.messages);
    text.one("sent_bytes_total", Kind::Counter, "Bytes sent.", sent.bytes);
}

fn of_sessions(text: &mut Text, report: &Report) {
    let help = "Connections that have not said what they are for.";
    text.one("arrivals", Kind::Gauge, help, report.arrivals);
    let opened = report.sessions_opened;
    text.one("sessions_opened_total", Kind::Counter, "Sessions given so far.", opened);
    text.family("sessions_ended_total", Kind::Counter, "Sessions that ended, by reason.");
    for (reason, count) in &report.sessions_ended {
        text.sample("sessions_ended_total", &[("reason", reason)], count);
    }
    text.family("sessions", Kind::Gauge, "Sessions by how they are.");
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
    text.one("backlog_bytes", Kind::Gauge, "Memory of what waits to be sent.", backlog);
    let kept: usize = report.sessions.iter().map(|session| session.kept_bytes).sum();
    text.one("kept_bytes", Kind::Gauge, "Memory of what was sent and may be needed again.", kept);
}

fn of_federations(text: &mut Text, federations: &[FederationReport]) {
    text.one("federations", Kind::Gauge, "Federation executions.", federations.len());
    let mut each = |name, kind, help, value: fn(&FederationReport) -> u64| {
        text.family(name, kind, help);
        for one in federations {
            text.sample(name, &[("federation", &one.name)], value(one));
        }
    };
    each("federates", Kind::Gauge, "Joined federates.", |one| one.federates.len() as u64);
    each("instances", Kind::Gauge, "Object instances.", |one| one.instances as u64);
    each("messages_total", Kind::Counter, "Messages sent within it.", |one| one.messages);
    let help = "Synchronization points that not all have reached.";
    each("synchronization_points", Kind::Gauge, help, |one| {
        one.synchronization_points.len() as u64
    });
}

/// A figure of a federate; `None`: it has none now.
type OfFederate = fn(&FederateReport, Option<&SessionReport>) -> Option<f64>;

/// Name without prefix, kind, help, figure.
const OF_FEDERATES: [(&str, Kind, &str, OfFederate); 14] = [
    ("federate_logical_time", Kind::Gauge, "Its logical time.", |one, _| Some(one.time.as_f64())),
    ("federate_lookahead", Kind::Gauge, "Its lookahead, if time-regulating.", |one, _| {
        Some(one.lookahead?.as_f64())
    }),
    ("federate_constrained", Kind::Gauge, "1 if it is time-constrained.", |one, _| {
        Some(one.constrained.into())
    }),
    ("federate_galt", Kind::Gauge, "The greatest time it can be granted now.", |one, _| {
        Some(one.galt?.as_f64())
    }),
    ("federate_requested_time", Kind::Gauge, "The time it waits to be granted.", |one, _| {
        Some(one.waiting?.until?.as_f64())
    }),
    ("federate_waiting_seconds", Kind::Gauge, "How long it has waited for a grant.", |one, _| {
        Some(one.waiting.map_or(0.0, |waiting| seconds(waiting.since)))
    }),
    ("federate_undelivered", Kind::Gauge, "Messages kept until its time comes.", |one, _| {
        Some(one.undelivered as f64)
    }),
    ("federate_backlog", Kind::Gauge, "Messages that wait to be sent to it.", |_, session| {
        Some(session?.backlog as f64)
    }),
    ("federate_backlog_bytes", Kind::Gauge, "Memory of these.", |_, session| {
        Some(session?.backlog_bytes as f64)
    }),
    ("federate_silence_seconds", Kind::Gauge, "How long nothing has come.", |_, session| {
        Some(seconds(session?.silence))
    }),
    ("federate_received_messages_total", Kind::Counter, "Messages from it.", |_, session| {
        Some(session?.received.messages as f64)
    }),
    ("federate_received_bytes_total", Kind::Counter, "Bytes from it.", |_, session| {
        Some(session?.received.bytes as f64)
    }),
    ("federate_sent_messages_total", Kind::Counter, "Messages to it.", |_, session| {
        Some(session?.sent.messages as f64)
    }),
    ("federate_sent_bytes_total", Kind::Counter, "Bytes to it.", |_, session| {
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
    text.family(name, Kind::Gauge, "How long others have waited for this federate's time.");
    for federation in &report.federations {
        for holder in &federation.holding_back {
            let labels: [(&str, &dyn Display); 2] =
                [("federation", &federation.name), ("federate", &holder.federate)];
            text.sample(name, &labels, seconds(holder.since));
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
}

struct Text(String);

impl Text {
    /// The two lines that its samples follow.
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.line(format_args!("# HELP hemiola_rti_{name} {help}"));
        self.line(format_args!("# TYPE hemiola_rti_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        self.line(format_args!("hemiola_rti_{name}{{{}}} {value}", labels.join(",")));
    }

    /// A family of one sample without labels.
    fn one(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.line(format_args!("hemiola_rti_{name} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }
}

/// A label's value as the format wants it. Federates give the names.
fn escaped(value: &dyn Display) -> String {
    value.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Divided, not multiplied, so that 61.5 s are not 61.50000000000001.
fn seconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e9
}
