//! Clause 10.

use hemiola_hla::call::SupportCall as C;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle, Reply, ResignAction,
    ServiceGroup, TransportationTypeHandle,
};

use crate::world::World;

#[test]
fn names_and_handles_lead_to_each_other() {
    let mut w = World::new();
    let a = w.federate("a");
    let (class, command) = (w.class("Vehicle.Car"), w.interaction("Command.Stop"));
    let (position, within) = (w.attribute("Position"), w.parameter("Within"));
    let name = |text: &str| Reply::Name(text.into());
    let of_class = ["X", "Y", "Level"].map(|name| w.model.dimension_named(name).unwrap());
    let (mut of_class, of_command) = (of_class.to_vec(), of_class[..2].to_vec());
    of_class.sort();
    for (call, reply) in [
        (C::GetFederateHandle { federate_name: "a".into() }, Reply::Federate(a.handle)),
        (C::GetFederateName { federate: a.handle }, name("a")),
        (
            C::GetObjectClassHandle { object_class_name: "Vehicle.Car".into() },
            Reply::ObjectClass(class),
        ),
        (C::GetObjectClassName { object_class: class }, name("HLAobjectRoot.Vehicle.Car")),
        (
            C::GetAttributeHandle { object_class: class, attribute_name: "Position".into() },
            Reply::Attribute(position),
        ),
        (C::GetAttributeName { object_class: class, attribute: position }, name("Position")),
        (
            C::GetInteractionClassHandle { interaction_class_name: "Command.Stop".into() },
            Reply::InteractionClass(command),
        ),
        (
            C::GetInteractionClassName { interaction_class: command },
            name("HLAinteractionRoot.Command.Stop"),
        ),
        (
            C::GetParameterHandle { interaction_class: command, parameter_name: "Within".into() },
            Reply::Parameter(within),
        ),
        (C::GetParameterName { interaction_class: command, parameter: within }, name("Within")),
        (
            C::GetOrderType { order_type_name: "TimeStamp".into() },
            Reply::Order(OrderType::TimeStamp),
        ),
        (C::GetOrderName { order_type: Some(OrderType::Receive) }, name("Receive")),
        (
            C::GetTransportationTypeHandle { transportation_type_name: "HLAbestEffort".into() },
            Reply::TransportationType(TransportationTypeHandle::BEST_EFFORT),
        ),
        (
            C::GetTransportationTypeName {
                transportation_type: TransportationTypeHandle::RELIABLE,
            },
            name("HLAreliable"),
        ),
        (C::GetUpdateRateValue { update_rate_designator: "Slow".into() }, Reply::Rate(2.0)),
        (
            C::GetAvailableDimensionsForObjectClass { object_class: class },
            Reply::Dimensions(of_class),
        ),
        (
            C::GetAvailableDimensionsForInteractionClass { interaction_class: command },
            Reply::Dimensions(of_command),
        ),
        (
            C::NormalizeServiceGroup { service_group: Some(ServiceGroup::SupportServices) },
            Reply::Number(6),
        ),
        (C::NormalizeFederateHandle { federate: a.handle }, Reply::Number(1)),
        (C::NormalizeObjectClassHandle { object_class: class }, Reply::Number(class.number())),
        (
            C::NormalizeInteractionClassHandle { interaction_class: command },
            Reply::Number(command.number()),
        ),
    ] {
        assert_eq!(w.ok(a, call), reply);
    }
    let Reply::Dimension(dimension) =
        w.ok(a, C::GetDimensionHandle { dimension_name: "HLAserviceGroup".into() })
    else {
        panic!()
    };
    assert_eq!(w.ok(a, C::GetDimensionName { dimension }), name("HLAserviceGroup"));
    assert_eq!(w.ok(a, C::GetDimensionUpperBound { dimension }), Reply::Number(7));
    w.publish(a, "Vehicle", "Position");
    let object_instance = w.register(a, "Vehicle");
    let Reply::Number(_) = w.ok(a, C::NormalizeObjectInstanceHandle { object_instance }) else {
        panic!()
    };
}

#[test]
fn unknown_names_and_handles_have_their_own_exceptions() {
    let mut w = World::new();
    let a = w.federate("a");
    let (class, vehicle) = (w.class("Vehicle.Car"), w.class("Vehicle"));
    let (command, within, driver) =
        (w.interaction("Command"), w.parameter("Within"), w.attribute("Driver"));
    let none = || "none".to_owned();
    for (call, exception) in [
        (C::GetFederateHandle { federate_name: none() }, Exception::NameNotFound),
        (C::GetFederateName { federate: FederateHandle::new(9) }, Exception::InvalidFederateHandle),
        (C::GetObjectClassHandle { object_class_name: none() }, Exception::NameNotFound),
        (
            C::GetObjectClassName { object_class: ObjectClassHandle::INVALID },
            Exception::InvalidObjectClassHandle,
        ),
        (
            C::GetObjectInstanceHandle { object_instance_name: none() },
            Exception::ObjectInstanceNotKnown,
        ),
        (
            C::GetKnownObjectClassHandle { object_instance: ObjectInstanceHandle::INVALID },
            Exception::ObjectInstanceNotKnown,
        ),
        (
            C::GetAttributeHandle { object_class: class, attribute_name: none() },
            Exception::NameNotFound,
        ),
        (
            C::GetAttributeHandle {
                object_class: ObjectClassHandle::INVALID,
                attribute_name: none(),
            },
            Exception::InvalidObjectClassHandle,
        ),
        (
            C::GetAttributeName { object_class: vehicle, attribute: AttributeHandle::new(9999) },
            Exception::InvalidAttributeHandle,
        ),
        (
            C::GetAttributeName { object_class: vehicle, attribute: driver },
            Exception::AttributeNotDefined,
        ),
        (
            C::GetUpdateRateValue { update_rate_designator: none() },
            Exception::InvalidUpdateRateDesignator,
        ),
        (
            C::GetInteractionClassName { interaction_class: InteractionClassHandle::INVALID },
            Exception::InvalidInteractionClassHandle,
        ),
        (
            C::GetParameterName { interaction_class: command, parameter: ParameterHandle::INVALID },
            Exception::InvalidParameterHandle,
        ),
        (
            C::GetParameterName { interaction_class: command, parameter: within },
            Exception::InteractionParameterNotDefined,
        ),
        (C::GetOrderType { order_type_name: none() }, Exception::InvalidOrderName),
        (C::GetOrderName { order_type: None }, Exception::InvalidOrderType),
        (
            C::GetTransportationTypeHandle { transportation_type_name: none() },
            Exception::InvalidTransportationName,
        ),
        (
            C::GetTransportationTypeName { transportation_type: TransportationTypeHandle::INVALID },
            Exception::InvalidTransportationTypeHandle,
        ),
        (C::GetDimensionHandle { dimension_name: none() }, Exception::NameNotFound),
        (
            C::GetDimensionUpperBound { dimension: DimensionHandle::INVALID },
            Exception::InvalidDimensionHandle,
        ),
        (C::NormalizeServiceGroup { service_group: None }, Exception::InvalidServiceGroup),
        (
            C::NormalizeFederateHandle { federate: FederateHandle::INVALID },
            Exception::InvalidFederateHandle,
        ),
        (
            C::NormalizeObjectInstanceHandle { object_instance: ObjectInstanceHandle::new(1) },
            Exception::InvalidObjectInstanceHandle,
        ),
        (C::SetAutomaticResignDirective { value: None }, Exception::InvalidResignAction),
    ] {
        assert_eq!(w.refused(a, call.clone()), exception, "{call:?}");
    }
}

#[test]
fn switches_start_from_the_object_model_and_are_per_federate() {
    let on = "</interactions><switches><attributeScopeAdvisory isEnabled=\"true\"/>\
              <automaticResignAction resignAction=\"DeleteObjects\"/></switches>";
    let model = crate::world::MODEL.replace("</interactions>", on);
    let mut w = World::with(hemiola_rti::Limits::default(), &model);
    let (a, b) = (w.federate("a"), w.federate("b"));
    assert_eq!(
        w.ok(a, C::GetAutomaticResignDirective),
        Reply::Directive(ResignAction::DeleteObjects)
    );
    assert_eq!(w.ok(a, C::GetAttributeScopeAdvisorySwitch), Reply::Flag(true));
    w.ok(a, C::SetAttributeScopeAdvisorySwitch { value: false });
    assert_eq!(w.ok(a, C::GetAttributeScopeAdvisorySwitch), Reply::Flag(false));
    assert_eq!(w.ok(b, C::GetAttributeScopeAdvisorySwitch), Reply::Flag(true));
    for call in [C::GetServiceReportingSwitch, C::GetAutoProvideSwitch, C::GetAllowRelaxedDDMSwitch]
    {
        assert_eq!(w.ok(a, call), Reply::Flag(false));
    }
    assert_eq!(w.ok(a, C::GetNonRegulatedGrantSwitch), Reply::Flag(true), "as 1516-2010 has it");
}
