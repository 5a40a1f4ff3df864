//! Calls that arrive between a callback that ends a transition of time, and its answer.

use hemiola_hla::call::TimeCall;
use hemiola_hla::{Call, Callback, Exception, LogicalInterval, LogicalTime, Reply};
use hemiola_rti_server::Settings;

use crate::federate::Federate;
use crate::world::World;

fn advance(time: f64) -> Call {
    TimeCall::TimeAdvanceRequest { time: LogicalTime::float(time).unwrap().into() }.into()
}

/// A regulating federate that has received a grant of 1 and not answered it.
fn granted(world: &mut World) -> Federate {
    let mut federate = Federate::join(world, "Demo");
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    assert_eq!(federate.call(world, TimeCall::EnableTimeRegulation { lookahead }), Ok(Reply::Done));
    federate.until(world, |one| one.is_regulating);
    // The RTI gets the answer.
    (0..5).for_each(|_| step(&mut federate, world));
    federate.answers_later = true;
    assert_eq!(federate.call(world, advance(1.0)), Ok(Reply::Done));
    let is_grant = |one: &Callback| matches!(one, Callback::TimeAdvanceGrant { .. });
    federate.until(world, |one| one.has_had(is_grant));
    federate
}

fn step(federate: &mut Federate, world: &mut World) {
    federate.step(world);
    world.turn();
}

fn time(number: f64) -> Reply {
    Reply::Time(LogicalTime::float(number).unwrap().into())
}

#[test]
fn calls_that_overtake_the_answer_to_a_grant_are_carried_out_after_it() {
    let mut world = World::new(1, Settings::default());
    let mut federate = granted(&mut world);
    // As a thread does that the callback has told, before the callback returns.
    let query = federate.send(&world, TimeCall::QueryLogicalTime).unwrap();
    (0..5).for_each(|_| step(&mut federate, &mut world));
    assert!(!federate.replies.contains_key(&query), "it waits for the answer");
    federate.answers_later = false;
    federate.until(&mut world, |one| one.replies.contains_key(&query));
    assert_eq!(federate.replies[&query], Ok(time(1.0)));
    assert_eq!(federate.call(&mut world, advance(2.0)), Ok(Reply::Done));
}

#[test]
fn a_federate_that_has_not_evoked_its_grant_is_still_advancing() {
    let mut world = World::new(2, Settings::default());
    let mut federate = granted(&mut world);
    let refused = federate.call(&mut world, advance(2.0)).unwrap_err();
    assert_eq!(refused.exception, Exception::InTimeAdvancingState);
    // It waits once for each grant, and several calls do not wait.
    let began = world.now;
    let pair = [0, 1].map(|_| federate.send(&world, TimeCall::QueryLogicalTime).unwrap());
    federate.until(&mut world, |one| pair.iter().all(|call| one.replies.contains_key(call)));
    assert!(pair.iter().all(|call| federate.replies[call] == Ok(time(0.0))));
    assert!(world.now - began < hemiola_units::Span::from_millis(10), "{:?}", world.now - began);
}
