//! An instance that a federate discovers again: messages sent before are about the instance that it forgot.

use hemiola_hla::call::ObjectCall;

use crate::world::World;

#[test]
fn messages_sent_before_a_rediscovery_are_dropped_and_later_ones_delivered() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish(a, "Vehicle", "Position");
    w.publish_interaction(a, "Command.Stop");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe_interaction(b, "Command.Stop");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
    // This message keeps the next one from being the first that waits, so that forgetting the instance leaves it.
    w.send_at(a, "Command.Stop", 4);
    w.update_at(a, car, "Position", 5);
    w.ok(b, ObjectCall::LocalDeleteObjectInstance { object_instance: car });
    w.subscribe(b, "Vehicle", "Position");
    w.update_at(a, car, "Position", 6);
    w.tar(a, 10);
    w.tar(b, 10);
    let expected = [
        format!("discover {car} as Vehicle"),
        "receive Command.Stop at 4".into(),
        format!("reflect {car} Position at 6"),
        "grant 10".into(),
    ];
    assert_eq!(w.callbacks(b), expected);
}
