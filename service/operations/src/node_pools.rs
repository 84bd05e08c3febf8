//! Answers about node pools, Machines and where these are placed. The objects are in a Kubernetes API: a [`NodePoolReader`] reads them, with
//! the controllers' client.

mod placed;
mod reader;
mod recent;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join3;
use muster_api::ids::ClusterId;
use muster_api::node_pools::{Controllers, NodePool, NodePoolDetails, NodePools, Placements};
use muster_core::record::KubeRef;
use tokio::time::{Instant, timeout_at};

use crate::bridge::BridgeStatus;
use crate::{Operations, Result};
pub use reader::{AgentSeen, MOST, MachineSeen, MachinesOf, NodePoolReader, Part};
pub(crate) use recent::Recent;

/// Longest time that an answer waits for the Kubernetes API. A page that shows more than node pools waits with it.
const PATIENCE: Duration = Duration::from_secs(10);

impl Operations {
    /// The node pools.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn node_pools(&self) -> Result<NodePools> {
        let (controllers, note) = self.controllers();
        let mut answer = NodePools {
            controllers,
            note,
            ..NodePools::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(answer);
        };
        match in_time(deadline(), reader.node_pools(None)).await {
            Ok(part) => {
                answer.node_pools = part.items;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        self.name_clusters(&mut answer.node_pools).await?;
        Ok(answer)
    }

    /// A node pool with its Machines; `None`: there is no such pool.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn node_pool(&self, name: &KubeRef) -> Result<Option<NodePoolDetails>> {
        let (controllers, note) = self.controllers();
        let mut answer = NodePoolDetails {
            controllers,
            note,
            ..NodePoolDetails::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(Some(answer));
        };
        let until = deadline();
        let mut pools = match in_time(until, reader.node_pools(Some(name))).await {
            Ok(part) => part.items,
            Err(why) => {
                answer.note = why;
                return Ok(Some(answer));
            }
        };
        self.name_clusters(&mut pools).await?;
        let Some(pool) = pools.pop() else {
            return Ok(None);
        };
        let of = MachinesOf::NodePool {
            pool: name.clone(),
            place: pool.machines_namespace.clone(),
        };
        let cluster = KubeRef::new(pool.namespace.clone(), pool.cluster.clone());
        let (machines, problems, quotas) = join3(
            in_time(until, reader.machines(&of)),
            in_time(until, reader.cluster_problems(&cluster)),
            in_time(until, reader.quotas(&pool.machines_namespace)),
        )
        .await;
        match machines {
            Ok(part) => {
                answer.machines = self.placed(part.items).await?;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        // What is missing first is named first.
        let mut missing = |why: String| {
            if answer.note.is_empty() {
                answer.note = why;
            }
        };
        match problems {
            Ok(problems) => answer.cluster_problems = problems,
            Err(why) => missing(why),
        }
        match quotas {
            Ok(quotas) => answer.quotas = quotas,
            Err(why) => missing(why),
        }
        answer.node_pool = Some(pool);
        Ok(Some(answer))
    }

    /// The places of Machines; with `machine` that Machine alone.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn placements(&self, machine: Option<KubeRef>) -> Result<Placements> {
        let (controllers, note) = self.controllers();
        let mut answer = Placements {
            controllers,
            note,
            ..Placements::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(answer);
        };
        let of = machine.map_or(MachinesOf::All, MachinesOf::One);
        match in_time(deadline(), reader.machines(&of)).await {
            Ok(part) => {
                answer.placements = self.placed(part.items).await?;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        Ok(answer)
    }

    /// The place of the controllers, and the reason why what they read is missing; empty: it is not.
    fn controllers(&self) -> (Controllers, String) {
        let status = self.bridge.status();
        let is_readable = self.bridge.node_pools().is_some();
        match status {
            BridgeStatus::Off => (
                Controllers::Off,
                "this service has no Kubernetes API (--kube-api off), so it has no node pools and takes no hosts for Machines".to_owned(),
            ),
            BridgeStatus::Elsewhere => (
                Controllers::Elsewhere,
                "this replica has no access to the Kubernetes API (--kube-api elsewhere): send the request to one that has".to_owned(),
            ),
            BridgeStatus::Following(_) if is_readable => (Controllers::Elsewhere, String::new()),
            BridgeStatus::Following(_) => (
                Controllers::Elsewhere,
                "this replica does not read node pools yet; try again in a few seconds".to_owned(),
            ),
            BridgeStatus::Leading | BridgeStatus::LeadingBut(_) if is_readable => {
                (Controllers::Here, String::new())
            }
            BridgeStatus::Leading
            | BridgeStatus::LeadingBut(_)
            | BridgeStatus::Starting
            | BridgeStatus::LacksKinds(_)
            | BridgeStatus::Waiting(_)
            | BridgeStatus::Unreachable { .. } => (
                Controllers::Here,
                format!("the controllers do not work at present: {status}"),
            ),
        }
    }

    /// Sets the clusters of node pools: that of a HostedCluster has its name, in the namespace of its control plane.
    async fn name_clusters(&self, pools: &mut [NodePool]) -> Result<()> {
        if pools.is_empty() {
            return Ok(());
        }
        let stored = self.clusters.list(false).await?;
        let resources = stored.iter().filter_map(|stored| {
            let cluster = &stored.cluster;
            Some((cluster.kube.clone()?, cluster.id))
        });
        let by_name: HashMap<KubeRef, ClusterId> = resources.collect();
        for pool in pools {
            let name = KubeRef::new(pool.machines_namespace.clone(), pool.cluster.clone());
            pool.cluster_id = by_name.get(&name).copied();
        }
        Ok(())
    }
}

/// The end of the time in which the Kubernetes API must have returned all that an answer needs.
fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// The result of `read`; a sentence for users if it does not come in time.
async fn in_time<T>(until: Instant, read: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout_at(until, read).await.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        Err(format!(
            "the Kubernetes API has not answered within {seconds} s; what it has of node pools is not shown, try again later"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_answer_is_waited_for_once() {
        let began = Instant::now();
        let until = deadline();
        for _ in 0..3 {
            let found = in_time(until, std::future::pending::<Result<(), String>>()).await;
            assert!(found.unwrap_err().contains("within 10 s"));
        }
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
        assert_eq!(in_time(until, async { Ok(1) }).await, Ok(1));
    }
}
