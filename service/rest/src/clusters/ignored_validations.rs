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
use muster_operations::clusters::Clusters;

/// Which checks are ignored for the hosts of a cluster.
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

/// Say which checks are ignored for the hosts of a cluster; all others count. Its hosts are judged anew.
#[utoipa::path(
    put, path = "/clusters/{cluster_id}/ignored-validations", operation_id = "v2SetIgnoredValidations", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body = IgnoredValidations,
    responses(
        (status = 201, body = IgnoredValidations),
        (status = 400, body = ApiError, description = "An id is unknown, or may not be ignored"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It was changed by somebody else again and again"),
    )
)]
pub async fn set_ignored_validations(
    State(clusters): State<Arc<Clusters>>,
    Path(id): Path<ClusterId>,
    Body(wanted): Body<IgnoredValidations>,
) -> Result<(StatusCode, Json<IgnoredValidations>), Problem> {
    let changed = clusters.ignore(id, &wanted).await?;
    Ok((StatusCode::CREATED, Json(ignored(&changed))))
}
