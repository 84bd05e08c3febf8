//! Requests logs from hosts, and shows the state of the request.

use muster_api::host::{HostLogArchive, HostLogs};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::millis;
use muster_core::lifecycle::host::{self, HostEvent};
use muster_core::record::Host;

use super::Hosts;
use crate::Result;

impl Hosts {
    /// Requests a host's logs with its next poll; a request that is under way stays unchanged.
    ///
    /// # Errors
    /// [`OperationError::Refused`](crate::OperationError::Refused) with the reason if the host would not respond.
    pub async fn ask_for_logs(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<HostLogs> {
        let asked = self.apply(infra_env_id, id, HostEvent::LogsAsked).await?;
        self.shown_logs(&asked).await
    }

    /// The last request for a host's logs, and the stored logs of the host.
    ///
    /// # Errors
    /// [`OperationError::Missing`](crate::OperationError::Missing) if there is no such host.
    pub async fn logs(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<HostLogs> {
        let host = self.get(infra_env_id, id).await?;
        self.shown_logs(&host).await
    }

    async fn shown_logs(&self, host: &Host) -> Result<HostLogs> {
        let infra_env = self.infra_envs.get(host.infra_env_id).await?;
        let environment = self.environment_of(&infra_env, host).await?;
        let kept = self.store.last_log_of_host(host.infra_env_id, host.id).await?;
        let archive = kept.map(|log| HostLogArchive {
            came_at: millis(Some(log.completed_at)),
            size: log.size,
        });
        Ok(host::shown_logs(host, &self.facts(&environment), archive))
    }
}
