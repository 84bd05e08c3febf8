use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use muster_api::cluster::{Cluster, ClusterUpdateParams};
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::Shape;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;
use muster_operations::records::StoredCluster;

use crate::views::cluster_text::{ClusterText, With};
use crate::views::{Views, json_list};

/// Update a cluster
///
/// The checks of its hosts are evaluated again.
#[utoipa::path(
    patch, path = "/clusters/{cluster_id}", operation_id = "V2UpdateCluster", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body = ClusterUpdateParams,
    responses(
        (status = 201, body = Cluster),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Custom resources decide (the reason explains how to change that), or somebody else changed it again and again"),
    )
)]
pub async fn update_cluster(
    State(operations): State<Arc<Operations>>,
    views: Views,
    Path(id): Path<ClusterId>,
    Body(params): Body<ClusterUpdateParams>,
) -> Result<Response, Problem> {
    let stored = StoredCluster {
        cluster: operations
            .clusters
            .update_by_user(&operations.bridge, id, &params)
            .await?,
        deleted_at: None,
    };
    let text = ClusterText {
        hosts: operations.hosts.clone(),
        views,
        shape: Shape::Alone,
        with: With::All,
    };
    let mut answer = json_list::whole("", text.of("", stored), "").await?;
    *answer.status_mut() = StatusCode::CREATED;
    Ok(answer)
}
