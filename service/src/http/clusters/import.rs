use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::cluster::{Cluster, ImportClusterParams};
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::cluster::{Shape, import};
use muster_store::StoredCluster;

use super::view;
use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;

/// Make a cluster known that exists already, so that hosts can be added to it.
#[utoipa::path(
    post, path = "/clusters/import", operation_id = "v2ImportCluster", tag = "installer",
    request_body = ImportClusterParams,
    responses(
        (status = 201, body = Cluster),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
    )
)]
pub async fn import_cluster(
    State(app): State<Arc<App>>,
    Body(params): Body<ImportClusterParams>,
) -> Result<(StatusCode, Json<Cluster>), Problem> {
    let made = import(params, ClusterId::random(), app.now())?;
    let stored = StoredCluster {
        cluster: app.clusters.create(made).await?,
        deleted_at: None,
    };
    Ok((
        StatusCode::CREATED,
        Json(view(&app, &stored, Shape::Imported, &[]).await?),
    ))
}
