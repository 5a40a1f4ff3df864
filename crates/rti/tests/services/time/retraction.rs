//! Retraction (clauses 8.22 and 8.23).

use hemiola_hla::call::{ObjectCall, TimeCall};
use hemiola_hla::{Exception, MessageRetractionHandle, ObjectInstanceHandle, Reply};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, time};

fn retract(w: &mut World, fed: Fed, retraction: Option<MessageRetractionHandle>) {
    w.ok(fed, TimeCall::Retract { retraction: retraction.unwrap() });
}

fn delete_at(
    w: &mut World,
    fed: Fed,
    instance: ObjectInstanceHandle,
    at: i64,
) -> Option<MessageRetractionHandle> {
    let call = ObjectCall::DeleteObjectInstanceWithTime {
        object_instance: instance,
        user_supplied_tag: "tag".into(),
        time: time(at).into(),
    };
    let Reply::Retraction(retraction) = w.ok(fed, call) else { panic!() };
    retraction
}

#[test]
fn a_retracted_queued_message_is_never_delivered() {
    let mut w = World::new();
    let (a, b, c) = (w.in_time("a", 1), w.in_time("b", 1), w.federate("c"));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    w.subscribe_interaction(c, "Command.Stop");
    let message = w.send_at(a, "Command.Stop", 5);
    w.send_at(a, "Command.Stop", 5);
    assert_eq!(w.callbacks(c), ["receive Command.Stop of 5", "receive Command.Stop of 5"]);
    retract(&mut w, a, message);
    assert_eq!(w.callbacks(c), ["retract"], "it has it already");
    let again = TimeCall::Retract { retraction: message.unwrap() };
    assert_eq!(w.refused(a, again), Exception::MessageCanNoLongerBeRetracted);
    w.tar(a, 10);
    w.tar(b, 10);
    assert_eq!(w.callbacks(b), ["receive Command at 5", "grant 10"]);
}

#[test]
fn messages_of_one_time_keep_their_order_around_retracted_ones() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    let sent = [5, 5, 5, 6, 5].map(|at| w.send_at(a, "Command.Stop", at));
    retract(&mut w, a, sent[2]);
    retract(&mut w, a, sent[0]);
    w.tar(a, 10);
    w.nmr(b, 20);
    let received = "receive Command.Stop at 5";
    assert_eq!(w.callbacks(b), [received, received, "grant 5"]);
    w.nmr(b, 20);
    assert_eq!(w.callbacks(b), ["receive Command.Stop at 6", "grant 6"]);
}

#[test]
fn the_memory_of_messages_that_are_retracted_one_after_the_other_comes_back() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    w.send_at(a, "Command.Stop", 5);
    let before = w.kernel.memory_len();
    for _ in 0..100 {
        let sent = [5, 5, 6].map(|at| w.send_at(a, "Command.Stop", at));
        sent.into_iter().for_each(|message| retract(&mut w, a, message));
    }
    assert_eq!(w.kernel.memory_len(), before);
    w.tar(a, 10);
    w.nmr(b, 20);
    assert_eq!(w.callbacks(b), ["receive Command.Stop at 5", "grant 5"]);
}

#[test]
fn a_waiting_federate_advances_past_a_retracted_message() {
    let mut w = World::new();
    let (a, b, c) = (w.in_time("a", 1), w.in_time("b", 1), w.in_time("c", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    let message = w.send_at(a, "Command.Stop", 50);
    w.nmr(b, 100);
    w.tar(c, 200);
    w.tara(a, 40);
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    retract(&mut w, a, message);
    w.tar(a, 200);
    assert_eq!(w.callbacks(b), ["grant 100"]);
}

#[test]
fn only_messages_that_could_still_be_sent_can_be_retracted() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    let message = w.send_at(a, "Command.Stop", 5);
    w.tara(a, 5);
    let call = TimeCall::Retract { retraction: message.unwrap() };
    assert_eq!(w.refused(a, call.clone()), Exception::MessageCanNoLongerBeRetracted);
    assert_eq!(
        w.refused(b, call),
        Exception::InvalidMessageRetractionHandle,
        "a handle of another federate"
    );
    let never = MessageRetractionHandle::new(77);
    assert_eq!(
        w.refused(a, TimeCall::Retract { retraction: never }),
        Exception::InvalidMessageRetractionHandle
    );
    let nobody = w.federate("c");
    assert_eq!(
        w.refused(nobody, TimeCall::Retract { retraction: never }),
        Exception::TimeRegulationIsNotEnabled
    );
}

#[test]
fn a_retracted_deletion_has_no_effect() {
    let mut w = World::new();
    let (a, b, c) = (w.in_time("a", 1), w.in_time("b", 1), w.federate("c"));
    w.publish(a, "Vehicle", "Position");
    w.ok(
        a,
        TimeCall::ChangeDefaultAttributeOrderType {
            object_class: w.class("Vehicle"),
            attributes: vec![w.attribute("HLAprivilegeToDeleteObject")],
            order_type: Some(hemiola_hla::OrderType::TimeStamp),
        },
    );
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let deletion = delete_at(&mut w, a, car, 5);
    assert_eq!(
        w.callbacks(c),
        [format!("discover {car} as Vehicle"), format!("remove {car} of 5")]
    );
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
    let call = w.update_at_call(car, "Position", 6);
    assert_eq!(w.refused(a, call), Exception::ObjectInstanceNotKnown);
    retract(&mut w, a, deletion);
    assert_eq!(w.callbacks(c), ["retract".to_owned(), format!("discover {car} as Vehicle")]);
    w.update_at(a, car, "Position", 6);
    w.tar(a, 10);
    w.tar(b, 10);
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position at 6"), "grant 10".into()]);
    assert_eq!(w.callbacks(c), [format!("reflect {car} Position of 6")]);
}

#[test]
fn a_deletion_takes_effect_at_its_time() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish(a, "Vehicle", "Position HLAprivilegeToDeleteObject");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    w.ok(
        a,
        TimeCall::ChangeAttributeOrderType {
            object_instance: car,
            attributes: vec![w.attribute("HLAprivilegeToDeleteObject")],
            order_type: Some(hemiola_hla::OrderType::TimeStamp),
        },
    );
    w.update_at(a, car, "Position", 5);
    delete_at(&mut w, a, car, 5);
    w.tar(a, 10);
    w.tar(b, 10);
    let callbacks = [
        format!("discover {car} as Vehicle"),
        format!("reflect {car} Position at 5"),
        format!("remove {car} at 5"),
        "grant 10".into(),
    ];
    assert_eq!(w.callbacks(b), callbacks);
    let status = w.kernel.status();
    assert_eq!(status.federations[0].instances, 0);
}

#[test]
fn only_the_newest_messages_within_the_limit_can_be_retracted() {
    let mut w = World::with(Limits { retractable: 2, ..Limits::default() }, MODEL);
    let a = w.in_time("a", 1);
    w.publish_interaction(a, "Command.Stop");
    let [first, second, third] = [5, 5, 5].map(|at| w.send_at(a, "Command.Stop", at).unwrap());
    assert_eq!(
        w.refused(a, TimeCall::Retract { retraction: first }),
        Exception::MessageCanNoLongerBeRetracted
    );
    retract(&mut w, a, Some(second));
    retract(&mut w, a, Some(third));
}

#[test]
fn a_deletion_beyond_the_limit_of_retractable_messages_is_final() {
    let mut w = World::with(Limits { retractable: 1, ..Limits::default() }, MODEL);
    let a = w.in_time("a", 1);
    w.publish(a, "Vehicle", "Position HLAprivilegeToDeleteObject");
    w.publish_interaction(a, "Command.Stop");
    let car = w.register(a, "Vehicle");
    w.ok(
        a,
        TimeCall::ChangeAttributeOrderType {
            object_instance: car,
            attributes: vec![w.attribute("HLAprivilegeToDeleteObject")],
            order_type: Some(hemiola_hla::OrderType::TimeStamp),
        },
    );
    let deletion = delete_at(&mut w, a, car, 5).unwrap();
    assert_eq!(w.kernel.status().federations[0].instances, 1, "it can be retracted");
    w.send_at(a, "Command.Stop", 5);
    assert_eq!(w.kernel.status().federations[0].instances, 0);
    assert_eq!(
        w.refused(a, TimeCall::Retract { retraction: deletion }),
        Exception::MessageCanNoLongerBeRetracted
    );
}
