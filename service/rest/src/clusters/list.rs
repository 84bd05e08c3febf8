use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use http::HeaderMap;
use muster_api::cluster::Cluster;
use muster_core::lifecycle::cluster::Shape;
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::clusters::Clusters;
use muster_operations::hosts::Hosts;
use serde::Deserialize;
use utoipa::IntoParams;

use super::get::wants_deleted;
use crate::lenient::lenient_bool;
use crate::views::cluster_text::{ClusterText, With};
use crate::views::{USER, Views, json_list};

/// Filters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only the cluster that has this id of its own.
    openshift_cluster_id: Option<uuid::Uuid>,
    /// Only those with these subscriptions, comma-separated. Clusters have none here.
    ams_subscription_ids: Option<String>,
    /// With their hosts.
    #[serde(deserialize_with = "lenient_bool")]
    #[param(value_type = Option<bool>)]
    with_hosts: bool,
    /// Only those of this user name.
    owner: Option<String>,
}

/// List clusters
#[utoipa::path(
    get, path = "/clusters", operation_id = "v2ListClusters", tag = "installer",
    params(ListQuery, ("get_unregistered_clusters" = Option<bool>, Header, description = "Also the deleted ones")),
    responses((status = 200, body = Vec<Cluster>))
)]
pub async fn list_clusters(
    State(clusters): State<Arc<Clusters>>,
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // First: a bad header is refused even if the filters leave nothing.
    let deleted = wants_deleted(&headers)?;
    let wanted = query.openshift_cluster_id.map(|id| id.to_string());
    let subscribed = query.ams_subscription_ids.as_deref().unwrap_or_default();
    if !subscribed.is_empty() || query.owner.is_some_and(|owner| owner != USER) {
        return Ok(Json(Vec::<Cluster>::new()).into_response());
    }
    let mut listed = clusters.list(deleted).await?;
    listed.retain(|found| {
        wanted
            .as_ref()
            .is_none_or(|wanted| *wanted == found.cluster.data.openshift_cluster_id)
    });
    let text = ClusterText {
        hosts,
        views,
        shape: Shape::Listed,
        with: if query.with_hosts { With::All } else { With::Nobody },
    };
    let texts = stream::iter(listed.into_iter().enumerate())
        .flat_map(move |(number, found)| text.clone().of(if number == 0 { "" } else { "," }, found));
    json_list::whole("[", texts, "]").await
}
