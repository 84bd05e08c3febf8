//! Keeps the list of all node pools for a moment: pages that show it are loaded again with each change of a host, for each of their visitors.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::node_pools::{NamespaceQuota, NodePool, ResourceProblem};
use muster_core::record::KubeRef;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::reader::{MachineSeen, MachinesOf, NodePoolReader, Part};

/// Time for which the list is kept.
const KEPT: Duration = Duration::from_secs(3);

type Pools = Result<Part<NodePool>, String>;

/// A reader that reads the list of all node pools once at a time, and keeps it. All else is read each time.
pub(crate) struct Recent {
    reader: Arc<dyn NodePoolReader>,
    /// With the time at which it was read.
    pools: Mutex<Option<(Instant, Pools)>>,
}

impl Recent {
    pub(crate) fn new(reader: Arc<dyn NodePoolReader>) -> Self {
        Self {
            reader,
            pools: Mutex::new(None),
        }
    }

    async fn all_pools(&self) -> Pools {
        let mut kept = self.pools.lock().await;
        if let Some((at, pools)) = kept.as_ref()
            && at.elapsed() < KEPT
        {
            return pools.clone();
        }
        let pools = self.reader.node_pools(None).await;
        *kept = Some((Instant::now(), pools.clone()));
        pools
    }
}

impl NodePoolReader for Recent {
    fn node_pools<'a>(&'a self, name: Option<&'a KubeRef>) -> BoxFuture<'a, Pools> {
        match name {
            None => self.all_pools().boxed(),
            Some(_) => self.reader.node_pools(name),
        }
    }

    fn cluster_problems<'a>(
        &'a self,
        name: &'a KubeRef,
    ) -> BoxFuture<'a, Result<Vec<ResourceProblem>, String>> {
        self.reader.cluster_problems(name)
    }

    fn machines<'a>(&'a self, of: &'a MachinesOf) -> BoxFuture<'a, Result<Part<MachineSeen>, String>> {
        self.reader.machines(of)
    }

    fn quotas<'a>(&'a self, machines: &'a str) -> BoxFuture<'a, Result<Vec<NamespaceQuota>, String>> {
        self.reader.quotas(machines)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// Returns a pool with the number of its reads.
    #[derive(Default)]
    struct Counting(AtomicI64);

    impl NodePoolReader for Counting {
        fn node_pools<'a>(&'a self, _name: Option<&'a KubeRef>) -> BoxFuture<'a, Pools> {
            let there = self.0.fetch_add(1, Ordering::SeqCst);
            let pool = NodePool {
                there,
                ..NodePool::default()
            };
            let part = Part {
                items: vec![pool],
                more: false,
            };
            async move { Ok(part) }.boxed()
        }

        fn cluster_problems<'a>(
            &'a self,
            _name: &'a KubeRef,
        ) -> BoxFuture<'a, Result<Vec<ResourceProblem>, String>> {
            async { Ok(Vec::new()) }.boxed()
        }

        fn machines<'a>(&'a self, _of: &'a MachinesOf) -> BoxFuture<'a, Result<Part<MachineSeen>, String>> {
            async { Ok(Part::default()) }.boxed()
        }

        fn quotas<'a>(&'a self, _machines: &'a str) -> BoxFuture<'a, Result<Vec<NamespaceQuota>, String>> {
            async { Ok(Vec::new()) }.boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_list_is_read_once_for_all_who_read_it_in_a_moment() {
        let recent = Recent::new(Arc::new(Counting::default()));
        let read = async |name: Option<&KubeRef>| recent.node_pools(name).await.unwrap().items[0].there;
        assert_eq!((read(None).await, read(None).await), (0, 0));
        assert_eq!(read(Some(&KubeRef::new("lab", "one"))).await, 1);
        tokio::time::advance(KEPT).await;
        assert_eq!((read(None).await, read(None).await), (2, 2));
    }
}
