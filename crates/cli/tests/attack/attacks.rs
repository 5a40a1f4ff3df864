//! The attacks, each a function that runs in a process of its own beside the healthy pair.

pub(crate) mod gone;
mod instances;
mod malice;
mod memory;
mod models;
mod readers;
mod sessions;

use std::time::Duration;

use hemiola_units::{Bytes, RtiAddress};

use super::process::{Orders, report};

/// An attack, and the RTI that it is made on.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// A description for the table.
    pub(crate) what: &'static str,
    /// The `--memory-max` of the RTI in MiB, if not the default.
    pub(crate) memory_mib: Option<u64>,
    /// Further options of the RTI.
    pub(crate) options: &'static [&'static str],
    /// The address space of the RTI (`ulimit -v`).
    pub(crate) address_space: Option<Bytes>,
    /// How long after the attack the RTI may rightly keep what it left behind.
    pub(crate) keeps_for: Duration,
    /// The function, which ends when the attack does.
    pub(crate) act: fn(&Target) -> Outcome,
}

/// How an attack went: what is worth a note in the table, or why it could not be made.
pub(crate) type Outcome = Result<String, String>;

/// Federates of an attacker that is gone are resigned before the memory after the attack is read.
const SHORT_WINDOW: &[&str] = &["--resume-window", "2s"];

/// Longer than an attack takes that opens thousands of sessions, so that all of them wait at the same time.
const LONG_WINDOW: &[&str] = &["--resume-window", "10s"];
const LONG: Duration = Duration::from_secs(11);

const fn attack(name: &'static str, what: &'static str, act: fn(&Target) -> Outcome) -> Attack {
    Attack {
        name,
        what,
        memory_mib: None,
        options: SHORT_WINDOW,
        address_space: None,
        keeps_for: Duration::ZERO,
        act,
    }
}

/// As [`attack`], on an RTI that keeps every session without a connection until after the attack.
const fn with_long_window(
    name: &'static str,
    what: &'static str,
    act: fn(&Target) -> Outcome,
) -> Attack {
    Attack { options: LONG_WINDOW, keeps_for: LONG, ..attack(name, what, act) }
}

/// As [`attack`], with the memory limit of the measurement that led to it.
const fn within_64_mib(
    name: &'static str,
    what: &'static str,
    act: fn(&Target) -> Outcome,
) -> Attack {
    Attack { memory_mib: Some(64), ..attack(name, what, act) }
}

pub(crate) const ATTACKS: [Attack; 29] = [
    // What the machine does to every row.
    attack("nothing", "no attack", |_| Ok("nothing is done".into())),
    attack(
        "lists-30",
        "30 sessions pipeline listFederationExecutions, never read, then close",
        |to| sessions::lists(to, 30),
    ),
    attack("lists-50", "50 sessions do the same", |to| sessions::lists(to, 50)),
    attack("viewer-300", "a viewer reads 300 KB/s beside a reliable flood", |to| {
        readers::slow(to, "Loud", 300_000)
    }),
    attack("viewer-4", "a viewer reads 4 KB/s beside a reliable flood", |to| {
        readers::slow(to, "Loud", 4000)
    }),
    attack("viewer-0", "a viewer reads nothing beside a reliable flood", |to| {
        readers::slow(to, "Loud", 0)
    }),
    attack("viewer-300-best-effort", "a viewer reads 300 KB/s beside a best-effort flood", |to| {
        readers::slow(to, "Noise", 300_000)
    }),
    attack("viewer-0-best-effort", "a viewer reads nothing beside a best-effort flood", |to| {
        readers::slow(to, "Noise", 0)
    }),
    with_long_window("sessions", "2,048 × (new session, close)", sessions::abandoned),
    with_long_window("deaths", "federates that die, 2,100 times", sessions::deaths),
    with_long_window(
        "leavers",
        "federates that resign without disconnecting, 2,100 times",
        sessions::leavers,
    ),
    attack("empty-federations", "256 empty federations", sessions::empty_federations),
    attack("regulator", "a regulating federate is killed", gone::regulated),
    within_64_mib("far-future", "time-stamped messages for the far future", memory::far_future),
    within_64_mib(
        "queued-creates",
        "100 creates of 15.8 MB wait for their object models",
        models::large_creates,
    ),
    within_64_mib("classes", "a module of 700,000 classes", models::classes),
    within_64_mib("names", "a million reserved names", memory::names),
    Attack {
        address_space: Some(Bytes(512 << 20)),
        ..attack(
            "address-space",
            "far-future messages under `ulimit -v` of 512 MiB",
            memory::far_future,
        )
    },
    attack("large-creates", "100 creates of 15.8 MB beside a tiny create", models::large_creates),
    attack("joins", "six federates join with a module of 100,000 classes each", models::joins),
    attack("subscribe", "one subscription to 200,000 instances", instances::subscribe),
    attack("request", "one request for the values of 200,000 instances", instances::request),
    attack("resign", "one resign that deletes 200,000 instances", instances::resign),
    attack("lost-owner", "the owner of 200,000 instances is evicted", instances::lost_owner),
    attack("release", "one grant releases 300,000 messages", instances::release),
    attack("large-updates", "updates of 15 MB to four subscribers", instances::large_updates),
    attack("bell", "a peer on shared memory fills the bell and clears O_NONBLOCK", malice::bell),
    attack("shared-counts", "a peer on shared memory writes wild counts", malice::counts),
    attack("half-open", "4,096 half-open connections", malice::half_open),
];

/// What an attack is made on.
pub(crate) struct Target {
    /// The address over the transport of the row.
    pub(crate) rti: RtiAddress,
    /// The address over shared memory.
    pub(crate) shm: RtiAddress,
    /// Whether the attack is made at its full scale, not in the short form of the tests.
    is_full: bool,
}

impl Target {
    /// Returns a number of repetitions in the scale of this run.
    pub(crate) fn count(&self, full: usize) -> usize {
        if self.is_full { full } else { full.div_ceil(SHORTER) }
    }

    /// Returns a length of time in the scale of this run.
    pub(crate) fn time(&self, full: Duration) -> Duration {
        if self.is_full { full } else { full / SHORTER as u32 }
    }
}

/// How much smaller the short form is.
const SHORTER: usize = 20;

/// The role: makes one attack, and reports `note` or `failed`.
pub(crate) fn attacker(orders: &Orders) {
    hemiola_rt::privilege::raise_descriptor_limit();
    let name = orders.text("attack").expect("the parent passes it");
    let attack = ATTACKS.iter().find(|attack| attack.name == name).expect("a name of the table");
    let (rti, shm) = (orders.address("rti"), orders.address("shm"));
    let target = Target { rti, shm, is_full: orders.has("full") };
    match (attack.act)(&target) {
        Ok(note) => report(format_args!("note {note}")),
        Err(reason) => report(format_args!("failed {reason}")),
    }
}

/// Returns the note of an attack that is made of many parts, some of which the RTI may refuse: it may defend itself. If
/// it refuses all, or more than half fail, the rest is not the attack.
pub(crate) fn made(done: usize, of: usize, why: Option<&str>, note: String) -> Outcome {
    if 2 * done >= of {
        return Ok(note);
    }
    Err(format!("only {done} of {of}: {}", why.unwrap_or("no reason is known")))
}

/// Returns an error as text.
pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
