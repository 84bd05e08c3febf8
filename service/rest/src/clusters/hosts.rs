use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use muster_api::host::{Host, HostRole};
use muster_api::ids::ClusterId;
use muster_core::record;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::hosts::Hosts;
use muster_operations::records::HostForm;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::lenient::lenient_bool;
use crate::scopes::Scopes;
use crate::views::Views;
use crate::views::host_list::{self, HostList};

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

/// List the hosts of a cluster
///
/// The list is empty for a cluster that does not exist.
#[utoipa::path(
    get, path = "/clusters/{cluster_id}/hosts", operation_id = "ListClusterHosts", tag = "installer",
    params(("cluster_id" = ClusterId, Path), HostsQuery),
    responses((status = 200, body = Vec<Host>), (status = 404, body = muster_api::error::ApiError))
)]
pub async fn list_cluster_hosts(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ClusterId>,
    Query(query): Query<HostsQuery>,
) -> Result<Response, Problem> {
    let only = scopes.of_cluster(caller, id).await?;
    let turn = host_list::turn(id, caller).await?;
    let mut keys = hosts.keys_in_cluster(id).await?;
    keys.retain(|(infra_env_id, _)| only.is_none_or(|only| *infra_env_id == only));
    let shape = move |host: &record::Host, usual: Host| {
        let is_wanted = query.role.is_none_or(|role| host.data.role == role)
            && query
                .status
                .as_ref()
                .is_none_or(|status| host.state.status().name() == status);
        let mut view = Host {
            progress_stages: None,
            // Unlike elsewhere, only what a user chose.
            requested_hostname: host.data.requested_hostname.clone().unwrap_or_default(),
            ..usual
        };
        if !query.with_inventory {
            view.inventory.clear();
        }
        if !query.with_connectivity {
            view.connectivity.clear();
        }
        is_wanted.then_some(view)
    };
    // Documents that are derived from reports exist in the whole form only.
    let list = HostList {
        hosts,
        views,
        form: HostForm::Whole,
        shape,
    };
    list.answer(keys, turn).await
}
