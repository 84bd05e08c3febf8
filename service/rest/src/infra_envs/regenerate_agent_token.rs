use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::infra_envs::InfraEnvs;

/// Revoke the agent tokens of an InfraEnv
///
/// Tokens and URLs of all images made so far are refused; the InfraEnv shows new ones at once. Machines that run an older image
/// are refused until they boot a newer one.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/regenerate-agent-token", operation_id = "RegenerateInfraEnvAgentToken", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 204),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError),
    )
)]
pub async fn regenerate_agent_token(
    State(infra_envs): State<Arc<InfraEnvs>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<StatusCode, Problem> {
    infra_envs.replace_tokens(infra_env_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
