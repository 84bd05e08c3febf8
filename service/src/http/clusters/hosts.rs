use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use muster_api::host::{Host, HostRole};
use muster_api::ids::ClusterId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{lenient_bool, scope};
use crate::app::App;
use crate::http::body::{Path, Query};
use crate::http::gate::Caller;
use crate::http::hosts;
use crate::http::problem::Problem;

/// Filters of the list, and what to show.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct HostsQuery {
    /// Only hosts of this role.
    #[param(inline)]
    role: Option<HostRole>,
    /// Only hosts in this status.
    status: Option<String>,
    /// With their inventories.
    #[serde(rename = "with-inventory", deserialize_with = "lenient_bool")]
    #[param(value_type = Option<bool>)]
    with_inventory: bool,
    /// With whom they reach.
    #[serde(rename = "with-connectivity", deserialize_with = "lenient_bool")]
    #[param(value_type = Option<bool>)]
    with_connectivity: bool,
}

/// List the hosts of a cluster; of one that does not exist there are none.
#[utoipa::path(
    get, path = "/clusters/{cluster_id}/hosts", operation_id = "ListClusterHosts", tag = "installer",
    params(("cluster_id" = ClusterId, Path), HostsQuery),
    responses((status = 200, body = Vec<Host>), (status = 404, body = muster_api::error::ApiError))
)]
pub async fn list_cluster_hosts(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ClusterId>,
    Query(query): Query<HostsQuery>,
) -> Result<Json<Vec<Host>>, Problem> {
    let only = scope(&app, caller, id).await?;
    let found = app.store.list_cluster_hosts(id).await?;
    let wanted = found.iter().filter(|host| {
        only.is_none_or(|only| host.infra_env_id == only)
            && query.role.is_none_or(|role| host.data.role == role)
            && query
                .status
                .as_ref()
                .is_none_or(|status| host.state.status().name() == status)
    });
    let mut views = Vec::new();
    for host in wanted {
        let mut view = Host {
            progress_stages: None,
            // Unlike elsewhere, only what a user chose.
            requested_hostname: host.data.requested_hostname.clone().unwrap_or_default(),
            ..hosts::view(&app, host).await?
        };
        if !query.with_inventory {
            view.inventory.clear();
        }
        if !query.with_connectivity {
            view.connectivity.clear();
        }
        views.push(view);
    }
    Ok(Json(views))
}
