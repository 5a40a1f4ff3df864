//! Exceptions of single services, as a table of calls. The tests of the services provoke others; together they are all
//! that `docs/reference/conformance.md` does not excuse.

use hemiola_hla::call::{
    DeclarationCall as D, FederationCall as F, ObjectCall as O, OwnershipCall as W,
    SupportCall as S, TimeCall as T,
};
use hemiola_hla::data::{Credentials, Data, FomModule, RtiConfiguration};
use hemiola_hla::{
    AttributeHandle, Call, Exception as E, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, ParameterHandle, TransportationTypeHandle,
};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, YARD, interval, module, time};

const NO_ATTRIBUTE: AttributeHandle = AttributeHandle::new(999);
const NO_CLASS: ObjectClassHandle = ObjectClassHandle::new(999);
const NO_INTERACTION: InteractionClassHandle = InteractionClassHandle::new(999);
const NO_INSTANCE: ObjectInstanceHandle = ObjectInstanceHandle::new(999);
const NO_PARAMETER: ParameterHandle = ParameterHandle::new(999);

fn expect(w: &mut World, fed: Fed, call: impl Into<Call>, exception: E) {
    let call = call.into();
    assert!(call.entry().exceptions.contains(&exception), "{call:?} never raises {exception}");
    assert_eq!(w.refused(fed, call.clone()), exception, "{call:?}");
}

/// A federate that publishes and owns a car, and knows another one's.
struct Yard {
    w: World,
    me: Fed,
    car: ObjectInstanceHandle,
    of_other: ObjectInstanceHandle,
}

impl Yard {
    fn new() -> Self {
        let mut w = World::new();
        let (me, other) = (w.federate("me"), w.federate("other"));
        for fed in [me, other] {
            w.publish(fed, "Vehicle.Car", "Position");
            w.subscribe(fed, "Vehicle.Car", "Position");
        }
        w.publish_interaction(me, "Command");
        let (car, of_other) = (w.register(me, "Vehicle.Car"), w.register(other, "Vehicle.Car"));
        Self { w, me, car, of_other }
    }

    fn expect(&mut self, call: impl Into<Call>, exception: E) {
        expect(&mut self.w, self.me, call, exception);
    }
}

#[test]
fn of_declarations() {
    let mut y = Yard::new();
    let object_class = y.w.class("Vehicle");
    let (attributes, rate) = (vec![NO_ATTRIBUTE], || "Slow".to_owned());
    let undefined: [Call; 6] = [
        D::UnpublishObjectClassAttributes { object_class, attributes: attributes.clone() }.into(),
        D::SubscribeObjectClassAttributes { object_class, attributes: attributes.clone() }.into(),
        D::SubscribeObjectClassAttributesWithRate {
            object_class,
            attributes: attributes.clone(),
            update_rate_designator: rate(),
        }
        .into(),
        D::SubscribeObjectClassAttributesPassivelyWithRate {
            object_class,
            attributes: attributes.clone(),
            update_rate_designator: rate(),
        }
        .into(),
        D::UnsubscribeObjectClassAttributes { object_class, attributes: attributes.clone() }.into(),
        O::RequestClassAttributeValueUpdate {
            object_class,
            attributes,
            user_supplied_tag: Data::new(),
        }
        .into(),
    ];
    undefined.into_iter().for_each(|call| y.expect(call, E::AttributeNotDefined));
    let attributes = y.w.attributes("Position");
    let never = D::SubscribeObjectClassAttributesPassivelyWithRate {
        object_class,
        attributes,
        update_rate_designator: "Never".into(),
    };
    y.expect(never, E::InvalidUpdateRateDesignator);
    let interaction_classes = vec![NO_INTERACTION];
    for call in [
        D::UnpublishObjectClassDirectedInteractionsWithSet {
            object_class,
            interaction_classes: interaction_classes.clone(),
        },
        D::SubscribeObjectClassDirectedInteractions {
            object_class,
            interaction_classes: interaction_classes.clone(),
        },
        D::SubscribeObjectClassDirectedInteractionsUniversally {
            object_class,
            interaction_classes: interaction_classes.clone(),
        },
        D::UnsubscribeObjectClassDirectedInteractionsWithSet { object_class, interaction_classes },
    ] {
        y.expect(call, E::InteractionClassNotDefined);
    }
}

#[test]
fn of_subscriptions_to_reports_on_oneself() {
    let mut y = Yard::new();
    y.w.ok(y.me, S::SetServiceReportingSwitch { value: true });
    let name = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
    let interaction_class = y.w.interaction(name);
    let passively = D::SubscribeInteractionClassPassively { interaction_class };
    y.expect(passively, E::FederateServiceInvocationsAreBeingReportedViaMOM);
}

#[test]
fn of_sending_values() {
    let mut y = Yard::new();
    let tag = Data::new;
    let update = |object_instance, attribute| O::UpdateAttributeValues {
        object_instance,
        attribute_values: vec![(attribute, Data::new())],
        user_supplied_tag: Data::new(),
    };
    let position = y.w.attribute("Position");
    y.expect(update(y.of_other, position), E::AttributeNotOwned);
    y.expect(update(y.car, NO_ATTRIBUTE), E::AttributeNotDefined);
    let interaction_class = y.w.interaction("Command");
    let parameter_values = vec![(NO_PARAMETER, Data::new())];
    let send = O::SendInteraction {
        interaction_class,
        parameter_values: parameter_values.clone(),
        user_supplied_tag: tag(),
    };
    y.expect(send, E::InteractionParameterNotDefined);
    let object_class = y.w.class("Vehicle.Car");
    let register = O::RegisterObjectInstanceWithName {
        object_class: y.w.class("Vehicle"),
        object_instance_name: "one".into(),
    };
    y.expect(register, E::ObjectClassNotPublished);
    let directed = |object_instance, parameter_values| O::SendDirectedInteraction {
        interaction_class,
        object_instance,
        parameter_values,
        user_supplied_tag: Data::new(),
    };
    let timed =
        |object_instance, parameter_values, value: i64| O::SendDirectedInteractionWithTime {
            interaction_class,
            object_instance,
            parameter_values,
            user_supplied_tag: Data::new(),
            time: time(value).into(),
        };
    y.expect(timed(y.car, Vec::new(), 5), E::InteractionClassNotPublished);
    let publish = D::PublishObjectClassDirectedInteractions {
        object_class,
        interaction_classes: vec![interaction_class],
    };
    y.w.ok(y.me, publish);
    y.w.regulate(y.me, 10);
    y.expect(directed(y.car, parameter_values.clone()), E::InteractionParameterNotDefined);
    y.expect(timed(y.car, parameter_values, 50), E::InteractionParameterNotDefined);
    y.expect(timed(NO_INSTANCE, Vec::new(), 50), E::ObjectInstanceNotKnown);
    y.expect(timed(y.car, Vec::new(), 5), E::InvalidLogicalTime);
    let delete = |object_instance, value: i64| O::DeleteObjectInstanceWithTime {
        object_instance,
        user_supplied_tag: Data::new(),
        time: time(value).into(),
    };
    y.expect(delete(y.of_other, 50), E::DeletePrivilegeNotHeld);
    y.expect(delete(y.car, 5), E::InvalidLogicalTime);
}

#[test]
fn of_transportation_and_order() {
    let mut y = Yard::new();
    let transportation_type = TransportationTypeHandle::RELIABLE;
    let (object_class, order_type) = (y.w.class("Vehicle.Car"), Some(OrderType::Receive));
    let attributes = vec![NO_ATTRIBUTE];
    let change = |object_instance| O::RequestAttributeTransportationTypeChange {
        object_instance,
        attributes: vec![NO_ATTRIBUTE],
        transportation_type,
    };
    y.expect(change(y.car), E::AttributeNotDefined);
    y.expect(change(NO_INSTANCE), E::ObjectInstanceNotKnown);
    let default = |object_class| O::ChangeDefaultAttributeTransportationType {
        object_class,
        attributes: vec![NO_ATTRIBUTE],
        transportation_type,
    };
    y.expect(default(object_class), E::AttributeNotDefined);
    y.expect(default(NO_CLASS), E::ObjectClassNotDefined);
    let query =
        O::QueryAttributeTransportationType { object_instance: y.car, attribute: NO_ATTRIBUTE };
    y.expect(query, E::AttributeNotDefined);
    let of_interaction = O::RequestInteractionTransportationTypeChange {
        interaction_class: NO_INTERACTION,
        transportation_type,
    };
    y.expect(of_interaction, E::InteractionClassNotDefined);
    let order = T::ChangeAttributeOrderType {
        object_instance: NO_INSTANCE,
        attributes: attributes.clone(),
        order_type,
    };
    y.expect(order, E::ObjectInstanceNotKnown);
    let default = |object_class| T::ChangeDefaultAttributeOrderType {
        object_class,
        attributes: attributes.clone(),
        order_type,
    };
    y.expect(default(object_class), E::AttributeNotDefined);
    y.expect(default(NO_CLASS), E::ObjectClassNotDefined);
    let of_interaction =
        T::ChangeInteractionOrderType { interaction_class: NO_INTERACTION, order_type };
    y.expect(of_interaction, E::InteractionClassNotDefined);
}

#[test]
fn of_ownership_and_support() {
    let mut y = Yard::new();
    let attributes = y.w.attributes("Position");
    let divest = W::NegotiatedAttributeOwnershipDivestiture {
        object_instance: y.of_other,
        attributes: attributes.clone(),
        user_supplied_tag: Data::new(),
    };
    y.expect(divest, E::AttributeNotOwned);
    let cancel = W::CancelNegotiatedAttributeOwnershipDivestiture {
        object_instance: y.of_other,
        attributes,
    };
    y.expect(cancel, E::AttributeNotOwned);
    let rate =
        S::GetUpdateRateValueForAttribute { object_instance: y.car, attribute: NO_ATTRIBUTE };
    y.expect(rate, E::AttributeNotDefined);
    let parameter = S::GetParameterHandle {
        interaction_class: y.w.interaction("Command"),
        parameter_name: "Nothing".into(),
    };
    y.expect(parameter, E::NameNotFound);
}

/// The five requests to advance.
fn requests(value: i64) -> [T; 5] {
    let time = time(value).into();
    [
        T::TimeAdvanceRequest { time },
        T::TimeAdvanceRequestAvailable { time },
        T::NextMessageRequest { time },
        T::NextMessageRequestAvailable { time },
        T::FlushQueueRequest { time },
    ]
}

#[test]
fn of_every_request_to_advance() {
    let mut w = World::new();
    let me = w.federate("me");
    w.tar(me, 10);
    requests(9).into_iter().for_each(|call| expect(&mut w, me, call, E::LogicalTimeAlreadyPassed));
    w.silence(me);
    w.tar(me, 20);
    let advancing = E::InTimeAdvancingState;
    requests(30).into_iter().for_each(|call| expect(&mut w, me, call, advancing));
    let lookahead = interval(1).into();
    expect(&mut w, me, T::EnableTimeRegulation { lookahead }, advancing);
    expect(&mut w, me, T::EnableTimeConstrained, advancing);
    w.answers(me);
    let pending = [
        (T::EnableTimeRegulation { lookahead }, E::RequestForTimeRegulationPending),
        (T::EnableTimeConstrained, E::RequestForTimeConstrainedPending),
    ];
    for (enable, exception) in pending {
        w.ok(me, enable);
        requests(40).into_iter().for_each(|call| expect(&mut w, me, call, exception));
        w.answers(me);
    }
}

#[test]
fn of_connecting_on_a_lost_session() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.open();
    let wrong = Credentials { kind: "own".into(), data: Data::new() };
    let configuration = RtiConfiguration::default;
    let with_both = |credentials| F::ConnectWithConfigurationAndCredentials {
        rti_configuration: configuration(),
        credentials,
    };
    expect(&mut w, fed, with_both(wrong.clone()), E::InvalidCredentials);
    w.lose(fed);
    for call in [
        F::Connect,
        F::ConnectWithCredentials { credentials: wrong.clone() },
        F::ConnectWithConfiguration { rti_configuration: configuration() },
        with_both(wrong),
    ] {
        expect(&mut w, fed, call, E::ConnectionFailed);
    }
}

/// The forms of creating a federation with these modules, each for a MIM and a representation of time where it has one.
fn creations(fom: FomModule, mim: FomModule, time: &str) -> [F; 6] {
    let (name, modules) = (|| YARD.to_owned(), || vec![fom.clone()]);
    let time = || time.to_owned();
    [
        F::CreateFederationExecution { federation_name: name(), fom_module: fom.clone() },
        F::CreateFederationExecutionWithTime {
            federation_name: name(),
            fom_module: fom.clone(),
            logical_time_implementation_name: time(),
        },
        F::CreateFederationExecutionWithModules { federation_name: name(), fom_modules: modules() },
        F::CreateFederationExecutionWithModulesAndTime {
            federation_name: name(),
            fom_modules: modules(),
            logical_time_implementation_name: time(),
        },
        F::CreateFederationExecutionWithMIM {
            federation_name: name(),
            fom_modules: modules(),
            mim_module: mim.clone(),
        },
        F::CreateFederationExecutionWithMIMAndTime {
            federation_name: name(),
            fom_modules: modules(),
            mim_module: mim.clone(),
            logical_time_implementation_name: time(),
        },
    ]
}

const INTEGER: &str = "HLAinteger64Time";

/// Modules that cannot be read, that are invalid, and that contradict, each with its exception as a FOM module.
fn bad_modules() -> [(FomModule, E); 4] {
    [
        (FomModule::Url("far.xml".into()), E::CouldNotOpenFOM),
        (module("<a>"), E::ErrorReadingFOM),
        (module(&MODEL.replace("<order>TimeStamp</order>", "<order>Never</order>")), E::InvalidFOM),
        (module(&MODEL.replace("HLAfloat64BE", "Nothing")), E::InconsistentFOM),
    ]
}

#[test]
fn of_every_form_of_creation() {
    let mim = || module(hemiola_fom::standard_mim_text());
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    for (bad, exception) in bad_modules() {
        for call in creations(bad.clone(), mim(), INTEGER) {
            expect(&mut w, fed, call, exception);
        }
        let of_mim = match exception {
            E::CouldNotOpenFOM => E::CouldNotOpenMIM,
            E::ErrorReadingFOM => E::ErrorReadingMIM,
            _ => E::InvalidMIM,
        };
        if exception != E::InconsistentFOM {
            for call in creations(module(MODEL), bad, INTEGER).into_iter().skip(4) {
                expect(&mut w, fed, call, of_mim);
            }
        }
    }
    let standard = FomModule::Url("HLAstandardMIM".into());
    for call in creations(module(MODEL), standard, INTEGER).into_iter().skip(4) {
        expect(&mut w, fed, call, E::DesignatorIsHLAstandardMIM);
    }
    for call in creations(module(MODEL), mim(), "Sundial") {
        let call = Call::from(call);
        if call.entry().name.ends_with("Time") {
            expect(&mut w, fed, call, E::CouldNotCreateLogicalTimeFactory);
        }
    }
    w.ok(fed, creations(module(MODEL), mim(), INTEGER)[0].clone());
    for call in creations(module(MODEL), mim(), INTEGER) {
        expect(&mut w, fed, call, E::FederationExecutionAlreadyExists);
    }
}

/// The forms of joining.
fn joins(federation: &str, module: &FomModule) -> [F; 4] {
    let (federation_name, federate_type) = (|| federation.to_owned(), || "test".to_owned());
    let (federate_name, modules) = (|| "me".to_owned(), || vec![module.clone()]);
    [
        F::JoinFederationExecution {
            federate_type: federate_type(),
            federation_name: federation_name(),
        },
        F::JoinFederationExecutionWithName {
            federate_name: federate_name(),
            federate_type: federate_type(),
            federation_name: federation_name(),
        },
        F::JoinFederationExecutionWithModules {
            federate_type: federate_type(),
            federation_name: federation_name(),
            additional_fom_modules: modules(),
        },
        F::JoinFederationExecutionWithNameAndModules {
            federate_name: federate_name(),
            federate_type: federate_type(),
            federation_name: federation_name(),
            additional_fom_modules: modules(),
        },
    ]
}

#[test]
fn of_every_form_of_joining() {
    let mut w = World::new();
    let fed = w.connect();
    for call in joins("Nowhere", &module(MODEL)) {
        expect(&mut w, fed, call, E::FederationExecutionDoesNotExist);
    }
    for (bad, exception) in bad_modules() {
        // The definition that the last one lacks stands in the model of the federation.
        let bad = match exception {
            E::InconsistentFOM => {
                module(&MODEL.replace("<order>TimeStamp</order>", "<order>Receive</order>"))
            }
            _ => bad,
        };
        for call in joins(YARD, &bad).into_iter().skip(2) {
            expect(&mut w, fed, call, exception);
        }
    }
    w.federate("me");
    for call in joins(YARD, &module(MODEL)) {
        let call = Call::from(call);
        if call.entry().exceptions.contains(&E::FederateNameAlreadyInUse) {
            expect(&mut w, fed, call, E::FederateNameAlreadyInUse);
        }
    }
}
