//! Restores hosts from their Agent resources.

use muster_core::lifecycle::host::HostEvent;
use muster_core::record::Host;
use muster_store::{HistoryEntry, StoreError};

use super::Hosts;
use crate::{Result, request_id};

impl Hosts {
    /// Stores a host that an Agent resource describes, and validates it. `None`: the host exists by now, or its cluster or
    /// InfraEnv does not.
    pub async fn restore(&self, host: Host) -> Result<Option<Host>> {
        let (infra_env_id, id) = (host.infra_env_id, host.id);
        let history = HistoryEntry {
            at: self.now(),
            who: "agent".into(),
            event: "restoration".into(),
            from: None,
            to: host.state.status(),
            reason: host.data.status_info.clone(),
        };
        let inserted = request_id::naming(&self.store)
            .insert_host(&host, &history, &[])
            .await;
        match inserted {
            Ok(_) => {}
            Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, to = host.state.status().name(), "host restored from its Agent");
        let event = HostEvent::FactsChanged;
        self.apply(infra_env_id, id, event).await.map(Some)
    }
}
