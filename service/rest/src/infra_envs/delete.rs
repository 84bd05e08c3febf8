use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::infra_envs::InfraEnvs;

/// Delete an InfraEnv that has no hosts. Its tokens and image URLs die with it.
#[utoipa::path(
    delete, path = "/infra-envs/{infra_env_id}", operation_id = "DeregisterInfraEnv", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 204),
        (status = 400, body = ApiError, description = "It still has hosts"),
        (status = 404, body = ApiError),
    )
)]
pub async fn delete_infra_env(
    State(infra_envs): State<Arc<InfraEnvs>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<StatusCode, Problem> {
    infra_envs.delete(infra_env_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
