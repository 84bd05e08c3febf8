//! Finds what needs somebody beside hosts: BMCs and booting machines.

use std::collections::HashMap;

use muster_api::ids::InfraEnvId;
use muster_api::troubles::{FailedBmc, StuckMachine, Troubles};

use crate::images::boot_requests::{DoubtfulBoots, LISTED};
use crate::{Operations, Result};

/// Most BMCs, and most machines, in an answer.
const MOST: usize = 100;

impl Operations {
    /// The BMCs and booting machines that need somebody; with `scope` those of that InfraEnv.
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
        Ok(Troubles {
            bmcs,
            bmcs_total,
            machines,
            machines_total,
        })
    }
}
