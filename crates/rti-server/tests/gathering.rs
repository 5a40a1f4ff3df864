//! Answers that share a frame, for clients that asked for it.

use hemiola_fedpro::Ticket;
use hemiola_hla::call::TimeCall;
use hemiola_hla::{
    Callback, Exception, LogicalInterval, LogicalTime, ObjectInstanceHandle, Refusal, Reply,
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
