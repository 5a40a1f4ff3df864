//! Regions that are conveyed with messages (clauses 6.11, 6.13 and 10.43).

use hemiola_hla::Callback;
use hemiola_hla::call::SupportCall;
use hemiola_hla::data::{ConveyedRegion, RangeBounds};

use super::{yard, yard_with};
use crate::world::{Fed, World};

/// The regions conveyed with a federate's only new message.
fn conveyed(w: &mut World, fed: Fed) -> Option<Vec<ConveyedRegion>> {
    let [notice] = &w.notices(fed)[..] else { panic!("one message") };
    match notice.callback() {
        Callback::ReflectAttributeValues { sent_regions, .. }
        | Callback::ReceiveInteraction { sent_regions, .. } => sent_regions.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn receivers_learn_the_regions_if_they_turn_the_switch_on() {
    let (mut w, owner, viewer) = yard();
    let other = w.federate("other");
    for fed in [viewer, other] {
        w.subscribe(fed, "Vehicle.Car", "Position");
        w.subscribe_interaction(fed, "Command");
    }
    w.publish_interaction(owner, "Command");
    w.ok(viewer, SupportCall::SetConveyRegionDesignatorSetsSwitch { value: true });
    let sent = w.region(owner, "X 3..5 Y 0..9");
    let car = w.register_within(owner, "Position", &[sent]);
    for fed in [viewer, other] {
        w.callbacks(fed);
    }
    let mut expected = vec![
        (w.dimension("X"), RangeBounds { lower: 3, upper: 5 }),
        (w.dimension("Y"), RangeBounds { lower: 0, upper: 9 }),
    ];
    expected.sort_by_key(|(dimension, _)| *dimension);
    w.update(owner, car, "Position");
    assert_eq!(conveyed(&mut w, viewer), Some(vec![expected.clone()]));
    assert_eq!(conveyed(&mut w, other), None);
    w.send_within(owner, "Command", &[sent]);
    assert_eq!(conveyed(&mut w, viewer), Some(vec![expected]));
    assert_eq!(conveyed(&mut w, other), None);
    w.send(owner, "Command", "");
    assert_eq!(conveyed(&mut w, viewer), Some(Vec::new()), "the default region is not conveyed");
    assert_eq!(conveyed(&mut w, other), None);
    w.ok(viewer, SupportCall::SetConveyRegionDesignatorSetsSwitch { value: false });
    w.send_within(owner, "Command", &[sent]);
    assert_eq!(conveyed(&mut w, viewer), None);
}

#[test]
fn the_object_model_can_turn_it_on_for_both_editions() {
    let (mut w, owner, viewer) = yard_with(World::with_switch("conveyRegionDesignatorSets"));
    let evolved = w.connect_evolved();
    let evolved = w.join(evolved, "evolved");
    for fed in [viewer, evolved] {
        w.subscribe_interaction(fed, "Command");
    }
    w.publish_interaction(owner, "Command");
    let sent = w.region(owner, "X 3..5");
    w.send_within(owner, "Command", &[sent]);
    let expected = vec![vec![(w.dimension("X"), RangeBounds { lower: 3, upper: 5 })]];
    for fed in [viewer, evolved] {
        assert_eq!(conveyed(&mut w, fed), Some(expected.clone()));
    }
}
