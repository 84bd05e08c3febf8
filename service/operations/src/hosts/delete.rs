//! Deletes hosts.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::host::news::host_deregistered;

use super::Hosts;
use super::apply::missing;
use crate::clock::now;
use crate::{Result, request_id};

impl Hosts {
    /// Deletes a host.
    pub async fn delete(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<()> {
        let found = self.find(infra_env_id, id).await?;
        let found = found.ok_or_else(|| missing(infra_env_id, id))?;
        let now = now();
        let events = [host_deregistered(&found, now)];
        let deleted = request_id::naming(&self.store)
            .delete_host(infra_env_id, id, now, &events)
            .await?;
        if !deleted {
            return Err(missing(infra_env_id, id));
        }
        self.check_ins.forget((infra_env_id, id));
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, "host deleted");
        Ok(())
    }
}
