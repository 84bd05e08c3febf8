//! Deletes hosts.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::host_deregistered;
use muster_core::record::NewEvent;

use super::Hosts;
use crate::{OperationError, Result, request_id};

impl Hosts {
    /// Deletes a host.
    pub async fn delete(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<()> {
        let found = self.get(infra_env_id, id).await?;
        let event = host_deregistered(&found, self.now());
        self.delete_with((infra_env_id, id), event).await
    }

    /// The same with another event.
    pub(super) async fn delete_with(
        &self,
        (infra_env_id, id): (InfraEnvId, HostId),
        event: NewEvent,
    ) -> Result<()> {
        let deleted = request_id::naming(&self.store)
            .delete_host(infra_env_id, id, event.at, &[event])
            .await?;
        if !deleted {
            return Err(OperationError::missing_host(infra_env_id, id));
        }
        self.check_ins.forget((infra_env_id, id));
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, "host deleted");
        Ok(())
    }
}
