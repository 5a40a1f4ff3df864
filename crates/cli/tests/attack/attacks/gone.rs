//! A regulating federate that is killed while others wait for it.

use std::time::Instant;

use hemiola_federate::Options;
use hemiola_federate::hla::{LogicalInterval, LogicalTime};

use super::super::federation::Member;
use super::super::process::{Orders, Process, report};
use super::{Outcome, Target, text};

const FEDERATION: &str = "Timed";

/// The role of the federate that is killed.
pub(crate) fn regulator(orders: &Orders) {
    let member = Member::join(&orders.address("rti"), FEDERATION, "Body", Options::default());
    let mut federate = member.expect("it joins").federate;
    let lookahead = LogicalInterval::integer(1).expect("it is positive");
    federate.enable_time_regulation_and_wait(lookahead).expect("permitted");
    report("regulates");
    loop {
        std::thread::park();
    }
}

/// A constrained federate waits for a regulating one, which is killed.
pub(super) fn regulated(to: &Target) -> Outcome {
    let mut regulator = Process::start("regulator", &[format!("rti={}", to.rti)]);
    regulator.says("regulates")?;
    let member = Member::join(&to.rti, FEDERATION, "Body", Options::default()).map_err(text)?;
    let mut federate = member.federate;
    federate.enable_time_constrained_and_wait().map_err(text)?;
    drop(regulator);
    let killed = Instant::now();
    let goal = LogicalTime::integer(1000).map_err(text)?;
    federate.advance(goal, |_, _| Ok(())).map_err(text)?;
    Ok(format!("granted {:.1} s after the kill", killed.elapsed().as_secs_f64()))
}
