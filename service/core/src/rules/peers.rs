//! The other hosts of a cluster, as one of them sees them: without a copy of them for each.

use muster_api::ids::HostId;

use crate::record::Peer;
use crate::rules::peer::asked_about;

/// The hosts of a cluster but one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peers<'a> {
    /// Sorted by id.
    all: &'a [Peer],
    /// As `connectivity-check` names them, in the same order; empty: not rendered yet.
    asked: &'a [String],
    me: Option<HostId>,
}

impl<'a> Peers<'a> {
    /// These, sorted by id.
    pub fn of(all: &'a [Peer]) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    /// The hosts of a cluster without `me`. `asked`: each as [`asked_about`] renders it.
    pub fn but(me: HostId, all: &'a [Peer], asked: &'a [String]) -> Self {
        Self {
            all,
            asked,
            me: Some(me),
        }
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = &'a Peer> {
        self.all.iter().filter(move |peer| Some(peer.id) != self.me)
    }

    /// Their number.
    pub fn count(self) -> usize {
        let has_me = self.me.is_some_and(|me| position(self.all, me).is_some());
        self.all.len() - usize::from(has_me)
    }

    /// The peer with this id, as a report writes it.
    pub fn find(self, id: &str) -> Option<&'a Peer> {
        let id: HostId = id.parse().ok()?;
        if Some(id) == self.me {
            return None;
        }
        self.all.get(position(self.all, id)?)
    }

    /// The argument of `connectivity-check` about those that `are_asked`: a list as JSON text.
    pub fn asked(self, are_asked: impl Fn(&Peer) -> bool) -> String {
        let mut list = String::from("[");
        for (index, peer) in self.all.iter().enumerate() {
            if Some(peer.id) == self.me || !are_asked(peer) {
                continue;
            }
            if list.len() > 1 {
                list.push(',');
            }
            match self.asked.get(index) {
                Some(text) => list.push_str(text),
                None => list.push_str(&asked_about(peer)),
            }
        }
        list.push(']');
        list
    }
}

fn position(all: &[Peer], id: HostId) -> Option<usize> {
    all.binary_search_by_key(&id, |peer| peer.id).ok()
}

#[cfg(test)]
mod tests {
    use muster_api::host::{HostRole, HostStatus};
    use muster_api::steps::ConnectivityCheckHost;

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
        let all = [peer(1), peer(2), peer(3)];
        let asked: Vec<String> = all.iter().map(asked_about).collect();
        let (me, other) = (all[1].id, all[0].id);
        for peers in [Peers::but(me, &all, &asked), Peers::but(me, &all, &[])] {
            assert_eq!(peers.count(), 2);
            assert_eq!(peers.iter().filter(|peer| peer.id == me).count(), 0);
            assert!(peers.find(&me.to_string()).is_none());
            assert_eq!(peers.find(&other.to_string()), Some(&all[0]));
            assert_eq!(peers.find("nobody"), None);
            let list: Vec<ConnectivityCheckHost> = serde_json::from_str(&peers.asked(|_| true)).unwrap();
            let ids: Vec<String> = list.into_iter().map(|host| host.host_id).collect();
            assert_eq!(ids, [all[0].id.to_string(), all[2].id.to_string()]);
            assert_eq!(peers.asked(|_| false), "[]");
        }
        assert_eq!(Peers::of(&all).count(), 3);
        assert_eq!(
            Peers::but(HostId(uuid::Uuid::from_u128(9)), &all, &asked).count(),
            3
        );
    }
}
