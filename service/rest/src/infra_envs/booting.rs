use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::boot::BootingMachine;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;

/// List machines that fetched boot files
///
/// Within the last day, newest first; also those whose agent never registered.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/booting-machines", operation_id = "MusterListBootingMachines", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 200, body = Vec<BootingMachine>),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn list_booting_machines(
    State(operations): State<Arc<Operations>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<Vec<BootingMachine>>, Problem> {
    Ok(Json(operations.booting_machines(infra_env_id).await?))
}
