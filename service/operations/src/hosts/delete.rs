//! Deletes hosts.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::host_deregistered;

use super::Hosts;
use crate::{OperationError, Result, request_id};

impl Hosts {
    /// Deletes a host.
    pub async fn delete(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<()> {
        let found = self.get(infra_env_id, id).await?;
        let now = self.now();
        let events = [host_deregistered(&found, now)];
        let deleted = request_id::naming(&self.store)
            .delete_host(infra_env_id, id, now, &events)
            .await?;
        if !deleted {
            return Err(OperationError::missing_host(infra_env_id, id));
        }
        self.check_ins.forget((infra_env_id, id));
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, "host deleted");
        Ok(())
    }
}
