//! Keeps the certificate signing requests that controllers did not approve, for what REST shows as trouble.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;

/// Most requests that are kept of a cluster.
const MOST: usize = 100;

/// A certificate signing request of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCsr {
    /// Of the CertificateSigningRequest in its cluster.
    pub name: String,
    /// The node that the certificate is for, as the request has it.
    pub node: String,
    /// `client` or `serving`.
    pub kind: &'static str,
    pub since: Option<Timestamp>,
    /// The reason why it is not approved, and what to do.
    pub reason: String,
}

/// The requests of clusters that hosts are joining.
#[derive(Debug, Default)]
pub struct PendingCsrs(Mutex<BTreeMap<ClusterId, OfCluster>>);

#[derive(Debug)]
struct OfCluster {
    requests: Vec<PendingCsr>,
    total: usize,
}

impl PendingCsrs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<ClusterId, OfCluster>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the requests of a cluster, in place of those before.
    pub fn set(&self, cluster: ClusterId, mut requests: Vec<PendingCsr>) {
        let total = requests.len();
        requests.truncate(MOST);
        match total {
            0 => self.all().remove(&cluster),
            _ => self.all().insert(cluster, OfCluster { requests, total }),
        };
    }

    /// Removes the requests of a cluster that is not watched any more.
    pub fn forget(&self, cluster: ClusterId) {
        self.all().remove(&cluster);
    }

    /// The requests of a cluster, and the number of all that it has.
    pub fn of(&self, cluster: ClusterId) -> (Vec<PendingCsr>, usize) {
        let all = self.all();
        all.get(&cluster)
            .map_or_else(Default::default, |of| (of.requests.clone(), of.total))
    }

    /// The requests by cluster, at most `most`, and the number of all. Where there are more, each cluster has its share: one with many
    /// leaves those of the others in.
    pub fn list(&self, most: usize) -> (Vec<(ClusterId, PendingCsr)>, usize) {
        let guard = self.all();
        let all: &BTreeMap<ClusterId, OfCluster> = &guard;
        let total = all.values().map(|of| of.total).sum();
        let in_turn = (0..MOST).flat_map(|place| {
            all.iter()
                .filter_map(move |(cluster, of)| Some((*cluster, of.requests.get(place)?)))
        });
        let mut requests: Vec<(ClusterId, PendingCsr)> = in_turn
            .take(most)
            .map(|(cluster, one)| (cluster, one.clone()))
            .collect();
        requests.sort_by_key(|(cluster, _)| *cluster);
        (requests, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_a_cluster_end_with_its_watch_and_have_a_limit() {
        let pending = PendingCsrs::default();
        let request = |number: usize| PendingCsr {
            name: format!("csr-{number}"),
            node: "worker-0".to_owned(),
            kind: "client",
            since: None,
            reason: "why".to_owned(),
        };
        let (one, two) = (ClusterId::random(), ClusterId::random());
        pending.set(one, (0..MOST + 3).map(request).collect());
        pending.set(two, vec![request(0)]);
        let both: Vec<ClusterId> = pending
            .list(2)
            .0
            .into_iter()
            .map(|(cluster, _)| cluster)
            .collect();
        assert!(both.contains(&one) && both.contains(&two), "{both:?}");
        assert_eq!((pending.of(one).0.len(), pending.of(one).1), (MOST, MOST + 3));
        assert_eq!(pending.of(ClusterId::random()), (Vec::new(), 0));
        let (listed, total) = pending.list(1000);
        assert_eq!((listed.len(), total), (MOST + 1, MOST + 4));
        pending.set(one, Vec::new());
        assert_eq!(pending.list(1000), (vec![(two, request(0))], 1));
        pending.forget(two);
        assert_eq!(pending.list(1000), (Vec::new(), 0));
    }
}
