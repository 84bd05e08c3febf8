//! Wires the operations of one service together.

use std::path::PathBuf;
use std::sync::Arc;

use muster_api::boot::BootingMachine;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{BmcLimits, InfraEnv, KubeRef};
use muster_core::rules::os_image::{OsImage, check_offered};
use muster_store::{Kind, Store};

use crate::audit::Audit;
use crate::auth::{Auth, OperatorTokens, Sessions};
use crate::bmcs::Bmcs;
use crate::bridge::{BridgeState, NotApproved};
use crate::changes::Changes;
use crate::changes::log::ChangeLog;
use crate::clusters::Clusters;
use crate::disk::Disk;
use crate::events::Events;
use crate::host_jobs::HostJobs;
use crate::hosts::check_ins::CheckIns;
use crate::hosts::{Connectivity, HostImages, HostIndex, HostSettings, Hosts};
use crate::images::boot_digests::BootDigests;
use crate::images::boot_requests::{BootAnswer, BootNotes, BootRequest, booting_machines};
use crate::images::cache::MadeImages;
use crate::images::coreos::CoreOsImages;
use crate::images::discovery::DiscoveryImages;
use crate::images::live::LiveImages;
use crate::images::mounted_media::MountedMedia;
use crate::images::options::ImageOptions;
use crate::images::os::OsImages;
use crate::infra_envs::InfraEnvs;
use crate::jobs::retention::Retention;
use crate::jobs::rounds::Rounds;
use crate::limits::events::EventQuota;
use crate::logs::Logs;
use crate::records::{StatementCounts, StoreError};
use crate::resources::Resources;
use crate::time::clock::Clock;
use crate::time::outages::Outages;
use crate::urls::Urls;
use crate::{Result, chain};

/// The operations of a service and their shared state. Callers clone the parts that they use.
pub struct Operations {
    pub(crate) store: Store,
    /// The one writer of hosts.
    pub hosts: Arc<Hosts>,
    /// Searches hosts.
    pub host_index: HostIndex,
    /// Which hosts reach each other.
    pub connectivity: Connectivity,
    /// Jobs over many hosts, in this process.
    pub(crate) host_jobs: HostJobs,
    /// InfraEnvs, cached.
    pub infra_envs: Arc<InfraEnvs>,
    /// Clusters, cached.
    pub clusters: Arc<Clusters>,
    /// BMCs through which machines are booted.
    pub bmcs: Arc<Bmcs>,
    /// The last poll of each host.
    pub check_ins: Arc<CheckIns>,
    /// Files that machines fetched to boot from.
    pub(crate) boot_notes: BootNotes,
    /// For how long things are kept.
    pub retention: Retention,
    /// The disk that the database is on, where that is known.
    pub disk: Option<Disk>,
    /// Logs of hosts and installation controllers.
    pub logs: Logs,
    /// Events of hosts, InfraEnvs and clusters.
    pub events: Events,
    /// Who requested which change.
    pub audit: Arc<Audit>,
    /// Times of the jobs' last rounds.
    pub rounds: Rounds,
    /// Tracks the reception of polls.
    pub outages: Arc<Outages>,
    /// Records that changed.
    pub changes: Changes,
    /// The last changes, for clients that follow them.
    pub change_log: Arc<ChangeLog>,
    /// Tokens.
    pub auth: Arc<Auth>,
    /// Which operators' tokens are in force.
    pub operator_tokens: OperatorTokens,
    /// Sessions of operators in browsers.
    pub sessions: Sessions,
    /// Limits of events from hosts.
    pub event_quota: EventQuota,
    /// URLs of the service.
    pub urls: Arc<Urls>,
    /// The live image.
    pub live_images: Arc<LiveImages>,
    /// The images that hosts are discovered with.
    pub discovery: Arc<DiscoveryImages>,
    /// Images that were made of them for InfraEnvs.
    pub(crate) made_images: MadeImages,
    pub(crate) boot_digests: BootDigests,
    pub(crate) mounted_media: MountedMedia,
    /// Images that are written to disks.
    pub os_images: Arc<OsImages>,
    /// State of the custom-resource bridge.
    pub bridge: Arc<BridgeState>,
    /// The service's options in images.
    pub image_options: Arc<ImageOptions>,
    /// Versions that are offered, oldest first; any other is accepted, too.
    pub openshift_versions: Vec<String>,
}

/// The operator's settings.
pub struct OperationSettings {
    /// Settings of decisions about hosts.
    pub hosts: HostSettings,
    /// As in [`Operations`].
    pub urls: Urls,
    /// As in [`Operations`].
    pub image_options: ImageOptions,
    /// As in [`Operations`].
    pub openshift_versions: Vec<String>,
    /// Images that are written to disks, and live ISOs.
    pub os_images: Vec<OsImage>,
    /// The folder for live ISOs that are downloaded.
    pub downloaded_images: PathBuf,
    /// For how long things are kept.
    pub retention: Retention,
    /// As in [`Operations`].
    pub disk: Option<Disk>,
    /// Time limits of the phases of discoveries through BMCs.
    pub bmcs: BmcLimits,
    /// The clocks for decisions about hosts.
    pub clock: Arc<dyn Clock>,
}

impl Operations {
    /// The operations on `store`.
    pub fn new(
        store: Store,
        auth: Auth,
        live_images: LiveImages,
        bridge: BridgeState,
        settings: OperationSettings,
    ) -> Self {
        let auth = Arc::new(auth);
        let clusters = Arc::new(Clusters::new(store.clone()));
        let check_ins = Arc::new(CheckIns::default());
        let silence = settings.hosts.limits.silence();
        let since = settings.hosts.listening_since;
        let outages = Arc::new(Outages::new(
            (settings.clock, check_ins.clone()),
            store.kind() == Kind::Sqlite,
            silence,
            since,
        ));
        let (urls, live_images) = (Arc::new(settings.urls), Arc::new(live_images));
        let coreos = CoreOsImages::new(&settings.os_images, settings.downloaded_images);
        let os_images = Arc::new(OsImages::new(settings.os_images));
        let discovery = DiscoveryImages::new(live_images.clone(), coreos, os_images.clone());
        let discovery = Arc::new(discovery);
        let infra_envs = Arc::new(InfraEnvs::new(store.clone(), os_images.clone()));
        let images = HostImages {
            urls: urls.clone(),
            live_images: live_images.clone(),
            os_images: os_images.clone(),
            discovery: discovery.clone(),
        };
        let hosts = Hosts::new(
            store.clone(),
            infra_envs.clone(),
            clusters.clone(),
            check_ins.clone(),
            outages.clone(),
            images,
            settings.hosts,
        );
        let hosts = Arc::new(hosts);
        let change_log = ChangeLog::of(&store);
        let host_index = HostIndex::new(hosts.clone(), change_log.clone());
        Self {
            bmcs: Arc::new(Bmcs::new(store.clone(), settings.bmcs)),
            changes: Changes::of(&store),
            connectivity: Connectivity::new(hosts.clone()),
            host_index,
            change_log,
            host_jobs: HostJobs::default(),
            hosts,
            infra_envs,
            clusters,
            check_ins,
            boot_notes: BootNotes::default(),
            outages,
            logs: Logs::new(store.clone(), settings.disk.clone(), settings.retention.log_bytes),
            events: Events::new(store.clone()),
            audit: Arc::new(Audit::new(store.clone(), settings.retention.audit)),
            retention: settings.retention,
            disk: settings.disk,
            rounds: Rounds::default(),
            operator_tokens: OperatorTokens::new(store.clone()),
            sessions: Sessions::new(store.clone(), auth.clone()),
            auth,
            event_quota: EventQuota::default(),
            urls,
            live_images,
            discovery,
            made_images: MadeImages::default(),
            boot_digests: BootDigests::default(),
            mounted_media: MountedMedia::default(),
            os_images,
            bridge: Arc::new(bridge),
            image_options: Arc::new(settings.image_options),
            openshift_versions: settings.openshift_versions,
            store,
        }
    }

    /// Reads a row: fails when the database is connected but does not respond.
    pub async fn ping_database(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }

    /// Number of uses of the database since it was opened.
    pub fn statement_counts(&self) -> StatementCounts {
        self.store.statement_counts()
    }

    /// Deletes a cluster and releases its hosts.
    pub async fn delete_cluster(&self, id: ClusterId) -> Result<()> {
        self.clusters.delete(id).await?;
        // Failures are repeated from the outbox.
        if let Err(error) = self.hosts.cluster_changed(id).await {
            tracing::warn!(cluster.id = %id, error = chain(&error), "its hosts could not be released at once; trying again");
        }
        Ok(())
    }

    /// Approves a host, or takes its approval back.
    ///
    /// # Errors
    /// [`OperationError::Missing`](crate::OperationError::Missing); [`NotApproved`].
    pub async fn approve(&self, infra_env_id: InfraEnvId, host: HostId, approved: bool) -> Result<()> {
        let found = self.hosts.get(infra_env_id, host).await?;
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let (agent, resources) = self.approval_of(&infra_env, found.id, approved)?;
        match resources.approve(&agent, approved).await {
            Ok(true) => {
                tracing::info!(host.id = %host, infra_env.id = %infra_env_id, approved, "approval set by REST");
                Ok(())
            }
            Ok(false) => Err(NotApproved::NoAgent { agent }.into()),
            Err(why) => Err(NotApproved::Refused { agent, why }.into()),
        }
    }

    /// The Agent of a host, and what writes it.
    ///
    /// # Errors
    /// [`NotApproved`] if it has none, or another service writes it.
    pub(crate) fn approval_of(
        &self,
        infra_env: &InfraEnv,
        host: HostId,
        approved: bool,
    ) -> Result<(KubeRef, Arc<dyn Resources>), NotApproved> {
        let Some(resource) = infra_env.kube.as_ref().filter(|_| self.bridge.is_on()) else {
            return Err(NotApproved::NoResource { host });
        };
        let agent = KubeRef::new(&resource.namespace, host.to_string());
        match self.bridge.resources() {
            Some(resources) => Ok((agent, resources)),
            None => Err(NotApproved::Elsewhere { agent, approved }),
        }
    }

    /// Records a machine's request for a file to boot.
    pub fn note_boot_request(&self, request: BootRequest, answer: BootAnswer<'_>) {
        self.boot_notes.note(request, answer, self.now());
    }

    /// The machines of an InfraEnv that downloaded boot files within a day, the newest first.
    ///
    /// # Errors
    /// [`OperationError::Missing`] if there is no such InfraEnv, or if the database fails.
    pub async fn booting_machines(&self, infra_env_id: InfraEnvId) -> Result<Vec<BootingMachine>> {
        self.infra_envs.get(infra_env_id).await?;
        Ok(booting_machines(&self.store, infra_env_id, self.now()).await?)
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.outages.now()
    }

    /// Checks the requested version of an InfraEnv.
    ///
    /// # Errors
    /// [`OperationError::Invalid`] if images of versions are configured, and none fits.
    pub fn check_version(&self, version: &str) -> Result<()> {
        Ok(check_offered(
            &self.os_images.list(),
            &self.openshift_versions,
            version,
        )?)
    }

    /// The version of an InfraEnv that names none.
    pub fn newest_version(&self) -> Option<&str> {
        self.openshift_versions.last().map(String::as_str)
    }
}
