use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::cluster::{Cluster, ImportClusterParams};
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::view::HostSums;
use muster_core::lifecycle::cluster::{Shape, import};
use muster_http::Problem;
use muster_http::body::Body;
use muster_operations::clusters::Clusters;
use muster_operations::now;
use muster_operations::records::StoredCluster;

use crate::views::Views;

/// Import an existing cluster
///
/// Hosts can be added to it from then on.
#[utoipa::path(
    post, path = "/clusters/import", operation_id = "v2ImportCluster", tag = "installer",
    request_body = ImportClusterParams,
    responses(
        (status = 201, body = Cluster),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
    )
)]
pub async fn import_cluster(
    State(clusters): State<Arc<Clusters>>,
    views: Views,
    Body(params): Body<ImportClusterParams>,
) -> Result<(StatusCode, Json<Cluster>), Problem> {
    let made = import(params, ClusterId::random(), now())?;
    let stored = StoredCluster {
        cluster: clusters.create(made).await?,
        deleted_at: None,
    };
    Ok((
        StatusCode::CREATED,
        Json(views.cluster(&stored, Shape::Imported, HostSums::default())),
    ))
}
