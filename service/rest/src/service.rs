//! `/service`: how the service is.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::service::Service;
use muster_http::Problem;
use muster_operations::Operations;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operation.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(get_service))
}

/// Get how the service is
///
/// Versions, replicas, database, images and what is still to be worked on, as the replica sees them that responds. A token for one InfraEnv is
/// refused.
#[utoipa::path(
    get, path = "/service", operation_id = "MusterGetService", tag = "installer",
    responses((status = 200, body = Service))
)]
pub async fn get_service(State(operations): State<Arc<Operations>>) -> Result<Json<Service>, Problem> {
    Ok(Json(operations.service(env!("CARGO_PKG_VERSION")).await?))
}
