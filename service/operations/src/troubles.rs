//! Finds what needs somebody beside hosts: BMCs, booting machines, certificate signing requests.

use std::collections::HashMap;

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::millis;
use muster_api::troubles::{FailedBmc, PendingRequest, StuckMachine, Troubles};

use crate::bridge::PendingCsr;
use crate::images::boot_requests::{DoubtfulBoots, LISTED};
use crate::{Operations, Result};

/// Most BMCs, machines, and requests in an answer, each.
const MOST: usize = 100;

impl Operations {
    /// The BMCs, booting machines and requests of nodes that need somebody; with `scope` the BMCs and machines of that InfraEnv.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn troubles(&self, scope: Option<InfraEnvId>) -> Result<Troubles> {
        let now = self.now();
        let infra_envs = self.infra_envs_in(scope).await?;
        let names: HashMap<InfraEnvId, &str> = infra_envs.iter().map(|one| (one.id, &*one.name)).collect();
        let failed = self.store.list_failed_bmcs(scope).await?.into_iter();
        // A BMC of a deleted InfraEnv stays until its medium is taken out.
        let bmcs = failed.filter_map(|bmc| {
            Some(FailedBmc {
                infra_env: (*names.get(&bmc.infra_env_id)?).to_owned(),
                id: bmc.id,
                infra_env_id: bmc.infra_env_id,
                name: bmc.name,
                reason: bmc.reason,
            })
        });
        let mut bmcs: Vec<FailedBmc> = bmcs.collect();
        let booting = self.store.infra_envs_with_boot_requests(now - LISTED).await?;
        let mut machines = Vec::new();
        for infra_env in infra_envs.iter().filter(|one| booting.contains(&one.id)) {
            let boots = DoubtfulBoots::of(&self.store, infra_env.id, now).await?;
            if boots.is_empty() {
                continue;
            }
            // Of all hosts only these are read, so a fleet that boots without trouble costs little.
            let index = &self.host_index;
            let hosts = index.possible_machines(infra_env.id, boots.known_by()).await?;
            let stuck = boots.stuck(&self.store, &hosts, now).await?;
            machines.extend(stuck.into_iter().map(|machine| StuckMachine {
                infra_env_id: infra_env.id,
                infra_env: infra_env.name.clone(),
                machine,
            }));
        }
        let (bmcs_total, machines_total) = (bmcs.len(), machines.len());
        bmcs.truncate(MOST);
        machines.truncate(MOST);
        let (certificate_requests, certificate_requests_total) = match scope {
            // They are of clusters, which such a token does not see.
            Some(_) => (Vec::new(), 0),
            None => self.pending_requests().await?,
        };
        Ok(Troubles {
            certificate_requests,
            certificate_requests_total,
            bmcs,
            bmcs_total,
            machines,
            machines_total,
        })
    }

    /// The pending requests of nodes of one cluster, and nothing else.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn troubles_of_cluster(&self, cluster: ClusterId) -> Result<Troubles> {
        let (pending, certificate_requests_total) = self.bridge.requests().of(cluster);
        let pending = pending.into_iter().map(|request| (cluster, request));
        Ok(Troubles {
            certificate_requests: self.named_requests(pending.collect()).await?,
            certificate_requests_total,
            ..Troubles::default()
        })
    }

    /// The certificate signing requests that the controllers here did not approve, and the number of all.
    async fn pending_requests(&self) -> Result<(Vec<PendingRequest>, usize)> {
        let (pending, total) = self.bridge.requests().list(MOST);
        Ok((self.named_requests(pending).await?, total))
    }

    /// Requests with the names of their clusters.
    async fn named_requests(&self, pending: Vec<(ClusterId, PendingCsr)>) -> Result<Vec<PendingRequest>> {
        if pending.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.clusters.list(false).await?;
        let names: HashMap<ClusterId, &str> = stored
            .iter()
            .map(|stored| (stored.cluster.id, stored.cluster.data.name.as_str()))
            .collect();
        let requests = pending.into_iter().map(|(cluster_id, request)| PendingRequest {
            cluster_id,
            cluster: names.get(&cluster_id).copied().unwrap_or_default().to_owned(),
            name: request.name,
            node: request.node,
            kind: request.kind.to_owned(),
            since: request.since.map(|since| millis(Some(since))),
            reason: request.reason,
        });
        Ok(requests.collect())
    }
}
