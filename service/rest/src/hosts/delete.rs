use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::{HostId, InfraEnvId};
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;

/// Deregister a host
///
/// An agent that still runs gets 404 and can register again.
#[utoipa::path(
    delete, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2DeregisterHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 204),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn delete_host(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<StatusCode, Problem> {
    hosts.delete(infra_env_id, host_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
