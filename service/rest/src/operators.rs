//! Operators that can be chosen for a new cluster. `aicli info service` asks for them (docs/protocol/rest-behaviour.md#8).

use axum::Json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The one operation.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(list_supported_operators))
}

/// Operators that can be installed together with a new cluster: none, for this service adds hosts to clusters that exist.
#[utoipa::path(
    get, path = "/supported-operators", operation_id = "V2ListSupportedOperators", tag = "operators",
    responses((status = 200, body = Vec<String>))
)]
pub async fn list_supported_operators() -> Json<Vec<String>> {
    Json(Vec::new())
}
