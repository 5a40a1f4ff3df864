//! Answers and callbacks that share a frame, for clients that asked for it.

use hemiola_fedpro::Ticket;
use hemiola_hla::call::{DeclarationCall, ObjectCall, TimeCall};
use hemiola_hla::{
    Call, Callback, Data, Exception, LogicalInterval, LogicalTime, ObjectInstanceHandle, Refusal,
    Reply,
};
use hemiola_rti_server::Settings;

use crate::federate::{Federate, update};
use crate::world::World;

/// Updates of which the 40th is refused; returns the replies, and how many frames brought them.
fn replies_to_updates(federate: Federate, world: &mut World) -> (Vec<Result<Reply, Refusal>>, u32) {
    let mut federate = federate.joined(world, "Gathering");
    let (instance, attribute) = federate.register(world);
    let nobody = ObjectInstanceHandle::new(1 << 40);
    let before = federate.reply_frames;
    let tickets: Vec<Ticket> = (0..100)
        .map(|number| {
            let instance = if number == 40 { nobody } else { instance };
            federate.send(world, update((instance, attribute), number, 64)).expect("it runs")
        })
        .collect();
    federate.until(world, |one| one.unanswered() == 0);
    let frames = federate.reply_frames - before;
    let replies = tickets.iter().map(|ticket| federate.replies.remove(ticket).expect("a reply"));
    (replies.collect(), frames)
}

#[test]
fn replies_without_a_result_share_frames_if_the_client_asks() {
    let mut world = World::new(1, Settings::default());
    let federate = Federate::new(&world);
    let (plain, frames) = replies_to_updates(federate, &mut world);
    assert_eq!(frames, 100);
    let refused = plain[40].as_ref().expect_err("nobody knows the instance");
    assert_eq!(refused.exception, Exception::ObjectInstanceNotKnown);
    assert!(plain.iter().enumerate().all(|(number, reply)| reply.is_ok() == (number != 40)));
    let mut world = World::new(1, Settings::default());
    let federate = Federate::gathering(&world);
    let (gathered, frames) = replies_to_updates(federate, &mut world);
    assert_eq!(gathered, plain);
    // Two frames around the refusal; each turn of the server may end one.
    assert!(frames <= 10, "{frames} frames");
}

#[test]
fn replies_whose_results_are_not_wanted_share_frames() {
    let mut world = World::new(4, Settings::default());
    let mut federate = Federate::gathering(&world).joined(&mut world, "Gathering");
    let (object_class, heading) = federate.attribute(&mut world, "Heading");
    let attributes = vec![heading];
    let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
    assert_eq!(federate.call(&mut world, publish), Ok(Reply::Done));
    let register = ObjectCall::RegisterObjectInstance { object_class };
    let registered = federate.call(&mut world, register);
    let Ok(Reply::ObjectInstance(instance)) = registered else { panic!("{registered:?}") };
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    let regulate = TimeCall::EnableTimeRegulation { lookahead };
    assert_eq!(federate.call(&mut world, regulate), Ok(Reply::Done));
    federate.until(&mut world, |one| one.is_regulating);

    let nobody = ObjectInstanceHandle::new(1 << 40);
    let update = |object_instance| ObjectCall::UpdateAttributeValuesWithTime {
        object_instance,
        attribute_values: vec![(heading, Data::from_static(b"north"))],
        user_supplied_tag: Data::new(),
        time: LogicalTime::float(2.0).unwrap().into(),
    };
    let before = federate.reply_frames;
    let post = |number| {
        let object_instance = if number == 40 { nobody } else { instance };
        federate.post(&world, update(object_instance)).expect("it runs")
    };
    let tickets: Vec<Ticket> = (0..100).map(post).collect();
    federate.until(&mut world, |one| one.unanswered() == 0);
    for (number, ticket) in tickets.iter().enumerate() {
        let reply = federate.replies.remove(ticket).expect("a reply");
        match reply.map_err(|refusal| refusal.exception) {
            Ok(Reply::Done) => assert_ne!(number, 40),
            refused => assert_eq!((number, refused), (40, Err(Exception::ObjectInstanceNotKnown))),
        }
    }
    // Two frames around the refusal; each turn of the server may end one.
    let frames = federate.reply_frames - before;
    assert!(frames <= 10, "{frames} frames");
    // The result of a call that wants it has a frame of its own.
    let retraction = federate.call(&mut world, update(instance));
    assert!(matches!(retraction, Ok(Reply::Retraction(Some(_)))), "{retraction:?}");
}

#[test]
fn gathered_responses_end_the_transitions_of_time() {
    let mut world = World::new(2, Settings::default());
    let federate = Federate::gathering(&world);
    let mut federate = federate.joined(&mut world, "Gathering");
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    assert_eq!(
        federate.call(&mut world, TimeCall::EnableTimeRegulation { lookahead }),
        Ok(Reply::Done)
    );
    assert_eq!(federate.call(&mut world, TimeCall::EnableTimeConstrained), Ok(Reply::Done));
    let constrained =
        |callback: &Callback| matches!(callback, Callback::TimeConstrainedEnabled { .. });
    federate.until(&mut world, |one| one.has_had(constrained));
    for step in 1..20_u32 {
        let time = LogicalTime::float(f64::from(step)).unwrap().into();
        let advance = TimeCall::TimeAdvanceRequest { time };
        // A request before the RTI has the response to the last grant would be refused.
        assert_eq!(federate.call(&mut world, advance), Ok(Reply::Done), "step {step}");
        federate.until(&mut world, |one| {
            one.has_had(|callback| {
                matches!(callback, Callback::TimeAdvanceGrant { time: at } if *at == time)
            })
        });
    }
}

/// A constrained federate is granted an advance past 100 time-stamped updates. Returns what it received, and how many
/// frames brought that.
fn released_by_a_grant(mut federate: Federate, world: &mut World) -> (Vec<Callback>, u32) {
    let time = |number: u32| LogicalTime::float(f64::from(number)).unwrap().into();
    let mut sender = Federate::join(world, "Gathering");
    let (object_class, heading) = sender.attribute(world, "Heading");
    let attributes = vec![heading];
    let publish = DeclarationCall::PublishObjectClassAttributes {
        object_class,
        attributes: attributes.clone(),
    };
    assert_eq!(sender.call(world, publish), Ok(Reply::Done));
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    assert_eq!(sender.call(world, TimeCall::EnableTimeRegulation { lookahead }), Ok(Reply::Done));
    sender.until(world, |one| one.is_regulating);

    federate = federate.joined(world, "Gathering");
    assert_eq!(federate.call(world, TimeCall::EnableTimeConstrained), Ok(Reply::Done));
    let is_enabled = |one: &Callback| matches!(one, Callback::TimeConstrainedEnabled { .. });
    federate.until(world, |one| one.has_had(is_enabled));
    let subscribe = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
    assert_eq!(federate.call(world, subscribe), Ok(Reply::Done));
    let register = ObjectCall::RegisterObjectInstance { object_class };
    let Ok(Reply::ObjectInstance(instance)) = sender.call(world, register) else { panic!() };
    federate.until(world, |one| one.discovered == 1);

    for number in 0..100 {
        let update = ObjectCall::UpdateAttributeValuesWithTime {
            object_instance: instance,
            attribute_values: vec![(heading, Data::from(vec![number; 64]))],
            user_supplied_tag: Data::new(),
            time: time(2 + u32::from(number) / 10),
        };
        assert!(sender.call(world, update).is_ok());
    }
    let advance = |number| Call::from(TimeCall::TimeAdvanceRequest { time: time(number) });
    assert_eq!(sender.call(world, advance(50)), Ok(Reply::Done));
    let before = federate.callback_frames;
    federate.log = Some(Vec::new());
    assert_eq!(federate.call(world, advance(20)), Ok(Reply::Done));
    federate.until(world, |one| {
        one.has_had(|callback| matches!(callback, Callback::TimeAdvanceGrant { .. }))
    });
    let received = (federate.log.take().unwrap(), federate.callback_frames - before);
    // The answer to the frame with the grant has ended the advance.
    assert_eq!(federate.call(world, advance(30)), Ok(Reply::Done));
    received
}

#[test]
fn callbacks_that_a_grant_releases_share_frames_if_the_client_asks() {
    let mut world = World::new(3, Settings::default());
    let federate = Federate::new(&world);
    let (plain, frames) = released_by_a_grant(federate, &mut world);
    assert_eq!((plain.len(), frames), (101, 101));
    let mut world = World::new(3, Settings::default());
    let federate = Federate::gathering(&world);
    let (together, frames) = released_by_a_grant(federate, &mut world);
    assert_eq!(together, plain);
    // 14 reflections of 142 bytes fit into a frame.
    assert_eq!(frames, 8);
}
