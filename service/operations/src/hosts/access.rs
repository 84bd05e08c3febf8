//! Reads hosts, and holds the parts that changes of hosts need.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::Host;
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_store::{Store, StoreError};
use tokio::sync::Mutex;

use super::handover::Pace;
use super::proof::Proofs;
use crate::Result;
use crate::clusters::Clusters;
use crate::error::OperationError;
use crate::hosts::check_ins::CheckIns;
use crate::images::discovery::DiscoveryImages;
use crate::images::live::LiveImages;
use crate::images::os::OsImages;
use crate::infra_envs::InfraEnvs;
use crate::limits::inventories::InventoryQuota;
use crate::time::outages::Outages;
use crate::urls::Urls;

/// Time for which a count of hosts is used.
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// Time for which unused locks of an InfraEnv are kept.
const TURNS_KEPT: Duration = Duration::from_secs(600);

/// The hosts of the service.
pub struct Hosts {
    pub(super) store: Store,
    pub(super) infra_envs: Arc<InfraEnvs>,
    pub(super) clusters: Arc<Clusters>,
    pub(super) check_ins: Arc<CheckIns>,
    pub(super) outages: Arc<Outages>,
    pub(super) images: HostImages,
    pub(super) settings: HostSettings,
    pub(super) proofs: Proofs,
    pub(super) handovers: Pace,
    inventory_quota: InventoryQuota,
    /// Recent counts of the hosts of InfraEnvs.
    pub(super) counts: Cache<InfraEnvId, i64>,
    /// Locks for storing a new host of an InfraEnv, if the hosts are counted for each registration.
    pub(super) turns: Cache<InfraEnvId, Arc<Mutex<()>>>,
}

/// The images that hosts boot and that are written to their disks, with their sources.
pub struct HostImages {
    pub urls: Arc<Urls>,
    pub live_images: Arc<LiveImages>,
    pub os_images: Arc<OsImages>,
    pub discovery: Arc<DiscoveryImages>,
}

/// The service's settings for decisions about hosts.
pub struct HostSettings {
    /// Required hardware.
    pub requirements: Requirements,
    /// Version of the agent in the live image.
    pub agent_version: String,
    /// Image that agents of other vendors have to upgrade to; `None`: they keep their own.
    pub agent_image: Option<String>,
    /// True: our agents replace themselves by the live image's agent if it is newer.
    pub replaces_agents: bool,
    /// Start of the service: hosts could not poll before.
    pub listening_since: Timestamp,
    /// Container image that agents of other makes install with; `None`: upstream's.
    pub installer_image: Option<String>,
    /// Container image of the controller in their install step; `None`: upstream's.
    pub controller_image: Option<String>,
    /// True: installed nodes run our agent, so that they can be brought back.
    pub node_agent: bool,
    pub limits: WaitLimits,
    /// Most hosts of one InfraEnv; further ones are refused.
    pub max_hosts: u32,
    /// Most bytes of the inventories of one InfraEnv; above, large ones are refused.
    pub max_inventories: u64,
}

impl Hosts {
    /// The hosts in `store`.
    pub fn new(
        store: Store,
        infra_envs: Arc<InfraEnvs>,
        clusters: Arc<Clusters>,
        check_ins: Arc<CheckIns>,
        outages: Arc<Outages>,
        images: HostImages,
        settings: HostSettings,
    ) -> Self {
        Self {
            store,
            infra_envs,
            clusters,
            check_ins,
            outages,
            images,
            inventory_quota: InventoryQuota::new(settings.max_inventories),
            settings,
            proofs: Proofs::default(),
            handovers: Pace::default(),
            counts: Cache::builder().time_to_live(COUNTED_FOR).build(),
            turns: Cache::builder().time_to_idle(TURNS_KEPT).build(),
        }
    }

    /// Version of the agent in the live image.
    pub fn agent_version(&self) -> &str {
        &self.settings.agent_version
    }

    /// Image that agents of other vendors have to upgrade to.
    pub fn agent_image(&self) -> Option<&str> {
        self.settings.agent_image.as_deref()
    }

    /// Limits of stored inventories.
    pub fn inventory_quota(&self) -> &InventoryQuota {
        &self.inventory_quota
    }

    /// The longest waits for hosts.
    pub fn limits(&self) -> &WaitLimits {
        &self.settings.limits
    }

    /// The present time for decisions about hosts.
    pub fn now(&self) -> Timestamp {
        self.outages.now()
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
