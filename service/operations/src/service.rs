//! Returns how the service is, for its operators.

use muster_api::service::{Backlog, DatabaseState, ReplicaState, Service};
use muster_api::time::millis;

use crate::{Operations, Result};

/// Characters of a replica's id that are shown.
const ID_LENGTH: usize = 8;

impl Operations {
    /// The service as this replica sees it. `version`: of the program.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn service(&self, version: &str) -> Result<Service> {
        let (bytes, log_bytes) = self.store.sizes().await?;
        let (changes, oldest) = self.store.outbox_backlog().await?;
        let replicas = self.store.list_replicas().await?.into_iter();
        let own = self.outages.replica();
        let replicas = replicas.map(|replica| ReplicaState {
            is_this: replica.id == own,
            id: replica.id.chars().take(ID_LENGTH).collect(),
            seen_at: millis(Some(replica.beat_at)),
            has_left: replica.has_left,
        });
        let coreos = self.discovery.coreos.states();
        Ok(Service {
            version: version.to_owned(),
            agent_version: self.hosts.agent_version().to_owned(),
            at: millis(Some(self.now())),
            replicas: replicas.collect(),
            database: DatabaseState {
                kind: self.store.kind().name().to_owned(),
                bytes,
                log_bytes,
            },
            kubernetes: self.bridge.status().to_string(),
            jobs: self.rounds.describe(),
            live_image: self.live_images.describe().await,
            coreos_images: coreos
                .into_iter()
                .map(|(name, state)| (name.to_owned(), state))
                .collect(),
            backlog: Backlog {
                changes,
                oldest_change_at: oldest.map(|at| millis(Some(at))),
                audit_entries: self.audit.waiting(),
            },
        })
    }
}
