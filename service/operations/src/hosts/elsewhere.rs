//! Finds the other records that a machine has, most of them in other InfraEnvs, before its disks are erased or its power is switched for its sleep.

use muster_api::inventory::Inventory;
use muster_core::lifecycle::host::{HostEvent, SleepEvent};
use muster_core::record::{CleaningStage, Host};
use muster_core::rules::identity;
use muster_store::{HostBrief, StoreError};

use super::Hosts;
use crate::Result;

/// Most network cards that are looked for.
const MAX_CARDS: usize = 8;

impl Hosts {
    /// The name of an InfraEnv through which the machine of `host` is in a cluster as another record, by its id or one of its network cards:
    /// what is on its disk is that cluster's, and what runs on it as well. `None` also for a host for which that decides nothing: then nothing
    /// is read.
    pub(super) async fn in_cluster_through(
        &self,
        host: &Host,
        event: &HostEvent,
    ) -> Result<Option<String>, StoreError> {
        if host.cluster_id.is_some() || !(erases(host, event) || switches(host, event)) {
            return Ok(None);
        }
        let inventory = match event {
            HostEvent::InventoryReported(inventory) => Some(inventory),
            _ => host.inventory.as_deref(),
        };
        self.through_another(host, inventory).await
    }

    /// The same at any time, also of a host that was bound meanwhile.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn node_through_another(&self, host: &Host) -> Result<Option<String>> {
        Ok(self.through_another(host, host.inventory.as_deref()).await?)
    }

    async fn through_another(
        &self,
        host: &Host,
        inventory: Option<&Inventory>,
    ) -> Result<Option<String>, StoreError> {
        let mut others = self.store.find_hosts_of_id(host.id).await?;
        let cards = inventory.map(identity::macs).unwrap_or_default();
        for mac in cards.iter().take(MAX_CARDS) {
            others.extend(self.store.find_hosts_by_mac(None, mac).await?);
        }
        let is_elsewhere = |other: &&HostBrief| {
            (other.infra_env_id, other.id) != (host.infra_env_id, host.id) && other.cluster_id.is_some()
        };
        let Some(other) = others.iter().find(is_elsewhere) else {
            return Ok(None);
        };
        let infra_env = self.infra_envs.find(other.infra_env_id).await?;
        let name = infra_env.map_or_else(
            || other.infra_env_id.to_string(),
            |infra_env| infra_env.name.clone(),
        );
        Ok(Some(if other.id == host.id {
            name
        } else {
            format!("{name} as the host {}", other.id)
        }))
    }
}

/// True for a host whose disks are, or are about to be, erased.
fn erases(host: &Host, event: &HostEvent) -> bool {
    let pending = host.data.cleaning.as_ref();
    let is_pending = pending.is_some_and(|pending| !matches!(pending.stage, CleaningStage::Failed { .. }));
    is_pending || *event == HostEvent::ErasureRetried
}

/// True for events after which the power of the machine is switched for its sleep.
fn switches(host: &Host, event: &HostEvent) -> bool {
    match event {
        HostEvent::Sleep(SleepEvent::Asked(_)) => true,
        HostEvent::Sleep(SleepEvent::WakeAsked { .. }) | HostEvent::Bound { .. } => host.data.sleep.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::ids::{ClusterId, HostId, InfraEnvId};
    use muster_api::inventory::{Interface, Inventory};
    use muster_core::lifecycle::host::{HostEvent, Machine, SleepAsked, SleepEvent};
    use muster_core::record::{Cleaning, CleaningStage, Host, SleepCause};

    use crate::testing::world::World;

    async fn record(world: &World, pool: InfraEnvId, id: HostId, cluster: Option<ClusterId>) -> Host {
        let hosts = &world.operations.hosts;
        hosts
            .register(pool, id, "agent", Machine::default())
            .await
            .unwrap();
        let mut host = hosts.get(pool, id).await.unwrap();
        host.cluster_id = cluster;
        world.operations.store.save_host(&host, None, &[]).await.unwrap();
        hosts.get(pool, id).await.unwrap()
    }

    fn waiting(world: &World) -> Cleaning {
        Cleaning {
            id: "1".into(),
            since: world.operations.now(),
            attempt: 1,
            settings: Default::default(),
            stage: CleaningStage::Waiting { why: String::new() },
            restarts: 0,
            awaits_disk: false,
            disks: Vec::new(),
        }
    }

    #[tokio::test]
    async fn a_machine_in_a_cluster_through_another_infra_env_is_found() {
        let world = World::new().await;
        let (pool, other) = (
            world.infra_env("hw", None).await,
            world.infra_env("other", None).await,
        );
        let id = HostId::random();
        let mut left = record(&world, pool, id, None).await;
        let cluster = world.cluster().await;
        record(&world, other, id, Some(cluster)).await;
        let hosts = &world.operations.hosts;
        let event = HostEvent::CheckedIn;
        assert_eq!(
            hosts.in_cluster_through(&left, &event).await.unwrap(),
            None,
            "nothing is to be erased or switched"
        );
        let sleeps = HostEvent::Sleep(SleepEvent::Asked(SleepAsked {
            bmc: "r1u7".into(),
            cause: SleepCause::Idle,
        }));
        let found = hosts.in_cluster_through(&left, &sleeps).await.unwrap();
        assert_eq!(found.as_deref(), Some("other"));
        assert_eq!(
            hosts.node_through_another(&left).await.unwrap().as_deref(),
            Some("other")
        );
        left.data.cleaning = Some(waiting(&world));
        let found = hosts.in_cluster_through(&left, &event).await.unwrap();
        assert_eq!(found.as_deref(), Some("other"));
        left.id = HostId::random();
        assert_eq!(hosts.in_cluster_through(&left, &event).await.unwrap(), None);
        left.infra_env_id = other;
        left.id = id;
        let found = hosts.in_cluster_through(&left, &event).await.unwrap();
        assert_eq!(found, None, "the record is the machine's own");
    }

    #[tokio::test]
    async fn a_machine_in_a_cluster_as_another_host_of_its_infra_env_is_found_by_its_card() {
        let world = World::new().await;
        let pool = world.infra_env("hw", None).await;
        let cluster = world.cluster().await;
        let inventory = Inventory {
            interfaces: vec![Interface {
                name: "eth0".into(),
                kind: "physical".into(),
                mac_address: "3C:EC:EF:00:00:07".into(),
                ..Interface::default()
            }],
            ..Inventory::default()
        };
        let other = HostId::random();
        let mut node = record(&world, pool, other, None).await;
        node.inventory = Some(Arc::new(inventory.clone()));
        node.cluster_id = Some(cluster);
        world.operations.store.save_host(&node, None, &[]).await.unwrap();
        let mut left = record(&world, pool, HostId::random(), None).await;
        left.data.cleaning = Some(waiting(&world));
        let hosts = &world.operations.hosts;
        let event = HostEvent::InventoryReported(inventory);
        let found = hosts.in_cluster_through(&left, &event).await.unwrap();
        assert_eq!(found, Some(format!("hw as the host {other}")));
    }
}
