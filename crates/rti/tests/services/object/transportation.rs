//! Transportation types (clauses 6.25 to 6.33).

use hemiola_hla::call::ObjectCall;
use hemiola_hla::{Callback, Exception, TransportationTypeHandle};

use crate::world::World;

const RELIABLE: TransportationTypeHandle = TransportationTypeHandle::RELIABLE;
const BEST_EFFORT: TransportationTypeHandle = TransportationTypeHandle::BEST_EFFORT;

#[test]
fn the_owner_can_change_the_transportation() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    let attributes = w.attributes("Load");
    let change = |kind| ObjectCall::RequestAttributeTransportationTypeChange {
        object_instance: car,
        attributes: attributes.clone(),
        transportation_type: kind,
    };
    let nothing = TransportationTypeHandle::new(9);
    assert_eq!(w.refused(a, change(nothing)), Exception::InvalidTransportationTypeHandle);
    assert_eq!(w.refused(b, change(RELIABLE)), Exception::AttributeNotOwned);
    w.ok(a, change(RELIABLE));
    let expected = Callback::ConfirmAttributeTransportationTypeChange {
        object_instance: car,
        attributes: attributes.clone(),
        transportation_type: RELIABLE,
    };
    assert_eq!(w.notices(a)[0].callback(), &expected);
    w.update(a, car, "Position Load");
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position+Load")], "alike now");
    let attribute = attributes[0];
    w.ok(b, ObjectCall::QueryAttributeTransportationType { object_instance: car, attribute });
    let expected = Callback::ReportAttributeTransportationType {
        object_instance: car,
        attribute,
        transportation_type: RELIABLE,
    };
    assert_eq!(w.notices(b)[0].callback(), &expected);
}

#[test]
fn a_default_applies_to_later_instances() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Load");
    let before = w.register(a, "Vehicle");
    w.ok(
        a,
        ObjectCall::ChangeDefaultAttributeTransportationType {
            object_class: w.class("Vehicle"),
            attributes: w.attributes("Load"),
            transportation_type: RELIABLE,
        },
    );
    let after = w.register(a, "Vehicle");
    let attribute = w.attribute("Load");
    for (instance, expected) in [(before, BEST_EFFORT), (after, RELIABLE)] {
        let query =
            ObjectCall::QueryAttributeTransportationType { object_instance: instance, attribute };
        w.ok(a, query);
        let notices = w.notices(a);
        let Callback::ReportAttributeTransportationType { transportation_type, .. } =
            notices[0].callback()
        else {
            panic!()
        };
        assert_eq!(*transportation_type, expected);
    }
}

#[test]
fn interactions_use_the_transportation_of_their_publisher() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    let interaction_class = w.interaction("Command");
    let change = ObjectCall::RequestInteractionTransportationTypeChange {
        interaction_class,
        transportation_type: BEST_EFFORT,
    };
    assert_eq!(w.refused(a, change.clone()), Exception::InteractionClassNotPublished);
    w.publish_interaction(a, "Command");
    w.ok(a, change);
    let query =
        |federate| ObjectCall::QueryInteractionTransportationType { federate, interaction_class };
    w.ok(b, query(a.handle));
    let expected = Callback::ReportInteractionTransportationType {
        federate: a.handle,
        interaction_class,
        transportation_type: BEST_EFFORT,
    };
    assert_eq!(w.notices(b)[0].callback(), &expected);
    let nobody = hemiola_hla::FederateHandle::new(99);
    assert_eq!(w.refused(b, query(nobody)), Exception::RTIinternalError);
}

#[test]
fn a_change_is_made_at_once_so_that_the_next_one_is_not_refused() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Load");
    w.publish_interaction(a, "Command");
    let (object_instance, interaction_class) = (w.register(a, "Vehicle"), w.interaction("Command"));
    // It does not evoke the confirmations.
    w.silence(a);
    for transportation_type in [RELIABLE, BEST_EFFORT] {
        let attributes = w.attributes("Load");
        w.ok(
            a,
            ObjectCall::RequestAttributeTransportationTypeChange {
                object_instance,
                attributes,
                transportation_type,
            },
        );
        w.ok(
            a,
            ObjectCall::RequestInteractionTransportationTypeChange {
                interaction_class,
                transportation_type,
            },
        );
    }
}
