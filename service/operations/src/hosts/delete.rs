//! Deletes hosts.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::host_deregistered;
use muster_core::record::{Host, NewEvent};
use muster_store::Subject;

use super::Hosts;
use crate::hosts::check_ins::HostKey;
use crate::retry::retry;
use crate::{OperationError, Result, request_id};

impl Hosts {
    /// Deletes a host.
    pub async fn delete(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<()> {
        let found = self.get(infra_env_id, id).await?;
        let event = host_deregistered(&found, self.now());
        self.delete_with((infra_env_id, id), event).await
    }

    /// Deletes a host as it registered; its latest state does not matter.
    ///
    /// # Errors
    /// [`OperationError::Missing`] also if it was deleted and registered again since `known` was read: then it is another host.
    pub async fn delete_registered(&self, known: &Host) -> Result<()> {
        let subject = Subject::Host {
            infra_env_id: known.infra_env_id,
            id: known.id,
        };
        retry(subject, || Box::pin(self.try_delete(known))).await
    }

    /// `None`: the host has changed since it was read.
    async fn try_delete(&self, known: &Host) -> Result<Option<()>> {
        let found = self.registered(known).await?;
        let event = host_deregistered(&found, self.now());
        let deleted = request_id::naming(&self.store)
            .delete_host_as_read(&found, event.at, &[event])
            .await?;
        if !deleted {
            return Ok(None);
        }
        self.deleted((found.infra_env_id, found.id));
        Ok(Some(()))
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
        self.deleted((infra_env_id, id));
        Ok(())
    }

    fn deleted(&self, (infra_env_id, id): HostKey) {
        self.check_ins.forget((infra_env_id, id));
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, "host deleted");
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use muster_api::ids::HostId;
    use muster_core::lifecycle::host::{HostEvent, Machine};
    use muster_core::record::KubeRef;

    use crate::testing::world::World;

    #[tokio::test]
    async fn what_was_decided_for_a_deleted_host_does_not_concern_the_one_that_registers_again() {
        let world = World::new().await;
        let infra_env_id = world.infra_env("hw", Some(KubeRef::new("lab", "hw"))).await;
        let hosts = &world.operations.hosts;
        let id = HostId::random();
        let register = async || {
            let registered = hosts.register(infra_env_id, id, "agent", Machine::default());
            registered.await.unwrap();
            hosts.get(infra_env_id, id).await.unwrap()
        };
        let first = register().await;
        let approved = HostEvent::Approved(true);
        let changed = hosts.apply_registered(&first, approved.clone()).await.unwrap();
        assert!(changed.data.approved);
        hosts.delete(infra_env_id, id).await.unwrap();
        world.clocks.pass(TimeDelta::seconds(1));
        let second = register().await;
        let refused = hosts.apply_registered(&changed, approved).await.unwrap_err();
        assert!(refused.is_missing(), "{refused}");
        let refused = hosts.delete_registered(&changed).await.unwrap_err();
        assert!(refused.is_missing(), "{refused}");
        let found = hosts.get(infra_env_id, id).await.unwrap();
        assert!(!found.data.approved);
        hosts.delete_registered(&second).await.unwrap();
    }
}
