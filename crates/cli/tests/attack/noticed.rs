//! Tests of the harness itself: it notices a process that fails, whatever that process does for it, and writes what the
//! guide shows.

use std::time::Duration;

use super::churn::{self, Mishap};
use super::page;
use super::process::{Finished, Orders, PATIENCE, Process, next_order, report};
use super::round::{Transport, attack_within};

/// A statement, and the function that returns why it is not true of the command.
type Test = (&'static str, fn(&str) -> Result<(), String>);

pub(crate) const TESTS: [Test; 6] = [
    ("a_visitor_without_an_rti_is_noticed", without_an_rti),
    ("a_visitor_that_is_killed_is_noticed", killed),
    ("an_attacker_that_panics_is_noticed", attacker_panics),
    ("a_thread_that_panics_is_noticed", thread_panics),
    ("a_process_that_is_killed_is_noticed", process_killed),
    ("a_measurement_has_the_form_of_the_guide", page::has_the_form_of_the_guide),
];

/// How long the visitors would go on.
const CHURN: Duration = Duration::from_secs(2);

fn without_an_rti(program: &str) -> Result<(), String> {
    one_visitor_is_missed(program, Mishap::WrongAddress, "after 0 visits")
}

fn killed(program: &str) -> Result<(), String> {
    one_visitor_is_missed(program, Mishap::Killed, "SIGKILL")
}

/// The churn fails for the first visitor alone, with its reason.
fn one_visitor_is_missed(program: &str, mishap: Mishap, reason: &str) -> Result<(), String> {
    let outcome = churn::run(program, &Transport::ALL, CHURN, Some(mishap))?;
    match &outcome.broken_rules()[..] {
        [one] if one.starts_with("visitor 1 ") && one.contains(reason) => Ok(()),
        others => Err(format!("{others:?} says not only that visitor 1 fails: {reason}")),
    }
}

/// The attacker has no address to attack.
fn attacker_panics(_: &str) -> Result<(), String> {
    let outcome = attack_within(PATIENCE, &["attack=nothing".into()]);
    match &outcome {
        Err(reason) if reason.contains("the parent passes it") => Ok(()),
        _ => Err(format!("{outcome:?} says not what the attacker panics for")),
    }
}

fn thread_panics(_: &str) -> Result<(), String> {
    let mut careless = Process::start("careless", &["panics".into()]);
    careless.says("ready")?;
    let Finished { lines, failure } = careless.finish(PATIENCE);
    let failure = failure.map(String::from);
    if failure.as_ref().is_some_and(|reason| reason.contains("planted")) && lines.is_empty() {
        return Ok(());
    }
    Err(format!("{failure:?} says not what a thread panics for, after {lines:?}"))
}

fn process_killed(_: &str) -> Result<(), String> {
    let mut careless = Process::start("careless", &[]);
    careless.says("ready")?;
    careless.child.kill().map_err(|error| error.to_string())?;
    let Finished { failure, .. } = careless.finish(PATIENCE);
    let failure = failure.map(String::from);
    if failure.as_ref().is_some_and(|reason| reason.contains("SIGKILL")) {
        return Ok(());
    }
    Err(format!("{failure:?} says not that it was killed"))
}

/// The role of a process with a thread that panics, if ordered, and which its first thread does not look after.
pub(crate) fn careless(orders: &Orders) {
    report("ready");
    if orders.has("panics") {
        let thread = std::thread::spawn(|| panic!("planted"));
        let _ = thread.join();
    }
    while next_order().is_some() {}
    report("done");
}
