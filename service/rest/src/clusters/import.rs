use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::cluster::{Cluster, ImportClusterParams};
use muster_api::error::ApiError;
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::view::HostSums;
use muster_core::lifecycle::cluster::{Shape, import};
use muster_http::body::Body;
use muster_http::{Made, Problem};
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
) -> Result<(StatusCode, Extension<Made>, Json<Cluster>), Problem> {
    let made = import(params, ClusterId::random(), now())?;
    let stored = StoredCluster {
        cluster: clusters.create(made).await?,
        deleted_at: None,
    };
    Ok((
        StatusCode::CREATED,
        Extension(Made::cluster(stored.cluster.id)),
        Json(views.cluster(&stored, Shape::Imported, HostSums::default())),
    ))
}
