//! The table: one row for each attack and transport, and whether the limits hold.

use hemiola_units::{Bytes, Span};

use super::round::{MEMORY_BESIDES, Record, Transport};

/// The limit of the pair's worst latency, or twice the worst of the bare timer if that is longer.
const WORST_MAX: Span = Span::from_millis(5);

/// The limit of a new session.
const SESSION_MAX: Span = Span::from_millis(100);

/// The limit of a small federation that is created.
const CREATE_MAX: Span = Span::from_millis(1000);

/// The limit of the memory after the attack, as a share of the memory before.
const MEMORY_AFTER_MAX: f64 = 1.2;

/// The limit of the median after the attack, as a share of the median before.
const RECOVERY_MAX: f64 = 1.2;

/// A difference of two medians of two seconds that says nothing. Of the rows of one session, those of attacks that
/// change nothing among them, half got faster: their ratios went from 0.5 to 1.6, and none differed by more than this.
const NOISE: Span = Span::from_micros(150);

pub(crate) const HEAD: &str = "\
| attack | over | p50 | p99 | worst | timer | turn | RSS before | peak | after | session | create | recovery | verdict |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

fn ms(span: Span) -> String {
    if span == Span::MAX {
        return "–".into();
    }
    let ms = span.secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.0}") }
}

/// Returns the row of a round without figures, because the harness failed in it.
pub(crate) fn row_without_figures(what: &str, transport: Transport, reason: &str) -> String {
    format!("| {what} | {} |{} {reason} |", transport.word(), " – |".repeat(11))
}

fn mib(Bytes(len): Bytes) -> u64 {
    len >> 20
}

impl Record {
    fn recovery(&self) -> f64 {
        self.after.p50.secs_f64() / self.before.p50.secs_f64().max(1e-9)
    }

    /// Returns every limit that this round does not keep.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut found = self.broken_rules();
        let worst_max = WORST_MAX.max(self.bare * 2);
        let slow = [
            ("worst", self.during.worst, worst_max),
            ("session", self.sessions.worst, SESSION_MAX),
            ("create", self.creates.worst, CREATE_MAX),
        ];
        for (what, span, limit) in slow {
            if span > limit {
                found.push(format!("{what} > {} ms", ms(limit)));
            }
        }
        if self.memory.after.0 as f64 > self.memory.before.0 as f64 * MEMORY_AFTER_MAX {
            found.push(format!("RSS after > {MEMORY_AFTER_MAX} × before"));
        }
        if self.after.p50 == Span::MAX {
            found.push("no updates after the attack".into());
        } else if self.recovery() > RECOVERY_MAX && self.after.p50 - self.before.p50 > NOISE {
            found.push(format!("recovery > {RECOVERY_MAX}"));
        }
        found
    }

    /// Returns what must not happen on any machine, however slow: the rules that the tests check.
    pub(crate) fn broken_rules(&self) -> Vec<String> {
        let mut found = self.faults.clone();
        found.extend([&self.sessions, &self.creates].into_iter().flat_map(|one| one.fault.clone()));
        let memory_max = Bytes(self.memory.limit.0 + MEMORY_BESIDES.0);
        if self.memory.peak > memory_max {
            found.push(format!("RSS > {} MiB", mib(memory_max)));
        }
        for (what, reception) in [("session", &self.sessions), ("create", &self.creates)] {
            if let Some(reason) = &reception.failure {
                let all = reception.failed + reception.served;
                // The cause stands last.
                let reason = reason.rsplit(": ").next().unwrap_or(reason);
                found.push(format!("{what}: {} of {all} failed: {reason}", reception.failed));
            }
        }
        found
    }

    /// Returns the row of the table.
    pub(crate) fn row(&self) -> String {
        let failures = self.failures();
        let verdict = if failures.is_empty() { "holds".into() } else { failures.join("; ") };
        let Self { what, transport, during, memory, .. } = self;
        format!(
            "| {what} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |",
            transport.word(),
            ms(during.p50),
            ms(during.p99),
            ms(during.worst),
            ms(self.bare),
            ms(self.turn),
            mib(memory.before),
            mib(memory.peak),
            mib(memory.after),
            ms(self.sessions.worst),
            ms(self.creates.worst),
            if self.after.p50 == Span::MAX {
                "–".into()
            } else {
                format!("{:.2}", self.recovery())
            },
        )
    }
}
