use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_http::Problem;
use muster_http::body::{Path, Text};
use muster_operations::clusters::Clusters;

/// Get the user interface settings of a cluster
///
/// A text that the service does not interpret; empty until one is set.
#[utoipa::path(
    get, path = "/clusters/{cluster_id}/ui-settings", operation_id = "V2GetClusterUISettings", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    responses((status = 200, body = String, content_type = "application/json"), (status = 404, body = ApiError))
)]
pub async fn get_ui_settings(
    State(clusters): State<Arc<Clusters>>,
    Path(id): Path<ClusterId>,
) -> Result<Json<String>, Problem> {
    Ok(Json(clusters.get(id).await?.data.ui_settings))
}

/// Set the user interface settings of a cluster
///
/// The text replaces the one before; the service does not interpret it.
#[utoipa::path(
    put, path = "/clusters/{cluster_id}/ui-settings", operation_id = "V2UpdateClusterUISettings", tag = "installer",
    params(("cluster_id" = ClusterId, Path)),
    request_body(content = String, content_type = "application/json"),
    responses(
        (status = 200, body = String, content_type = "application/json"),
        (status = 400, body = ApiError, description = "It is too long, or it was changed by somebody else again and again"),
        (status = 404, body = ApiError),
    )
)]
pub async fn update_ui_settings(
    State(clusters): State<Arc<Clusters>>,
    Path(id): Path<ClusterId>,
    Text(text): Text,
) -> Result<Json<String>, Problem> {
    let changed = clusters.set_ui_settings(id, &text).await?;
    Ok(Json(changed.data.ui_settings))
}
