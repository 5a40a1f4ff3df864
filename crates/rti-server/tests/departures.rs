//! Federates that are gone: nothing that they held stays held for longer than their window.

use hemiola_hla::call::{FederationCall, TimeCall};
use hemiola_hla::data::{REPLACES, RESUME_WINDOW, RtiConfiguration, TOLD_OF_LOSS};
use hemiola_hla::{Callback, LogicalInterval, LogicalTime, Reply};
use hemiola_rti_server::Settings;
use hemiola_units::Span;

use crate::federate::{Federate, fom};
use crate::world::World;

const FEDERATION: &str = "Any";

/// The call that connects with these additional settings.
fn connect_with(additional_settings: String) -> FederationCall {
    FederationCall::ConnectWithConfiguration {
        rti_configuration: RtiConfiguration { additional_settings, ..Default::default() },
    }
}

fn join(name: &str) -> FederationCall {
    FederationCall::JoinFederationExecutionWithName {
        federate_name: name.into(),
        federate_type: "Test".into(),
        federation_name: FEDERATION.into(),
    }
}

/// A federate that connects with these additional settings and joins under this name.
fn joined(world: &mut World, settings: &str, name: &str) -> Federate {
    let mut federate = Federate::new(world);
    federate.call(world, connect_with(settings.into())).unwrap();
    let federation_name = FEDERATION.to_owned();
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name,
        fom_module: fom(),
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    let _ = federate.call(world, create);
    assert!(matches!(federate.call(world, join(name)), Ok(Reply::Joined(_))));
    federate
}

#[test]
fn a_federate_that_presents_the_secret_of_its_dead_session_has_its_name_at_once() {
    for is_dead in [true, false] {
        let mut world = World::new(1, Settings::default());
        let mut first = joined(&mut world, "", "Phoenix");
        let secret = first.session.id().secret();
        if is_dead {
            first.cut(&mut world);
            world.turn();
        }
        let mut second = Federate::new(&world);
        second.send(&world, connect_with(format!("{REPLACES}={secret}")));
        let answer = second.call(&mut world, join("Phoenix"));
        assert!(matches!(answer, Ok(Reply::Joined(_))), "{answer:?}");
        world.turns(3);
        let report = world.server.report();
        assert_eq!(report.federations[0].federates.len(), 1);
        assert_eq!(report.sessions_ended["its federate has replaced it"], 1);
    }
}

/// What the RTI has told a federate of the reasons for which it ends sessions, once everything has arrived.
fn told(world: &mut World, federate: &mut Federate) -> Vec<String> {
    federate.appetite = 1 << 20;
    for _ in 0..10 {
        federate.step(world);
        world.turn();
    }
    let log = federate.log.iter().flatten();
    let told = log.filter_map(|callback| match callback {
        Callback::ConnectionLost { fault_description } => {
            fault_description.strip_prefix("the RTI has ended the session: ")
        }
        _ => None,
    });
    told.map(str::to_owned).collect()
}

/// A federate that is told why its session ends, and notes all its callbacks.
fn asking(world: &mut World, name: &str) -> Federate {
    let mut federate = joined(world, TOLD_OF_LOSS, name);
    federate.log = Some(Vec::new());
    federate
}

fn evict(world: &mut World, name: &str) {
    let operator = world.connect_locally().unwrap();
    world.send(operator, format!("evict 1 {name}\n").as_bytes());
    world.turns(2);
    assert_eq!(world.take(operator, 3), Some(b"ok ".to_vec()));
}

#[test]
fn a_federate_that_asked_for_it_is_told_once_why_its_session_ends() {
    let mut world = World::new(6, Settings::default());
    let mut asks = asking(&mut world, "Asks");
    let mut other = joined(&mut world, "", "Other");
    other.log = Some(Vec::new());
    evict(&mut world, "Asks");
    assert_eq!(told(&mut world, &mut asks), ["evicted by the operator"]);
    let last = asks.log.as_ref().unwrap().last();
    assert!(matches!(last, Some(Callback::ConnectionLost { .. })), "{last:?}");
    evict(&mut world, "Other");
    assert_eq!(told(&mut world, &mut other), [""; 0]);
    assert!(asks.end.is_some() && other.end.is_some(), "neither can resume its session");
    let report = world.server.report();
    assert_eq!(report.sessions_ended["evicted by the operator"], 2);
    assert_eq!((report.sessions.len(), report.federations[0].federates.len()), (0, 0));
}

#[test]
fn federates_are_told_that_another_session_replaces_theirs_and_that_the_rti_stops() {
    let mut world = World::new(7, Settings::default());
    let mut first = asking(&mut world, "Phoenix");
    let secret = first.session.id().secret();
    let mut second = Federate::new(&world);
    let settings = format!("{REPLACES}={secret}\n{TOLD_OF_LOSS}");
    second.call(&mut world, connect_with(settings)).unwrap();
    second.log = Some(Vec::new());
    assert_eq!(told(&mut world, &mut first), ["its federate has replaced it"]);
    world.stop();
    assert_eq!(told(&mut world, &mut second), ["the RTI stops"]);
    assert_eq!(world.server.report().sessions.len(), 0);
}

#[test]
fn nothing_is_kept_to_tell_a_federate_that_does_not_read() {
    let mut world = World::new(8, Settings::default());
    let mut federate = asking(&mut world, "Busy");
    federate.appetite = 0;
    for _ in 0..20_000 {
        federate.send(&world, FederationCall::ListFederationExecutions);
    }
    for _ in 0..200 {
        federate.step(&mut world);
        world.turn();
    }
    assert!(world.server.report().sessions[0].backlog_bytes > 0, "its connection takes no more");
    evict(&mut world, "Busy");
    assert_eq!(world.server.report().sessions.len(), 0);
    assert_eq!(told(&mut world, &mut federate), [""; 0]);
}

#[test]
fn a_wrong_secret_and_a_second_connect_end_no_session() {
    let mut world = World::new(2, Settings::default());
    let first = joined(&mut world, "", "Phoenix");
    let mut second = Federate::new(&world);
    second.call(&mut world, connect_with(format!("{REPLACES}=123"))).unwrap();
    assert!(second.call(&mut world, join("Phoenix")).is_err());
    let secret = first.session.id().secret();
    assert!(second.call(&mut world, connect_with(format!("{REPLACES}={secret}"))).is_err());
    world.turns(3);
    assert_eq!(world.server.report().sessions.len(), 2);
}

#[test]
fn a_federate_shortens_its_window_and_cannot_lengthen_it() {
    let session = hemiola_fedpro::Settings {
        resume_window: Span::from_millis(300),
        ..hemiola_fedpro::Settings::default()
    };
    for (wanted, window) in [("50ms", 50), ("10min", 300)] {
        let mut world = World::new(3, Settings { session, ..Settings::default() });
        let mut federate = joined(&mut world, &format!("{RESUME_WINDOW}={wanted}"), "Short");
        federate.cut(&mut world);
        world.turns(window);
        assert_eq!(world.server.report().federations[0].federates.len(), 1, "{wanted}");
        world.turns(3);
        assert_eq!(world.server.report().federations[0].federates.len(), 0, "{wanted}");
    }
}

#[test]
fn a_report_says_since_when_a_connection_is_broken() {
    let mut world = World::new(5, Settings::default());
    let mut federate = joined(&mut world, "", "Apart");
    let times = |world: &World| {
        let session = &world.server.report().sessions[0];
        (session.silence, session.apart)
    };
    world.turns(30);
    assert_eq!(times(&world).1, Span::ZERO);
    let silent_before = times(&world).0;
    federate.cut(&mut world);
    world.turns(1);
    assert_eq!(times(&world).1, Span::ZERO, "it broke in this turn");
    world.turns(40);
    let expected = (silent_before + Span::from_millis(41), Span::from_millis(40));
    assert_eq!(times(&world), expected);
}

#[test]
fn a_killed_regulating_federate_holds_time_back_for_its_window_only() {
    let session = hemiola_fedpro::Settings {
        resume_window: Span::from_millis(2000),
        ..hemiola_fedpro::Settings::default()
    };
    let mut world = World::new(4, Settings { session, ..Settings::default() });
    let mut regulating = joined(&mut world, "", "Regulating");
    let lookahead = LogicalInterval::integer(1).unwrap().into();
    regulating.call(&mut world, TimeCall::EnableTimeRegulation { lookahead }).unwrap();
    let mut waiting = joined(&mut world, "", "Waiting");
    waiting.call(&mut world, TimeCall::EnableTimeConstrained).unwrap();
    waiting.until(&mut world, |one| {
        one.has_had(|callback| matches!(callback, Callback::TimeConstrainedEnabled { .. }))
    });
    let time = LogicalTime::integer(100).unwrap().into();
    waiting.call(&mut world, TimeCall::TimeAdvanceRequest { time }).unwrap();
    let is_granted = |one: &Federate| {
        one.has_had(|callback| matches!(callback, Callback::TimeAdvanceGrant { .. }))
    };
    regulating.cut(&mut world);
    for _ in 0..1999 {
        world.turn();
        waiting.step(&mut world);
    }
    assert!(!is_granted(&waiting), "the killed federate may still resume");
    for _ in 0..5 {
        world.turn();
        waiting.step(&mut world);
    }
    assert!(is_granted(&waiting));
}
