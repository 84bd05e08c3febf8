use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Forget the failures of a host
///
/// For an operator who has looked at the machine: machines of Cluster API may take it again at once, also from quarantine.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/forget-failures", operation_id = "MusterForgetHostFailures",
    tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses((status = 200, body = Host), (status = 404, body = ApiError))
)]
pub async fn forget_failures(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let host = hosts
        .apply(infra_env_id, host_id, HostEvent::FailuresForgotten)
        .await?;
    Ok(Json(views.host(&host).await?))
}

/// Request another attempt to erase the disks of a host
///
/// For a host in quarantine because its disks could not be erased after it left a cluster. The InfraEnv's present `cleaning` is used.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/retry-erasure", operation_id = "MusterRetryHostErasure",
    tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "None of its disks waits to be erased"),
    )
)]
pub async fn retry_erasure(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let host = hosts
        .apply(infra_env_id, host_id, HostEvent::ErasureRetried)
        .await?;
    Ok(Json(views.host(&host).await?))
}

/// Set a host free without erasing its disks
///
/// What its last cluster left is still on them. Refused while an agent may be erasing: an installation would write to the same disk.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/skip-erasure", operation_id = "MusterSkipHostErasure",
    tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "None of its disks waits to be erased, or its agent may be erasing them"),
    )
)]
pub async fn skip_erasure(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let host = hosts
        .apply(infra_env_id, host_id, HostEvent::ErasureSkipped)
        .await?;
    Ok(Json(views.host(&host).await?))
}
