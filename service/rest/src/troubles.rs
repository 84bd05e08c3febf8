//! `/troubles`: what needs somebody beside hosts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use muster_api::troubles::Troubles;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scopes::scope_of;
use crate::state::Rest;

/// The operations of users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(list_troubles))
}

/// List what needs somebody beside hosts
///
/// BMCs whose discovery failed, and machines that fetched boot files and will not register by themselves, of all InfraEnvs that the caller may
/// see.
#[utoipa::path(
    get, path = "/troubles", operation_id = "MusterListTroubles", tag = "installer",
    responses((status = 200, body = Troubles))
)]
pub async fn list_troubles(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Troubles>, Problem> {
    Ok(Json(operations.troubles(scope_of(caller)).await?))
}
