//! One object instance: the owners of its attributes, and the federates that know it.

use std::sync::Arc;

use hemiola_hla::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType,
    TransportationTypeHandle,
};

use crate::counts::Traffic;
use crate::federation::NameUse;
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::memory::{ALLOCATION, Account, Charge, entry_len, name_len};

/// The room for federates that know an instance and that it keeps.
const SPARE_LEN: usize = 4;

/// A registered object instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    /// The class it was registered as.
    pub(crate) class: ObjectClassHandle,
    pub(crate) registered_by: FederateHandle,
    /// The available attributes of its class, by handle. Those that were added to the class after the instance was
    /// registered are missing until they have an owner.
    pub(crate) attributes: Vec<InstanceAttribute>,
    /// The federates that know it, by handle.
    known_by: Vec<KnownBy>,
    /// The federates that have deleted it locally and not discovered it again, by handle.
    deleted_locally_by: Vec<FederateHandle>,
    pub(crate) deletion: Option<Deletion>,
    /// For everything above and its places in the federation's tables.
    pub(crate) charge: Charge,
}

/// A federate that knows an instance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownBy {
    pub(crate) federate: FederateHandle,
    /// The class it is known as.
    pub(crate) class: ObjectClassHandle,
    pub(crate) traffic: Traffic,
}

/// An attribute of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceAttribute {
    pub(crate) handle: AttributeHandle,
    /// `INVALID` if it is unowned.
    pub(crate) owner: FederateHandle,
    pub(crate) order: OrderType,
    pub(crate) transportation: TransportationTypeHandle,
}

/// The deletion of an instance that some federates still know.
#[derive(Debug)]
pub(crate) struct Deletion {
    pub(crate) by: FederateHandle,
    /// The class the deleting federate knew it as.
    pub(crate) known_as: ObjectClassHandle,
    /// The attributes that the deleting federate owned.
    pub(crate) owned: Vec<AttributeHandle>,
    /// Whether the deletion can still be retracted.
    pub(crate) retractable: bool,
}

impl Instance {
    pub(crate) fn new(
        name: String,
        class: ObjectClassHandle,
        registered_by: FederateHandle,
        attributes: Vec<InstanceAttribute>,
        account: &Arc<Account>,
    ) -> Self {
        let charge = Charge::new(account, Self::own_len(&name, attributes.len()));
        let (known_by, deleted_locally_by) = (Vec::new(), Vec::new());
        let deletion = None;
        Self {
            name,
            class,
            registered_by,
            attributes,
            known_by,
            deleted_locally_by,
            deletion,
            charge,
        }
    }

    /// Writes everything but its charge.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.name.put(to);
        self.class.put(to);
        self.registered_by.put(to);
        self.attributes.put(to);
        self.known_by.put(to);
        self.deleted_locally_by.put(to);
        self.deletion.put(to);
    }

    /// Reads the same. This account pays for it.
    pub(crate) fn take(from: &mut Reader, account: &Arc<Account>) -> Taken<Self> {
        let mut instance = Self {
            name: Stored::take(from)?,
            class: Stored::take(from)?,
            registered_by: Stored::take(from)?,
            attributes: Stored::take(from)?,
            known_by: Stored::take(from)?,
            deleted_locally_by: Stored::take(from)?,
            deletion: Stored::take(from)?,
            charge: Charge::new(account, 0),
        };
        if !instance.attributes.is_sorted_by(|one, next| one.handle < next.handle)
            || !instance.known_by.is_sorted_by(|one, next| one.federate < next.federate)
            || !instance.deleted_locally_by.is_sorted_by(|one, next| one < next)
        {
            return Err("the tables of an instance are not in order");
        }
        instance.charge.grow(instance.counted_len());
        Ok(instance)
    }

    /// The estimated memory of an instance that no federate knows, in bytes. Its name is stored twice.
    pub(crate) fn own_len(name: &str, attributes: usize) -> usize {
        entry_len::<ObjectInstanceHandle, Self>()
            + entry_len::<ObjectInstanceHandle, ()>()
            + entry_len::<String, NameUse>()
            + 2 * name_len(name)
            + 2 * ALLOCATION
            + 4 * size_of::<KnownBy>()
            + attributes * Self::ATTRIBUTE_LEN
    }

    pub(crate) const ATTRIBUTE_LEN: usize = size_of::<InstanceAttribute>();
    const KNOWN_BY_LEN: usize = size_of::<KnownBy>() * 3 / 2;
    const DELETED_LOCALLY_LEN: usize = size_of::<FederateHandle>() * 3 / 2;

    /// What must be charged, counted anew.
    pub(crate) fn counted_len(&self) -> usize {
        let known_by = self.known_by.len() * Self::KNOWN_BY_LEN;
        let deleted_locally = self.deleted_locally_by.len() * Self::DELETED_LOCALLY_LEN;
        Self::own_len(&self.name, self.attributes.len()) + known_by + deleted_locally
    }

    /// Returns the federates that know it, by handle.
    pub(crate) fn known_by(&self) -> &[KnownBy] {
        &self.known_by
    }

    /// Returns the class a federate knows it as.
    pub(crate) fn known_as(&self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        self.knower(federate).map(|known| known.class)
    }

    /// Returns how a federate knows it.
    pub(crate) fn knower(&self, federate: FederateHandle) -> Option<&KnownBy> {
        // Where all federates know it, each stands at its own place.
        let guessed = federate.index().and_then(|index| self.known_by.get(index));
        guessed.filter(|known| known.federate == federate).or_else(|| {
            let at = self.known_by.binary_search_by_key(&federate, |one| one.federate).ok()?;
            Some(&self.known_by[at])
        })
    }

    pub(crate) fn add_known_by(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        let place = self.known_by.binary_search_by_key(&federate, |one| one.federate);
        let at = place.expect_err("a federate discovers an instance once");
        self.known_by.insert(at, KnownBy { federate, class, traffic: Traffic::default() });
        self.charge.grow(Self::KNOWN_BY_LEN);
        self.forget_local_deletion(federate);
    }

    /// Returns the federates that have deleted it locally and not discovered it again.
    pub(crate) fn deleted_locally_by(&self) -> &[FederateHandle] {
        &self.deleted_locally_by
    }

    /// A federate deletes it locally.
    pub(crate) fn delete_locally(&mut self, federate: FederateHandle) {
        if let Err(at) = self.deleted_locally_by.binary_search(&federate) {
            self.deleted_locally_by.insert(at, federate);
            self.charge.grow(Self::DELETED_LOCALLY_LEN);
        }
    }

    /// A federate discovers it again, or leaves.
    pub(crate) fn forget_local_deletion(&mut self, federate: FederateHandle) {
        if let Ok(at) = self.deleted_locally_by.binary_search(&federate) {
            self.deleted_locally_by.remove(at);
            self.charge.shrink(Self::DELETED_LOCALLY_LEN);
        }
    }

    /// Removes a federate from those that know it. Returns how it did.
    pub(crate) fn forget(&mut self, federate: FederateHandle) -> Option<KnownBy> {
        let at = self.known_by.binary_search_by_key(&federate, |one| one.federate).ok()?;
        self.charge.shrink(Self::KNOWN_BY_LEN);
        let removed = self.known_by.remove(at);
        // Rarely, so that federates that come and go do not call the allocator for each instance.
        if self.known_by.len() <= self.known_by.capacity() / 4 {
            self.known_by.shrink_to((2 * self.known_by.len()).max(SPARE_LEN));
        }
        Some(removed)
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

    /// Gives an unowned attribute an owner and its sending options.
    pub(crate) fn acquire(&mut self, acquired: InstanceAttribute) {
        match self.attributes.binary_search_by_key(&acquired.handle, |one| one.handle) {
            Ok(at) => {
                let owner = self.attributes[at].owner;
                assert_eq!(owner, FederateHandle::INVALID, "an attribute has one owner");
                self.attributes[at] = acquired;
            }
            Err(at) => {
                self.attributes.insert(at, acquired);
                self.charge.grow(Self::ATTRIBUTE_LEN);
            }
        }
    }

    /// Returns the owner of an attribute: `INVALID` if it is unowned or does not exist.
    pub(crate) fn owner(&self, handle: AttributeHandle) -> FederateHandle {
        self.attribute(handle).map_or(FederateHandle::INVALID, |one| one.owner)
    }

    pub(crate) fn owned_by(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = AttributeHandle> + '_ {
        self.attributes.iter().filter(move |one| one.owner == federate).map(|one| one.handle)
    }
}

stored!(KnownBy { federate, class, traffic });
stored!(InstanceAttribute { handle, owner, order, transportation });
stored!(Deletion { by, known_as, owned, retractable });
