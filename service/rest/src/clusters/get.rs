use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use muster_api::cluster::Cluster;
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::Shape;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::lenient::{lenient_bool, parse_bool};
use crate::scopes::Scopes;
use crate::views::cluster_text::{ClusterText, With};
use crate::views::{Views, json_list};

/// Parts to leave out.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct GetQuery {
    /// Without its hosts.
    #[serde(rename = "exclude-hosts", deserialize_with = "lenient_bool")]
    #[param(value_type = Option<bool>)]
    exclude_hosts: bool,
}

/// Get a cluster with its hosts
#[utoipa::path(
    get, path = "/clusters/{cluster_id}", operation_id = "v2GetCluster", tag = "installer",
    params(
        ("cluster_id" = ClusterId, Path), GetQuery,
        ("discovery_agent_version" = Option<String>, Header),
        ("get_unregistered_clusters" = Option<bool>, Header, description = "Also a deleted one"),
    ),
    responses((status = 200, body = Cluster), (status = 404, body = ApiError))
)]
pub async fn get_cluster(
    State(operations): State<Arc<Operations>>,
    views: Views,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ClusterId>,
    Query(query): Query<GetQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let only = scopes.of_cluster(caller, id).await?;
    let found = operations.clusters.find(id, wants_deleted(&headers)?).await?;
    let with = match only {
        _ if query.exclude_hosts => With::Nobody,
        Some(only) => With::Of(only),
        None => With::All,
    };
    let text = ClusterText {
        hosts: operations.hosts.clone(),
        views,
        shape: Shape::Alone,
        with,
    };
    json_list::whole("", text.of("", found), "").await
}

/// The header `get_unregistered_clusters`.
pub fn wants_deleted(headers: &HeaderMap) -> Result<bool, Problem> {
    let Some(value) = headers.get("get_unregistered_clusters") else {
        return Ok(false);
    };
    parse_bool(value.to_str().unwrap_or("?"))
        .ok_or_else(|| Problem::bad_request("the header \"get_unregistered_clusters\" must be true or false"))
}
