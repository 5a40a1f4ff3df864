//! Directed interactions (clauses 6.14 and 6.15).

use hemiola_hla::call::{DeclarationCall, ObjectCall};
use hemiola_hla::{Exception, ObjectInstanceHandle};

use crate::world::{Fed, World, time};

fn publish(w: &mut World, fed: Fed, class: &str) {
    let (object_class, interaction_classes) = (w.class(class), vec![w.interaction("Command.Stop")]);
    let call = DeclarationCall::PublishObjectClassDirectedInteractions {
        object_class,
        interaction_classes,
    };
    w.ok(fed, call);
}

fn subscribe(w: &mut World, fed: Fed, interaction: &str, universally: bool) {
    let (object_class, interaction_classes) =
        (w.class("Vehicle"), vec![w.interaction(interaction)]);
    let call = if universally {
        DeclarationCall::SubscribeObjectClassDirectedInteractionsUniversally {
            object_class,
            interaction_classes,
        }
    } else {
        DeclarationCall::SubscribeObjectClassDirectedInteractions {
            object_class,
            interaction_classes,
        }
    };
    w.ok(fed, call);
}

fn send(w: &World, to: ObjectInstanceHandle) -> ObjectCall {
    ObjectCall::SendDirectedInteraction {
        interaction_class: w.interaction("Command.Stop"),
        object_instance: to,
        parameter_values: w.parameters("What Within"),
        user_supplied_tag: "tag".into(),
    }
}

#[test]
fn it_reaches_owners_and_universal_subscribers() {
    let mut w = World::new();
    let feds = ["sender", "owner", "log", "other"].map(|name| w.federate(name));
    let [sender, owner, log, other] = feds;
    w.publish(owner, "Vehicle.Car", "Position");
    for fed in feds {
        w.subscribe(fed, "Vehicle", "Position");
    }
    let car = w.register(owner, "Vehicle.Car");
    publish(&mut w, sender, "Vehicle");
    subscribe(&mut w, owner, "Command", false);
    subscribe(&mut w, log, "Command.Stop", true);
    subscribe(&mut w, other, "Command.Stop", false);
    for fed in feds {
        w.callbacks(fed);
    }
    let call = send(&w, car);
    w.ok(sender, call);
    assert_eq!(w.callbacks(owner), [format!("receive Command to {car}")]);
    assert_eq!(w.callbacks(log), [format!("receive Command.Stop to {car}")]);
    assert_eq!((w.callbacks(other), w.callbacks(sender)), (vec![], vec![]));
    let object_class = w.class("Vehicle");
    w.ok(log, DeclarationCall::UnsubscribeObjectClassDirectedInteractions { object_class });
    let call = send(&w, car);
    w.ok(sender, call);
    assert_eq!(w.callbacks(log), Vec::<String>::new());
}

#[test]
fn single_interactions_are_unsubscribed_and_unpublished() {
    let mut w = World::new();
    let (sender, log) = (w.federate("sender"), w.federate("log"));
    w.publish(sender, "Vehicle", "Position");
    w.subscribe(log, "Vehicle", "Position");
    let car = w.register(sender, "Vehicle");
    publish(&mut w, sender, "Vehicle");
    subscribe(&mut w, log, "Command.Stop", true);
    w.callbacks(log);
    let (object_class, other) = (w.class("Vehicle"), w.interaction("Command"));
    let unsubscribe =
        |interaction| DeclarationCall::UnsubscribeObjectClassDirectedInteractionsWithSet {
            object_class,
            interaction_classes: vec![interaction],
        };
    w.ok(log, unsubscribe(other));
    let call = send(&w, car);
    w.ok(sender, call.clone());
    assert_eq!(w.callbacks(log), [format!("receive Command.Stop to {car}")]);
    let stop = w.interaction("Command.Stop");
    w.ok(log, unsubscribe(stop));
    w.ok(sender, call.clone());
    assert_eq!(w.callbacks(log), Vec::<String>::new());

    let unpublish =
        |interaction| DeclarationCall::UnpublishObjectClassDirectedInteractionsWithSet {
            object_class,
            interaction_classes: vec![interaction],
        };
    w.ok(sender, unpublish(other));
    w.ok(sender, call.clone());
    w.ok(sender, unpublish(stop));
    assert_eq!(w.refused(sender, call), Exception::InteractionClassNotPublished);
}

#[test]
fn it_is_delivered_in_time_stamp_order() {
    let mut w = World::new();
    let (sender, owner) = (w.federate("sender"), w.federate("owner"));
    w.regulate(sender, 1);
    w.constrain(owner);
    w.publish(owner, "Vehicle", "Position");
    w.subscribe(sender, "Vehicle", "Position");
    let car = w.register(owner, "Vehicle");
    publish(&mut w, sender, "Vehicle");
    subscribe(&mut w, owner, "Command.Stop", false);
    w.callbacks(owner);
    let ObjectCall::SendDirectedInteraction {
        interaction_class,
        object_instance,
        parameter_values,
        user_supplied_tag,
    } = send(&w, car)
    else {
        unreachable!()
    };
    let time = time(5).into();
    let call = ObjectCall::SendDirectedInteractionWithTime {
        interaction_class,
        object_instance,
        parameter_values,
        user_supplied_tag,
        time,
    };
    w.ok(sender, call);
    assert_eq!(w.callbacks(owner), Vec::<String>::new(), "it waits for the time");
    w.tar(sender, 10);
    w.tar(owner, 5);
    let callbacks = w.callbacks(owner);
    assert!(callbacks[0].starts_with("ReceiveDirectedInteractionWithTime"), "{callbacks:?}");
    assert_eq!(callbacks[1..], ["grant 5"]);
}

#[test]
fn it_must_be_published_at_the_known_class() {
    let mut w = World::new();
    let (sender, owner) = (w.federate("sender"), w.federate("owner"));
    w.publish(owner, "Vehicle", "Position");
    let car = w.register(owner, "Vehicle");
    let call = send(&w, car);
    assert_eq!(w.refused(sender, call.clone()), Exception::InteractionClassNotPublished);
    publish(&mut w, sender, "Vehicle.Car");
    assert_eq!(w.refused(sender, call.clone()), Exception::ObjectInstanceNotKnown);
    w.subscribe(sender, "Vehicle", "Position");
    assert_eq!(w.refused(sender, call.clone()), Exception::InteractionClassNotPublished);
    publish(&mut w, sender, "Vehicle");
    w.ok(sender, call);
}
