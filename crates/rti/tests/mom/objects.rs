//! The instances of `HLAfederation` and `HLAfederate` (clause 11.2).

use hemiola_hla::call::{
    DeclarationCall, FederationCall, ObjectCall, OwnershipCall, SupportCall, TimeCall,
};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::encoding::{
    HLAinteger32BE, HLAlogicalTime, HLAunicodeString, HLAvariableArray, decode, encode,
};
use hemiola_hla::{Callback, FederateHandle, ResignAction};

use super::{FEDERATE, FEDERATION, Received, editions, encoded, model};
use crate::world::{Fed, World, time};
use hemiola_rti::Limits;

#[test]
fn every_attribute_of_both_editions_has_a_value_of_its_data_type() {
    for (edition, text) in editions() {
        let mut world = World::with(Limits::default(), &text);
        let model = model(&text);
        let manager = world.federate("manager");
        for class in [FEDERATION, FEDERATE] {
            world.watch(manager, class);
            world.notices(manager);
            world.request(manager, class);
            let received = world.received(manager);
            assert_eq!(received.len(), 1, "{edition} {class}: one instance, one reflection");
            let attributes =
                &model.object_class(model.object_class_named(class).unwrap()).unwrap().attributes;
            for attribute in attributes {
                let definition = model.attribute(*attribute).unwrap();
                let value = received[0].values.get(&definition.name);
                let value = value.unwrap_or_else(|| panic!("{edition}: {}", definition.name));
                encoded::check(&model, definition.datatype.as_deref().unwrap(), value);
            }
        }
        let of_2010 = model.attribute_named(
            model.object_class_named(FEDERATE).unwrap(),
            "HLAconveyProducingFederate",
        );
        assert_eq!(of_2010.is_some(), edition == "2010");
    }
}

#[test]
fn instances_are_discovered_like_any_others() {
    let mut world = World::new();
    let car = world.federate("car");
    let manager = world.federate("manager");
    world.watch(manager, FEDERATION);
    assert_eq!(world.discovered(manager, FEDERATION).len(), 1);
    world.watch(manager, FEDERATE);
    assert_eq!(world.discovered(manager, FEDERATE).len(), 2);
    // A federate that joins later is discovered when it joins, and removed when it has resigned.
    let late = world.federate("late");
    assert_eq!(world.discovered(manager, FEDERATE).len(), 1);
    world.resign(late, ResignAction::NoAction);
    let removed = world.notices(manager);
    let removals = removed
        .iter()
        .filter(|one| matches!(one.callback(), Callback::RemoveObjectInstance { .. }));
    assert_eq!(removals.count(), 1);
    world.lose(car);
    let removed = world.notices(manager);
    let is_removal = |one: &_| matches!(one, Callback::RemoveObjectInstance { .. });
    assert!(removed.iter().any(|one| is_removal(one.callback())));
}

#[test]
fn no_federate_produces_the_instances_and_the_rti_owns_their_attributes() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATION);
    let notices = world.notices(manager);
    let [discovery] = &notices[..] else { panic!("{notices:?}") };
    let Callback::DiscoverObjectInstance { object_instance, producing_federate, .. } =
        discovery.callback()
    else {
        panic!("{discovery:?}")
    };
    assert_eq!(*producing_federate, FederateHandle::INVALID);
    let class = world.class(FEDERATION);
    let name = world.model.attribute_named(class, "HLAfederationName").unwrap();
    let (object_instance, attributes) = (*object_instance, vec![name]);
    world.ok(
        manager,
        OwnershipCall::QueryAttributeOwnership { object_instance, attributes: attributes.clone() },
    );
    let answers = world.notices(manager);
    let expected = Callback::AttributeIsOwnedByRTI { object_instance, attributes };
    assert_eq!(answers[0].callback(), &expected);
}

/// The states that a federate has been told of, and what it was told in between.
fn states(world: &mut World, manager: Fed) -> Vec<String> {
    let class = world.class(FEDERATE);
    let state = world.model.attribute_named(class, "HLAfederateState").unwrap();
    let of = |callback: &Callback| match callback {
        Callback::ReflectAttributeValues { attribute_values, .. } => {
            let value = attribute_values.iter().find(|(one, _)| *one == state);
            value.map(|(_, value)| decode::<HLAinteger32BE>(value).unwrap().0.to_string())
        }
        callback => Some(callback.name().to_owned()),
    };
    world.notices(manager).iter().filter_map(|one| of(one.callback())).collect()
}

#[test]
fn the_state_of_every_federate_follows_saves_and_restores() {
    use FederationCall as C;
    let mut world = World::saving();
    let feds @ [manager, car] = ["manager", "car"].map(|name| world.federate(name));
    world.watch(manager, FEDERATE);
    world.notices(manager);
    world.ok(car, C::RequestFederationSave { label: "a".into() });
    assert_eq!(states(&mut world, manager), ["3", "3", "InitiateFederateSave"]);
    for call in [C::FederateSaveBegun, C::FederateSaveComplete] {
        feds.iter().for_each(|fed| drop(world.ok(*fed, call.clone())));
    }
    assert_eq!(states(&mut world, manager), ["FederationSaved", "1", "1"]);
    world.ok(car, C::RequestFederationRestore { label: "a".into() });
    let begun = ["5", "5", "FederationRestoreBegun", "InitiateFederateRestore"];
    assert_eq!(states(&mut world, manager), begun);
    feds.iter().for_each(|fed| drop(world.ok(*fed, C::FederateRestoreComplete)));
    assert_eq!(states(&mut world, manager), ["FederationRestored", "1", "1"]);
    // The same if they fail.
    world.ok(car, C::RequestFederationSave { label: "b".into() });
    world.ok(car, C::AbortFederationSave);
    let told = ["3", "3", "InitiateFederateSave", "FederationNotSaved", "1", "1"];
    assert_eq!(states(&mut world, manager), told);
    world.ok(car, C::RequestFederationRestore { label: "a".into() });
    world.ok(car, C::AbortFederationRestore);
    let told = [&begun[..], &["FederationNotRestored", "1", "1"]].concat();
    assert_eq!(states(&mut world, manager), told);
}

#[test]
fn federates_are_told_of_changes_at_once_and_of_nothing_else() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATE);
    let car = world.federate("car");
    world.notices(manager);
    world.constrain(car);
    let changed = |world: &mut World| -> Vec<(String, i32)> {
        let received = world.received(manager);
        let pairs = received.iter().flat_map(|one| {
            one.values.keys().map(|name| (name.clone(), one.get::<HLAinteger32BE>(name).0))
        });
        pairs.collect()
    };
    let one = |name: &str, value| vec![(name.to_owned(), value)];
    assert_eq!(changed(&mut world), one("HLAtimeConstrained", 1));
    world.regulate(car, 10);
    assert_eq!(changed(&mut world), one("HLAtimeRegulating", 1));
    world.ok(car, hemiola_hla::call::TimeCall::EnableAsynchronousDelivery);
    assert_eq!(changed(&mut world), one("HLAasynchronousDelivery", 1));
    world.ok(car, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    assert_eq!(changed(&mut world), one("HLAattributeRelevanceAdvisory", 1));
    let value = Some(ResignAction::DeleteObjects);
    world.ok(car, SupportCall::SetAutomaticResignDirective { value });
    assert_eq!(changed(&mut world), one("HLAautomaticResignAction", 1));
    // Another regulating federate keeps the car waiting until it advances itself.
    let slow = world.federate("slow");
    world.regulate(slow, 10);
    world.notices(manager);
    world.tar(car, 50);
    assert_eq!(changed(&mut world), one("HLAtimeManagerState", 1));
    world.ok(slow, hemiola_hla::call::TimeCall::QueryLogicalTime);
    assert_eq!(changed(&mut world), []);
    world.tar(slow, 50);
    assert_eq!(changed(&mut world), one("HLAtimeManagerState", 0));
}

#[test]
fn values_say_what_the_federates_and_the_federation_are() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATE);
    world.watch(manager, FEDERATION);
    let car = world.in_time("car", 10);
    world.tar(car, 50);
    world.notices(manager);
    world.request(manager, FEDERATE);
    let all = world.received(manager);
    let of_car =
        all.iter().find(|one| one.get::<HLAunicodeString>("HLAfederateName").0 == "car").unwrap();
    assert_eq!(of_car.get::<FederateHandle>("HLAfederateHandle"), car.handle);
    assert_eq!(of_car.get::<HLAunicodeString>("HLAfederateType").0, "test");
    assert_eq!(of_car.get::<HLAinteger32BE>("HLAtimeRegulating").0, 1);
    assert_eq!(of_car.get::<HLAlogicalTime>("HLAlogicalTime").0, time(50).into());
    world.request(manager, FEDERATION);
    let [federation] = &world.received(manager)[..] else { panic!() };
    assert_eq!(federation.get::<HLAunicodeString>("HLAfederationName").0, "Yard");
    assert_eq!(
        federation.get::<HLAunicodeString>("HLAtimeImplementationName").0,
        "HLAinteger64Time"
    );
    assert_eq!(federation.get::<HLAunicodeString>("HLAMIMdesignator").0, "HLAstandardMIM");
    let modules =
        federation.get::<HLAvariableArray<HLAunicodeString>>("HLAFOMmoduleDesignatorList");
    assert_eq!(modules.0, [HLAunicodeString::from("world.xml")]);
    let members = federation.get::<HLAvariableArray<FederateHandle>>("HLAfederatesInFederation");
    assert_eq!(members.0, [manager.handle, car.handle]);
}

/// The values that count, in the order of their names.
const COUNTING: [&str; 13] = [
    "HLAdirectedInteractionsReceived",
    "HLAdirectedInteractionsSent",
    "HLAinteractionsReceived",
    "HLAinteractionsSent",
    "HLAobjectInstancesDeleted",
    "HLAobjectInstancesDiscovered",
    "HLAobjectInstancesReflected",
    "HLAobjectInstancesRegistered",
    "HLAobjectInstancesRemoved",
    "HLAobjectInstancesThatCanBeDeleted",
    "HLAobjectInstancesUpdated",
    "HLAreflectionsReceived",
    "HLAupdatesSent",
];

/// What a manager is told when it asks for the counts of a federate that are not 0.
fn counts(world: &mut World, manager: Fed, name: &str) -> Vec<(&'static str, i32)> {
    world.notices(manager);
    world.request(manager, FEDERATE);
    let all = world.received(manager);
    let is_of = |one: &&Received| one.get::<HLAunicodeString>("HLAfederateName").0 == name;
    let of = all.iter().find(is_of).unwrap();
    let values = COUNTING.into_iter().map(|count| (count, of.get::<HLAinteger32BE>(count).0));
    values.filter(|(_, value)| *value != 0).collect()
}

#[test]
fn counts_are_those_of_the_calls_and_callbacks() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATE);
    let (car, viewer) = (world.federate("car"), world.federate("viewer"));
    world.publish(car, "Vehicle.Car", "Position Load Driver");
    world.publish_interaction(car, "Command.Stop");
    world.subscribe(viewer, "Vehicle", "Position Load");
    world.subscribe_interaction(viewer, "Command");
    let (one, other) = (world.register(car, "Vehicle.Car"), world.register(car, "Vehicle.Car"));
    world.update(car, one, "Position Load");
    world.update(car, one, "Position");
    world.update(car, other, "Position");
    world.send(car, "Command.Stop", "What");
    world.delete(car, other);
    // The first update has a part for each of two transportation types.
    assert_eq!(
        counts(&mut world, manager, "car"),
        [
            ("HLAinteractionsSent", 1),
            ("HLAobjectInstancesDeleted", 1),
            ("HLAobjectInstancesRegistered", 2),
            ("HLAobjectInstancesThatCanBeDeleted", 1),
            ("HLAobjectInstancesUpdated", 2),
            ("HLAupdatesSent", 4),
        ]
    );
    assert_eq!(
        counts(&mut world, manager, "viewer"),
        [
            ("HLAinteractionsReceived", 1),
            ("HLAobjectInstancesDiscovered", 2),
            ("HLAobjectInstancesReflected", 2),
            ("HLAobjectInstancesRemoved", 1),
            ("HLAreflectionsReceived", 4),
        ]
    );
}

/// Everything that is counted, in every way in which it can come about: at once, queued by time, retracted, held back,
/// and for instances that all federates or one delete later.
fn traffic(world: &mut World, [car, viewer, slow]: [Fed; 3], from: i64) {
    let (one, other) = (world.register(car, "Vehicle.Car"), world.register(car, "Vehicle.Car"));
    for names in ["Position Load", "Position", "Driver", ""] {
        world.update(car, one, names);
    }
    world.update(car, other, "Position");
    world.update_at(car, one, "Position", from + 20);
    world.update_at(car, other, "Position", from + 40);
    let retraction = world.update_at(car, other, "Position", from + 20).unwrap();
    world.ok(car, TimeCall::Retract { retraction });
    world.send(car, "Command.Stop", "What");
    world.send_at(car, "Command.Stop", from + 20);
    let directed = ObjectCall::SendDirectedInteraction {
        interaction_class: world.interaction("Command"),
        object_instance: one,
        parameter_values: Vec::new(),
        user_supplied_tag: Data::new(),
    };
    world.ok(car, directed);
    world.ok(viewer, ObjectCall::LocalDeleteObjectInstance { object_instance: one });
    world.update(car, one, "Position");
    world.tar(slow, from + 30);
    world.tar(car, from + 30);
    world.delete(car, other);
    world.update(car, one, "Load");
}

#[test]
fn counts_begin_when_a_federate_joins_and_not_when_somebody_asks() {
    const REQUESTS: [&str; 8] = [
        "ObjectInstancesUpdated",
        "ObjectInstancesReflected",
        "UpdatesSent",
        "ReflectionsReceived",
        "InteractionsSent",
        "InteractionsReceived",
        "DirectedInteractionsSent",
        "DirectedInteractionsReceived",
    ];
    // The manager begins before all traffic, in its middle, or after it, and is told this about each federate.
    let told = |begins: usize| {
        let mut world = World::new();
        let manager = world.federate("manager");
        let [car, viewer, slow] = ["car", "viewer", "slow"].map(|name| world.federate(name));
        world.regulate(car, 10);
        world.constrain(slow);
        world.publish(car, "Vehicle.Car", "Position Load Driver");
        world.publish_interaction(car, "Command.Stop");
        let object_class = world.class("Vehicle");
        let interaction_classes = vec![world.interaction("Command")];
        let publish = DeclarationCall::PublishObjectClassDirectedInteractions {
            object_class,
            interaction_classes: interaction_classes.clone(),
        };
        world.ok(car, publish);
        for fed in [viewer, slow] {
            world.subscribe(fed, "Vehicle", "Position Load");
            world.subscribe_interaction(fed, "Command");
            let interaction_classes = interaction_classes.clone();
            let subscribe = DeclarationCall::SubscribeObjectClassDirectedInteractionsUniversally {
                object_class,
                interaction_classes,
            };
            world.ok(fed, subscribe);
        }
        for round in 0..2 {
            if begins == round {
                world.watch(manager, FEDERATE);
            }
            traffic(&mut world, [car, viewer, slow], 30 * round as i64);
        }
        world.watch(manager, FEDERATE);
        world.listen_to_reports(manager);
        let mut told = Vec::new();
        for (fed, name) in [(car, "car"), (viewer, "viewer"), (slow, "slow")] {
            let sums = counts(&mut world, manager, name);
            for request in REQUESTS {
                let class = format!("HLAfederate.HLArequest.HLArequest{request}");
                world.ask(manager, &class, &[("HLAfederate", encode(&fed.handle).into())]);
            }
            let reports = world.received(manager).into_iter();
            told.push((sums, reports.map(|one| (one.class, one.values)).collect::<Vec<_>>()));
        }
        told
    };
    let from_the_start = told(0);
    // What the slow one has not been granted yet is not counted, nor what came for a removed instance.
    assert_eq!(
        from_the_start[2].0,
        [
            ("HLAdirectedInteractionsReceived", 2),
            ("HLAinteractionsReceived", 4),
            ("HLAobjectInstancesDiscovered", 4),
            ("HLAobjectInstancesReflected", 4),
            ("HLAobjectInstancesRemoved", 1),
            ("HLAreflectionsReceived", 13),
        ]
    );
    assert_eq!(told(1), from_the_start);
    assert_eq!(told(2), from_the_start);
}

#[test]
fn the_current_fdd_is_told_when_a_federate_brings_a_module() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATION);
    let text = crate::world::MODEL.replace("<name>Car</name>", "<name>Bus</name>");
    let call = FederationCall::JoinFederationExecutionWithModules {
        federate_type: "test".into(),
        federation_name: "Yard".into(),
        additional_fom_modules: vec![FomModule::File {
            name: "bus.xml".into(),
            content: text.into_bytes().into(),
        }],
    };
    let late = world.connect();
    world.ok(late, call);
    let [told] = &world.received(manager)[..] else { panic!() };
    let modules = told.get::<HLAvariableArray<HLAunicodeString>>("HLAFOMmoduleDesignatorList");
    assert_eq!(modules.0, ["bus.xml", "world.xml"].map(HLAunicodeString::from));
    let fdd = model(&told.get::<HLAunicodeString>("HLAcurrentFDD").0);
    for class in ["Vehicle.Car", "Vehicle.Bus"] {
        assert!(fdd.object_class_named(class).is_some(), "{class}");
    }
}
