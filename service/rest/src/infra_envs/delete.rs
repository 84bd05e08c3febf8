use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;

/// Delete an InfraEnv without hosts
///
/// Its tokens and image URLs become invalid.
#[utoipa::path(
    delete, path = "/infra-envs/{infra_env_id}", operation_id = "DeregisterInfraEnv", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 204),
        (status = 400, body = ApiError, description = "It still has hosts, or it belongs to a custom resource; the reason explains how to delete both"),
        (status = 404, body = ApiError),
    )
)]
pub async fn delete_infra_env(
    State(operations): State<Arc<Operations>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<StatusCode, Problem> {
    operations
        .infra_envs
        .delete_by_user(&operations.bridge, infra_env_id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
