//! Reports on service invocations, exceptions and lost federates (clause 11.5).

use hemiola_hla::call::{DeclarationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    HLAboolean, HLAfixedRecord, HLAinteger16BE, HLAinteger32BE, HLAunicodeString, HLAvariableArray,
};
use hemiola_hla::{Callback, Exception, FederateHandle, ObjectInstanceHandle};
use hemiola_rti::{CallId, Effect, Input, Limits};

use super::{INTERACTIONS, Received, editions, encoded, model};
use crate::world::{Fed, MODEL, World};

type Argument = HLAfixedRecord<(HLAinteger32BE, HLAunicodeString, HLAunicodeString)>;

fn arguments(report: &Received) -> Vec<(i32, String, String)> {
    let list = report.get::<HLAvariableArray<Argument>>("HLAsuppliedArguments").0;
    let argument = |one: Argument| {
        let HLAfixedRecord((kind, name, value)) = one;
        (kind.0, name.0, value.0)
    };
    list.into_iter().map(argument).collect()
}

fn watched(text: &str) -> (World, Fed, Fed) {
    let mut world = World::with(Limits::default(), text);
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.federate("car");
    world.ok(car, SupportCall::SetServiceReportingSwitch { value: true });
    world.received(manager);
    (world, manager, car)
}

fn reports(world: &mut World, manager: Fed) -> Vec<Received> {
    let mut received = world.received(manager);
    received.retain(|one| one.class.ends_with("HLAreportServiceInvocation"));
    received
}

#[test]
fn calls_and_callbacks_are_reported_in_their_order_with_arguments_and_results() {
    let (mut world, manager, car) = watched(&editions()[0].1);
    world.publish(car, "Vehicle.Car", "Position");
    let instance = world.register(car, "Vehicle.Car");
    let refused = TimeCall::QueryLookahead;
    assert_eq!(world.refused(car, refused), Exception::TimeRegulationIsNotEnabled);
    world.regulate(car, 10);
    let reports = reports(&mut world, manager);
    let seen: Vec<(String, i16, bool)> = reports
        .iter()
        .map(|one| {
            let service = one.get::<HLAunicodeString>("HLAservice").0;
            let group = one.get::<HLAinteger16BE>("HLAserviceType").0;
            (service, group, one.get::<HLAboolean>("HLAsuccessIndicator").0)
        })
        .collect();
    let one = |service: &str, group, done| (service.to_owned(), group, done);
    assert_eq!(
        seen,
        [
            one("Publish Object Class Attributes", 1, true),
            one("Register Object Instance", 2, true),
            one("Query Lookahead", 4, false),
            one("Time Regulation Enabled", 4, true),
            one("Enable Time Regulation", 4, true),
        ]
    );
    let serials: Vec<i32> =
        reports.iter().map(|one| one.get::<HLAinteger32BE>("HLAserialNumber").0).collect();
    assert!(serials.windows(2).all(|pair| pair[1] == pair[0] + 1), "{serials:?}");
    let class = world.class("Vehicle.Car").to_string();
    let position = world.attribute("Position").to_string();
    assert_eq!(
        arguments(&reports[0]),
        [
            (36, "object_class".into(), class.clone()),
            (1, "attributes".into(), format!("[{position}]")),
        ]
    );
    let HLAfixedRecord((kind, _, value)) = reports[1].get::<Argument>("HLAreturnedArgument");
    assert_eq!((kind.0, value.0), (37, instance.to_string()));
    let exception = reports[2].get::<HLAunicodeString>("HLAexception").0;
    assert!(exception.starts_with("TimeRegulationIsNotEnabled"), "{exception}");
    assert_eq!(reports[0].get::<FederateHandle>("HLAfederate"), car.handle);
}

#[test]
fn every_parameter_of_the_unasked_reports_has_its_data_type_in_both_editions() {
    for (edition, text) in editions() {
        let (mut world, manager, car) = watched(&text);
        let model = model(&text);
        world.ok(car, SupportCall::SetExceptionReportingSwitch { value: true });
        world.refused(car, TimeCall::QueryLookahead);
        world.ask(manager, "HLAfederate.HLArequest.HLArequestPublications", &[]);
        world.lose(car);
        let received = world.received(manager);
        for report in [
            "HLAreportException",
            "HLAreportServiceInvocation",
            "HLAreportMOMexception",
            "HLAreportFederateLost",
        ] {
            let one = received.iter().find(|one| one.class.ends_with(report));
            let one = one.unwrap_or_else(|| panic!("{edition}: no {report}"));
            let class = model.interaction_class_named(&format!("{INTERACTIONS}.{}", one.class));
            for parameter in &model.interaction_class(class.unwrap()).unwrap().parameters {
                let definition = model.parameter(*parameter).unwrap();
                // In 2010, a list took the place of the returned argument.
                if definition.name == "HLAreturnedArguments" {
                    continue;
                }
                let value = one.values.get(&definition.name);
                let value =
                    value.unwrap_or_else(|| panic!("{edition} {report}: {}", definition.name));
                encoded::check(&model, definition.datatype.as_deref().unwrap(), value);
            }
        }
    }
}

#[test]
fn a_manager_of_2010_receives_arguments_as_texts() {
    let text = &editions()[1].1;
    let mut world = World::with(Limits::default(), text);
    let manager = world.connect_evolved();
    let manager = world.join(manager, "manager");
    world.listen_to_reports(manager);
    let car = world.federate("car");
    world.ok(car, SupportCall::SetServiceReportingSwitch { value: true });
    world.received(manager);
    world.publish(car, "Vehicle.Car", "Position");
    let instance = world.register(car, "Vehicle.Car");
    let reports = reports(&mut world, manager);
    let texts = |name| reports[1].get::<HLAvariableArray<HLAunicodeString>>(name).0;
    let class = world.class("Vehicle.Car").to_string();
    assert_eq!(texts("HLAsuppliedArguments"), [HLAunicodeString(class)]);
    assert_eq!(texts("HLAreturnedArguments"), [HLAunicodeString(instance.to_string())]);
}

#[test]
fn exceptions_are_reported_where_the_switch_says_so() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.federate("car");
    let unknown =
        ObjectCall::LocalDeleteObjectInstance { object_instance: ObjectInstanceHandle::new(77) };
    world.refused(car, unknown.clone());
    assert_eq!(world.received(manager).len(), 0);
    world.ok(car, SupportCall::SetExceptionReportingSwitch { value: true });
    world.refused(car, unknown);
    let [report] = &world.received(manager)[..] else { panic!() };
    assert_eq!(report.class, "HLAfederate.HLAreport.HLAreportException");
    assert_eq!(report.get::<HLAunicodeString>("HLAservice").0, "Local Delete Object Instance");
    assert!(report.get::<HLAunicodeString>("HLAexception").0.starts_with("ObjectInstanceNotKnown"));
}

#[test]
fn a_federate_whose_calls_are_reported_may_not_subscribe_to_the_reports() {
    let (mut world, manager, car) = watched(&editions()[0].1);
    let interaction_class = world.mom_class("HLAfederate.HLAreport.HLAreportServiceInvocation");
    let subscribe = DeclarationCall::SubscribeInteractionClass { interaction_class };
    let banned = Exception::FederateServiceInvocationsAreBeingReportedViaMOM;
    assert_eq!(world.refused(car, subscribe), banned);
    let report = SupportCall::SetServiceReportingSwitch { value: true };
    assert_eq!(world.refused(manager, report), Exception::ReportServiceInvocationsAreSubscribed);
}

#[test]
fn a_federate_that_receives_its_own_reports_as_a_superclass_gets_no_reports_on_reports() {
    let mut world = World::new();
    let car = world.federate("car");
    let reports = format!("{INTERACTIONS}.HLAfederate.HLAreport");
    world.subscribe_interaction(car, &reports);
    world.ok(car, SupportCall::SetServiceReportingSwitch { value: true });
    world.notices(car);
    world.ok(car, TimeCall::QueryLogicalTime);
    assert_eq!(world.notices(car).len(), 1, "the report on the call, and none on its callback");
}

#[test]
fn a_lost_federate_is_reported_with_its_time() {
    let mut world = World::new();
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.in_time("car", 10);
    world.tar(car, 30);
    world.lose(car);
    let received = world.received(manager);
    let [report] = &received[..] else { panic!("{received:?}") };
    assert_eq!(report.class, "HLAfederate.HLAreport.HLAreportFederateLost");
    assert_eq!(report.get::<FederateHandle>("HLAfederate"), car.handle);
    assert_eq!(report.get::<HLAunicodeString>("HLAfederateName").0, "car");
    let bus = world.federate("bus");
    world.dismiss(bus, "it is Monday");
    let received = world.received(manager);
    let [report] = &received[..] else { panic!("{received:?}") };
    let reason = report.get::<HLAunicodeString>("HLAfaultDescription").0;
    assert_eq!(reason, "the RTI has ended the session: it is Monday");
}

#[test]
fn a_federate_that_the_rti_resigns_is_reported_as_lost_with_the_reason() {
    let limits = Limits { undelivered: 10, ..Limits::default() };
    let mut world = World::with(limits, &editions()[0].1);
    let manager = world.federate("manager");
    let lost = "HLAfederate.HLAreport.HLAreportFederateLost";
    world.subscribe_interaction(manager, &format!("{INTERACTIONS}.{lost}"));
    let (car, viewer) = (world.federate("car"), world.federate("viewer"));
    world.publish_interaction(car, "Command");
    world.subscribe_interaction(viewer, "Command");
    world.constrain(viewer);
    for _ in 0..11 {
        world.send(car, "Command", "What");
    }
    let received = world.received(manager);
    let [report] = &received[..] else { panic!("{received:?}") };
    assert_eq!(report.class, lost);
    assert_eq!(report.get::<FederateHandle>("HLAfederate"), viewer.handle);
    let reason = report.get::<HLAunicodeString>("HLAfaultDescription").0;
    assert_eq!(reason, "it has too many undelivered messages");
}

#[test]
fn reports_go_to_a_file_while_both_switches_are_on_whether_or_not_somebody_listens() {
    let mut world = World::writing_reports(MODEL);
    let (manager, car) = (world.federate("manager"), world.federate("car"));
    world.ok(car, SupportCall::SetSendServiceReportsToFileSwitch { value: true });
    world.ok(car, TimeCall::QueryLogicalTime);
    assert_eq!(world.reports, []);
    // Nobody manages this federation.
    world.ok(car, SupportCall::SetServiceReportingSwitch { value: true });
    world.publish(car, "Vehicle.Car", "Position");
    assert_eq!(world.refused(car, TimeCall::QueryLookahead), Exception::TimeRegulationIsNotEnabled);
    world.ok(manager, TimeCall::QueryLogicalTime);
    let all = world.report_lines(car);
    let expected = ["initial", "Publish Object Class Attributes", "Query Lookahead"];
    assert_eq!(World::reported(&all), expected);
    let handle = car.handle;
    assert_eq!(
        all[0],
        format!(
            "{{\"record\":\"initial\",\"federation\":\"Yard\",\"federate\":\"car\",\"type\":\"test\",\
             \"handle\":{handle},\"rti\":\"Hemiola {}\"}}\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert!(all[2].contains("\"serial\":1,") && all[2].contains("TimeRegulationIsNotEnabled"));
    // A manager finds the file by its name, and receives the reports as well.
    world.watch(manager, super::FEDERATE);
    world.listen_to_reports(manager);
    world.notices(manager);
    world.request(manager, super::FEDERATE);
    let names = world.received(manager).into_iter();
    let names: Vec<String> =
        names.map(|one| one.get::<HLAunicodeString>("HLAreportServiceFile").0).collect();
    let expected = hemiola_rti::report_file("/reports/a", car.session);
    assert_eq!(names, [String::new(), expected.clone()]);
    world.ok(car, TimeCall::QueryLogicalTime);
    assert_eq!(reports(&mut world, manager).len(), 1);
    assert_eq!(world.report_lines(car).len(), 1);
    // Off again, and on again: the file goes on.
    world.ok(car, SupportCall::SetSendServiceReportsToFileSwitch { value: false });
    world.ok(car, TimeCall::QueryLogicalTime);
    let all = world.report_lines(car);
    assert_eq!(World::reported(&all), ["Set Send Service Reports To File Switch"]);
    world.ok(car, SupportCall::SetSendServiceReportsToFileSwitch { value: true });
    world.ok(car, TimeCall::QueryLogicalTime);
    assert_eq!(World::reported(&world.report_lines(car)), ["Query Logical Time"]);
    // The manager is told of the file of another federate when it begins.
    world.notices(manager);
    let other = world.federate("other");
    world.notices(manager);
    for call in [
        SupportCall::SetServiceReportingSwitch { value: true },
        SupportCall::SetSendServiceReportsToFileSwitch { value: true },
    ] {
        world.ok(other, call);
    }
    let told = world.received(manager).into_iter();
    let mut names = told.filter_map(|one| one.values.get("HLAreportServiceFile").cloned());
    let name = hemiola_rti::report_file("/reports/a", other.session);
    let name = hemiola_hla::encoding::encode(&HLAunicodeString::from(name.as_str()));
    assert_eq!(names.next().unwrap(), name);
}

#[test]
fn the_call_that_turns_reporting_off_is_the_last_one_reported() {
    let mut world = World::writing_reports(MODEL);
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let car = world.federate("car");
    world.ok(car, SupportCall::SetSendServiceReportsToFileSwitch { value: true });
    for value in [true, false] {
        world.ok(car, SupportCall::SetServiceReportingSwitch { value });
    }
    world.ok(car, TimeCall::QueryLogicalTime);
    let lines = world.report_lines(car);
    assert_eq!(World::reported(&lines), ["initial", "Set Service Reporting Switch"]);
    let [report] = &reports(&mut world, manager)[..] else { panic!("one report") };
    let service = report.get::<HLAunicodeString>("HLAservice").0;
    assert_eq!(
        (service.as_str(), arguments(report)[0].2.as_str()),
        ("Set Service Reporting Switch", "false")
    );
    // It may subscribe to reports again.
    world.listen_to_reports(car);
}

#[test]
fn the_object_model_can_have_reports_of_all_federates_in_files() {
    let other = "<switches><sendServiceReportsToFile isEnabled=\"true\"/>";
    let model = crate::world::model_with("serviceReporting").replace("<switches>", other);
    let mut world = World::writing_reports(&model);
    let car = world.federate("car");
    world.ok(car, TimeCall::QueryLogicalTime);
    let all = world.report_lines(car);
    assert_eq!(World::reported(&all), ["initial", "Query Logical Time"]);
}

/// A federation in which this many federates have their services reported to files. Returns the call of a federate that
/// sends all of them a large value.
fn crowd(federates: usize) -> (World, Fed, Input) {
    let mut world = World::writing_reports(MODEL);
    let car = world.federate("car");
    world.publish(car, "Vehicle.Car", "Position");
    let object_instance = world.register(car, "Vehicle.Car");
    for number in 0..federates {
        let viewer = world.federate(&format!("viewer {number}"));
        world.subscribe(viewer, "Vehicle.Car", "Position");
        world.ok(viewer, SupportCall::SetSendServiceReportsToFileSwitch { value: true });
        world.ok(viewer, SupportCall::SetServiceReportingSwitch { value: true });
    }
    let update = ObjectCall::UpdateAttributeValues {
        object_instance,
        attribute_values: vec![(world.attribute("Position"), vec![7; 1 << 20].into())],
        user_supplied_tag: Data::new(),
    };
    (world, car, Input::Called(car.session, CallId(u32::MAX), update.into()))
}

/// Carries out an input in slices of 1,000 units of work. Returns how many effects of each are these.
fn counted_in_slices(
    world: &mut World,
    input: Input,
    is_counted: impl Fn(&Effect) -> bool,
) -> Vec<usize> {
    const SLICE: u64 = 1000;
    let mut out = Vec::new();
    world.kernel.handle_within(input, SLICE, &mut out);
    let mut slices = vec![out.drain(..).filter(&is_counted).count()];
    while world.kernel.has_work() {
        world.kernel.work(SLICE, &mut out);
        world.kernel.check_invariants();
        slices.push(out.drain(..).filter(&is_counted).count());
    }
    slices
}

/// A report of a large value is 12 KiB of text, which are 384 units of work.
const REPORTS_PER_SLICE: usize = 3;

#[test]
fn reports_on_a_large_update_to_many_are_written_in_slices() {
    let (mut world, car, call) = crowd(100);
    let slices = counted_in_slices(&mut world, call, |effect| matches!(effect, Effect::Report(..)));
    assert_eq!(slices.iter().sum::<usize>(), 100);
    assert!(slices.iter().all(|lines| *lines <= REPORTS_PER_SLICE), "{slices:?}");
    assert!(!world.kernel.is_busy(car.session));
}

#[test]
fn reports_on_a_large_update_to_many_are_sent_in_slices() {
    let (mut world, _, call) = crowd(10);
    let manager = world.federate("manager");
    world.listen_to_reports(manager);
    let is_report = |effect: &Effect| {
        let Effect::Callback(session, notice) = effect else { return false };
        *session == manager.session
            && matches!(notice.callback(), Callback::ReceiveInteraction { .. })
    };
    let slices = counted_in_slices(&mut world, call, is_report);
    assert_eq!(slices.iter().sum::<usize>(), 10);
    assert!(slices.iter().all(|reports| *reports <= REPORTS_PER_SLICE), "{slices:?}");
}

#[test]
fn reports_on_a_callback_share_its_text_until_they_are_sent() {
    let (mut world, _, call) = crowd(100);
    let mut out = Vec::new();
    // The first one finds the receivers.
    world.kernel.handle(call.clone(), &mut out);
    let before = world.kernel.memory_len();
    world.kernel.handle_within(call, 1, &mut out);
    world.kernel.check_invariants();
    let waiting = world.kernel.memory_len() - before;
    assert!((12 << 10..24 << 10).contains(&waiting), "{waiting} bytes");
    while world.kernel.has_work() {
        world.kernel.work(1, &mut out);
    }
    assert_eq!(world.kernel.memory_len(), before);
}

#[test]
fn a_federate_waits_with_its_next_call_until_the_reports_are_written() {
    let (mut world, car, call) = crowd(100);
    let mut out = Vec::new();
    world.kernel.handle_within(call, 1, &mut out);
    assert!(world.kernel.is_busy(car.session));
    assert!(matches!(out[0], Effect::Reply(..)), "it has its answer");
    let is_report = |effect: &&Effect| matches!(effect, Effect::Report(..));
    assert_eq!(out.iter().filter(is_report).count(), 0);
    let query = Input::Called(car.session, CallId(0), TimeCall::QueryLogicalTime.into());
    world.kernel.handle_within(query, 1, &mut out);
    let reply = out.iter().rposition(|one| matches!(one, Effect::Reply(..))).unwrap();
    assert_eq!(out[..reply].iter().filter(is_report).count(), 100);
}

#[test]
fn the_last_reports_of_a_federate_that_is_lost_are_written() {
    let (mut world, _, call) = crowd(2);
    let mut out = Vec::new();
    world.kernel.handle_within(call, 1, &mut out);
    let receivers = out.iter().filter_map(|one| match one {
        Effect::Callback(session, _) => Some(*session),
        _ => None,
    });
    let receivers: Vec<_> = receivers.collect();
    world.kernel.handle_within(Input::Lost(receivers[0]), 1, &mut out);
    while world.kernel.has_work() {
        world.kernel.work(1, &mut out);
    }
    let written = out.iter().filter_map(|one| match one {
        Effect::Report(session, _) => Some(*session),
        _ => None,
    });
    assert_eq!(written.collect::<Vec<_>>(), receivers);
}
