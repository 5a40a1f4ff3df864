//! Synchronization points (clauses 4.14 to 4.18).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use hemiola_hla::data::Data;
use hemiola_hla::status::SynchronizationPointFailureReason as Reason;
use hemiola_hla::{Callback, Exception, FederateHandle, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::image::{Reader, Stored, Taken, Writer};
use crate::memory::{ALLOCATION, Account, Charge, entry_len, has_room, name_len, node_len};
use crate::notice::Notice;
use crate::services::{beyond, kept_tag};

/// A pending synchronization point.
#[derive(Debug)]
pub(crate) struct SynchronizationPoint {
    tag: Data,
    /// Whether it includes every federate, also those that join later.
    for_all: bool,
    /// Its federates. `None` until a federate has achieved it, then whether it succeeded.
    members: BTreeMap<FederateHandle, Option<bool>>,
    /// For all of this, paid by the federate that registered it.
    charge: Charge,
}

impl SynchronizationPoint {
    const MEMBER_LEN: usize = entry_len::<FederateHandle, Option<bool>>();

    /// Whether a federate has achieved it, and how; `None` if it is not one of its federates.
    pub(crate) fn achieved(&self, federate: FederateHandle) -> Option<Option<bool>> {
        self.members.get(&federate).copied()
    }

    /// Its charge.
    pub(crate) const fn charged_len(&self) -> usize {
        self.charge.len()
    }

    fn own_len(label: &str, tag: &Data, members: usize) -> usize {
        entry_len::<String, Self>()
            + node_len::<FederateHandle, Option<bool>>()
            + name_len(label)
            + tag.len()
            + ALLOCATION
            + members * Self::MEMBER_LEN
    }

    /// Writes everything but its charge.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.tag.put(to);
        self.for_all.put(to);
        self.members.put(to);
    }

    /// Reads the same. This account pays for it.
    pub(crate) fn take(label: &str, from: &mut Reader, account: &Arc<Account>) -> Taken<Self> {
        let tag = Stored::take(from)?;
        let for_all = Stored::take(from)?;
        let members: BTreeMap<FederateHandle, Option<bool>> = Stored::take(from)?;
        let charge = Charge::new(account, Self::own_len(label, &tag, members.len()));
        let point = Self { tag, for_all, members, charge };
        if point.is_reached() { Err("a synchronization point is reached") } else { Ok(point) }
    }

    /// Its federates.
    pub(crate) fn members(&self) -> impl Iterator<Item = FederateHandle> {
        self.members.keys().copied()
    }

    fn is_reached(&self) -> bool {
        self.members.values().all(Option::is_some)
    }

    pub(crate) fn check_invariants(&self, federation: &Federation) {
        assert!(!self.is_reached(), "a point that all have achieved is removed");
        let members: BTreeSet<FederateHandle> = self.members.keys().copied().collect();
        assert!(members.is_subset(federation.joined()));
        assert!(!self.for_all || staying(federation).all(|one| members.contains(&one)));
    }
}

/// Clause 4.14. An empty set means all federates. The result is one of the callbacks of clause 4.15.
pub(super) fn register_federation_synchronization_point(
    federation: &mut Federation,
    me: FederateHandle,
    label: String,
    tag: Data,
    set: &[FederateHandle],
) -> Answer {
    if let Some(unknown) = set.iter().find(|one| !federation.was_joined(**one)) {
        return Err(Exception::InvalidFederateHandle.because(unknown.to_string()));
    }
    let limits = federation.limits;
    if label.len() > limits.name_len {
        return Err(beyond(limits.name_len, "bytes in a label"));
    }
    let tag = kept_tag(limits, &tag)?;
    if federation.points.len() >= limits.synchronization_points {
        return Err(beyond(limits.synchronization_points, "synchronization points"));
    }
    let members = if set.is_empty() { federation.joined().len() } else { set.len() };
    let len = SynchronizationPoint::own_len(&label, &tag, members);
    has_room(federation, me, len)?;
    let failed = if federation.points.contains_key(&label) {
        Some(Reason::SynchronizationPointLabelNotUnique)
    } else if set.iter().any(|one| !is_staying(federation, *one)) {
        Some(Reason::SynchronizationSetMemberNotJoined)
    } else {
        None
    };
    if let Some(reason) = failed {
        let synchronization_point_label = label;
        let callback = Callback::SynchronizationPointRegistrationFailed {
            synchronization_point_label,
            reason,
        };
        federation.send_callback(me, callback);
        return Ok(Reply::Done);
    }
    let succeeded = Callback::SynchronizationPointRegistrationSucceeded {
        synchronization_point_label: label.clone(),
    };
    federation.send_callback(me, succeeded);
    let for_all = set.is_empty();
    let members: BTreeSet<FederateHandle> =
        if for_all { staying(federation).collect() } else { set.iter().copied().collect() };
    let members: BTreeMap<FederateHandle, Option<bool>> =
        members.into_iter().map(|one| (one, None)).collect();
    let charge = Charge::new(&federation.federate(me).account, len);
    let point = SynchronizationPoint { tag, for_all, members, charge };
    let announcement = announcement(&label, &point);
    for member in point.members.keys() {
        federation.send_notice(*member, Arc::clone(&announcement));
    }
    federation.points.insert(label, point);
    Ok(Reply::Done)
}

fn is_staying(federation: &Federation, federate: FederateHandle) -> bool {
    federation.joined_federate(federate).is_some_and(crate::federate::Federate::is_staying)
}

/// The federates that are not leaving.
fn staying(federation: &Federation) -> impl Iterator<Item = FederateHandle> {
    federation.federates().filter(|(_, one)| one.is_staying()).map(|(handle, _)| handle)
}

/// Clause 4.16.
fn announcement(label: &str, point: &SynchronizationPoint) -> Arc<Notice> {
    Arc::new(Notice::new(Callback::AnnounceSynchronizationPoint {
        synchronization_point_label: label.to_owned(),
        user_supplied_tag: point.tag.clone(),
    }))
}

/// Clause 4.17.
pub(super) fn synchronization_point_achieved(
    federation: &mut Federation,
    me: FederateHandle,
    label: String,
    successfully: bool,
) -> Answer {
    let point = federation.points.get_mut(&label);
    let mine = point.and_then(|point| point.members.get_mut(&me));
    let Some(mine @ None) = mine else {
        return Err(Exception::SynchronizationPointLabelNotAnnounced.because(label));
    };
    *mine = Some(successfully);
    conclude(federation, label);
    Ok(Reply::Done)
}

/// Clause 4.18. Completes a point that all its federates have achieved.
fn conclude(federation: &mut Federation, label: String) {
    if !federation.points.get(&label).is_some_and(SynchronizationPoint::is_reached) {
        return;
    }
    let Some(point) = federation.points.remove(&label) else { return };
    let failed = point.members.iter().filter(|(_, reached)| **reached == Some(false));
    let notice = Arc::new(Notice::new(Callback::FederationSynchronized {
        synchronization_point_label: label,
        failed_to_sync_set: failed.map(|(federate, _)| *federate).collect(),
    }));
    for member in point.members.keys() {
        federation.send_notice(*member, Arc::clone(&notice));
    }
}

/// Adds a new federate to the points that include every federate.
pub(super) fn joined(federation: &mut Federation, federate: FederateHandle) {
    let mut announced = Vec::new();
    for (label, point) in federation.points.iter_mut().filter(|(_, point)| point.for_all) {
        point.members.insert(federate, None);
        point.charge.grow(SynchronizationPoint::MEMBER_LEN);
        announced.push(announcement(label, point));
    }
    announced.into_iter().for_each(|notice| federation.send_notice(federate, notice));
}

/// Returns the label of the point after this one.
pub(super) fn next_point(federation: &Federation, after: &mut Option<String>) -> Option<String> {
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let (next, _) = federation.points.range::<str, _>((from, Bound::Unbounded)).next()?;
    *after = Some(next.clone());
    after.clone()
}

/// Removes a federate that leaves from a point.
pub(super) fn resigned(federation: &mut Federation, me: FederateHandle, label: String) {
    let point = federation.points.get_mut(&label);
    if point.is_some_and(|point| point.members.remove(&me).is_some()) {
        conclude(federation, label);
    }
}
