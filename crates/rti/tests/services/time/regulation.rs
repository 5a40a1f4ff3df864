//! Time-regulating federates and their lookahead (clauses 8.2 to 8.4, 8.20, 8.21).

use hemiola_hla::call::TimeCall;
use hemiola_hla::{EncodedInterval, Exception, Reply};

use crate::world::{Fed, World, interval};

fn lookahead(w: &mut World, fed: Fed) -> i64 {
    let reply = w.ok(fed, TimeCall::QueryLookahead);
    let Reply::Interval(lookahead) = reply else { panic!("{reply:?}") };
    i64::from_be_bytes(lookahead.bytes())
}

#[test]
fn regulation_starts_at_the_time_of_the_most_advanced_federate() {
    let mut w = World::new();
    let a = w.federate("a");
    w.constrain(a);
    w.tar(a, 100);
    let b = w.federate("b");
    w.regulate(b, 10);
    assert_eq!(w.callbacks(b), ["regulating 100"]);
    let c = w.federate("c");
    w.regulate(c, 200);
    assert_eq!(w.callbacks(c), ["regulating 0"], "it cannot send before 200 anyway");
    assert_eq!(w.galt(a), Some(110));
}

#[test]
fn time_stamps_before_time_plus_lookahead_are_refused() {
    let mut w = World::new();
    let a = w.in_time("a", 10);
    w.publish(a, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let call = w.update_at_call(car, "Position", 9);
    assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime);
    assert!(w.update_at(a, car, "Position", 10).is_some());
    let b = w.in_time("b", 1);
    w.tar(a, 20);
    let call = w.update_at_call(car, "Position", 29);
    assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime, "the requested time counts");
    assert!(w.update_at(a, car, "Position", 30).is_some());
    assert_eq!((w.callbacks(a), w.galt(b)), (vec![], Some(30)));
}

#[test]
fn time_stamps_of_unregulating_federates_order_nothing() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.in_time("b", 1));
    w.tar(a, 50);
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    assert_eq!(w.send_at(a, "Command.Stop", 3), None);
    w.tar(b, 10);
    assert_eq!(w.callbacks(b), ["receive Command.Stop of 3", "grant 10"]);
}

#[test]
fn a_shorter_lookahead_takes_effect_as_time_advances() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.in_time("b", 100));
    w.ok(a, TimeCall::ModifyLookahead { lookahead: interval(2).into() });
    assert_eq!((lookahead(&mut w, a), w.galt(b)), (10, Some(10)));
    w.tar(a, 5);
    assert_eq!((lookahead(&mut w, a), w.galt(b)), (5, Some(10)));
    w.tar(a, 20);
    assert_eq!((lookahead(&mut w, a), w.galt(b)), (2, Some(22)));
    w.ok(a, TimeCall::ModifyLookahead { lookahead: interval(7).into() });
    assert_eq!((lookahead(&mut w, a), w.galt(b)), (7, Some(27)));
}

#[test]
fn invalid_lookaheads_are_refused() {
    let mut w = World::new();
    let a = w.federate("a");
    let enable =
        |bytes: &[u8]| TimeCall::EnableTimeRegulation { lookahead: EncodedInterval::new(bytes) };
    assert_eq!(w.refused(a, enable(&[255; 8])), Exception::InvalidLookahead);
    assert_eq!(w.refused(a, enable(b"")), Exception::InvalidLookahead);
    assert_eq!(w.refused(a, TimeCall::QueryLookahead), Exception::TimeRegulationIsNotEnabled);
    assert_eq!(
        w.refused(a, TimeCall::DisableTimeRegulation),
        Exception::TimeRegulationIsNotEnabled
    );
    w.regulate(a, 1);
    assert_eq!(w.refused(a, enable(b"")), Exception::TimeRegulationAlreadyEnabled);
    let modify = TimeCall::ModifyLookahead { lookahead: EncodedInterval::new(b"") };
    assert_eq!(w.refused(a, modify), Exception::InvalidLookahead);
}

#[test]
fn disabling_regulation_releases_others_and_keeps_messages() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    w.send_at(a, "Command.Stop", 5);
    w.tar(b, 10);
    w.ok(a, TimeCall::DisableTimeRegulation);
    assert_eq!(w.callbacks(b), ["receive Command.Stop at 5", "grant 10"]);
    w.regulate(a, 1);
    assert_eq!(w.callbacks(a), ["regulating 10"]);
}

#[test]
fn the_end_of_time_can_be_reached() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 5), w.in_time("b", 5));
    w.tar(a, i64::MAX);
    w.tar(b, i64::MAX);
    assert_eq!(
        (w.callbacks(a), w.callbacks(b)),
        (vec![format!("grant {}", i64::MAX)], vec![format!("grant {}", i64::MAX)])
    );
}
