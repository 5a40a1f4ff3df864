//! Each exception of each service, for federates of both editions, and that the more general one is raised.

use hemiola_hla::call::{DistributionCall as D, SupportCall as S};
use hemiola_hla::data::{AttributeRegions, RangeBounds};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedTime, Exception as E, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, RegionHandle,
};

use crate::world::{Fed, World, time};

/// What the calls of this test are about.
struct Cast {
    w: World,
    /// The federate that makes the calls, and what it may use.
    me: Fed,
    own: RegionHandle,
    /// A region with a dimension that no class has.
    deep: RegionHandle,
    of_other: RegionHandle,
    car: ObjectInstanceHandle,
}

const NONE: RegionHandle = RegionHandle::new(999);

impl Cast {
    fn new(is_evolved: bool) -> Self {
        let mut w = World::new();
        let me = if is_evolved { w.connect_evolved() } else { w.connect() };
        let me = w.join(me, "me");
        let other = w.federate("other");
        w.publish(me, "Vehicle.Car", "Position");
        w.publish_interaction(me, "Command");
        let [own, deep] = ["X 0..10", "Depth 0..10"].map(|ranges| w.region(me, ranges));
        let of_other = w.region(other, "X 0..10");
        let car = w.register(me, "Vehicle.Car");
        Self { w, me, own, deep, of_other, car }
    }

    fn pairs(&self, attributes: &str, regions: &[RegionHandle]) -> Vec<AttributeRegions> {
        self.w.pairs(attributes, regions)
    }

    fn expect(&mut self, call: impl Into<Call>, exception: E) {
        let call = call.into();
        let exceptions = call.entry().exceptions;
        assert!(exceptions.contains(&exception), "{call:?}");
        assert_eq!(self.w.refused(self.me, call.clone()), exception, "{call:?}");
    }

    /// Expects the refusals that concern the regions of a call, each time with those that are more specific.
    fn expect_of_regions(&mut self, call: impl Fn(&Self, &[RegionHandle]) -> D, context: bool) {
        let Self { own, deep, of_other, .. } = *self;
        let invalid = call(self, &[own, deep, of_other, NONE]);
        self.expect(invalid, E::InvalidRegion);
        let of_other = call(self, &[own, deep, of_other]);
        self.expect(of_other, E::RegionNotCreatedByThisFederate);
        let deep = call(self, &[own, deep]);
        if context {
            self.expect(deep, E::InvalidRegionContext);
        } else {
            self.w.ok(self.me, deep);
        }
        let fine = call(self, &[own]);
        self.w.ok(self.me, fine);
    }
}

fn in_both_editions(test: impl Fn(&mut Cast)) {
    for is_evolved in [false, true] {
        test(&mut Cast::new(is_evolved));
    }
}

#[test]
fn of_regions() {
    in_both_editions(|c| {
        let dimensions = vec![c.w.dimension("X"), DimensionHandle::new(999)];
        c.expect(D::CreateRegion { dimensions }, E::InvalidDimensionHandle);
        c.expect_of_regions(
            |_, regions| D::CommitRegionModifications { regions: regions.to_vec() },
            false,
        );
        c.expect(D::DeleteRegion { region: NONE }, E::InvalidRegion);
        c.expect(D::DeleteRegion { region: c.of_other }, E::RegionNotCreatedByThisFederate);
        let (car, own) = (c.car, c.own);
        c.w.associate(c.me, car, "Position", &[own]);
        c.expect(D::DeleteRegion { region: own }, E::RegionInUseForUpdateOrSubscription);
    });
}

#[test]
fn of_ranges() {
    in_both_editions(|c| {
        c.expect(S::GetDimensionHandleSet { region: NONE }, E::InvalidRegion);
        let y = c.w.dimension("Y");
        c.expect(S::GetRangeBounds { region: NONE, dimension: y }, E::InvalidRegion);
        let (own, missing) = (c.own, E::RegionDoesNotContainSpecifiedDimension);
        c.expect(S::GetRangeBounds { region: own, dimension: y }, missing);
        let set = |region, dimension, lower, upper| S::SetRangeBounds {
            region,
            dimension,
            range_bounds: RangeBounds { lower, upper },
        };
        c.expect(set(NONE, y, 5, 5), E::InvalidRegion);
        c.expect(set(c.of_other, y, 5, 5), E::RegionNotCreatedByThisFederate);
        c.expect(set(own, y, 5, 5), missing);
        let x = c.w.dimension("X");
        for (lower, upper) in [(5, 5), (6, 5), (0, 101), (100, 101), (0, u32::MAX)] {
            c.expect(set(own, x, lower, upper), E::InvalidRangeBound);
        }
        c.w.ok(c.me, set(own, x, 99, 100));
    });
}

#[test]
fn of_registrations() {
    in_both_editions(|c| {
        let register = |object_class, attributes_and_regions| {
            D::RegisterObjectInstanceWithRegions { object_class, attributes_and_regions }
        };
        let [car, vehicle] = ["Vehicle.Car", "Vehicle"].map(|name| c.w.class(name));
        let undefined = |regions: &[RegionHandle]| {
            let attributes = vec![AttributeHandle::new(999)];
            vec![AttributeRegions { attributes, regions: regions.to_vec() }]
        };
        c.expect(
            register(ObjectClassHandle::new(999), undefined(&[NONE])),
            E::ObjectClassNotDefined,
        );
        c.expect(register(vehicle, undefined(&[NONE])), E::AttributeNotDefined);
        let call = register(vehicle, c.pairs("Load", &[NONE]));
        c.expect(call, E::ObjectClassNotPublished);
        let call = register(car, c.pairs("Load", &[NONE]));
        c.expect(call, E::AttributeNotPublished);
        c.expect_of_regions(|c, regions| register(car, c.pairs("Position", regions)), true);

        let named = |object_class, attributes_and_regions, name: &str| {
            D::RegisterObjectInstanceWithNameAndRegions {
                object_class,
                attributes_and_regions,
                object_instance_name: name.into(),
            }
        };
        let unknown = ObjectClassHandle::new(999);
        c.expect(named(unknown, undefined(&[NONE]), "?"), E::ObjectClassNotDefined);
        c.expect(named(vehicle, undefined(&[NONE]), "?"), E::AttributeNotDefined);
        let call = named(vehicle, c.pairs("Load", &[NONE]), "?");
        c.expect(call, E::ObjectClassNotPublished);
        let call = named(car, c.pairs("Load", &[NONE]), "?");
        c.expect(call, E::AttributeNotPublished);
        for (regions, exception) in [
            ([NONE, c.of_other, c.deep], E::InvalidRegion),
            ([c.own, c.of_other, c.deep], E::RegionNotCreatedByThisFederate),
            ([c.own, c.own, c.deep], E::InvalidRegionContext),
            ([c.own; 3], E::ObjectInstanceNameNotReserved),
        ] {
            let call = named(car, c.pairs("Position", &regions), "?");
            c.expect(call, exception);
        }
        let taken = named(car, c.pairs("Position", &[c.own]), "HLAobject-1");
        c.expect(taken, E::ObjectInstanceNameInUse);
    });
}

#[test]
fn of_associations() {
    in_both_editions(|c| {
        let unknown = ObjectInstanceHandle::new(999);
        let undefined = || {
            let attributes = vec![AttributeHandle::new(999)];
            vec![AttributeRegions { attributes, regions: vec![NONE] }]
        };
        let associate = |object_instance, attributes_and_regions| D::AssociateRegionsForUpdates {
            object_instance,
            attributes_and_regions,
        };
        let unassociate = |object_instance, attributes_and_regions| {
            D::UnassociateRegionsForUpdates { object_instance, attributes_and_regions }
        };
        c.expect(associate(unknown, undefined()), E::ObjectInstanceNotKnown);
        c.expect(associate(c.car, undefined()), E::AttributeNotDefined);
        let car = c.car;
        c.expect_of_regions(|c, regions| associate(car, c.pairs("Position", regions)), true);
        c.expect(unassociate(unknown, undefined()), E::ObjectInstanceNotKnown);
        c.expect(unassociate(c.car, undefined()), E::AttributeNotDefined);
        c.expect_of_regions(|c, regions| unassociate(car, c.pairs("Position", regions)), false);
    });
}

#[test]
fn of_subscriptions() {
    in_both_editions(|c| {
        let car = c.w.class("Vehicle.Car");
        let unknown = ObjectClassHandle::new(999);
        let undefined = || {
            let attributes = vec![AttributeHandle::new(999)];
            vec![AttributeRegions { attributes, regions: vec![NONE] }]
        };
        let subscribe =
            |object_class, attributes_and_regions| D::SubscribeObjectClassAttributesWithRegions {
                object_class,
                attributes_and_regions,
                active: true,
            };
        let rated = |object_class, attributes_and_regions, rate: &str| {
            D::SubscribeObjectClassAttributesWithRegionsAndRate {
                object_class,
                attributes_and_regions,
                active: true,
                update_rate_designator: rate.into(),
            }
        };
        let unsubscribe = |object_class, attributes_and_regions| {
            D::UnsubscribeObjectClassAttributesWithRegions { object_class, attributes_and_regions }
        };
        let request =
            |object_class, attributes_and_regions| D::RequestAttributeValueUpdateWithRegions {
                object_class,
                attributes_and_regions,
                user_supplied_tag: "tag".into(),
            };
        c.expect(subscribe(unknown, undefined()), E::ObjectClassNotDefined);
        c.expect(subscribe(car, undefined()), E::AttributeNotDefined);
        c.expect_of_regions(|c, regions| subscribe(car, c.pairs("Position", regions)), true);
        c.expect(rated(unknown, undefined(), "?"), E::InvalidUpdateRateDesignator);
        c.expect(rated(unknown, undefined(), "Slow"), E::ObjectClassNotDefined);
        c.expect(rated(car, undefined(), "Slow"), E::AttributeNotDefined);
        c.expect_of_regions(|c, regions| rated(car, c.pairs("Position", regions), "Slow"), true);
        c.expect(unsubscribe(unknown, undefined()), E::ObjectClassNotDefined);
        c.expect(unsubscribe(car, undefined()), E::AttributeNotDefined);
        c.expect_of_regions(|c, regions| unsubscribe(car, c.pairs("Position", regions)), false);
        c.expect(request(unknown, undefined()), E::ObjectClassNotDefined);
        c.expect(request(car, undefined()), E::AttributeNotDefined);
        c.expect_of_regions(|c, regions| request(car, c.pairs("Position", regions)), true);
    });
}

#[test]
fn of_subscriptions_to_interactions() {
    in_both_editions(|c| {
        let command = c.w.interaction("Command");
        let subscribe = |interaction_class, regions: &[RegionHandle]| {
            let (active, regions) = (true, regions.to_vec());
            D::SubscribeInteractionClassWithRegions { interaction_class, active, regions }
        };
        let unsubscribe = |interaction_class, regions: &[RegionHandle]| {
            let regions = regions.to_vec();
            D::UnsubscribeInteractionClassWithRegions { interaction_class, regions }
        };
        let unknown = InteractionClassHandle::new(999);
        let reported = E::FederateServiceInvocationsAreBeingReportedViaMOM;
        c.w.ok(c.me, S::SetServiceReportingSwitch { value: true });
        let report = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
        let report = c.w.interaction(report);
        c.expect(subscribe(unknown, &[NONE]), E::InteractionClassNotDefined);
        c.expect_of_regions(|_, regions| subscribe(command, regions), true);
        c.expect(subscribe(report, &[c.own]), E::InvalidRegionContext);
        c.expect(subscribe(report, &[]), reported);
        c.expect(unsubscribe(unknown, &[NONE]), E::InteractionClassNotDefined);
        c.expect_of_regions(|_, regions| unsubscribe(command, regions), true);
        c.expect(unsubscribe(report, &[]), reported);
    });
}

#[test]
fn of_interactions() {
    in_both_editions(|c| {
        let [command, stop] = ["Command", "Command.Stop"].map(|name| c.w.interaction(name));
        let unknown = vec![(ParameterHandle::new(999), "".into())];
        let send = |interaction_class, parameter_values: &[_], regions: &[RegionHandle]| {
            D::SendInteractionWithRegions {
                interaction_class,
                parameter_values: parameter_values.to_vec(),
                regions: regions.to_vec(),
                user_supplied_tag: "tag".into(),
            }
        };
        let none = InteractionClassHandle::new(999);
        c.expect(send(none, &unknown, &[NONE]), E::InteractionClassNotDefined);
        c.expect(send(stop, &unknown, &[NONE]), E::InteractionParameterNotDefined);
        c.expect(send(stop, &[], &[NONE]), E::InteractionClassNotPublished);
        c.expect_of_regions(|_, regions| send(command, &[], regions), true);
        let timed = |interaction_class, parameter_values: &[_], regions: &[RegionHandle], time| {
            D::SendInteractionWithRegionsAndTime {
                interaction_class,
                parameter_values: parameter_values.to_vec(),
                regions: regions.to_vec(),
                user_supplied_tag: "tag".into(),
                time,
            }
        };
        let bad = EncodedTime::new(b"bad");
        c.expect(timed(none, &unknown, &[NONE], bad), E::InteractionClassNotDefined);
        c.expect(timed(stop, &unknown, &[NONE], bad), E::InteractionParameterNotDefined);
        c.expect(timed(stop, &[], &[NONE], bad), E::InteractionClassNotPublished);
        c.expect(timed(command, &[], &[c.own], bad), E::InvalidLogicalTime);
        c.expect_of_regions(|_, regions| timed(command, &[], regions, time(3).into()), true);
    });
}

#[test]
fn of_those_that_are_not_joined() {
    let regions = vec![AttributeRegions::default()];
    let (class, interaction) = (ObjectClassHandle::new(1), InteractionClassHandle::new(1));
    let (region, dimension) = (RegionHandle::new(1), DimensionHandle::new(1));
    let pairs = || regions.clone();
    let calls: [Call; 18] = [
        D::CreateRegion { dimensions: Vec::new() }.into(),
        D::CommitRegionModifications { regions: Vec::new() }.into(),
        D::DeleteRegion { region }.into(),
        D::RegisterObjectInstanceWithRegions {
            object_class: class,
            attributes_and_regions: pairs(),
        }
        .into(),
        D::RegisterObjectInstanceWithNameAndRegions {
            object_class: class,
            attributes_and_regions: pairs(),
            object_instance_name: "name".into(),
        }
        .into(),
        D::AssociateRegionsForUpdates {
            object_instance: ObjectInstanceHandle::new(1),
            attributes_and_regions: pairs(),
        }
        .into(),
        D::UnassociateRegionsForUpdates {
            object_instance: ObjectInstanceHandle::new(1),
            attributes_and_regions: pairs(),
        }
        .into(),
        D::SubscribeObjectClassAttributesWithRegions {
            object_class: class,
            attributes_and_regions: pairs(),
            active: true,
        }
        .into(),
        D::SubscribeObjectClassAttributesWithRegionsAndRate {
            object_class: class,
            attributes_and_regions: pairs(),
            active: true,
            update_rate_designator: String::new(),
        }
        .into(),
        D::UnsubscribeObjectClassAttributesWithRegions {
            object_class: class,
            attributes_and_regions: pairs(),
        }
        .into(),
        D::SubscribeInteractionClassWithRegions {
            interaction_class: interaction,
            active: true,
            regions: Vec::new(),
        }
        .into(),
        D::UnsubscribeInteractionClassWithRegions {
            interaction_class: interaction,
            regions: Vec::new(),
        }
        .into(),
        D::SendInteractionWithRegions {
            interaction_class: interaction,
            parameter_values: Vec::new(),
            regions: Vec::new(),
            user_supplied_tag: "".into(),
        }
        .into(),
        D::SendInteractionWithRegionsAndTime {
            interaction_class: interaction,
            parameter_values: Vec::new(),
            regions: Vec::new(),
            user_supplied_tag: "".into(),
            time: time(1).into(),
        }
        .into(),
        D::RequestAttributeValueUpdateWithRegions {
            object_class: class,
            attributes_and_regions: pairs(),
            user_supplied_tag: "".into(),
        }
        .into(),
        S::GetDimensionHandleSet { region }.into(),
        S::GetRangeBounds { region, dimension }.into(),
        S::SetRangeBounds { region, dimension, range_bounds: RangeBounds::default() }.into(),
    ];
    let mut w = World::new();
    let (open, connected) = (w.open(), w.connect());
    for call in calls {
        assert_eq!(w.refused(open, call.clone()), E::NotConnected, "{call:?}");
        assert_eq!(w.refused(connected, call.clone()), E::FederateNotExecutionMember, "{call:?}");
    }
}
