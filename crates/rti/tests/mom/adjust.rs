//! Interactions that adjust (clause 11.4).

use std::collections::BTreeSet;

use hemiola_fom::UpdateType;
use hemiola_hla::call::SupportCall;
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{Element, HLAinteger32BE, HLAunicodeString, encode};
use hemiola_hla::{Callback, Reply, ResignAction};
use hemiola_rti::{Input, Limits};
use hemiola_units::{Instant, Span};

use super::{FEDERATE, FEDERATION, editions};
use crate::world::{Fed, World};

fn data<T: Element>(value: &T) -> Data {
    encode(value).into()
}

fn integer(value: i32) -> Data {
    data(&HLAinteger32BE(value))
}

fn adjust(world: &mut World, manager: Fed, of: Fed, name: &str, values: &[(&str, Data)]) {
    let federate = [("HLAfederate", data(&of.handle))];
    let all: Vec<_> = federate.into_iter().chain(values.iter().cloned()).collect();
    world.ask(manager, &format!("HLAfederate.HLAadjust.{name}"), &all);
}

fn faults(world: &mut World, manager: Fed) -> Vec<String> {
    let received = world.received(manager);
    let faults = received.iter().filter(|one| one.class.ends_with("HLAreportMOMexception"));
    faults.map(|one| one.get::<HLAunicodeString>("HLAexception").0).collect()
}

#[test]
fn periodic_attributes_are_updated_with_their_period_and_no_other() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATE);
    let car = world.in_time("car", 10);
    let start = Instant::ZERO + Span::from_millis(5_000);
    world.input(Input::Tick(start));
    assert_eq!(world.kernel.next_due(), None);
    adjust(&mut world, manager, car, "HLAsetTiming", &[("HLAreportPeriod", integer(2))]);
    world.notices(manager);
    let due = start + Span::from_millis(2_000);
    assert_eq!(world.kernel.next_due(), Some(due));
    world.input(Input::Tick(due - Span::from_nanos(1)));
    assert_eq!(world.received(manager).len(), 0);
    world.input(Input::Tick(due));
    let [report] = &world.received(manager)[..] else { panic!() };
    let class = world.class(FEDERATE);
    let attributes = world.model.object_class(class).unwrap().attributes.iter();
    let periodic = attributes.filter_map(|one| {
        let attribute = world.model.attribute(*one).unwrap();
        let is_periodic = attribute.update_type == Some(UpdateType::Periodic);
        is_periodic.then(|| attribute.name.clone())
    });
    let periodic: BTreeSet<String> = periodic.collect();
    assert_eq!(report.values.keys().cloned().collect::<BTreeSet<_>>(), periodic);
    // It has been granted all the time since it was seen.
    assert_eq!(report.get::<HLAinteger32BE>("HLAtimeGrantedTime").0, 7_000);
    assert_eq!(report.get::<HLAinteger32BE>("HLAtimeAdvancingTime").0, 0);
    // Periods that passed unnoticed are left out, and the times are those since the last report.
    world.input(Input::Tick(due + Span::from_millis(5_000)));
    let [report] = &world.received(manager)[..] else { panic!() };
    assert_eq!(report.get::<HLAinteger32BE>("HLAtimeGrantedTime").0, 5_000);
    assert_eq!(world.kernel.next_due(), Some(due + Span::from_millis(7_000)));
    adjust(&mut world, manager, car, "HLAsetTiming", &[("HLAreportPeriod", integer(0))]);
    assert_eq!(world.kernel.next_due(), None);
    adjust(&mut world, manager, car, "HLAsetTiming", &[("HLAreportPeriod", integer(1))]);
    world.resign(car, ResignAction::NoAction);
    assert_eq!(world.kernel.next_due(), None);
}

#[test]
fn an_advancing_federate_is_reported_as_such() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATE);
    let (car, slow) = (world.in_time("car", 10), world.in_time("slow", 10));
    adjust(&mut world, manager, car, "HLAsetTiming", &[("HLAreportPeriod", integer(10))]);
    world.input(Input::Tick(Instant::ZERO + Span::from_millis(3_000)));
    world.tar(car, 100);
    world.input(Input::Tick(Instant::ZERO + Span::from_millis(7_000)));
    world.tar(slow, 100);
    world.notices(manager);
    world.input(Input::Tick(Instant::ZERO + Span::from_millis(10_000)));
    let [report] = &world.received(manager)[..] else { panic!() };
    assert_eq!(report.get::<HLAinteger32BE>("HLAtimeGrantedTime").0, 6_000);
    assert_eq!(report.get::<HLAinteger32BE>("HLAtimeAdvancingTime").0, 4_000);
}

#[test]
fn switches_are_set_and_all_are_decoded_before_the_first() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.federate("car");
    let on = |world: &mut World, call: SupportCall| world.ok(car, call) == Reply::Flag(true);
    let names = [
        "HLAobjectClassRelevanceAdvisory",
        "HLAattributeRelevanceAdvisory",
        "HLAattributeScopeAdvisory",
        "HLAinteractionRelevanceAdvisory",
        "HLAconveyRegionDesignatorSets",
        "HLAserviceReporting",
        "HLAexceptionReporting",
        "HLAsendServiceReportsToFile",
    ];
    let calls = [
        SupportCall::GetObjectClassRelevanceAdvisorySwitch,
        SupportCall::GetAttributeRelevanceAdvisorySwitch,
        SupportCall::GetAttributeScopeAdvisorySwitch,
        SupportCall::GetInteractionRelevanceAdvisorySwitch,
        SupportCall::GetConveyRegionDesignatorSetsSwitch,
        SupportCall::GetServiceReportingSwitch,
        SupportCall::GetExceptionReportingSwitch,
        SupportCall::GetSendServiceReportsToFileSwitch,
    ];
    let bad = [("HLAautomaticResignAction", integer(9)), (names[0], integer(1))];
    adjust(&mut world, manager, car, "HLAsetSwitches", &bad);
    assert_eq!(faults(&mut world, manager), ["HLAautomaticResignAction: 9 is no directive"]);
    assert!(!on(&mut world, calls[0].clone()), "nothing is set");
    for (name, call) in names.iter().zip(&calls) {
        adjust(&mut world, manager, car, "HLAsetSwitches", &[(name, integer(1))]);
        assert!(on(&mut world, call.clone()), "{name}");
        adjust(&mut world, manager, car, "HLAsetSwitches", &[(name, integer(0))]);
        assert!(!on(&mut world, call.clone()), "{name}");
    }
    let directive = [("HLAautomaticResignAction", integer(1))];
    adjust(&mut world, manager, car, "HLAsetSwitches", &directive);
    let directive = world.ok(car, SupportCall::GetAutomaticResignDirective);
    assert_eq!(directive, Reply::Directive(ResignAction::DeleteObjects));
    world.notices(manager);
    adjust(&mut world, manager, car, "HLAsetSwitches", &[(names[0], integer(7))]);
    assert_eq!(faults(&mut world, manager), [format!("{}: 7 is neither 0 nor 1", names[0])]);
}

#[test]
fn the_federation_provides_values_when_a_manager_says_so() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.watch(manager, FEDERATION);
    world.notices(manager);
    let auto_provide = [("HLAautoProvide", integer(1))];
    world.ask(manager, "HLAfederation.HLAadjust.HLAsetSwitches", &auto_provide);
    let [told] = &world.received(manager)[..] else { panic!() };
    assert_eq!(told.get::<HLAinteger32BE>("HLAautoProvide").0, 1);
    assert_eq!(world.ok(manager, SupportCall::GetAutoProvideSwitch), Reply::Flag(true));
    // From now on, values come with the discovery.
    world.watch(manager, FEDERATE);
    let [told] = &world.received(manager)[..] else { panic!() };
    assert_eq!(told.get::<HLAunicodeString>("HLAfederateName").0, "manager");
}

#[test]
fn ownership_is_modified_for_a_federate_that_could_have_it() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let (car, other) = (world.federate("car"), world.federate("other"));
    for fed in [car, other] {
        world.publish(fed, "Vehicle.Car", "Position");
        world.subscribe(fed, "Vehicle.Car", "Position");
    }
    let instance = world.register(car, "Vehicle.Car");
    let attribute = world.attribute("Position");
    let state = |value| {
        vec![
            ("HLAobjectInstance", data(&instance)),
            ("HLAattribute", data(&attribute)),
            ("HLAattributeState", integer(value)),
        ]
    };
    adjust(&mut world, manager, other, "HLAmodifyAttributeState", &state(1));
    let fault = faults(&mut world, manager);
    assert_eq!(fault, [format!("AttributeAlreadyOwned: federate {} owns it", car.handle)]);
    adjust(&mut world, manager, other, "HLAmodifyAttributeState", &state(0));
    assert!(faults(&mut world, manager)[0].starts_with("AttributeNotOwned"));
    adjust(&mut world, manager, car, "HLAmodifyAttributeState", &state(0));
    adjust(&mut world, manager, other, "HLAmodifyAttributeState", &state(1));
    assert_eq!(faults(&mut world, manager), Vec::<String>::new());
    let acquired = world.notices(other);
    let is_acquired =
        |one: &Callback| matches!(one, Callback::AttributeOwnershipAcquisitionNotification { .. });
    assert!(acquired.iter().any(|one| is_acquired(one.callback())));
    world.update(other, instance, "Position");
    adjust(&mut world, manager, other, "HLAmodifyAttributeState", &state(2));
    let fault = faults(&mut world, manager);
    assert_eq!(fault, ["HLAattributeState: 2 is no state of ownership"]);
}

#[test]
fn adjustments_of_2010_set_the_reporting_of_a_federate() {
    let mut world = World::with(Limits::default(), &editions()[1].1);
    let manager = world.federate("manager");
    let car = world.federate("car");
    for (name, call) in [
        ("HLAsetServiceReporting", SupportCall::GetServiceReportingSwitch),
        ("HLAsetExceptionReporting", SupportCall::GetExceptionReportingSwitch),
    ] {
        adjust(&mut world, manager, car, name, &[("HLAreportingState", integer(1))]);
        assert_eq!(world.ok(car, call), Reply::Flag(true));
    }
    world.watch(manager, FEDERATE);
    let convey = [("HLAconveyProducingFederate", integer(1))];
    adjust(&mut world, manager, car, "HLAsetSwitches", &convey);
    world.notices(manager);
    world.request(manager, FEDERATE);
    let reports = world.received(manager);
    assert!(
        reports.iter().all(|one| one.get::<HLAinteger32BE>("HLAconveyProducingFederate").0 == 1)
    );
}
