//! Renders records as the protocol's objects, and lists of them as they are read.

pub mod cluster_text;
pub mod host_list;
mod host_text;
pub mod json_list;
pub mod table;

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use muster_api::cluster::Cluster as ClusterView;
use muster_api::host::Host as HostView;
use muster_api::infra_env::InfraEnv as InfraEnvView;
use muster_core::lifecycle::cluster::view::{HostSums, Shape};
use muster_core::lifecycle::host::Shown;
use muster_core::lifecycle::{host, infra_env};
use muster_core::record::{Host, HostTexts, InfraEnv};
use muster_http::Caller;
use muster_operations::clusters::Clusters;
use muster_operations::hosts::check_ins::CheckIns;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::records::{StoreError, StoredCluster};
use muster_operations::urls::Urls;
use url::Url;

use crate::state::Rest;

/// The owner's name in every response: there is one operator.
pub const USER: &str = "admin";

/// Renders records for one caller, with the caches that it needs. Secrets are shown to callers that may set them.
#[derive(Clone)]
pub struct Views {
    infra_envs: Arc<InfraEnvs>,
    clusters: Arc<Clusters>,
    check_ins: Arc<CheckIns>,
    urls: Arc<Urls>,
    secrets: bool,
    overrides: bool,
}

impl FromRequestParts<Rest> for Views {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, rest: &Rest) -> Result<Self, Infallible> {
        let caller = parts.extensions.get::<Caller>();
        Ok(Self {
            infra_envs: rest.operations.infra_envs.clone(),
            clusters: rest.operations.clusters.clone(),
            check_ins: rest.operations.check_ins.clone(),
            urls: rest.operations.urls.clone(),
            secrets: caller.is_some_and(|caller| caller.is_user()),
            overrides: caller.is_some_and(|caller| caller.reads_overrides()),
        })
    }
}

impl Views {
    /// An InfraEnv as `GET` returns it.
    pub fn infra_env(&self, infra_env: &InfraEnv) -> InfraEnvView {
        let mut shown = infra_env::view(infra_env, &self.urls.iso(infra_env), None, USER);
        if !self.overrides {
            shown.ignition_config_override.clear();
        }
        shown
    }

    /// A host as `GET` returns it.
    pub async fn host(&self, found: &Host) -> Result<HostView, StoreError> {
        self.listed(found, HostTexts::of(found)).await
    }

    /// The same for a host with `texts` as its documents.
    pub async fn listed(&self, found: &Host, texts: HostTexts) -> Result<HostView, StoreError> {
        let kube = match self.infra_envs.find(found.infra_env_id).await? {
            Some(infra_env) => {
                self.clusters
                    .controllers_see_nodes(&infra_env, found.cluster_id)
                    .await?
            }
            None => false,
        };
        let seen = self.check_ins.last((found.infra_env_id, found.id));
        let shown = Shown {
            last_seen: seen.as_ref().map(|seen| seen.at),
            host_clock: seen.as_ref().and_then(|seen| seen.host_clock),
            user: USER,
            kube,
            secrets: self.secrets,
        };
        Ok(host::listed_view(found, texts, shown))
    }

    /// A host as actions return it: without its stages, as upstream.
    pub async fn host_after_action(&self, found: &Host) -> Result<HostView, StoreError> {
        Ok(HostView {
            progress_stages: None,
            ..self.host(found).await?
        })
    }

    /// A cluster without its hosts; `sums` are over all of them.
    pub fn cluster(&self, found: &StoredCluster, shape: Shape, sums: HostSums) -> ClusterView {
        let mut shown =
            muster_core::lifecycle::cluster::view(&found.cluster, shape, sums, found.deleted_at, USER);
        if !self.secrets {
            for proxy in [&mut shown.http_proxy, &mut shown.https_proxy] {
                *proxy = without_password(proxy);
            }
        }
        shown
    }
}

/// A proxy's URL without user and password.
fn without_password(proxy: &str) -> String {
    let Ok(mut url) = Url::parse(proxy) else {
        return String::new();
    };
    if url.username().is_empty() && url.password().is_none() {
        return proxy.to_owned();
    }
    match (url.set_username(""), url.set_password(None)) {
        (Ok(()), Ok(())) => url.into(),
        _ => String::new(),
    }
}
