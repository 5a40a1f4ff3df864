//! Calls that make the RTI keep something.

use hemiola_federate::hla::{LogicalInterval, LogicalTime};
use hemiola_federate::{Error, Options};

use super::super::federation::{Member, waiting};
use super::{Outcome, Target, text};

/// Federations with a sender and a receiver of time-stamped messages each.
const FEDERATIONS: usize = 4;

/// Bytes of a message for the far future.
const MESSAGE_LEN: usize = 60_000;

/// Messages for the far future in each federation.
const MESSAGES: usize = 4000;

/// Regulating federates send messages that the constrained receivers will not be granted.
pub(super) fn far_future(to: &Target) -> Outcome {
    let mut members = Vec::new();
    let mut notes = Vec::new();
    for number in 0..FEDERATIONS {
        match future(to, &format!("Future {number}")) {
            Ok((sender, receiver, sent)) => {
                notes.push(sent);
                members.push((sender, receiver));
            }
            // Its memory is full.
            Err(error) if number > 0 => notes.push(error.to_string()),
            Err(error) => return Err(text(error)),
        }
    }
    Ok(notes.join("; "))
}

fn future(to: &Target, federation: &str) -> Result<(Member, Member, String), Error> {
    let mut receiver = Member::join(&to.rti, federation, "Stamped", Options::default())?;
    receiver.subscribe()?;
    receiver.federate.enable_time_constrained_and_wait()?;
    let mut sender = Member::join(&to.rti, federation, "Stamped", Options::default())?;
    let object = sender.register()?;
    sender.federate.enable_time_regulation_and_wait(LogicalInterval::integer(1)?)?;
    let values = [(sender.value, vec![7; MESSAGE_LEN].into())];
    let count = to.count(MESSAGES);
    for number in 0..count {
        let time = LogicalTime::integer(1_000_000 + number as i64)?;
        let sent = sender.federate.update_attribute_values_with_time(object, &values, "", time);
        match sent {
            // Its share of the memory is full.
            Err(error) if number > 0 => {
                return Ok((sender, receiver, format!("after {number} messages: {error}")));
            }
            sent => drop(sent?),
        }
    }
    let answered = sender.federate.query_galt();
    let note = match answered {
        Ok(_) => format!("{count} messages"),
        Err(error) => format!("{count} messages, then: {error}"),
    };
    Ok((sender, receiver, note))
}

/// Names in one call.
const NAMES: usize = 500;

/// Reserves names of the maximum length until the RTI refuses more.
pub(super) fn names(to: &Target) -> Outcome {
    let member = Member::join(&to.rti, "Names", "Body", waiting()).map_err(text)?;
    let mut federate = member.federate;
    for call in 0..to.count(2000) {
        let names: Vec<String> =
            (0..NAMES).map(|name| format!("{:0>250}", call * NAMES + name)).collect();
        match federate.reserve_multiple_object_instance_names(&names) {
            // Its share of the memory is full.
            Err(error) if call > 0 => return Ok(format!("{} names, then: {error}", call * NAMES)),
            reserved => reserved.map_err(text)?,
        }
        // The confirmations are read.
        while federate.evoke(hemiola_units::Span::ZERO).map_err(text)?.is_some() {}
    }
    Ok(format!("{} names", to.count(2000) * NAMES))
}
