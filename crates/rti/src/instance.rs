//! One object instance: who owns its attributes, and who knows it as what.

use hemiola_hla::{
    AttributeHandle, FederateHandle, ObjectClassHandle, OrderType, TransportationTypeHandle,
};

/// A registered object instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    /// The class it was registered as.
    pub(crate) class: ObjectClassHandle,
    pub(crate) registered_by: FederateHandle,
    /// By handle: all available attributes of its class.
    pub(crate) attributes: Vec<InstanceAttribute>,
    /// Who knows it, by handle.
    known: Vec<Knower>,
    pub(crate) deletion: Option<Deletion>,
}

/// A federate that knows an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Knower {
    pub(crate) federate: FederateHandle,
    /// As what.
    pub(crate) class: ObjectClassHandle,
}

/// An attribute of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceAttribute {
    pub(crate) handle: AttributeHandle,
    /// `INVALID` if nobody owns it.
    pub(crate) owner: FederateHandle,
    pub(crate) order: OrderType,
    pub(crate) transportation: TransportationTypeHandle,
}

/// An instance whose removal is on its way to those who know it.
#[derive(Debug)]
pub(crate) struct Deletion {
    pub(crate) by: FederateHandle,
    /// As what the federate knew it that deleted it.
    pub(crate) known_as: ObjectClassHandle,
    /// What that federate owned.
    pub(crate) owned: Vec<AttributeHandle>,
    /// May it be taken back?
    pub(crate) retractable: bool,
}

impl Instance {
    pub(crate) const fn new(
        name: String,
        class: ObjectClassHandle,
        registered_by: FederateHandle,
        attributes: Vec<InstanceAttribute>,
    ) -> Self {
        Self { name, class, registered_by, attributes, known: Vec::new(), deletion: None }
    }

    /// Who knows it, by handle.
    pub(crate) fn known(&self) -> &[Knower] {
        &self.known
    }

    /// As which class a federate knows it.
    pub(crate) fn known_as(&self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        let at = self.known.binary_search_by_key(&federate, |one| one.federate).ok()?;
        Some(self.known[at].class)
    }

    pub(crate) fn know(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        let place = self.known.binary_search_by_key(&federate, |one| one.federate);
        let at = place.expect_err("a federate discovers an instance once");
        self.known.insert(at, Knower { federate, class });
    }

    /// Did it know the instance until now?
    pub(crate) fn forget(&mut self, federate: FederateHandle) -> bool {
        let place = self.known.binary_search_by_key(&federate, |one| one.federate);
        place.map(|at| self.known.remove(at)).is_ok()
    }

    pub(crate) fn attribute(&self, handle: AttributeHandle) -> Option<&InstanceAttribute> {
        let at = self.attributes.binary_search_by_key(&handle, |one| one.handle).ok()?;
        Some(&self.attributes[at])
    }

    pub(crate) fn attribute_mut(
        &mut self,
        handle: AttributeHandle,
    ) -> Option<&mut InstanceAttribute> {
        let at = self.attributes.binary_search_by_key(&handle, |one| one.handle).ok()?;
        Some(&mut self.attributes[at])
    }

    /// Who owns an attribute: `INVALID` if nobody does, or if there is none.
    pub(crate) fn owner(&self, handle: AttributeHandle) -> FederateHandle {
        self.attribute(handle).map_or(FederateHandle::INVALID, |one| one.owner)
    }

    pub(crate) fn owned_by(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = AttributeHandle> + '_ {
        self.attributes.iter().filter(move |one| one.owner == federate).map(|one| one.handle)
    }

    /// Makes unowned what a federate owns; gives what that was.
    pub(crate) fn divest(&mut self, federate: FederateHandle) -> Vec<AttributeHandle> {
        let mut divested = Vec::new();
        for one in self.attributes.iter_mut().filter(|one| one.owner == federate) {
            one.owner = FederateHandle::INVALID;
            divested.push(one.handle);
        }
        divested
    }
}
