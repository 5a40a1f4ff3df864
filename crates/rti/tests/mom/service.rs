//! Interactions that make a federate invoke a service (clause 11.4).

use std::collections::BTreeSet;

use hemiola_hla::call::{FederationCall, TimeCall};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    Element, HLAboolean, HLAinteger32BE, HLAlogicalTime, HLAopaqueData, HLAtimeInterval,
    HLAunicodeString, HLAvariableArray, encode,
};
use hemiola_hla::{
    AttributeHandle, FederateHandle, InteractionClassHandle, Reply, TransportationTypeHandle,
};
use hemiola_rti::Limits;

use super::{editions, model};
use crate::world::{Fed, World, interval, time};

fn data<T: Element>(value: &T) -> Data {
    encode(value).into()
}

/// A manager, and a car that does what the manager says.
struct Remote {
    world: World,
    manager: Fed,
    car: Fed,
}

impl Remote {
    fn new(text: &str) -> Self {
        let mut world = World::with(Limits::default(), text);
        let manager = world.federate("manager");
        world.listen_to_reports(manager);
        let car = world.federate("car");
        Self { world, manager, car }
    }

    /// Makes the car invoke a service. Returns the exception that is reported, if there is one.
    fn invoke(&mut self, service: &str, values: &[(&str, Data)]) -> Option<String> {
        let car = [("HLAfederate", data(&self.car.handle))];
        let all: Vec<_> = car.into_iter().chain(values.iter().cloned()).collect();
        self.world.ask(self.manager, &format!("HLAfederate.HLAservice.{service}"), &all);
        let received = self.world.received(self.manager);
        let faults = received.iter().filter(|one| one.class.ends_with("HLAreportMOMexception"));
        faults.map(|one| one.get::<HLAunicodeString>("HLAexception").0).next()
    }

    fn done(&mut self, service: &str, values: &[(&str, Data)]) {
        assert_eq!(self.invoke(service, values), None, "{service}");
    }
}

#[test]
fn a_manager_makes_a_federate_publish_and_subscribe() {
    let mut remote = Remote::new(&editions()[0].1);
    let class = remote.world.class("Vehicle.Car");
    let attributes = HLAvariableArray(remote.world.attributes("Position Load"));
    let object_class =
        || [("HLAobjectClass", data(&class)), ("HLAattributeList", data(&attributes))];
    remote.done("HLApublishObjectClassAttributes", &object_class());
    let car = remote.car;
    let instance = remote.world.register(car, "Vehicle.Car");
    let active = ("HLAactive", data(&HLAboolean(true)));
    let passive = ("HLAactive", data(&HLAboolean(false)));
    for activity in [&active, &passive] {
        let values: Vec<_> = object_class().into_iter().chain([activity.clone()]).collect();
        remote.done("HLAsubscribeObjectClassAttributes", &values);
    }
    remote.done("HLAunsubscribeObjectClassAttributes", &object_class());
    let stop: InteractionClassHandle = remote.world.interaction("Command.Stop");
    let interaction = || [("HLAinteractionClass", data(&stop))];
    remote.done("HLApublishInteractionClass", &interaction());
    remote.world.send(car, "Command.Stop", "What");
    for activity in [active, passive] {
        let values: Vec<_> = interaction().into_iter().chain([activity]).collect();
        remote.done("HLAsubscribeInteractionClass", &values);
    }
    remote.done("HLAunsubscribeInteractionClass", &interaction());
    let reliable = ("HLAtransportation", data(&TransportationTypeHandle::RELIABLE));
    let order = ("HLAsendOrder", data(&HLAinteger32BE(2)));
    for (service, option) in [
        ("HLArequestInteractionTransportationTypeChange", &reliable),
        ("HLAchangeInteractionOrderType", &order),
    ] {
        let values: Vec<_> = interaction().into_iter().chain([option.clone()]).collect();
        remote.done(service, &values);
    }
    remote.done("HLAunpublishInteractionClass", &interaction());
    let list = HLAvariableArray(vec![remote.world.interaction("Command")]);
    let directed = [("HLAobjectClass", data(&class)), ("HLAinteractionClassList", data(&list))];
    for service in [
        "HLApublishObjectClassDirectedInteractions",
        "HLAunpublishObjectClassDirectedInteractions",
        "HLAsubscribeObjectClassDirectedInteractions",
        "HLAunsubscribeObjectClassDirectedInteractions",
    ] {
        remote.done(service, &directed);
    }
    let position = HLAvariableArray(remote.world.attributes("Position"));
    let of_instance =
        || [("HLAobjectInstance", data(&instance)), ("HLAattributeList", data(&position))];
    for (service, option) in [
        ("HLArequestAttributeTransportationTypeChange", reliable),
        ("HLAchangeAttributeOrderType", order),
    ] {
        let values: Vec<_> = of_instance().into_iter().chain([option]).collect();
        remote.done(service, &values);
    }
    remote.done("HLAunconditionalAttributeOwnershipDivestiture", &of_instance());
    let local = [("HLAobjectInstance", data(&instance))];
    let refused = remote.invoke("HLAlocalDeleteObjectInstance", &local).unwrap();
    assert!(refused.starts_with("FederateOwnsAttributes"), "{refused}");
    let tag = ("HLAtag", data(&HLAopaqueData(b"tag".to_vec())));
    remote.done("HLAdeleteObjectInstance", &[local[0].clone(), tag]);
    let twice = remote.invoke("HLAdeleteObjectInstance", &local).unwrap();
    assert!(twice.starts_with("ObjectInstanceNotKnown"), "{twice}");
    remote.done("HLAunpublishObjectClassAttributes", &object_class());
}

#[test]
fn a_manager_makes_a_federate_advance() {
    let mut remote = Remote::new(&editions()[0].1);
    let at = |at: i64| ("HLAtimeStamp", data(&HLAlogicalTime(time(at).into())));
    let lookahead = |step: i64| ("HLAlookahead", data(&HLAtimeInterval(interval(step).into())));
    remote.done("HLAenableTimeRegulation", &[lookahead(10)]);
    remote.done("HLAenableTimeConstrained", &[]);
    remote.done("HLAmodifyLookahead", &[lookahead(5)]);
    for (number, service) in (1..).zip([
        "HLAtimeAdvanceRequest",
        "HLAtimeAdvanceRequestAvailable",
        "HLAnextMessageRequest",
        "HLAnextMessageRequestAvailable",
        "HLAflushQueueRequest",
    ]) {
        remote.done(service, &[at(number * 10)]);
        let now = remote.world.ok(remote.car, TimeCall::QueryLogicalTime);
        assert_eq!(now, Reply::Time(time(number * 10).into()), "{service}");
    }
    let past = remote.invoke("HLAtimeAdvanceRequest", &[at(1)]).unwrap();
    assert!(past.starts_with("LogicalTimeAlreadyPassed"), "{past}");
    let malformed = ("HLAtimeStamp", Data::from_static(b"no"));
    let fault = remote.invoke("HLAtimeAdvanceRequest", &[malformed]).unwrap();
    assert!(fault.starts_with("HLAtimeStamp: "), "{fault}");
    remote.done("HLAenableAsynchronousDelivery", &[]);
    remote.done("HLAdisableAsynchronousDelivery", &[]);
    remote.done("HLAdisableTimeConstrained", &[]);
    remote.done("HLAdisableTimeRegulation", &[]);
}

#[test]
fn a_manager_achieves_a_point_and_resigns_a_federate() {
    let mut remote = Remote::new(&editions()[0].1);
    let car = remote.car;
    let point = FederationCall::RegisterFederationSynchronizationPointWithSet {
        synchronization_point_label: "ready".into(),
        user_supplied_tag: Data::new(),
        synchronization_set: vec![car.handle],
    };
    remote.world.ok(car, point);
    remote.world.callbacks(car);
    let label = ("HLAlabel", data(&HLAunicodeString::from("ready")));
    remote.done("HLAsynchronizationPointAchieved", &[label]);
    assert_eq!(remote.world.callbacks(car), ["synchronized ready without []"]);
    remote.world.publish(car, "Vehicle.Car", "Position");
    remote.world.register(car, "Vehicle.Car");
    let action = |value| ("HLAresignAction", data(&HLAinteger32BE(value)));
    let refused = remote.invoke("HLAresignFederationExecution", &[action(5)]).unwrap();
    assert!(refused.starts_with("FederateOwnsAttributes"), "{refused}");
    let fault = remote.invoke("HLAresignFederationExecution", &[action(6)]).unwrap();
    assert_eq!(fault, "HLAresignAction: 6 is no directive");
    remote.done("HLAresignFederationExecution", &[action(1)]);
    let reason = "resigned: a federate asked for it through the management object model";
    assert_eq!(remote.world.callbacks(car), [reason]);
    // The federate can join again.
    remote.world.join(Fed { handle: FederateHandle::INVALID, ..car }, "car");
}

#[test]
fn services_of_2010_use_the_values_of_that_edition() {
    let text = &editions()[1].1;
    let mut remote = Remote::new(text);
    let manager = remote.world.connect_evolved();
    let manager = remote.world.join(manager, "evolved");
    remote.world.listen_to_reports(manager);
    remote.manager = manager;
    let car = remote.car;
    remote.world.publish(car, "Vehicle.Car", "Position");
    let instance = remote.world.register(car, "Vehicle.Car");
    let list = HLAvariableArray::<AttributeHandle>(remote.world.attributes("Position"));
    let best_effort = ("HLAtransportation", data(&HLAunicodeString::from("HLAbestEffort")));
    let of_instance =
        [("HLAobjectInstance", data(&instance)), ("HLAattributeList", data(&list)), best_effort];
    remote.done("HLArequestAttributeTransportationTypeChange", &of_instance);
    let order = ("HLAsendOrder", data(&HLAinteger32BE(0)));
    let [one, attributes, _] = of_instance;
    remote.done("HLAchangeAttributeOrderType", &[one, attributes, order]);
    remote.world.callbacks(car);
    let action = ("HLAresignAction", data(&HLAinteger32BE(2)));
    remote.done("HLAresignFederationExecution", &[action]);
    assert_eq!(remote.world.callbacks(car).len(), 1);
}

#[test]
fn every_service_of_the_model_is_known() {
    for (edition, text) in editions() {
        let model = model(&text);
        let prefix = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice.";
        let names =
            model.interaction_classes().iter().filter_map(|one| one.name.strip_prefix(prefix));
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        assert_eq!(names.len(), 36, "{edition}");
        let mut remote = Remote::new(&text);
        for name in names {
            // Without parameters each is refused by the first that is missing, or by a precondition.
            if let Some(reason) = remote.invoke(&name, &[]) {
                assert!(!reason.contains("is not supported"), "{edition} {name}: {reason}");
            }
        }
    }
}
