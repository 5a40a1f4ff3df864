//! Clause 7.

mod acquisition;
mod divestiture;
mod membership;

use hemiola_hla::call::OwnershipCall as C;
use hemiola_hla::{ObjectInstanceHandle, Reply};

use crate::world::{Fed, World};

/// `a` owns position and load of a car; `b` publishes the same attributes and knows the car.
struct Pair {
    w: World,
    a: Fed,
    b: Fed,
    car: ObjectInstanceHandle,
}

fn pair() -> Pair {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    for fed in [a, b] {
        w.publish(fed, "Vehicle", "Position Load");
        w.subscribe(fed, "Vehicle", "Position Load");
    }
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    Pair { w, a, b, car }
}

impl Pair {
    /// Adds a federate like `b`.
    fn third(&mut self) -> Fed {
        let c = self.w.federate("c");
        self.w.publish(c, "Vehicle", "Position Load");
        self.w.subscribe(c, "Vehicle", "Position Load");
        self.w.callbacks(c);
        c
    }

    fn seek(&self, names: &str, tag: &'static str) -> C {
        C::AttributeOwnershipAcquisition {
            object_instance: self.car,
            desired_attributes: self.w.attributes(names),
            user_supplied_tag: tag.into(),
        }
    }

    fn seek_if_available(&self, names: &str) -> C {
        C::AttributeOwnershipAcquisitionIfAvailable {
            object_instance: self.car,
            desired_attributes: self.w.attributes(names),
            user_supplied_tag: "if".into(),
        }
    }

    fn cancel_seeking(&self, names: &str) -> C {
        let attributes = self.w.attributes(names);
        C::CancelAttributeOwnershipAcquisition { object_instance: self.car, attributes }
    }

    fn divest(&self, names: &str) -> C {
        C::UnconditionalAttributeOwnershipDivestiture {
            object_instance: self.car,
            attributes: self.w.attributes(names),
            user_supplied_tag: "divest".into(),
        }
    }

    fn offer(&self, names: &str) -> C {
        C::NegotiatedAttributeOwnershipDivestiture {
            object_instance: self.car,
            attributes: self.w.attributes(names),
            user_supplied_tag: "offer".into(),
        }
    }

    fn cancel_offer(&self, names: &str) -> C {
        let attributes = self.w.attributes(names);
        C::CancelNegotiatedAttributeOwnershipDivestiture { object_instance: self.car, attributes }
    }

    fn confirm(&self, names: &str) -> C {
        C::ConfirmDivestiture {
            object_instance: self.car,
            confirmed_attributes: self.w.attributes(names),
            user_supplied_tag: "confirm".into(),
        }
    }

    fn deny(&self, names: &str) -> C {
        C::AttributeOwnershipReleaseDenied {
            object_instance: self.car,
            attributes: self.w.attributes(names),
            user_supplied_tag: "denied".into(),
        }
    }

    fn divest_if_wanted(&self, names: &str) -> C {
        C::AttributeOwnershipDivestitureIfWanted {
            object_instance: self.car,
            attributes: self.w.attributes(names),
            user_supplied_tag: "wanted".into(),
        }
    }

    fn owns(&mut self, fed: Fed, name: &str) -> bool {
        let attribute = self.w.attribute(name);
        let object_instance = self.car;
        let reply = self.w.ok(fed, C::IsAttributeOwnedByFederate { object_instance, attribute });
        reply == Reply::Flag(true)
    }

    /// Returns the ownership callbacks of a federate.
    fn callbacks(&mut self, fed: Fed) -> Vec<String> {
        self.w.callbacks(fed)
    }
}
