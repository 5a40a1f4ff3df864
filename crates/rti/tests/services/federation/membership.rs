//! Joining, resigning and losing federates (clauses 4.11 to 4.13).

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, OwnershipCall, SupportCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{Exception, FederateHandle, Reply, ResignAction};
use hemiola_rti::Limits;

use crate::world::{MODEL, World, YARD, module, time};

fn join(name: &str, federation: &str) -> FederationCall {
    FederationCall::JoinFederationExecutionWithName {
        federate_name: name.into(),
        federate_type: "test".into(),
        federation_name: federation.into(),
    }
}

fn resign(action: ResignAction) -> FederationCall {
    FederationCall::ResignFederationExecution { resign_action: Some(action) }
}

#[test]
fn the_reply_has_the_federate_handle() {
    let mut w = World::new();
    let fed = w.connect();
    let Reply::Joined(joined) = w.ok(fed, join("a", YARD)) else { panic!() };
    assert_eq!(joined.federate, FederateHandle::new(1));
    assert_eq!(joined.logical_time_implementation, "HLAinteger64Time");
    assert_eq!(w.refused(fed, join("b", YARD)), Exception::FederateAlreadyExecutionMember);
}

#[test]
fn federate_names_are_unique() {
    let mut w = World::new();
    let (_a, other) = (w.federate("a"), w.connect());
    assert_eq!(w.refused(other, join("a", YARD)), Exception::FederateNameAlreadyInUse);
    assert_eq!(w.refused(other, join("a", "Nowhere")), Exception::FederationExecutionDoesNotExist);
    let unnamed = FederationCall::JoinFederationExecution {
        federate_type: "viewer".into(),
        federation_name: YARD.into(),
    };
    w.ok(other, unnamed.clone());
    let third = w.connect();
    w.ok(third, unnamed);
    let name = |handle| SupportCall::GetFederateName { federate: FederateHandle::new(handle) };
    assert_ne!(w.ok(third, name(2)), w.ok(third, name(3)));
}

#[test]
fn a_federate_may_bring_modules() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle.Car", "Position");
    let car = w.register(a, "Vehicle.Car");
    let more = MODEL
        .replace("<name>Driver</name>", "<name>Wheels</name>")
        .replace("<name>Stop</name>", "<name>Go</name>");
    let fed = w.connect();
    let bring = |text: &str| FederationCall::JoinFederationExecutionWithNameAndModules {
        federate_name: "b".into(),
        federate_type: "test".into(),
        federation_name: YARD.into(),
        additional_fom_modules: vec![module(text)],
    };
    let contrary = MODEL.replace("<order>TimeStamp</order>", "<order>Receive</order>");
    assert_eq!(w.refused(fed, bring(&contrary)), Exception::InconsistentFOM);
    assert_eq!(w.refused(fed, bring("<a>")), Exception::ErrorReadingFOM);
    w.ok(fed, bring(&more));
    let object_class = w.class("Vehicle.Car");
    let wheels = SupportCall::GetAttributeHandle { object_class, attribute_name: "Wheels".into() };
    let Reply::Attribute(wheels) = w.ok(a, wheels) else { panic!("for all federates") };
    // An instance that was registered before has the attribute, too.
    let is_owned = |w: &mut World| {
        let call =
            OwnershipCall::IsAttributeOwnedByFederate { object_instance: car, attribute: wheels };
        w.ok(a, call) == Reply::Flag(true)
    };
    w.ok(
        a,
        ObjectCall::QueryAttributeTransportationType { object_instance: car, attribute: wheels },
    );
    assert!(!is_owned(&mut w));
    let attributes = vec![wheels];
    w.ok(a, DeclarationCall::PublishObjectClassAttributes { object_class, attributes });
    w.ok(
        a,
        OwnershipCall::AttributeOwnershipAcquisitionIfAvailable {
            object_instance: car,
            desired_attributes: vec![wheels],
            user_supplied_tag: Data::new(),
        },
    );
    assert!(is_owned(&mut w));
    let driver = SupportCall::GetAttributeHandle { object_class, attribute_name: "Driver".into() };
    assert_eq!(w.ok(fed, driver), Reply::Attribute(w.attribute("Driver")), "handles stay");
    let class =
        SupportCall::GetInteractionClassHandle { interaction_class_name: "Command.Go".into() };
    w.ok(a, class);
}

#[test]
fn directives_must_deal_with_everything_owned() {
    let mut w = World::new();
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Position");
    let call = FederationCall::ResignFederationExecution { resign_action: None };
    assert_eq!(w.refused(a, call), Exception::InvalidResignAction);
    let car = w.register(a, "Vehicle");
    for action in [ResignAction::NoAction, ResignAction::CancelPendingOwnershipAcquisitions] {
        assert_eq!(w.refused(a, resign(action)), Exception::FederateOwnsAttributes);
    }
    w.delete(a, car);
    w.ok(a, resign(ResignAction::NoAction));
    assert_eq!(w.refused(a, resign(ResignAction::NoAction)), Exception::FederateNotExecutionMember);
}

#[test]
fn a_directive_deletes_or_divests() {
    for (action, remains) in [
        (ResignAction::UnconditionallyDivestAttributes, 1),
        (ResignAction::DeleteObjects, 0),
        (ResignAction::DeleteObjectsThenDivest, 0),
        (ResignAction::CancelThenDeleteThenDivest, 0),
    ] {
        let mut w = World::new();
        let (a, b) = (w.federate("a"), w.federate("b"));
        w.subscribe(b, "Vehicle", "Position");
        w.publish(a, "Vehicle", "Position");
        let car = w.register(a, "Vehicle");
        w.resign(a, action);
        let mut callbacks = vec![format!("discover {car} as Vehicle")];
        if remains == 0 {
            callbacks.push(format!("remove {car}"));
        }
        assert_eq!(w.callbacks(b), callbacks, "{action}");
        assert_eq!(w.kernel.status().federations[0].instances, remains, "{action}");
    }
}

#[test]
fn a_lost_federate_resigns_with_its_directive() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.subscribe(b, "Vehicle", "Position");
    w.publish(a, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let value = Some(ResignAction::DeleteObjects);
    w.ok(a, SupportCall::SetAutomaticResignDirective { value });
    w.lose(a);
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle"), format!("remove {car}")]);
    let name = SupportCall::GetFederateName { federate: a.handle };
    assert_eq!(w.refused(b, name), Exception::FederateHandleNotKnown);
    let again = w.federate("a");
    assert_ne!(again.handle, a.handle, "handles are not reused");
}

/// A lost federate that owns an instance, owns an attribute of another's instance, and seeks an attribute of a third.
#[test]
fn every_automatic_directive_frees_what_a_lost_federate_owned_and_sought() {
    use ResignAction as A;
    let cases = [
        (A::UnconditionallyDivestAttributes, false),
        (A::DeleteObjects, true),
        (A::CancelPendingOwnershipAcquisitions, false),
        (A::DeleteObjectsThenDivest, true),
        (A::CancelThenDeleteThenDivest, true),
        (A::NoAction, false),
    ];
    for (directive, deletes) in cases {
        let mut w = World::new();
        let (lost, other) = (w.federate("lost"), w.federate("other"));
        for fed in [lost, other] {
            w.publish(fed, "Vehicle", "Position");
            w.subscribe(fed, "Vehicle", "Position");
        }
        let own = w.register(lost, "Vehicle");
        let (given, sought) = (w.register(other, "Vehicle"), w.register(other, "Vehicle"));
        let position = w.attributes("Position");
        let divest = OwnershipCall::UnconditionalAttributeOwnershipDivestiture {
            object_instance: given,
            attributes: position.clone(),
            user_supplied_tag: Data::new(),
        };
        w.ok(other, divest);
        for object_instance in [given, sought] {
            let acquire = OwnershipCall::AttributeOwnershipAcquisition {
                object_instance,
                desired_attributes: position.clone(),
                user_supplied_tag: Data::new(),
            };
            w.ok(lost, acquire);
        }
        let value = Some(directive);
        w.ok(lost, SupportCall::SetAutomaticResignDirective { value });
        w.callbacks(other);
        w.lose(lost);
        let removed = w.callbacks(other).contains(&format!("remove {own}"));
        assert_eq!(removed, deletes, "{directive}");
        let query = |object_instance| OwnershipCall::QueryAttributeOwnership {
            object_instance,
            attributes: position.clone(),
        };
        w.ok(other, query(given));
        assert_eq!(w.callbacks(other), [format!("{given} Position of nobody")], "{directive}");
        w.ok(other, query(sought));
        let of_other = format!("{sought} Position of {}", other.handle);
        assert_eq!(w.callbacks(other), [of_other], "{directive}");
        let release = OwnershipCall::AttributeOwnershipDivestitureIfWanted {
            object_instance: sought,
            attributes: position.clone(),
            user_supplied_tag: Data::new(),
        };
        assert_eq!(w.ok(other, release), Reply::Attributes(Vec::new()), "{directive}: not sought");
    }
}

#[test]
fn a_federate_with_too_many_undelivered_messages_is_resigned() {
    let limits = Limits { undelivered: 10, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.publish_interaction(a, "Command");
    for fed in [b, c] {
        w.subscribe_interaction(fed, "Command");
    }
    w.constrain(b);
    for _ in 0..11 {
        w.send(a, "Command", "What");
    }
    assert_eq!(w.callbacks(b), ["constrained 0", "resigned: it has too many undelivered messages"]);
    assert_eq!(w.callbacks(c).len(), 11);
    let call = SupportCall::GetAutoProvideSwitch;
    assert_eq!(w.refused(b, call), Exception::FederateNotExecutionMember);
    w.join(b, "b");
}

#[test]
fn queued_messages_are_limited_in_bytes_too() {
    let limits = Limits { undelivered_len: 100_000, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    let call = ObjectCall::UpdateAttributeValuesWithTime {
        object_instance: car,
        attribute_values: vec![(w.attribute("Position"), vec![0; 40_000].into())],
        user_supplied_tag: "".into(),
        time: time(5).into(),
    };
    for _ in 0..2 {
        w.ok(a, call.clone());
        assert_eq!(w.callbacks(b), Vec::<String>::new());
    }
    w.ok(a, call);
    assert_eq!(w.callbacks(b), ["resigned: it has too many undelivered messages"]);
}

#[test]
fn the_size_of_modules_is_limited() {
    let model_len = MODEL.len() * 2 + hemiola_fom::standard_mim_text().len();
    let mut w = World::with(Limits { model_len, ..Limits::default() }, MODEL);
    let join = |name: &str| FederationCall::JoinFederationExecutionWithModules {
        federate_type: "test".into(),
        federation_name: YARD.into(),
        additional_fom_modules: vec![FomModule::File { name: name.into(), content: MODEL.into() }],
    };
    let (a, b) = (w.connect(), w.connect());
    w.ok(a, join("second.xml"));
    assert_eq!(w.refused(b, join("third.xml")), Exception::RTIinternalError);
    w.ok(b, join("second.xml"));
}

#[test]
fn a_client_of_2010_that_is_resigned_loses_its_session() {
    let limits = Limits { undelivered: 10, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let (a, b) = (w.federate("a"), w.connect_evolved());
    let b = w.join(b, "b");
    w.publish_interaction(a, "Command");
    w.subscribe_interaction(b, "Command");
    w.constrain(b);
    for _ in 0..11 {
        assert!(!w.is_closed(b));
        w.send(a, "Command", "What");
    }
    assert!(w.is_closed(b));
    assert_eq!(w.callbacks(b), ["constrained 0"]);
}

#[test]
fn ten_thousand_joins_leave_nothing_behind() {
    let mut w = World::new();
    let fed = w.connect();
    for _ in 0..10_000 {
        w.join(fed, "a");
        w.resign(fed, ResignAction::NoAction);
    }
    assert_eq!(w.kernel.status().federations[0].federates, []);
}
