//! Requests and the reports that answer them (clause 11.4).

use std::collections::BTreeSet;

use hemiola_fom::Sharing;
use hemiola_hla::call::{DeclarationCall, FederationCall};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    HLAboolean, HLAfixedRecord, HLAinteger32BE, HLAunicodeString, HLAvariableArray, encode,
};
use hemiola_hla::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    TransportationTypeHandle,
};
use hemiola_rti::Limits;

use super::{INTERACTIONS, Received, editions, encoded, model};
use crate::world::{Fed, World};

/// Each request below `HLAfederate.HLArequest`, and the reports that answer it.
const OF_FEDERATE: [(&str, &[&str]); 13] = [
    (
        "HLArequestPublications",
        &[
            "HLAreportObjectClassPublication",
            "HLAreportInteractionPublication",
            "HLAreportDirectedInteractionPublication",
        ],
    ),
    (
        "HLArequestSubscriptions",
        &[
            "HLAreportObjectClassSubscription",
            "HLAreportInteractionSubscription",
            "HLAreportDirectedInteractionSubscription",
        ],
    ),
    ("HLArequestObjectInstancesThatCanBeDeleted", &["HLAreportObjectInstancesThatCanBeDeleted"]),
    ("HLArequestObjectInstancesUpdated", &["HLAreportObjectInstancesUpdated"]),
    ("HLArequestObjectInstancesReflected", &["HLAreportObjectInstancesReflected"]),
    ("HLArequestUpdatesSent", &["HLAreportUpdatesSent"]),
    ("HLArequestInteractionsSent", &["HLAreportInteractionsSent"]),
    ("HLArequestDirectedInteractionsSent", &["HLAreportDirectedInteractionsSent"]),
    ("HLArequestReflectionsReceived", &["HLAreportReflectionsReceived"]),
    ("HLArequestInteractionsReceived", &["HLAreportInteractionsReceived"]),
    ("HLArequestDirectedInteractionsReceived", &["HLAreportDirectedInteractionsReceived"]),
    ("HLArequestObjectInstanceInformation", &["HLAreportObjectInstanceInformation"]),
    ("HLArequestFOMmoduleData", &["HLAreportFOMmoduleData"]),
];

/// The same below `HLAfederation.HLArequest`.
const OF_FEDERATION: [(&str, &[&str]); 4] = [
    ("HLArequestSynchronizationPoints", &["HLAreportSynchronizationPoints"]),
    ("HLArequestSynchronizationPointStatus", &["HLAreportSynchronizationPointStatus"]),
    ("HLArequestFOMmoduleData", &["HLAreportFOMmoduleData"]),
    ("HLArequestMIMdata", &["HLAreportMIMdata"]),
];

/// Reports that answer no request.
const UNASKED: [&str; 4] = [
    "HLAreportException",
    "HLAreportFederateLost",
    "HLAreportMOMexception",
    "HLAreportServiceInvocation",
];

/// A yard with traffic: a car that publishes, updates and sends, and a viewer that receives all of it.
struct Yard {
    world: World,
    manager: Fed,
    car: Fed,
    viewer: Fed,
    vehicle: hemiola_hla::ObjectInstanceHandle,
}

fn yard(text: &str) -> Yard {
    let mut world = World::with(Limits::default(), text);
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.connect();
    let additional_fom_modules = vec![crate::world::module(&text.replace("Within", "Beyond"))];
    let call = FederationCall::JoinFederationExecutionWithNameAndModules {
        federate_name: "car".into(),
        federate_type: "test".into(),
        federation_name: "Yard".into(),
        additional_fom_modules,
    };
    let hemiola_hla::Reply::Joined(joined) = world.ok(car, call) else { panic!() };
    let car = Fed { handle: joined.federate, ..car };
    let viewer = world.federate("viewer");
    world.publish(car, "Vehicle.Car", "Position Load Driver");
    world.publish_interaction(car, "Command.Stop");
    world.subscribe(viewer, "Vehicle", "Position Load");
    world.subscribe_interaction(viewer, "Command");
    let (object_class, interaction_classes) =
        (world.class("Vehicle"), vec![world.interaction("Command")]);
    let publish = DeclarationCall::PublishObjectClassDirectedInteractions {
        object_class,
        interaction_classes: interaction_classes.clone(),
    };
    world.ok(car, publish);
    let subscribe = DeclarationCall::SubscribeObjectClassDirectedInteractionsUniversally {
        object_class,
        interaction_classes: interaction_classes.clone(),
    };
    world.ok(viewer, subscribe);
    let vehicle = world.register(car, "Vehicle.Car");
    world.update(car, vehicle, "Position Load");
    world.send(car, "Command.Stop", "What");
    let directed = hemiola_hla::call::ObjectCall::SendDirectedInteraction {
        interaction_class: interaction_classes[0],
        object_instance: vehicle,
        parameter_values: Vec::new(),
        user_supplied_tag: Data::new(),
    };
    world.ok(car, directed);
    let point = FederationCall::RegisterFederationSynchronizationPointWithSet {
        synchronization_point_label: "ready".into(),
        user_supplied_tag: Data::new(),
        synchronization_set: vec![car.handle, viewer.handle],
    };
    world.ok(car, point);
    let achieved = FederationCall::SynchronizationPointAchieved {
        synchronization_point_label: "ready".into(),
        successfully: true,
    };
    world.ok(car, achieved);
    world.notices(manager);
    Yard { world, manager, car, viewer, vehicle }
}

impl Yard {
    /// Sends a request and returns the reports.
    fn ask(&mut self, request: &str, values: &[(&str, Data)]) -> Vec<Received> {
        let class = self.world.mom_class(request);
        let known = |name: &str| self.world.model.parameter_named(class, name).is_some();
        let values: Vec<_> = values.iter().filter(|(name, _)| known(name)).cloned().collect();
        self.world.ask(self.manager, request, &values);
        self.world.received(self.manager)
    }

    /// Asks for reports on a federate.
    fn ask_about(&mut self, fed: Fed, request: &str) -> Vec<Received> {
        let values = [
            ("HLAfederate", encode(&fed.handle).into()),
            ("HLAobjectInstance", encode(&self.vehicle).into()),
            ("HLAFOMmoduleIndicator", encode(&HLAinteger32BE(0)).into()),
        ];
        self.ask(&format!("HLAfederate.HLArequest.{request}"), &values)
    }

    fn ask_about_all(&mut self, request: &str) -> Vec<Received> {
        let values = [
            ("HLAsyncPointName", encode(&HLAunicodeString::from("ready")).into()),
            ("HLAFOMmoduleIndicator", encode(&HLAinteger32BE(0)).into()),
        ];
        self.ask(&format!("HLAfederation.HLArequest.{request}"), &values)
    }
}

#[test]
fn every_request_of_both_editions_is_answered_with_all_parameters_in_their_data_types() {
    for (edition, text) in editions() {
        let model = model(&text);
        let mut yard = yard(&text);
        let check = |received: &Received, report: &str| {
            let class =
                model.interaction_class_named(&format!("{INTERACTIONS}.{}", received.class));
            assert!(
                received.class.ends_with(report),
                "{edition}: {} is not {report}",
                received.class
            );
            for parameter in &model.interaction_class(class.unwrap()).unwrap().parameters {
                let definition = model.parameter(*parameter).unwrap();
                let value = received.values.get(&definition.name);
                let value =
                    value.unwrap_or_else(|| panic!("{edition} {report}: {}", definition.name));
                encoded::check(&model, definition.datatype.as_deref().unwrap(), value);
            }
        };
        for (request, reports) in OF_FEDERATE {
            // The viewer is the federate that receives and subscribes.
            let is_viewer = request.contains("Received")
                || request.contains("Reflect")
                || request.contains("Subscr");
            let fed = if is_viewer { yard.viewer } else { yard.car };
            let received = yard.ask_about(fed, request);
            let classes: Vec<&str> = received.iter().map(|one| &one.class[..]).collect();
            for report in reports {
                let one = received.iter().find(|one| one.class.ends_with(report));
                check(one.unwrap_or_else(|| panic!("{edition} {request}: {classes:?}")), report);
            }
        }
        for (request, reports) in OF_FEDERATION {
            let received = yard.ask_about_all(request);
            assert_eq!(received.len(), 1, "{edition} {request}: {received:?}");
            check(&received[0], reports[0]);
        }
    }
}

#[test]
fn the_tables_of_this_test_name_every_request_and_report_of_the_model() {
    for (edition, text) in editions() {
        let model = model(&text);
        let below = |kind: &str, sharing: Sharing| -> BTreeSet<String> {
            let classes = model.interaction_classes().iter();
            let wanted =
                classes.filter(|one| one.sharing == Some(sharing) && one.name.contains(kind));
            wanted.map(|one| one.name.rsplit('.').next().unwrap().to_owned()).collect()
        };
        let tables = || OF_FEDERATE.iter().chain(&OF_FEDERATION);
        let requests: BTreeSet<String> = tables().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(below(".HLArequest.", Sharing::Subscribe), requests, "{edition}");
        let reports = tables().flat_map(|(_, reports)| *reports).chain(&UNASKED);
        let reports: BTreeSet<String> = reports.map(|name| (*name).to_owned()).collect();
        assert_eq!(below(".HLAreport.", Sharing::Publish), reports, "{edition}");
    }
}

#[test]
fn reports_say_what_the_federates_have_declared_and_done() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let (car, viewer) = (yard.car, yard.viewer);
    let class = yard.world.class("Vehicle.Car");
    let [published, interactions, directed] = &yard.ask_about(car, "HLArequestPublications")[..]
    else {
        panic!()
    };
    assert_eq!(published.get::<HLAinteger32BE>("HLAnumberOfClasses").0, 1);
    assert_eq!(published.get::<ObjectClassHandle>("HLAobjectClass"), class);
    let attributes = published.get::<HLAvariableArray<AttributeHandle>>("HLAattributeList").0;
    assert_eq!(attributes.len(), 4, "three, and the privilege to delete");
    let stop = yard.world.interaction("Command.Stop");
    let list =
        interactions.get::<HLAvariableArray<InteractionClassHandle>>("HLAinteractionClassList");
    assert_eq!(list.0, [stop]);
    assert_eq!(directed.get::<ObjectClassHandle>("HLAobjectClass"), yard.world.class("Vehicle"));
    type Count<C> = HLAvariableArray<HLAfixedRecord<(C, HLAinteger32BE)>>;
    let counts: Vec<_> = yard.ask_about(car, "HLArequestUpdatesSent");
    let kinds: Vec<_> =
        counts.iter().map(|one| one.get::<TransportationTypeHandle>("HLAtransportation")).collect();
    assert_eq!(kinds, [TransportationTypeHandle::RELIABLE, TransportationTypeHandle::BEST_EFFORT]);
    for one in &counts {
        let one = one.get::<Count<ObjectClassHandle>>("HLAupdateCounts").0;
        assert_eq!(one, [HLAfixedRecord((class, HLAinteger32BE(1)))]);
    }
    let [received] = &yard.ask_about(viewer, "HLArequestInteractionsReceived")[..] else {
        panic!()
    };
    let command = yard.world.interaction("Command");
    let one = received.get::<Count<InteractionClassHandle>>("HLAinteractionCounts").0;
    assert_eq!(one, [HLAfixedRecord((command, HLAinteger32BE(1)))], "as it was received");
    let [deletable] = &yard.ask_about(car, "HLArequestObjectInstancesThatCanBeDeleted")[..] else {
        panic!()
    };
    let one = deletable.get::<Count<ObjectClassHandle>>("HLAobjectInstanceCounts").0;
    assert_eq!(one, [HLAfixedRecord((class, HLAinteger32BE(1)))]);
    let [known] = &yard.ask_about(viewer, "HLArequestObjectInstanceInformation")[..] else {
        panic!()
    };
    assert_eq!(known.get::<ObjectClassHandle>("HLAregisteredClass"), class);
    assert_eq!(known.get::<ObjectClassHandle>("HLAknownClass"), yard.world.class("Vehicle"));
    assert_eq!(
        known.get::<HLAvariableArray<AttributeHandle>>("HLAownedInstanceAttributeList").0,
        []
    );
}

#[test]
fn subscriptions_with_regions_are_reported_with_the_others() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let viewer = yard.viewer;
    let near = yard.world.region(viewer, "X 0..10");
    let far = yard.world.region(viewer, "X 50..60");
    yard.world.subscribe_class_within(viewer, "Vehicle", "Position", &[near, far]);
    yard.world.subscribe_class_within(viewer, "Vehicle.Car", "Driver", &[near]);
    yard.world.subscribe_interaction_within(viewer, "Command", &[far]);
    let passively = hemiola_hla::call::DistributionCall::SubscribeInteractionClassWithRegions {
        interaction_class: yard.world.interaction("Command.Stop"),
        active: false,
        regions: vec![near],
    };
    yard.world.ok(viewer, passively);
    let reports = yard.ask_about(viewer, "HLArequestSubscriptions");
    let of = |report: &'static str| reports.iter().filter(move |one| one.class.ends_with(report));
    let classes: Vec<_> = of("HLAreportObjectClassSubscription")
        .map(|one| {
            assert_eq!(one.get::<HLAinteger32BE>("HLAnumberOfClasses").0, 2);
            let attributes = one.get::<HLAvariableArray<AttributeHandle>>("HLAattributeList").0;
            (one.get::<ObjectClassHandle>("HLAobjectClass"), attributes)
        })
        .collect();
    let w = &yard.world;
    let mut once = w.attributes("Position Load");
    once.sort_unstable();
    let expected = [(w.class("Vehicle"), once), (w.class("Vehicle.Car"), w.attributes("Driver"))];
    assert_eq!(classes, expected);
    let list = of("HLAreportInteractionSubscription").next().unwrap();
    type Entry = HLAfixedRecord<(InteractionClassHandle, HLAboolean)>;
    let mut list = list.get::<HLAvariableArray<Entry>>("HLAinteractionClassList").0;
    list.sort_by_key(|HLAfixedRecord((class, _))| *class);
    let expected = [("Command", true), ("Command.Stop", false)]
        .map(|(name, is_active)| HLAfixedRecord((w.interaction(name), HLAboolean(is_active))));
    assert_eq!(list, expected);
}

#[test]
fn the_status_of_a_synchronization_point_names_every_federate() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let [status] = &yard.ask_about_all("HLArequestSynchronizationPointStatus")[..] else {
        panic!()
    };
    type Status = HLAvariableArray<HLAfixedRecord<(FederateHandle, HLAinteger32BE)>>;
    let federates = status.get::<Status>("HLAsyncPointFederates").0;
    let (manager, car, viewer) = (yard.manager.handle, yard.car.handle, yard.viewer.handle);
    let expected = [(manager, 0), (car, 3), (viewer, 2)];
    assert_eq!(
        federates,
        expected.map(|(one, status)| HLAfixedRecord((one, HLAinteger32BE(status))))
    );
    let [points] = &yard.ask_about_all("HLArequestSynchronizationPoints")[..] else { panic!() };
    let labels = points.get::<HLAvariableArray<HLAunicodeString>>("HLAsyncPoints").0;
    assert_eq!(labels, [HLAunicodeString::from("ready")]);
}

#[test]
fn module_data_is_the_text_that_was_given() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let car = yard.car;
    let [of_car] = &yard.ask_about(car, "HLArequestFOMmoduleData")[..] else { panic!() };
    assert_eq!(
        of_car.get::<HLAunicodeString>("HLAFOMmoduleData").0,
        text.replace("Within", "Beyond")
    );
    let [mim] = &yard.ask_about_all("HLArequestMIMdata")[..] else { panic!() };
    assert_eq!(mim.get::<HLAunicodeString>("HLAMIMdata").0, hemiola_fom::standard_mim_text());
}

#[test]
fn handles_and_times_may_be_sent_without_the_number_of_their_bytes() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let car: Data = yard.car.handle.to_bytes().to_vec().into();
    let request = "HLAfederate.HLArequest.HLArequestObjectInstanceInformation";
    let instance: Data = yard.vehicle.to_bytes().to_vec().into();
    let values = [("HLAfederate", car.clone()), ("HLAobjectInstance", instance)];
    let [known] = &yard.ask(request, &values)[..] else { panic!() };
    assert_eq!(known.get::<FederateHandle>("HLAfederate"), yard.car.handle);
    let (world, fed) = (&mut yard.world, yard.car);
    world.regulate(fed, 1);
    world.callbacks(fed);
    let time = crate::world::time(7).to_bytes().to_vec().into();
    let values = [("HLAfederate", car), ("HLAtimeStamp", time)];
    world.ask(yard.manager, "HLAfederate.HLAservice.HLAtimeAdvanceRequest", &values);
    assert_eq!(world.callbacks(fed), ["grant 7"]);
}

#[test]
fn requests_with_missing_malformed_and_wrong_parameters_are_reported_to_those_who_listen() {
    let [(_, text), _] = editions();
    let mut yard = yard(&text);
    let request = "HLAfederate.HLArequest.HLArequestObjectInstanceInformation";
    let nobody: Data = encode(&FederateHandle::new(77)).into();
    let car: Data = encode(&yard.car.handle).into();
    let unknown: Data = encode(&hemiola_hla::ObjectInstanceHandle::new(77)).into();
    type Case<'c> = (&'c [(&'c str, Data)], bool, &'c str);
    let cases: [Case<'_>; 5] = [
        (&[], true, "HLAfederate: the parameter is missing"),
        (&[("HLAfederate", Data::from_static(b"no"))], true, "HLAfederate: "),
        (&[("HLAfederate", nobody)], true, "HLAfederate: no federate 77 is joined"),
        (&[("HLAfederate", car.clone())], true, "HLAobjectInstance: the parameter is missing"),
        (&[("HLAfederate", car), ("HLAobjectInstance", unknown)], false, "ObjectInstanceNotKnown"),
    ];
    for (values, in_parameters, reason) in cases {
        let received = yard.ask(request, values);
        let [report] = &received[..] else { panic!("{received:?}") };
        assert_eq!(report.class, "HLAfederate.HLAreport.HLAreportMOMexception");
        assert_eq!(report.get::<FederateHandle>("HLAfederate"), yard.manager.handle);
        assert_eq!(
            report.get::<HLAunicodeString>("HLAservice").0,
            format!("{INTERACTIONS}.{request}")
        );
        assert_eq!(report.get::<HLAboolean>("HLAparameterError").0, in_parameters);
        let text = report.get::<HLAunicodeString>("HLAexception").0;
        assert!(text.starts_with(reason), "{text}");
    }
    assert_eq!(yard.world.callbacks(yard.viewer).len(), 6, "nobody else is disturbed");
}
