use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::LogsProgressParams;
use muster_api::ids::ClusterId;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::clusters::Clusters;

use crate::scopes::Scopes;

/// Report the progress of controller logs
///
/// Clusters that hosts are added to have no installation controller: the report is accepted and changes nothing.
#[utoipa::path(
    put, path = "/clusters/{cluster_id}/logs-progress", operation_id = "v2UpdateClusterLogsProgress", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body = LogsProgressParams,
    responses(
        (status = 204),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn update_cluster_logs_progress(
    State(clusters): State<Arc<Clusters>>,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    Path(cluster_id): Path<ClusterId>,
    Body(params): Body<LogsProgressParams>,
) -> Result<StatusCode, Problem> {
    scopes.of_cluster(caller, cluster_id).await?;
    clusters.get(cluster_id).await?;
    tracing::debug!(cluster.id = %cluster_id, state = params.logs_state.name(), "progress of a controller's logs");
    Ok(StatusCode::NO_CONTENT)
}
