use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::cluster::{Cluster, ClusterUpdateParams};
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::Shape;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::clusters::Clusters;
use muster_store::Store;
use muster_store::StoredCluster;

use crate::views::Views;

/// Change what is known of a cluster. Its hosts are judged anew.
#[utoipa::path(
    patch, path = "/clusters/{cluster_id}", operation_id = "V2UpdateCluster", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body = ClusterUpdateParams,
    responses(
        (status = 201, body = Cluster),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It was changed by somebody else again and again"),
    )
)]
pub async fn update_cluster(
    State(clusters): State<Arc<Clusters>>,
    State(store): State<Store>,
    views: Views,
    Path(id): Path<ClusterId>,
    Body(params): Body<ClusterUpdateParams>,
) -> Result<(StatusCode, Json<Cluster>), Problem> {
    let stored = StoredCluster {
        cluster: clusters.update(id, &params).await?,
        deleted_at: None,
    };
    let hosts = store.list_cluster_hosts(id).await?;
    Ok((
        StatusCode::CREATED,
        Json(views.cluster(&stored, Shape::Alone, &hosts).await?),
    ))
}
