//! The parts of a running service, as handlers see them.

use muster_api::time::Timestamp;
use muster_core::host::reply::Limits;
use muster_core::host::requirements::Requirements;
use muster_store::Store;
use tokio::sync::Notify;

use crate::auth::Auth;
use crate::check_ins::CheckIns;
use crate::clusters::Clusters;
use crate::controllers::BridgeState;
use crate::hosts::Hosts;
use crate::images::{Downloads, LiveImages};
use crate::infra_envs::InfraEnvs;
use crate::urls::Urls;

/// Everything that an operation may need. Handlers take the two parts that they use.
pub struct App {
    /// The database.
    pub store: Store,
    /// Tokens.
    pub auth: Auth,
    /// Addresses that are handed out.
    pub urls: Urls,
    /// PEM of the CA that hosts need to trust us; empty when the public ones do.
    pub service_ca: String,
    /// InfraEnvs, cached.
    pub infra_envs: InfraEnvs,
    /// Clusters, cached.
    pub clusters: Clusters,
    /// The one writer of hosts.
    pub hosts: Hosts,
    /// When hosts were last heard of.
    pub check_ins: CheckIns,
    /// The live image.
    pub live_images: LiveImages,
    /// Its downloads.
    pub downloads: Downloads,
    /// What hardware is asked for.
    pub requirements: Requirements,
    /// What a step reply may hold.
    pub reply_limits: Limits,
    /// Version of the agent that our live image carries.
    pub agent_version: String,
    /// Image that agents of another make are told to upgrade to; `None`: they are left as they are.
    pub agent_image: Option<String>,
    /// Versions that are offered; any other is taken, too.
    pub openshift_versions: Vec<String>,
    /// Since when polls are heard.
    pub listening_since: Timestamp,
    /// Rung when an InfraEnv or a cluster changed: the outbox is looked into.
    pub effects_wait: Notify,
    /// How the custom-resource bridge is.
    pub bridge: BridgeState,
    /// Renders `/metrics`.
    pub metrics: metrics_exporter_prometheus::PrometheusHandle,
}

impl App {
    /// The time. Decisions get it from here as a parameter.
    pub fn now(&self) -> Timestamp {
        now()
    }

    /// The version of an InfraEnv that names none.
    pub fn newest_version(&self) -> Option<&str> {
        self.openshift_versions.last().map(String::as_str)
    }
}

/// The time, to the microsecond: what the database keeps.
pub fn now() -> Timestamp {
    let now = chrono::Utc::now();
    Timestamp::from_timestamp_micros(now.timestamp_micros()).unwrap_or(now)
}
