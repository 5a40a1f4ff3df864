//! The shares of peers in a limited number of places: who has how many, and which occupant makes room for another.

use std::collections::{BTreeMap, BTreeSet};

use crate::network::PeerAddress;

/// Places of one kind. `K` names an occupant; the least of several in a crowd is the first to make room.
#[derive(Debug)]
pub(crate) struct Shares<K> {
    by_peer: BTreeMap<PeerAddress, Share<K>>,
    taken: usize,
}

/// The share of one peer.
#[derive(Debug)]
struct Share<K> {
    taken: usize,
    /// The occupants that can make room, by [`Crowd`].
    replaceable: [BTreeSet<K>; 3],
}

/// Occupants of the same kind that can make room.
///
/// Those that nobody needs go first. Of the two others, the larger crowd makes room. So dead federates do not displace
/// clients that are about to join, and idle clients do not displace federates that may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Crowd {
    /// Nobody needs them.
    Unneeded,
    /// Federates without a connection, which may return.
    Away,
    /// Clients without a federate, which may join.
    Idle,
}

impl<K> Default for Share<K> {
    fn default() -> Self {
        Self { taken: 0, replaceable: Default::default() }
    }
}

impl<K: Copy + Ord> Share<K> {
    /// The occupant that is the first to make room.
    fn first(&self) -> Option<K> {
        let [unneeded, away, idle] = &self.replaceable;
        let larger = if away.len() >= idle.len() { away } else { idle };
        unneeded.first().or_else(|| larger.first()).copied()
    }

    fn replaceable_count(&self) -> usize {
        self.replaceable.iter().map(BTreeSet::len).sum()
    }
}

/// The number of places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    /// Of all peers together.
    pub(crate) total: usize,
    /// Of each peer.
    pub(crate) of_peer: usize,
}

/// Whether a peer can have another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room<K> {
    /// A place is free.
    Free,
    /// This occupant has to make room.
    InPlaceOf(K),
    /// Every occupant that could make room is needed.
    None,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self { by_peer: BTreeMap::new(), taken: 0 }
    }
}

impl<K: Copy + Ord> Shares<K> {
    /// Looks for a place for a peer. A peer that has its whole quota replaces an occupant of its own; otherwise the
    /// peer with the most places loses one.
    pub(crate) fn room_for(&self, peer: PeerAddress, quota: Quota) -> Room<K> {
        let own = self.by_peer.get(&peer);
        let found = if own.is_some_and(|own| own.taken >= quota.of_peer) {
            own.and_then(Share::first)
        } else if self.taken >= quota.total {
            let shares = self.by_peer.values().filter(|share| share.replaceable_count() > 0);
            shares.max_by_key(|share| share.taken).and_then(Share::first)
        } else {
            return Room::Free;
        };
        found.map_or(Room::None, Room::InPlaceOf)
    }

    /// A peer takes a place.
    pub(crate) fn take(&mut self, peer: PeerAddress) {
        self.taken += 1;
        self.by_peer.entry(peer).or_default().taken += 1;
    }

    /// A peer gives a place back.
    pub(crate) fn give_back(&mut self, peer: PeerAddress) {
        let Some(share) = self.by_peer.get_mut(&peer) else { return };
        self.taken -= 1;
        share.taken -= 1;
        if share.taken == 0 {
            self.by_peer.remove(&peer);
        }
    }

    /// From now on, the occupant can make room.
    pub(crate) fn offer(&mut self, peer: PeerAddress, crowd: Crowd, occupant: K) {
        if let Some(share) = self.by_peer.get_mut(&peer) {
            share.replaceable[crowd as usize].insert(occupant);
        }
    }

    /// From now on, the occupant is needed.
    pub(crate) fn withdraw(&mut self, peer: PeerAddress, crowd: Crowd, occupant: K) {
        if let Some(share) = self.by_peer.get_mut(&peer) {
            share.replaceable[crowd as usize].remove(&occupant);
        }
    }

    /// The number of places that are taken, and of those whose occupants can make room.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let replaceable = self.by_peer.values().map(Share::replaceable_count).sum();
        (self.taken, replaceable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greediest_peer_makes_room_and_a_peer_at_its_quota_replaces_its_own() {
        let (small, large) = (PeerAddress::User(1), PeerAddress::User(2));
        let quota = Quota { total: 4, of_peer: 3 };
        let mut shares = Shares::default();
        for (peer, occupant) in [(small, 1), (large, 2), (large, 3), (large, 4)] {
            assert_eq!(shares.room_for(peer, quota), Room::Free);
            shares.take(peer);
            shares.offer(peer, Crowd::Unneeded, occupant);
        }
        assert_eq!(shares.room_for(small, quota), Room::InPlaceOf(2));
        shares.withdraw(large, Crowd::Unneeded, 2);
        assert_eq!(shares.room_for(large, quota), Room::InPlaceOf(3));
        assert_eq!(shares.room_for(PeerAddress::Process, quota), Room::InPlaceOf(3));
        shares.withdraw(large, Crowd::Unneeded, 3);
        shares.withdraw(large, Crowd::Unneeded, 4);
        assert_eq!(shares.room_for(large, quota), Room::None);
        assert_eq!(shares.room_for(small, quota), Room::InPlaceOf(1));
        (0..3).for_each(|_| shares.give_back(large));
        assert_eq!((shares.room_for(large, quota), shares.counts()), (Room::Free, (1, 1)));
    }

    #[test]
    fn the_larger_crowd_makes_room_and_what_nobody_needs_does_so_first() {
        let peer = PeerAddress::Process;
        let quota = Quota { total: 9, of_peer: 6 };
        let crowds = [(Crowd::Idle, 1), (Crowd::Away, 2), (Crowd::Away, 3), (Crowd::Unneeded, 4)];
        let mut shares = Shares::default();
        for (crowd, occupant) in crowds.into_iter().chain([(Crowd::Idle, 5), (Crowd::Idle, 6)]) {
            shares.take(peer);
            shares.offer(peer, crowd, occupant);
        }
        for (crowd, occupant) in
            [(Crowd::Unneeded, 4), (Crowd::Idle, 1), (Crowd::Away, 2), (Crowd::Idle, 5)]
        {
            assert_eq!(shares.room_for(peer, quota), Room::InPlaceOf(occupant));
            shares.withdraw(peer, crowd, occupant);
        }
    }
}
