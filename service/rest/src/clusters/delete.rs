use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;

/// Deregister a cluster
///
/// The cluster itself stays as it is. Hosts of InfraEnvs that belong to it are deleted, others return to their pools.
#[utoipa::path(
    delete, path = "/clusters/{cluster_id}", operation_id = "V2DeregisterCluster", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    responses(
        (status = 204),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Hosts of it are being installed, or it belongs to custom resources; the reason explains how to delete both"),
    )
)]
pub async fn delete_cluster(
    State(operations): State<Arc<Operations>>,
    Path(id): Path<ClusterId>,
) -> Result<StatusCode, Problem> {
    operations.delete_cluster_by_user(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
