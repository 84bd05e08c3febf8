//! Clusters that hosts are added to: one file an operation. What only the installation of a new cluster needs is refused by
//! [`day1`].

mod day1;
mod default_config;
mod delete;
mod get;
mod hosts;
mod ignored_validations;
mod import;
mod list;
mod update;

use std::sync::Arc;

use muster_api::cluster::Cluster as ClusterView;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_core::cluster::view::{Shape, host_networks};
use muster_core::host::Host;
use muster_store::StoredCluster;
use serde::{Deserialize, Deserializer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::hosts::USER;
use super::problem::Problem;
use crate::app::App;
use crate::http::gate::Caller;

/// Operations of people.
pub fn user_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(import::import_cluster))
        .routes(routes!(list::list_clusters))
        .routes(routes!(update::update_cluster))
        .routes(routes!(delete::delete_cluster))
        .routes(routes!(default_config::get_default_config))
        .routes(routes!(ignored_validations::get_ignored_validations))
        .routes(routes!(ignored_validations::set_ignored_validations))
        .merge(day1::user_routes())
}

/// Operations of people and of hosts of the cluster.
pub fn shared_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get::get_cluster))
        .routes(routes!(hosts::list_cluster_hosts))
        .merge(day1::shared_routes())
}

/// Operations of hosts.
pub fn agent_routes() -> OpenApiRouter<Arc<App>> {
    day1::agent_routes()
}

/// Operations of everybody with any token.
pub fn open_routes() -> OpenApiRouter<Arc<App>> {
    day1::open_routes()
}

/// The cluster with `hosts`.
async fn view(
    app: &App,
    found: &StoredCluster,
    shape: Shape,
    hosts: &[Host],
) -> Result<ClusterView, Problem> {
    let mut views = Vec::with_capacity(hosts.len());
    for host in hosts {
        views.push(super::hosts::view(app, host).await?);
    }
    Ok(muster_core::cluster::view(
        &found.cluster,
        shape,
        views,
        host_networks(hosts),
        found.deleted_at,
        USER,
    ))
}

/// Whether `caller` may see this cluster, and if so the hosts of which InfraEnv alone; `None`: all.
pub(super) async fn scope(app: &App, caller: Caller, id: ClusterId) -> Result<Option<InfraEnvId>, Problem> {
    let unknown = || Problem::not_found(format!("cluster {id}"));
    let own = match caller {
        Caller::Anybody | Caller::Operator => return Ok(None),
        Caller::Cluster(own) if own == id => return Ok(None),
        Caller::Cluster(_) => return Err(unknown()),
        Caller::InfraEnv(own) => own,
    };
    if app.infra_envs.get(own).await?.cluster_id == Some(id) {
        return Ok(Some(own));
    }
    let keys = app.store.list_cluster_host_keys(id).await?;
    if keys.iter().any(|(infra_env, _)| *infra_env == own) {
        return Ok(Some(own));
    }
    Err(unknown())
}

/// `true` as clients of several languages write it; empty is false, as the protocol says of some parameters.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" | "" => Some(false),
        _ => None,
    }
}

fn lenient_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = String::deserialize(deserializer)?;
    truth(&text).ok_or_else(|| serde::de::Error::custom("must be true or false"))
}
