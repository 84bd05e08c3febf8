use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::clusters::Clusters;

/// Revoke the signed URLs of a cluster
///
/// Those of its events and of its hosts' logs that were issued so far. Custom resources show new ones.
#[utoipa::path(
    post, path = "/clusters/{cluster_id}/regenerate-signing-key", operation_id = "RegenerateClusterSigningKey", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    responses(
        (status = 204),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError),
    )
)]
pub async fn regenerate_cluster_signing_key(
    State(clusters): State<Arc<Clusters>>,
    Path(id): Path<ClusterId>,
) -> Result<StatusCode, Problem> {
    clusters.revoke_urls(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
