use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::cluster::IgnoredValidations;
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::ignore::ignored;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;
use muster_operations::clusters::Clusters;

/// Get the ignored checks of a cluster
#[utoipa::path(
    get, path = "/clusters/{cluster_id}/ignored-validations", operation_id = "v2GetIgnoredValidations", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    responses((status = 200, body = IgnoredValidations), (status = 404, body = ApiError))
)]
pub async fn get_ignored_validations(
    State(clusters): State<Arc<Clusters>>,
    Path(id): Path<ClusterId>,
) -> Result<Json<IgnoredValidations>, Problem> {
    Ok(Json(ignored(&clusters.get(id).await?)))
}

/// Set the ignored checks of a cluster
///
/// All other checks count. The checks of its hosts are evaluated again.
#[utoipa::path(
    put, path = "/clusters/{cluster_id}/ignored-validations", operation_id = "v2SetIgnoredValidations", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body = IgnoredValidations,
    responses(
        (status = 201, body = IgnoredValidations),
        (status = 400, body = ApiError, description = "An id is unknown, or may not be ignored"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Custom resources decide (the reason explains how to change that), or somebody else changed it again and again"),
    )
)]
pub async fn set_ignored_validations(
    State(operations): State<Arc<Operations>>,
    Path(id): Path<ClusterId>,
    Body(wanted): Body<IgnoredValidations>,
) -> Result<(StatusCode, Json<IgnoredValidations>), Problem> {
    let changed = operations
        .clusters
        .ignore_by_user(&operations.bridge, id, &wanted)
        .await?;
    Ok((StatusCode::CREATED, Json(ignored(&changed))))
}
