//! The regions of a federation, and what they are used for (clause 9).
//!
//! A region belongs to the federate that created it. [`Regions`] keeps its ranges twice: as its federate has set them,
//! and as it last committed them. Only the committed ranges have an effect. The regions in use are in two indexes, by
//! what they are used for, so a change finds the regions of the other kind that it concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_hla::data::{ConveyedRegion, RangeBounds};
use hemiola_hla::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle,
};

use crate::federate::{Activity, Subscription};
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::matching::{Index, Ranges, have_same_dimensions, is_near, range_in};
use crate::memory::{ALLOCATION, Account, Charge, entry_len, node_len};

/// Pairs of a sent and a subscribed region that are compared one by one. Beyond, the index is asked.
const FEW_PAIRS: usize = 32;

/// All regions of a federation.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    table: BTreeMap<RegionHandle, Region>,
    /// No set is empty.
    of_federate: BTreeMap<FederateHandle, BTreeSet<RegionHandle>>,
    /// Number of regions created so far.
    created: u32,
    /// The regions that a federate has associated with an attribute of an instance, which count while it owns the
    /// attribute. No set is empty.
    associations: BTreeMap<Association, BTreeSet<RegionHandle>>,
    subscriptions: BTreeMap<FederateHandle, Subscriptions>,
    /// The subscriptions of federates that are leaving. Nothing uses them any more.
    abandoned: BTreeMap<FederateHandle, Subscriptions>,
    /// The committed regions that are associated with attributes of instances.
    of_updates: Index,
    /// The committed regions with subscriptions.
    of_subscriptions: Index,
}

pub(crate) type Association = (ObjectInstanceHandle, AttributeHandle, FederateHandle);

/// The subscriptions with regions of one federate. No map is empty.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    classes: BTreeMap<ObjectClassHandle, WithRegions>,
    interactions: BTreeMap<InteractionClassHandle, BTreeMap<RegionHandle, Activity>>,
}

/// The subscriptions with regions of a federate to the attributes of one class. No map is empty.
pub(crate) type WithRegions = BTreeMap<AttributeHandle, BTreeMap<RegionHandle, Subscription>>;

/// A region.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) federate: FederateHandle,
    /// The ranges that the federate has set, by dimension.
    pub(crate) ranges: Vec<(DimensionHandle, RangeBounds)>,
    /// The ranges when it last committed them.
    pub(crate) committed: Option<Ranges>,
    /// The number of attributes of each instance that it is associated with.
    instances: BTreeMap<ObjectInstanceHandle, usize>,
    /// The number of attributes of each class that are subscribed with it.
    classes: BTreeMap<ObjectClassHandle, usize>,
    /// The number of all associations, and of all subscriptions to attributes and interactions.
    associations: usize,
    subscriptions: usize,
    /// For itself and everything that it is used for.
    charge: Charge,
}

/// The part of all dimensions in which something is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Extent {
    /// The default region, which overlaps every region.
    Everywhere,
    /// These regions, as they were committed.
    Within(Arc<[Ranges]>),
}

stored!(Subscriptions { classes, interactions });

impl Region {
    /// Writes its federate and its ranges. Associations and subscriptions are written apart.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.federate.put(to);
        self.ranges.put(to);
        self.committed.put(to);
    }
}

impl Stored for Extent {
    fn put(&self, to: &mut Writer) {
        let regions =
            if let Self::Within(regions) = self { Some(Arc::clone(regions)) } else { None };
        regions.put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let regions: Option<Arc<[Ranges]>> = Stored::take(from)?;
        Ok(regions.map_or(Self::Everywhere, Self::Within))
    }
}

impl Extent {
    /// The regions that are conveyed to receivers: none for the default region.
    pub(crate) fn conveyed(&self) -> Vec<ConveyedRegion> {
        match self {
            Self::Everywhere => Vec::new(),
            Self::Within(regions) => regions.iter().map(|ranges| ranges.to_vec()).collect(),
        }
    }

    /// Its approximate memory, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Everywhere => 0,
            Self::Within(regions) => {
                regions.iter().map(|ranges| ALLOCATION + size_of_val::<[_]>(ranges)).sum()
            }
        }
    }
}

/// The estimated memory of regions and their uses, in bytes.
pub(crate) const fn region_len(dimensions: usize) -> usize {
    const INDEX: usize = entry_len::<u128, ([RangeBounds; 3], Ranges)>();
    entry_len::<RegionHandle, Region>()
        + entry_len::<RegionHandle, ()>()
        + 2 * INDEX
        + 3 * ALLOCATION
        + dimensions * 2 * size_of::<(DimensionHandle, RangeBounds)>()
}

/// The estimated memory of an association with an attribute of an instance.
pub(crate) const ASSOCIATION: usize = entry_len::<Association, BTreeSet<RegionHandle>>()
    + node_len::<RegionHandle, ()>()
    + entry_len::<ObjectInstanceHandle, u32>();

/// The estimated memory of a subscription with a region.
pub(crate) const SUBSCRIPTION: usize =
    entry_len::<RegionHandle, Subscription>() + entry_len::<ObjectClassHandle, u32>() + ALLOCATION;

impl Region {
    const fn is_for_updates(&self) -> bool {
        self.associations > 0
    }

    const fn is_for_subscriptions(&self) -> bool {
        self.subscriptions > 0
    }

    pub(crate) const fn is_in_use(&self) -> bool {
        self.is_for_updates() || self.is_for_subscriptions()
    }

    /// Returns the range in a dimension.
    pub(crate) fn range_mut(&mut self, dimension: DimensionHandle) -> Option<&mut RangeBounds> {
        self.ranges.iter_mut().find(|(one, _)| *one == dimension).map(|(_, range)| range)
    }

    /// Returns the object classes with attributes that are subscribed with it.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ObjectClassHandle> + '_ {
        self.classes.keys().copied()
    }

    fn end_association(&mut self, instance: ObjectInstanceHandle) {
        decrease(&mut self.instances, instance);
        self.associations -= 1;
    }

    /// What must be charged, counted anew.
    fn counted_len(&self) -> usize {
        region_len(self.ranges.len())
            + self.associations * ASSOCIATION
            + self.subscriptions * SUBSCRIPTION
    }
}

/// A region that a change concerns, and what is to be looked at because of it.
#[derive(Debug, Default)]
pub(crate) struct Concerned {
    /// Instances, each with a federate that may discover it, or whose attributes may come into scope or leave it.
    pub(crate) pairs: BTreeSet<(ObjectInstanceHandle, FederateHandle)>,
    /// The number of regions that were compared.
    pub(crate) compared: u64,
}

impl Regions {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, region: RegionHandle) -> Option<&Region> {
        self.table.get(&region)
    }

    pub(crate) fn get_mut(&mut self, region: RegionHandle) -> Option<&mut Region> {
        self.table.get_mut(&region)
    }

    /// Creates a region with these ranges, ordered by dimension.
    pub(crate) fn create(
        &mut self,
        federate: FederateHandle,
        ranges: Vec<(DimensionHandle, RangeBounds)>,
        account: &Arc<Account>,
    ) -> RegionHandle {
        self.created += 1;
        let handle = RegionHandle::new(self.created);
        let region = Region {
            federate,
            charge: Charge::new(account, region_len(ranges.len())),
            ranges,
            committed: None,
            instances: BTreeMap::new(),
            classes: BTreeMap::new(),
            associations: 0,
            subscriptions: 0,
        };
        self.table.insert(handle, region);
        self.of_federate.entry(federate).or_default().insert(handle);
        handle
    }

    /// Removes a region that is not in use.
    pub(crate) fn delete(&mut self, handle: RegionHandle) {
        let region = self.table.remove(&handle).expect("the region was looked up before");
        assert!(!region.is_in_use(), "a region in use is not deleted");
        let of_federate = self.of_federate.get_mut(&region.federate).expect("it has this one");
        of_federate.remove(&handle);
        if of_federate.is_empty() {
            self.of_federate.remove(&region.federate);
        }
    }

    /// Whether a further region has a handle.
    pub(crate) const fn has_handles(&self) -> bool {
        self.created < u32::MAX
    }

    /// Changes what a region is used for, and keeps the indexes and its charge.
    fn change_uses(&mut self, handle: RegionHandle, change: impl FnOnce(&mut Region)) {
        let region = self.table.get_mut(&handle).expect("only regions that exist are used");
        let before = (region.is_for_updates(), region.is_for_subscriptions());
        change(region);
        region.charge.change(region.charge.len(), region.counted_len());
        let now = (region.is_for_updates(), region.is_for_subscriptions());
        if let Some(committed) = &region.committed {
            set_indexed(&mut self.of_updates, handle, committed, before.0, now.0);
            set_indexed(&mut self.of_subscriptions, handle, committed, before.1, now.1);
        }
    }

    // Associations for updates.

    /// Whether any attribute has a region. Almost always none has, and every update asks.
    pub(crate) fn has_associations(&self) -> bool {
        !self.associations.is_empty()
    }

    /// The regions that a federate has associated with an attribute of an instance.
    fn associated(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        federate: FederateHandle,
    ) -> Option<&BTreeSet<RegionHandle>> {
        self.associations.get(&(instance, attribute, federate))
    }

    /// The number of regions that a federate has associated with an attribute of an instance.
    pub(crate) fn associated_count(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        federate: FederateHandle,
    ) -> usize {
        self.associated(instance, attribute, federate).map_or(0, BTreeSet::len)
    }

    pub(crate) fn associate(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
    ) {
        let federate = self.table[&region].federate;
        let set = self.associations.entry((instance, attribute, federate)).or_default();
        if set.insert(region) {
            self.change_uses(region, |region| {
                *region.instances.entry(instance).or_default() += 1;
                region.associations += 1;
            });
        }
    }

    pub(crate) fn unassociate(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
    ) {
        let key = (instance, attribute, self.table[&region].federate);
        let Some(set) = self.associations.get_mut(&key) else { return };
        if !set.remove(&region) {
            return;
        }
        if set.is_empty() {
            self.associations.remove(&key);
        }
        self.change_uses(region, |region| region.end_association(instance));
    }

    /// Ends the associations of a federate with an attribute that it no longer owns.
    pub(crate) fn disown(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        federate: FederateHandle,
    ) {
        let regions = self.associations.remove(&(instance, attribute, federate));
        for region in regions.into_iter().flatten() {
            self.change_uses(region, |region| region.end_association(instance));
        }
    }

    /// Ends the associations of a federate with an instance that it no longer knows.
    pub(crate) fn forget_instance(
        &mut self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) {
        if self.associations.is_empty() {
            return;
        }
        let first = (instance, AttributeHandle::new(0), FederateHandle::new(0));
        let last = (instance, AttributeHandle::new(u32::MAX), FederateHandle::new(u32::MAX));
        let entries = self.associations.range(first..=last).map(|(key, _)| *key);
        let mine: Vec<Association> = entries.filter(|(_, _, one)| *one == federate).collect();
        for (instance, attribute, federate) in mine {
            self.disown(instance, attribute, federate);
        }
    }

    /// The extent of an attribute of an instance when this federate updates it.
    pub(crate) fn extent_of(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: FederateHandle,
    ) -> Extent {
        if self.associations.is_empty() {
            return Extent::Everywhere;
        }
        match self.associated(instance, attribute, owner) {
            Some(regions) => self.extent(regions.iter().copied()),
            None => Extent::Everywhere,
        }
    }

    /// The extent of these regions. Those that were never committed have no part in it.
    pub(crate) fn extent(&self, regions: impl Iterator<Item = RegionHandle>) -> Extent {
        Extent::Within(regions.filter_map(|one| self.table[&one].committed.clone()).collect())
    }

    // Subscriptions.

    /// Whether there is any subscription with a region. Almost always there is none, and every message asks.
    pub(crate) fn has_subscriptions(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// The subscriptions with regions of a federate to attributes of exactly this class.
    pub(crate) fn subscribed(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Option<&WithRegions> {
        if self.subscriptions.is_empty() {
            return None;
        }
        self.subscriptions.get(&federate)?.classes.get(&class)
    }

    /// Iterates over all subscriptions with regions of a federate to attributes, one for each region.
    pub(crate) fn subscriptions_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (ObjectClassHandle, AttributeHandle, &Subscription)> {
        let classes = self.subscriptions.get(&federate).into_iter().flat_map(|one| &one.classes);
        classes.flat_map(|(class, attributes)| {
            attributes.iter().flat_map(|(attribute, regions)| {
                regions.values().map(|subscription| (*class, *attribute, subscription))
            })
        })
    }

    /// Iterates over all subscriptions with regions of a federate to interactions, one for each region.
    pub(crate) fn interaction_subscriptions_of(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (InteractionClassHandle, Activity)> {
        let all = self.subscriptions.get(&federate).into_iter();
        let classes = all.flat_map(|one| &one.interactions);
        classes.flat_map(|(class, regions)| regions.values().map(|activity| (*class, *activity)))
    }

    /// The subscriptions with regions of a federate to exactly this interaction class.
    pub(crate) fn interaction_subscribed(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> Option<&BTreeMap<RegionHandle, Activity>> {
        if self.subscriptions.is_empty() {
            return None;
        }
        self.subscriptions.get(&federate)?.interactions.get(&class)
    }

    pub(crate) fn subscribe(
        &mut self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
        subscription: Subscription,
    ) {
        let federate = self.table[&region].federate;
        let classes = &mut self.subscriptions.entry(federate).or_default().classes;
        let regions = classes.entry(class).or_default().entry(attribute).or_default();
        if regions.insert(region, subscription).is_none() {
            self.change_uses(region, |region| {
                *region.classes.entry(class).or_default() += 1;
                region.subscriptions += 1;
            });
        }
    }

    pub(crate) fn unsubscribe(
        &mut self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
        region: RegionHandle,
    ) {
        let federate = self.table[&region].federate;
        let Some(own) = self.subscriptions.get_mut(&federate) else { return };
        let Some(attributes) = own.classes.get_mut(&class) else { return };
        let Some(regions) = attributes.get_mut(&attribute) else { return };
        if regions.remove(&region).is_none() {
            return;
        }
        if regions.is_empty() {
            attributes.remove(&attribute);
        }
        if attributes.is_empty() {
            own.classes.remove(&class);
        }
        self.change_uses(region, |region| {
            decrease(&mut region.classes, class);
            region.subscriptions -= 1;
        });
        self.drop_empty(federate);
    }

    pub(crate) fn subscribe_interaction(
        &mut self,
        class: InteractionClassHandle,
        region: RegionHandle,
        activity: Activity,
    ) {
        let federate = self.table[&region].federate;
        let interactions = &mut self.subscriptions.entry(federate).or_default().interactions;
        if interactions.entry(class).or_default().insert(region, activity).is_none() {
            self.change_uses(region, |region| region.subscriptions += 1);
        }
    }

    pub(crate) fn unsubscribe_interaction(
        &mut self,
        class: InteractionClassHandle,
        region: RegionHandle,
    ) {
        let federate = self.table[&region].federate;
        let Some(own) = self.subscriptions.get_mut(&federate) else { return };
        let Some(regions) = own.interactions.get_mut(&class) else { return };
        if regions.remove(&region).is_none() {
            return;
        }
        if regions.is_empty() {
            own.interactions.remove(&class);
        }
        self.change_uses(region, |region| region.subscriptions -= 1);
        self.drop_empty(federate);
    }

    fn drop_empty(&mut self, federate: FederateHandle) {
        let own = self.subscriptions.get(&federate);
        if own.is_some_and(|own| own.classes.is_empty() && own.interactions.is_empty()) {
            self.subscriptions.remove(&federate);
        }
    }

    // The end of a federate.

    /// Ends the subscriptions of a federate that is leaving. Returns the classes that it subscribed to.
    pub(crate) fn abandon(
        &mut self,
        federate: FederateHandle,
    ) -> (Vec<ObjectClassHandle>, Vec<InteractionClassHandle>) {
        let Some(own) = self.subscriptions.remove(&federate) else { return Default::default() };
        let classes = own.classes.keys().copied().collect();
        let interactions = own.interactions.keys().copied().collect();
        self.abandoned.insert(federate, own);
        (classes, interactions)
    }

    /// Removes a part of what a leaving federate has: a use of a region, or a region. Returns whether there was any.
    pub(crate) fn take_part(&mut self, federate: FederateHandle) -> bool {
        if let Some(own) = self.abandoned.get_mut(&federate) {
            let taken = take_from(&mut own.classes, |attributes| {
                take_from(attributes, |regions| regions.pop_first().is_some())
            });
            if taken || take_from(&mut own.interactions, |one| one.pop_first().is_some()) {
                return true;
            }
            self.abandoned.remove(&federate);
        }
        let Some(first) = self.of_federate.get(&federate).and_then(|set| set.first()) else {
            return false;
        };
        let handle = *first;
        if let Some((instance, _)) = self.table[&handle].instances.first_key_value() {
            let instance = *instance;
            self.forget_instance(instance, federate);
        } else {
            self.change_uses(handle, |region| {
                region.classes.clear();
                region.subscriptions = 0;
            });
            self.delete(handle);
        }
        true
    }

    // Saving and restoring.

    pub(crate) const fn table(&self) -> &BTreeMap<RegionHandle, Region> {
        &self.table
    }

    pub(crate) const fn associations(&self) -> &BTreeMap<Association, BTreeSet<RegionHandle>> {
        &self.associations
    }

    pub(crate) const fn subscriptions(&self) -> &BTreeMap<FederateHandle, Subscriptions> {
        &self.subscriptions
    }

    /// The number of regions created so far.
    pub(crate) const fn created(&self) -> u32 {
        self.created
    }

    /// Sets the number of regions created so far, before any region is restored.
    pub(crate) const fn set_created(&mut self, created: u32) {
        self.created = created;
    }

    /// Restores a region that is not in use yet.
    pub(crate) fn take_region(
        &mut self,
        handle: RegionHandle,
        from: &mut Reader,
        account: &Arc<Account>,
    ) -> Taken<FederateHandle> {
        let federate = Stored::take(from)?;
        let ranges: Vec<(DimensionHandle, RangeBounds)> = Stored::take(from)?;
        let committed: Option<Ranges> = Stored::take(from)?;
        let kept = committed.iter().flat_map(|ranges| ranges.iter());
        let mut bounds = ranges.iter().chain(kept).map(|(_, bounds)| bounds);
        if handle.number() == 0
            || handle.number() > self.created
            || bounds.any(|bounds| bounds.lower >= bounds.upper)
            || !ranges.is_sorted_by(|one, next| one.0 < next.0)
            || committed
                .as_ref()
                .is_some_and(|committed| !have_same_dimensions(&ranges.clone().into(), committed))
        {
            return Err("a region is invalid");
        }
        let region = Region {
            federate,
            charge: Charge::new(account, region_len(ranges.len())),
            ranges,
            committed,
            instances: BTreeMap::new(),
            classes: BTreeMap::new(),
            associations: 0,
            subscriptions: 0,
        };
        if self.table.insert(handle, region).is_some() {
            return Err("a region occurs twice");
        }
        self.of_federate.entry(federate).or_default().insert(handle);
        Ok(federate)
    }

    /// Restores the associations with an attribute of an instance.
    pub(crate) fn take_association(&mut self, key: Association, from: &mut Reader) -> Taken<()> {
        let regions: BTreeSet<RegionHandle> = Stored::take(from)?;
        let (instance, attribute, federate) = key;
        for region in regions {
            self.is_of(region, federate)?;
            self.associate(instance, attribute, region);
        }
        Ok(())
    }

    /// Restores the subscriptions of a federate.
    pub(crate) fn take_subscriptions(
        &mut self,
        federate: FederateHandle,
        from: &mut Reader,
    ) -> Taken<(Vec<ObjectClassHandle>, Vec<InteractionClassHandle>)> {
        let Subscriptions { classes, interactions } = Stored::take(from)?;
        let subscribed =
            (classes.keys().copied().collect(), interactions.keys().copied().collect());
        for (class, attributes) in classes {
            for (attribute, regions) in attributes {
                for (region, subscription) in regions {
                    self.is_of(region, federate)?;
                    self.subscribe(class, attribute, region, subscription);
                }
            }
        }
        for (class, regions) in interactions {
            for (region, activity) in regions {
                self.is_of(region, federate)?;
                self.subscribe_interaction(class, region, activity);
            }
        }
        Ok(subscribed)
    }

    fn is_of(&self, region: RegionHandle, federate: FederateHandle) -> Taken<()> {
        let is_own = self.table.get(&region).is_some_and(|one| one.federate == federate);
        if is_own { Ok(()) } else { Err("a region is used that its federate does not have") }
    }

    // Matching.

    /// Visits the subscriptions of a federate to an attribute whose regions overlap this extent, until the visitor
    /// returns true. Returns whether it did. The class is the one at which it subscribes.
    pub(crate) fn any_of(
        &self,
        model: &Model,
        class: ObjectClassHandle,
        regions: &BTreeMap<RegionHandle, Subscription>,
        extent: &Extent,
        visitor: impl FnMut(&Subscription) -> bool,
    ) -> bool {
        let dimensions = model.object_class(class).map_or(&[][..], |one| &one.dimensions);
        self.any_overlapping(regions, extent, Available { model, dimensions }, visitor)
    }

    /// Whether a subscription to an interaction class with these regions overlaps this extent.
    pub(crate) fn receives(
        &self,
        model: &Model,
        class: InteractionClassHandle,
        regions: &BTreeMap<RegionHandle, Activity>,
        extent: &Extent,
    ) -> bool {
        let dimensions = model.interaction_class(class).map_or(&[][..], |one| &one.dimensions);
        self.any_overlapping(regions, extent, Available { model, dimensions }, |_| true)
    }

    fn any_overlapping<T>(
        &self,
        regions: &BTreeMap<RegionHandle, T>,
        extent: &Extent,
        available: Available<'_>,
        mut visitor: impl FnMut(&T) -> bool,
    ) -> bool {
        let Extent::Within(sent) = extent else {
            let mut committed =
                regions.iter().filter(|(one, _)| self.table[one].committed.is_some());
            return committed.any(|(_, value)| visitor(value));
        };
        if sent.len() * regions.len() <= FEW_PAIRS {
            let overlaps = |one: &Ranges| sent.iter().any(|sent| available.overlap(sent, one));
            let committed = regions
                .iter()
                .filter_map(|(one, value)| Some((self.table[one].committed.as_ref()?, value)));
            return committed.filter(|(one, _)| overlaps(one)).any(|(_, value)| visitor(value));
        }
        let visits = sent.iter().try_for_each(|sent| {
            self.of_subscriptions.visit(sent, |region, ranges| match regions.get(&region) {
                Some(value) if available.overlap(sent, ranges) && visitor(value) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            })
        });
        visits.is_break()
    }

    /// Whether two extents overlap, for attributes of this class.
    pub(crate) fn overlap(
        model: &Model,
        class: ObjectClassHandle,
        sent: &Extent,
        wanted: &[Ranges],
    ) -> bool {
        let Extent::Within(sent) = sent else { return !wanted.is_empty() };
        let dimensions = model.object_class(class).map_or(&[][..], |one| &one.dimensions);
        let available = Available { model, dimensions };
        sent.iter().any(|one| wanted.iter().any(|other| available.overlap(one, other)))
    }

    /// Commits the ranges of a region. Returns what may have changed for other federates, and for this one.
    pub(crate) fn commit(&mut self, handle: RegionHandle) -> Concerned {
        let mut concerned = Concerned::default();
        let region = self.table.get_mut(&handle).expect("the region was looked up before");
        if region.committed.as_ref().is_some_and(|before| before[..] == region.ranges[..]) {
            return concerned;
        }
        let now: Ranges = region.ranges.as_slice().into();
        let before = region.committed.replace(Arc::clone(&now));
        let (updates, subscriptions) = (region.is_for_updates(), region.is_for_subscriptions());
        if updates {
            move_in(&mut self.of_updates, handle, before.as_ref(), &now);
        }
        if subscriptions {
            move_in(&mut self.of_subscriptions, handle, before.as_ref(), &now);
        }
        self.changed(handle, before.as_ref(), &now, &mut concerned);
        concerned
    }

    /// Finds what a region's change from these ranges to those concerns.
    fn changed(
        &self,
        handle: RegionHandle,
        before: Option<&Ranges>,
        now: &Ranges,
        concerned: &mut Concerned,
    ) {
        let region = &self.table[&handle];
        let Concerned { pairs, compared } = concerned;
        if region.is_for_updates() {
            let mut federates = BTreeSet::new();
            visit_changed(&self.of_subscriptions, before, now, |other| {
                *compared += 1;
                federates.insert(self.table[&other].federate);
            });
            let instances = region.instances.keys();
            pairs.extend(instances.flat_map(|one| federates.iter().map(|other| (*one, *other))));
        }
        if !region.classes.is_empty() {
            visit_changed(&self.of_updates, before, now, |other| {
                *compared += 1;
                let instances = self.table[&other].instances.keys();
                pairs.extend(instances.map(|one| (*one, region.federate)));
            });
        }
    }

    // Invariants.

    /// The memory that all regions are charged.
    pub(crate) fn charged_len(&self) -> usize {
        self.table.values().map(|region| region.charge.len()).sum()
    }

    /// Checks that the tables agree, given which federates are joined and which of them are leaving.
    pub(crate) fn check_invariants(
        &self,
        is_joined: impl Fn(FederateHandle) -> bool,
        is_leaving: impl Fn(FederateHandle) -> bool,
    ) {
        let mut uses: BTreeMap<RegionHandle, (usize, usize)> = BTreeMap::new();
        for ((_, _, federate), regions) in &self.associations {
            assert!(!regions.is_empty());
            for region in regions {
                assert_eq!(self.table[region].federate, *federate);
                uses.entry(*region).or_default().0 += 1;
            }
        }
        for (federate, own) in &self.subscriptions {
            assert!(is_joined(*federate));
            assert!(!own.classes.is_empty() || !own.interactions.is_empty());
            let of_classes = own.classes.values().flatten().flat_map(|(_, regions)| regions.keys());
            let of_interactions = own.interactions.values().flat_map(BTreeMap::keys);
            for region in of_classes.chain(of_interactions) {
                assert_eq!(self.table[region].federate, *federate);
                uses.entry(*region).or_default().1 += 1;
            }
        }
        let (mut updates, mut subscriptions) = (0, 0);
        for (handle, region) in &self.table {
            assert!(is_joined(region.federate), "a region has a federate");
            assert!(self.of_federate[&region.federate].contains(handle));
            assert_eq!(region.charge.len(), region.counted_len());
            let (associated, subscribed) = uses.get(handle).copied().unwrap_or_default();
            assert_eq!(region.instances.values().sum::<usize>(), associated);
            assert_eq!(region.associations, associated);
            assert!(region.classes.values().sum::<usize>() <= region.subscriptions);
            if !is_leaving(region.federate) {
                assert_eq!(region.subscriptions, subscribed);
            }
            let Some(ranges) = &region.committed else { continue };
            assert_eq!(self.of_updates.contains(*handle, ranges), region.is_for_updates());
            let is_subscribed = region.is_for_subscriptions();
            assert_eq!(self.of_subscriptions.contains(*handle, ranges), is_subscribed);
            updates += usize::from(region.is_for_updates());
            subscriptions += usize::from(is_subscribed);
        }
        assert_eq!((self.of_updates.len(), self.of_subscriptions.len()), (updates, subscriptions));
        let owned: usize = self.of_federate.values().map(BTreeSet::len).sum();
        assert_eq!(owned, self.table.len());
    }
}

/// The dimensions of a class, with the ranges that apply where a region leaves them out.
#[derive(Clone, Copy)]
struct Available<'m> {
    model: &'m Model,
    dimensions: &'m [DimensionHandle],
}

impl Available<'_> {
    /// Whether two regions overlap (clause 9.1): they have a common dimension, and their ranges overlap in each. In an
    /// available dimension that one of them lacks, it has the default range of the object model, if there is one.
    fn overlap(&self, one: &Ranges, other: &Ranges) -> bool {
        if !is_near(one, other) {
            return false;
        }
        let is_common = one.iter().any(|(dimension, _)| range_in(other, *dimension).is_some());
        if have_same_dimensions(one, other) {
            return is_common;
        }
        let first = self.meets_defaults(one, other);
        let second = self.meets_defaults(other, one);
        let overlaps = first != Some(false) && second != Some(false);
        overlaps && (is_common || first.is_some() || second.is_some())
    }

    /// Whether a region overlaps the default ranges in the dimensions that only it has; `None` if there are none.
    fn meets_defaults(&self, one: &Ranges, other: &Ranges) -> Option<bool> {
        let mut meets = None;
        for (dimension, range) in one.iter() {
            let is_missing = range_in(other, *dimension).is_none();
            if !is_missing || !self.dimensions.contains(dimension) {
                continue;
            }
            let definition = self.model.dimension(*dimension);
            if let Some(default) = definition.and_then(|one| one.default_range()) {
                meets = Some(meets != Some(false) && range.overlaps(default));
            }
        }
        meets
    }
}

/// Visits the regions near one place, the other or both. Those with the same dimensions as the places are left out if
/// they are near both: nothing changes for them.
fn visit_changed(
    index: &Index,
    before: Option<&Ranges>,
    now: &Ranges,
    mut visitor: impl FnMut(RegionHandle),
) {
    let Some(before) = before else {
        let _ = index.visit(now, |region, _| {
            visitor(region);
            ControlFlow::<()>::Continue(())
        });
        return;
    };
    index.visit_either(before, now, |region, ranges, near| {
        // Default ranges concern regions with other dimensions only.
        if !(near.first && near.second && have_same_dimensions(now, ranges)) {
            visitor(region);
        }
    });
}

/// Puts a region into an index when it needs to be there, and removes it when it no longer does.
fn set_indexed(index: &mut Index, region: RegionHandle, ranges: &Ranges, before: bool, now: bool) {
    match (before, now) {
        (false, true) => index.insert(region, ranges),
        (true, false) => index.remove(region, ranges),
        _ => {}
    }
}

/// Moves a region in an index from its ranges before, if it had any.
fn move_in(index: &mut Index, region: RegionHandle, before: Option<&Ranges>, now: &Ranges) {
    match before {
        Some(before) => index.relocate(region, before, now),
        None => index.insert(region, now),
    }
}

/// Counts one use less.
fn decrease<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    let count = counts.get_mut(&key).expect("it was counted");
    *count -= 1;
    if *count == 0 {
        counts.remove(&key);
    }
}

/// Takes something from the first entry, or the entry if there is nothing left in it. Returns whether there was one.
fn take_from<K: Ord + Copy, V>(
    map: &mut BTreeMap<K, V>,
    mut take: impl FnMut(&mut V) -> bool,
) -> bool {
    let Some(mut first) = map.first_entry() else { return false };
    if !take(first.get_mut()) {
        first.remove();
    }
    true
}
