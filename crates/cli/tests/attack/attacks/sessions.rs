//! Many sessions, federates and federations, and sessions that ask for more than they read.

use std::time::{Duration, Instant};

use hemiola_federate::{Federate, Options};
use hemiola_hla::ResignAction;
use hemiola_hla::call::FederationCall;

use super::super::federation::create;
use super::super::raw::Raw;
use super::{Outcome, Target, made, text};

/// Federations in a list. One session may have fewer.
const FEDERATIONS: usize = 200;

/// Sessions pipeline requests with long replies for a second and never read; then they close all at once.
pub(super) fn lists(to: &Target, sessions: usize) -> Outcome {
    let mut creator = Federate::connect(&to.rti, Options::default()).map_err(text)?;
    let mut created = 0;
    for number in 0..FEDERATIONS {
        match create(&mut creator, &format!("{number:0>250}")) {
            Ok(()) => created += 1,
            // It has its share of them.
            Err(error) if error.exception().is_some() && 2 * created >= FEDERATIONS => break,
            Err(error) => return Err(format!("only {created} federations: {error}")),
        }
    }
    let mut all = Vec::new();
    for _ in 0..sessions {
        all.push(Raw::connect(&to.rti)?);
    }
    for raw in &mut all {
        for _ in 0..to.count(3000) {
            raw.send(FederationCall::ListFederationExecutions);
        }
    }
    let until = Instant::now() + to.time(Duration::from_secs(2));
    while Instant::now() < until {
        if all.iter_mut().map(Raw::write).sum::<usize>() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let open = all.iter().filter(|raw| !raw.is_closed()).count();
    Ok(format!("{created} federations, {open} of {sessions} sessions still open"))
}

/// Makes this many attempts; notes how many failed, and why the first one did.
fn attempts(count: usize, mut attempt: impl FnMut() -> Result<(), &'static str>) -> Outcome {
    let failures: Vec<&str> = (0..count).filter_map(|_| attempt().err()).collect();
    let first = failures.first().copied();
    let note = first.map(|first| format!("{} of {count} refused: {first}", failures.len()));
    made(count - failures.len(), count, first, note.unwrap_or_default())
}

/// Opens sessions and closes each at once.
pub(super) fn abandoned(to: &Target) -> Outcome {
    attempts(to.count(2048), || Raw::open(&to.rti).map(drop))
}

const MORTAL: &str = "Mortal";

/// Opens and populates the federation of those that come and go.
fn mortal(to: &Target) -> Result<Federate, String> {
    let mut creator = Federate::connect(&to.rti, Options::default()).map_err(text)?;
    create(&mut creator, MORTAL).map_err(text)?;
    Ok(creator)
}

/// Federates join, and their connections break.
pub(super) fn deaths(to: &Target) -> Outcome {
    let _creator = mortal(to)?;
    attempts(to.count(2100), || Raw::join(&to.rti, MORTAL).map(drop))
}

/// Federates join and resign, and then close without disconnecting.
pub(super) fn leavers(to: &Target) -> Outcome {
    let _creator = mortal(to)?;
    attempts(to.count(2100), || {
        let mut raw = Raw::join(&to.rti, MORTAL)?;
        let resign_action = Some(ResignAction::NoAction);
        raw.call(FederationCall::ResignFederationExecution { resign_action }).map(drop)
    })
}

/// Creates federations until the RTI refuses more, and goes.
pub(super) fn empty_federations(to: &Target) -> Outcome {
    let mut creator = Federate::connect(&to.rti, Options::default()).map_err(text)?;
    let count = to.count(256);
    for number in 0..count {
        if let Err(error) = create(&mut creator, &format!("Empty {number}")) {
            let why = error.to_string();
            return made(number, count, Some(&why), format!("{number} created, then: {why}"));
        }
    }
    Ok(format!("{count} created"))
}
