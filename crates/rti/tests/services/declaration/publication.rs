//! Publications (clauses 5.2 to 5.7).

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall};
use hemiola_hla::{
    AttributeHandle, Exception, InteractionClassHandle, ObjectClassHandle, ResignAction,
};

use crate::world::World;

#[test]
fn undefined_classes_cannot_be_published() {
    let mut w = World::new();
    let a = w.federate("a");
    let publish = |object_class, attributes| DeclarationCall::PublishObjectClassAttributes {
        object_class,
        attributes,
    };
    let (nothing, driver) = (ObjectClassHandle::INVALID, w.attribute("Driver"));
    let unknown = AttributeHandle::new(9999);
    assert_eq!(w.refused(a, publish(nothing, vec![unknown])), Exception::ObjectClassNotDefined);
    let vehicle = w.class("Vehicle");
    assert_eq!(w.refused(a, publish(vehicle, vec![driver])), Exception::AttributeNotDefined);
    let interaction_class = InteractionClassHandle::new(9999);
    let call = DeclarationCall::PublishInteractionClass { interaction_class };
    assert_eq!(w.refused(a, call), Exception::InteractionClassNotDefined);
}

#[test]
fn the_privilege_to_delete_is_published_with_any_attribute() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Load");
    let car = w.register(a, "Vehicle");
    w.delete(a, car);
}

#[test]
fn publishing_nothing_changes_nothing() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "");
    let call = ObjectCall::RegisterObjectInstance { object_class: w.class("Vehicle") };
    assert_eq!(w.refused(a, call), Exception::ObjectClassNotPublished);
}

#[test]
fn unpublished_attributes_become_unowned() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Position"));
    w.ok(a, DeclarationCall::UnpublishObjectClassAttributes { object_class, attributes });
    let call = w.update_at_call(car, "Position", 1);
    assert_eq!(w.refused(a, call), Exception::AttributeNotOwned);
    w.update(a, car, "Load");
    let resign =
        FederationCall::ResignFederationExecution { resign_action: Some(ResignAction::NoAction) };
    assert_eq!(w.refused(a, resign.clone()), Exception::FederateOwnsAttributes);
    w.ok(a, DeclarationCall::UnpublishObjectClass { object_class });
    w.ok(a, resign);
}

#[test]
fn the_class_is_unpublished_with_its_last_attribute() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Position");
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Position"));
    w.ok(a, DeclarationCall::UnpublishObjectClassAttributes { object_class, attributes });
    let call = ObjectCall::RegisterObjectInstance { object_class };
    assert_eq!(w.refused(a, call), Exception::ObjectClassNotPublished);
}

#[test]
fn interactions_are_sent_while_they_are_published() {
    let mut w = World::new();
    let a = w.federate("a");
    let interaction_class = w.interaction("Command");
    let send = ObjectCall::SendInteraction {
        interaction_class,
        parameter_values: Vec::new(),
        user_supplied_tag: "".into(),
    };
    assert_eq!(w.refused(a, send.clone()), Exception::InteractionClassNotPublished);
    w.publish_interaction(a, "Command");
    w.ok(a, send.clone());
    w.ok(a, DeclarationCall::UnpublishInteractionClass { interaction_class });
    assert_eq!(w.refused(a, send), Exception::InteractionClassNotPublished);
}

#[test]
fn only_interactions_that_the_object_model_allows_are_directed() {
    let mut w = World::new();
    let a = w.federate("a");
    let publish = |object_class, interaction_classes| {
        DeclarationCall::PublishObjectClassDirectedInteractions {
            object_class,
            interaction_classes,
        }
    };
    let root = w.class("HLAobjectRoot");
    let (command, stop) = (w.interaction("Command"), w.interaction("Command.Stop"));
    assert_eq!(w.refused(a, publish(root, vec![command])), Exception::InteractionClassNotDefined);
    let nothing = ObjectClassHandle::new(777);
    assert_eq!(w.refused(a, publish(nothing, vec![command])), Exception::ObjectClassNotDefined);
    let car = w.class("Vehicle.Car");
    w.ok(a, publish(car, vec![command, stop]));
    w.ok(a, DeclarationCall::UnpublishObjectClassDirectedInteractions { object_class: car });
}
