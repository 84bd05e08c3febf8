//! The hosts of a cluster, and a view of the others for one of them that needs no copy.

mod peer;

use std::borrow::Borrow;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use muster_api::ids::HostId;

use crate::record::Peer;
use peer::asked_about;
pub use peer::peer;

/// The hosts of a cluster, sorted by id, with indexes that are computed once for all readers.
#[derive(Debug, Default)]
pub struct Members {
    all: Vec<Peer>,
    /// The hosts in the form of `connectivity-check`, in the same order.
    asked: OnceLock<Vec<String>>,
    indexes: OnceLock<Indexes>,
}

/// Indexes to find hosts by a value. Each host is its place in the list.
#[derive(Debug)]
struct Indexes {
    /// Addresses of network cards.
    address: Index<IpAddr>,
    /// MAC addresses in lower case.
    mac: Index<String>,
    /// Names of hosts that have reported an inventory.
    hostname: Index<String>,
    /// Addresses for which a host received responses from several machines.
    answered_twice: Index<IpAddr>,
}

/// Values with the places of the hosts that have them, sorted.
#[derive(Debug)]
struct Index<K>(Vec<(K, usize)>);

impl<K: Ord> Index<K> {
    /// `values`: of each host.
    fn of<'a, V: IntoIterator<Item = K>>(all: &'a [Peer], values: impl Fn(&'a Peer) -> V) -> Self {
        let hosts = all.iter().enumerate();
        let mut pairs: Vec<_> = hosts
            .flat_map(|(place, peer)| values(peer).into_iter().map(move |value| (value, place)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self(pairs)
    }

    /// The entries of a value.
    fn of_value<Q: Ord + ?Sized>(&self, value: &Q) -> &[(K, usize)]
    where
        K: Borrow<Q>,
    {
        let from = self.0.partition_point(|(has, _)| has.borrow() < value);
        let to = self.0.partition_point(|(has, _)| has.borrow() <= value);
        &self.0[from..to]
    }
}

impl Members {
    fn indexes(&self) -> &Indexes {
        self.indexes.get_or_init(|| Indexes {
            address: Index::of(&self.all, Peer::addresses),
            mac: Index::of(&self.all, |peer| {
                peer.nics.iter().map(|nic| nic.mac.to_ascii_lowercase())
            }),
            hostname: Index::of(&self.all, |peer| {
                peer.has_inventory().then(|| peer.hostname.clone())
            }),
            answered_twice: Index::of(&self.all, |peer| {
                let texts = peer.sees.answered_twice.iter();
                texts.filter_map(|text| text.parse().ok())
            }),
        })
    }

    fn asked(&self) -> &[String] {
        self.asked
            .get_or_init(|| self.all.iter().map(asked_about).collect())
    }

    fn place(&self, id: HostId) -> Option<usize> {
        self.all.binary_search_by_key(&id, |peer| peer.id).ok()
    }
}

impl From<Vec<Peer>> for Members {
    /// `all`: sorted by id.
    fn from(all: Vec<Peer>) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }
}

impl Deref for Members {
    type Target = Vec<Peer>;

    fn deref(&self) -> &Vec<Peer> {
        &self.all
    }
}

impl DerefMut for Members {
    /// Drops the computed indexes.
    fn deref_mut(&mut self) -> &mut Vec<Peer> {
        (self.asked, self.indexes) = Default::default();
        &mut self.all
    }
}

/// The hosts of a cluster but one.
#[derive(Debug, Clone, Copy)]
pub struct Peers<'a> {
    members: &'a Members,
    me: Option<HostId>,
}

impl<'a> Peers<'a> {
    /// All of them.
    pub fn of(members: &'a Members) -> Self {
        Self { members, me: None }
    }

    /// Those without `me`.
    pub fn but(me: HostId, members: &'a Members) -> Self {
        Self {
            members,
            me: Some(me),
        }
    }

    /// Each of them, by id.
    pub fn iter(self) -> impl Iterator<Item = &'a Peer> {
        self.members
            .all
            .iter()
            .filter(move |peer| Some(peer.id) != self.me)
    }

    /// Their number.
    pub fn count(self) -> usize {
        let has_me = self.me.is_some_and(|me| self.members.place(me).is_some());
        self.members.all.len() - usize::from(has_me)
    }

    /// The peer with this id.
    pub fn get(self, id: HostId) -> Option<&'a Peer> {
        if Some(id) == self.me {
            return None;
        }
        self.members.all.get(self.members.place(id)?)
    }

    /// The peer with this id, as a report writes it.
    pub fn find(self, id: &str) -> Option<&'a Peer> {
        self.get(id.parse().ok()?)
    }

    fn at<K>(self, found: &'a [(K, usize)]) -> impl Iterator<Item = &'a Peer> {
        let peers = found.iter().map(|(_, place)| &self.members.all[*place]);
        peers.filter(move |peer| Some(peer.id) != self.me)
    }

    /// Those that have this address.
    pub fn with_address(self, address: IpAddr) -> impl Iterator<Item = &'a Peer> {
        self.at(self.members.indexes().address.of_value(&address))
    }

    /// Those with a network card that has this MAC address, in any case of its letters.
    pub fn with_mac(self, mac: &str) -> impl Iterator<Item = &'a Peer> + use<'a> {
        let mac = mac.to_ascii_lowercase();
        self.at(self.members.indexes().mac.of_value(mac.as_str()))
    }

    /// Those that have reported an inventory and have this name.
    pub fn with_hostname(self, hostname: &str) -> impl Iterator<Item = &'a Peer> + use<'a> {
        self.at(self.members.indexes().hostname.of_value(hostname))
    }

    /// Those that received responses from several machines for this address.
    pub fn answered_twice_for(self, address: IpAddr) -> impl Iterator<Item = &'a Peer> {
        self.at(self.members.indexes().answered_twice.of_value(&address))
    }

    /// Those that a host checks, each with its entry in the argument of `connectivity-check` (JSON): all, where they are `most` or
    /// fewer, else the nearest ones by id in a ring, half of them on each side. Two hosts are neighbours of each other or not at all, so
    /// both directions of a link are checked; ids are random, so neighbours are in all racks.
    pub fn neighbours(self, most: usize) -> impl Iterator<Item = (&'a Peer, &'a str)> {
        let all = &self.members.all;
        let place = self.me.and_then(|me| self.members.place(me)).unwrap_or_default();
        let (from, count) = match self.count() <= most {
            true => (0, all.len()),
            false => (place + all.len() - most / 2, most / 2 * 2 + 1),
        };
        let texts = self.members.asked();
        let places = (from..from + count).map(|at| at % all.len());
        let found = places.map(move |at| (&all[at], texts[at].as_str()));
        found.filter(move |(peer, _)| Some(peer.id) != self.me)
    }
}

#[cfg(test)]
mod tests {
    use muster_api::host::{HostRole, HostStatus};
    use muster_api::steps::{ConnectivityCheckHost, ConnectivityCheckNic};

    use super::*;
    use crate::record::Sees;

    fn peer(n: u128) -> Peer {
        Peer {
            id: HostId(uuid::Uuid::from_u128(n)),
            status: HostStatus::Known,
            role: HostRole::Worker,
            hostname: format!("worker-{n}"),
            nics: Vec::new(),
            clock_offset_secs: None,
            sees: Sees::default(),
        }
    }

    #[test]
    fn a_host_is_none_of_its_peers() {
        let all = Members::from(vec![peer(1), peer(2), peer(3)]);
        let (me, other) = (all[1].id, all[0].id);
        let peers = Peers::but(me, &all);
        assert_eq!(peers.count(), 2);
        assert_eq!(peers.iter().filter(|peer| peer.id == me).count(), 0);
        assert!(peers.find(&me.to_string()).is_none());
        assert_eq!(peers.find(&other.to_string()), Some(&all[0]));
        assert_eq!(peers.find("nobody"), None);
        for (peer, text) in peers.neighbours(2) {
            let entry: ConnectivityCheckHost = serde_json::from_str(text).unwrap();
            assert_eq!(entry.host_id, peer.id.to_string());
        }
        let ids: Vec<HostId> = peers.neighbours(2).map(|(peer, _)| peer.id).collect();
        assert_eq!(ids, [all[0].id, all[2].id]);
        assert_eq!(Peers::of(&all).count(), 3);
        assert_eq!(Peers::but(HostId(uuid::Uuid::from_u128(9)), &all).count(), 3);
        assert_eq!(Peers::of(&Members::default()).count(), 0);
    }

    #[test]
    fn neighbours_are_in_a_ring_and_mutual() {
        let all = Members::from((1..=11).map(peer).collect::<Vec<_>>());
        let of = |n: u128| -> Vec<u128> {
            let peers = Peers::but(HostId(uuid::Uuid::from_u128(n)), &all);
            peers.neighbours(4).map(|(peer, _)| peer.id.0.as_u128()).collect()
        };
        assert_eq!(of(6), [4, 5, 7, 8]);
        assert_eq!(of(1), [10, 11, 2, 3]);
        assert_eq!(of(10), [8, 9, 11, 1]);
        for one in 1..=11 {
            assert!(of(one).iter().all(|other| of(*other).contains(&one)), "{one}");
        }
    }

    #[test]
    fn peers_are_found_by_what_they_have_until_that_changes() {
        let mut all = Members::from(vec![peer(1), peer(2), peer(3)]);
        let [me, first, third] = [1, 0, 2].map(|place| all[place].id);
        let address: IpAddr = "2001:db8::7".parse().unwrap();
        for (place, mac) in [
            (0, "52:54:00:AA:00:01"),
            (1, "52:54:00:aa:00:02"),
            (2, "52:54:00:aa:00:01"),
        ] {
            all[place].nics = vec![ConnectivityCheckNic {
                name: "eth0".into(),
                mac: mac.into(),
                ip_addresses: vec!["2001:DB8:0::7".into(), "nowhere".into(), "2001:db8::7".into()],
            }];
        }
        all[2].hostname = "worker-1".into();
        all[2].sees.answered_twice = vec!["2001:db8::7".into()];
        let peers = Peers::but(me, &all);
        let ids = |found: Vec<&Peer>| -> Vec<HostId> { found.iter().map(|peer| peer.id).collect() };
        assert_eq!(ids(peers.with_address(address).collect()), [first, third]);
        assert_eq!(ids(peers.with_mac("52:54:00:aa:00:01").collect()), [first, third]);
        assert_eq!(ids(peers.with_mac("52:54:00:AA:00:02").collect()), []);
        assert_eq!(ids(peers.with_hostname("worker-1").collect()), [first, third]);
        assert_eq!(ids(peers.answered_twice_for(address).collect()), [third]);
        all[0].nics.clear();
        let peers = Peers::but(me, &all);
        assert_eq!(ids(peers.with_address(address).collect()), [third]);
        assert_eq!(ids(peers.with_hostname("worker-1").collect()), [third]);
    }
}
