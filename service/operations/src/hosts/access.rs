//! Reads hosts, and holds what changes of hosts need.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::Host;
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_store::{Store, StoreError};

use super::handover::Pace;
use super::proof::Proofs;
use crate::Result;
use crate::check_ins::CheckIns;
use crate::clusters::Clusters;
use crate::discovery_image::DiscoveryImages;
use crate::error::OperationError;
use crate::hearing::Hearing;
use crate::infra_envs::InfraEnvs;
use crate::inventory_quota::InventoryQuota;
use crate::live_image::LiveImages;
use crate::os_images::OsImages;
use crate::urls::Urls;

/// Time for which a number of hosts is believed.
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// The hosts of the service.
pub struct Hosts {
    pub(super) store: Store,
    pub(super) infra_envs: Arc<InfraEnvs>,
    pub(super) clusters: Arc<Clusters>,
    pub(super) check_ins: Arc<CheckIns>,
    pub(super) hearing: Arc<Hearing>,
    pub(super) images: HostImages,
    pub(super) settings: HostSettings,
    pub(super) proofs: Proofs,
    pub(super) handovers: Pace,
    inventory_quota: InventoryQuota,
    /// Hosts of InfraEnvs, as they were counted lately.
    pub(super) counts: Cache<InfraEnvId, i64>,
}

/// What hosts boot and what is written to their disks, and where they get it.
pub struct HostImages {
    pub urls: Arc<Urls>,
    pub live_images: Arc<LiveImages>,
    pub os_images: Arc<OsImages>,
    pub discovery: Arc<DiscoveryImages>,
}

/// The service's part of what decisions about hosts depend on.
pub struct HostSettings {
    /// Required hardware.
    pub requirements: Requirements,
    /// Version of the agent in the live image.
    pub agent_version: String,
    /// Image that agents of other vendors are told to upgrade to; `None`: they are not told to upgrade.
    pub agent_image: Option<String>,
    /// True: agents of ours become the one of the live image where that is newer.
    pub replaces_agents: bool,
    /// Start of the service: hosts could not poll before.
    pub listening_since: Timestamp,
    /// Container image that agents of other makes install with; `None`: upstream's.
    pub installer_image: Option<String>,
    /// Container image of the controller that they are told; `None`: upstream's.
    pub controller_image: Option<String>,
    /// True: installed nodes run our agent, so that they can be brought back.
    pub node_agent: bool,
    pub limits: WaitLimits,
    /// Hosts of one InfraEnv; further ones are refused.
    pub max_hosts: u32,
    /// Bytes of the inventories of one InfraEnv; large ones are refused beyond.
    pub max_inventories: u64,
}

impl Hosts {
    /// The hosts in `store`.
    pub fn new(
        store: Store,
        infra_envs: Arc<InfraEnvs>,
        clusters: Arc<Clusters>,
        check_ins: Arc<CheckIns>,
        hearing: Arc<Hearing>,
        images: HostImages,
        settings: HostSettings,
    ) -> Self {
        Self {
            store,
            infra_envs,
            clusters,
            check_ins,
            hearing,
            images,
            inventory_quota: InventoryQuota::new(settings.max_inventories),
            settings,
            proofs: Proofs::default(),
            handovers: Pace::default(),
            counts: Cache::builder().time_to_live(COUNTED_FOR).build(),
        }
    }

    /// Version of the agent in the live image.
    pub fn agent_version(&self) -> &str {
        &self.settings.agent_version
    }

    /// Image that agents of other vendors are told to upgrade to.
    pub fn agent_image(&self) -> Option<&str> {
        self.settings.agent_image.as_deref()
    }

    /// Limits of what hosts store.
    pub fn inventory_quota(&self) -> &InventoryQuota {
        &self.inventory_quota
    }

    /// The longest waits for hosts.
    pub fn limits(&self) -> &WaitLimits {
        &self.settings.limits
    }

    /// The present time, as decisions about hosts take it.
    pub fn now(&self) -> Timestamp {
        self.hearing.now()
    }

    /// Start of the service.
    pub fn listening_since(&self) -> Timestamp {
        self.settings.listening_since
    }

    /// One host with its inventory.
    pub async fn find(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Host>, StoreError> {
        self.store.find_host(infra_env_id, id).await
    }

    /// Like [`Self::find`].
    ///
    /// # Errors
    /// [`OperationError::Missing`] when there is none.
    pub async fn get(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Host> {
        let found = self.find(infra_env_id, id).await?;
        found.ok_or_else(|| OperationError::missing_host(infra_env_id, id))
    }

    /// True when the host exists.
    pub async fn exists(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<bool, StoreError> {
        Ok(self.store.find_host_brief(infra_env_id, id).await?.is_some())
    }
}
