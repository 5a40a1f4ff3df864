//! Regions in the seeded worlds: an oracle that compares every pair, and the events that make, move and use regions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_hla::call::{DistributionCall as D, SupportCall};
use hemiola_hla::data::{AttributeRegions, RangeBounds};
use hemiola_hla::{
    AttributeHandle, Callback, DimensionHandle, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, RegionHandle, Reply,
};
use hemiola_rti::{Notice, SessionId};

use super::checker::{Peer, WHOLE};
use super::run::Run;
use crate::world::time;

/// Ranges as a federate has committed them.
pub(super) type Ranges = BTreeMap<DimensionHandle, RangeBounds>;

/// The regions with which something is sent; `None` for the default region.
pub(super) type Extent = Option<Vec<Ranges>>;

/// A federate's regions and what it uses them for.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// As they were set, and as they were committed.
    regions: BTreeMap<RegionHandle, (Ranges, Option<Ranges>)>,
    classes: BTreeMap<ObjectClassHandle, BTreeMap<u32, BTreeSet<RegionHandle>>>,
    interactions: BTreeMap<InteractionClassHandle, BTreeSet<RegionHandle>>,
    associated: BTreeMap<(ObjectInstanceHandle, AttributeHandle), BTreeSet<RegionHandle>>,
}

/// Whether two regions overlap in every common dimension, and have one.
fn overlap(one: &Ranges, other: &Ranges) -> bool {
    let common = one.iter().filter_map(|(dimension, range)| Some((range, other.get(dimension)?)));
    let apart = |(one, other): (&RangeBounds, &RangeBounds)| {
        one.upper <= other.lower || other.upper <= one.lower
    };
    common.clone().count() > 0 && !common.into_iter().any(apart)
}

impl Own {
    fn committed<'s>(
        &'s self,
        regions: &'s BTreeSet<RegionHandle>,
    ) -> impl Iterator<Item = &'s Ranges> {
        regions.iter().filter_map(|region| self.regions[region].1.as_ref())
    }

    /// Whether any of its regions overlaps what is sent, by comparing every pair.
    fn is_reached(&self, regions: Option<&BTreeSet<RegionHandle>>, extent: &Extent) -> bool {
        let Some(regions) = regions else { return false };
        let mut committed = self.committed(regions);
        match extent {
            None => committed.next().is_some(),
            Some(sent) => committed.any(|one| sent.iter().any(|other| overlap(one, other))),
        }
    }

    /// The extent in which it sends an attribute.
    pub(super) fn extent(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Extent {
        let regions = self.associated.get(&(instance, attribute))?;
        Some(self.committed(regions).cloned().collect())
    }

    pub(super) fn is_used(&self, region: RegionHandle) -> bool {
        let of_classes = self.classes.values().flat_map(BTreeMap::values);
        let mut all = of_classes.chain(self.interactions.values()).chain(self.associated.values());
        all.any(|regions| regions.contains(&region))
    }

    /// It no longer owns some attributes.
    pub(super) fn keep(&mut self, owned: &BTreeSet<(ObjectInstanceHandle, AttributeHandle)>) {
        self.associated.retain(|attribute, _| owned.contains(attribute));
    }
}

impl Peer {
    /// Whether it subscribes to a class, in any way.
    pub(super) fn subscribes(&self, class: ObjectClassHandle) -> bool {
        self.classes.contains_key(&class) || self.own.classes.contains_key(&class)
    }

    /// The attributes, with their extents, that it would receive at this class.
    pub(super) fn receives(
        &self,
        class: ObjectClassHandle,
        parts: &BTreeMap<u32, Extent>,
    ) -> BTreeSet<u32> {
        let everywhere = self.classes.get(&class);
        let within = self.own.classes.get(&class);
        let is_received = |(part, extent): &(&u32, &Extent)| {
            everywhere.is_some_and(|set| set.contains(part))
                || self.own.is_reached(within.and_then(|within| within.get(*part)), extent)
        };
        parts.iter().filter(is_received).map(|(part, _)| *part).collect()
    }

    /// Whether it would receive an interaction, given the classes as which it can be received, the nearest first.
    pub(super) fn receives_interaction(
        &self,
        classes: &[InteractionClassHandle],
        extent: &Extent,
    ) -> BTreeSet<u32> {
        let (everywhere, within) = (&self.interactions, &self.own.interactions);
        let nearest =
            classes.iter().find(|one| everywhere.contains(one) || within.contains_key(one));
        let is_received = nearest.is_some_and(|one| {
            everywhere.contains(one) || self.own.is_reached(within.get(one), extent)
        });
        if is_received { BTreeSet::from([WHOLE]) } else { BTreeSet::new() }
    }
}

impl Run {
    /// A federate makes, moves or uses a region.
    pub(super) fn distribute(&mut self, at: usize) {
        match self.below(9) {
            0 => self.create_region(at),
            1..4 => self.move_region(at),
            4 => self.delete_region(at),
            5 => self.associate(at),
            6 => self.subscribe_within(at),
            7 => self.subscribe_interaction_within(at),
            _ => self.send_within(at),
        }
    }

    fn region(&mut self, at: usize) -> Option<RegionHandle> {
        let own: Vec<RegionHandle> = self.peers[at].own.regions.keys().copied().collect();
        if own.is_empty() { None } else { Some(self.pick(&own)) }
    }

    fn create_region(&mut self, at: usize) {
        let names: &[&str] = self.pick(&[&["X", "Y"], &["X", "Y"], &["X"], &["Y"]]);
        let dimensions: Vec<DimensionHandle> =
            names.iter().map(|name| self.model.dimension_named(name).unwrap()).collect();
        let create = D::CreateRegion { dimensions: dimensions.clone() };
        let reply = self.call(self.peers[at].fed.session, create);
        let Ok(Reply::Region(region)) = reply else { panic!("{reply:?}") };
        let whole = |dimension| (dimension, RangeBounds { lower: 0, upper: 100 });
        let ranges = dimensions.into_iter().map(whole).collect();
        self.peers[at].own.regions.insert(region, (ranges, None));
    }

    /// Sets ranges, and commits them most of the time.
    fn move_region(&mut self, at: usize) {
        let Some(region) = self.region(at) else { return self.create_region(at) };
        let session = self.peers[at].fed.session;
        let dimensions: Vec<DimensionHandle> =
            self.peers[at].own.regions[&region].0.keys().copied().collect();
        for dimension in dimensions {
            let lower = self.below(90) as u32;
            let upper = (lower + 1 + self.below(40) as u32).min(100);
            let range_bounds = RangeBounds { lower, upper };
            self.call(session, SupportCall::SetRangeBounds { region, dimension, range_bounds })
                .unwrap();
            let (ranges, _) = self.peers[at].own.regions.get_mut(&region).unwrap();
            ranges.insert(dimension, range_bounds);
        }
        if self.one_in(4) {
            return;
        }
        let regions = vec![region];
        self.call(session, D::CommitRegionModifications { regions }).unwrap();
        let (ranges, committed) = self.peers[at].own.regions.get_mut(&region).unwrap();
        *committed = Some(ranges.clone());
        self.peers[at].wants_more = true;
    }

    fn delete_region(&mut self, at: usize) {
        let Some(region) = self.region(at) else { return };
        let is_used = self.peers[at].own.is_used(region);
        let answer = self.call(self.peers[at].fed.session, D::DeleteRegion { region });
        let refused = answer == Err(Exception::RegionInUseForUpdateOrSubscription);
        assert_eq!((answer.is_ok(), refused), (!is_used, is_used));
        if !is_used {
            self.peers[at].own.regions.remove(&region);
        }
    }

    /// Associates a region with attributes that the federate owns, or ends the association.
    fn associate(&mut self, at: usize) {
        let (Some(region), Some(object_instance)) = (self.region(at), self.known(at)) else {
            return;
        };
        let class = self.peers[at].known[&object_instance];
        let mut attributes = self.attributes(class);
        attributes.retain(|one| self.peers[at].owned.contains(&(object_instance, *one)));
        let pair = AttributeRegions { attributes: attributes.clone(), regions: vec![region] };
        let attributes_and_regions = vec![pair];
        let ends = self.one_in(3);
        let call = if ends {
            D::UnassociateRegionsForUpdates { object_instance, attributes_and_regions }
        } else {
            D::AssociateRegionsForUpdates { object_instance, attributes_and_regions }
        };
        self.call(self.peers[at].fed.session, call).unwrap();
        let associated = &mut self.peers[at].own.associated;
        for attribute in attributes {
            let regions = associated.entry((object_instance, attribute)).or_default();
            if ends {
                regions.remove(&region)
            } else {
                regions.insert(region)
            };
        }
        associated.retain(|_, regions| !regions.is_empty());
    }

    fn subscribe_within(&mut self, at: usize) {
        let Some(region) = self.region(at) else { return };
        let classes = self.classes.clone();
        let object_class = self.pick(&classes);
        let attributes = self.attributes(object_class);
        let parts: Vec<u32> = attributes.iter().map(|one| one.number()).collect();
        let attributes_and_regions = vec![AttributeRegions { attributes, regions: vec![region] }];
        let ends = self.one_in(3);
        let call = if ends {
            D::UnsubscribeObjectClassAttributesWithRegions { object_class, attributes_and_regions }
        } else {
            let active = self.one_in(2);
            D::SubscribeObjectClassAttributesWithRegions {
                object_class,
                attributes_and_regions,
                active,
            }
        };
        self.call(self.peers[at].fed.session, call).unwrap();
        let peer = &mut self.peers[at];
        let of_class = peer.own.classes.entry(object_class).or_default();
        for part in parts {
            let regions = of_class.entry(part).or_default();
            if ends {
                regions.remove(&region)
            } else {
                regions.insert(region)
            };
        }
        of_class.retain(|_, regions| !regions.is_empty());
        peer.own.classes.retain(|_, parts| !parts.is_empty());
        peer.wants_more = true;
    }

    fn subscribe_interaction_within(&mut self, at: usize) {
        let Some(region) = self.region(at) else { return };
        let interactions = self.interactions.clone();
        let interaction_class = self.pick(&interactions);
        let (regions, ends) = (vec![region], self.one_in(3));
        let call = if ends {
            D::UnsubscribeInteractionClassWithRegions { interaction_class, regions }
        } else {
            let active = self.one_in(2);
            D::SubscribeInteractionClassWithRegions { interaction_class, active, regions }
        };
        self.call(self.peers[at].fed.session, call).unwrap();
        let peer = &mut self.peers[at];
        let regions = peer.own.interactions.entry(interaction_class).or_default();
        if ends {
            regions.remove(&region)
        } else {
            regions.insert(region)
        };
        peer.own.interactions.retain(|_, regions| !regions.is_empty());
        peer.wants_more = true;
    }

    fn send_within(&mut self, at: usize) {
        let Some(region) = self.region(at) else { return };
        let interactions = self.interactions.clone();
        let interaction_class = self.pick(&interactions);
        let stamp = self.stamp(at);
        let (parameter_values, user_supplied_tag) = (Vec::new(), self.tag());
        let regions = vec![region];
        let call = match stamp {
            None => D::SendInteractionWithRegions {
                interaction_class,
                parameter_values,
                regions,
                user_supplied_tag,
            },
            Some(stamp) => D::SendInteractionWithRegionsAndTime {
                interaction_class,
                parameter_values,
                regions,
                user_supplied_tag,
                time: time(stamp).into(),
            },
        };
        let Ok(reply) = self.call(self.peers[at].fed.session, call) else { return };
        let committed = self.peers[at].own.regions[&region].1.clone();
        let extent = Some(committed.into_iter().collect());
        self.sent_interaction(at, stamp, &reply, interaction_class, extent);
    }

    /// Checks that every federate knows each instance of which an attribute is in scope for it. Left out are instances
    /// that may be deleted, and those that a federate has chosen to forget.
    pub(super) fn check_discoveries(&self) {
        for owner in self.staying() {
            let owned: BTreeSet<ObjectInstanceHandle> =
                owner.owned.iter().map(|(instance, _)| *instance).collect();
            for instance in owned {
                self.check_discovery(owner, instance);
            }
        }
    }

    /// Returns the federates that discover an instance with the last update, which has these attributes, and the class
    /// that they know it as. All that have chosen to forget it do, if one of the attributes is in scope for them.
    pub(super) fn rediscovered(
        &mut self,
        at: usize,
        instance: ObjectInstanceHandle,
        extents: &BTreeMap<u32, Extent>,
    ) -> BTreeMap<SessionId, ObjectClassHandle> {
        let discovery = |(session, notice): &(SessionId, Arc<Notice>)| match notice.callback() {
            Callback::DiscoverObjectInstance { object_instance, object_class, .. } => {
                (*object_instance == instance).then_some((*session, *object_class))
            }
            _ => None,
        };
        let rediscovered: BTreeMap<SessionId, ObjectClassHandle> =
            self.inbox.iter().filter_map(discovery).collect();
        let is_deletable = |peer: &Peer| peer.owned.contains(&(instance, self.privilege));
        if self.staying().any(is_deletable) {
            let line = self.line_of(instance);
            for peer in self.staying().filter(|peer| peer.fed != self.peers[at].fed) {
                let nearest = line.iter().find(|class| peer.subscribes(**class));
                let is_in_scope =
                    nearest.is_some_and(|one| !peer.receives(*one, extents).is_empty());
                let is_known = peer.known.contains_key(&instance)
                    || rediscovered.contains_key(&peer.fed.session)
                    || !self.forgotten.contains(&(peer.fed.handle, instance));
                assert!(is_known || !is_in_scope, "{:?} should rediscover {instance}", peer.fed);
            }
        }
        for peer in &self.peers {
            if rediscovered.contains_key(&peer.fed.session) {
                self.forgotten.remove(&(peer.fed.handle, instance));
            }
        }
        rediscovered
    }

    /// The class as which an instance was registered, and its superclass.
    fn line_of(&self, instance: ObjectInstanceHandle) -> Vec<ObjectClassHandle> {
        let class = self.registered.get(&instance).copied();
        let parent = class.and_then(|class| self.model.object_class(class).unwrap().parent);
        class.into_iter().chain(parent).collect()
    }

    fn check_discovery(&self, owner: &Peer, instance: ObjectInstanceHandle) {
        let is_deletable = |peer: &Peer| peer.owned.contains(&(instance, self.privilege));
        if !self.staying().any(is_deletable) {
            return;
        }
        let mine = owner.owned.range((instance, AttributeHandle::new(0))..);
        let mine = mine.take_while(|(other, _)| *other == instance);
        let parts: BTreeMap<u32, Extent> =
            mine.map(|(_, one)| (one.number(), owner.own.extent(instance, *one))).collect();
        let line = self.line_of(instance);
        for peer in self.staying().filter(|peer| peer.fed != owner.fed) {
            let nearest = line.iter().find(|class| peer.subscribes(**class));
            let Some(nearest) = nearest else { continue };
            let is_in_scope = !peer.receives(*nearest, &parts).is_empty();
            let is_forgotten = self.forgotten.contains(&(peer.fed.handle, instance));
            let is_known = peer.known.contains_key(&instance) || is_forgotten;
            assert!(is_known || !is_in_scope, "{:?} should know {instance}: {peer:?}", peer.fed);
        }
    }

    fn staying(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| !self.resigning.contains(&peer.fed.session))
    }
}

/// The pairs of a federate and an instance that it has chosen to forget.
pub(super) type Forgotten = BTreeSet<(FederateHandle, ObjectInstanceHandle)>;
