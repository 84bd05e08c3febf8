use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::{HostId, InfraEnvId};
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;

/// Approve a host
///
/// Sets `spec.approved` of its Agent, as `kubectl patch` does. Hosts of an InfraEnv without a custom resource need no approval.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/approve", operation_id = "MusterApproveHost", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 204),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "There is no Agent, or another service writes it; the reason has the command"),
    )
)]
pub async fn approve_host(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<StatusCode, Problem> {
    operations.approve(infra_env_id, host_id, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke the approval of a host
///
/// A host that is being installed, or is installed, stays as it is.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/revoke-approval", operation_id = "MusterRevokeApproval", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 204),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "There is no Agent, or another service writes it; the reason has the command"),
    )
)]
pub async fn revoke_approval(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<StatusCode, Problem> {
    operations.approve(infra_env_id, host_id, false).await?;
    Ok(StatusCode::NO_CONTENT)
}
